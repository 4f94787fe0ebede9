//! How many requests a store in trouble is sent: what useful answers pay for, and a trickle beside it.

mod bench;

use std::collections::BTreeMap;

use core::num::NonZeroU32;
use core::time::Duration;
use tenure_core::{
    Call, CellId, ClaimError, Config, Event, FaultKind, Instant, Key, Outcome, Tenure, Ticket, VerifyError,
};

use bench::{Bench, HOUR, Manner, ROUND_TRIP, cell, dark, key, serves, throttles, unavailable, waiting_for};

#[test]
fn bl_04_a_store_that_is_of_no_use_is_asked_ten_times_a_second_however_many_cells_wait() {
    for manner in [unavailable as Manner, dark, throttles] {
        let mut bench = waiting_for(1000, manner);
        bench.run_until(15_000);
        let counts = bench.per_second(5_000, 15_000);
        // What was on its way when the trouble began still brings good answers, and there is some credit.
        assert!(counts[0] < 90 && counts[1..].iter().all(|count| *count == 10), "{counts:?}");
    }
}

#[test]
fn the_rate_is_configured() {
    for (rate, most) in [(NonZeroU32::new(3), 3), (NonZeroU32::new(100), 100), (None, 10_000)] {
        let mut bench =
            Bench::with(Config { trouble_rate: rate, ..Config::new("me").with_ttl(Duration::from_secs(60)) });
        bench.manner = unavailable;
        for n in 0..1000 {
            bench.claim(&format!("c{n}"), HOUR);
        }
        bench.run_until(5_200);
        let counts = bench.per_second(1_200, 5_200);
        assert!(
            counts.iter().all(|count| *count <= most && (rate.is_none() || *count == most)),
            "{counts:?}"
        );
        assert!(rate.is_some() || counts[0] > 500, "{counts:?}");
    }
}

#[test]
fn a_store_that_answers_is_asked_without_limit() {
    let mut bench = Bench::joined();
    for n in 0..10_000 {
        bench.claim(&format!("c{n}"), Duration::ZERO);
    }
    bench.run_until(1_000);
    assert_eq!(bench.done.len(), 1 + 10_000);
    let last = bench.done.last().expect("just counted").0;
    // A read and a write each, and a few round trips until as many are on their way as there are.
    assert!(last <= 200 + 8 * ROUND_TRIP, "{last}");
}

