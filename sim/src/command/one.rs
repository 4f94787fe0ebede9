//! One world, of a seed or a tape: traced, shrunk, as a transcript, or drawn.

use std::fs;
use std::path::Path;

use tenure_sim::picture::{Film, Span};
use tenure_sim::{
    Check, Failure, Moment, Plan, Prng, Recorder, Report, Scribe, Shrinker, Tape, Trace, Transcript, View,
    Violation,
};

use super::args::{Args, Output};
use super::{Ended, Verdict, show};

/// Runs the world of a seed or a tape, and makes of it what was asked for.
pub(crate) fn main(args: &Args) -> Ended {
    let (plan, output) = (args.world.plan(), &args.output);
    let tape = match (&args.tape, args.seed) {
        (Some(text), _) => read(text)?,
        (None, seed) => record(&plan, seed.unwrap_or_default()),
    };
    let name = match (args.seed, &args.tape) {
        (Some(seed), _) => format!("seed {seed:#x}"),
        (None, _) => "the tape".to_owned(),
    };
    let family = plan.scenario(&mut Tape::new(&tape)).family;
    println!("{name} is a world of family {}", family.as_str());
    let (tape, is_shrunk) = if output.shrink { shrink(&plan, tape, output) } else { (tape, false) };
    let is_traced = output.trace || (is_shrunk && !output.transcript && output.picture.is_none());
    let trace = if is_traced { Trace::full() } else { Trace::last(20) };
    let (scribe, film) = (Scribe::default(), Film::default());
    let result = replay(&plan, &tape, Pair(scribe.clone(), film.clone()), trace);
    let verdict = match &result {
        Ok(report) => {
            if is_traced {
                report.lines.iter().for_each(|line| println!("{line}"));
            }
            println!("{name} holds: {} steps, digest {:016x}", report.steps, report.digest);
            Verdict::Holds
        }
        Err(failure) => {
            println!("{failure}");
            if is_shrunk {
                show::commands(&show::tape(&plan, &tape), false);
            } else if !is_traced {
                let world =
                    args.seed.map_or_else(|| show::tape(&plan, &tape), |seed| show::seed(&plan, seed));
                show::commands(&world, true);
            }
            Verdict::Violated
        }
    };
    let failure = result.as_ref().err().map(|failure| &**failure);
    if output.transcript {
        transcripts(&scribe.transcripts(), failure);
    }
    if let Some(path) = &output.picture {
        let span = Span { from: output.from.map(millis), to: output.to.map(millis), moments: None };
        write(path, &film.draw(&name, span, failure))?;
    }
    Ok(verdict)
}

/// Runs the world of a tape while something watches it.
pub(crate) fn replay(
    plan: &Plan,
    tape: &[u32],
    watcher: impl Check + 'static,
    trace: Trace,
) -> Result<Report, Box<Failure>> {
    plan.watch(&mut Tape::new(tape), watcher, trace)
}

/// Writes a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

/// Returns the tape of a seed's world.
fn record(plan: &Plan, seed: u64) -> Vec<u32> {
    let mut prng = Prng::new(seed);
    let mut recorder = Recorder::new(&mut prng);
    // Whether it holds is asked when the tape is played.
    let _ = plan.watch(&mut recorder, Film::default(), Trace::silent());
    recorder.into_tape()
}

/// Reads a tape from the command line, or from the file that it names there.
fn read(text: &str) -> Result<Vec<u32>, String> {
    let file = fs::read_to_string(text).ok();
    let text = file.as_deref().unwrap_or(text);
    Tape::parse(text).map_err(|word| format!("{word:?} is no word of a tape"))
}

/// Returns the smallest tape found, and whether it fails at all.
fn shrink(plan: &Plan, tape: Vec<u32>, output: &Output) -> (Vec<u32>, bool) {
    match Shrinker::new(output.runs).shrink_tape(plan, tape.clone()) {
        Some(shrunk) => {
            println!("shrunk {}", show::sizes(&shrunk));
            (shrunk.tape, true)
        }
        None => (tape, false),
    }
}

/// Prints what the sessions involved did: those that the violation names, and the one that made the last step.
fn transcripts(transcripts: &[Transcript], failure: Option<&Failure>) {
    let why = failure.map(|failure| failure.violation.to_string()).unwrap_or_default();
    let is_named = |transcript: &Transcript| {
        let name = format!("session {}", transcript.session);
        why.match_indices(&name)
            .any(|(place, name)| !why[place + name.len()..].starts_with(|next: char| next.is_ascii_digit()))
    };
    let named: Vec<&Transcript> = transcripts.iter().filter(|transcript| is_named(transcript)).collect();
    let shown = if named.is_empty() { transcripts.iter().collect() } else { named };
    for transcript in shown {
        println!("\n{transcript}");
    }
}

const fn millis(millis: u64) -> Moment {
    Moment::from_nanos(millis.saturating_mul(1_000_000))
}

/// Two watchers at once.
#[derive(Debug)]
pub(crate) struct Pair<A, B>(pub(crate) A, pub(crate) B);

impl<A: Check, B: Check> Check for Pair<A, B> {
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.0.observe(view)?;
        self.1.observe(view)
    }
}
