//! What many situations of one search have in common, kept once.
//!
//! Millions of situations are made of a few thousand engines, stores and memories of checks. An engine is a value:
//! what it does about an event at a time follows from nothing but the three. So each such step of the engine is
//! taken once, and remembered.

use core::cell::RefCell;
use core::hash::BuildHasherDefault;
use std::collections::HashMap;
use std::rc::Rc;

use tenure_core::{Command, Engine, Event, Instant, Now};

use super::print::{Printed, print};
use crate::checks::Standard;
use crate::store::Store;

/// The parts of situations, by their prints.
#[derive(Debug, Default)]
pub(super) struct Pool {
    steps: RefCell<Map<Rc<Handled>>>,
    engines: RefCell<Map<Rc<Engine>>>,
    stores: RefCell<Map<Rc<Store>>>,
    checks: RefCell<Map<Rc<Standard>>>,
}

type Map<T> = HashMap<u128, T, BuildHasherDefault<Printed>>;

/// What an engine made of an event.
#[derive(Debug)]
pub(super) struct Handled {
    pub(super) engine: Rc<Engine>,
    pub(super) print: u128,
    /// Everything it wanted done, in order.
    pub(super) commands: Vec<Command>,
    /// When it wants to be woken.
    pub(super) due: Option<Instant>,
}

impl Handled {
    /// Lets a copy of an engine handle an event.
    pub(super) fn new(engine: &Engine, now: Now, event: &Event) -> Self {
        let mut engine = engine.clone();
        engine.handle(now, event.clone());
        let mut commands = Vec::new();
        let due = loop {
            match engine.poll() {
                Command::Idle { until } => break until.map(|deadline| deadline.at),
                command @ (Command::Done(..)
                | Command::List(_)
                | Command::Notify(_)
                | Command::Read(_)
                | Command::Remove(_)
                | Command::Write(_)) => commands.push(command),
            }
        };
        Self { print: print(&engine), engine: Rc::new(engine), commands, due }
    }
}

impl Pool {
    /// Does the same as [`Handled::new`], once.
    pub(super) fn handle(&self, engine: (&Engine, u128), now: Now, event: &Event) -> Rc<Handled> {
        let key = print(&(engine.1, now, event));
        if let Some(known) = self.steps.borrow().get(&key) {
            return known.clone();
        }
        let mut handled = Handled::new(engine.0, now, event);
        handled.engine = share(&self.engines, handled.print, handled.engine);
        let handled = Rc::new(handled);
        self.steps.borrow_mut().insert(key, handled.clone());
        handled
    }

    pub(super) fn store(&self, print: u128, store: Rc<Store>) -> Rc<Store> {
        share(&self.stores, print, store)
    }

    pub(super) fn checks(&self, print: u128, checks: Rc<Standard>) -> Rc<Standard> {
        share(&self.checks, print, checks)
    }
}

/// Returns the value that was first seen with this print.
fn share<T>(known: &RefCell<Map<Rc<T>>>, print: u128, value: Rc<T>) -> Rc<T> {
    known.borrow_mut().entry(print).or_insert(value).clone()
}
