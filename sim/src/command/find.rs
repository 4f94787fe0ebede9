//! A small world that meets a hard situation: to understand it, to draw it, to write a test about it.

use core::cell::Cell;

use crate::picture::{Film, Span};
use crate::{Meeting, Plan, Prng, Recorder, Shrinker, Shrunk, Tape, Trace, Witness, World};

use super::args::Find;
use super::print::say;
use super::{Ended, Verdict, interrupt, one, show};

/// Finds and shrinks a world that meets all of the situations asked for.
pub(crate) fn main(name: &str, args: &Find) -> Ended {
    let plan = args.world.plan();
    let seeds = args.start..args.start.saturating_add(args.seeds);
    let words: Vec<&str> = args.witnesses.iter().map(|witness| witness.as_str()).collect();
    say!("looking for {} in {} worlds from seed {:#x} on", words.join(", "), args.seeds, args.start);
    let looked = Cell::new(0);
    let seeds = seeds.inspect(|_| looked.set(looked.get() + 1));
    let Some((seed, shrunk)) = smallest(&plan, seeds, FIRST, &args.witnesses, args.runs) else {
        let so_far = if interrupt::goes_on() { "" } else { "interrupted: " };
        say!("{so_far}not met in {} of {} worlds", looked.get(), args.seeds);
        return Ok(Verdict::Violated.unless_interrupted());
    };
    if !interrupt::goes_on() {
        say!("interrupted after {} of {} worlds", looked.get(), args.seeds);
    }
    say!("seed {seed:#x} meets it: {}", show::sizes(&shrunk));
    let result = one::replay(&plan, &shrunk.tape, Meeting::of(&args.witnesses), Trace::full());
    if let Err(failure) = &result {
        failure.lines.iter().for_each(|line| say!("    {line}"));
        say!("met at t={}: {}", failure.at, failure.violation.why);
    }
    show::commands(name, &show::tape(&plan, &shrunk.tape), "", "world.svg");
    if let Some(path) = &args.picture {
        one::write(path, &picture(&plan, &shrunk, &shrunk.failure.violation.why))?;
    }
    Ok(Verdict::Holds.unless_interrupted())
}

/// Draws a world until a little after it has met what was looked for.
fn picture(plan: &Plan, shrunk: &Shrunk, title: &str) -> String {
    let film = Film::default();
    // That it holds, or what else it meets later, is not the question.
    let _ = one::replay(plan, &shrunk.tape, film.clone(), Trace::silent());
    let latency = plan.scenario(&mut Tape::new(&shrunk.tape)).latency;
    film.draw(
        title,
        Span { from: None, to: Some(shrunk.failure.at.after(latency * 2)), moments: Some(MOMENTS) },
        None,
    )
}

/// Shrinks the worlds of the first few seeds that meet all of these, with so many runs in all, and returns the smallest
/// with its seed.
fn smallest(
    plan: &Plan,
    seeds: impl Iterator<Item = u64>,
    first: u32,
    wanted: &[Witness],
    runs: u32,
) -> Option<(u64, Shrunk)> {
    let found = seeds
        .take_while(|_| interrupt::goes_on())
        .filter_map(|seed| Some((seed, shrink(plan, seed, wanted, runs / first)?)));
    found.take(first as usize).min_by_key(|(_, shrunk)| shrunk.after.effort())
}

/// Returns a small world that meets all of these situations, if the world of the seed does.
fn shrink(plan: &Plan, seed: u64, wanted: &[Witness], runs: u32) -> Option<Shrunk> {
    let mut prng = Prng::new(seed);
    let mut recorder = Recorder::new(&mut prng);
    let met = plan.watch(&mut recorder, Meeting::of(wanted), Trace::silent());
    if met.err()?.violation.check != Meeting::CHECK {
        return None;
    }
    Shrinker::new(runs).while_true(interrupt::goes_on).shrink(recorder.into_tape(), |choices| {
        let scenario = plan.scenario(choices);
        choices.mark();
        World::new(scenario, choices).with_only(vec![Box::new(Meeting::of(wanted))]).run()
    })
}

/// How many worlds that meet it compete: a first one may have to be complicated.
const FIRST: u32 = 12;

/// How many moments a picture shows: its last ones, on a screen.
const MOMENTS: usize = 52;
