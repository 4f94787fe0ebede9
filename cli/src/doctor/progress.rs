//! The bar on a terminal, and the verdicts above it as they come.

use core::time::Duration;
use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tenure_sim::conformance::{Report, Suite};

use crate::exit::Failure;
use crate::output::Printed;

use super::show::Show;

/// Shows how far the questions have come.
pub(super) struct Progress {
    bar: ProgressBar,
    shown: usize,
    trouble: Option<Failure>,
    is_unread: bool,
}

impl Progress {
    /// On a terminal, and only for people, there is a bar; elsewhere nothing but the verdicts.
    pub(super) fn new(is_for_people: bool) -> Self {
        let target = if is_for_people && io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let style = ProgressStyle::with_template("{spinner} [{bar:24}] {pos}/{len} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, shown: 0, trouble: None, is_unread: false }
    }

    /// Shows what is new.
    pub(super) fn watch(&mut self, suite: &Suite, show: &Show) {
        let progress = suite.progress();
        self.bar.set_length(u64::try_from(progress.questions).unwrap_or(u64::MAX));
        self.bar.set_position(u64::try_from(progress.answered).unwrap_or(u64::MAX));
        self.bar.set_message(format!("{} ({} requests)", progress.check, progress.requests));
        if progress.answered > self.shown {
            self.print(&suite.report(), show);
        }
    }

    /// Tells whether nobody reads any more.
    pub(super) fn is_unread(&self) -> bool {
        self.is_unread
    }

    /// Shows the rest, and takes the bar away.
    ///
    /// # Errors
    /// What kept a verdict from being printed.
    pub(super) fn finish(mut self, report: &Report, show: &Show) -> Result<(), Failure> {
        self.print(report, show);
        self.bar.finish_and_clear();
        self.trouble.map_or(Ok(()), Err)
    }

    fn print(&mut self, report: &Report, show: &Show) {
        let new = &report.checks[self.shown..];
        self.shown = report.checks.len();
        match self.bar.suspend(|| show.checks(new)) {
            Ok(Printed::Written) => {}
            Ok(Printed::Unread) => self.is_unread = true,
            Err(failure) => {
                self.is_unread = true;
                self.trouble = Some(failure);
            }
        }
    }
}