#[test]
fn a_store_that_comes_back_is_asked_for_everything_that_waits_within_a_few_round_trips() {
    let mut bench = waiting_for(1000, unavailable);
    bench.run_until(45_000);
    for n in 0..1000 {
        bench.put(Key::owner(&cell(&format!("c{n}"))), r#"{"node":"","epoch":3}"#);
    }
    bench.done.clear();
    bench.manner = serves;
    // The store is asked ten times a second at least, so it is known within a tenth of a second to be back.
    bench.run_until(47_000);
    let granted =
        bench.done.iter().filter(|(_, _, outcome)| matches!(outcome, Outcome::Claimed(Ok(_)))).count();
    assert_eq!(granted, 1000);
    let mut before = 32;
    for from in (45_000..47_000).step_by(ROUND_TRIP as usize) {
        let sent = bench.sent.iter().filter(|(at, _)| (from..from + ROUND_TRIP).contains(at)).count();
        assert!(sent <= 5 * before + 32, "{sent} after {before}");
        before = sent;
    }
}

#[test]
fn bl_04_throttled_keys_do_not_slow_the_others() {
    let mut bench = Bench::joined();
    for n in 0..60 {
        bench.claim(&format!("good{n}"), Duration::ZERO);
    }
    bench.run_until(1_000);
    // Two in three keys are throttled: what every store does that limits the writes to one key.
    bench.manner = |op, now| match key(op).filter(|key| key.as_str().contains("hot")) {
        Some(_) => throttles(op, now),
        None => serves(op, now),
    };
    for n in 0..120 {
        bench.claim(&format!("hot{n}"), HOUR);
    }
    bench.run_until(5_000);
    bench.done.clear();
    for at in (5_000..15_000).step_by(1_000) {
        bench.run_until(at);
        for n in 0..60 {
            let tenure = Tenure { cell: cell(&format!("good{n}")), epoch: tenure_core::Epoch::FIRST };
            bench.call(Call::Verify(tenure));
        }
        // In a few round trips, not in the seconds that it takes to ask for the throttled ones.
        bench.run_until(at + 10 * ROUND_TRIP);
        assert_eq!(bench.done.len(), 60, "at {at}");
        assert!(bench.done.drain(..).all(|(_, _, outcome)| outcome == Outcome::Verified(Ok(()))));
    }
}

#[test]
fn bl_49_the_lease_is_renewed_in_time_whatever_else_waits() {
    let mut bench =
        waiting_for(1000, |op, now| match key(op).filter(|key| key.as_str().contains("nodes/me")) {
            Some(_) => serves(op, now),
            None => unavailable(op, now),
        });
    bench.run_until(120_000);
    assert!(bench.engine.authority().is_some());
    let lease = Key::lease(bench.engine.node());
    let renewals: Vec<u64> =
        bench.sent.iter().filter(|(_, op)| key(op) == Some(&lease)).map(|(at, _)| *at).collect();
    assert!(renewals.is_sorted_by(|a, b| b - a < 60_000 * 11 / 30 + 100), "{renewals:?}");
}

#[test]
fn bl_03_four_attempts_fit_into_what_is_left_of_a_lease_that_is_due() {
    for manner in [unavailable, dark] {
        let mut bench = Bench::joined();
        let (lease, end) = (Key::lease(bench.engine.node()), bench.engine.authority().expect("joined"));
        bench.manner = manner;
        bench.run_until(end.as_millis());
        assert!(bench.engine.fenced().is_some(), "authority has ended");
        let attempts = bench.sent.iter().filter(|(at, op)| *at > 200 && key(op) == Some(&lease)).count();
        assert!(attempts >= 4, "{attempts}");
    }
}

#[test]
fn bl_03_a_store_that_is_dark_for_half_a_ttl_costs_no_lease_and_for_two_ttl_ends_it_when_authority_ends() {
    for (until, is_held) in [(5_000 + 30_000, true), (5_000 + 120_000, false)] {
        let mut bench = waiting_for(100, dark);
        let mut authority = bench.engine.authority();
        while bench.now < until {
            assert!(
                bench.engine.fenced().is_none() || authority.is_some_and(|at| at.as_millis() <= bench.now)
            );
            authority = bench.engine.authority().or(authority);
            bench.run_until(bench.now + 10);
        }
        bench.manner = serves;
        bench.run_until(until + 15_000);
        assert_eq!(bench.engine.authority().is_some(), is_held);
        if let Some((at, ..)) = bench.done.iter().find(|(_, _, outcome)| is_fenced(outcome)) {
            assert_eq!(Some(*at), authority.map(Instant::as_millis), "neither sooner nor later");
        }
    }
}

fn is_fenced(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Claimed(Err(ClaimError::Fenced(_))))
}

#[test]
fn every_cell_has_its_turn() {
    let mut bench = waiting_for(300, unavailable);
    bench.run_until(10_000);
    let mut asked = BTreeMap::new();
    let before = bench.sent.len();
    bench.run_until(10_000 + 40_000);
    for (_, op) in &bench.sent[before..] {
        *asked.entry(key(op).cloned()).or_insert(0) += 1;
    }
    asked.retain(|key, _| key.as_ref().is_some_and(|key| key.as_str().starts_with("cells/")));
    assert_eq!(asked.len(), 300);
    assert!(asked.values().all(|count| (1..=2).contains(count)), "{asked:?}");
}

