//! Draws what each lane shows: who runs there, what it may do and holds, and what happens to it.

use super::canvas::{Anchor, Canvas, Layer, text_width};
use super::film::{Kind, Life, Mark, Scene};
use super::layout::{Columns, Rows};
use crate::clock::Moment;

/// Draws the lanes themselves, with their names and the time beside them.
pub(super) fn lanes(canvas: &mut Canvas, scene: &Scene, rows: &Rows, columns: &Columns) {
    let bottom = rows.bottom();
    let mut last = String::new();
    for (at, y) in rows.ticks() {
        canvas.line(Layer::Back, "grid", (58.0, y), (columns.width() - 16.0, y));
        if last != seconds(at) {
            last = seconds(at);
            canvas.text("time", (52.0, y + 3.5), Anchor::End, &last);
        }
    }
    for machine in 0..scene.machines {
        let x = columns.machine(machine);
        canvas.text("lane-name", (x, HEAD), Anchor::Middle, &format!("machine n{}", machine + 1));
        canvas.line(Layer::Back, "lane", (x, HEAD + 10.0), (x, bottom));
    }
    canvas.text("lane-name", (columns.store(), HEAD), Anchor::Middle, "store");
    canvas.line(Layer::Back, "store-lane", (columns.store(), HEAD + 10.0), (columns.store(), bottom));
}

/// Draws the bars and labels of one session.
pub(super) fn life(canvas: &mut Canvas, life: &Life, scene: &Scene, rows: &Rows, columns: &Columns) {
    let (x, side) = (columns.machine(life.machine), columns.side(life.machine));
    if let Some((from, until)) = life.promised {
        let to = Some(until).filter(|until| *until <= scene.end);
        if rows.meets(from, to.unwrap_or(scene.end)) {
            let (top, end) = (rows.y(from), to.map_or(rows.bottom(), |to| rows.y(to)));
            canvas.bar(Layer::Back, "promised", (x - 11.0, top), (22.0, end - top));
        }
        if rows.is_within(until) {
            beside(canvas, "muted", x, side, rows.y(until), "its authority would end");
        }
    }
    let is_here =
        |mark: &Mark| mark.session.is_some_and(|session| scene.sessions[session].start == life.start);
    let mut bar = |layer, class: &str, from, to: Option<Moment>, half: f64| {
        let last = to.unwrap_or(scene.end);
        if rows.meets(from, last) {
            let (top, end) = (rows.y(from), if to.is_some() { rows.y(last) } else { rows.bottom() });
            canvas.bar(layer, class, (x - half, top), (2.0 * half, end - top));
        }
    };
    if let Some((from, until)) = life.authority {
        let to = Some(until).filter(|until| *until <= scene.end);
        bar(Layer::Back, "authority", from, to, 11.0);
    }
    for held in &life.tenures {
        bar(Layer::Bars, &format!("cell{}", held.cell % CELLS), held.from, held.to, 5.0);
    }
    for pause in &life.pauses {
        bar(Layer::Bars, "paused", pause.from, pause.to, 15.0);
    }
    if rows.meets(life.start, life.end.unwrap_or(scene.end)) && !rows.is_within(life.start) {
        let name = scene
            .marks
            .iter()
            .find(|mark| mark.at == life.start && mark.kind == Kind::Start && is_here(mark));
        let name = name.map_or("", |mark| mark.label.trim_end_matches(" starts"));
        beside(canvas, "held", x, side, rows.y(life.start), name);
    }
    for held in life.tenures.iter().filter(|held| rows.meets(held.from, held.to.unwrap_or(scene.end))) {
        let class = format!("held text-cell{}", held.cell % CELLS);
        beside(canvas, &class, x, side, rows.y(held.from), &format!("holds {}", held.label));
    }
    for pause in life.pauses.iter().filter(|pause| rows.meets(pause.from, pause.to.unwrap_or(scene.end))) {
        let what = if pause.is_suspended { "its machine is suspended" } else { "stands still" };
        let label = match pause.to {
            Some(to) => format!("{what} for {:.3} s", to.since(pause.from).as_secs_f64()),
            None => what.to_owned(),
        };
        beside(canvas, "", x, side, rows.y(pause.from), &label);
    }
    // A mark at that moment says it better.
    let is_marked = |at: Moment| scene.marks.iter().any(|mark| mark.at == at && mark.kind != Kind::Start);
    if let Some((_, until)) = life.authority.filter(|(_, until)| rows.is_within(*until) && !is_marked(*until))
    {
        beside(canvas, "muted", x, side, rows.y(until), "authority ends");
    }
}

