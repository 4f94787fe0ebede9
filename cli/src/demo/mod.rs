//! `tenure demo`: three nodes, six cells, a crash and a pause, and a judge.
//!
//! Every node is a process of its own on a temporary file store that keeps a journal. What is shown is what
//! the nodes say; whether it was right is decided by [`judge`], from the journal alone.

mod fleet;
mod judge;
mod place;
mod story;
mod timeline;

use core::fmt::Display;
use core::time::Duration;
use std::env;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rustix::process::Signal;
use tenure_blocking::{FileStore, Store};
use tenure_core::{Config, JoinError};

use self::fleet::{Fleet, News};
use self::place::Place;
use self::story::Story;
use self::timeline::Timeline;
use crate::args::Global;
use crate::exit::Failure;
use crate::output::Output;
use crate::signals::{Signals, code_of, runtime};

/// Long enough for a busy machine with a slow disk, short enough to watch.
const TTL: Duration = Duration::from_secs(2);
/// Longer than that nobody watches.
const TTL_MOST: Duration = Duration::from_secs(4);

/// Why the demonstration ends early.
#[derive(Debug)]
enum Stop {
    /// It failed.
    Failed(Failure),
    /// A signal asked for it.
    Interrupted(Signal),
    /// Nobody reads the output any more.
    Unread,
}

impl Stop {
    fn broken(why: impl Display) -> Self {
        Self::Failed(Failure::unavailable(format_args!("the demonstration failed: {why}")))
    }
}

pub(crate) fn main(global: &Global, output: Output) -> Result<u8, Failure> {
    let ttl = global.ttl.unwrap_or(TTL);
    if ttl > TTL_MOST {
        return Err(Failure::usage(format_args!("--ttl ({ttl:?}) must be <= {TTL_MOST:?} for the demo")));
    }
    // A store in the environment is for other commands; naming one here is a mistake.
    if env::args_os().any(|word| word.to_string_lossy().split('=').next() == Some("--store")) {
        return Err(Failure::usage("the demo makes a temporary store of its own; leave --store out"));
    }
    match play(ttl, output) {
        Ok(()) => Ok(0),
        Err(Stop::Failed(failure)) => Err(failure),
        Err(Stop::Interrupted(signal)) => Ok(code_of(signal.as_raw())),
        // As if it had died of the closed pipe, since nobody saw the verdict.
        Err(Stop::Unread) => Ok(code_of(Signal::PIPE.as_raw())),
    }
}

fn play(ttl: Duration, output: Output) -> Result<(), Stop> {
    let (sender, news) = channel();
    listen_for_signals(sender.clone())?;
    // In this order, so that the nodes are gone before their store is removed, whatever happens.
    let place = Place::new().map_err(Stop::Failed)?;
    let store = FileStore::open(place.path()).and_then(FileStore::with_journal);
    let store = store.map_err(|fault| Stop::Failed(fault.into()))?;
    // Here, and once, rather than by each of the nodes.
    let config = Config::new("demo").with_ttl(ttl).with_clock(store.clock());
    config.check().map_err(|error| Stop::Failed(JoinError::Config(error).into()))?;
    let fleet = Fleet::new(place.url(), ttl, (sender, news));
    Story::new(fleet, store, Timeline::new(output), ttl).tell(&place)
}

/// Turns signals into news, so that an interrupted demonstration cleans up.
fn listen_for_signals(sender: Sender<News>) -> Result<(), Stop> {
    let runtime = runtime().map_err(Stop::Failed)?;
    let listening =
        runtime.block_on(async { Signals::listen(&[Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM]) });
    let mut signals = listening.map_err(Stop::Failed)?;
    thread::spawn(move || {
        runtime.block_on(async { while sender.send(News::Interrupted(signals.next().await)).is_ok() {} });
    });
    Ok(())
}
