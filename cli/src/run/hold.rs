//! Holding the cell while the command runs.

use core::time::Duration;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

use rustix::process::{Pid, Signal};
use tenure_blocking::clock;
use tenure_core::{Instant, LossReason, VerifyError};
use tenure_tokio::{Cell, Loss, Node};
use tokio::process::Child;
use tokio::time::{sleep, timeout};

use super::group::Group;
use super::guard::{Deed, Guard};
use super::plan::Plan;
use super::terminal::Lent;
use crate::args::{Global, RunArgs};
use crate::exit::Failure;
use crate::log::Log;
use crate::signals::{Signals, code_of, runtime};
use crate::store;

/// What is passed on to the command.
const PASSED_ON: [Signal; 9] = [
    Signal::CONT,
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::TSTP,
    Signal::USR1,
    Signal::USR2,
    Signal::WINCH,
];

/// How long the watchdog may take to be ready.
const START: Duration = Duration::from_secs(10);

/// What ends a wait for the cell, since there is no command yet to pass it on to.
const ENDING: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM];

pub(crate) fn main(global: &Global, args: &RunArgs) -> Result<u8, Failure> {
    let store = store::asynchronous(global)?;
    let config = store::config(global, args.name.as_deref());
    let plan = Plan::new(&config, args.grace)?;
    let log = Log::new(global);
    let tick = (config.ttl / 50).min(Duration::from_millis(100));
    let patience = config.ttl / 4;
    runtime()?.block_on(async {
        let mut signals = Signals::listen(&PASSED_ON)?;
        let node = tokio::select! {
            joined = Node::join(config, store) => joined.map_err(|error| store::refused(global, error))?,
            // It owns nothing yet; a lease that was just created runs out.
            signal = ending(&mut signals) => return Ok(code_of(signal.as_raw())),
        };
        log.info(format_args!("joined as {}", node.id()));
        let claimed = tokio::select! {
            claimed = node.claim_within(args.cell.clone(), args.wait) => claimed.map_err(Failure::from),
            signal = ending(&mut signals) => return Ok(leave_on(signal, node, &mut signals).await),
        };
        let cell = match claimed {
            Ok(cell) => cell,
            Err(failure) => {
                node.leave().await;
                return Err(failure);
            }
        };
        log.info(format_args!("claimed {} at epoch {}", cell.id(), cell.epoch()));
        let result = Run::start(&cell, &node, plan, args).await;
        let (result, is_gone) = match result {
            Ok(run) => run.finish(&mut signals, tick, log).await,
            Err(failure) => (Err(failure), true),
        };
        if let Some(ending) = node.ending() {
            log.info(format_args!("fenced ({ending})"));
        }
        let result = match result {
            Ok(code) => still_owned(&cell, patience, log).await.map(|()| code),
            failed => failed,
        };
        // What may still run keeps the cell from being given to others before the lease has run out.
        if is_gone {
            give_back(node, cell, log).await;
        }
        result
    })
}

async fn ending(signals: &mut Signals) -> Signal {
    loop {
        let signal = signals.next().await;
        if ENDING.contains(&signal) {
            return signal;
        }
    }
}

/// Leaves, but not against a second signal.
async fn leave_on(signal: Signal, node: Node, signals: &mut Signals) -> u8 {
    tokio::select! {
        () = node.leave() => {}
        _ = ending(signals) => {}
    }
    code_of(signal.as_raw())
}

/// Asks the store whether the cell was this node's until now: nobody tells a node that its record was replaced or removed
/// behind its back, by an operator say. A store that does not answer in time tells nothing, and nor does a session that
/// ends meanwhile: the command had ended before its authority did.
async fn still_owned(cell: &Cell, patience: Duration, log: Log) -> Result<(), Failure> {
    let asked = async {
        let Err(error) = cell.verify().await else { return None };
        let is_denied = matches!(error, VerifyError::NotOwner(_));
        Some((error, if is_denied { taken(cell.lost().await) } else { None }))
    };
    let why = match timeout(patience, asked).await {
        Ok(None) => return Ok(()),
        Ok(Some((_, Some(reason)))) => {
            return Err(Failure::lost(format_args!(
                "cell {} was lost at epoch {} ({}) while the command ran, and another may have run beside it",
                cell.id(),
                cell.epoch(),
                reason.as_str()
            )));
        }
        Ok(Some((error, None))) => error.to_string(),
        Err(_) => "no answer".to_owned(),
    };
    log.info(format_args!("whether {} was held to the end is not known: {why}", cell.id()));
    Ok(())
}

