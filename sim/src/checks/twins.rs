//! A cloned process counts as one session until its next renewal; then at most one of the clones goes on.

use std::sync::Arc;

use tenure_core::{Notice, Op};

use super::{Check, Violation};
use crate::kinds::Kinds;
use crate::view::{Step, View};

/// Watches whose renewals succeed among sessions with one id.
#[derive(Debug, Default)]
pub struct Twins {
    /// For each session that is a clone or has one, what it has done since.
    twins: Vec<Twin>,
    /// What each session last wrote into its lease.
    written: Vec<Option<Arc<[u8]>>>,
}

#[derive(Debug)]
struct Twin {
    session: usize,
    /// What was on its way into the lease when the process was cloned, on behalf of both.
    shared: Option<Arc<[u8]>>,
    /// Whether a renewal has succeeded that was its own.
    goes_on: bool,
}

impl Check for Twins {
    fn kinds(&self) -> Kinds {
        Kinds::CLONED.and(Kinds::NOTICED).and(Kinds::SENT_WRITE)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let (Some(session), Some(actor)) = (view.session(), view.actor) else { return Ok(()) };
        if self.written.len() <= actor {
            self.written.resize(actor + 1, None);
        }
        match view.step {
            Step::Cloned(of) => {
                let shared = self.written[*of].clone();
                self.written[actor].clone_from(&shared);
                // A new clone of one that went on alone shares that with it.
                self.twins.retain(|twin| twin.session != *of);
                for session in [*of, actor] {
                    self.twins.push(Twin { session, shared: shared.clone(), goes_on: false });
                }
                Ok(())
            }
            Step::Sent(Op::Write(op)) if op.key == *session.lease_key() => {
                self.written[actor] = Some(op.body.clone());
                Ok(())
            }
            Step::Noticed(Notice::Authority { .. }) => self.renewed(view, actor),
            _ => Ok(()),
        }
    }
}

impl Twins {
    fn renewed(&mut self, view: &View<'_>, actor: usize) -> Result<(), Violation> {
        let Some(twin) = self.twins.iter_mut().find(|twin| twin.session == actor) else { return Ok(()) };
        if self.written[actor] == twin.shared {
            return Ok(());
        }
        twin.goes_on = true;
        let id = view.sessions[actor].id();
        let rival = self
            .twins
            .iter()
            .find(|other| other.session != actor && other.goes_on && view.sessions[other.session].id() == id);
        match rival {
            Some(rival) => {
                let why = format_args!("sessions {} and {} both go on as {id}", rival.session + 1, actor + 1);
                Err(Violation::new("twins", why))
            }
            None => Ok(()),
        }
    }
}
