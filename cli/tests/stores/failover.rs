//! An owner is killed, or stopped for longer than its lease, and another node takes over.

use core::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tenure_blocking::clock;
use tenure_core::Holder;

use crate::bucket::{Server, say};
use crate::process::Process;
use crate::stage::{Driver, Stage, TAKEOVER};

/// Longer than any takeover may take, so that a late one is seen as late.
const WAIT: Duration = Duration::from_secs(30);

#[test]
fn a_killed_owner_is_replaced_in_time_and_the_cell_goes_on_from_node_to_node() {
    for server in Server::USED {
        for driver in Driver::ALL {
            let stage = Stage::new(server, "killed");
            let (mut a, mut b) = (stage.node(driver, "a"), stage.node(driver, "b"));
            let epoch = own(&stage, &mut a, &mut b);
            let waiting = b.send_claim("c", WAIT);
            let killed = clock::mono();
            a.kill();
            let grant = b.answer(waiting).expect("a dead owner is replaced");
            let took = clock::mono().since(killed);
            say(format_args!(
                "{server}, {driver} driver: killed, replaced after {took:.1?} (<= {TAKEOVER:?})"
            ));
            assert!(took <= TAKEOVER, "replaced after {took:?}, more than {TAKEOVER:?}");
            assert_eq!(grant["epoch"], epoch + 1);
            b.about("verify", "c").expect("the new owner's");
            stage.assert_owner("c", b.node(), epoch + 1);
            hand_on(&stage, driver, b, epoch + 1);
        }
    }
}

#[test]
fn a_stopped_owner_that_goes_on_fences_itself_and_acts_no_more() {
    for server in Server::USED {
        for driver in Driver::ALL {
            let stage = Stage::new(server, "stopped");
            let (mut a, mut b) = (stage.node(driver, "a"), stage.node(driver, "b"));
            let epoch = own(&stage, &mut a, &mut b);
            let waiting = b.send_claim("c", WAIT);
            let stopped = clock::mono();
            a.signal(Signal::STOP);
            let grant = b.answer(waiting).expect("a silent owner is replaced");
            let took = clock::mono().since(stopped);
            say(format_args!(
                "{server}, {driver} driver: stopped, replaced after {took:.1?} (<= {TAKEOVER:?})"
            ));
            assert!(took <= TAKEOVER, "replaced after {took:?}, more than {TAKEOVER:?}");
            assert_eq!(grant["epoch"], epoch + 1);
            resume(&mut a, driver);
            b.about("verify", "c").expect("the new owner's, whatever the old one did");
            stage.assert_owner("c", b.node(), epoch + 1);
        }
    }
}

/// Lets `a` own the cell `c`, and returns the epoch: it verifies, and `b` is refused.
fn own(stage: &Stage, a: &mut Process, b: &mut Process) -> u64 {
    let grant = a.claim("c").expect("a cell that nobody ever owned");
    assert_eq!(grant, json!({ "cell": "c", "epoch": 1 }));
    assert_eq!(a.about("verify", "c"), Ok(grant));
    let refused = b.claim("c").expect_err("it has an owner");
    assert_eq!(refused["kind"], "held", "{refused}");
    let message = refused["message"].as_str().expect("text");
    assert!(message.contains(a.node()), "the owner is not named: {message}");
    stage.assert_owner("c", a.node(), 1);
    1
}

/// Lets `b`, which owns the cell, release it; lets another node claim it and hand it back to `b`; lets `b` leave.
fn hand_on(stage: &Stage, driver: Driver, mut b: Process, epoch: u64) {
    let mut a = stage.node(driver, "a");
    let released = b.about("release", "c").expect("its own");
    assert_eq!(released["epoch"], epoch);
    assert_free(stage, epoch);
    assert_eq!(b.about("verify", "c").expect_err("released")["kind"], "not_owner");

    assert_eq!(a.claim("c").expect("free")["epoch"], epoch + 1);
    let offered = a.transfer("c", b.node()).expect("its own");
    assert_eq!(offered["epoch"], epoch + 2, "an offer has the receiver's epoch");
    let record = stage.place.owner("c").expect("offered").record;
    assert!(matches!(record.holder(), Holder::OfferedTo(id) if id.as_str() == b.node()), "{record:?}");
    assert_eq!(a.about("verify", "c").expect_err("handed over")["kind"], "not_owner");

    assert_eq!(b.claim("c").expect("offered to it")["epoch"], epoch + 2);
    b.about("verify", "c").expect("accepted");
    stage.assert_owner("c", b.node(), epoch + 2);
    let status = b.leave();
    assert!(status.success(), "{status}");
    assert_free(stage, epoch + 2);
    assert_eq!(a.claim("c").expect("given back by leaving")["epoch"], epoch + 3);
}

/// Lets a stopped owner of the cell `c` go on. The questions wait for it, so its first look is as early as can be.
fn resume(a: &mut Process, driver: Driver) {
    // The agent has no such question; it learns of a tenure's end by the event `lost`.
    let held = matches!(driver, Driver::Blocking).then(|| a.send(json!({ "do": "is_held", "cell": "c" })));
    let verify = a.send(json!({ "do": "verify", "cell": "c" }));
    let claim = a.send(json!({ "do": "claim", "cell": "other" }));
    a.signal(Signal::CONT);
    match held {
        Some(id) => assert_eq!(a.answer(id), Ok(json!({ "is_held": false }))),
        None => {
            let lost = a.event("lost");
            assert_eq!((&lost["cell"], &lost["reason"]), (&json!("c"), &json!("expired")), "{lost}");
        }
    }
    let refused = a.answer(verify).expect_err("it owns nothing");
    assert!(refused["kind"] == "fenced" || refused["kind"] == "not_owner", "{refused}");
    assert_eq!(a.event("fenced")["reason"], "expired");
    assert_eq!(a.answer(claim).expect_err("its session is over")["kind"], "fenced");
}

fn assert_free(stage: &Stage, epoch: u64) {
    let record = stage.place.owner("c").expect("released records stay").record;
    assert_eq!((record.holder(), record.epoch.get()), (Holder::Nobody, epoch));
}
