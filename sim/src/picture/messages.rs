//! Draws requests on their way to the store and answers on their way back.

use super::canvas::{Anchor, Canvas, Layer, text_width};
use super::lanes;
use super::layout::{Columns, Rows};
use super::scene::{Message, Scene};
use crate::clock::Moment;

/// Draws one request and what became of it.
pub(super) fn message(canvas: &mut Canvas, message: &Message, scene: &Scene, rows: &Rows, columns: &Columns) {
    let machine = scene.sessions[message.session].machine;
    let (lane, side) = (columns.machine(machine), columns.side(machine));
    let way = Way { rows, lane: lane - side * (columns.half() + 1.0), store: columns.store(), side, scene };
    let last =
        message.served.iter().map(|(at, ..)| *at).chain(message.answered).max().unwrap_or(message.sent);
    let is_late = message.served.iter().any(|(_, _, is_late)| *is_late);
    // What came from before the picture begins would start nowhere.
    if !rows.meets(message.sent, last) || !(is_late || rows.is_within(message.sent)) {
        return;
    }
    let name = &message.label;
    let text = if message.is_quiet { "quiet-text" } else { "" };
    let sent = (way.lane, rows.y(message.sent));
    let mut is_labelled = false;
    for (at, outcome, is_late) in &message.served {
        let class = match (is_late, message.is_quiet) {
            (true, _) => "late",
            (false, true) => "quiet",
            (false, false) => "message",
        };
        let end = (way.edge(*at), rows.y(*at));
        canvas.arrow(class, sent, end);
        if *is_late {
            // Beyond the store there is room: nothing else that comes from here goes there.
            let label = format!("{name} lands late: {outcome}");
            let (x, y) = (way.store - side * (way.store - end.0).abs().max(8.0), end.1 + 3.5);
            let places = [0.0, 12.0, -12.0, 24.0].map(|down| (x - side * 4.0, y + down));
            let anchor = if side < 0.0 { Anchor::Start } else { Anchor::End };
            is_labelled |= canvas.place("late-text", places, anchor, &label);
        } else if !is_labelled {
            // A second arrival of the same request needs no name.
            is_labelled = along(canvas, text, sent, end, name);
        }
    }
    let gives_up = message
        .given_up
        .filter(|_| message.answered.is_none_or(|at| message.given_up.is_some_and(|up| up < at)));
    if message.served.is_empty() && (message.given_up.is_some() || message.answered.is_none()) {
        // It never arrived: it is lost if its sender gave up, and else still on its way when the picture ends.
        let (x, y) = (sent.0 - side * 110.0, sent.1 + 7.0);
        canvas.line(Layer::Arrows, "lost-line", sent, (x, y));
        if message.given_up.is_some() {
            canvas.cross("lost", (x, y), 4.5);
        }
    }
    if message.served.is_empty() {
        let far = (way.store, sent.1 + 10.0);
        along(canvas, text, sent, far, &message.label);
    }
    if let Some(up) = gives_up.filter(|up| rows.is_within(*up)) {
        canvas.dot("answer-mark", (lane, rows.y(up)), 2.5);
        let label = format!("gives up: {name}");
        lanes::beside(canvas, "lost-text", (lane, side, rows.y(up)), columns, &label);
    }
    answer(canvas, message, &way);
}

/// Keeps labels off the way of a request that lands late, which crosses that of others.
pub(super) fn keep_clear(
    canvas: &mut Canvas,
    message: &Message,
    scene: &Scene,
    rows: &Rows,
    columns: &Columns,
) {
    let machine = scene.sessions[message.session].machine;
    let from = (columns.machine(machine), rows.y(message.sent));
    for (at, ..) in message.served.iter().filter(|(_, _, is_late)| *is_late) {
        canvas.keep_clear(from, (columns.store(), rows.y(*at)));
    }
}

/// Draws the answer, as far as it came.
fn answer(canvas: &mut Canvas, message: &Message, way: &Way<'_>) {
    let Some((served, label, is_late)) =
        message.served.iter().rfind(|(at, ..)| message.answered.is_none_or(|end| *at <= end))
    else {
        return;
    };
    let from = (way.edge(*served), way.rows.y(*served));
    match message.answered {
        Some(answered) => {
            let to = (way.lane, way.rows.y(answered));
            canvas.arrow(if message.is_quiet { "quiet" } else { "answer" }, from, to);
            // The box in the store's lane says what a write that was applied has made.
            if !(message.is_quiet || label == "applied" && way.version(*served).is_some()) {
                along(canvas, "muted", from, to, label);
            }
        }
        None if message.given_up.is_some() && !is_late => {
            let to = (from.0 + way.side * 90.0, from.1 + 7.0);
            canvas.line(Layer::Arrows, "lost-line", from, to);
            canvas.cross("lost", to, 4.5);
        }
        None => {}
    }
}

/// Writes a label above an arrow, where the arrow before it is farther away; tells whether there was room.
fn along(canvas: &mut Canvas, class: &str, from: (f64, f64), to: (f64, f64), label: &str) -> bool {
    let slope = ((to.1 - from.1) / (to.0 - from.0)).abs();
    let lift = 2.5 + slope.min(0.25) * text_width(label) / 2.0;
    let places = [0.64, 0.55, 0.72, 0.45, 0.35].map(|part| {
        let (x, y) = (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
        (x, y - lift)
    });
    canvas.place(class, places, Anchor::Middle, label)
}

/// The way between one lane and the store.
struct Way<'w> {
    rows: &'w Rows,
    lane: f64,
    store: f64,
    side: f64,
    scene: &'w Scene,
}

impl Way<'_> {
    /// Returns where an arrow meets the store at a moment: at the box of a version, if there is one.
    fn edge(&self, at: Moment) -> f64 {
        let half = self.version(at).map_or(3.0, |label| lanes::pill(label) / 2.0);
        self.store + self.side * half
    }

    fn version(&self, at: Moment) -> Option<&str> {
        let found = self.scene.versions.iter().find(|(made, _)| *made == at);
        found.map(|(_, label)| label.as_str())
    }
}