#[test]
fn a_release_and_a_verification_do_not_queue_behind_those_who_only_look() {
    let mut bench = Bench::joined();
    for name in ["mine", "yours"] {
        bench.claim(name, Duration::ZERO);
    }
    for n in 0..1000 {
        bench.held_by_another(&format!("c{n}"));
        bench.claim(&format!("c{n}"), HOUR);
    }
    bench.run_until(5_000);
    bench.manner = unavailable;
    bench.run_until(10_000);
    let first = tenure_core::Epoch::FIRST;
    bench.call(Call::Release(Tenure { cell: cell("mine"), epoch: first }));
    bench.call(Call::Verify(Tenure { cell: cell("yours"), epoch: first }));
    let before = bench.sent.len();
    bench.run_until(10_500);
    let sent = &bench.sent[before..];
    for name in ["mine", "yours"] {
        assert!(sent.iter().any(|(_, op)| key(op) == Some(&Key::owner(&cell(name)))), "{name}: {sent:?}");
    }
    // What became of the release is asked for again and again, if more slowly.
    let before = bench.sent.len();
    bench.run_until(20_000);
    let asked = bench.sent[before..].iter().filter(|(_, op)| key(op) == Some(&Key::owner(&cell("mine"))));
    assert!(asked.count() >= 3);
}

#[test]
fn whoever_calls_is_answered_in_time_with_what_is_wrong_with_the_store() {
    let kinds = [(unavailable as Manner, FaultKind::Unavailable), (throttles, FaultKind::Throttled)];
    for (manner, kind) in kinds.into_iter().chain([(dark as Manner, FaultKind::TimedOut)]) {
        let mut bench = waiting_for(1000, manner);
        bench.manner = serves;
        let mine: Vec<CellId> = (0..200).map(|n| cell(&format!("mine{n}"))).collect();
        mine.iter().for_each(|cell| {
            bench.claim(cell.as_str(), Duration::ZERO);
        });
        bench.run_until(6_000);
        bench.manner = manner;
        bench.run_until(10_000);
        bench.done.clear();
        let first = tenure_core::Epoch::FIRST;
        for (n, cell_held) in mine.iter().enumerate().take(200) {
            let tenure = Tenure { cell: cell_held.clone(), epoch: first };
            bench.call(if n % 2 == 0 { Call::Release(tenure) } else { Call::Verify(tenure) });
            bench.claim(&format!("new{n}"), Duration::ZERO);
            bench.call(Call::Locate { cell: cell(&format!("c{n}")), max_age: Duration::ZERO });
            bench.call(Call::Watch(cell(&format!("watched{n}"))));
        }
        bench.call(Call::Peers);
        // The node's patience is a ttl, and a request may take what an attempt may.
        let last = 10_000 + 60_000 * 115 / 100;
        bench.engine_is_kept(last);
        assert_eq!(bench.done.len(), 801, "{kind:?}");
        for (at, _, outcome) in &bench.done {
            assert!(*at <= last && fault_of(outcome) == Some(kind), "{kind:?}: {outcome:?} at {at}");
        }
    }
}

fn fault_of(outcome: &Outcome) -> Option<FaultKind> {
    use tenure_core::{LocateError, PeersError, ReleaseError, WatchError};
    match outcome {
        Outcome::Claimed(Err(ClaimError::Store(fault)))
        | Outcome::Located(Err(LocateError::Store(fault)))
        | Outcome::Peers(Err(PeersError::Store(fault)))
        | Outcome::Released(Err(ReleaseError::Store(fault)))
        | Outcome::Verified(Err(VerifyError::Store(fault)))
        | Outcome::Watched(Err(WatchError::Store(fault))) => Some(fault.kind),
        Outcome::Claimed(_)
        | Outcome::Joined(_)
        | Outcome::Left
        | Outcome::Located(_)
        | Outcome::Peers(_)
        | Outcome::Published(_)
        | Outcome::Released(_)
        | Outcome::Transferred(_)
        | Outcome::Unwatched
        | Outcome::Verified(_)
        | Outcome::Watched(_) => None,
    }
}

#[test]
fn what_nobody_waits_for_any_more_is_not_sent() {
    let mut bench = Bench::joined();
    bench.manner = unavailable;
    let tickets: Vec<Ticket> = (0..1000).map(|n| bench.claim(&format!("c{n}"), HOUR)).collect();
    bench.run_until(1_000);
    for ticket in tickets {
        bench.handle(Event::Cancel(ticket));
    }
    let before = bench.sent.len();
    bench.run_until(15_000);
    assert_eq!(bench.sent.len(), before, "{:?}", &bench.sent[before..]);
}
