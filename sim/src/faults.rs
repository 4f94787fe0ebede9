//! What goes wrong between a node and the store, in the store, and with the node itself: how often, how badly.

use core::time::Duration;

use crate::choices::Rate;

/// How often each thing goes wrong, and how badly.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Faults {
    /// A request never arrives.
    pub request_lost: Rate,
    /// A request is served, its answer never arrives.
    pub reply_lost: Rate,
    /// A write arrives after its sender has given up, by up to `lateness`.
    pub lands_late: Rate,
    /// How late a late write may land.
    pub lateness: Duration,
    /// A request arrives twice, the second time up to `lateness` later.
    pub duplicated: Rate,
    /// An answer that comes after its sender has given up reaches the engine all the same.
    pub answered_twice: Rate,
    /// A request or an answer takes up to `slowness`.
    pub slow: Rate,
    /// How slow a slow request is.
    pub slowness: Duration,
    /// A read or listing is evaluated, and its `Date` stamped up to `slowness` later.
    pub dated_late: Rate,
    /// A write meets a concurrent operation (409).
    pub conflict: Rate,
    /// The store rejects a write although its guard holds (412 on a tag that matches), and does not apply it.
    pub rejected_wrongly: Rate,
    /// The store asks to slow down, with or without saying for how long: a second at most.
    pub throttled: Rate,
    /// The store asks to slow down for up to `throttle`.
    pub throttled_long: Rate,
    /// The longest time for which the store asks to slow down.
    pub throttle: Duration,
    /// The store fails before it applies a write, or instead of answering a read.
    pub failed_before: Rate,
    /// The store fails after it applied a write.
    pub failed_after: Rate,
    /// A request is served, but its answer (200) lacks the tag.
    pub untagged: Rate,
    /// The body of an answer is cut off on its way, which its reader notices.
    pub cut: Rate,
    /// The answer to a read is not what was asked for: its body is garbage or another key's record, under the right tag
    /// or another one, or it says that nothing has changed although no version was named. Its stamps may be wrong too.
    pub garbled: Rate,
    /// For how long a reader may get nothing else under the same key; half the largest ttl at most.
    pub garbled_for: Duration,
    /// A page of a listing lacks some of its entries.
    pub page_short: Rate,
    /// A page of a listing shows what was so up to `lateness` ago, under the `Date` of now.
    pub page_stale: Rate,
    /// A listing that has begun fails at a later page.
    pub page_failed: Rate,
    /// A write certainly does not leave the machine.
    pub not_applied: Rate,
    /// The store refuses a request: credentials, or a rule of a proxy.
    pub refused: Rate,
    /// What one application says to another is lost.
    pub message_lost: Rate,
    /// A node wakes later than it asked to, by up to `slowness`.
    pub wakes_late: Rate,
    /// A node wakes although nothing is due.
    pub wakes_early: Rate,
    /// A process is cloned as it runs: both have the same memory, the same clocks and the same id.
    pub clone: Rate,
    /// How often a machine is considered for one of the next faults; zero for never.
    pub every: Duration,
    /// A process stands still for less than a third of a ttl.
    pub short_pause: Rate,
    /// A process stands still for up to two and a half ttl.
    pub long_pause: Rate,
    /// A process stands still as soon as it has learned that its lease is renewed.
    pub stall: Rate,
    /// The same, if the renewal took long: what made it slow goes on.
    pub stall_when_slow: Rate,
    /// A process dies with its requests in flight.
    pub crash: Rate,
    /// A whole machine is suspended, for up to two and a half ttl: its clocks go on, its connections do not.
    pub suspend: Rate,
    /// The monotonic clock of a machine that is suspended stops, which breaks an assumption.
    pub clock_stops: Rate,
    /// The store is down for everybody, for up to two ttl.
    pub outage: Rate,
    /// A wall clock jumps by up to hours.
    pub jump: Rate,
    /// An operator frees a cell by the rules: its holder's lease is judged and fenced first.
    pub evicted: Rate,
    /// An operator frees a cell by force: its holder is not asked.
    pub evicted_by_force: Rate,
    /// An owner record turns into garbage.
    pub record_corrupted: Rate,
    /// An operator mends a record that is garbage; the node that it last named is stopped first.
    pub record_mended: Rate,
    /// A lease turns into garbage.
    pub lease_corrupted: Rate,
    /// Somebody removes a lease behind the protocol's back.
    pub lease_removed: Rate,
    /// Somebody removes an owner record behind the protocol's back.
    pub record_removed: Rate,
    /// Somebody puts an earlier version of an owner record back.
    pub record_restored: Rate,
}

impl Faults {
    /// Returns how long an engine may rest because the store asked for it: it adds a quarter, give or take a fifth.
    pub(crate) fn longest_wait(&self) -> Duration {
        self.throttle.max(Duration::from_secs(1)) * 3 / 2
    }
}
