//! A deterministic simulator: thousands of worlds in which the shipping engine must keep one owner, and in which your
//! own logic on top of it must keep whatever you promise.
//!
//! A [`World`] is a store in memory, a few machines, and on each a full [`tenure_core::Engine`] with an application
//! on top, in virtual time. Everything random comes from one [`Choices`], so a world is a number: the seed that
//! finds a failure replays it, byte for byte. What kind of world it is, a [`Scenario`] says; what must be true in
//! it, a [`Check`] says, from outside, after every step.
//!
//! The built-in application uses every operation there is. `cargo sim` runs it, and so does this:
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
//!
//! # Testing your own state machine
//!
//! Say that whoever owns a cell writes its epoch into a register that all processes share, and that the register must
//! never fall. Three things are yours to write: the application, the invariant, and what kind of world it is tried in.
//!
//! *The application* is an [`App`]: one value per process, made anew when a process starts. What must survive a
//! crash, the processes share. Its methods are called one at a time, and act through a [`Context`].
//!
//! ```
//! # use core::{cell::Cell, time::Duration};
//! # use std::rc::Rc;
//! use tenure_core::{Call, CellId, Outcome, Ticket};
//! use tenure_sim::{App, Check, Context, Prng, Scenario, View, Violation, World, run_seeds};
//!
//! #[derive(Debug)]
//! struct Writer {
//!     register: Rc<Cell<u64>>, // durable: every process has the same one
//!     claim: Option<Ticket>,   // memory: gone with the process
//! }
//!
//! impl App for Writer {
//!     fn on_turn(&mut self, ctx: &mut Context<'_>) {
//!         let cell = &ctx.cells()[0];
//!         match ctx.tenure(cell) {
//!             // The owner, by the engine's word and this machine's clock: the same as `Cell::is_held` of a driver.
//!             Some(tenure) => {
//!                 ctx.note(format!("writes {}", tenure.epoch));
//!                 self.register.set(tenure.epoch.get());
//!             }
//!             None if self.claim.is_none() => {
//!                 let wait = Duration::from_secs(5);
//!                 self.claim = Some(ctx.ask(Call::Claim { cell: cell.clone(), wait }));
//!             }
//!             None => {} // the claim waits
//!         }
//!     }
//!
//!     fn on_answer(&mut self, ticket: Ticket, _: &Call, _: &Outcome, _: &mut Context<'_>) {
//!         self.claim.take_if(|claim| *claim == ticket);
//!     }
//!
//!     // After the storm somebody must own the cell: this demands G4.
//!     fn wants(&self, _: &CellId, _: bool) -> bool {
//!         true
//!     }
//!
//!     // And it must have written, for all that the storm did to it.
//!     fn is_content(&self) -> bool {
//!         self.register.get() > 0
//!     }
//! }
//!
//! // The invariant is a check. It sees every step, and what your application shares with it.
//! #[derive(Debug)]
//! struct NeverFalls {
//!     register: Rc<Cell<u64>>,
//!     last: u64,
//! }
//!
//! impl Check for NeverFalls {
//!     fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
//!         let (before, now) = (self.last, self.register.get());
//!         self.last = now;
//!         if now < before {
//!             return Err(Violation::new("register", format_args!("fell from {before} to {now} at {}", view.at)));
//!         }
//!         Ok(())
//!     }
//! }
//!
//! // The world: drawn from the seed, with all the trouble that the guarantees survive.
//! let found = run_seeds(0..50, |seed, trace| {
//!     let mut choices = Prng::new(seed);
//!     let scenario = Scenario { cells: 1, ..Scenario::swarm(&mut choices) };
//!     let register = Rc::new(Cell::new(0));
//!     let writer = || Writer { register: Rc::clone(&register), claim: None };
//!     World::with_app(scenario, &mut choices, writer)
//!         .with_check(Box::new(NeverFalls { register: Rc::clone(&register), last: 0 }))
//!         .with_trace(trace)
//!         .run()
//! });
//! if let Err(found) = found {
//!     panic!("{found}"); // the lowest seed that fails, what led to it, and what was violated
//! }
//! ```
//!
//! This one is right because it asks `tenure` in the same instant in which it writes. Most work takes longer than an
//! instant, and then it must ask `verify` before it acknowledges. `examples/orders.rs` is a whole test of such an
//! application, with the bug of leaving `verify` out, the seed that shows it, and a service that checks fencing tokens:
//!
//! ```sh
//! cargo run --release -p tenure-sim --example orders -- --forget-verify
//! ```
//!
//! # What happens in a world
//!
//! First there is a storm: [`Faults`] happen at the rates of the scenario, and every check must hold throughout. Then the
//! world heals. It goes on until each cell that [`App::wants`] is owned, every watcher has been shown what the record
//! says, and every application [is content](App::is_content); all this must come about within a bound, or it is a
//! violation as well. An application that wants nothing and lacks nothing ends with the storm.
//!
//! Time is true time, a [`Moment`], which only checks can see. Each machine reads a monotonic clock that drifts and a wall
//! clock that is off and jumps ([`Context::now`], [`View::now`]). The [`Store`] keeps every version of every object,
//! with its writer and its moment, so that a check can ask what was so when.
//!
//! A call of an application happens at one instant. A process stands still, dies, or loses its cell only between two of
//! them: *where your code waits for anything, end the call and go on in a later one* ([`Context::turn_after`],
//! [`Context::ask`]), or the world cannot come between. What the application does outside of its cells (a write into a
//! database, say) is yours to model, and so is its delay; for chance, draw from [`Context::choices`] and from nowhere
//! else, or the seed would not replay it.
//!
//! # When a seed fails
//!
//! Run it again with [`Trace::full`], as [`run_seeds`] does, and read what led to it; a [`Failure`] prints its trace and
//! what was violated. Keep the seed in a test: it is the regression test of your fix, as long as worlds are drawn in the same way. A
//! [`Recorder`] turns the seed into a [`Tape`] of its choices, and [`Shrinker::shrink`] cuts it with the same closure that
//! builds your world: what is past its end reads zero, and zero is quiet. `picture::Film` (feature `picture`) draws it.
//!
//! A test of this kind proves little unless it can fail. Break your application on purpose, one rule at a time, and
//! see that some seed finds out; count what the worlds met ([`Report::seen`]), and demand that it was not nothing.

