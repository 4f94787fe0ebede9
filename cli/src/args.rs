//! What may be written on the command line: every command, option and default.
//!
//! Parsing decides nothing but form; a value that depends on the store or on another value is checked by
//! the command that uses it.

mod operate;

pub(crate) use operate::{EvictArgs, RepairArgs};

use core::net::SocketAddr;
use core::time::Duration;
use std::ffi::OsString;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tenure_core::{CellId, Epoch};

use crate::dev_store::{self, Trouble, trouble};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "tenure",
    version,
    about = "Exactly one node owns a cell, with nothing shared but a bucket",
    after_help = EXIT_CODES,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Stores:
  s3://bucket/prefix   any S3-compatible server with conditional writes; credentials, region and endpoint
                       by the AWS conventions (AWS_ACCESS_KEY_ID, AWS_REGION, AWS_ENDPOINT_URL, ...);
                       ?if-match=bare, ?style=virtual or ?checksum=md5 for a store that needs it
  az://container/prefix, gs://bucket/prefix
                       Azure Blob Storage and Google Cloud Storage, if this command was built with
                       --features object-store; the environment's AZURE_... and GOOGLE_... say the rest
  file:///dir          a directory of this host, for development, tests and cron

Exit codes:
  0   done                             75  not acquired: held, contended or timed out
  64  usage                            76  the store is unfit or contradicts itself
  65  a corrupt or regressed record    77  access denied
  69  the store is unreachable         78  configuration
                                       79  ownership was lost while running
  `run` passes on its command's own status: 128+n for signal n, 126 or 127 if it cannot be started.";

/// Where the help shows what every command understands.
const EVERY: &str = "Options of every command";

/// What every command understands.
#[derive(Args, Debug)]
pub(crate) struct Global {
    /// The store: s3://bucket/prefix or file:///dir. Every node of a fleet must use the same one
    #[arg(long, global = true, help_heading = EVERY, env = "TENURE_STORE", value_name = "URL", hide_env_values = true)]
    pub(crate) store: Option<String>,
    /// The server's address, as in `http://127.0.0.1:9000`, for a store that is not AWS; else AWS_ENDPOINT_URL
    #[arg(long, global = true, help_heading = EVERY, value_name = "URL")]
    pub(crate) endpoint: Option<String>,
    /// The region that requests are signed for; else AWS_REGION
    #[arg(long, global = true, help_heading = EVERY, value_name = "NAME")]
    pub(crate) region: Option<String>,
    /// How long a lease lives after each renewal, as in 30s or 500ms; 10s if not given, and the same
    /// for a whole fleet
    #[arg(long, global = true, help_heading = EVERY, value_name = "TIME", value_parser = duration)]
    pub(crate) ttl: Option<Duration>,
    /// Print one JSON object per line, errors included
    #[arg(long, global = true, help_heading = EVERY)]
    pub(crate) json: bool,
    /// What to say on standard error about the work as it goes on
    #[arg(long, global = true, help_heading = EVERY, value_enum, value_name = "LEVEL", default_value_t = Level::Off)]
    pub(crate) log: Level,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, ValueEnum)]
pub(crate) enum Level {
    /// Nothing but errors
    Off,
    /// What happens to the node and its cells
    Info,
    /// Every request to the store, too
    Debug,
}

/// One command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Watch it work: three nodes on a temporary file store, one is killed, the history is judged
    #[command(after_help = DEMO_HELP)]
    Demo,
    /// Hold a cell while a command runs; the command is gone before ownership ends
    Run(RunArgs),
    /// Be a node for a program in any language: JSON lines on standard input and output
    Agent(AgentArgs),
    /// Show who owns a cell, by the store's clock
    Owner(OwnerArgs),
    /// List cells and their owners, by the store's clock
    Cells(CellsArgs),
    /// List the nodes of the fleet, by the store's clock
    #[command(after_help = NODE_STATES)]
    Nodes,
    /// Free a cell whose owner does not give it back
    Evict(EvictArgs),
    /// Mend the record of a cell that is corrupt or was removed
    Repair(RepairArgs),
    /// Be an S3 endpoint in memory, to develop against; with faults, to test against
    #[command(after_help = dev_store::help())]
    DevStore(DevStoreArgs),
    /// Find out whether a store may be trusted with cells, and what to do if not
    #[command(after_help = DOCTOR_HELP)]
    Doctor(DoctorArgs),
    /// Run simulated fleets on the very engine that this command runs on: tenure sim --help
    #[command(disable_help_flag = true)]
    Sim(SimArgs),
    /// The leader of the process group of `run`
    #[command(name = "__anchor", hide = true)]
    Anchor,
    /// Ends the process group of `run` when `run` itself no longer can
    #[command(name = "__watchdog", hide = true)]
    Watchdog(WatchdogArgs),
}