/// Returns what was found in the place of this node's record, if that is how the cell was lost.
fn taken(loss: Loss) -> Option<LossReason> {
    match loss {
        Loss::Lost(reason) => Some(reason),
        Loss::Ended | Loss::Fenced(_) => None,
    }
}

async fn give_back(node: Node, cell: Cell, log: Log) {
    let (id, epoch) = (cell.id().clone(), cell.epoch());
    match cell.release().await {
        Ok(()) => log.info(format_args!("released {id} at epoch {epoch}")),
        // The others will wait for the lease to run out, and that is all.
        Err(error) => log.info(format_args!("{error}")),
    }
    node.leave().await;
}

/// A command that runs.
struct Run<'c> {
    cell: &'c Cell,
    plan: Plan,
    group: Group,
    guard: Guard,
    child: Child,
    /// The terminal, if the command has it.
    lent: Option<Lent>,
    /// Why the command is being ended, if it is, and when it is killed.
    ending: Option<(String, Instant)>,
}

impl<'c> Run<'c> {
    async fn start(cell: &'c Cell, node: &Node, plan: Plan, args: &RunArgs) -> Result<Self, Failure> {
        let mut group = Group::new()?;
        let guard = Guard::start(plan, group.id(), until(cell), START).await?;
        let lent = Lent::to(group.id());
        let mut words = args.command.iter();
        let program = words.next().map(OsStr::new).unwrap_or_default();
        let mut command = Command::new(program);
        command
            .args(words)
            .env("TENURE_CELL", cell.id().as_str())
            .env("TENURE_EPOCH", cell.epoch().to_string())
            .env("TENURE_NODE", node.id().as_str())
            .process_group(group.id().as_raw_nonzero().get());
        // All that took time, and the command must not run for an instant without its cell.
        if !cell.is_held() {
            let why = format_args!("cell {} was lost before the command was started; try again", cell.id());
            return Err(Failure::not_owner(why));
        }
        let child = tokio::process::Command::from(command).spawn().map_err(|error| {
            let shown = program.to_string_lossy();
            let code = if error.kind() == ErrorKind::NotFound { 127 } else { 126 };
            Failure::unavailable(format_args!(
                "{shown} cannot be started: {error}; check its name and rights"
            ))
            .exiting(code)
        })?;
        group.release_anchor();
        Ok(Self { cell, plan, group, guard, child, lent, ending: None })
    }

    /// Waits for the end of the command and of its group, and returns what to exit with, and whether the group
    /// is certainly gone.
    async fn finish(
        mut self,
        signals: &mut Signals,
        tick: Duration,
        log: Log,
    ) -> (Result<u8, Failure>, bool) {
        let status = self.wait(signals, tick, log).await;
        if self.has_run_out() {
            self.end("expired", Duration::ZERO, log);
        }
        drop(self.lent.take());
        let is_gone = self.clear_group().await;
        let lost = self.ending.take();
        let result = match (lost, status) {
            (Some((why, _)), _) => Err(Failure::lost(format_args!(
                "cell {} was lost at epoch {} ({why}), so the command was ended; start it again to wait for the cell",
                self.cell.id(),
                self.cell.epoch()
            ))),
            (None, Ok(status)) => Ok(code(status)),
            (None, Err(error)) => {
                Err(Failure::unavailable(format_args!("the command cannot be waited for: {error}")))
            }
        };
        if is_gone {
            self.guard.end();
        }
        (result, is_gone)
    }

