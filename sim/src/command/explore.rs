//! `cargo sim explore`: small worlds, completely.

use crate::small::{Mishap, Sampler, Sampling, Scope, Search, Summary, Wish, aims, pins};
use clap::builder::RangedU64ValueParser;
use tenure_core::Defect;

use super::print::{complain, say};
use super::stopwatch::Stopwatch;
use super::{Ended, Verdict, args, interrupt};

/// Explores every schedule of a small world on a coarse clock, breadth first.
#[derive(Debug, clap::Args)]
pub(crate) struct Explore {
    /// How many nodes there are; the first holds every cell
    #[arg(long, value_name = "N", default_value = "2", value_parser = few())]
    nodes: usize,
    /// How many cells there are
    #[arg(long, value_name = "N", default_value = "1", value_parser = few())]
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
    /// Let all nodes but the first have leases that outlast the world
    #[arg(long)]
    rivals_rest: bool,
    /// Demand G1, G2 and G3 alone, not all that is true besides
    #[arg(long)]
    guarantees: bool,
    /// Explore the worlds whose sizes are known, and demand them
    #[arg(long, exclusive = true)]
    pinned: bool,
    /// Demand of each planted defect that it is found in the world that aims at it
    #[arg(long, exclusive = true)]
    teeth: bool,
    /// Count for each planted defect how many schedules each sampler runs before it is found
    #[arg(long)]
    samplers: bool,
    /// How many schedules a sampler runs at most
    #[arg(long, value_name = "N", default_value = "100000")]
    runs: u64,
    /// Plant this bug in every node
    #[arg(long, value_name = "NAME", value_parser = args::defect)]
    defect: Option<Defect>,
}

pub(crate) fn main(explore: &Explore) -> Ended {
    if explore.pinned {
        Ok(Verdict::from(pinned()).unless_interrupted())
    } else if explore.teeth {
        Ok(Verdict::from(teeth()).unless_interrupted())
    } else if explore.samplers {
        samplers(explore.runs);
        Ok(Verdict::Holds.unless_interrupted())
    } else {
        one(explore)
    }
}

/// Explores the pinned worlds.
fn pinned() -> bool {
    let mut holds = true;
    for pin in pins() {
        let watch = Stopwatch::start();
        match Search::new(&pin.scope).run_while(|_| {}, interrupt::goes_on) {
            Ok(_) if !interrupt::goes_on() => break,
            Ok(seen) => {
                say!("{}: {}", pin.name, said(&seen, watch.seconds()));
                if (seen.states, seen.depth) != (pin.states, pin.depth) {
                    say!("  but pinned are {} states and depth {}", pin.states, pin.depth);
                    holds = false;
                }
            }
            Err(found) => {
                say!("{}\n{}: violated after {} moves", found.failure, pin.name, found.depth);
                holds = false;
            }
        }
    }
    holds
}

/// Looks for every planted defect.
fn teeth() -> bool {
    let mut holds = true;
    for aim in aims() {
        let watch = Stopwatch::start();
        let name = format!("{:?}", aim.defect);
        match Search::new(&aim.scope).run_while(|_| {}, interrupt::goes_on) {
            Ok(_) if !interrupt::goes_on() => break,
            Ok(seen) => {
                say!("{name:<26} survives {}", said(&seen, watch.seconds()));
                holds = false;
            }
            Err(found) => {
                let (why, seconds) = (&found.failure.violation, watch.seconds());
                say!("{name:<26} {:>2} moves, {seconds:>5.1} s, by {why}", found.depth);
                if found.depth != aim.depth {
                    say!("  but pinned are {} moves", aim.depth);
                    holds = false;
                }
            }
        }
    }
    holds
}

/// Compares samplers: the median of several repetitions, in the world that aims at the defect.
fn samplers(runs: u64) {
    let all = [Sampler::Uniform, Sampler::Pct { depth: 3 }, Sampler::Pct { depth: 5 }];
    say!("{:<26} {:>10} {:>10} {:>10}", "schedules until found", "uniform", "pct 3", "pct 5");
    for aim in aims() {
        let cells = all.map(|sampler| {
            let mut sampling = Sampling::new(&aim.scope, sampler);
            let mut firsts: Vec<u64> = (0..REPETITIONS)
                .map(|number| first(&mut sampling, number << 32, runs).map_or(u64::MAX, |first| first + 1))
                .collect();
            firsts.sort_unstable();
            match firsts[firsts.len() / 2] {
                u64::MAX => format!("> {runs}"),
                first => first.to_string(),
            }
        });
        if !interrupt::goes_on() {
            return;
        }
        say!("{:<26} {:>10} {:>10} {:>10}", format!("{:?}", aim.defect), cells[0], cells[1], cells[2]);
    }
}

/// Returns which of so many seeds is the first to violate a check, unless somebody presses Ctrl-C.
fn first(sampling: &mut Sampling, start: u64, runs: u64) -> Option<u64> {
    let mut done = 0;
    while done < runs && interrupt::goes_on() {
        let count = (runs - done).min(64);
        if let Some(first) = sampling.first(start.wrapping_add(done), count) {
            return Some(done + first);
        }
        done += count;
    }
    None
}

/// How often each sampler begins anew.
const REPETITIONS: u64 = 5;

fn said(seen: &Summary, seconds: f64) -> String {
    format!(
        "{} distinct states, {} transitions, depth {}; {seconds:.1} s, {:.0} states/s, {:.0} transitions/s",
        seen.states,
        seen.transitions,
        seen.depth,
        seen.states as f64 / seconds,
        seen.transitions as f64 / seconds
    )
}

/// Explores the world that the command line describes.
fn one(explore: &Explore) -> Ended {
    let scope = explore.scope();
    scope.config.check().map_err(|why| why.to_string())?;
    let watch = Stopwatch::start();
    let progress = |seen: &Summary| complain!("{} moves: {} situations", seen.depth, seen.states);
    match Search::new(&scope).run_while(progress, interrupt::goes_on) {
        Ok(seen) => {
            say!("{}", said(&seen, watch.seconds()));
            if !interrupt::goes_on() {
                say!("interrupted: the situations seen so far are all right");
                return Ok(Verdict::Interrupted);
            }
            say!("every check holds in every situation");
            Ok(Verdict::Holds)
        }
        Err(found) => {
            say!("{}\nshortest counterexample: {} moves", found.failure, found.depth);
            Ok(Verdict::Violated)
        }
    }
}

impl Explore {
    /// Tells whether it is about planted bugs.
    pub(super) const fn wants_defects(&self) -> bool {
        self.teeth || self.samplers || self.defect.is_some()
    }

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
            rivals_rest: self.rivals_rest,
            ..scope
        }
        .with_defect(self.defect)
    }
}

/// Takes a number that leaves the world small: the situations multiply.
fn few() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=8)
}

fn mishap(text: &str) -> Result<(Mishap, u8), String> {
    named(text, &Mishap::ALL, u8::MAX)
}

fn wish(text: &str) -> Result<(Wish, u8), String> {
    named(text, &Wish::ALL, 1)
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
