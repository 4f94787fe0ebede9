//! Shapes in layers, and texts that keep clear of each other.

use std::collections::BTreeSet;

use svg::node::element::{
    Circle, Definitions, Group, Line, Marker, Path, Pattern, Rectangle, Style, Text, Title,
};
use svg::{Document, Node as _};

/// A picture that is being drawn.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    /// From the back to the front.
    layers: [Group; 4],
    texts: Vec<Area>,
    bars: Vec<Area>,
    /// The first class of everything drawn.
    classes: BTreeSet<String>,
}

/// Where something is drawn: behind everything, as a bar, as an arrow, in front.
#[derive(Clone, Copy, Debug)]
pub(super) enum Layer {
    Back,
    Bars,
    Arrows,
    Front,
}

/// To which side of its place a text goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A rectangle that a text takes.
#[derive(Clone, Copy, Debug)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Canvas {
    fn add(&mut self, layer: Layer, class: &str, node: impl svg::Node) {
        if let Some(first) = class.split(' ').next() {
            self.classes.insert(first.to_owned());
        }
        self.layers[layer as usize].append(node);
    }

    /// Tells whether anything of this class was drawn.
    pub(super) fn has(&self, class: &str) -> bool {
        self.classes.contains(class)
    }

    pub(super) fn line(&mut self, layer: Layer, class: &str, from: (f64, f64), to: (f64, f64)) {
        let line = Line::new().set("class", class);
        self.add(
            layer,
            class,
            line.set("x1", px(from.0)).set("y1", px(from.1)).set("x2", px(to.0)).set("y2", px(to.1)),
        );
    }

    /// Draws an arrow; its head is that of its class.
    pub(super) fn arrow(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let line =
            Line::new().set("class", format!("arrow {class}")).set("marker-end", format!("url(#{class})"));
        let line = line.set("x1", px(from.0)).set("y1", px(from.1)).set("x2", px(to.0)).set("y2", px(to.1));
        self.add(Layer::Arrows, class, line);
    }

    pub(super) fn cross(&mut self, class: &str, at: (f64, f64), half: f64) {
        let (x, y) = (px(at.0), px(at.1));
        let data =
            format!("M{x} {y}m-{half} -{half}l{full} {full}m0 -{full}l-{full} {full}", full = 2.0 * half);
        self.add(Layer::Front, class, Path::new().set("class", class).set("d", data));
    }

    pub(super) fn dot(&mut self, class: &str, at: (f64, f64), radius: f64) {
        let circle =
            Circle::new().set("class", class).set("cx", px(at.0)).set("cy", px(at.1)).set("r", radius);
        self.add(Layer::Front, class, circle);
    }

    /// Draws a rectangle: its upper left corner, its width and its height.
    pub(super) fn bar(&mut self, layer: Layer, class: &str, at: (f64, f64), size: (f64, f64)) {
        let rectangle =
            Rectangle::new().set("class", class).set("x", px(at.0)).set("y", px(at.1)).set("rx", 3);
        self.add(layer, class, rectangle.set("width", px(size.0)).set("height", px(size.1.max(2.0))));
        self.bars.push(Area { left: at.0, top: at.1, right: at.0 + size.0, bottom: at.1 + size.1 });
    }

    /// Writes a text, whatever it covers.
    pub(super) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        self.texts.push(Area::of(at, anchor, text));
        let word = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let node = Text::new(text)
            .set("class", class)
            .set("x", px(at.0))
            .set("y", px(at.1))
            .set("text-anchor", word);
        self.add(Layer::Front, class, node);
    }

    /// Writes a text at the first of these places where it covers no other, and no bar if that can be; tells whether
    /// there is one.
    pub(super) fn place(
        &mut self,
        class: &str,
        places: impl IntoIterator<Item = (f64, f64)>,
        anchor: Anchor,
        text: &str,
    ) -> bool {
        let is_free =
            |at: &(f64, f64), of: &[Area]| !of.iter().any(|other| other.meets(&Area::of(*at, anchor, text)));
        let free: Vec<_> = places.into_iter().filter(|at| is_free(at, &self.texts)).collect();
        let place = free.iter().find(|at| is_free(at, &self.bars)).or(free.first()).copied();
        if let Some(at) = place {
            self.text(class, at, anchor, text);
        }
        place.is_some()
    }

    /// Lets no label be placed on this line, but for its ends.
    pub(super) fn keep_clear(&mut self, from: (f64, f64), to: (f64, f64)) {
        for part in (2..15).map(|part| f64::from(part) / 16.0) {
            let (x, y) = (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
            self.texts.push(Area { left: x - 4.0, top: y - 4.0, right: x + 4.0, bottom: y + 4.0 });
        }
    }

    /// Lets no label be placed anywhere on this height.
    pub(super) fn keep_row_clear(&mut self, y: f64) {
        self.texts.push(Area { left: 0.0, top: y - 1.0, right: f64::MAX, bottom: y + 1.0 });
    }

    pub(super) fn finish(self, width: f64, height: f64, title: &str) -> String {
        let heads = ["message", "quiet", "answer", "late"].map(|class| {
            let marker =
                Marker::new().set("id", class).set("viewBox", "0 0 8 8").set("refX", 7).set("refY", 4);
            let marker =
                marker.set("markerWidth", 7).set("markerHeight", 7).set("orient", "auto-start-reverse");
            let marker = marker.set("markerUnits", "userSpaceOnUse");
            marker.add(Path::new().set("class", format!("head-{class}")).set("d", "M0 .8 7.5 4 0 7.2Z"))
        });
        let lines = |id: &str, across: &[(i32, i32, i32, i32)]| {
            let pattern = Pattern::new().set("id", id).set("width", 6).set("height", 6);
            let pattern = pattern.set("patternUnits", "userSpaceOnUse").set("patternTransform", "rotate(45)");
            across.iter().fold(pattern, |pattern, (x1, y1, x2, y2)| {
                let line = Line::new().set("class", "hatch").set("x1", *x1).set("y1", *y1);
                pattern.add(line.set("x2", *x2).set("y2", *y2))
            })
        };
        let patterns = Definitions::new()
            .add(lines("hatch", &[(0, 0, 0, 6)]))
            .add(lines("mesh", &[(0, 0, 0, 6), (0, 0, 6, 0)]));
        let definitions = heads.into_iter().fold(patterns, Definitions::add);
        let document = Document::new()
            .set("viewBox", (0, 0, width.ceil() as i32, height.ceil() as i32))
            .set("width", width.ceil() as i32)
            .set("height", height.ceil() as i32)
            .set("role", "img")
            .add(Title::new(title))
            .add(Style::new(include_str!("style.css")))
            .add(definitions)
            .add(
                Rectangle::new()
                    .set("class", "paper")
                    .set("width", "100%")
                    .set("height", "100%")
                    .set("rx", 8),
            );
        let document = self.layers.into_iter().fold(document, Document::add);
        let mut text = document.to_string();
        text.push('\n');
        text
    }
}

impl Area {
    fn of(at: (f64, f64), anchor: Anchor, text: &str) -> Self {
        let width = text_width(text);
        let left = match anchor {
            Anchor::Start => at.0,
            Anchor::Middle => at.0 - width / 2.0,
            Anchor::End => at.0 - width,
        };
        Self { left, top: at.1 - 9.0, right: left + width, bottom: at.1 + 3.0 }
    }

    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// Returns about how wide a text is: there is no font to ask, so rather a little more than less.
pub(super) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.1 + 2.0
}

/// Rounds to tenths, so that the last bits of a sum do not show.
fn px(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
