//! The store is down: nobody is served until it is back.

use core::time::Duration;

use tenure_core::{FaultKind, Op};

use crate::clock::Moment;
use crate::fate::{self, Fate, Service};

/// A time in which the store serves nobody.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    pub(crate) until: Moment,
    pub(crate) mode: Mode,
}

/// What becomes of requests while the store is down.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mode {
    /// They never arrive.
    Deaf,
    /// They fail at once.
    Fails,
    /// They are served, and their answers never arrive.
    Mute,
}

impl Outage {
    /// Changes the fate of a request that is sent while the store is down.
    pub(crate) fn befall(self, op: &Op, fate: &mut Fate) {
        fate.again = None;
        fate.answers_second = false;
        match self.mode {
            Mode::Deaf => fate.arrives = None,
            Mode::Fails => {
                let soon = Duration::from_millis(1);
                (fate.arrives, fate.returns) = (Some(soon), Some(soon));
                fate.service = Service::Instead(fate::failed(op, FaultKind::Unavailable));
            }
            Mode::Mute => fate.returns = None,
        }
    }
}
