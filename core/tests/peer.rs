//! Is another node dead, and if so, fence it: by the store's clock, by silence, and when its lease is missing.

mod common;

use common::{Scenario, check};

#[test]
fn a_lease_is_dead_at_ttl_and_unit_and_margin_and_not_a_second_earlier() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":3000} modified=1000 date=1005
               -> done t1 error held: cell a is held by b.1 at epoch 6
        t=1000 claim a
               -> read r3 cells/a/own.json
        t=1001 r3 found e9 {"node":"b.1","epoch":6}
               -> read r4 nodes/b.1.json unless=l5
        t=1002 r4 unchanged date=1006
               -> write w5 nodes/b.1.json match=l5 tombstone by=me
        "#,
    );
}

#[test]
fn a_fine_clock_needs_neither_unit_nor_margin() {
    check(
        Scenario::joined().fine(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":3000} modified=1000 date=1003
               -> write w3 nodes/b.1.json match=l5 tombstone by=me
        "#,
    );
}

#[test]
fn bl_05_this_nodes_wall_clock_plays_no_part() {
    // The wall clock of these transcripts is in 2023. A store in 2100 and a lease expired in 1970: it lives.
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=4102444800 date=4102444812
               -> done t1 error held: cell a is held by b.1 at epoch 6
        "#,
    );
    // A store in 1970 and a lease that expires in 2100: it is dead.
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":4102444800000,"ttl_ms":10000} modified=1000 date=1013
               -> write w3 nodes/b.1.json match=l5 tombstone by=me
        "#,
    );
}

#[test]
fn bl_30_a_lease_renewed_since_it_was_judged_is_judged_afresh() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1013
               -> write w3 nodes/b.1.json match=l5 tombstone by=me
        t=20   w3 rejected
               -> read r4 nodes/b.1.json
        t=30   r4 found l6 {"node":"b.1","expires_ms":2,"ttl_ms":10000} modified=1013 date=1013
               -> read r5 nodes/b.1.json
        t=40   r5 found l6 {"node":"b.1","expires_ms":2,"ttl_ms":10000} modified=1013 date=1013
               -> done t1 error held: cell a is held by b.1 at epoch 6
        "#,
    );
}

#[test]
fn a_fencing_race_lost_to_another_taker_is_as_good_as_won() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1013
               -> write w3 nodes/b.1.json match=l5 tombstone by=me
        t=20   w3 rejected
               -> read r4 nodes/b.1.json
        t=30   r4 found l6 {"node":"b.1","expires_ms":0,"fenced_by":"c.1"}
               -> read r5 nodes/b.1.json
        t=40   r5 found l6 {"node":"b.1","expires_ms":0,"fenced_by":"c.1"}
               -> write w6 cells/a/own.json match=e9 node=me epoch=7
        "#,
    );
}

#[test]
fn a_fence_of_unknown_fate_is_settled_before_anything_is_taken() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1013
               -> write w3 nodes/b.1.json match=l5 tombstone by=me
        t=20   w3 unknown timed-out
               -> read r4 nodes/b.1.json
        t=30   r4 found w3
               -> write w5 cells/a/own.json match=e9 node=me epoch=7
        "#,
    );
}

#[test]
fn a_fence_that_the_store_refuses_takes_nothing() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1013
               -> write w3 nodes/b.1.json match=l5 tombstone by=me
        t=20   w3 refused denied
               -> done t1 error denied: the store denied access
               idle
               -> idle until=3389 Renew
        "#,
    );
}

#[test]
fn a_tombstone_keeps_every_field_it_does_not_know() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000,"meta":{"zone":"z"},"x":{"y":1.50}} modified=1000 date=1013
               -> write w3 nodes/b.1.json match=l5 tombstone by=me zone=z
               body w3
               -> {"expires_ms":0,"fenced_by":"me","meta":{"zone":"z"},"node":"b.1","ttl_ms":10000,"write":"me#2","x":{"y":1.50}}
        "#,
    );
}

