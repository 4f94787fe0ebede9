//! What was asked and told about one cell, as the acts that the search explains.

use tenure_core::{Call, Outcome, Ticket};

use super::model::{Act, Lock, Node};
use super::search::{Mark, Unexplained, search};
use crate::family::Promise;
use crate::view::View;

/// What was asked and told about one cell since the last moment at which nothing was open.
#[derive(Clone, Debug, Hash)]
pub(super) struct Log {
    cell: usize,
    /// Whose log it is, where sessions have nothing to do with each other.
    of: Option<Node>,
    acts: Vec<Act>,
    marks: Vec<Mark>,
    open: Vec<Open>,
    /// The tenures that applications have, as far as they were told.
    held: Vec<Held>,
    /// The epochs at which others offered the cell, where sessions have nothing to do with each other.
    offered: Vec<u64>,
    /// What was verified, and not acknowledged yet.
    verified: Vec<(usize, Ticket, u64)>,
    /// What the lock may be before the first mark.
    starts: Vec<Lock>,
}

/// A call that has not been answered.
#[derive(Clone, Copy, Debug, Hash)]
struct Open {
    session: usize,
    ticket: Ticket,
    act: usize,
    /// Whether the caller has stopped listening: the engine may give what it claims to the next one.
    is_cancelled: bool,
}

#[derive(Clone, Copy, Debug, Hash)]
struct Held {
    session: usize,
    node: Node,
    epoch: u64,
}

impl Log {
    pub(super) fn new(cell: usize, of: Option<Node>) -> Self {
        Self {
            cell,
            of,
            acts: Vec::new(),
            marks: Vec::new(),
            open: Vec::new(),
            held: Vec::new(),
            offered: Vec::new(),
            verified: Vec::new(),
            starts: vec![Lock::default()],
        }
    }

    pub(super) fn is_of(&self, cell: usize, of: Option<Node>) -> bool {
        (self.cell, self.of) == (cell, of)
    }

    pub(super) fn asked(&mut self, (session, node): (usize, Node), ticket: Ticket, call: &Call) {
        let is_claim = matches!(call, Call::Claim { .. });
        // What an earlier caller no longer listens for began when that one called.
        if let Some(place) = self.open.iter().position(|open| open.session == session && open.is_cancelled) {
            if is_claim {
                self.open[place] = Open { ticket, is_cancelled: false, ..self.open[place] };
                return;
            }
            self.open.swap_remove(place);
        }
        // What it came to is known once it is answered.
        let act = self.begin(Act::Claim(node, None));
        self.open.push(Open { session, ticket, act, is_cancelled: false });
    }

    /// Somebody asked to offer the cell to the node whose log it is.
    pub(super) fn offered(&mut self, epoch: u64) {
        if self.of.is_some() {
            self.offered.push(epoch);
        }
    }

    pub(super) fn done(
        &mut self,
        view: &View<'_>,
        session: usize,
        ticket: Ticket,
        call: &Call,
        outcome: &Outcome,
    ) {
        let is_it = |open: &Open| (open.session, open.ticket) == (session, ticket);
        let Some(place) = self.open.iter().position(is_it) else { return };
        let Open { act, .. } = self.open.swap_remove(place);
        let node = self.acts[act].node();
        let told = match (call, outcome) {
            (Call::Claim { .. }, Outcome::Claimed(Ok(tenure))) => {
                let epoch = tenure.epoch.get();
                self.held.retain(|held| held.session != session);
                self.held.push(Held { session, node, epoch });
                if self.offered.contains(&epoch) {
                    // Whoever made the offer had its epoch from a record that was put back.
                    self.forget();
                    return self.tell(Act::Claim(node, Some(epoch)));
                }
                Act::Claim(node, Some(epoch))
            }
            (Call::Release(tenure), Outcome::Released(Ok(()))) => Act::Release(node, tenure.epoch.get()),
            (Call::Transfer { tenure, to }, Outcome::Transferred(Ok(_))) => {
                let to = view.sessions.iter().position(|session| session.id() == to);
                let (epoch, to) = (tenure.epoch.get(), to.unwrap_or(usize::MAX));
                // Where holders are overtaken while they believe in themselves, the receiver may have been the one.
                let is_told_apart = view.scenario.family.keeps(Promise::Belief);
                if is_told_apart { Act::Transfer(node, epoch, to) } else { Act::Given(node, epoch, to) }
            }
            (Call::Verify(tenure), Outcome::Verified(Ok(()))) => {
                self.verified.push((session, ticket, tenure.epoch.get()));
                Act::Verify(node, tenure.epoch.get())
            }
            _ => return self.leave_out(act),
        };
        self.acts[act] = told;
        self.marks.push(Mark::Return(act));
    }

