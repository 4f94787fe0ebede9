//! What can be asked for.

use core::num::{IntErrorKind, NonZeroUsize};
use std::path::{Path, PathBuf};

use crate::{Family, Plan, Witness};
use clap::{Parser, Subcommand};
use tenure_core::Defect;

use super::explore::Explore;

/// Whether not to show what is refused anyway: a build without planted bugs can plant none.
pub(super) const HIDES_DEFECTS: bool = cfg!(not(feature = "defects"));

/// Runs simulated worlds and prints what they met.
///
/// Without --seed, --tape or a command it runs many worlds: those of the seeds from --start on. Exits with 0 if every
/// check held, 1 if one was violated, 64 if what is asked makes no sense, 130 if it was interrupted.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// How many worlds to run; 10000, or 100000 for each defect
    #[arg(long, value_name = "N", value_parser = at_least_one, conflicts_with_all = ["seed", "tape"])]
    pub(crate) seeds: Option<u64>,
    #[command(flatten)]
    pub(crate) range: Range,
    /// Run the world of one seed
    #[arg(long, value_name = "SEED", value_parser = number, conflicts_with = "tape")]
    pub(crate) seed: Option<u64>,
    /// Run the world of a tape: its text, or a file that holds it
    #[arg(long, value_name = "TAPE")]
    pub(crate) tape: Option<String>,
    /// Run all worlds, whatever they violate, and count what that is
    #[arg(long, conflicts_with_all = ["seed", "tape"])]
    pub(crate) survey: bool,
    /// Run worlds with each planted bug in turn until it is caught. In the sources `cargo teeth` demands that each is
    /// within a stated number of worlds, and shrinks them
    #[arg(long, hide = HIDES_DEFECTS, conflicts_with_all = ["seed", "tape", "survey", "defect"])]
    pub(crate) teeth: bool,
    #[command(flatten)]
    pub(crate) world: World,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Which seeds, and how many at once.
#[derive(Debug, clap::Args)]
pub(crate) struct Range {
    /// The first seed
    #[arg(long, value_name = "SEED", value_parser = number, default_value = "0")]
    pub(crate) start: u64,
    /// How many worlds run at once [default: one for each core]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZeroUsize>,
}

impl Args {
    /// Refuses what clap cannot see is senseless.
    pub(crate) fn check(&self) -> Result<(), String> {
        let is_one = self.seed.is_some() || self.tape.is_some();
        let Output { trace, shrink, transcript, ref picture, .. } = self.output;
        if !is_one && (trace || shrink || transcript || picture.is_some()) {
            let which = "--trace, --shrink, --transcript and --picture";
            return Err(format!("{which} are about one world: name it with --seed or --tape"));
        }
        let (from, to) = (self.output.from.unwrap_or(0), self.output.to.unwrap_or(u64::MAX));
        if from > to {
            return Err(format!("--from {from} is after --to {to}"));
        }
        self.picture().map_or(Ok(()), writable)?;
        let defect = match &self.command {
            Some(Command::Explore(explore)) => explore.wants_defects(),
            Some(Command::Find(find)) => find.world.defect.is_some(),
            Some(Command::Pictures(_) | Command::Situations) => false,
            None => self.teeth || self.world.defect.is_some(),
        };
        if defect && !cfg!(feature = "defects") {
            return Err(
                "no bug can be planted in this build; `cargo sim` in the sources can plant them".to_owned()
            );
        }
        Ok(())
    }

    fn picture(&self) -> Option<&Path> {
        match &self.command {
            Some(Command::Find(find)) => find.picture.as_deref(),
            Some(Command::Explore(_) | Command::Pictures(_) | Command::Situations) => None,
            None => self.output.picture.as_deref(),
        }
    }
}

impl Range {
    pub(crate) fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(super::cores)
    }
}

/// What kind of world.
#[derive(Debug, clap::Args)]
pub(crate) struct World {
    /// Only worlds of this family
    #[arg(long, value_name = "NAME", value_parser = family)]
    family: Option<Family>,
    /// Plant this bug in every node
    #[arg(long, hide = HIDES_DEFECTS, value_name = "NAME", value_parser = defect)]
    defect: Option<Defect>,
}

