//! Leaves out most of the rounds in which a session gives a cell back and takes it again, and nobody else cares.

use super::scene::{Kind, Mark, Message, Place, Scene, Turn};
use crate::clock::Moment;

/// Claims and releases that follow each other, each applied at once.
struct Run {
    cell: usize,
    /// Where its claims and releases stand among the messages; a claim comes first.
    places: Vec<usize>,
}

/// Cuts long rows of such rounds short: the release before and the claim behind them stay.
pub(super) fn fold(scene: &mut Scene) {
    let mut out = vec![false; scene.messages.len()];
    for session in 0..scene.sessions.len() {
        for run in runs(scene, session) {
            if run.places.len() / 2 >= WORTH && is_undisturbed(scene, session, &run) {
                cut(scene, session, &run);
                run.places.iter().for_each(|&place| out[place] = true);
            }
        }
    }
    let mut out = out.into_iter();
    scene.messages.retain(|_| out.next() != Some(true));
}

/// Returns what lies between a release and a claim of the same cell, and is nothing but claims and releases of it.
fn runs(scene: &Scene, session: usize) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut open: Option<Run> = None;
    for (place, message) in scene.messages.iter().enumerate() {
        if message.session != session || message.is_quiet {
            continue;
        }
        let turn = message.turn.filter(|_| is_plain(message));
        match (turn, &mut open) {
            (Some(Turn::Claim(cell)), Some(run)) if run.cell == cell => run.places.push(place),
            (Some(Turn::Release(cell)), Some(run)) if run.cell == cell && run.places.len() % 2 == 1 => {
                run.places.push(place);
            }
            _ => {
                runs.extend(open.take());
                if let Some(Turn::Release(cell)) = turn {
                    open = Some(Run { cell, places: Vec::new() });
                }
            }
        }
    }
    runs.extend(open);
    for run in &mut runs {
        // The claim behind the last round stays; so does a release behind which nothing comes.
        let whole = run.places.len().saturating_sub(1) / 2 * 2;
        run.places.truncate(whole);
    }
    runs
}

/// Tells whether a claim or a release was simply applied.
fn is_plain(message: &Message) -> bool {
    let is_applied = matches!(&message.served[..], [(_, label, false)] if label == "applied");
    is_applied && message.answered.is_some() && message.given_up.is_none()
}

/// Tells whether nobody else asked for anything meanwhile, and nothing else became of the session.
fn is_undisturbed(scene: &Scene, session: usize, run: &Run) -> bool {
    let (from, to) = span(scene, run);
    let is_between = |at: Moment| from <= at && at <= to;
    let others = scene.messages.iter().filter(|message| message.session != session && !message.is_quiet);
    let is_alone = others.flat_map(|message| &message.served).all(|(at, ..)| !is_between(*at));
    let marks = scene.marks.iter().filter(|mark| mark.place == Place::Session(session));
    is_alone && marks.filter(|mark| is_between(mark.at)).all(|mark| mark.kind == Kind::Answer)
}

fn span(scene: &Scene, run: &Run) -> (Moment, Moment) {
    let sent = |place: usize| scene.messages[place].sent;
    let answered = |place: usize| scene.messages[place].answered.unwrap_or_default();
    (sent(run.places[0]), answered(run.places[run.places.len() - 1]))
}

/// Takes out what a run has made, and says so.
fn cut(scene: &mut Scene, session: usize, run: &Run) {
    let (from, to) = span(scene, run);
    let is_between = |at: Moment| from <= at && at <= to;
    scene.versions.retain(|(at, _)| !is_between(*at));
    scene.sessions[session]
        .tenures
        .retain(|held| held.cell != run.cell || !is_between(held.from) || !held.to.is_some_and(is_between));
    let is_said = |mark: &Mark| mark.place == Place::Session(session) && mark.kind == Kind::Answer;
    scene.marks.retain(|mark| !is_said(mark) || !is_between(mark.at));
    let at = from.after(to.since(from) / 2);
    let label = format!(
        "{}, {} more times: claim and release c{}",
        scene.name(session),
        run.places.len() / 2,
        run.cell + 1
    );
    scene.marks.push(Mark { at, place: Place::Session(session), kind: Kind::Cut, label });
}

/// How many rounds are too many to show.
const WORTH: usize = 2;
