//! Explains the signs that a picture has.

use super::canvas::{Anchor, Canvas, Layer, text_width};

/// One sign: the class of what is drawn with it, how it looks, and what it means.
type Sign = (&'static str, fn(&mut Canvas, f64, f64), &'static str);

const SIGNS: &[Sign] = &[
    ("authority", |canvas, x, y| block(canvas, Layer::Back, "authority", x, y), "lease held: authority"),
    ("promised", |canvas, x, y| block(canvas, Layer::Back, "promised", x, y), "authority, had it lived"),
    (
        "cell",
        |canvas, x, y| canvas.bar(Layer::Bars, "cell cell0", (x + 7.0, y - 8.0), (8.0, 16.0)),
        "cell held",
    ),
    ("paused", |canvas, x, y| block(canvas, Layer::Bars, "paused", x, y), "process stands still"),
    ("suspended", |canvas, x, y| block(canvas, Layer::Bars, "suspended", x, y), "machine suspended"),
    ("outage", |canvas, x, y| block(canvas, Layer::Back, "outage", x, y), "store down"),
    ("message", |canvas, x, y| canvas.arrow("message", (x, y), (x + 24.0, y)), "request"),
    ("answer", |canvas, x, y| canvas.arrow("answer", (x, y), (x + 24.0, y)), "answer"),
    ("quiet", |canvas, x, y| canvas.arrow("quiet", (x, y), (x + 24.0, y)), "renewal, verify"),
    ("late", |canvas, x, y| canvas.arrow("late", (x, y), (x + 24.0, y)), "arrives after it was given up"),
    ("lost", |canvas, x, y| canvas.cross("lost", (x + 12.0, y), 4.5), "lost on the way"),
    ("died", |canvas, x, y| canvas.cross("died", (x + 12.0, y), 7.0), "process dies"),
    ("end", |canvas, x, y| canvas.dot("end", (x + 12.0, y), 5.5), "session ends"),
    ("meddled", |canvas, x, y| canvas.cross("meddled", (x + 12.0, y), 5.0), "somebody or a clock interferes"),
    (
        "violated",
        |canvas, x, y| canvas.line(Layer::Arrows, "violated", (x, y), (x + 24.0, y)),
        "a check is violated",
    ),
];

const NOTES: &str = "n2.1: session 1, on machine n2; v2: second version of an object; e2: epoch 2. \
    Seconds on the left, not to scale. Probes are left out.";

/// Writes the legend from a height on, with no other signs than were drawn, and returns where it ends.
pub(super) fn legend(canvas: &mut Canvas, top: f64, width: f64) -> f64 {
    let used: Vec<&Sign> = SIGNS.iter().filter(|(class, ..)| canvas.has(class)).collect();
    let (mut x, mut y) = (LEFT, top);
    for (_, sign, text) in used {
        let wide = 46.0 + text_width(text);
        if x + wide > width {
            (x, y) = (LEFT, y + LINE);
        }
        sign(canvas, x, y);
        canvas.text("muted", (x + 30.0, y + 4.0), Anchor::Start, text);
        x += wide;
    }
    let mut line = String::new();
    for word in NOTES.split(' ') {
        if text_width(&line) + text_width(word) > width - LEFT {
            y += LINE;
            canvas.text("muted", (LEFT, y + 4.0), Anchor::Start, line.trim_end());
            line.clear();
        }
        line.push_str(word);
        line.push(' ');
    }
    y += LINE;
    canvas.text("muted", (LEFT, y + 4.0), Anchor::Start, line.trim_end());
    y + LINE
}

fn block(canvas: &mut Canvas, layer: Layer, class: &str, x: f64, y: f64) {
    canvas.bar(layer, class, (x, y - 8.0), (22.0, 16.0));
}

/// Where it begins.
const LEFT: f64 = 60.0;
/// The height of one line.
const LINE: f64 = 22.0;
