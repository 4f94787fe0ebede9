//! Small worlds of the simulator, pasted as `cargo sim --tape ... --transcript` prints them.

mod common;

use common::{Scenario, check};
use core::time::Duration;
use tenure_core::{Config, StoreClock};

// A release that timed out and had been applied all the same, as the node on machine n2 saw it.
#[test]
fn a_release_that_landed_after_it_was_given_up_is_settled_by_a_read() {
    check(
        Scenario::of(
            Config {
                ttl: Duration::from_millis(3000),
                drift_permille: 10,
                margin_hold: Duration::from_millis(300),
                clock: StoreClock { unit: Duration::from_millis(1000), margin: Duration::from_millis(2000) },
                attempt_timeout: Duration::from_millis(450),
                poll: Duration::from_millis(1000),
                patience: Duration::from_millis(3000),
                ..Config::new("n2")
            },
            1,
            0x0,
        ),
        r#"
        t=0    join
               -> write w1 probe/* absent
        t=3.75 w1 applied
               -> write w2 probe/* absent
        t=7.5  w2 rejected
               -> write w3 probe/* match=w1
        t=11.25 w3 applied
               -> write w4 probe/* match=w1
        t=15   w4 rejected
               -> remove d5 probe/*
               -> write w6 nodes/me.json absent lease
        t=18.75 d5 removed
               w6 applied
               -> notify authority until=2715
               -> done t1 joined me
        t=93.75 claim c1
               -> read r7 cells/c1/own.json
        t=97.5 r7 missing
               -> write w8 cells/c1/own.json absent node=me epoch=1
        t=101.25 w8 applied
               -> done t2 claimed epoch=1
        t=187.5 release c1 epoch=1
               -> notify ended c1 epoch=1
               -> write w9 cells/c1/own.json match=w8 released epoch=1
        t=637.5 w9 unknown timed-out
               -> read r10 cells/c1/own.json
        t=641.25 r10 found w9 modified=1760000000 date=1760000000
               -> done t3 released
        t=656.25 claim c1
               -> write w11 cells/c1/own.json match=w9 node=me epoch=2
        t=660  w11 applied
               -> done t4 claimed epoch=2
        "#,
    );
}
