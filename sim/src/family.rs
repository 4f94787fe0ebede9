//! Families of worlds: what each aims at, which assumption it breaks, and what it is held to all the same.

use core::fmt;

use crate::choices::{Choices, Draw};

/// A kind of world that aims at something rare.
///
/// In most families every assumption holds, and so must every promise. The others break one assumption each and
/// are held to whatever does not rest on it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Family {
    /// A mixture of everything the guarantees survive.
    Common,
    /// Every bound is exactly met and most nodes stop renewing: one unit less in a rule breaks it.
    Edge,
    /// Writes land long after their senders gave up, minutes at times, and answers rarely arrive.
    Late,
    /// The store is dark, fails or asks to slow down for longer than leases live, while many cells wait.
    Dark,
    /// The store does not stamp its answers; death is judged by silence.
    Silent,
    /// Somebody removes leases or corrupts them behind the protocol's back. G4 may take as long as the largest ttl.
    LeasesRemoved,
    /// Owner records turn into garbage, and operators mend them and free cells, all by the rules.
    Operated,
    /// Nodes of another implementation share the bucket: they claim what is free, renew late, and stop. G4 may take as
    /// long as the largest ttl.
    Foreign,
    /// The store cannot compare-and-swap, each time in another way: nobody may join it.
    Unfit,
    /// Broken: monotonic clocks run slower than stated, or stop while their machine is suspended.
    Drifting,
    /// Broken: the store's stamps disagree by more than the margin.
    Misstamped,
    /// Broken: operators free cells by force.
    Forced,
    /// Broken: processes are cloned with their memory. What both claim under one name neither may know of, so that
    /// G4 is not promised either.
    Cloned,
    /// Broken: nodes of another implementation take what seems free to them by their wall clocks, which are hours off,
    /// without fencing anybody. What they hold at the end may seem to live for hours, so that G4 is not promised either.
    Takers,
    /// Broken: somebody removes owner records or puts old ones back, which the growth of epochs does not survive
    /// either.
    RecordsRemoved,
}

/// Something that worlds are held to, by one check or several.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Promise {
    /// G1, record: at most one claim succeeds per epoch and cell, and a claim goes one epoch up.
    Record,
    /// G2, belief: at most one session answers "I hold this cell".
    Belief,
    /// G3, fence: `verify` says yes only to whom the record named meanwhile.
    Fence,
    /// G4, liveness: after the storm everything wanted comes about in time.
    Liveness,
    /// G5: no write is unconditional, no takeover deletes.
    Writes,
    /// What the applications were told forms a history of one owner after another, and they acknowledged no more than
    /// they were told. Where records are put back by force, what each session was told does so by itself.
    History,
    /// A session ends once, for a reason that is so, and is silent from then on.
    Sessions,
    /// A record names no living session that neither holds the cell nor works on it.
    Orphans,
    /// Every call is answered, once, with what is so.
    Answers,
    /// Watchers are shown what the record says, in its order, and in the calm they are up to date.
    Watches,
    /// Of two clones of a process at most one outlives the next renewal.
    Twins,
    /// Nobody joins a store that cannot compare-and-swap.
    Fitness,
    /// A node is sparing with requests: bounded for each call, one write in flight for each record, rest for a
    /// throttled key.
    Requests,
    /// Each engine's own bookkeeping is in order, whenever it is asked: after one event in sixteen.
    Books,
}

