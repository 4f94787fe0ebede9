//! Draws what each lane shows: who runs there, what it may do and holds, and what happens to it.

use super::canvas::{Anchor, Canvas, Layer, text_width};
use super::layout::{Columns, Rows, seconds};
use super::scene::{Kind, Life, Mark, Place, Scene};
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

/// Draws the bars of one session: its lease, the cells in it, and when it stood still.
pub(super) fn bars(canvas: &mut Canvas, life: &Life, scene: &Scene, rows: &Rows, columns: &Columns) {
    let (x, half) = (columns.machine(life.machine), columns.half());
    let mut bar = |layer, class: &str, from, to: Option<Moment>, (left, width): (f64, f64)| {
        let to = to.filter(|to| *to <= scene.end);
        if rows.meets(from, to.unwrap_or(scene.end)) {
            let (top, end) = (rows.y(from), to.map_or(rows.bottom(), |to| rows.y(to)));
            canvas.bar(layer, class, (x + left, top), (width, end - top));
        }
    };
    let lane = (-half, 2.0 * half);
    if let Some((from, until)) = life.promised {
        bar(Layer::Back, "promised", from, Some(until), lane);
    }
    if let Some((from, until)) = life.authority {
        bar(Layer::Back, "authority", from, Some(until), lane);
    }
    for held in &life.tenures {
        let class = format!("cell cell{}", held.cell % CELLS);
        bar(Layer::Bars, &class, held.from, held.to, columns.cell(held.cell));
    }
    for pause in &life.pauses {
        let class = if pause.is_suspended { "suspended" } else { "paused" };
        bar(Layer::Bars, class, pause.from, pause.to, (-half - 4.0, 2.0 * half + 8.0));
    }
}

/// Writes what the bars of one session are.
pub(super) fn labels(canvas: &mut Canvas, life: &Life, scene: &Scene, rows: &Rows, columns: &Columns) {
    let (x, side) = (columns.machine(life.machine), columns.side(life.machine));
    let mut label =
        |class: &str, at: Moment, text: &str| beside(canvas, class, (x, side, rows.y(at)), columns, text);
    if let Some((_, until)) = life.promised.filter(|(_, until)| rows.is_within(*until)) {
        label("muted", until, "authority would end");
    }
    if rows.meets(life.start, life.end.unwrap_or(scene.end)) && !rows.is_within(life.start) {
        let is_here = |mark: &&Mark| match mark.place {
            Place::Session(session) => scene.sessions[session].start == life.start,
            Place::Machine(_) | Place::Store => false,
        };
        let mut starts = scene.marks.iter().filter(|mark| mark.at == life.start && mark.kind == Kind::Start);
        let name = starts.find(is_here).map_or("", |mark| mark.label.trim_end_matches(" starts"));
        label("held", life.start, name);
    }
    for held in life.tenures.iter().filter(|held| rows.meets(held.from, held.to.unwrap_or(scene.end))) {
        let class = format!("held text-cell{}", held.cell % CELLS);
        label(&class, held.from, &format!("holds {}", held.label));
    }
    for pause in life.pauses.iter().filter(|pause| rows.meets(pause.from, pause.to.unwrap_or(scene.end))) {
        let what = if pause.is_suspended { "suspended" } else { "stands still" };
        let text = match pause.to {
            Some(to) => format!("{what} for {:.3} s", to.since(pause.from).as_secs_f64()),
            None => what.to_owned(),
        };
        label("", pause.from, &text);
    }
    // A mark at that moment says it better.
    let is_marked = |at: Moment| scene.marks.iter().any(|mark| mark.at == at && mark.kind != Kind::Start);
    if let Some((_, until)) = life.authority.filter(|(_, until)| rows.is_within(*until) && !is_marked(*until))
    {
        label("muted", until, "authority ends");
    }
}

/// Draws what happened at single moments.
pub(super) fn marks(canvas: &mut Canvas, scene: &Scene, rows: &Rows, columns: &Columns) {
    for mark in scene.marks.iter().filter(|mark| rows.is_within(mark.at)) {
        let y = rows.y(mark.at);
        let machine = match mark.place {
            Place::Machine(machine) => Some(machine),
            Place::Session(session) => Some(scene.sessions[session].machine),
            Place::Store => None,
        };
        let (x, side) = machine
            .map_or((columns.store(), 1.0), |machine| (columns.machine(machine), columns.side(machine)));
        let class = match mark.kind {
            Kind::Answer | Kind::Note => "muted",
            Kind::Calm => {
                canvas.line(Layer::Back, "calm", (58.0, y), (columns.width() - 16.0, y));
                canvas.keep_row_clear(y);
                "held"
            }
            Kind::Cut => {
                cut(canvas, mark, (x, y, side), columns);
                continue;
            }
            Kind::Crash => {
                canvas.cross("died", (x, y), 8.0);
                "end-text"
            }
            Kind::End => {
                canvas.dot("end", (x, y), 5.5);
                "end-text"
            }
            Kind::Judged => "end-text",
            Kind::Meddling => {
                canvas.cross("meddled", (x, y), 5.0);
                "end-text"
            }
            Kind::Start => {
                canvas.dot("start", (x, y), 4.5);
                "held"
            }
        };
        beside(canvas, class, (x, side, y), columns, &mark.label);
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
pub(super) fn beside(
    canvas: &mut Canvas,
    class: &str,
    (x, side, y): (f64, f64, f64),
    columns: &Columns,
    label: &str,
) {
    let anchor = if side < 0.0 { Anchor::End } else { Anchor::Start };
    let x = x + side * (columns.half() + 9.0);
    let places = [0.0, 12.0, -12.0, 24.0, -24.0, 36.0].map(|down| (x, y + 3.5 + down));
    canvas.place(class, places, anchor, label);
}

/// How many colours there are for cells.
const CELLS: usize = 5;
/// The height of the names of the lanes.
const HEAD: f64 = 76.0;
