//! `cargo sim explore`: small worlds, completely.

use std::process::ExitCode;

use clap::Parser;
use tenure_core::Defect;
use tenure_sim::small::{Mishap, Scope, Search, Summary, Wish};

use crate::Stopwatch;

#[derive(Debug, Parser)]
#[command(name = "cargo sim", bin_name = "cargo sim")]
enum Command {
    Explore(Explore),
}

/// Explores every schedule of a small world on a coarse clock, breadth first.
#[derive(Debug, clap::Args)]
struct Explore {
    /// How many nodes there are; the first holds every cell
    #[arg(long, value_name = "N", default_value = "2")]
    nodes: usize,
    /// How many cells there are
    #[arg(long, value_name = "N", default_value = "1")]
    cells: usize,
    /// How many things go wrong at most
    #[arg(long, value_name = "N", default_value = "2")]
    faults: u8,
    /// How many ticks a ttl has [default: 4, with whole seconds 6]
    #[arg(long, value_name = "TICKS")]
    ttl: Option<u32>,
    /// How many ticks the world lasts [default: a ttl and a little]
    #[arg(long, value_name = "N")]
    ticks: Option<u32>,
    /// Let the store stamp in whole seconds, of two ticks each
    #[arg(long)]
    whole_seconds: bool,
    /// Let the store stamp nothing
    #[arg(long)]
    without_stamps: bool,
    /// Let the stamps of the store disagree
    #[arg(long)]
    disagreement: bool,
    /// Let the monotonic clocks drift
    #[arg(long)]
    drift: bool,
    /// Let the wall clocks be off
    #[arg(long)]
    walls: bool,
    /// What may go wrong, and how often at most, as in Astray,Pause=1
    #[arg(long, value_name = "NAME[=N],...", value_delimiter = ',', value_parser = mishap,
          default_value = "Astray,Crash,Pause,Twice")]
    mishaps: Vec<(Mishap, u8)>,
    /// What the applications ask for, and how often
    #[arg(long, value_name = "NAME[=N],...", value_delimiter = ',', value_parser = wish,
          default_value = "Claim=1,Release=1")]
    asks: Vec<(Wish, u8)>,
    /// Demand G1, G2 and G3 alone, not all that is true besides
    #[arg(long)]
    guarantees: bool,
    /// Plant this bug in every node
    #[arg(long, value_name = "NAME", value_parser = defect)]
    defect: Option<Defect>,
}

pub(crate) fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let words = core::iter::once("cargo sim".to_owned()).chain(words);
    let Command::Explore(explore) = match Command::try_parse_from(words) {
        Ok(command) => command,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 64 } else { 0 });
        }
    };
    let scope = explore.scope();
    if let Err(why) = scope.config.check() {
        eprintln!("{why}");
        return ExitCode::from(64);
    }
    let watch = Stopwatch::start();
    let progress = |seen: &Summary| eprintln!("{} moves: {} situations", seen.depth, seen.states);
    match Search::new(&scope).run(progress) {
        Ok(seen) => {
            let seconds = watch.seconds();
            println!(
                "{} distinct states, {} transitions, depth {}; {seconds:.1} s, {:.0} states/s, {:.0} transitions/s",
                seen.states,
                seen.transitions,
                seen.depth,
                seen.states as f64 / seconds,
                seen.transitions as f64 / seconds
            );
            println!("every check holds in every situation");
            ExitCode::SUCCESS
        }
        Err(found) => {
            println!("{}\nshortest counterexample: {} moves", found.failure, found.depth);
            ExitCode::FAILURE
        }
    }
}

impl Explore {
    fn scope(&self) -> Scope {
        let mut scope = if self.whole_seconds {
            Scope::whole_seconds(self.ttl.unwrap_or(6))
        } else {
            Scope::fine(self.ttl.unwrap_or(4))
        };
        if self.without_stamps {
            scope = scope.without_stamps();
        }
        if self.disagreement {
            scope = scope.with_disagreement();
        }
        if self.drift {
            scope = scope.with_drift();
        }
        Scope {
            nodes: self.nodes,
            cells: self.cells,
            faults: self.faults,
            horizon: self.ticks.unwrap_or(scope.horizon),
            mishaps: self.mishaps.clone(),
            asks: self.asks.clone(),
            walls_are_off: self.walls,
            only_guarantees: self.guarantees,
            ..scope
        }
        .with_defect(self.defect)
    }
}

fn mishap(text: &str) -> Result<(Mishap, u8), String> {
    named(text, Mishap::ALL, u8::MAX)
}

fn wish(text: &str) -> Result<(Wish, u8), String> {
    named(text, Wish::ALL, 1)
}

/// Takes a name, and how often if it says.
fn named<T: Copy + core::fmt::Debug>(text: &str, all: &[T], times: u8) -> Result<(T, u8), String> {
    let (name, times) = match text.split_once('=') {
        Some((name, times)) => {
            (name, times.parse().map_err(|_| format!("{times} is not a number below 256"))?)
        }
        None => (text, times),
    };
    let found = all.iter().copied().find(|one| format!("{one:?}") == name);
    found.map(|found| (found, times)).ok_or_else(|| format!("no {name}; there are {all:?}"))
}

fn defect(name: &str) -> Result<Defect, String> {
    named(name, Defect::ALL, 1).map(|found| found.0)
}
