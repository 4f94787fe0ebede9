//! `cargo sim explore`: small worlds, completely.

mod memory;
mod one;
mod pinned;
mod samplers;
mod teeth;

use crate::small::{Mishap, Scope, Summary, Wish, aims};
use clap::Parser as _;
use clap::builder::RangedU64ValueParser;
use tenure_core::Defect;

use super::{Ended, Verdict, args, interrupt, print, stopwatch};

/// Explores every schedule of a small world on a coarse clock, breadth first.
///
/// Prints how much there was, or a counterexample. With --defect and nothing else it explores the world that aims at that
/// defect. Without a defect it explores only one order of moves that commute, unless --shortest.
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
    #[arg(long, hide = args::HIDES_DEFECTS, exclusive = true)]
    teeth: bool,
    /// Count for each planted defect how many schedules each sampler runs before it is found
    #[arg(long, hide = args::HIDES_DEFECTS)]
    samplers: bool,
    /// How many schedules a sampler runs at most
    #[arg(long, value_name = "N", default_value = "100000")]
    runs: u64,
    /// Explore every order of moves that commute, so that a counterexample is a shortest one
    #[arg(long)]
    shortest: bool,
    /// Give up after so many situations [default: as many as half of the free memory holds, at 200 bytes each]
    #[arg(long, value_name = "N")]
    states_max: Option<u64>,
    /// Plant this bug in every node
    #[arg(long, hide = args::HIDES_DEFECTS, value_name = "NAME", value_parser = args::defect)]
    defect: Option<Defect>,
}

pub(crate) fn main(explore: &Explore) -> Ended {
    if explore.pinned {
        Ok(Verdict::from(pinned::main()).unless_interrupted())
    } else if explore.teeth {
        Ok(Verdict::from(teeth::main()).unless_interrupted())
    } else if explore.samplers {
        samplers::main(explore.runs);
        Ok(Verdict::Holds.unless_interrupted())
    } else {
        one::main(explore)
    }
}

/// The columns of a table of searches, under [`titles`].
fn columns(name: &str, seen: &Summary, seconds: f64) -> String {
    format!(
        "{name:<50} {:>9} {:>11} {:>5} {seconds:>7.1} {:>9.0}",
        seen.states,
        seen.transitions,
        seen.depth,
        seen.states as f64 / seconds
    )
}

fn titles() -> String {
    format!(
        "{:<50} {:>9} {:>11} {:>5} {:>7} {:>9}",
        "small world", "states", "transitions", "depth", "seconds", "states/s"
    )
}

impl Explore {
    /// Tells whether it is about planted bugs.
    pub(super) const fn wants_defects(&self) -> bool {
        self.teeth || self.samplers || self.defect.is_some()
    }

    /// Returns the world that aims at the defect, if nothing but the defect is asked for; else that which is described.
    fn scope(&self) -> Scope {
        let is_plain = self.is_plain();
        let aim = aims().into_iter().find(|aim| is_plain && Some(aim.defect) == self.defect);
        aim.map_or_else(|| self.described(), |aim| aim.scope)
    }

    /// Tells whether nothing describes the world but what is so unless one says otherwise.
    fn is_plain(&self) -> bool {
        let usual = Usual::try_parse_from(["explore"]).map(|usual| usual.explore);
        usual.is_ok_and(|usual| format!("{:?}", usual.described()) == format!("{:?}", self.with_no_defect()))
    }

    fn with_no_defect(&self) -> Scope {
        self.described().with_defect(None)
    }

    fn described(&self) -> Scope {
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
    found.map(|found| (found, times)).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|one| format!("{one:?}")).collect();
        format!("no {name}; there are {}", names.join(", "))
    })
}

/// What is explored when nothing is asked for.
#[derive(Debug, clap::Parser)]
struct Usual {
    #[command(flatten)]
    explore: Explore,
}