/// Draws what happened at single moments.
pub(super) fn marks(canvas: &mut Canvas, scene: &Scene, rows: &Rows, columns: &Columns) {
    for mark in scene.marks.iter().filter(|mark| rows.is_within(mark.at)) {
        let y = rows.y(mark.at);
        let machine = mark.session.map(|session| scene.sessions[session].machine);
        let (x, side) = machine
            .map_or((columns.store(), 1.0), |machine| (columns.machine(machine), columns.side(machine)));
        let class = match mark.kind {
            Kind::Answer => "muted",
            Kind::Cut => {
                cut(canvas, mark, (x, y, side), columns);
                continue;
            }
            Kind::Crash => {
                canvas.cross("lost", (x, y), 8.0);
                "end-text"
            }
            Kind::End => {
                canvas.dot("end", (x, y), 5.5);
                "end-text"
            }
            Kind::Judged => "end-text",
            Kind::Meddling => {
                canvas.cross("lost", (x, y), 5.0);
                "end-text"
            }
            Kind::Start => {
                canvas.dot("start", (x, y), 4.5);
                "held"
            }
        };
        beside(canvas, class, x, side, y, &mark.label);
    }
}

/// Draws what the store holds from when on.
pub(super) fn versions(canvas: &mut Canvas, scene: &Scene, rows: &Rows, columns: &Columns) {
    for (at, label) in scene.versions.iter().filter(|(at, _)| rows.is_within(*at)) {
        let (x, y, width) = (columns.store(), rows.y(*at), pill(label));
        canvas.bar(Layer::Front, "pill", (x - width / 2.0, y - 8.5), (width, 17.0));
        canvas.text("pill-text", (x, y + 3.5), Anchor::Middle, label);
    }
}

/// Says in the way of the messages what is left out of them.
fn cut(canvas: &mut Canvas, mark: &Mark, (x, y, side): (f64, f64, f64), columns: &Columns) {
    let middle = x - side * (x - columns.store()).abs() * 0.6;
    let places = [0.0, 12.0, -12.0].map(|down| (middle, y + 3.5 + down));
    canvas.place("muted", places, Anchor::Middle, &mark.label);
}

/// Draws when the store was down.
pub(super) fn outages(canvas: &mut Canvas, scene: &Scene, rows: &Rows, columns: &Columns) {
    for (from, to) in scene.outages.iter().filter(|(from, to)| rows.meets(*from, *to)) {
        let (top, end) = (rows.y(*from), if *to <= scene.end { rows.y(*to) } else { rows.bottom() });
        canvas.bar(Layer::Back, "outage", (columns.store() - 22.0, top), (44.0, end - top));
        let label = format!("store down for {:.3} s", to.since(*from).as_secs_f64());
        let places = [12.0, 24.0, 36.0, 48.0].map(|down| (columns.store() + 28.0, top + down));
        canvas.place("end-text", places, Anchor::Start, &label);
    }
}

/// Returns how wide the box around a version is.
pub(super) fn pill(label: &str) -> f64 {
    text_width(label) + 12.0
}

/// Writes a label beside a lane, away from the store: at its height if it can, or a little lower or higher.
pub(super) fn beside(canvas: &mut Canvas, class: &str, x: f64, side: f64, y: f64, label: &str) {
    let anchor = if side < 0.0 { Anchor::End } else { Anchor::Start };
    let places = [0.0, 12.0, -12.0, 24.0].map(|down| (x + side * 20.0, y + 3.5 + down));
    canvas.place(class, places, anchor, label);
}

fn seconds(at: Moment) -> String {
    format!("{:.3}", at.as_nanos() as f64 / 1e9)
}

/// How many colours there are for cells.
const CELLS: usize = 5;
/// The height of the names of the lanes.
const HEAD: f64 = 76.0;
