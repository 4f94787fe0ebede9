//! What the demonstration says, as it happens.

use std::env;
use std::io::{IsTerminal, stdout};

use serde_json::{Value, json};
use tenure_blocking::clock;
use tenure_core::Instant;

use super::Stop;
use crate::output::{Output, Printed, printable};

/// Prints one line for each thing that happens, with the time since the beginning.
#[derive(Debug)]
pub(super) struct Timeline {
    output: Output,
    start: Instant,
    has_colour: bool,
}

/// How a line should look where it can.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tone {
    Bad,
    Good,
    Plain,
}

impl Timeline {
    pub(super) fn new(output: Output) -> Self {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
        let has_colour = stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb && !output.is_json();
        Self { output, start: clock::mono(), has_colour }
    }

    /// Says that something has just happened.
    pub(super) fn say(&self, tone: Tone, text: &str, facts: Value) -> Result<(), Stop> {
        self.say_at(clock::mono(), tone, text, facts)
    }

    /// Says that something happened at a certain time.
    pub(super) fn say_at(&self, at: Instant, tone: Tone, text: &str, mut facts: Value) -> Result<(), Stop> {
        let since = at.since(self.start);
        if self.output.is_json() {
            facts["ms"] = json!(u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
            return self.print(&format!("{facts}\n"));
        }
        let text = printable(text);
        self.print(&format!("{:8.3} s  {}\n", since.as_secs_f64(), self.paint(tone, &text)))
    }

    /// Says something for people only.
    pub(super) fn remark(&self, text: &str) -> Result<(), Stop> {
        if self.output.is_json() { Ok(()) } else { self.print(text) }
    }

    /// Says something for people only, on a line of its own.
    pub(super) fn remark_in(&self, tone: Tone, text: &str) -> Result<(), Stop> {
        self.remark(&format!("{}\n", self.paint(tone, &printable(text))))
    }

    /// Says something without a time, for people and for programs.
    pub(super) fn conclude(&self, tone: Tone, text: &str, facts: &Value) -> Result<(), Stop> {
        if self.output.is_json() {
            return self.print(&format!("{facts}\n"));
        }
        self.print(&format!("\n{}\n", self.paint(tone, &printable(text))))
    }

    fn paint(&self, tone: Tone, text: &str) -> String {
        match (self.has_colour, tone) {
            (false, _) | (true, Tone::Plain) => text.to_owned(),
            (true, Tone::Bad) => format!("\u{1b}[31m{text}\u{1b}[0m"),
            (true, Tone::Good) => format!("\u{1b}[32m{text}\u{1b}[0m"),
        }
    }

    fn print(&self, text: &str) -> Result<(), Stop> {
        match self.output.text(text).map_err(Stop::Failed)? {
            Printed::Written => Ok(()),
            Printed::Unread => Err(Stop::Unread),
        }
    }
}
