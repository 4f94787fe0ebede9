//! Many worlds: how many hold, how fast they run, and what they met.

use core::fmt;

use crate::{Report, Witness};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::args::Args;
use super::print::say;
use super::stopwatch::Stopwatch;
use super::{Ended, Verdict, interrupt, show};

/// Runs many worlds, until one violates a check or somebody presses Ctrl-C.
pub(crate) fn main(name: &str, args: &Args) -> Ended {
    let (plan, start, threads) = (args.world.plan(), args.range.start, args.range.threads());
    let count = args.seeds.unwrap_or(10_000);
    say!("seeds {start:#x} to {:#x} on {threads} threads", start.wrapping_add(count - 1));
    let bar = bar(count);
    let watch = Stopwatch::start();
    let mut report = Report::default();
    while report.worlds < count && interrupt::goes_on() {
        let done = report.worlds;
        let slice = SLICE.min(count - done);
        let goes_on = |now| {
            bar.set_position(done + now);
            interrupt::goes_on()
        };
        match plan.run_while(start.wrapping_add(done), slice, threads, &goes_on) {
            Ok(more) => report.add(&more),
            Err(found) => {
                bar.finish_and_clear();
                say!("violated after {} worlds", found.seed.wrapping_sub(start) + 1);
                show::found(name, &plan, &found);
                return Ok(Verdict::Violated);
            }
        }
        bar.set_message(format!("; {}", met(&report)));
    }
    bar.finish_and_clear();
    summary(&report, watch.seconds());
    if report.worlds < count {
        say!("interrupted after {} of {count} worlds", report.worlds);
        return Ok(Verdict::Interrupted);
    }
    say!("every check holds in every world");
    Ok(Verdict::Holds)
}

fn summary(report: &Report, seconds: f64) {
    say!("{}", report.seen);
    say!(
        "{} worlds and {} engine steps in {seconds:.1} s: {:.0} worlds/s, {:.2} M steps/s; digest {:016x}",
        report.worlds,
        report.steps,
        report.worlds as f64 / seconds,
        report.steps as f64 / seconds / 1e6,
        report.digest
    );
    let missing: Vec<&str> = report.seen.missing().map(Witness::as_str).collect();
    if !missing.is_empty() {
        say!("never met: {}", missing.join(", "));
    }
}

/// Says how many of the hard situations were met, and names some that were not.
fn met(report: &Report) -> String {
    let missing: Vec<&str> = report.seen.missing().map(Witness::as_str).collect();
    let all = Witness::ALL.len();
    match missing.as_slice() {
        [] => format!("all {all} situations met"),
        [one, two, three, _, ..] => {
            format!("{} of {all} situations met, not {one}, {two}, {three}, ...", all - missing.len())
        }
        few => format!("{} of {all} situations met, not {}", all - few.len(), few.join(", ")),
    }
}

/// Shows how far it is on standard error; nothing unless that is a terminal.
fn bar(count: u64) -> ProgressBar {
    let style = "{bar:24} {human_pos} of {human_len} worlds, {rate}, {eta} to go{msg}";
    let style = ProgressStyle::with_template(style).expect("a template that indicatif understands");
    let rate = |state: &ProgressState, f: &mut dyn fmt::Write| {
        // Text takes whatever is written to it.
        let _ = write!(f, "{:.0} worlds/s", state.per_sec());
    };
    ProgressBar::new(count).with_style(style.with_key("rate", rate))
}

/// How many worlds run before what they met is shown: a second's worth, so that threads seldom wait.
const SLICE: u64 = 8192;
