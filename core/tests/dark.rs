//! A store that is dark for half a ttl costs no lease, at whatever moment the dark begins.

mod common;

use core::time::Duration;

use tenure_core::{
    Command, ETag, Event, Fault, FaultKind, Guard, Instant, Now, ReadReply, Stamps, WallTime, WriteReply,
};

use common::Scenario;

const TTL: Duration = Duration::from_secs(10);
/// How long a request takes, there and back.
const TRIP: Duration = Duration::from_millis(20);

#[test]
fn bl_03_a_store_dark_for_half_a_ttl_costs_no_lease_whenever_the_dark_begins() {
    // A dozen renewals long, each with a jitter of its own.
    for step in 0..4000 {
        let begins = Duration::from_millis(10 * step);
        let end = dark(begins, begins + TTL / 2);
        assert_eq!(end, None, "dark from {begins:?} on");
    }
}

#[test]
fn bl_03_a_store_dark_for_two_ttls_ends_authority_at_its_time_whenever_the_dark_begins() {
    for step in 0..40 {
        let begins = Duration::from_millis(100 * step);
        let end = dark(begins, begins + TTL * 2).expect("the store was dark for too long");
        // The last renewal that was answered was sent at the start, or at the latest when the dark began.
        assert!(
            end >= Duration::from_secs(9) && end <= begins + Duration::from_secs(9),
            "{begins:?}: {end:?}"
        );
    }
}

/// Runs a session whose store takes in nothing between two moments and answers nothing either; before and after it
/// answers at once. Returns when the session was fenced, if it was.
fn dark(from: Duration, to: Duration) -> Option<Duration> {
    let mut session = Scenario::joined().held("a").start();
    // Its authority began at zero; this tag is what the lease was created under.
    let (mut tag, mut body) = (ETag::new(b"lease").expect("not empty"), None);
    let mut in_flight: Vec<(Duration, Event)> = Vec::new();
    let mut now = Duration::ZERO;
    while now < to + TTL {
        let Command::Idle { until } = session.engine.poll() else { panic!("something was not polled") };
        let wakes = until.map(|due| due.at.since(Instant::default())).unwrap_or(Duration::MAX);
        in_flight.sort_by_key(|(at, _)| *at);
        let answered = in_flight.first().map_or(Duration::MAX, |(at, _)| *at);
        now = wakes.min(answered).max(now);
        let event = if answered <= wakes { in_flight.remove(0).1 } else { Event::Wake };
        let at = Now {
            mono: Instant::default().after(now),
            wall: WallTime::from_millis(1_700_000_000_000).after(now),
        };
        session.engine.handle(at, event);
        loop {
            let is_lost = (from..to).contains(&now);
            let lost = |what: &str| Fault::new(FaultKind::TimedOut, what);
            match session.engine.poll() {
                Command::Idle { .. } => break,
                Command::Write(op) if is_lost => {
                    in_flight.push((
                        now + op.timeout,
                        Event::WriteDone(op.id, WriteReply::Unknown(lost("write"))),
                    ));
                }
                Command::Read(op) if is_lost => {
                    in_flight
                        .push((now + op.timeout, Event::ReadDone(op.id, ReadReply::Failed(lost("read")))));
                }
                Command::Write(op) => {
                    let reply = if op.guard == Guard::Match(tag.clone()) {
                        tag = ETag::new(format!("e{}", op.id.get()).as_bytes()).expect("not empty");
                        body = Some(op.body);
                        WriteReply::Applied { etag: tag.clone() }
                    } else {
                        WriteReply::Rejected
                    };
                    in_flight.push((now + TRIP, Event::WriteDone(op.id, reply)));
                }
                Command::Read(op) => {
                    let body = body.as_deref().map_or_else(|| lease(session.me.as_str()), Box::from);
                    let reply = ReadReply::Found { etag: tag.clone(), body, stamps: Stamps::default() };
                    in_flight.push((now + TRIP, Event::ReadDone(op.id, reply)));
                }
                Command::Notify(tenure_core::Notice::Fenced(_)) => return Some(now),
                Command::Done(..) | Command::Notify(_) => {}
                Command::List(_) | Command::Remove(_) => panic!("nobody asked for that"),
            }
        }
    }
    None
}

fn lease(node: &str) -> Box<[u8]> {
    format!(r#"{{"node":"{node}","expires_ms":1}}"#).into_bytes().into()
}