    /// The application acknowledged work, on the word of the `verify` of this number.
    pub(super) fn acknowledged(&mut self, session: usize, ticket: Ticket, epoch: u64) -> Result<(), String> {
        let Some(place) = self.verified.iter().position(|told| *told == (session, ticket, epoch)) else {
            return Err(format!("acknowledged without a verify: {ticket} at epoch {epoch}"));
        };
        self.verified.swap_remove(place);
        Ok(())
    }

    /// The application was told that tenures of its are over.
    pub(super) fn ended(&mut self, view: &View<'_>, session: usize, is_it: impl Fn(u64) -> bool) {
        let Some(place) = self.held.iter().position(|held| held.session == session && is_it(held.epoch))
        else {
            return;
        };
        let Held { node, epoch, .. } = self.held.swap_remove(place);
        // A clone that goes on has it still, or may yet find that it has.
        if !has_clone(view, session) {
            self.tell(Act::End(node, epoch));
        }
    }

    /// The process of a session was cloned: whatever one was told the other was told as well.
    pub(super) fn cloned(&mut self, of: usize, clone: usize) {
        let held: Vec<Held> = self.held.iter().filter(|held| held.session == of).copied().collect();
        self.held.extend(held.into_iter().map(|held| Held { session: clone, ..held }));
        let told: Vec<_> = self.verified.iter().filter(|told| told.0 == of).copied().collect();
        self.verified.extend(told.into_iter().map(|(_, ticket, epoch)| (clone, ticket, epoch)));
        for open in self.open.clone().into_iter().filter(|open| open.session == of) {
            // The clone asked when the original did.
            self.acts.push(self.acts[open.act]);
            let act = self.acts.len() - 1;
            let place = self.marks.iter().position(|mark| *mark == Mark::Call(open.act));
            self.marks.insert(place.unwrap_or(self.marks.len()), Mark::Call(act));
            self.open.push(Open { session: clone, act, ..open });
        }
    }

    pub(super) fn crashed(&mut self, session: usize) {
        for open in self.open.extract_if(.., |open| open.session == session).collect::<Vec<_>>() {
            self.leave_out(open.act);
        }
        self.held.retain(|held| held.session != session);
        self.verified.retain(|told| told.0 != session);
    }

    pub(super) fn cancelled(&mut self, session: usize, ticket: Ticket) {
        let is_it = |open: &&mut Open| (open.session, open.ticket) == (session, ticket);
        self.open.iter_mut().filter(is_it).for_each(|open| open.is_cancelled = true);
    }

    /// Judges what is complete and forgets it, if nothing is open: whatever comes later comes after it.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        if self.open.iter().any(|open| !open.is_cancelled) { Ok(()) } else { self.judge() }
    }

    pub(super) fn judge(&mut self) -> Result<(), String> {
        for place in 0..self.open.len() {
            self.leave_out(self.open[place].act);
        }
        self.open.retain(|open| open.is_cancelled);
        self.starts = search(&self.acts, &self.marks, &self.starts).map_err(|why| self.explain(&why))?;
        self.marks.clear();
        if self.open.is_empty() {
            self.acts.clear();
        } else {
            let acts = core::mem::take(&mut self.acts);
            self.ask_again(&acts);
        }
        Ok(())
    }

    fn explain(&self, why: &Unexplained) -> String {
        let cell = self.cell + 1;
        match why {
            Unexplained::Act(act) => {
                let told: Vec<&Act> = self.acts.iter().filter(|act| act.epoch().is_some()).collect();
                format!("no order explains {:?} of cell {cell} after {told:?}", self.acts[*act])
            }
            Unexplained::TooMuch => {
                format!(
                    "too much is open at once on cell {cell} for an order to be found: ask for less at a time"
                )
            }
        }
    }

    /// Begins anew: what the lock was before says nothing about what it is now.
    fn forget(&mut self) {
        let kept = core::mem::replace(self, Self::new(self.cell, self.of));
        (self.held, self.offered, self.open, self.verified) =
            (kept.held, kept.offered, kept.open, kept.verified);
        self.ask_again(&kept.acts);
    }

    /// Begins what is open anew.
    fn ask_again(&mut self, acts: &[Act]) {
        for place in 0..self.open.len() {
            let node = acts[self.open[place].act].node();
            self.open[place].act = self.begin(Act::Claim(node, None));
        }
    }

    fn begin(&mut self, act: Act) -> usize {
        self.acts.push(act);
        self.marks.push(Mark::Call(self.acts.len() - 1));
        self.acts.len() - 1
    }

    /// Notes what happened at once.
    fn tell(&mut self, act: Act) {
        let act = self.begin(act);
        self.marks.push(Mark::Return(act));
    }

    fn leave_out(&mut self, act: usize) {
        self.marks.retain(|mark| *mark != Mark::Call(act));
    }
}

/// Tells whether another process runs that is the same node.
fn has_clone(view: &View<'_>, session: usize) -> bool {
    let id = view.sessions[session].id();
    let mut others = view.sessions.iter().enumerate().filter(|(other, _)| *other != session);
    others.any(|(_, other)| other.is_running && other.id() == id)
}
