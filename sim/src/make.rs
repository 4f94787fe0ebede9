//! The make of a store: how it stamps its answers, and what is wrong with it.

use core::time::Duration;

/// How a store stamps its answers.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Stamping {
    /// Stamps are cut down to a multiple of this; zero for fine ones.
    pub unit: Duration,
    /// Whether versions carry `Last-Modified`.
    pub has_modified: bool,
    /// Whether answers carry `Date`.
    pub has_date: bool,
    /// How far into its second the store's clock is when the world begins.
    pub phase: Duration,
    /// How many entries a page of a listing has.
    pub page: usize,
}

impl Stamping {
    /// HTTP headers in whole seconds, pages of a thousand.
    pub const HTTP: Self = Self {
        unit: Duration::from_secs(1),
        has_modified: true,
        has_date: true,
        phase: Duration::ZERO,
        page: 1000,
    };
}

/// What is wrong with a store that cannot compare-and-swap.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Flaw {
    /// It creates objects that exist.
    OverwritesOnCreate,
    /// It replaces an object although its tag has changed.
    OverwritesOnMatch,
    /// It knows its own tags no more: every `If-Match` fails.
    RejectsTags,
    /// Its tags are weak.
    WeakTags,
}

impl Flaw {
    /// Every flaw, in order.
    pub const ALL: &'static [Self] =
        &[Self::OverwritesOnCreate, Self::OverwritesOnMatch, Self::RejectsTags, Self::WeakTags];
}
