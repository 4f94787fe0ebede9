//! Leases of other nodes that come as garbage: the answer may be broken as well as the record, so it proves nothing.

mod common;

use common::{Scenario, check};

#[test]
fn a_lease_that_came_as_garbage_once_is_judged_by_what_the_next_answer_says_under_the_same_tag() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 garbage modified=1000 date=1099
        t=200  wake
               -> read r3 nodes/b.1.json
        t=202  r3 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":9000} modified=1000 date=1012
               -> write w4 nodes/b.1.json match=l5 tombstone by=me
        "#,
    );
}

#[test]
fn garbage_under_ever_new_tags_is_looked_at_at_a_pace_and_never_fenced() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 garbage modified=1000 date=1099
        t=200  wake
               -> read r3 nodes/b.1.json
        t=203  r3 found l6 garbage modified=1000 date=1099
        t=500  wake
               -> read r4 nodes/b.1.json
        t=503  r4 found l7 garbage modified=1000 date=1099
               idle
               -> idle until=558 Retry
        "#,
    );
}

#[test]
fn a_tombstone_is_never_made_of_an_answer_that_came_as_garbage() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 garbage modified=1000 date=1099
        t=200  wake
               -> read r3 nodes/b.1.json
        t=203  r3 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":9000,"zone":"z1"} modified=1000 date=1099
               -> write w4 nodes/b.1.json match=l5 tombstone by=me
               body w4
               -> {"expires_ms":0,"fenced_by":"me","node":"b.1","ttl_ms":9000,"write":"me#2","zone":"z1"}
        "#,
    );
}

#[test]
fn stamps_that_come_with_garbage_are_not_believed() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":9000} modified=1000 date=1001
               -> done t1 error held: cell a is held by b.1 at epoch 6
        # Neither as a date that runs away nor as a version older than the one before it: the store is trusted still.
        t=2000 locate a
               -> read r3 cells/a/own.json
        t=2001 r3 found e9 {"node":"b.1","epoch":6}
               -> done t2 at b.1 addr=none epoch=6
        t=2002 claim c
               -> read r4 cells/c/own.json
        t=2003 r4 found e9 {"node":"d.1","epoch":6}
               -> read r5 nodes/d.1.json
        t=2004 r5 found l6 garbage modified=5 date=9999
        t=2200 wake
               -> read r6 nodes/d.1.json
        t=2201 r6 found l6 {"node":"d.1","expires_ms":1,"ttl_ms":9000} modified=990 date=1002
               -> write w7 nodes/d.1.json match=l6 tombstone by=me
        "#,
    );
}

#[test]
fn what_is_known_of_a_lease_outlives_an_answer_of_garbage() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=100  r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=500  r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":3000}
               -> done t1 error held: cell a is held by b.1 at epoch 6
        t=3500 claim a
               -> read r3 cells/a/own.json
        t=3510 r3 found e9 {"node":"b.1","epoch":6}
               -> read r4 nodes/b.1.json unless=l5
        t=3520 r4 found l6 garbage
        # Silence counts from t=500 all the same.
        t=3800 wake
               -> read r5 nodes/b.1.json unless=l5
        t=3801 r5 unchanged
               -> write w6 nodes/b.1.json match=l5 tombstone by=me
        "#,
    );
}

#[test]
fn garbage_under_a_tag_that_is_known_is_not_taken_for_what_the_tag_stands_for() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":3000} modified=1000 date=1001
               -> done t1 error held: cell a is held by b.1 at epoch 6
        t=6000 claim a
               -> read r3 cells/a/own.json
        t=6001 r3 found e9 {"node":"b.1","epoch":6}
               -> read r4 nodes/b.1.json unless=l5
        t=6002 r4 found l5 garbage modified=1000 date=1007
        t=6300 wake
               -> read r5 nodes/b.1.json unless=l5
        t=6301 r5 unchanged date=1007
               -> write w6 nodes/b.1.json match=l5 tombstone by=me
        "#,
    );
}
