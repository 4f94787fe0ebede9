//! A second judge, who knows neither the store nor the engines: only what the applications asked, what they were told,
//! and in which order. All of it must look as if there were one lock for each cell, taken and given up at once.
//!
//! What an application was told is an [`Act`](model::Act) of its node, [`model`] says what the lock allows, and
//! [`search`] looks for an order. A call that was refused, or never answered, is left out. It may have taken effect; but
//! an application acts only on what it was told, and then a claim, a release or an offer that nobody was told of makes
//! nothing legal that would not be legal without it: any later claim may skip its epoch.

mod model;
mod search;
#[cfg(test)]
mod tests;

use tenure_core::{Call, CellId, Event, Notice, Outcome, Tenure, Ticket};

use self::model::{Act, Lock};
use self::search::{Mark, search};
use super::{Check, Violation};
use crate::scenario::Family;
use crate::view::{Kinds, Step, View};

/// Demands that what the applications were told has an order in which one lock could have told it.
#[derive(Debug, Default)]
pub struct Linear {
    logs: Vec<Log>,
}

/// What was asked and told about one cell since the last moment at which nothing was open.
#[derive(Debug)]
struct Log {
    cell: usize,
    /// Whose log it is, where sessions have nothing to do with each other.
    of: Option<usize>,
    acts: Vec<Act>,
    marks: Vec<Mark>,
    open: Vec<Open>,
    /// The tenures that applications have, as far as they were told.
    held: Vec<(usize, u64)>,
    /// The epochs at which others offered the cell, where sessions have nothing to do with each other.
    offered: Vec<u64>,
    /// What the lock may be before the first mark.
    starts: Vec<Lock>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    actor: usize,
    ticket: Ticket,
    act: usize,
    /// Whether the caller has stopped listening: the engine may give what it claims to the next one.
    is_cancelled: bool,
}

impl Check for Linear {
    fn kinds(&self) -> Kinds {
        let calls = Kinds::ASKED.and(Kinds::DONE).and(Kinds::TOLD);
        calls.and(Kinds::CRASHED).and(Kinds::FINISHED).and(Kinds::NOTICED)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        if matches!(view.step, Step::Finished) {
            return self.each(Log::judge).map_err(|why| Violation::new("linear", why));
        }
        let Some(actor) = view.actor else { return Ok(()) };
        match view.step {
            Step::Asked(ticket, call) => {
                if let Some(cell) = cell_of(call)
                    && let Some(log) = self.log(view, actor, cell)
                {
                    log.asked(actor, *ticket, call);
                }
                if let Call::Transfer { tenure, to } = call
                    && let Some(to) = view.sessions.iter().position(|session| session.id() == to)
                    && let Some(log) = self.log(view, to, &tenure.cell).filter(|log| log.of.is_some())
                {
                    log.offered.push(tenure.epoch.get() + 1);
                }
                Ok(())
            }
            Step::Crashed => self.each(|log| {
                for open in log.open.extract_if(.., |open| open.actor == actor).collect::<Vec<_>>() {
                    log.leave_out(open.act);
                }
                log.settle()
            }),
            Step::Done { ticket, call, outcome, .. } => match cell_of(call) {
                Some(cell) => match self.log(view, actor, cell) {
                    Some(log) => {
                        log.done(view, actor, *ticket, call, outcome);
                        log.settle()
                    }
                    None => Ok(()),
                },
                None => Ok(()),
            },
            Step::Noticed(Notice::CellEnded(tenure) | Notice::CellLost { tenure, .. }) => {
                match self.log(view, actor, &tenure.cell) {
                    Some(log) => {
                        log.ended(actor, |epoch| epoch == tenure.epoch.get());
                        log.settle()
                    }
                    None => Ok(()),
                }
            }
            Step::Noticed(Notice::Fenced(_)) => self.each(|log| {
                log.ended(actor, |_| true);
                log.settle()
            }),
            Step::Told(Event::Cancel(ticket)) => {
                let open = self.logs.iter_mut().flat_map(|log| &mut log.open);
                open.filter(|open| (open.actor, open.ticket) == (actor, *ticket))
                    .for_each(|open| open.is_cancelled = true);
                Ok(())
            }
            _ => Ok(()),
        }
        .map_err(|why| Violation::new("linear", why))
    }
}

impl Linear {
    fn log(&mut self, view: &View<'_>, actor: usize, cell: &CellId) -> Option<&mut Log> {
        let cell = view.cells.iter().position(|known| known == cell)?;
        // Where records are put back by force, epochs begin again, but not for a session that has seen them.
        let of = (view.scenario.family == Family::RecordsRemoved).then_some(actor);
        let place = self.logs.iter().position(|log| log.cell == cell && log.of == of);
        let place = place.unwrap_or_else(|| {
            self.logs.push(Log::new(cell, of));
            self.logs.len() - 1
        });
        self.logs.get_mut(place)
    }

    fn each(&mut self, mut step: impl FnMut(&mut Log) -> Result<(), String>) -> Result<(), String> {
        self.logs.iter_mut().try_for_each(&mut step)
    }
}

