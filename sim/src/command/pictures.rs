//! The pictures of the documentation, found, shrunk and drawn anew: always the same ones.

use core::time::Duration;
use std::fs;

use tenure_core::{Call, Event, Key, Op, Outcome, ReadReply, Reply, Ticket, WriteReply};

use crate::picture::{Film, Span};
use crate::{
    App, Check, Choices, Context, Family, Meeting, Plan, Prng, Recorder, Scenario, Shrinker, Shrunk, Step,
    Tape, View, Violation, Witness, World,
};

use super::args::Pictures;
use super::print::say;
use super::{Ended, Verdict, interrupt, one};

/// One picture.
struct Drawn {
    file: &'static str,
    title: &'static str,
    machines: usize,
    /// What its world meets, one after the other; a late landing is that of a claim.
    wanted: &'static [Witness],
}

const DRAWN: &[Drawn] = &[
    Drawn {
        file: "takeover.svg",
        title: "A takeover: a node dies, its lease runs out, another node fences it and takes its cell",
        machines: 2,
        wanted: &[Witness::Grant, Witness::Crash, Witness::Takeover, Witness::Grant],
    },
    Drawn {
        file: "late-landing.svg",
        title: "A late landing: a read proves nothing until it shows the write, which arrives after it was given up on",
        machines: 1,
        wanted: &[Witness::LateLanding],
    },
    Drawn {
        file: "fence.svg",
        title: "A fence: a node stands still for too long; its lease is fenced before its cell is taken",
        machines: 2,
        wanted: &[Witness::Grant, Witness::LongPause, Witness::Takeover, Witness::FencedByExpiry],
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
            say!("{}: no world meets it", drawn.file);
            return Ok(Verdict::Violated);
        };
        let path = args.folder.join(drawn.file);
        one::write(&path, &drawn.draw(&shrunk))?;
        say!("{}: seed {seed:#x}, {} steps", path.display(), shrunk.after.steps);
    }
    Ok(Verdict::Holds)
}

impl Drawn {
    /// Shrinks the worlds of the first few seeds that meet what is wanted, and returns the smallest with its seed.
    fn smallest(&self) -> Option<(u64, Shrunk)> {
        let found = (0..SEEDS)
            .take_while(|_| interrupt::goes_on())
            .filter_map(|seed| Some((seed, self.shrink(seed)?)));
        found.take(FIRST).min_by_key(|(_, shrunk)| shrunk.after.effort())
    }

    /// Returns a small world that meets what is wanted, if the world of the seed does.
    fn shrink(&self, seed: u64) -> Option<Shrunk> {
        let mut prng = Prng::new(seed);
        let mut recorder = Recorder::new(&mut prng);
        let scenario = self.scenario(&mut recorder);
        world(scenario, &mut recorder).with_only(self.wanted()).run().err()?;
        Shrinker::new(RUNS).while_true(interrupt::goes_on).shrink(recorder.into_tape(), |choices| {
            let scenario = self.scenario(choices);
            choices.mark();
            world(scenario, choices).with_only(self.wanted()).run()
        })
    }

    /// Draws a world until a little after it has met what was wanted.
    fn draw(&self, shrunk: &Shrunk) -> String {
        let film = Film::default();
        let mut tape = Tape::new(&shrunk.tape);
        let scenario = self.scenario(&mut tape);
        let to = shrunk.failure.at.after(scenario.latency * 2);
        // That it holds, or what else it meets later, is not the question.
        let _ = world(scenario, &mut tape).with_only(vec![Box::new(film.clone())]).run();
        film.draw(self.title, Span { to: Some(to), ..Span::default() }, None)
    }

    /// Draws what kind of world it is: a few machines, and one cell that all want.
    fn scenario(&self, choices: &mut impl Choices) -> Scenario {
        let plan = Plan { family: Some(Family::Common), defect: None };
        Scenario { machines: self.machines, cells: 1, ..plan.scenario(choices) }
    }

    fn wanted(&self) -> Vec<Box<dyn Check>> {
        if self.wanted.contains(&Witness::LateLanding) {
            vec![Box::new(LateClaim::Claims)]
        } else {
            vec![Box::new(Meeting::of(self.wanted))]
        }
    }
}

/// Ends a world in which a claim landed late, after a look had shown nothing of it: one and the same claim, where
/// [`Meeting`] would be content with two writes that share these misfortunes.
#[derive(Debug)]
enum LateClaim {
    Claims,
    GivesUp,
    SeesNothing,
    Lands,
    IsGranted,
}

impl Check for LateClaim {
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let is_of_cell = |key: &Key| Key::cell(key.as_str()).is_some();
        *self = match (&self, view.step) {
            (Self::Claims, Step::Sent(Op::Write(op))) if is_of_cell(&op.key) => Self::GivesUp,
            (Self::GivesUp, Step::Told(Event::WriteDone(_, WriteReply::Unknown(_)))) => Self::SeesNothing,
            (Self::GivesUp, Step::Told(Event::WriteDone(..))) => Self::Claims,
            (Self::SeesNothing, Step::Told(Event::ReadDone(_, ReadReply::Missing))) => Self::Lands,
            (Self::Lands, Step::Served { op: Op::Write(op), reply, is_late: true, .. })
                if is_of_cell(&op.key) && matches!(reply, Reply::Write(WriteReply::Applied { .. })) =>
            {
                Self::IsGranted
            }
            (Self::IsGranted, Step::Done { outcome: Outcome::Claimed(Ok(_)), .. }) => {
                return Err(Violation::new("late landing", "a claim landed late"));
            }
            _ => return Ok(()),
        };
        Ok(())
    }
}

fn world<C: Choices>(scenario: Scenario, choices: &mut C) -> World<'_, C, Keeper> {
    World::with_app(scenario, choices, Keeper::default)
}

/// An application of few words: it claims what it does not have, and keeps what it has.
#[derive(Debug, Default)]
struct Keeper {
    waits: Option<Ticket>,
}

impl App for Keeper {
    fn on_turn(&mut self, ctx: &mut Context<'_>) {
        let free = ctx.cells().iter().find(|cell| ctx.tenure(cell).is_none()).cloned();
        if let (None, Some(cell)) = (self.waits, free) {
            self.waits = Some(ctx.ask(Call::Claim { cell, wait: WAIT }));
        }
    }

    fn on_answer(&mut self, ticket: Ticket, _: &Call, _: &Outcome, _: &mut Context<'_>) {
        self.waits.take_if(|waits| *waits == ticket);
    }
}

/// How long it waits for a cell that another node has: longer than any lease.
const WAIT: Duration = Duration::from_secs(60);
/// How many worlds that meet it compete: a first one may have to be complicated.
const FIRST: usize = 6;
/// Where to stop looking.
const SEEDS: u64 = 100_000;
/// How many worlds may be run to make one smaller.
const RUNS: u32 = 3000;
