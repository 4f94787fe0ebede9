//! Puts a picture together.

use super::canvas::{Anchor, Canvas, Layer};
use super::film::Film;
use super::layout::{Columns, Rows};
use super::{Span, fold, lanes, legend, messages};
use crate::report::Failure;

impl Film {
    /// Draws what was seen, as SVG, under a title; `failure` is what the world ended with, if it did.
    pub fn draw(&self, title: &str, span: Span, failure: Option<&Failure>) -> String {
        let scene = fold::folded(&self.0.borrow());
        let (rows, columns) = (Rows::new(&scene, span), Columns::new(&scene));
        let mut canvas = Canvas::default();
        let heading = shorten(title, (columns.width() - 40.0) / TITLE_LETTER);
        canvas.text("title", (24.0, 34.0), Anchor::Start, &heading);
        if let Some(cut) = rows.cut() {
            canvas.text("muted", (24.0, 52.0), Anchor::Start, &cut);
        }
        lanes::lanes(&mut canvas, &scene, &rows, &columns);
        lanes::outages(&mut canvas, &scene, &rows, &columns);
        for life in &scene.sessions {
            lanes::bars(&mut canvas, life, &scene, &rows, &columns);
        }
        let failure = failure.filter(|failure| rows.is_within(failure.at));
        if let Some(failure) = failure {
            // Behind everything else, and no label on it.
            let y = rows.y(failure.at);
            canvas.line(Layer::Back, "violated", (58.0, y), (columns.width() - 16.0, y));
            canvas.keep_row_clear(y);
        }
        // What is written first keeps its place: what the store holds, then what happens, then what is said.
        lanes::versions(&mut canvas, &scene, &rows, &columns);
        lanes::marks(&mut canvas, &scene, &rows, &columns);
        for life in &scene.sessions {
            lanes::labels(&mut canvas, life, &scene, &rows, &columns);
        }
        let (quiet, loud): (Vec<_>, Vec<_>) = scene.messages.iter().partition(|message| message.is_quiet);
        for message in &scene.messages {
            messages::keep_clear(&mut canvas, message, &scene, &rows, &columns);
        }
        for message in loud.into_iter().chain(quiet) {
            messages::message(&mut canvas, message, &scene, &rows, &columns);
        }
        let mut bottom = rows.bottom();
        if let Some(failure) = failure {
            bottom += 18.0;
            let text = failure.violation.to_string();
            canvas.text(
                "end-text",
                (60.0, bottom),
                Anchor::Start,
                &shorten(&text, (columns.width() - 90.0) / LETTER),
            );
        }
        let bottom = legend::legend(&mut canvas, bottom + 34.0, columns.width());
        canvas.finish(columns.width(), bottom, title)
    }
}

/// Cuts a text off behind so many letters.
fn shorten(text: &str, most: f64) -> String {
    let most = most as usize;
    if text.chars().count() <= most {
        text.to_owned()
    } else {
        text.chars().take(most.saturating_sub(3)).chain("...".chars()).collect()
    }
}

/// How wide a letter of a title is, and one of a label.
const TITLE_LETTER: f64 = 8.6;
const LETTER: f64 = 6.1;
