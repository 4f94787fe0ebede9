//! Transcript tests: input lines and the commands they cause, in the notation of the simulator's trace.
//!
//! `check` is the one place that touches the engine. `UPDATE=1 cargo test` rewrites the arrows of every
//! transcript in its source file; the difference is then for people to judge.
//!
//! ```text
//!   t=5 claim a wait=30s      a call; tickets are numbered t1, t2, ... in order
//!   t=20 r1 missing           the answer to a request, which is named as the engine named it
//!   r4 found w3               the bytes and the tag of attempt w3 (a resend has the tag of the first attempt)
//!   r1 found e9 {"node":"b.1","epoch":6} modified=1000 date=1013      the store's stamps in seconds
//!   wake, idle, tenure a, authority, body w3       look at the clock; show what the engine says
//! ```
//!
//! `me` stands for this node's id. Times are milliseconds unless they end in `s`, and may have a fraction. What the
//! simulator prints with `--transcript` pastes in as it is; [`run`] is how it checks that.
#![allow(dead_code, unused_imports, reason = "each test file uses its part of this notation")]

mod input;
mod session;

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use core::panic::Location;

pub(crate) use session::{Scenario, Session};

/// Feeds the inputs of a transcript and demands exactly the outputs it shows.
#[track_caller]
pub(crate) fn check(scenario: Scenario, transcript: &str) {
    let place = Location::caller();
    let actual = run(scenario, transcript);
    if actual == transcript {
        return;
    }
    if std::env::var_os("UPDATE").is_some() {
        return rewrite(place, transcript, &actual);
    }
    let same = actual.lines().zip(transcript.lines()).take_while(|(a, b)| a == b).count();
    let shown = |text: &str| text.lines().skip(same).take(8).collect::<Vec<_>>().join("\n");
    panic!(
        "{place}: the transcript differs from line {} on\n\nexpected\n{}\n\ngot\n{}\n\nUPDATE=1 rewrites it",
        same + 1,
        shown(transcript),
        shown(&actual)
    );
}

/// Feeds the inputs of a transcript and returns it with the outputs that they cause.
pub(crate) fn run(scenario: Scenario, transcript: &str) -> String {
    let mut session = scenario.start();
    let mut actual = String::new();
    for line in transcript.lines() {
        let text = line.trim();
        if text.starts_with("->") {
            continue;
        }
        actual.push_str(line);
        actual.push('\n');
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let indent = line.len() - line.trim_start().len() + if text.starts_with("t=") { 7 } else { 0 };
        for output in session.feed(text) {
            actual.push_str(&format!("{:indent$}-> {output}\n", ""));
        }
    }
    // The last line of a raw string holds only the indentation of its end, without a line break.
    actual.strip_suffix('\n').filter(|_| !transcript.ends_with('\n')).unwrap_or(&actual).to_owned()
}

/// Replaces one transcript in its source file: the first such text behind its call.
fn rewrite(place: &Location<'_>, before: &str, after: &str) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(place.file());
    let source = fs::read_to_string(&path).expect("the test's source is there");
    let call: usize = source.split_inclusive('\n').take(place.line() as usize - 1).map(str::len).sum();
    let (head, tail) = source.split_at(call);
    let (before, after) = (format!("\"{before}\""), format!("\"{after}\""));
    assert!(tail.contains(&before), "{place}: the transcript must stand behind its call");
    let tail = tail.replacen(&before, &after, 1);
    fs::write(&path, format!("{head}{tail}")).expect("the test's source is writable");
}
