//! One world, of a seed or a tape: traced, shrunk, as a transcript, or drawn.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::picture::{Film, Span};
use crate::{
    Check, Failure, Moment, Plan, Prng, Promise, Recorder, Report, Scenario, Scribe, Shrinker, Tape, Trace,
    Transcript, View, Violation,
};

use super::args::{Args, Output};
use super::print::say;
use super::{Ended, Verdict, interrupt, print, show};

/// Runs the world of a seed or a tape, and makes of it what was asked for.
pub(crate) fn main(program: &str, args: &Args) -> Ended {
    let (plan, output) = (args.world.plan(), &args.output);
    let tape = match (&args.tape, args.seed) {
        (Some(text), _) => read(text)?,
        (None, seed) => record(&plan, seed.unwrap_or_default()),
    };
    if output.transcript {
        // Whatever else is printed must not be in the way of whoever pastes the tests.
        print::comments();
    }
    let name = match (args.seed, &args.tape) {
        (Some(seed), _) => format!("seed {seed:#x}"),
        (None, _) => "the tape".to_owned(),
    };
    say!("{name} is a world of family {}", kind(&plan.scenario(&mut Tape::new(&tape))));
    let (tape, is_shrunk) = if output.shrink { shrink(&plan, tape, output) } else { (tape, false) };
    let is_traced = output.trace || (is_shrunk && !output.transcript && output.picture.is_none());
    let trace = if is_traced { Trace::full() } else { Trace::last(20) };
    let (scribe, film) = (Scribe::default(), Film::default());
    let result = replay(&plan, &tape, Pair(scribe.clone(), film.clone()), trace);
    let verdict = match &result {
        Ok(report) => {
            if is_traced {
                report.lines.iter().for_each(|line| say!("{line}"));
            }
            say!("{name} holds: {} steps, digest {:016x}", report.steps, report.digest);
            Verdict::Holds
        }
        Err(failure) => {
            say!("{failure}");
            if is_shrunk {
                show::commands(program, &show::tape(&plan, &tape), "", "failure.svg");
            } else if !is_traced {
                let world =
                    args.seed.map_or_else(|| show::tape(&plan, &tape), |seed| show::seed(&plan, seed));
                show::commands(program, &world, " --shrink", "failure.svg");
            }
            Verdict::Violated
        }
    };
    let failure = result.as_ref().err().map(|failure| &**failure);
    if output.transcript {
        transcripts(&scribe.transcripts(), failure, plan.defect.is_some());
    }
    if let Some(path) = &output.picture {
        let span = Span { from: output.from.map(millis), to: output.to.map(millis), moments: None };
        let bug = plan.defect.map_or_else(String::new, |defect| format!(" with the planted bug {defect:?}"));
        let title =
            format!("{}{name}{bug}", if is_shrunk { "A small world made from " } else { "The world of " });
        write(path, &film.draw(&title, span, failure))?;
    }
    Ok(verdict.unless_interrupted())
}

/// Names the family of a world, what it is held to, and what it need not keep.
fn kind(scenario: &Scenario) -> String {
    let words =
        |promises: Vec<Promise>| promises.iter().map(Promise::to_string).collect::<Vec<_>>().join(", ");
    let kept = words(scenario.promises().collect());
    let waived = words(scenario.family.waives().to_vec());
    let but = if waived.is_empty() { String::new() } else { format!(", but not to {waived}") };
    format!("{}, held to {kept}{but}", scenario.family.as_str())
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
    let file = match fs::read_to_string(text) {
        Ok(file) => Some(file),
        // Whatever is no file is a tape.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidFilename) => None,
        Err(error) => return Err(format!("the tape {text} cannot be read: {error}")),
    };
    Tape::parse(file.as_deref().unwrap_or(text)).map_err(|word| {
        let (start, more) = word.char_indices().nth(40).map_or((word, ""), |(end, _)| (&word[..end], "..."));
        format!(
            "{:?} is neither a file nor a word of a tape, which has numbers between dots, and z9 for nine zeros",
            format!("{start}{more}")
        )
    })
}

/// Returns the smallest tape found, and whether it fails at all.
fn shrink(plan: &Plan, tape: Vec<u32>, output: &Output) -> (Vec<u32>, bool) {
    match Shrinker::new(output.runs).while_true(interrupt::goes_on).shrink_tape(plan, tape.clone()) {
        Some(shrunk) => {
            if !interrupt::goes_on() {
                say!("interrupted");
            }
            say!("shrunk {}", show::sizes(&shrunk));
            (shrunk.tape, true)
        }
        None => (tape, false),
    }
}

/// Prints what the sessions involved did: those that the violation names, and the one that made the last step.
fn transcripts(transcripts: &[Transcript], failure: Option<&Failure>, is_planted: bool) {
    let why = failure.map(|failure| failure.violation.to_string()).unwrap_or_default();
    let is_named = |transcript: &Transcript| {
        let name = format!("session {}", transcript.number);
        why.match_indices(&name)
            .any(|(place, name)| !why[place + name.len()..].starts_with(|next: char| next.is_ascii_digit()))
    };
    let named: Vec<&Transcript> = transcripts.iter().filter(|transcript| is_named(transcript)).collect();
    let shown = if named.is_empty() { transcripts.iter().collect() } else { named };
    say!(
        "To be pasted into core/tests/shrunk.rs. A test demands what a session did, be it right or wrong. Once the engine"
    );
    say!(
        "does otherwise it fails and shows from where on; then UPDATE=1 writes what happens instead, for people to judge."
    );
    if is_planted {
        say!("The engine of those tests has no planted bug: the test of whoever needed it fails at once.");
    }
    for transcript in shown {
        print::code(&format_args!("\n{transcript}"));
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