#[test]
fn bl_51_a_node_long_dead_is_taken_at_once() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":9999999999999999,"ttl_ms":10000} modified=1000 date=260200
               -> write w3 nodes/b.1.json match=l5 tombstone by=me
        "#,
    );
}

#[test]
fn a_lease_that_cannot_be_read_is_asked_for_three_times_and_a_throttled_key_rests() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 failed network
               idle
               -> idle until=74 Retry
        t=100  wake
               -> read r3 nodes/b.1.json
        t=101  r3 throttled
               idle
               -> idle until=1586 Retry
        t=2000 wake
               -> read r4 nodes/b.1.json
        t=2001 r4 failed network
               idle
               -> idle until=2087 Retry
        "#,
    );
}

#[test]
fn a_fence_that_cannot_be_settled_is_left_when_patience_is_over() {
    check(
        Scenario::joined().slow().with(|config| config.patience = core::time::Duration::from_secs(2)),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1013
               -> write w3 nodes/b.1.json match=l5 tombstone by=me
        t=1500 w3 unknown timed-out
               -> read r4 nodes/b.1.json
        t=2000 wake
               -> done t1 error unavailable: the store did not answer in time: cells/a/own.json
        t=3000 r4 failed timed-out
               idle
               -> idle until=20340 Renew
        "#,
    );
}

#[test]
fn one_judgement_serves_everybody_who_asks() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    claim b
               -> read r2 cells/b/own.json
        t=2    locate c
               -> read r3 cells/c/own.json
        t=3    r1 found e9 {"node":"b.1","epoch":6}
               -> read r4 nodes/b.1.json
        t=4    r2 found e8 {"node":"b.1","epoch":2}
        t=5    r3 found e7 {"node":"b.1","epoch":3}
        t=6    r4 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1013
               -> write w5 nodes/b.1.json match=l5 tombstone by=me
               -> done t3 free
        t=7    w5 applied
               -> write w6 cells/a/own.json match=e9 node=me epoch=7
               -> write w7 cells/b/own.json match=e8 node=me epoch=3
        "#,
    );
}

#[test]
fn a_fence_on_its_way_is_awaited_although_patience_is_over() {
    // The read that shows the old version comes late, and the fence is sent again: who asks next waits for that one.
    check(
        Scenario::joined().slow().with(|config| config.patience = core::time::Duration::from_secs(2)),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":3000} modified=1000 date=1007
               -> write w3 nodes/b.1.json match=l5 tombstone by=me
        t=500  w3 unknown timed-out
               -> read r4 nodes/b.1.json
        t=2100 r4 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":3000} modified=1000 date=1009
               -> write w5 nodes/b.1.json match=l5 tombstone by=me
               -> done t1 error unavailable: the store did not answer in time: cells/a/own.json
        t=2200 claim b
               -> read r6 cells/b/own.json
        t=2201 r6 found f9 {"node":"b.1","epoch":2}
        t=2300 w5 applied l6
               -> write w7 cells/b/own.json match=f9 node=me epoch=3
        "#,
    );
}

#[test]
fn a_fence_that_was_lost_is_followed_by_a_look_at_the_whole_record_and_not_by_its_old_tag() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a wait=30s
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found @1@x {"node":"b.1","expires_ms":1,"ttl_ms":3000} modified=1000 date=1100
               -> write w3 nodes/b.1.json match=@1@x tombstone by=me
        t=3    w3 rejected
               -> read r4 nodes/b.1.json
        # The same bytes stored anew: guards go by the generation, conditional reads by the content.
        t=4    r4 found @2@x {"node":"b.1","expires_ms":1,"ttl_ms":3000} modified=1000 date=1100
               -> read r5 nodes/b.1.json
        t=5    r5 found @2@x {"node":"b.1","expires_ms":1,"ttl_ms":3000} modified=1000 date=1100
               -> write w6 nodes/b.1.json match=@2@x tombstone by=me
        "#,
    );
}