const DEMO_HELP: &str = "\
The demo makes a temporary file store of its own and removes it: it refuses --store, leaves TENURE_STORE alone,
and has no use for --endpoint, --region and --log. Its ttl is 2s if not given.";

/// `tenure run`.
#[derive(Args, Debug)]
#[command(after_help = RUN_HELP)]
pub(crate) struct RunArgs {
    /// The cell to hold
    #[arg(long, value_name = "CELL", value_parser = cell)]
    pub(crate) cell: CellId,
    /// How long to wait for another owner of the cell, as in 30s; 0 gives up at once
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0")]
    pub(crate) wait: Duration,
    /// How long before ownership ends the command gets SIGTERM; SIGKILL follows before the end; ttl/5 if not given
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) grace: Option<Duration>,
    /// The name of this node in the fleet; else the host name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

const RUN_HELP: &str = "\
The command finds TENURE_CELL, TENURE_EPOCH and TENURE_NODE in its environment. The epoch is a fencing token:
pass it to whatever the command writes to. The command runs in a process group of its own, to which signals
sent to tenure are passed on. When ownership is about to end, the whole group gets SIGTERM, then SIGKILL before
the end, also when tenure itself was killed or stopped; tenure then exits 79, as it does if the record shows after
the command's end that somebody took the cell unseen. What the command leaves behind in
its group is ended too, before the cell is released. On a terminal the command can read from it, but cannot be
suspended.";

/// `tenure agent`.
#[derive(Args, Debug)]
#[command(after_help = AGENT_HELP)]
pub(crate) struct AgentArgs {
    /// The name of this node in the fleet; else the host name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Where peers reach this node; published in its lease
    #[arg(long, value_name = "ADDR")]
    pub(crate) addr: Option<String>,
}

const AGENT_HELP: &str = r#"Requests, one JSON object per line; `id` is any value and comes back in the answer:
  {"id":1,"do":"claim","cell":"c1","wait_ms":0}      own a cell, waiting at most that long for another owner
  {"id":2,"do":"verify","cell":"c1"}                 ask the store whether it is still ours
  {"id":3,"do":"release","cell":"c1"}                give it back
  {"id":4,"do":"transfer","cell":"c1","to":"NODE"}   hand it to another node, which claims it
  {"id":5,"do":"locate","cell":"c1"}                 find its owner
  {"id":6,"do":"peers"}                              list the fleet
  {"id":7,"do":"publish","load":{...},"meta":{...}}  say something about this node
  {"id":8,"do":"leave"}                              give everything back and exit 0
`release`, `verify` and `transfer` take an "epoch", too, and then speak of that tenure only.
Answers: {"id":1,"ok":{"cell":"c1","epoch":7}} or {"id":1,"error":{"kind":"held","message":"...",...}}, in
the order in which they are ready. Unasked: {"event":"joined","node":"..."}, {"event":"lost","cell":"c1",
"epoch":7,"reason":"..."}, {"event":"fenced","reason":"...","headroom_ms":0,"renewed_ms_ago":9000,"fault":"...",
"by":null}: the session is over, and every cell with it.
At the end of input, and on SIGTERM or SIGINT, the node leaves and the agent exits 0. At the end of input what
was asked for is answered first, but no claim waits for another owner any longer."#;

/// `tenure owner`.
#[derive(Args, Debug)]
#[command(after_help = STATES)]
pub(crate) struct OwnerArgs {
    /// The cell
    #[arg(value_parser = cell)]
    pub(crate) cell: CellId,
}

/// `tenure cells`.
#[derive(Args, Debug)]
#[command(after_help = STATES)]
pub(crate) struct CellsArgs {
    /// Only cells whose names begin with this
    #[arg(default_value = "")]
    pub(crate) prefix: String,
}

const STATES: &str = "\
States:
  held      owned by a node whose lease lives
  dead      owned by a node whose lease has ended; the next claim takes it
  expired   owned by a node whose lease has just ended; a claim still has to wait for a moment
  unknown   owned by a node whose lease is missing, or cannot be judged for want of time stamps
  offered   handed over to a node that has not accepted yet
  released  given back by its last owner
  free      never owned
  corrupt   the record cannot be read; nobody can claim the cell until `tenure repair` (exit code 65)

