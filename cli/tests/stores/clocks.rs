//! Nodes whose wall clocks are an hour off, on a server that refuses requests signed at the wrong time.
//!
//! `faketime` preloads a library that shifts the wall clock that the C library reads. With
//! `FAKETIME_DONT_FAKE_MONOTONIC=1` other clocks are left alone; the boot-time clock, which deadlines refer to,
//! is read past the C library anyway. The variables are taken from `faketime` and the agent is started without
//! it, since `faketime` stays in between as a process of its own, and a signal would end that one.

use core::time::Duration;
use std::process::Command;
use std::thread;

use tenure_blocking::clock;

use crate::bucket::{Server, say};
use crate::stage::{Stage, TAKEOVER, TTL};

const HOUR_MS: i64 = 3_600_000;

/// The shifts of the owner's and of the waiting node's clock, as `faketime` takes them.
const SHIFTS: [(&str, &str); 4] = [("+1h", "+0"), ("-1h", "+0"), ("+0", "+1h"), ("+0", "-1h")];

#[test]
fn with_a_wall_clock_an_hour_off_no_live_owner_is_displaced_and_a_dead_one_is_replaced_in_time() {
    // Most of the time is spent waiting, so all pairs wait together.
    thread::scope(|scope| {
        for (owner, other) in SHIFTS {
            scope.spawn(move || wait_and_take_over(owner, other));
        }
    });
}

fn wait_and_take_over(owner_shift: &str, other_shift: &str) {
    let stage = Stage::new(Server::SeaweedFs, "clocks");
    let mut owner = stage.agent("owner", &faked(owner_shift));
    let mut other = stage.agent("other", &faked(other_shift));
    for (name, node, shift) in [("owner", owner.node(), owner_shift), ("other", other.node(), other_shift)] {
        assert_shifted(&stage, node, shift);
        let refused = stage.count(&[&format!("{name} -> "), "RequestTimeTooSkewed"]);
        assert_eq!(
            refused > 0,
            shift != "+0",
            "{name}: the server refused {refused} requests for their time"
        );
        let warned = stage.count(&[&format!("{name} -> "), "clock is", "off the store's"]);
        assert_eq!(warned, usize::from(shift != "+0"), "{name}: one warning of a clock that is off");
    }
    assert_eq!(owner.claim("c").expect("free")["epoch"], 1);

    // The wait runs out after two ttls, and the owner still owns.
    let long = TTL * 5 / 2;
    let begin = clock::mono();
    let waiting = other.send_claim("c", long);
    let refused = other.answer(waiting).expect_err("the owner lives");
    assert!(clock::mono().since(begin) > TTL * 2, "too early to tell: {refused}");
    assert_eq!((refused["kind"].as_str(), refused["node"].as_str()), (Some("timeout"), Some(owner.node())));
    owner.about("verify", "c").expect("not displaced");
    stage.assert_owner("c", owner.node(), 1);

    let waiting = other.send_claim("c", TAKEOVER * 3);
    let killed = clock::mono();
    owner.kill();
    let grant = other.answer(waiting).expect("a dead owner is replaced");
    let took = clock::mono().since(killed);
    say(format_args!(
        "wall clocks: owner {owner_shift}, other {other_shift}: not displaced in {long:?}; killed, replaced after \
         {took:.1?} (<= {TAKEOVER:?})"
    ));
    assert!(took <= TAKEOVER, "replaced after {took:?}, more than {TAKEOVER:?}");
    assert_eq!(grant["epoch"], 2);
    other.about("verify", "c").expect("its own");
    stage.assert_owner("c", other.node(), 2);
}

/// Asserts that a node's wall clock, as it shows in the lease it publishes, is shifted as it should be.
fn assert_shifted(stage: &Stage, node: &str, shift: &str) {
    let lease = stage.place.lease(node);
    let expires = i64::try_from(lease.record.expires_ms).expect("this side of the year 292277026");
    let now = i64::try_from(clock::now().wall.as_millis()).expect("likewise");
    let hours = match shift {
        "+1h" => 1,
        "-1h" => -1,
        _ => 0,
    };
    let off = expires - now - hours * HOUR_MS;
    let minute = Duration::from_secs(60).as_millis();
    assert!(
        u128::from(off.unsigned_abs()) < minute,
        "{node}: the clock is not shifted by {shift}: {off} ms off"
    );
}

/// Returns the environment that `faketime` gives a command.
fn faked(shift: &str) -> Vec<(String, String)> {
    if shift == "+0" {
        return Vec::new();
    }
    let output = Command::new("faketime")
        .args(["-f", shift, "env"])
        .output()
        .unwrap_or_else(|error| panic!("faketime is needed (apt-get install faketime): {error}"));
    let text = String::from_utf8(output.stdout).expect("text");
    let variable = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        (name.to_owned(), line.unwrap_or_else(|| panic!("faketime sets no {name}:\n{text}")).to_owned())
    };
    let monotonic = ("FAKETIME_DONT_FAKE_MONOTONIC".to_owned(), "1".to_owned());
    vec![variable("LD_PRELOAD"), variable("FAKETIME"), monotonic]
}
