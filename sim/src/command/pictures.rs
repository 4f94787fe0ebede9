//! The pictures of the documentation, found, shrunk and drawn anew: always the same ones.

use core::time::Duration;
use std::fs;

use tenure_core::{Call, Outcome, Ticket};

use crate::picture::{Film, Span};
use crate::{
    App, Check, Choices, Context, Family, Plan, Prng, Recorder, Scenario, Shrinker, Shrunk, Tape, World,
};

use super::args::Pictures;
use super::print::say;
use super::story::{Fate, LateClaim, Succession};
use super::{Ended, Verdict, interrupt, one};

/// One picture.
struct Drawn {
    file: &'static str,
    title: &'static str,
    machines: usize,
    /// What it tells, as a check that ends its world.
    story: fn() -> Box<dyn Check>,
}

const DRAWN: &[Drawn] = &[
    Drawn {
        file: "takeover.svg",
        title: "A takeover: a node dies, its lease runs out, another node fences it and takes its cell",
        machines: 2,
        story: || Box::new(Succession::of(Fate::Dies)),
    },
    Drawn {
        file: "late-landing.svg",
        title: "A late landing: a write arrives after it was given up on, and only a read that shows it proves that it did",
        machines: 1,
        story: || Box::new(LateClaim::Claims),
    },
    Drawn {
        file: "fence.svg",
        title: "A fence: a node stands still for too long; its lease is fenced before its cell is taken",
        machines: 2,
        story: || Box::new(Succession::of(Fate::StandsStill)),
    },
];

/// Draws all of them into a folder.
pub(crate) fn main(args: &Pictures) -> Ended {
    fs::create_dir_all(&args.folder)
        .map_err(|error| format!("{} cannot be made: {error}", args.folder.display()))?;
    for drawn in DRAWN {
        let found = drawn.smallest();
        if !interrupt::goes_on() {
            say!("interrupted: {} and what follows it is not drawn", drawn.file);
            return Ok(Verdict::Interrupted);
        }
        let Some((seed, shrunk)) = found else {
            say!("{}: no world tells it", drawn.file);
            return Ok(Verdict::Violated);
        };
        let path = args.folder.join(drawn.file);
        one::write(&path, &drawn.draw(&shrunk))?;
        say!("{}: seed {seed:#x}, {} steps", path.display(), shrunk.after.steps);
    }
    Ok(Verdict::Holds)
}

impl Drawn {
    /// Shrinks the worlds of the first few seeds that tell the story, and returns the smallest with its seed.
    fn smallest(&self) -> Option<(u64, Shrunk)> {
        let found = (0..SEEDS)
            .take_while(|_| interrupt::goes_on())
            .filter_map(|seed| Some((seed, self.shrink(seed)?)));
        found.take(FIRST).min_by_key(|(_, shrunk)| shrunk.after.effort())
    }

    /// Returns a small world that tells the story, if the world of the seed does.
    fn shrink(&self, seed: u64) -> Option<Shrunk> {
        let mut prng = Prng::new(seed);
        let mut recorder = Recorder::new(&mut prng);
        let scenario = self.scenario(&mut recorder);
        world(scenario, &mut recorder).with_only(vec![(self.story)()]).run().err()?;
        Shrinker::new(RUNS).while_true(interrupt::goes_on).shrink(recorder.into_tape(), |choices| {
            let scenario = self.scenario(choices);
            choices.mark();
            world(scenario, choices).with_only(vec![(self.story)()]).run()
        })
    }

    /// Draws a world until it has told the story.
    fn draw(&self, shrunk: &Shrunk) -> String {
        let film = Film::default();
        let mut tape = Tape::new(&shrunk.tape);
        let scenario = self.scenario(&mut tape);
        // That it holds, or what else it meets later, is not the question.
        let _ = world(scenario, &mut tape).with_only(vec![Box::new(film.clone())]).run();
        film.draw(self.title, Span { to: Some(shrunk.failure.at), ..Span::default() }, None)
    }

    /// Draws what kind of world it is: a few machines, and one cell that all want.
    fn scenario(&self, choices: &mut impl Choices) -> Scenario {
        let plan = Plan { family: Some(Family::Common), defect: None };
        Scenario { machines: self.machines, cells: 1, ..plan.scenario(choices) }
    }
}

fn world<C: Choices>(scenario: Scenario, choices: &mut C) -> World<'_, C, Keeper> {
    World::with_app(scenario, choices, Keeper::default)
}

/// An application of few words: it claims a cell until it has it, and then keeps it.
#[derive(Debug, Default)]
struct Keeper {
    /// It waits for an answer, or has what it wanted.
    is_done: bool,
}

impl App for Keeper {
    fn on_turn(&mut self, ctx: &mut Context<'_>) {
        if let (false, Some(cell)) = (self.is_done, ctx.cells().first().cloned()) {
            self.is_done = true;
            ctx.ask(Call::Claim { cell, wait: WAIT });
        }
    }

    fn on_answer(&mut self, _: Ticket, _: &Call, outcome: &Outcome, _: &mut Context<'_>) {
        self.is_done = matches!(outcome, Outcome::Claimed(Ok(_)));
    }
}

/// How long it waits for a cell that another node has: longer than any lease.
const WAIT: Duration = Duration::from_secs(60);
/// How many worlds that tell it compete: a first one may have to be complicated.
const FIRST: usize = 6;
/// Where to stop looking.
const SEEDS: u64 = 100_000;
/// How many worlds may be run to make one smaller.
const RUNS: u32 = 3000;
