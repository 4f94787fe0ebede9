//! The pictures of the documentation, found, shrunk and drawn anew: always the same ones.

use std::fs;

use crate::{Family, Plan, Witness};

use super::args::Pictures;
use super::print::say;
use super::{Ended, Verdict, find, interrupt, one};

/// One picture.
struct Drawn {
    file: &'static str,
    title: &'static str,
    /// The seed of a world that shows it well. Once worlds are drawn otherwise it is the next one that meets it.
    seed: u64,
    /// What its world meets, one after the other.
    wanted: &'static [Witness],
}

const DRAWN: &[Drawn] = &[
    Drawn {
        file: "takeover.svg",
        title: "A takeover: a node dies, its lease runs out, another node fences it and takes its cell",
        seed: 0x1fb,
        wanted: &[Witness::Grant, Witness::Crash, Witness::Takeover, Witness::Grant],
    },
    Drawn {
        file: "late-landing.svg",
        title: "A late landing: a read proves nothing until it shows the write, which arrives after it was given up on",
        seed: 0x3,
        wanted: &[Witness::Grant, Witness::SettlingUnmoved, Witness::LateLanding, Witness::Grant],
    },
    Drawn {
        file: "fence.svg",
        title: "A fence: a node stands still for too long; its lease is fenced before its cell is taken",
        seed: 0x1a7,
        wanted: &[Witness::Grant, Witness::LongPause, Witness::Takeover, Witness::FencedByExpiry],
    },
];

/// Draws all of them into a folder.
pub(crate) fn main(args: &Pictures) -> Ended {
    fs::create_dir_all(&args.folder)
        .map_err(|error| format!("{} cannot be made: {error}", args.folder.display()))?;
    let plan = Plan { family: Some(Family::Common), defect: None };
    for Drawn { file, title, seed, wanted } in DRAWN {
        let Some((seed, shrunk)) = find::smallest(&plan, *seed..SEEDS, 1, wanted, RUNS) else {
            say!("{file}: no world meets it");
            return Ok(Verdict::Violated.unless_interrupted());
        };
        if !interrupt::goes_on() {
            return Ok(Verdict::Interrupted);
        }
        let path = args.folder.join(file);
        one::write(&path, &find::picture(&plan, &shrunk, title))?;
        say!("{}: seed {seed:#x}, {} steps", path.display(), shrunk.after.steps);
    }
    Ok(Verdict::Holds)
}

/// Where to stop looking.
const SEEDS: u64 = 100_000;
/// How many worlds may be run to make one smaller.
const RUNS: u32 = 3000;
