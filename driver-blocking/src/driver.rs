//! The thread that owns the engine.

use std::io::Error;
use std::sync::mpsc::Receiver;
use std::thread;

use crate::clock;
use crate::pool::Pool;
use crate::session::{Input, Pump};
use crate::store::Store;

/// Starts the thread. It ends when the session has ended and everyone has been answered.
pub(crate) fn start<S: Store>(pump: Pump<Pool<S>>, inbox: Receiver<Input>) -> Result<(), Error> {
    let thread = thread::Builder::new().name("tenure-engine".into());
    thread.spawn(move || own(inbox, pump))?;
    Ok(())
}

/// Runs the session and ends it. The parameters are dropped from the last to the first, also by a panic: the
/// session ends before its queue does, so that a caller without an answer finds the reason.
fn own<S: Store>(inbox: Receiver<Input>, mut pump: Pump<Pool<S>>) {
    run(&mut pump, &inbox);
    drop(pump);
    drop(inbox);
}

fn run<S: Store>(pump: &mut Pump<Pool<S>>, inbox: &Receiver<Input>) {
    while !pump.is_over() {
        let input = match pump.wait(clock::mono()) {
            Some(limit) => inbox.recv_timeout(limit).ok(),
            None => inbox.recv().ok(),
        };
        pump.step(clock::now, input);
    }
}
