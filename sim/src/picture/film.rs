//! Watches a world and keeps what can be drawn of it.

use core::cell::RefCell;
use std::rc::Rc;

use tenure_core::{
    Event, Fault, FaultKind, LeaseRecord, ListReply, Notice, Op, ReadReply, RemoveReply, Reply, WriteOp,
    WriteReply,
};

use super::label;
use super::scene::{Held, Kind, Life, Mark, Message, Pause, Place, Scene};
use crate::checks::{Check, Violation};
use crate::clock::Moment;
use crate::node::Session;
use crate::view::{Step, View};

/// A film of a world. A clone is of the same world.
#[derive(Clone, Debug, Default)]
pub struct Film(pub(super) Rc<RefCell<Scene>>);

impl Check for Film {
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.0.borrow_mut().see(view);
        Ok(())
    }
}

impl Scene {
    fn see(&mut self, view: &View<'_>) {
        self.machines = view.machines.len();
        self.end = view.at;
        let at = view.at;
        match (view.step, view.actor) {
            (Step::Jumped(machine, by), _) => {
                let label = format!("wall clock jumps by {:+.1} s", *by as f64 / 1e9);
                self.mark(at, Place::Machine(*machine), Kind::Meddling, label);
            }
            (Step::Meddled(deed, key), _) => {
                let label = format!("somebody {} {}", deed.as_str(), label::key(key));
                self.mark(at, Place::Store, Kind::Meddling, label);
            }
            (Step::Outage(span), _) => self.outage(at, at.after(*span)),
            (Step::Removed(key), _) => {
                self.mark(at, Place::Store, Kind::Meddling, format!("{} removed", label::key(key)))
            }
            (Step::Restored(key), _) => {
                self.mark(at, Place::Store, Kind::Meddling, format!("old {} restored", label::key(key)));
            }
            (Step::Healed, _) => {
                // Whatever was still to last is over.
                self.outage(at, at);
                self.mark(at, Place::Store, Kind::Calm, "from here on nothing goes wrong".to_owned());
            }
            (_, Some(actor)) => self.see_session(view, actor),
            (_, None) => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here are drawn")]
    fn see_session(&mut self, view: &View<'_>, actor: usize) {
        let at = view.at;
        match view.step {
            Step::Cloned(of) => self.cloned(view, *of, actor),
            Step::Started => {
                self.sessions.push(Life::new(view.sessions[actor].machine(), at, None));
                self.mark(
                    at,
                    Place::Session(actor),
                    Kind::Start,
                    format!("{} starts", label::session(view, actor)),
                );
            }
            Step::Crashed => {
                let is_over = view.sessions[actor].engine().fenced().is_some();
                let authority = self.sessions[actor].authority;
                self.over(actor, at);
                let life = &mut self.sessions[actor];
                life.end = Some(at);
                life.promised = authority.filter(|(_, until)| *until > at).map(|(_, until)| (at, until));
                let (kind, what) = if is_over { (Kind::End, "stops") } else { (Kind::Crash, "crashes") };
                self.mark(at, Place::Session(actor), kind, what.to_owned());
            }
            Step::Noted(text) => {
                self.mark(at, Place::Session(actor), Kind::Note, (*text).to_owned());
            }
            Step::Paused(_) => self.stands_still(actor, at, false),
            Step::Suspended(_) => self.stands_still(actor, at, true),
            Step::Resumed => self.resumed(actor, at),
            Step::Sent(op) => self.sent(view, actor, op),
            Step::Served { op, reply, is_late, .. } => self.served(view, actor, op, reply, *is_late),
            Step::Told(event) => self.told(actor, event, at),
            Step::Noticed(notice) => self.noticed(view, actor, notice),
            Step::Done { outcome, .. } => {
                if let Some(label) = label::outcome(outcome) {
                    self.mark(at, Place::Session(actor), Kind::Answer, label);
                }
            }
            Step::Handled { .. } => self.handled(view, actor),
            _ => {}
        }
    }

    /// Begins the lane of a clone, which has what the original has.
    fn cloned(&mut self, view: &View<'_>, of: usize, actor: usize) {
        let authority = self.sessions[of].authority.map(|(_, until)| (view.at, until));
        self.sessions.push(Life::new(view.sessions[actor].machine(), view.at, authority));
        self.mark(
            view.at,
            Place::Session(actor),
            Kind::Start,
            format!("clone of {}", label::session(view, of)),
        );
    }

    fn mark(&mut self, at: Moment, place: Place, kind: Kind, label: String) {
        self.marks.push(Mark { at, place, kind, label });
    }

    /// Takes the store away for a while, which ends any outage before.
    fn outage(&mut self, from: Moment, to: Moment) {
        if let Some((_, end)) = self.outages.last_mut() {
            *end = from.min(*end);
        }
        if from < to {
            self.outages.push((from, to));
        }
    }

    fn sent(&mut self, view: &View<'_>, session: usize, op: &Op) {
        let Some((label, is_quiet)) = label::request(view, session, op) else { return };
        self.places.insert((session, label::number(op)), self.messages.len());
        self.messages.push(Message {
            session,
            label,
            is_quiet,
            turn: label::turn(view, op),
            is_idle: is_quiet || matches!(op, Op::Read(_)),
            sent: view.at,
            served: Vec::new(),
            answered: None,
            given_up: None,
        });
    }

    fn served(&mut self, view: &View<'_>, session: usize, op: &Op, reply: &Reply, is_late: bool) {
        let Some(&place) = self.places.get(&(session, label::number(op))) else { return };
        let label = label::reply(view, op, reply);
        self.messages[place].served.push((view.at, label, is_late));
        if let (Op::Write(op), Reply::Write(WriteReply::Applied { .. })) = (op, reply)
            && let Some(label) = label::version(view, op)
        {
            self.judged(view, op);
            // Two writes that are applied at once share a box.
            match self.versions.last_mut().filter(|(at, _)| *at == view.at) {
                Some((_, labels)) => *labels = format!("{labels} \u{b7} {label}"),
                None => self.versions.push((view.at, label)),
            }
        }
    }

    /// If this write fenced somebody, marks from when on that was allowed.
    fn judged(&mut self, view: &View<'_>, op: &WriteOp) {
        let dead = |session: &Session| {
            session.lease_key() == &op.key
                && view.actor.is_some_and(|by| view.sessions[by].id() != session.id())
        };
        let Some(of) = view.sessions.iter().rposition(dead) else { return };
        let Some([.., version, _]) = Some(view.store.history(op.key.as_str())) else { return };
        let Some(record) = version.body.as_ref().and_then(|body| LeaseRecord::parse(body).ok()) else {
            return;
        };
        let clock = &view.scenario.config.clock;
        let Some(ttl) = record.ttl.filter(|_| view.scenario.stamping.has_modified) else { return };
        let at = view.store.when_dated(version.modified().after(ttl + clock.unit + clock.margin));
        // A clock of the store that is ahead lets it be judged a little earlier.
        if let Some(at) = at.filter(|at| *at <= view.at) {
            let label = format!("{} may be judged dead", label::session(view, of));
            self.mark(at, Place::Session(of), Kind::Judged, label);
        }
    }

    fn stands_still(&mut self, session: usize, from: Moment, is_suspended: bool) {
        self.sessions[session].pauses.push(Pause { from, to: None, is_suspended });
    }

    fn told(&mut self, session: usize, event: &Event, at: Moment) {
        let (id, timed_out) = match event {
            Event::ListDone(id, reply) => {
                (id.get(), matches!(reply, ListReply::Failed(fault) if is_timeout(fault)))
            }
            Event::ReadDone(id, reply) => {
                (id.get(), matches!(reply, ReadReply::Failed(fault) if is_timeout(fault)))
            }
            Event::RemoveDone(id, reply) => {
                (id.get(), matches!(reply, RemoveReply::Failed(fault) if is_timeout(fault)))
            }
            Event::WriteDone(id, reply) => {
                (id.get(), matches!(reply, WriteReply::Unknown(fault) if is_timeout(fault)))
            }
            Event::Call(..) | Event::Cancel(_) | Event::Wake => return,
        };
        let Some(&place) = self.places.get(&(session, id)) else { return };
        let message = &mut self.messages[place];
        let slot = if timed_out { &mut message.given_up } else { &mut message.answered };
        slot.get_or_insert(at);
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "notices may be added; these are drawn")]
    fn noticed(&mut self, view: &View<'_>, actor: usize, notice: &Notice) {
        let at = view.at;
        match notice {
            Notice::Authority { until } => {
                let until = view.machines[view.sessions[actor].machine()].clock.when(*until);
                let from = self.sessions[actor].authority.map_or(at, |(from, _)| from);
                self.sessions[actor].authority = Some((from, until));
            }
            Notice::Fenced(cause) => {
                self.over(actor, at);
                self.mark(at, Place::Session(actor), Kind::End, format!("session ends: {cause}"));
            }
            Notice::CellLost { tenure, reason } => {
                self.mark(at, Place::Session(actor), Kind::End, format!("loses {}: {reason}", tenure.cell));
            }
            _ => {}
        }
    }

    /// Ends what a session has at a moment, or when its authority ended before.
    fn over(&mut self, actor: usize, at: Moment) {
        let life = &mut self.sessions[actor];
        if let Some((_, until)) = &mut life.authority {
            *until = at.min(*until);
        }
        let end = life.authority.map_or(at, |(_, until)| at.min(until));
        life.tenures
            .iter_mut()
            .filter(|held| held.to.is_none())
            .for_each(|held| held.to = Some(end.max(held.from)));
        life.pauses.iter_mut().for_each(|pause| {
            pause.to.get_or_insert(at);
        });
    }

    fn resumed(&mut self, actor: usize, at: Moment) {
        if let Some(pause) = self.sessions[actor].pauses.last_mut() {
            pause.to = Some(at);
        }
    }

    fn handled(&mut self, view: &View<'_>, actor: usize) {
        let (session, now, at) = (&view.sessions[actor], view.now(&view.sessions[actor]), view.at);
        let life = &mut self.sessions[actor];
        for (cell, name) in view.cells.iter().enumerate() {
            let tenure = session.engine().tenure(name, now);
            let label = tenure.map(|tenure| format!("{} e{}", tenure.cell, tenure.epoch));
            let open = life.tenures.iter_mut().rfind(|held| held.cell == cell && held.to.is_none());
            let is_same = open.as_ref().map(|held| &held.label) == label.as_ref();
            if is_same {
                continue;
            }
            if let Some(held) = open {
                let end = life.authority.map_or(at, |(_, until)| at.min(until));
                held.to = Some(end.max(held.from));
            }
            if let Some(label) = label {
                life.tenures.push(Held { cell, label, from: at, to: None });
            }
        }
    }
}

fn is_timeout(fault: &Fault) -> bool {
    fault.kind == FaultKind::TimedOut
}
