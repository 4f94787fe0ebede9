//! How a session ended, for whoever looks for the cause. Nothing is decided by it.

use alloc::string::String;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::time::Duration;

use crate::error::FenceCause;
use crate::store::Fault;

/// How a session ended: what tells a dark store, a process that stood still, and somebody's hand apart.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Ending {
    /// Why it ended.
    pub cause: FenceCause,
    /// How long authority would have gone on; zero if it had run out, or if there was none.
    pub headroom: Duration,
    /// How long ago, at the end, the last write of the lease was sent that is known to be applied; nothing if none is.
    pub renewed: Option<Duration>,
    /// The last trouble with the lease since then.
    pub fault: Option<Fault>,
    /// Whom the record names that stands in the place of the lease: the node that fenced it, as a rule. This node itself
    /// if a clone of this process wrote it.
    pub by: Option<String>,
}

impl Ending {
    pub(crate) const fn new(cause: FenceCause) -> Self {
        Self { cause, headroom: Duration::ZERO, renewed: None, fault: None, by: None }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cause)?;
        if let Some(by) = &self.by {
            write!(f, " by {by}")?;
        }
        match self.renewed {
            Some(renewed) => write!(f, "; last renewed {} ms before", renewed.as_millis())?,
            None => f.write_str("; it never held its lease")?,
        }
        if !self.headroom.is_zero() {
            write!(f, ", {} ms of authority left", self.headroom.as_millis())?;
        }
        match &self.fault {
            Some(fault) => write!(f, "; last trouble: {fault}"),
            None => Ok(()),
        }
    }
}

/// Makes no difference: engines that differ only in what they tell of their past are one state of a small world.
impl Hash for Ending {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