    async fn wait(&mut self, signals: &mut Signals, tick: Duration, log: Log) -> std::io::Result<ExitStatus> {
        let mut is_over = false;
        loop {
            let over = async { if is_over { core::future::pending().await } else { self.cell.lost().await } };
            tokio::select! {
                biased;
                loss = over => {
                    is_over = true;
                    self.lose(reason(loss), log);
                }
                status = self.child.wait() => return status,
                signal = signals.next() => self.group.signal(signal),
                deed = self.guard.deed() => match deed {
                    Deed::Termed => self.end("expired", self.plan.term, log),
                    Deed::Died => self.replace_guard(log).await,
                },
                () = sleep(tick) => self.look(log),
            }
        }
    }

    /// Compares the clock with the end of authority.
    fn look(&mut self, log: Log) {
        if self.lent.is_some() && self.is_stopped() {
            self.group.signal(Signal::CONT);
        }
        let left = self.cell.authority_left();
        self.guard.tell(until(self.cell));
        if let Some((_, kill_at)) = &self.ending {
            if clock::mono() >= *kill_at {
                self.group.signal(Signal::KILL);
            }
        } else if left <= self.plan.term {
            self.group.signal(Signal::TERM);
            self.end("expired", left, log);
        }
    }

    /// Tells whether the end was decided, by the clock alone: after a pause the command may be known to have ended
    /// before it is known why, that the watchdog has told it to.
    fn has_run_out(&self) -> bool {
        !self.cell.is_held() || clock::mono() >= self.guard.until().before(self.plan.term)
    }

    fn is_stopped(&self) -> bool {
        let number = self.child.id().and_then(|number| i32::try_from(number).ok());
        number.and_then(Pid::from_raw).is_some_and(Lent::is_stopped)
    }

    /// Decides that the command ends, with `left` of authority to go.
    fn end(&mut self, why: &str, left: Duration, log: Log) {
        if self.ending.is_none() {
            log.info(format_args!(
                "ownership of {} is ending ({why}): the command gets SIGTERM",
                self.cell.id()
            ));
            let kill_at = clock::mono().after(left.saturating_sub(self.plan.kill));
            self.ending = Some((why.to_owned(), kill_at));
        }
    }

    /// Ends the command at once: somebody else may own the cell.
    fn lose(&mut self, why: &str, log: Log) {
        log.info(format_args!("{} is lost ({why}): the command gets SIGKILL", self.cell.id()));
        self.guard.tell(Instant::default());
        self.group.signal(Signal::KILL);
        self.ending = Some((why.to_owned(), Instant::default()));
    }

    /// Somebody ended the watchdog. Without one the command must not run.
    async fn replace_guard(&mut self, log: Log) {
        log.info(format_args!("the watchdog was ended by somebody; another one is started"));
        let limit = self.cell.authority_left().saturating_sub(self.plan.term);
        match Guard::start(self.plan, self.group.id(), until(self.cell), limit).await {
            Ok(guard) => self.guard = guard,
            Err(failure) => {
                self.group.signal(Signal::KILL);
                self.ending = Some((failure.to_string(), Instant::default()));
            }
        }
    }

    /// Ends what the command left behind in its group; false if something still runs when authority ends.
    async fn clear_group(&mut self) -> bool {
        let now = clock::mono();
        if self.group.is_gone_by(now).await {
            return true;
        }
        self.group.signal(Signal::TERM);
        let left = self.cell.authority_left().min(self.plan.term);
        if self.group.is_gone_by(now.after(left.saturating_sub(self.plan.kill))).await {
            return true;
        }
        self.group.signal(Signal::KILL);
        self.group.is_gone_by(clock::mono().after(self.plan.kill.max(Duration::from_secs(1)))).await
    }
}

/// Returns an instant at which authority has not ended, as late as is known.
fn until(cell: &Cell) -> Instant {
    // The clock first: a pause between the two then makes the instant earlier, never later.
    let now = clock::mono();
    now.after(cell.authority_left())
}

fn reason(loss: Loss) -> &'static str {
    match loss {
        Loss::Ended => "left",
        Loss::Fenced(cause) => cause.as_str(),
        Loss::Lost(reason) => reason.as_str(),
    }
}

fn code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(u8::MAX),
        (None, Some(signal)) => code_of(signal),
        (None, None) => u8::MAX,
    }
}
