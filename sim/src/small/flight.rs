//! A request on its way to the store, or its answer on the way back.

use tenure_core::{Event, Op, ReadReply, Reply, StoreTime};

use std::rc::Rc;

use super::print::print;
use crate::clock::Moment;

/// One request in flight. It is at the store's door, or its answer is at the sender's.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) session: usize,
    pub(super) op: Rc<Op>,
    /// When its sender's time is up, if the sender still waits for an answer.
    pub(super) until: Option<Moment>,
    /// The answer, once it has been served.
    pub(super) reply: Option<Rc<Reply>>,
    /// Whether it may arrive later than it should, or never.
    pub(super) is_astray: bool,
    /// Whether the answer is dated when it arrives, not when it was given.
    pub(super) is_dated_late: bool,
    /// Stands for the request and the answer, which take long to hash.
    mark: u128,
}

impl Flight {
    pub(super) fn new(session: usize, op: Op, until: Moment) -> Self {
        let mark = print(&op);
        Self {
            session,
            op: Rc::new(op),
            until: Some(until),
            reply: None,
            is_astray: false,
            is_dated_late: false,
            mark,
        }
    }

    /// Puts the answer on its way.
    pub(super) fn answer(&mut self, reply: Reply) {
        self.mark = print(&(self.mark, &reply));
        self.reply = Some(Rc::new(reply));
    }

    /// Dates the answer.
    pub(super) fn date(&mut self, date: Option<StoreTime>) {
        if let Some(Reply::Read(ReadReply::Found { stamps, .. } | ReadReply::Unchanged(stamps))) =
            self.reply.as_mut().map(Rc::make_mut)
        {
            stamps.date = date;
        }
    }

    /// Returns a copy that nobody waits for.
    pub(super) fn copy(&self) -> Self {
        Self { until: None, is_astray: true, ..self.clone() }
    }

    pub(super) fn is_write(&self) -> bool {
        matches!(*self.op, Op::Write(_) | Op::Remove(_))
    }

    /// Tells whether something may yet come of it.
    pub(super) fn matters(&self) -> bool {
        self.until.is_some() || (self.is_write() && self.reply.is_none())
    }

    /// Returns what tells two requests in flight apart and stays the same from search to search: the list of
    /// flights is kept in this order, so that the order in which they were sent makes no difference.
    pub(super) fn rank(&self) -> (usize, u64, bool) {
        let number = match &*self.op {
            Op::List(op) => op.id.get(),
            Op::Read(op) => op.id.get(),
            Op::Remove(op) => op.id.get(),
            Op::Write(op) => op.id.get(),
        };
        (self.session, number, self.until.is_none())
    }

    pub(super) fn print(&self) -> u128 {
        let Self { session, op: _, until, reply, is_astray, is_dated_late, mark } = self;
        print(&(mark, session, until, reply.is_some(), is_astray, is_dated_late))
    }
}

/// Pairs an answer with its request, as the event that the engine is owed.
pub(super) fn event(op: &Op, reply: &Reply) -> Event {
    crate::wire::answer(op, reply.clone())
}
