//! What the benches measure with: this thread's processor time, and an allocator that counts.
//!
//! Times are the least of many samples and made for ratios within one run; counts hold on any machine.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::alloc::{GlobalAlloc, Layout, System};

use rustix::time::{ClockId, clock_gettime};

/// The system's allocator, counting.
#[derive(Debug)]
pub struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed on unchanged to the system's allocator; counting touches no memory of its.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise that `at` came from here with this layout is passed on.
        unsafe { System.dealloc(at, layout) }
    }

    // `realloc` and `alloc_zeroed` are the trait's own, which come back to `alloc` and count as one.
}

/// Returns how many bytes are allocated at the moment.
pub fn live_bytes() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// What a piece of work cost.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Processor time of this thread, per unit of work.
    pub nanos: f64,
    /// Allocations, per unit of work.
    pub allocations: f64,
}

/// Runs a piece of work of so many units once.
pub fn measure(units: usize, work: impl FnOnce()) -> Cost {
    let allocations = ALLOCATIONS.load(Ordering::Relaxed);
    let start = processor_time();
    work();
    let took = processor_time().saturating_sub(start);
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - allocations;
    let units = units as f64;
    Cost { nanos: took.as_nanos() as f64 / units, allocations: allocations as f64 / units }
}

/// Keeps the sample that took the least time: whatever else the machine does only adds to it.
pub fn least(samples: impl IntoIterator<Item = Cost>) -> Cost {
    samples.into_iter().min_by(|a, b| a.nanos.total_cmp(&b.nanos)).expect("there is a sample")
}

/// Does a piece of work and returns its result and the processor time of all threads that it took, in seconds.
pub fn processor_seconds<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = time_of(ClockId::ProcessCPUTime);
    let result = work();
    (result, time_of(ClockId::ProcessCPUTime).saturating_sub(start).as_secs_f64())
}

fn processor_time() -> Duration {
    time_of(ClockId::ThreadCPUTime)
}

fn time_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
