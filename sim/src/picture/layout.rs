//! Where things stand: time to heights, lanes to columns.

use core::time::Duration;
use std::collections::BTreeSet;

use super::Span;
use super::scene::Scene;
use crate::clock::Moment;

/// The height at which each moment stands: far enough apart to be told apart, long silences cut short.
#[derive(Debug)]
pub(super) struct Rows {
    rows: Vec<(Moment, f64)>,
    /// Whether something happened before and after what is drawn.
    is_cut: (bool, bool),
}

impl Rows {
    pub(super) fn new(scene: &Scene, span: Span) -> Self {
        let mut rows: Vec<(Moment, f64)> = Vec::new();
        let happened = moments(scene);
        let all: Vec<Moment> = happened.iter().copied().filter(|at| span.holds(*at)).collect();
        let skipped = all.len().saturating_sub(span.moments.unwrap_or(MOST));
        for at in all.into_iter().skip(skipped) {
            let y = match rows.last() {
                None => TOP,
                Some(&(before, y)) => y + gap(at.since(before)),
            };
            rows.push((at, y));
        }
        if rows.is_empty() {
            rows.push((span.from.unwrap_or_default(), TOP));
        }
        let edges = (rows[0].0, rows[rows.len() - 1].0);
        let is_cut = happened.first().is_some_and(|first| *first < edges.0);
        Self { rows, is_cut: (is_cut, scene.end > edges.1) }
    }

    /// Returns the height of a moment; what lies outside stands at the edge.
    pub(super) fn y(&self, at: Moment) -> f64 {
        let next = self.rows.partition_point(|(row, _)| *row < at);
        match (next.checked_sub(1).map(|before| self.rows[before]), self.rows.get(next)) {
            (_, Some(&(row, y))) if row == at => y,
            (Some((before, above)), Some(&(after, below))) => {
                let part = at.since(before).as_secs_f64() / after.since(before).as_secs_f64();
                above + (below - above) * part
            }
            (None, Some(&(_, y))) => y,
            (Some((_, y)), None) => y + TAIL,
            (None, None) => TOP,
        }
    }

    pub(super) fn is_within(&self, at: Moment) -> bool {
        self.rows.first().is_some_and(|(first, _)| *first <= at)
            && self.rows.last().is_some_and(|(last, _)| at <= *last)
    }

    /// Tells whether any of a stretch of time is drawn.
    pub(super) fn meets(&self, from: Moment, to: Moment) -> bool {
        self.rows.first().is_some_and(|(first, _)| *first <= to)
            && self.rows.last().is_some_and(|(last, _)| from <= *last)
    }

    /// Says what is left out before and after; nothing if all is drawn.
    pub(super) fn cut(&self) -> Option<String> {
        let (first, last) = (seconds(self.rows[0].0), seconds(self.rows[self.rows.len() - 1].0));
        match self.is_cut {
            (false, false) => None,
            (true, false) => Some(format!("What happened before {first} s is left out.")),
            (false, true) => Some(format!("What happened after {last} s is left out.")),
            (true, true) => {
                Some(format!("Only from {first} s to {last} s; what came before and after is left out."))
            }
        }
    }

    pub(super) fn bottom(&self) -> f64 {
        self.rows.last().map_or(TOP, |(_, y)| *y) + TAIL
    }

    /// Returns the moments that have room for a number beside them.
    pub(super) fn ticks(&self) -> impl Iterator<Item = (Moment, f64)> {
        let mut last = f64::MIN;
        self.rows.iter().copied().filter(move |(_, y)| {
            let has_room = y - last >= 24.0;
            if has_room {
                last = *y;
            }
            has_room
        })
    }
}

/// Returns every moment at which something that is drawn begins or ends.
fn moments(scene: &Scene) -> BTreeSet<Moment> {
    let mut moments = BTreeSet::new();
    for life in &scene.sessions {
        moments.insert(life.start);
        moments.extend(life.end);
        moments.extend(life.authority.map(|(from, _)| from));
        moments.extend(life.authority.map(|(_, until)| until).filter(|until| *until <= scene.end));
        moments.extend(life.promised.map(|(_, until)| until).filter(|until| *until <= scene.end));
        moments.extend(life.tenures.iter().flat_map(|held| [Some(held.from), held.to]).flatten());
        moments.extend(life.pauses.iter().flat_map(|pause| [Some(pause.from), pause.to]).flatten());
    }
    for message in &scene.messages {
        moments.insert(message.sent);
        moments.extend(message.served.iter().map(|(at, _, _)| *at));
        moments.extend(message.answered);
        moments.extend(message.given_up);
    }
    moments.extend(scene.marks.iter().map(|mark| mark.at));
    moments.extend(scene.outages.iter().flat_map(|(from, to)| [*from, *to]).filter(|at| *at <= scene.end));
    moments.insert(scene.end);
    moments
}

