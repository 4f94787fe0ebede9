//! The store is down: nobody is served, or nobody served well, until it is back.

use core::time::Duration;

use tenure_core::{FaultKind, Op, Reply, WriteReply};

use crate::clock::Moment;
use crate::fate::{self, Fate, Service};

/// A time in which the store is no use to anybody.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    pub(crate) until: Moment,
    pub(crate) mode: Mode,
}

/// What becomes of requests while the store is down.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mode {
    /// Writes are rejected although their guards hold: a proxy that rewrites tags, say. Everything else goes well.
    Contradicts,
    /// They never arrive.
    Deaf,
    /// They fail at once.
    Fails,
    /// They are served, and their answers never arrive.
    Mute,
    /// They are answered at once that the store asks to slow down.
    Throttles,
}

impl Mode {
    /// Every mode; that of contradiction comes last.
    pub(crate) const ALL: &'static [Self] =
        &[Self::Fails, Self::Deaf, Self::Mute, Self::Throttles, Self::Contradicts];
}

impl Outage {
    /// Changes the fate of a request that is sent while the store is down.
    pub(crate) fn befall(self, op: &Op, fate: &mut Fate) {
        match self.mode {
            Mode::Contradicts if !fate::is_guarded(op) => return,
            Mode::Contradicts => fate.service = Service::instead(Reply::Write(WriteReply::Rejected)),
            Mode::Deaf => fate.arrives = None,
            Mode::Fails => {
                let soon = Duration::from_millis(1);
                (fate.arrives, fate.returns) = (Some(soon), Some(soon));
                fate.service = Service::instead(fate::failed(op, FaultKind::Unavailable));
            }
            Mode::Mute => fate.returns = None,
            Mode::Throttles => {
                let soon = Duration::from_millis(1);
                (fate.arrives, fate.returns) = (Some(soon), Some(soon));
                fate.service = Service::Instead(fate::throttled(op, None).into());
            }
        }
        // No copy may be applied of what is answered with a certain no.
        fate.again = None;
        fate.answers_second = false;
    }
}