impl World {
    pub(crate) fn plan(&self) -> Plan {
        Plan { family: self.family, defect: self.defect }
    }
}

/// What to make of one world.
#[derive(Debug, clap::Args)]
pub(crate) struct Output {
    /// Print every step
    #[arg(long)]
    pub(crate) trace: bool,
    /// Look for a small world that fails in the same way
    #[arg(long)]
    pub(crate) shrink: bool,
    /// How many worlds --shrink may run
    #[arg(long, value_name = "N", default_value = "20000", requires = "shrink")]
    pub(crate) runs: u32,
    /// Print what each session involved was told and did, as a test of the engine
    #[arg(long)]
    pub(crate) transcript: bool,
    /// Draw the world into this file
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) picture: Option<PathBuf>,
    /// Draw from this millisecond on
    #[arg(long, value_name = "MS", requires = "picture")]
    pub(crate) from: Option<u64>,
    /// Draw up to this millisecond
    #[arg(long, value_name = "MS", requires = "picture")]
    pub(crate) to: Option<u64>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Explore(Explore),
    Find(Find),
    Pictures(Pictures),
    /// Lists the situations that a world can meet, with what each word means
    Situations,
}

/// Finds a small world that meets hard situations: those named, one after the other.
#[derive(Debug, clap::Args)]
pub(crate) struct Find {
    /// What to meet: words of the summary of a run, which `situations` explains
    #[arg(required = true, value_name = "SITUATION", value_parser = witness)]
    pub(crate) witnesses: Vec<Witness>,
    /// How many seeds to look through
    #[arg(long, value_name = "N", value_parser = at_least_one, default_value = "10000")]
    pub(crate) seeds: u64,
    /// The first seed
    #[arg(long, value_name = "SEED", value_parser = number, default_value = "0")]
    pub(crate) start: u64,
    /// How many worlds to run for a smaller one
    #[arg(long, value_name = "N", default_value = "20000")]
    pub(crate) runs: u32,
    #[command(flatten)]
    pub(crate) world: World,
    /// Draw the world into this file
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) picture: Option<PathBuf>,
}

/// Draws the pictures of the documentation: a takeover, a late landing, a fence.
#[derive(Debug, clap::Args)]
pub(crate) struct Pictures {
    /// The folder into which they are written
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

/// More threads than any machine has use for.
const THREADS_MAX: usize = 1024;

fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| {
        if *error.kind() == IntErrorKind::PosOverflow {
            format!("too large: at most {} or 0x{0:x}", u64::MAX)
        } else {
            "not a number from 0 on, as in 42 or 0x2a".to_owned()
        }
    })
}

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let number = usize::try_from(number(text)?).ok().filter(|number| *number <= THREADS_MAX);
    number.and_then(NonZeroUsize::new).ok_or_else(|| format!("1 to {THREADS_MAX} threads can run worlds"))
}

/// Refuses a file that cannot be written while nothing has been done for it yet.
fn writable(path: &Path) -> Result<(), String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let why = if path.is_dir() {
        "it is a folder".to_owned()
    } else if folder.is_dir() {
        return Ok(());
    } else {
        format!("there is no folder {}", folder.display())
    };
    Err(format!("{} cannot be written: {why}", path.display()))
}

fn at_least_one(text: &str) -> Result<u64, String> {
    match number(text)? {
        0 => Err("at least one: no world proves nothing".to_owned()),
        number => Ok(number),
    }
}

fn family(word: &str) -> Result<Family, String> {
    one_of(Family::ALL, word, |family| family.as_str().to_owned())
}

pub(super) fn defect(word: &str) -> Result<Defect, String> {
    one_of(Defect::ALL, word, |defect| format!("{defect:?}"))
}

fn witness(word: &str) -> Result<Witness, String> {
    one_of(Witness::ALL, word, |witness| witness.as_str().to_owned())
}

fn one_of<T: Copy>(all: &[T], word: &str, name: impl Fn(T) -> String) -> Result<T, String> {
    all.iter().copied().find(|&one| name(one) == word).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|&one| name(one)).collect();
        format!("there are {}", names.join(", "))
    })
}
