//! Kinds of steps: what a check says it looks at, so that it need not be shown the rest.

use crate::view::Step;

macro_rules! kinds {
    ($($name:ident = $variant:ident,)*) => {
        /// Kinds of steps: a set of them.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub struct Kinds(u32);

        #[expect(clippy::upper_case_acronyms, reason = "numbers the constants of the same names")]
        enum Number { $($name,)* }

        impl Kinds {
            $(
                #[doc = concat!("Steps that are [`Step::", stringify!($variant), "`].")]
                pub const $name: Self = Self(1 << Number::$name as u32);
            )*
            const EACH: &'static [Self] = &[$(Self::$name,)*];
            /// How many kinds there are.
            pub(crate) const COUNT: usize = Self::EACH.len();
            /// No step.
            pub const NONE: Self = Self(0);
            /// Every step.
            pub const ALL: Self = Self(u32::MAX);
        }

        impl Step<'_> {
            /// Returns the kind of step it is.
            pub const fn kind(&self) -> Kinds {
                match self { $(Self::$variant { .. } => Kinds::$name,)* }
            }
        }
    };
}

kinds! {
    ACKNOWLEDGED = Acknowledged,
    ASKED = Asked,
    CLONED = Cloned,
    CRASHED = Crashed,
    DONE = Done,
    FINISHED = Finished,
    HANDLED = Handled,
    HEALED = Healed,
    JUMPED = Jumped,
    MEDDLED = Meddled,
    NOTED = Noted,
    NOTICED = Noticed,
    OUTAGE = Outage,
    PAUSED = Paused,
    REMOVED = Removed,
    RESTORED = Restored,
    RESUMED = Resumed,
    SENT = Sent,
    SERVED = Served,
    STARTED = Started,
    SUSPENDED = Suspended,
    TOLD = Told,
}

impl Kinds {
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
