//! How often each thing goes wrong in a world of a family.
//!
//! Half of all rates are zero in each world: leaving most faults out meets combinations that a world with
//! everything a little wrong never shows.

use core::time::Duration;

use crate::choices::{Choices, Draw, Rate};
use crate::family::Family;
use crate::faults::Faults;

/// Draws the faults of a world whose leases live for `ttl`.
pub(crate) fn draw(family: Family, ttl: Duration, choices: &mut impl Choices) -> Faults {
    let mut rate = |percents: &[u32]| {
        if choices.number(2) == 0 { Rate::NEVER } else { Rate::percent(choices.one_of(percents)) }
    };
    let mut faults = Faults {
        request_lost: rate(&[2, 10, 30]),
        reply_lost: rate(&[2, 10, 30]),
        lands_late: rate(&[2, 10]),
        duplicated: rate(&[2, 10]),
        answered_twice: rate(&[50]),
        slow: rate(&[5, 20]),
        dated_late: rate(&[5, 20]),
        conflict: rate(&[2, 10]),
        rejected_wrongly: rate(&[2, 10]),
        throttled: rate(&[2, 10]),
        throttled_long: rate(&[1, 2]),
        untagged: rate(&[2, 10]),
        cut: rate(&[2, 10]),
        garbled: rate(&[2, 10]),
        page_short: rate(&[20]),
        page_stale: rate(&[20]),
        page_failed: rate(&[20]),
        failed_before: rate(&[2, 10]),
        failed_after: rate(&[2, 10]),
        not_applied: rate(&[2, 10]),
        refused: rate(&[1, 5]),
        wakes_late: rate(&[5, 20]),
        wakes_early: rate(&[5]),
        short_pause: rate(&[10, 20]),
        long_pause: rate(&[5, 15]),
        crash: rate(&[10, 25]),
        suspend: rate(&[5, 10]),
        outage: rate(&[5]),
        jump: rate(&[10]),
        ..Faults::default()
    };
    faults.lateness = ttl * choices.one_of(&[1, 3, 8]);
    faults.slowness = ttl / choices.one_of(&[10, 5, 2]);
    faults.garbled_for = ttl * 2;
    faults.every = ttl / 2;
    if faults.throttled_long != Rate::NEVER {
        faults.throttle = ttl * choices.one_of(&[2, 3]);
    }
    faults.message_lost = Rate::percent(25);
    match family {
        Family::Cloned => faults.clone = Rate::percent(choices.one_of(&[10, 25])),
        Family::Common | Family::Foreign | Family::Takers => {}
        Family::Dark => {
            if choices.number(2) == 0 {
                faults = Faults::default();
            }
            faults.every = ttl / 2;
            faults.outage = Rate::percent(choices.one_of(&[20, 40]));
        }
        Family::Drifting | Family::Edge | Family::Misstamped | Family::Silent => {
            if choices.number(8) > 0 {
                // Nothing else disturbs the aim.
                faults = Faults { every: ttl / 4, ..Faults::default() };
            }
            faults.long_pause = Rate::percent(choices.one_of(&[5, 25]));
            faults.stall = Rate::percent(choices.one_of(&[3, 10, 0, 10]));
            faults.stall_when_slow = Rate::percent(choices.one_of(&[0, 50, 50]));
            faults.slow = Rate::percent(choices.one_of(&[10, 25]));
            let dated_late: &[u32] = if family == Family::Silent { &[0, 0, 0, 20] } else { &[0, 20, 40, 40] };
            faults.dated_late = Rate::percent(choices.one_of(dated_late));
            faults.slowness = ttl / 7;
            faults.lands_late = Rate::percent(choices.one_of(&[0, 10]));
            faults.lateness = ttl / 6;
            if family == Family::Drifting {
                faults.suspend = Rate::percent(choices.one_of(&[25, 0]));
                faults.clock_stops = Rate::percent(100);
            }
        }
        Family::Forced => faults.evicted_by_force = Rate::percent(20),
        Family::Late => {
            faults.lands_late = Rate::percent(20);
            faults.reply_lost = Rate::percent(20);
            faults.duplicated = Rate::percent(10);
            faults.lateness = ttl * choices.one_of(&[3, 8, 1, 40]);
            // Between the attempts of one write, which tells nothing about the first.
            faults.refused = Rate::percent(choices.one_of(&[0, 20, 5]));
        }
        Family::LeasesRemoved => {
            faults.lease_removed = Rate::percent(choices.one_of(&[20, 0, 10]));
            faults.lease_corrupted = Rate::percent(choices.one_of(&[0, 20, 10]));
            // Nowhere else is a marker asked for.
            faults.garbled = Rate::percent(choices.one_of(&[0, 30, 10]));
        }
        Family::Operated => {
            faults.evicted = Rate::percent(20);
            faults.record_corrupted = Rate::percent(choices.one_of(&[0, 10]));
            faults.record_mended = Rate::percent(choices.one_of(&[20, 50]));
            faults.crash = Rate::percent(choices.one_of(&[10, 25]));
        }
        Family::RecordsRemoved => {
            faults.record_removed = Rate::percent(10);
            faults.record_restored = Rate::percent(20);
        }
        // A 412 out of the blue would hide that the store overwrites what it is told to create.
        Family::Unfit => faults.rejected_wrongly = Rate::NEVER,
    }
    faults
}
