//! Measures how fast worlds run. Nothing in a world sees it.

/// The time since it was started.
#[derive(Debug)]
pub(super) struct Stopwatch(std::time::Instant);

#[expect(clippy::disallowed_methods, reason = "the rate of worlds is measured in real time, outside of them")]
impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    pub(crate) fn seconds(&self) -> f64 {
        std::time::Instant::now().duration_since(self.0).as_secs_f64()
    }
}
