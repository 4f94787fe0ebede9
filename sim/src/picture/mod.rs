//! Space-time diagrams: what happened in a world, for a person to see at a glance.
//!
//! A [`Film`] watches a world as a check does and keeps what can be drawn. Time runs down; each machine has a lane, and
//! so has the store, to and from which the messages go. Time is not to scale, since a request takes milliseconds and
//! a lease seconds: whatever happens has room, and long silences are short.
//!
//! ```
//! use tenure_sim::picture::{Film, Span};
//! use tenure_sim::{Plan, Prng, Trace};
//!
//! let film = Film::default();
//! let plan = Plan::default();
//! plan.watch(&mut Prng::new(7), film.clone(), Trace::silent()).expect("it holds");
//! let picture = film.draw("Seed 7", Span::default(), None);
//! assert!(picture.starts_with("<svg"));
//! ```

mod canvas;
mod draw;
mod film;
mod fold;
mod label;
mod lanes;
mod layout;
mod legend;
mod messages;
mod rounds;
mod scene;

pub use film::Film;

use crate::clock::Moment;

/// Which part of a world's time is drawn.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Span {
    /// From when on; from the beginning if it does not say.
    pub from: Option<Moment>,
    /// Up to when; to the end if it does not say.
    pub to: Option<Moment>,
    /// How many moments at which something happened, the last ones; as many as a picture can well hold, if it does
    /// not say.
    pub moments: Option<usize>,
}

impl Span {
    fn holds(self, at: Moment) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at <= to)
    }
}