Looking changes no record. On a file store it needs permission to write all the same, for the file
.tenure-1/clock, by which the time of the file system is read.";

const NODE_STATES: &str = "\
States:
  live      its lease has not ended
  expired   its lease has just ended, not yet long enough for its cells to be taken
  dead      its lease has ended; its cells are free to be claimed
  fenced    it left, or was found dead by another node; for good
  unknown   its lease is unreadable, or cannot be judged for want of time stamps

Looking changes no record. On a file store it needs permission to write all the same, for the file
.tenure-1/clock, by which the time of the file system is read.";

/// `tenure dev-store`.
#[derive(Args, Debug)]
pub(crate) struct DevStoreArgs {
    /// Where to listen; port 0 takes a free one. Anything but a loopback address is open to whoever reaches it
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9357")]
    pub(crate) listen: SocketAddr,
    /// The one bucket there is
    #[arg(long, value_name = "NAME", default_value = "tenure")]
    pub(crate) bucket: String,
    /// What goes wrong, and with which part of the requests, as in late:0.01; with each of them if no rate is given
    #[arg(long, value_name = "KIND[:RATE]", value_parser = trouble)]
    pub(crate) fault: Vec<Trouble>,
    /// Decides which requests a rate takes
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// `tenure doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Write nothing; shows rights and clocks, but not whether the store is fit
    #[arg(long)]
    pub(crate) read_only: bool,
    /// How many rounds of each kind of race to run; 0 runs none, and then the worst stores are not found
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(..=4000))]
    pub(crate) rounds: u16,
}

const DOCTOR_HELP: &str = "\
It writes below probe/ only, some thousand small objects, and removes them, also when it is interrupted. Each check
holds, fails, is allowed to differ (noted), or is unclear: throttling, conflicts and errors of the store are retried
within a budget first.

Exit codes:
  0   fit (with --read-only: nothing wrong was seen)
  69  unreachable, or a check stayed unclear
  76  unfit: a check failed, whatever else was denied or unclear
  77  access is denied: the keys, or a right
  78  address, bucket or region is wrong, or a setting is wrong or missing: it is printed if it was found";

/// `tenure sim`, which reads its own words.
#[derive(Args, Debug)]
pub(crate) struct SimArgs {
    /// What to run; --help says what there is
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
    pub(crate) words: Vec<OsString>,
}

/// The options of the watchdog, which only `run` starts.
#[derive(Args, Debug)]
pub(crate) struct WatchdogArgs {
    /// How many nanoseconds before the end of authority SIGTERM is due
    #[arg(long)]
    pub(crate) term: u64,
    /// How many nanoseconds before the end of authority SIGKILL is due
    #[arg(long)]
    pub(crate) kill: u64,
    /// The process group
    #[arg(long)]
    pub(crate) group: i32,
    /// When authority ends, in nanoseconds of the boot-time clock, until it is told otherwise
    #[arg(long)]
    pub(crate) until: u64,
}

fn cell(text: &str) -> Result<CellId, String> {
    CellId::new(text).map_err(|error| error.to_string())
}

/// Takes an epoch that another can follow.
fn epoch(text: &str) -> Result<Epoch, String> {
    let epoch = text.parse().ok().and_then(Epoch::new).filter(|epoch| epoch.next().is_some());
    epoch.ok_or_else(|| format!("write a whole number from 1 to {}", u64::MAX - 1))
}

/// Takes a time with its unit: `500ms`, `30s`, `5m`, `1h`; zero needs none.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let refused = || "write a whole number and a unit, as in 500ms, 30s, 5m or 1h".to_owned();
    let number: u64 = number.parse().map_err(|_| refused())?;
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "" if number == 0 => 1,
        _ => return Err(refused()),
    };
    number.checked_mul(unit_ms).map(Duration::from_millis).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::{Cli, Duration, duration};
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_time_is_a_whole_number_with_a_unit() {
        let ms = Duration::from_millis;
        for (text, time) in [
            ("0", ms(0)),
            ("500ms", ms(500)),
            ("30s", ms(30_000)),
            ("5m", ms(300_000)),
            ("1h", ms(3_600_000)),
        ] {
            assert_eq!(duration(text), Ok(time), "{text}");
        }
        for text in [
            "",
            "5",
            "s",
            "-1s",
            "+1s",
            "1.5s",
            "1d",
            "1 s",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