mod aim;
mod app;
mod calm;
pub mod checks;
mod choices;
mod client;
mod clock;
#[cfg(feature = "command")]
pub mod command;
pub mod conformance;
mod context;
mod digest;
mod family;
mod fate;
mod faults;
mod foreign;
mod garble;
mod kinds;
mod letters;
mod make;
mod meeting;
mod node;
mod numbers;
mod objects;
mod odometer;
mod operator;
mod outage;
#[cfg(feature = "picture")]
pub mod picture;
mod process;
mod queue;
mod rates;
mod ration;
mod report;
mod room;
mod run;
mod scenario;
#[cfg(feature = "server")]
pub mod server;
mod shrink;
pub mod small;
mod spotter;
mod store;
mod trace;
mod transcript;
mod twin;
mod view;
mod watched;
mod watchers;
mod weather;
mod wire;
mod witness;
mod world;

pub use app::App;
pub use checks::{Check, Violation};
pub use choices::{Choices, Draw, Prng, Rate, Recorder, Tape};
pub use client::Client;
pub use clock::Moment;
pub use context::Context;
pub use family::{Family, Promise};
pub use faults::Faults;
pub use kinds::Kinds;
pub use make::{Flaw, Stamping};
pub use meeting::Meeting;
pub use node::Session;
pub use odometer::Odometer;
pub use report::{Failure, Report};
pub use run::{Found, Plan, run_seeds};
pub use scenario::Scenario;
pub use shrink::{Replay, Shrinker, Shrunk, Size};
pub use store::{Store, Version, Visit};
pub use trace::Trace;
pub use transcript::{Scribe, Transcript};
pub use view::{Deed, Step, View};
pub use watched::Watched;
pub use witness::{Seen, Witness};
pub use world::World;
