//! A deterministic simulator: thousands of worlds in which the shipping engine must keep one owner.
//!
//! A [`World`] is a store in memory, a few machines, and on each a full [`tenure_core::Engine`] with an application
//! on top, in virtual time. Everything random comes from one [`Choices`], so a world is a number: the seed that
//! finds a failure replays it, byte for byte. What kind of world it is, a [`Scenario`] says; what must be true in
//! it, a [`Check`] says, from outside, after every step.
//!
//! ```
//! use tenure_sim::{Prng, Scenario, Trace, Witness, World};
//!
//! let mut grants = 0;
//! for seed in 0..20 {
//!     let mut choices = Prng::new(seed);
//!     let scenario = Scenario::swarm(&mut choices);
//!     let world = World::new(scenario, &mut choices).with_trace(Trace::last(20));
//!     match world.run() {
//!         Ok(report) => grants += report.seen.times(Witness::Grant),
//!         Err(failure) => panic!("seed {seed}\n{failure}"),
//!     }
//! }
//! assert!(grants > 0);
//! ```

pub mod checks;
mod choices;
mod client;
mod clock;
pub mod conformance;
mod faults;
mod meeting;
mod node;
#[cfg(feature = "picture")]
pub mod picture;
mod queue;
mod report;
mod run;
mod scenario;
mod shrink;
mod store;
mod trace;
mod transcript;
mod view;
mod weather;
mod wire;
mod witness;
mod world;

pub use checks::{Check, Violation};
pub use choices::{Choices, Prng, Rate, Recorder, Tape};
pub use clock::Moment;
pub use faults::Faults;
pub use meeting::Meeting;
pub use node::Session;
pub use report::{Failure, Report};
pub use run::{Found, Plan};
pub use scenario::{Family, Scenario};
pub use shrink::{Replay, Shrinker, Shrunk, Size};
pub use store::{Stamping, Store, Version, Visit};
pub use trace::Trace;
pub use transcript::{Scribe, Transcript};
pub use view::{Step, View};
pub use witness::{Seen, Witness};
pub use world::World;