impl Log {
    fn new(cell: usize, of: Option<usize>) -> Self {
        Self {
            cell,
            of,
            acts: Vec::new(),
            marks: Vec::new(),
            open: Vec::new(),
            held: Vec::new(),
            offered: Vec::new(),
            starts: vec![Lock::default()],
        }
    }

    fn asked(&mut self, actor: usize, ticket: Ticket, call: &Call) {
        let is_claim = matches!(call, Call::Claim { .. });
        // What an earlier caller no longer listens for began when that one called.
        if let Some(place) = self.open.iter().position(|open| open.actor == actor && open.is_cancelled) {
            if is_claim {
                self.open[place] = Open { ticket, is_cancelled: false, ..self.open[place] };
                return;
            }
            self.open.swap_remove(place);
        }
        // What it came to is known once it is answered.
        let act = self.begin(Act::Claim(actor, None));
        self.open.push(Open { actor, ticket, act, is_cancelled: false });
    }

    fn done(&mut self, view: &View<'_>, actor: usize, ticket: Ticket, call: &Call, outcome: &Outcome) {
        let Some(place) = self.open.iter().position(|open| (open.actor, open.ticket) == (actor, ticket))
        else {
            return;
        };
        let Open { act, .. } = self.open.swap_remove(place);
        let told = match (call, outcome) {
            (Call::Claim { .. }, Outcome::Claimed(Ok(tenure))) => {
                let epoch = tenure.epoch.get();
                self.held.retain(|held| held.0 != actor);
                self.held.push((actor, epoch));
                if self.offered.contains(&epoch) {
                    // Whoever made the offer had its epoch from a record that was put back.
                    self.forget();
                    let act = self.begin(Act::Claim(actor, Some(epoch)));
                    return self.marks.push(Mark::Return(act));
                }
                Act::Claim(actor, Some(epoch))
            }
            (Call::Release(tenure), Outcome::Released(Ok(()))) => Act::Release(actor, tenure.epoch.get()),
            (Call::Transfer { tenure, to }, Outcome::Transferred(Ok(_))) => {
                let to = view.sessions.iter().position(|session| session.id() == to);
                Act::Transfer(actor, tenure.epoch.get(), to.unwrap_or(usize::MAX))
            }
            (Call::Verify(tenure), Outcome::Verified(Ok(()))) => Act::Verify(actor, tenure.epoch.get()),
            _ => return self.leave_out(act),
        };
        self.acts[act] = told;
        self.marks.push(Mark::Return(act));
    }

    /// The application was told that tenures of its are over.
    fn ended(&mut self, actor: usize, is_it: impl Fn(u64) -> bool) {
        let Some(place) = self.held.iter().position(|held| held.0 == actor && is_it(held.1)) else { return };
        let (_, epoch) = self.held.swap_remove(place);
        let act = self.begin(Act::End(actor, epoch));
        self.marks.push(Mark::Return(act));
    }

    fn begin(&mut self, act: Act) -> usize {
        self.acts.push(act);
        self.marks.push(Mark::Call(self.acts.len() - 1));
        self.acts.len() - 1
    }

    /// Judges what is complete and forgets it, if nothing is open: whatever comes later comes after it.
    fn settle(&mut self) -> Result<(), String> {
        if self.open.iter().any(|open| !open.is_cancelled) { Ok(()) } else { self.judge() }
    }

    /// Begins anew: what the lock was before says nothing about what it is now.
    fn forget(&mut self) {
        let (cell, of) = (self.cell, self.of);
        let kept = core::mem::replace(self, Self::new(cell, of));
        (self.held, self.offered, self.open) = (kept.held, kept.offered, kept.open);
        for place in 0..self.open.len() {
            self.open[place].act = self.begin(Act::Claim(self.open[place].actor, None));
        }
    }

    fn leave_out(&mut self, act: usize) {
        self.marks.retain(|mark| *mark != Mark::Call(act));
    }

    fn judge(&mut self) -> Result<(), String> {
        for open in core::mem::take(&mut self.open) {
            self.leave_out(open.act);
            if open.is_cancelled {
                self.open.push(open);
            }
        }
        self.starts = search(&self.acts, &self.marks, &self.starts).map_err(|act| {
            let told: Vec<&Act> = self.acts.iter().filter(|act| act.epoch().is_some()).collect();
            format!("no order explains {:?} of cell {} after {told:?}", self.acts[act], self.cell + 1)
        })?;
        self.acts.clear();
        self.marks.clear();
        for place in 0..self.open.len() {
            self.open[place].act = self.begin(Act::Claim(self.open[place].actor, None));
        }
        Ok(())
    }
}

/// Returns the cell whose lock a call is about.
fn cell_of(call: &Call) -> Option<&CellId> {
    match call {
        Call::Claim { cell, .. } => Some(cell),
        Call::Release(Tenure { cell, .. })
        | Call::Transfer { tenure: Tenure { cell, .. }, .. }
        | Call::Verify(Tenure { cell, .. }) => Some(cell),
        Call::Join
        | Call::Leave
        | Call::Locate { .. }
        | Call::Peers
        | Call::Publish { .. }
        | Call::Unwatch(_)
        | Call::Watch(_) => None,
    }
}
