//! Leaves out what only repeats itself: a node that polls, or renews, does the same thing over and over.

use super::rounds;
use super::scene::{Kind, Mark, Message, Place, Scene};
use crate::clock::Moment;

/// Returns a scene in which long runs of requests that were alike, with answers that were alike, are cut short: the
/// first stays, and below it is said how many more there were.
pub(super) fn folded(scene: &Scene) -> Scene {
    let mut scene = scene.clone();
    rounds::fold(&mut scene);
    for session in 0..scene.sessions.len() {
        for are_quiet in [false, true] {
            for run in runs(&scene, session, are_quiet) {
                fold(&mut scene, session, run);
            }
        }
    }
    scene
}

/// A run of requests that are alike.
#[derive(Clone, Copy, Debug)]
struct Run {
    count: usize,
    /// When the first was answered.
    from: Moment,
    /// When the last was answered.
    to: Moment,
}

/// Returns the runs of a session that are worth cutting.
fn runs(scene: &Scene, session: usize, are_quiet: bool) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut before: Option<&Message> = None;
    for message in scene.messages.iter().filter(|message| message.session == session) {
        if message.is_quiet && !are_quiet {
            continue;
        }
        let answered = message.answered.filter(|_| is_plain(message) && message.is_quiet == are_quiet);
        let Some(answered) = answered else {
            before = None;
            continue;
        };
        let is_alike = |other: &Message| other.label == message.label && outcome(other) == outcome(message);
        match runs.last_mut().filter(|_| before.is_some_and(is_alike)) {
            Some(run) => (run.count, run.to) = (run.count + 1, answered),
            None => runs.push(Run { count: 1, from: answered, to: answered }),
        }
        before = Some(message);
    }
    runs.retain(|run| run.count >= WORTH);
    runs
}

/// Tells whether nothing befell a request that changes nothing.
fn is_plain(message: &Message) -> bool {
    message.is_idle && message.given_up.is_none() && matches!(message.served[..], [(_, _, false)])
}

fn outcome(message: &Message) -> Option<&str> {
    message.served.first().map(|(_, label, _)| label.as_str())
}

/// Takes a run out of the scene, but for its first, and with it what a session was told and renewed meanwhile.
fn fold(scene: &mut Scene, session: usize, run: Run) {
    let is_between = |at: Moment| run.from < at && at <= run.to;
    let mut label = String::new();
    scene.messages.retain(|message| {
        let is_out = message.session == session
            && is_plain(message)
            && is_between(message.sent)
            && message.answered.is_some_and(is_between);
        if is_out && (label.is_empty() || !message.is_quiet) {
            label.clone_from(&message.label);
        }
        !is_out
    });
    let is_said = |mark: &Mark| mark.place == Place::Session(session) && mark.kind == Kind::Answer;
    scene.marks.retain(|mark| !is_said(mark) || !is_between(mark.at));
    let at = run.from.after(run.to.since(run.from) / 2);
    let label = format!("{}, {} more times: {label}", scene.name(session), run.count - 1);
    scene.marks.push(Mark { at, place: Place::Session(session), kind: Kind::Cut, label });
}

/// How many requests that are alike are one too many to show.
const WORTH: usize = 3;