fn gap(silence: Duration) -> f64 {
    (20.0 + 5.0 * (1.0 + silence.as_secs_f64() * 20.0).log2()).min(56.0)
}

/// Where each lane stands.
#[derive(Debug)]
pub(super) struct Columns {
    machines: usize,
    /// The cells that anybody holds; each has a place of its own in every lane.
    cells: Vec<usize>,
}

impl Columns {
    pub(super) fn new(scene: &Scene) -> Self {
        let tenures = scene.sessions.iter().flat_map(|life| &life.tenures);
        let cells: BTreeSet<usize> = tenures.map(|held| held.cell).collect();
        Self { machines: scene.machines, cells: cells.into_iter().collect() }
    }

    /// Returns half of how wide the bar of a lease is: the bars of all cells stand in it side by side.
    pub(super) fn half(&self) -> f64 {
        (self.pitch() * self.cells.len() as f64 / 2.0 + 2.0).max(11.0)
    }

    /// Returns how far from the middle of a lane the bar of a cell begins, and how wide it is.
    pub(super) fn cell(&self, cell: usize) -> (f64, f64) {
        let place = self.cells.iter().position(|held| *held == cell).unwrap_or_default();
        let pitch = self.pitch();
        let left = pitch * (place as f64 - self.cells.len() as f64 / 2.0);
        (left + 1.0, pitch - 2.0)
    }

    fn pitch(&self) -> f64 {
        (60.0 / self.cells.len().max(1) as f64).min(10.0)
    }

    const fn left(&self) -> usize {
        self.machines.div_ceil(2)
    }

    /// Returns where the lane of a machine stands.
    pub(super) fn machine(&self, machine: usize) -> f64 {
        match machine.checked_sub(self.left()) {
            None => GUTTER + self.spacing() * machine as f64,
            Some(place) => self.store() + REACH + self.spacing() * place as f64,
        }
    }

    /// Returns how far lanes on the same side are apart: the more there are, the closer, so that a screen holds them.
    fn spacing(&self) -> f64 {
        let between = self.machines.saturating_sub(2).max(1);
        (ROOM / between as f64).min(SPACING)
    }

    pub(super) fn store(&self) -> f64 {
        GUTTER + self.spacing() * self.left().saturating_sub(1) as f64 + REACH
    }

    pub(super) fn width(&self) -> f64 {
        let right = self.machines - self.left();
        let edge = if right == 0 { self.store() } else { self.machine(self.machines - 1) + MARGIN };
        edge.max(LEAST)
    }

    /// Returns on which side of the store a machine stands, and so away from which its labels go: -1 or 1.
    pub(super) const fn side(&self, machine: usize) -> f64 {
        if machine < self.left() { -1.0 } else { 1.0 }
    }
}

/// Returns a moment as all that people see of a picture says it.
pub(super) fn seconds(at: Moment) -> String {
    format!("{:.3}", at.as_nanos() as f64 / 1e9)
}

/// The height of the first row.
const TOP: f64 = 104.0;
/// How far the lanes go on below the last row.
const TAIL: f64 = 16.0;
/// Room for times and labels left of the first lane.
const GUTTER: f64 = 236.0;
/// Room for labels right of the last lane.
const MARGIN: f64 = 208.0;
/// How wide a picture is at least: as it is with two machines.
const LEAST: f64 = GUTTER + 2.0 * REACH + MARGIN;
/// How far the nearest lane is from the store's.
const REACH: f64 = 270.0;
/// How far lanes on the same side are apart, if there is room.
const SPACING: f64 = 130.0;
/// How much room there is for the lanes of one side and the other.
const ROOM: f64 = 1040.0;
/// How many moments a picture holds, unless it is asked to hold more.
const MOST: usize = 400;
