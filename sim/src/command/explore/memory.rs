//! How many situations fit into the memory of this machine.

use std::fs;

/// Returns how many situations half of the free memory holds, or a few million if the system does not say what is free.
pub(super) fn states() -> u64 {
    let free = [available(), limit()].into_iter().flatten().min();
    free.map_or(UNKNOWN, |bytes| (bytes / 2 / BYTES_EACH).max(LEAST))
}

/// What Linux says could be had without swapping.
fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// What is left of the limit of the container, if there is one.
fn limit() -> Option<u64> {
    let read =
        |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?.trim().parse().ok();
    let (max, current): (u64, u64) = (read("max")?, read("current")?);
    Some(max.saturating_sub(current))
}

/// How much memory a situation takes, everything that they share included: measured on worlds of half a million to ten
/// million situations.
pub(super) const BYTES_EACH: u64 = 200;
/// What any machine holds: 200 MB.
const LEAST: u64 = 1_000_000;
/// What is taken to fit where nothing is known: 2 GB.
const UNKNOWN: u64 = 10_000_000;
