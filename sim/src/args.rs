//! The command line of `cargo sim`.

use core::num::NonZeroUsize;

use tenure_core::Defect;
use tenure_sim::{Family, Plan};

pub(crate) const USAGE: &str = "\
usage: cargo sim [--seeds N] [--start SEED]     run N worlds (default 10000) and print what they met
       cargo sim --seed SEED [--trace]          run one world; --trace prints every step
       cargo sim --survey [--seeds N]           run N worlds to the last and count what they violate
       cargo sim --teeth [--seeds N]            demand that every planted defect is caught
options:
       --defect NAME     plant this defect in every node
       --family NAME     only worlds of this family: common, edge, late, silent, leases-removed, operated, foreign,
                         unfit;
                         with an assumption broken: drifting, misstamped, forced, cloned,
                         takers, records-removed
       --threads N       how many worlds run at once (default: one for each core)";

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) task: Task,
    pub(crate) plan: Plan,
    pub(crate) threads: NonZeroUsize,
}

#[derive(Debug)]
pub(crate) enum Task {
    Help,
    Many { start: u64, count: u64 },
    One { seed: u64, is_traced: bool },
    Survey { start: u64, count: u64 },
    Teeth { start: u64, count: u64 },
}

impl Args {
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut words = words;
        let mut plan = Plan::default();
        let mut threads = crate::cores();
        let (mut start, mut count, mut seed) = (0, None, None);
        let (mut is_traced, mut is_survey, mut is_teeth, mut is_help) = (false, false, false, false);
        while let Some(flag) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{flag} needs a value"));
            match flag.as_str() {
                "--defect" => plan.defect = Some(defect(&value()?)?),
                "--family" => plan.family = Some(family(&value()?)?),
                "--help" | "-h" => is_help = true,
                "--seed" => seed = Some(number(&value()?)?),
                "--seeds" => count = Some(number(&value()?)?),
                "--start" => start = number(&value()?)?,
                "--survey" => is_survey = true,
                "--teeth" => is_teeth = true,
                "--threads" => {
                    let threads_wanted = number(&value()?)?;
                    threads = usize::try_from(threads_wanted)
                        .ok()
                        .and_then(NonZeroUsize::new)
                        .ok_or("--threads needs at least one")?;
                }
                "--trace" => is_traced = true,
                _ => return Err(format!("unknown option {flag}")),
            }
        }
        if count == Some(0) {
            return Err("--seeds needs at least one: no world proves nothing".to_owned());
        }
        let many = count.unwrap_or(10_000);
        let task = match seed {
            _ if is_help => Task::Help,
            _ if is_teeth => Task::Teeth { start, count: count.unwrap_or(100_000) },
            _ if is_survey => Task::Survey { start, count: many },
            Some(seed) => Task::One { seed, is_traced },
            None => Task::Many { start, count: many },
        };
        Ok(Self { task, plan, threads })
    }
}

fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("{text} is not a number"))
}

fn defect(name: &str) -> Result<Defect, String> {
    let known = |defect: &&Defect| format!("{defect:?}") == name;
    Defect::ALL.iter().find(known).copied().ok_or_else(|| {
        let names: Vec<String> = Defect::ALL.iter().map(|defect| format!("{defect:?}")).collect();
        format!("no defect {name}; there are {}", names.join(", "))
    })
}

fn family(name: &str) -> Result<Family, String> {
    Family::ALL
        .iter()
        .find(|family| family.as_str() == name)
        .copied()
        .ok_or_else(|| format!("no family {name}"))
}
