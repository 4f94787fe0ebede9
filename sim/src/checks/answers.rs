//! An answer says what is so: it fits its question, and a cell that is granted is held.

use tenure_core::{Call, ClaimError, Location, Notice, Outcome, Tenure};

use super::fence::was_held;
use super::{Check, Violation};
use crate::clock::Moment;
use crate::kinds::Kinds;
use crate::node::Session;
use crate::view::{Step, View};

/// Compares what an engine tells its application with what it would answer if asked again at once.
#[derive(Clone, Debug, Default, Hash)]
pub struct Answers {
    /// For each session, the tenures it was granted and not told to have ended.
    held: Vec<Vec<Tenure>>,
}

impl Check for Answers {
    fn kinds(&self) -> Kinds {
        Kinds::CLONED.and(Kinds::DONE).and(Kinds::HANDLED).and(Kinds::NOTICED)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let (Some(session), Some(actor)) = (view.session(), view.actor) else { return Ok(()) };
        if self.held.len() <= actor {
            self.held.resize(actor + 1, Vec::new());
        }
        if let Step::Cloned(of) = view.step {
            self.held[actor] = self.held[*of].clone();
            return Ok(());
        }
        let held = &mut self.held[actor];
        match view.step {
            Step::Done { call, asked, outcome, .. } => {
                if let Outcome::Claimed(Ok(tenure)) = outcome {
                    held.push(tenure.clone());
                }
                done(view, session, (call, *asked), outcome)
                    .map_err(|why| Violation::new("answers", format_args!("{why}: {call:?} -> {outcome:?}")))
            }
            Step::Noticed(Notice::CellEnded(tenure) | Notice::CellLost { tenure, .. }) => {
                let Some(place) = held.iter().position(|own| is(own, tenure)) else {
                    let why =
                        format_args!("{} ended at epoch {}, which was not held", tenure.cell, tenure.epoch);
                    return Err(Violation::new("answers", why));
                };
                held.swap_remove(place);
                Ok(())
            }
            Step::Noticed(Notice::Fenced(_)) => {
                held.clear();
                Ok(())
            }
            Step::Handled { .. } => match session.held().iter().find(|tenure| !has(held, tenure)) {
                Some(Tenure { cell, epoch }) => {
                    let why = format_args!("{cell} is held at epoch {epoch}, which was never granted");
                    Err(Violation::new("answers", why))
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

fn has(held: &[Tenure], tenure: &Tenure) -> bool {
    held.iter().any(|own| is(own, tenure))
}

/// Tells whether two tenures are the same. Most that are not differ in the number, which is compared sooner than a name.
fn is(one: &Tenure, other: &Tenure) -> bool {
    one.epoch == other.epoch && one.cell == other.cell
}

fn done(
    view: &View<'_>,
    session: &Session,
    (call, asked): (&Call, Moment),
    outcome: &Outcome,
) -> Result<(), &'static str> {
    let held = |cell| session.engine().tenure(cell, view.now(session));
    let is_so = match (call, outcome) {
        (Call::Claim { cell, .. }, Outcome::Claimed(Ok(tenure))) => {
            *cell == tenure.cell && held(cell).as_ref() == Some(tenure)
        }
        (Call::Locate { cell, .. }, Outcome::Located(Ok(Location::Here(epoch)))) => {
            held(cell).is_some_and(|tenure| tenure.epoch == *epoch)
        }
        (
            Call::Claim { .. },
            Outcome::Claimed(Err(ClaimError::Held(_, by) | ClaimError::Timeout(_, Some(by)))),
        ) => by.node != *session.id(),
        (Call::Locate { cell, max_age }, Outcome::Located(Ok(Location::At { node, epoch, .. }))) => {
            let since = asked.before(view.longest(session, *max_age));
            node != session.id() && was_held(view, node, cell, *epoch, since)
        }
        (
            Call::Release(tenure) | Call::Transfer { tenure, .. },
            Outcome::Released(_) | Outcome::Transferred(_),
        ) => held(&tenure.cell).as_ref() != Some(tenure) || is_refusal(outcome),
        (Call::Claim { .. }, Outcome::Claimed(Err(_)))
        | (Call::Join, Outcome::Joined(_))
        | (Call::Leave, Outcome::Left)
        | (Call::Locate { .. }, Outcome::Located(_))
        | (Call::Peers, Outcome::Peers(_))
        | (Call::Publish { .. }, Outcome::Published(_))
        | (Call::Unwatch(_), Outcome::Unwatched)
        | (Call::Verify(_), Outcome::Verified(_))
        | (Call::Watch(_), Outcome::Watched(_)) => true,
        _ => return Err("the answer does not fit the question"),
    };
    if is_so { Ok(()) } else { Err("the answer is not so") }
}

/// Tells whether the answer says that the request was not acceptable in the first place.
fn is_refusal(outcome: &Outcome) -> bool {
    use tenure_core::TransferError::{Exhausted, NotOwner, ToSelf};
    matches!(outcome, Outcome::Transferred(Err(Exhausted(_) | NotOwner(_) | ToSelf(_))))
}
