//! Signals that are taken rather than died of.

use std::fs;

use rustix::process::Signal;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::exit::Failure;

/// A stream of the signals that this process was sent.
#[derive(Debug)]
pub(crate) struct Signals {
    arrived: mpsc::Receiver<Signal>,
}

impl Signals {
    /// Takes these signals from now on. One that this process was told to ignore, as by `nohup`, stays ignored.
    /// Needs a runtime.
    ///
    /// # Errors
    /// Says which signal the system will not give.
    pub(crate) fn listen(wanted: &[Signal]) -> Result<Self, Failure> {
        let (sender, arrived) = mpsc::channel(16);
        let ignored = ignored();
        for taken in wanted.iter().copied().filter(|one| ignored & mask(*one) == 0) {
            let mut stream = signal(SignalKind::from_raw(taken.as_raw())).map_err(|error| {
                Failure::unavailable(format_args!("signal {} cannot be taken: {error}", taken.as_raw()))
            })?;
            let sender = sender.clone();
            tokio::spawn(async move {
                while stream.recv().await.is_some() && sender.send(taken).await.is_ok() {}
            });
        }
        Ok(Self { arrived })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> Signal {
        match self.arrived.recv().await {
            Some(signal) => signal,
            // All of them are ignored.
            None => core::future::pending().await,
        }
    }
}

/// Returns the exit code of a process that a signal ended.
pub(crate) fn code_of(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// Returns a runtime for a command that waits for several things at once.
///
/// # Errors
/// Says why the system will not give one.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::unavailable(format_args!("the system refuses an event loop: {error}")))
}

fn mask(signal: Signal) -> u64 {
    1 << (signal.as_raw() - 1)
}

/// Returns the signals that this process ignores, where the system tells.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    field.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
