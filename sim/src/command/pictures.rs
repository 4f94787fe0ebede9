//! The pictures of the documentation, found, shrunk and drawn anew: always the same ones.

use std::fs;

use tenure_sim::{Plan, Witness};

use super::args::Pictures;
use super::{Ended, Verdict, find, one};

/// Each picture's file, its title, and what its world meets.
const DRAWN: &[(&str, &str, &[Witness])] = &[
    (
        "takeover.svg",
        "A takeover: a node dies, its lease runs out, another fences it and takes its cell",
        &[Witness::Takeover, Witness::Crash],
    ),
    (
        "late-landing.svg",
        "A late landing: a write arrives after its sender has given up on it",
        &[Witness::LateLanding, Witness::SettledOurs],
    ),
    (
        "fence.svg",
        "A fence: a node stands still for too long, and finds that it was declared dead",
        &[Witness::Takeover, Witness::LongPause, Witness::FencedByLoss],
    ),
];

/// Draws all of them into a folder.
pub(crate) fn main(args: &Pictures) -> Ended {
    fs::create_dir_all(&args.folder).map_err(|error| format!("{}: {error}", args.folder.display()))?;
    let plan = Plan::default();
    for (file, title, wanted) in DRAWN {
        let Some((seed, shrunk)) = find::smallest(&plan, 0..SEEDS, wanted, RUNS) else {
            println!("{file}: no world meets it");
            return Ok(Verdict::Violated);
        };
        let path = args.folder.join(file);
        one::write(&path, &find::picture(&plan, &shrunk, title))?;
        println!("{}: seed {seed:#x}, {} steps", path.display(), shrunk.after.steps);
    }
    Ok(Verdict::Holds)
}

const SEEDS: u64 = 20_000;
const RUNS: u32 = 24_000;
