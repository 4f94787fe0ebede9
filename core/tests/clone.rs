//! A process cloned with its memory and its clocks: at most one of the clones outlives the next renewal.

mod common;

use common::{Scenario, Session};

/// Starts two engines in the same state at the same time, and lets each draw its own bits.
fn clones() -> [Session; 2] {
    [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210].map(|bits| {
        let mut session = Scenario::joined().held("a").start();
        session.engine.stir(bits);
        session
    })
}

#[test]
fn bl_16_of_two_clones_with_equal_clocks_one_outlives_the_next_renewal() {
    let [mut one, mut other] = clones();
    for session in [&mut one, &mut other] {
        assert_eq!(session.feed("t=3400 wake"), ["write w1 nodes/me.json match=lease lease"]);
    }
    assert_eq!(one.feed("t=3420 w1 applied"), ["notify authority until=12400"]);
    assert_eq!(other.feed("t=3420 w1 rejected"), ["read r2 nodes/me.json"]);
    // What the store shows the slower one is what the faster one wrote.
    let (body, _) = one.written(1);
    let found = String::from_utf8(body.to_vec()).expect("JSON");
    assert_eq!(other.feed(&format!("t=3430 r2 found e9 {found}")), ["notify fenced lease_replaced"]);
    assert_eq!(one.feed("tenure a"), ["epoch=1"]);
    assert_eq!(other.feed("tenure a"), ["none"]);
}

#[test]
fn bl_16_of_two_clones_that_claim_the_same_cell_one_gets_it() {
    let [mut one, mut other] = clones();
    for session in [&mut one, &mut other] {
        assert_eq!(session.feed("t=10 claim b"), ["read r1 cells/b/own.json"]);
        assert_eq!(session.feed("t=20 r1 missing"), ["write w2 cells/b/own.json absent node=me epoch=1"]);
    }
    assert_eq!(one.feed("t=30 w2 applied"), ["done t1 claimed epoch=1"]);
    assert_eq!(other.feed("t=30 w2 rejected"), ["read r3 cells/b/own.json"]);
    let (body, _) = one.written(2);
    let found = String::from_utf8(body.to_vec()).expect("JSON");
    let next = other.feed(&format!("t=40 r3 found e9 {found}"));
    assert_eq!(next, ["write w4 cells/b/own.json match=e9 node=me epoch=2"]);
}

#[test]
fn bits_that_are_all_alike_leave_every_write_unique() {
    let mut session = Scenario::joined().start();
    let mut bodies = Vec::new();
    for (number, at) in [(1, 3400), (2, 7000), (3, 10_500)] {
        session.engine.stir(0);
        session.feed(&format!("t={at} wake"));
        session.feed(&format!("w{number} applied"));
        bodies.push(session.written(number).0);
    }
    assert!(bodies[0] != bodies[1] && bodies[1] != bodies[2] && bodies[0] != bodies[2]);
}
