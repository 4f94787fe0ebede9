//! Callers that stop listening: what they began is settled all the same, and nothing is kept for nobody.

mod common;

use common::{Scenario, check};

#[test]
fn a_cancelled_claim_is_settled_and_given_back() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=30   cancel t1
        t=40   w2 unknown timed-out
               -> read r3 cells/a/own.json
        t=60   r3 found w2
               -> write w4 cells/a/own.json match=w2 released epoch=1
               tenure a
               -> none
        t=80   w4 applied
               idle
               -> idle until=3389 Renew
        "#,
    );
}

#[test]
fn a_cancelled_claim_is_forgotten_in_every_state_without_a_write_under_way() {
    check(
        Scenario::joined().slow(),
        r#"
        # Reading.
        t=5    claim a
               -> read r1 cells/a/own.json
        t=6    cancel t1
        t=7    r1 missing
        # Judging.
        t=10   claim a
               -> read r2 cells/a/own.json
        t=11   r2 found e9 {"node":"b.1","epoch":6}
               -> read r3 nodes/b.1.json
        t=12   cancel t2
        t=13   r3 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1001
        # Waiting.
        t=20   claim a wait=30s
               -> read r4 cells/a/own.json
        t=21   r4 found e9 {"node":"b.1","epoch":6}
        t=22   cancel t3
        # Pausing.
        t=30   claim a
               -> read r5 cells/a/own.json
        t=31   r5 failed network
        t=32   cancel t4
        # Settling a write that was rejected: once the read has shown that no copy won.
        t=40   claim c
               -> read r6 cells/c/own.json
        t=41   r6 missing
               -> write w7 cells/c/own.json absent node=me epoch=1
        t=42   w7 rejected
               -> read r8 cells/c/own.json
        t=43   cancel t5
        t=44   r8 missing
               idle
               -> idle until=20340 Renew
        "#,
    );
}

#[test]
fn a_new_claim_takes_up_a_cancelled_one_that_is_being_settled() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=30   cancel t1
        t=40   w2 unknown timed-out
               -> read r3 cells/a/own.json
        t=50   claim a
        t=60   r3 found w2
               -> done t2 claimed epoch=1
        "#,
    );
}

#[test]
fn one_of_two_callers_cancels_and_the_other_is_granted_the_cell() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=6    claim a
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=30   cancel t1
        t=40   w2 applied
               -> done t2 claimed epoch=1
        "#,
    );
}

#[test]
fn a_cancelled_claim_that_was_interfered_with_is_looked_at_before_it_is_forgotten() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        # A proxy has sent it twice: the second copy is told of the first, which is on its way.
        t=40   w2 conflict
               -> read r3 cells/a/own.json
        t=50   cancel t1
        t=60   r3 found w2
               -> write w4 cells/a/own.json match=w2 released epoch=1
        t=80   w4 applied
        "#,
    );
}
