//! Puts a picture together.

use super::canvas::{Anchor, Canvas, Layer};
use super::film::Film;
use super::layout::{Columns, Rows};
use super::{Span, fold, lanes, messages};
use crate::report::Failure;

impl Film {
    /// Draws what was seen, as SVG, under a title; `failure` is what the world ended with, if it did.
    pub fn draw(&self, title: &str, span: Span, failure: Option<&Failure>) -> String {
        let scene = fold::folded(&self.0.borrow());
        let (rows, columns) = (Rows::new(&scene, span), Columns::new(scene.machines));
        let mut canvas = Canvas::default();
        canvas.text("title", (24.0, 34.0), Anchor::Start, title);
        if let Some(cut) = rows.cut() {
            canvas.text("muted", (24.0, 52.0), Anchor::Start, &cut);
        }
        lanes::lanes(&mut canvas, &scene, &rows, &columns);
        lanes::outages(&mut canvas, &scene, &rows, &columns);
        // What is written first keeps its place: what the store holds, then what happens, then what is said.
        lanes::versions(&mut canvas, &scene, &rows, &columns);
        lanes::marks(&mut canvas, &scene, &rows, &columns);
        for life in &scene.sessions {
            lanes::life(&mut canvas, life, &scene, &rows, &columns);
        }
        let (quiet, loud): (Vec<_>, Vec<_>) = scene.messages.iter().partition(|message| message.is_quiet);
        for message in &scene.messages {
            messages::keep_clear(&mut canvas, message, &scene, &rows, &columns);
        }
        for message in loud.into_iter().chain(quiet) {
            messages::message(&mut canvas, message, &scene, &rows, &columns);
        }
        let mut bottom = rows.bottom();
        if let Some(failure) = failure.filter(|failure| rows.is_within(failure.at)) {
            let y = rows.y(failure.at);
            canvas.line(Layer::Front, "violated", (58.0, y), (columns.width() - 16.0, y));
            bottom += 18.0;
            let text = failure.violation.to_string();
            canvas.text("end-text", (60.0, bottom), Anchor::Start, &shorten(&text, columns.width()));
        }
        legend(&mut canvas, bottom + 34.0);
        canvas.finish(columns.width(), bottom + 78.0, title)
    }
}

/// Explains the signs.
fn legend(canvas: &mut Canvas, y: f64) {
    let mut x = 60.0;
    let mut entry = |canvas: &mut Canvas, sign: fn(&mut Canvas, f64, f64), text: &str| {
        sign(canvas, x, y);
        canvas.text("muted", (x + 30.0, y + 4.0), Anchor::Start, text);
        x += 48.0 + super::canvas::text_width(text);
    };
    entry(
        canvas,
        |canvas, x, y| canvas.bar(Layer::Back, "authority", (x, y - 8.0), (22.0, 16.0)),
        "lease held: authority",
    );
    entry(
        canvas,
        |canvas, x, y| canvas.bar(Layer::Bars, "cell0", (x + 6.0, y - 8.0), (10.0, 16.0)),
        "cell held",
    );
    entry(
        canvas,
        |canvas, x, y| canvas.bar(Layer::Back, "promised", (x, y - 8.0), (22.0, 16.0)),
        "authority, had it lived",
    );
    entry(
        canvas,
        |canvas, x, y| canvas.bar(Layer::Bars, "paused", (x, y - 8.0), (22.0, 16.0)),
        "stands still",
    );
    entry(canvas, |canvas, x, y| canvas.arrow("message", (x, y), (x + 24.0, y)), "request");
    entry(canvas, |canvas, x, y| canvas.arrow("answer", (x, y), (x + 24.0, y)), "answer");
    entry(canvas, |canvas, x, y| canvas.arrow("late", (x, y), (x + 24.0, y)), "late");
    entry(canvas, |canvas, x, y| canvas.cross("lost", (x + 12.0, y), 4.5), "lost");
    let note = "n2.1: session 1, on machine n2; a cross on it: it dies. Seconds on the left, not to scale. v2: second version of an object; e2: epoch 2. Probes of the store are left out.";
    canvas.text("muted", (60.0, y + 24.0), Anchor::Start, note);
}

fn shorten(text: &str, width: f64) -> String {
    let most = ((width - 90.0) / 6.1) as usize;
    if text.chars().count() <= most {
        text.to_owned()
    } else {
        text.chars().take(most - 3).chain("...".chars()).collect()
    }
}
