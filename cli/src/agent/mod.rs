//! `tenure agent`: a node for a program in any language, over JSON lines.
//!
//! ```text
//!  stdin -> lines -> [ loop ] -- one task per request --> queue -> writer -> stdout
//!                      |  ^ fence, signals                 ^
//!                      '----- events, refused lines -------'
//! ```
//!
//! The loop itself never waits for standard output, so neither a reader that is slow nor one that is gone keeps
//! the agent from leaving.

mod distinct;
mod request;
mod serve;
mod wire;

use core::future::pending;
use core::time::Duration;
use std::io;

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_tokio::Node;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::request::{Refused, Request, What};
use self::serve::Agent;
use self::wire::{LINE_MAX, Line, Outgoing, lines, writer};
use crate::args::{AgentArgs, Global};
use crate::exit::Failure;
use crate::log::Log;
use crate::signals::{Signals, code_of, runtime};
use crate::store;

/// How many requests may be open; more are refused, so that a client's mistake costs bounded memory.
const OPEN_MAX: usize = 4096;
/// How many refusals may wait for a reader besides, before no more lines are read.
const REFUSED_MAX: usize = 256;
/// How long the last answers may take to be written.
const FLUSH: Duration = Duration::from_secs(1);

/// Why the agent ends.
enum End {
    /// The input ended: what was asked for is still done, but nothing waits for another owner.
    Input,
    /// It was asked to, and answers this id.
    Leave(Value),
    /// A signal asked for it, or nobody reads the output any more.
    Now,
}

pub(crate) fn main(global: &Global, args: &AgentArgs) -> Result<u8, Failure> {
    let store = store::asynchronous(global)?;
    let mut config = store::config(global, args.name.as_deref());
    config.addr.clone_from(&args.addr);
    let ttl = config.ttl;
    runtime()?.block_on(async {
        let mut signals = Signals::listen(&[Signal::HUP, Signal::INT, Signal::TERM])?;
        let node = tokio::select! {
            joined = Node::join(config, store) => joined.map_err(|error| store::refused(global, error))?,
            // It owns nothing yet; a lease that was just created runs out.
            signal = signals.next() => return Ok(code_of(signal.as_raw())),
        };
        let (out, is_written) = writer();
        let mut agent =
            Loop { agent: Agent::new(node, out.clone(), Log::new(global)), out, tasks: JoinSet::new() };
        let end = agent.run(&mut signals).await;
        agent.end(end, signals, ttl).await;
        // Without a reader the last lines are lost, and nobody misses them.
        let _ = timeout(FLUSH, is_written).await;
        Ok(0)
    })
}

/// What goes on between joining and leaving.
struct Loop {
    agent: Agent,
    out: mpsc::Sender<Outgoing>,
    /// The requests that are open, and what else waits to be written.
    tasks: JoinSet<()>,
}

impl Loop {
    /// Serves until something ends the agent.
    async fn run(&mut self, signals: &mut Signals) -> End {
        let node = self.agent.node().clone();
        self.say(json!({ "event": "joined", "node": node.id().as_str() }));
        let mut input = lines(io::stdin());
        let mut is_fenced = false;
        loop {
            let fenced = async { if is_fenced { pending().await } else { node.fenced().await } };
            tokio::select! {
                biased;
                cause = fenced => {
                    is_fenced = true;
                    let agent = self.agent.clone();
                    self.tasks.spawn(async move { agent.report_fence(cause).await });
                }
                signal = signals.next() => {
                    self.agent.log().info(format_args!("leaving on signal {}", signal.as_raw()));
                    return End::Now;
                }
                () = self.out.closed() => return End::Now,
                Some(_) = self.tasks.join_next() => {}
                line = input.recv(), if self.tasks.len() < OPEN_MAX + REFUSED_MAX => match line {
                    None => return End::Input,
                    Some(line) => {
                        if let Some(id) = self.take(line) {
                            return End::Leave(id);
                        }
                    }
                },
            }
        }
    }

    /// Begins what a line asks for; a request to leave gives its id.
    fn take(&mut self, line: Line) -> Option<Value> {
        let request = match line {
            Line::Full(text) => Request::parse(&text),
            Line::TooLong => {
                let why = format!("the line is longer than {LINE_MAX} bytes; send shorter ones");
                Err(Refused { id: Value::Null, failure: Failure::usage(why) })
            }
        };
        let Request { id, what } = match request {
            Ok(request) => request,
            Err(Refused { id, failure }) => {
                self.say(answer(&id, Err(failure)));
                return None;
            }
        };
        if what == What::Leave {
            return Some(id);
        }
        if self.tasks.len() >= OPEN_MAX {
            let why = format!("{OPEN_MAX} requests are open; wait for answers before sending more");
            self.say(answer(&id, Err(Failure::usage(why))));
            return None;
        }
        let (agent, out) = (self.agent.clone(), self.out.clone());
        self.tasks.spawn(async move {
            let result = agent.serve(what).await;
            // Without a reader the agent is about to end.
            let _ = out.send(Outgoing::Line(answer(&id, result))).await;
        });
        None
    }

    /// Puts a line into the queue without waiting for it.
    fn say(&mut self, line: Value) {
        let out = self.out.clone();
        self.tasks.spawn(async move {
            // Without a reader the agent is about to end.
            let _ = out.send(Outgoing::Line(line)).await;
        });
    }

    /// Gives everything back, answers what is still open, and ends the output.
    async fn end(mut self, end: End, mut signals: Signals, ttl: Duration) {
        if matches!(end, End::Input) {
            self.agent.hurry();
            let out = self.out.clone();
            tokio::select! {
                _ = timeout(ttl, self.finish()) => {}
                _ = signals.next() => {}
                () = out.closed() => {}
            }
        }
        let fence = self.agent.node().fence_cause();
        self.agent.node().clone().leave().await;
        // What was open is answered now, since the session is over.
        let _ = timeout(FLUSH, self.finish()).await;
        if let End::Leave(id) = end {
            self.say(answer(&id, fence.map_or_else(|| Ok(json!({})), |cause| Err(Failure::fenced(cause)))));
            let _ = timeout(FLUSH, self.finish()).await;
        }
        let _ = timeout(FLUSH, self.out.send(Outgoing::End)).await;
    }

    async fn finish(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

fn answer(id: &Value, result: Result<Value, Failure>) -> Value {
    match result {
        Ok(value) => json!({ "id": id, "ok": value }),
        Err(failure) => json!({ "id": id, "error": failure.to_json() }),
    }
}
