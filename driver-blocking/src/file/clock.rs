//! The file system's own clock: the only one that stamps anything here.
//!
//! `Last-Modified` is the modification time of the version's file, and `Date` is read by touching one file
//! and looking at the time it got, so both come from one clock, whatever the clocks of the processes say.
//! A date is always taken after the version it is given with was read, so it is never the earlier one.
//!
//! How fine is that clock? Linux since 6.13 gives a file that was looked at since its last change the exact
//! time at the next one; so a version's file is looked at and touched once more before it gets its name.
//! Older kernels hand out the time of the last timer tick, 1 to 10 ms ago, and a version may then look older
//! than it is by up to one tick. Whoever judges leases with no margin must never overestimate an age, so
//! there each date is given one tick early, except that it is never earlier than the stamp it is given with.
//! Which of the two it is, or a file system that keeps whole seconds only, is found out when a store is opened.

use core::time::Duration;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, Stat, Timespec, Timestamps, UTIME_NOW, fstat, futimens, openat};
use rustix::io::Errno;
use tenure_core::{StoreClock, StoreTime};

use crate::wait::pause;

/// The file that is touched. All processes may touch the same one: that only makes its time later.
const FILE: &str = "clock";
/// The longest tick of a common kernel, and as coarse as a file system may be that is called fine here.
const TICK: Duration = Duration::from_millis(10);
/// The granule of file systems that keep no fractions of seconds: FAT has two seconds.
const WHOLE_SECONDS: Duration = Duration::from_secs(2);

/// A way to ask the file system for the time.
#[derive(Debug)]
pub(super) struct Clock {
    file: OwnedFd,
    grain: Grain,
}

/// How the file system's clock moves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Grain {
    /// With time itself.
    Exact,
    /// Once in at most [`TICK`].
    Ticks,
    /// Once in a second or two.
    WholeSeconds,
}

impl Clock {
    /// Opens the clock of the file system on which the directory `hidden` is.
    pub(super) fn open(hidden: &OwnedFd) -> Result<Self, Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = openat(hidden, FILE, flags, Mode::from_raw_mode(0o666))?;
        let grain = measure(&file)?;
        Ok(Self { file, grain })
    }

    /// Returns a time that has certainly passed, and not long ago.
    pub(super) fn date(&self) -> Result<StoreTime, Errno> {
        let now = touch(&self.file)?;
        Ok(match self.grain {
            // Whole seconds are cut like those of HTTP, and judged like those: by their unit.
            Grain::Exact | Grain::WholeSeconds => now,
            Grain::Ticks => now.before(TICK),
        })
    }

    /// Returns the date for an answer that was read before this call and shows a version of `modified`. A version that is
    /// later by more than a tick was written before somebody set the clock back, and whoever judges it must see that.
    pub(super) fn date_after(&self, modified: StoreTime) -> Result<StoreTime, Errno> {
        let date = self.date()?;
        Ok(if modified <= date.after(TICK) { date.max(modified) } else { date })
    }

    /// Returns the date for a listing that was read before this call and whose newest version is `newest`.
    /// It waits until that version's tick is over: to answer with that version's stamp, as a read does,
    /// would overestimate the age of the others.
    pub(super) fn date_after_all(&self, newest: StoreTime) -> Result<StoreTime, Errno> {
        let date = self.date()?;
        if date >= newest || self.grain != Grain::Ticks {
            return Ok(date);
        }
        // One tick for the stamp to be past, one for the clock to show it.
        pause(2 * TICK);
        // Still earlier? Somebody set the clock back, or the stamp forward; then the stamp is simply later.
        self.date()
    }

    /// Returns what a judge of leases may rest on.
    pub(super) fn quality(&self) -> StoreClock {
        match self.grain {
            Grain::Exact | Grain::Ticks => StoreClock::FINE,
            Grain::WholeSeconds => StoreClock { unit: WHOLE_SECONDS, margin: Duration::ZERO },
        }
    }
}

/// Sets the file's times to now and returns that time, exact where the kernel can: it must not matter
/// whether anybody looked at the file before.
pub(super) fn touch(file: impl AsFd) -> Result<StoreTime, Errno> {
    // To look at the file is what makes the kernel give it an exact time next.
    fstat(&file)?;
    // Both times: then write access is enough, and the file may belong to another user.
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    futimens(&file, &Timestamps { last_access: now, last_modification: now })?;
    Ok(modified(&fstat(&file)?))
}

/// Returns when the file was last modified, by the file system's clock.
pub(super) fn modified(stat: &Stat) -> StoreTime {
    let secs = u64::try_from(stat.st_mtime).unwrap_or(0);
    // A type of its own on each platform, never negative and always less than a second.
    #[allow(clippy::useless_conversion, reason = "the field's type differs between platforms")]
    let nanos = u64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    StoreTime::from_nanos(secs.saturating_mul(1_000_000_000).saturating_add(nanos))
}

/// Finds out how the clock moves: an exact one moves between any two touches, and no ticking one moves eight
/// times in a row between two system calls.
fn measure(file: &OwnedFd) -> Result<Grain, Errno> {
    let mut last = touch(file)?;
    let mut moved = 0;
    for _ in 0..8 {
        let next = touch(file)?;
        moved += u32::from(next > last);
        last = next;
    }
    if moved == 8 {
        return Ok(Grain::Exact);
    }
    if has_fraction(last) {
        return Ok(Grain::Ticks);
    }
    // Once in a great while a fine stamp has no fraction; two in a row never.
    pause(2 * TICK);
    Ok(if has_fraction(touch(file)?) { Grain::Ticks } else { Grain::WholeSeconds })
}

fn has_fraction(time: StoreTime) -> bool {
    !time.as_nanos().is_multiple_of(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::{Clock, Grain, TICK};
    use core::time::Duration;

    fn clock(grain: Grain) -> Clock {
        let name = format!("tenure-clock-{}-{grain:?}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).expect("a fresh directory");
        let dir = std::fs::File::open(&path).expect("ours").into();
        let clock = Clock { grain, ..Clock::open(&dir).expect("a clock") };
        std::fs::remove_dir_all(&path).expect("ours");
        clock
    }

    #[test]
    fn a_ticking_clock_is_read_one_tick_early_but_never_earlier_than_its_version() {
        let clock = clock(Grain::Ticks);
        let now = super::touch(&clock.file).expect("a time");
        let date = clock.date().expect("a time");
        assert!(date.after(TICK) >= now);
        assert!(clock.date_after(now).expect("a time") >= now);
        let newest = super::touch(&clock.file).expect("a time");
        assert!(clock.date_after_all(newest).expect("a time") >= newest);
    }

    #[test]
    fn a_version_from_before_the_clock_was_set_back_is_later_than_its_date() {
        for grain in [Grain::Exact, Grain::Ticks] {
            let clock = clock(grain);
            let before = clock.date().expect("a time").after(Duration::from_secs(3600));
            assert!(clock.date_after(before).expect("a time") < before, "{grain:?}");
        }
    }

    #[test]
    fn an_exact_clock_is_read_as_it_is() {
        let clock = clock(Grain::Exact);
        let now = super::touch(&clock.file).expect("a time");
        assert!(clock.date().expect("a time") >= now);
        assert!(clock.date_after_all(now).expect("a time") >= now);
    }

    #[test]
    fn a_clock_of_whole_seconds_is_no_fine_clock() {
        assert!(!clock(Grain::WholeSeconds).quality().unit.is_zero());
    }
}
