//! Kinds of steps: what a check says it looks at, so that it need not be shown the rest. The most frequent steps come
//! in several kinds, of which a check seldom needs all.

use tenure_core::{Event, Op};

use crate::view::Step;

macro_rules! kinds {
    ($($name:ident = $pattern:pat => $what:literal,)*) => {
        /// Kinds of steps: a set of them.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub struct Kinds(u64);

        #[expect(clippy::upper_case_acronyms, non_camel_case_types, reason = "numbers the constants of the same names")]
        enum Number { $($name,)* }

        impl Kinds {
            $(
                #[doc = concat!("Steps that are ", $what, ".")]
                pub const $name: Self = Self(1 << Number::$name as u32);
            )*
            const EACH: &'static [Self] = &[$(Self::$name,)*];
            /// How many kinds there are.
            pub(crate) const COUNT: usize = Self::EACH.len();
            /// No step.
            pub const NONE: Self = Self(0);
            /// Every step.
            pub const ALL: Self = Self(u64::MAX);
        }

        impl Step<'_> {
            /// Returns the kind of step it is.
            pub const fn kind(&self) -> Kinds {
                match self { $($pattern => Kinds::$name,)* }
            }
        }
    };
}

kinds! {
    ACKNOWLEDGED = Step::Acknowledged(..) => "[`Step::Acknowledged`]",
    ASKED = Step::Asked(..) => "[`Step::Asked`]",
    CLONED = Step::Cloned(_) => "[`Step::Cloned`]",
    CRASHED = Step::Crashed => "[`Step::Crashed`]",
    DONE = Step::Done { .. } => "[`Step::Done`]",
    FINISHED = Step::Finished => "[`Step::Finished`]",
    HANDLED = Step::Handled { .. } => "[`Step::Handled`]",
    HEALED = Step::Healed => "[`Step::Healed`]",
    JUMPED = Step::Jumped(..) => "[`Step::Jumped`]",
    MEDDLED = Step::Meddled(..) => "[`Step::Meddled`]",
    NOTED = Step::Noted(_) => "[`Step::Noted`]",
    NOTICED = Step::Noticed(_) => "[`Step::Noticed`]",
    OUTAGE = Step::Outage(_) => "[`Step::Outage`]",
    PAUSED = Step::Paused(_) => "[`Step::Paused`]",
    REMOVED = Step::Removed(_) => "[`Step::Removed`]",
    RESTORED = Step::Restored(_) => "[`Step::Restored`]",
    RESUMED = Step::Resumed => "[`Step::Resumed`]",
    SENT_LIST = Step::Sent(Op::List(_)) => "[`Step::Sent`], a list",
    SENT_READ = Step::Sent(Op::Read(_)) => "[`Step::Sent`], a read",
    SENT_REMOVE = Step::Sent(Op::Remove(_)) => "[`Step::Sent`], a remove",
    SENT_WRITE = Step::Sent(Op::Write(_)) => "[`Step::Sent`], a write",
    SERVED_LIST = Step::Served { op: Op::List(_), .. } => "[`Step::Served`], a list",
    SERVED_READ = Step::Served { op: Op::Read(_), .. } => "[`Step::Served`], a read",
    SERVED_REMOVE = Step::Served { op: Op::Remove(_), .. } => "[`Step::Served`], a remove",
    SERVED_WRITE = Step::Served { op: Op::Write(_), .. } => "[`Step::Served`], a write",
    STARTED = Step::Started => "[`Step::Started`]",
    SUSPENDED = Step::Suspended(_) => "[`Step::Suspended`]",
    TOLD_CALL = Step::Told(Event::Call(..)) => "[`Step::Told`] of a call",
    TOLD_CANCEL = Step::Told(Event::Cancel(_)) => "[`Step::Told`] that a caller stopped listening",
    TOLD_LIST = Step::Told(Event::ListDone(..)) => "[`Step::Told`] the answer to a list",
    TOLD_READ = Step::Told(Event::ReadDone(..)) => "[`Step::Told`] the answer to a read",
    TOLD_REMOVE = Step::Told(Event::RemoveDone(..)) => "[`Step::Told`] the answer to a remove",
    TOLD_WAKE = Step::Told(Event::Wake) => "[`Step::Told`] to look at the clock",
    TOLD_WRITE = Step::Told(Event::WriteDone(..)) => "[`Step::Told`] the answer to a write",
}

impl Kinds {
    /// Steps that are [`Step::Sent`], whatever was asked of the store.
    pub const SENT: Self = Self::SENT_LIST.and(Self::SENT_READ).and(Self::SENT_REMOVE).and(Self::SENT_WRITE);
    /// Steps that are [`Step::Served`], whatever was asked of the store.
    pub const SERVED: Self =
        Self::SERVED_LIST.and(Self::SERVED_READ).and(Self::SERVED_REMOVE).and(Self::SERVED_WRITE);
    /// Steps that are [`Step::Told`], whatever the engine is told.
    pub const TOLD: Self = Self::TOLD_CALL
        .and(Self::TOLD_CANCEL)
        .and(Self::TOLD_LIST)
        .and(Self::TOLD_READ)
        .and(Self::TOLD_REMOVE)
        .and(Self::TOLD_WAKE)
        .and(Self::TOLD_WRITE);

    /// Adds the kinds of another set.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the kinds in the set, one by one.
    pub(crate) fn each(self) -> impl Iterator<Item = Self> {
        Self::EACH.iter().copied().filter(move |kind| kind.meets(self))
    }

    /// Returns the number of the only kind in the set, less than [`COUNT`](Self::COUNT).
    pub(crate) const fn number(self) -> usize {
        self.0.trailing_zeros() as usize
    }

    /// Tells whether the two sets have a kind in common.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
