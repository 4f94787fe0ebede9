//! Finding a cell's owner: a look-up that changes nothing.

mod common;

use common::{Scenario, check};

#[test]
fn a_cell_held_here_is_found_without_a_request() {
    check(
        Scenario::joined().held_at("a", 7),
        r#"
        t=0    locate a
               -> done t1 here epoch=7
        "#,
    );
}

#[test]
fn a_cell_of_a_live_node_is_found_and_remembered_as_long_as_the_caller_allows() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    locate a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000,"addr":"b:80"} modified=1000 date=1001
               -> done t1 at b.1 addr=b:80 epoch=6
        t=5000 locate a age=6s
               -> done t2 at b.1 addr=b:80 epoch=6
        t=5001 locate a age=5s
               -> read r3 cells/a/own.json
        t=5002 r3 found e9 {"node":"b.1","epoch":6}
               -> done t3 at b.1 addr=b:80 epoch=6
        t=5003 locate a
               -> read r4 cells/a/own.json
        "#,
    );
}

#[test]
fn bl_20_no_answer_is_remembered_longer_than_the_owners_lease_is_known_to_live() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    locate a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1001
               -> done t1 at b.1 addr=none epoch=6
        t=12000 locate a age=1000s
               -> done t2 at b.1 addr=none epoch=6
        t=12001 locate a age=1000s
               -> read r3 cells/a/own.json
        t=12002 r3 found e9 {"node":"b.1","epoch":6}
               -> read r4 nodes/b.1.json unless=l5
        t=12003 r4 unchanged date=1013
               -> done t3 free
        "#,
    );
}

#[test]
fn a_cell_of_nobody_or_offered_or_ours_in_name_only_is_free() {
    check(
        Scenario::joined(),
        r#"
        t=0    locate a
               -> read r1 cells/a/own.json
        t=1    r1 missing
               -> done t1 free
        t=2    locate a
               -> read r2 cells/a/own.json
        t=3    r2 found e9 {"node":"","epoch":6}
               -> done t2 free
        t=4    locate a
               -> read r3 cells/a/own.json
        t=5    r3 found e9 {"node":"c.1","epoch":7,"write":"b.1#4"}
               -> done t3 free
        t=6    locate a
               -> read r4 cells/a/own.json
        t=7    r4 found e9 {"node":"me","epoch":7,"write":"me#400"}
               -> done t4 free
        "#,
    );
}

#[test]
fn a_look_up_finds_a_dead_nodes_cell_free_and_writes_nothing() {
    check(
        Scenario::joined(),
        r#"
        t=0    locate a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1013
               -> done t1 free
        t=3    locate c
               -> read r3 cells/c/own.json
        t=4    r3 found e9 {"node":"d.1","epoch":6}
               -> read r4 nodes/d.1.json
        t=5    r4 missing
               -> read r5 retired/d.1.json
        t=6    r5 missing
               -> done t2 free
        "#,
    );
}

#[test]
fn a_look_up_does_not_wait_for_a_fence() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    locate c
               -> read r3 cells/c/own.json
        t=3    r3 found e9 {"node":"b.1","epoch":6}
        t=4    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1013
               -> write w4 nodes/b.1.json match=l5 tombstone by=me
               -> done t2 free
        t=5    locate d
               -> read r5 cells/d/own.json
        t=6    r5 found e9 {"node":"b.1","epoch":6}
               -> done t3 free
        t=7    w4 applied
               -> write w6 cells/a/own.json match=e9 node=me epoch=7
        "#,
    );
}

#[test]
fn a_corrupt_record_is_an_error() {
    check(
        Scenario::joined(),
        r#"
        t=0    locate a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 ["b.1",6,null]
               -> done t1 error corrupt: cells/a/own.json (etag e9) is corrupt: a record is a JSON object; look at it, and put a record in its place with an epoch above every earlier one: do not remove it
        "#,
    );
}

#[test]
fn bl_19_a_store_that_does_not_answer_is_asked_three_times() {
    check(
        Scenario::joined(),
        r#"
        t=0    locate a
               -> read r1 cells/a/own.json
        t=1    r1 failed network
               -> read r2 cells/a/own.json
        t=2    r2 failed network
               -> read r3 cells/a/own.json
        t=3    r3 failed network
               -> done t1 error unavailable: the connection to the store failed
        t=4    locate a
               -> read r4 cells/a/own.json
        t=5    r4 throttled
               -> done t2 error unavailable: the store is throttling us: cells/a/own.json
        t=6    locate a
               -> read r5 cells/a/own.json
        t=7    r5 failed denied
               -> done t3 error denied: the store denied access
        "#,
    );
}

#[test]
fn a_look_up_needs_a_lease() {
    check(
        Scenario::fresh(),
        r#"
        t=0    locate a
               -> done t1 error fenced: this node has not joined
        t=1    peers
               -> done t2 error fenced: this node has not joined
        "#,
    );
}

#[test]
fn a_remembered_answer_is_no_use_once_a_higher_epoch_was_seen() {
    check(
        Scenario::joined(),
        r#"
        t=0    locate a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1001
               -> done t1 at b.1 addr=none epoch=6
        t=3    claim a
               -> read r3 cells/a/own.json
        t=4    r3 found e10 {"node":"","epoch":7}
               -> write w4 cells/a/own.json match=e10 node=me epoch=8
        t=5    w4 applied
               -> done t2 claimed epoch=8
        t=6    release a epoch=8
               -> notify ended a epoch=8
               -> write w5 cells/a/own.json match=w4 released epoch=8
        t=7    w5 applied
               -> done t3 released
        t=8    locate a age=1000s
               -> read r6 cells/a/own.json
        "#,
    );
}