impl Promise {
    /// Every promise, in order.
    pub const ALL: &'static [Self] = &[
        Self::Record,
        Self::Belief,
        Self::Fence,
        Self::Liveness,
        Self::Writes,
        Self::History,
        Self::Sessions,
        Self::Orphans,
        Self::Answers,
        Self::Watches,
        Self::Twins,
        Self::Fitness,
        Self::Requests,
        Self::Books,
    ];

    /// Returns the name for reports: the guarantee's own, where it has one.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Record => "G1",
            Self::Belief => "G2",
            Self::Fence => "G3",
            Self::Liveness => "G4",
            Self::Writes => "G5",
            Self::History => "history",
            Self::Sessions => "sessions",
            Self::Answers => "answers",
            Self::Orphans => "orphans",
            Self::Watches => "watches",
            Self::Twins => "twins",
            Self::Fitness => "fitness",
            Self::Requests => "requests",
            Self::Books => "books",
        }
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Family {
    /// Every family, in order: first those in which every assumption holds.
    pub const ALL: &'static [Self] = &[
        Self::Common,
        Self::Edge,
        Self::Late,
        Self::Dark,
        Self::Silent,
        Self::LeasesRemoved,
        Self::Operated,
        Self::Foreign,
        Self::Unfit,
        Self::Drifting,
        Self::Misstamped,
        Self::Forced,
        Self::Cloned,
        Self::Takers,
        Self::RecordsRemoved,
    ];

    /// Returns the word for the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cloned => "cloned",
            Self::Common => "common",
            Self::Dark => "dark",
            Self::Drifting => "drifting",
            Self::Edge => "edge",
            Self::Forced => "forced",
            Self::Foreign => "foreign",
            Self::Late => "late",
            Self::LeasesRemoved => "leases-removed",
            Self::Misstamped => "misstamped",
            Self::Operated => "operated",
            Self::RecordsRemoved => "records-removed",
            Self::Silent => "silent",
            Self::Takers => "takers",
            Self::Unfit => "unfit",
        }
    }

    /// Returns the promises that no longer bind in such a world, because an assumption they rest on is broken.
    pub const fn waives(self) -> &'static [Promise] {
        match self {
            Self::Common
            | Self::Dark
            | Self::Foreign
            | Self::Edge
            | Self::Late
            | Self::LeasesRemoved
            | Self::Operated
            | Self::Silent => &[],
            Self::Drifting | Self::Forced | Self::Misstamped => &[Promise::Belief],
            // What one clone holds the other may know nothing of, and both have one name.
            Self::Cloned => &[Promise::Belief, Promise::Liveness, Promise::Orphans],
            Self::Takers => &[Promise::Belief, Promise::Liveness],
            // A second owner may begin again at epoch 1, and a record that went back is rightly refused for ever. It may
            // name a session that has long done with the cell.
            Self::RecordsRemoved => &[Promise::Belief, Promise::Liveness, Promise::Orphans],
            Self::Unfit => &[Promise::Liveness],
        }
    }

    /// Tells whether a world of this family is held to a promise.
    pub fn keeps(self, promise: Promise) -> bool {
        !self.waives().contains(&promise)
    }

    /// Draws a family in which every assumption holds.
    pub(crate) fn draw(choices: &mut impl Choices) -> Self {
        match choices.number(21) {
            0..8 => Self::Common,
            8..12 => Self::Edge,
            12..14 => Self::Late,
            14..16 => Self::Silent,
            16 => Self::LeasesRemoved,
            17 => Self::Operated,
            18 => Self::Foreign,
            20 => Self::Dark,
            _ => Self::Unfit,
        }
    }

    /// Draws a family in which an assumption is broken.
    pub(crate) fn draw_broken(choices: &mut impl Choices) -> Self {
        let is_broken = |family: &&Self| !family.keeps(Promise::Belief);
        let broken = Self::ALL.iter().filter(is_broken);
        let place = choices.number(broken.clone().count());
        broken.copied().nth(place).unwrap_or(Self::Common)
    }

    /// Tells whether nodes of another implementation take part.
    pub(crate) const fn has_foreigners(self) -> bool {
        matches!(self, Self::Foreign | Self::Takers)
    }

    /// Tells whether a cell may rightly be kept for as long as the largest ttl once the world is calm: some lease does
    /// not say its own.
    pub(crate) const fn is_patient(self) -> bool {
        matches!(self, Self::Foreign | Self::LeasesRemoved)
    }

    /// Tells whether its worlds allow for nothing more than the rules demand.
    pub(crate) const fn is_edge(self) -> bool {
        matches!(self, Self::Edge | Self::Silent)
    }

    /// Tells whether its worlds aim at the instant at which a lease may be taken.
    pub(crate) const fn is_aimed(self) -> bool {
        matches!(self, Self::Drifting | Self::Edge | Self::Misstamped | Self::Silent)
    }
}
