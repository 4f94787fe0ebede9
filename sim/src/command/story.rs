//! What the pictures of the documentation tell, each as a check that "fails" once a world has told it.
//!
//! A [`Meeting`](crate::Meeting) is content with situations that have nothing to do with each other. A story is about
//! one claim, or one holder and who comes after it, and nothing else goes wrong in it with a process.

use tenure_core::{Event, FenceCause, Key, Notice, Op, Outcome, ReadReply, Reply, WriteReply};

use crate::{Check, Step, View, Violation};

/// How a holder comes to lose its cell.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fate {
    Dies,
    StandsStill,
}

/// A session on the first machine holds the cell, meets its fate, and one that was there before takes the cell; who
/// stood still then learns of it.
#[derive(Debug)]
pub(super) struct Succession {
    fate: Fate,
    scene: Scene,
}

#[derive(Clone, Copy, Debug)]
enum Scene {
    Free,
    Held {
        by: usize,
    },
    /// The holder is dead or stands still.
    Deserted {
        by: usize,
    },
    /// Another session has the cell; the first does not know it yet.
    Taken {
        from: usize,
    },
    /// Something else went wrong: nobody would see what the picture is about.
    Spoiled,
}

impl Succession {
    pub(super) const fn of(fate: Fate) -> Self {
        Self { fate, scene: Scene::Free }
    }
}

impl Check for Succession {
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let Some(actor) = view.actor else { return Ok(()) };
        let is_first = view.session().is_some_and(|session| session.machine == 0);
        self.scene = match (self.scene, view.step) {
            (Scene::Free, Step::Done { outcome: Outcome::Claimed(Ok(_)), .. }) if is_first => {
                Scene::Held { by: actor }
            }
            (Scene::Held { by }, Step::Crashed) if by == actor && self.fate == Fate::Dies => {
                Scene::Deserted { by }
            }
            (Scene::Held { by }, Step::Paused(span))
                if by == actor && self.fate == Fate::StandsStill && *span > view.scenario.config.ttl =>
            {
                Scene::Deserted { by }
            }
            (Scene::Deserted { by }, Step::Done { outcome: Outcome::Claimed(Ok(_)), .. }) if by != actor => {
                match self.fate {
                    Fate::Dies => return Err(told("the cell of a dead holder was taken")),
                    Fate::StandsStill => Scene::Taken { from: by },
                }
            }
            (Scene::Taken { from }, Step::Noticed(Notice::Fenced(FenceCause::Expired))) if from == actor => {
                return Err(told("a holder that stood still was fenced, and learnt of it"));
            }
            (_, Step::Crashed | Step::Paused(_) | Step::Suspended(_)) => Scene::Spoiled,
            (Scene::Deserted { .. }, Step::Started) => Scene::Spoiled,
            _ => return Ok(()),
        };
        Ok(())
    }
}

/// A claim lands late, after a look has shown nothing of it, and is granted all the same.
#[derive(Debug)]
pub(super) enum LateClaim {
    Claims,
    GivesUp,
    SeesNothing,
    Lands,
    IsGranted,
}

impl Check for LateClaim {
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let is_of_cell = |key: &Key| Key::cell(key.as_str()).is_some();
        *self = match (&self, view.step) {
            (Self::Claims, Step::Sent(Op::Write(op))) if is_of_cell(&op.key) => Self::GivesUp,
            (Self::GivesUp, Step::Told(Event::WriteDone(_, WriteReply::Unknown(_)))) => Self::SeesNothing,
            (Self::GivesUp, Step::Told(Event::WriteDone(..))) => Self::Claims,
            (Self::SeesNothing, Step::Told(Event::ReadDone(_, ReadReply::Missing))) => Self::Lands,
            (Self::Lands, Step::Served { op: Op::Write(op), reply, is_late: true, .. })
                if is_of_cell(&op.key) && matches!(reply, Reply::Write(WriteReply::Applied { .. })) =>
            {
                Self::IsGranted
            }
            (Self::IsGranted, Step::Done { outcome: Outcome::Claimed(Ok(_)), .. }) => {
                return Err(told("a claim landed late"));
            }
            _ => return Ok(()),
        };
        Ok(())
    }
}

fn told(what: &str) -> Violation {
    Violation::new("story", what)
}
