//! How a cell is won: every row of the table in DESIGN section 7, and what ends a claim otherwise.

mod common;

use common::{Scenario, check};

#[test]
fn an_absent_record_is_created_at_epoch_one() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=40   w2 applied
               -> done t1 claimed epoch=1
               tenure a
               -> epoch=1
               body w2
               -> {"node":"me","epoch":1,"write":"me#2"}
        "#,
    );
}

#[test]
fn a_released_record_is_taken_at_the_next_epoch() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"","epoch":6,"write":"b.1#4"}
               -> write w2 cells/a/own.json match=e9 node=me epoch=7
        t=40   w2 applied
               -> done t1 claimed epoch=7
        "#,
    );
}

#[test]
fn a_cell_of_a_live_node_is_reported_with_its_address() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=40   r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000,"addr":"b:80"} modified=1000 date=1012
               -> done t1 error held: cell a is held by b.1 at epoch 6
               idle
               -> idle until=3389 Renew
        "#,
    );
}

#[test]
fn bl_20_a_cell_of_a_dead_node_is_taken_after_its_lease_is_fenced() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=40   r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1013
               -> write w3 nodes/b.1.json match=l5 tombstone by=me
        t=60   w3 applied
               -> write w4 cells/a/own.json match=e9 node=me epoch=7
        t=80   w4 applied
               -> done t1 claimed epoch=7
        "#,
    );
}

#[test]
fn an_offer_to_us_is_accepted_at_its_own_epoch() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"me","epoch":6,"write":"b.1#4"}
               -> write w2 cells/a/own.json match=e9 node=me epoch=6
        t=40   w2 applied
               -> done t1 claimed epoch=6
               body w2
               -> {"node":"me","epoch":6,"write":"me#2"}
        "#,
    );
}

#[test]
fn an_offer_to_another_is_free_to_anyone_who_wants_it() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"c.1","epoch":6,"write":"b.1#4"}
               -> write w2 cells/a/own.json match=e9 node=me epoch=7
        t=40   w2 applied
               -> done t1 claimed epoch=7
        "#,
    );
}

#[test]
fn a_record_of_ours_that_we_do_not_hold_is_taken_at_the_next_epoch() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"me","epoch":6,"write":"me#400"}
               -> write w2 cells/a/own.json match=e9 node=me epoch=7
        t=40   w2 applied
               -> done t1 claimed epoch=7
        "#,
    );
}

#[test]
fn a_corrupt_record_is_an_error_that_names_key_and_tag_and_nothing_is_written() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"b.1","epoch":"6"}
               -> done t1 error corrupt: cells/a/own.json (etag e9) is corrupt: invalid type: string "6", expected u64 at line 1 column 25; look at it, and put a record in its place with an epoch above every earlier one: do not remove it
               idle
               -> idle until=3389 Renew
        "#,
    );
}

#[test]
fn bl_32_a_record_below_an_epoch_seen_is_refused() {
    check(
        Scenario::joined().slow(),
        r#"
        t=5    locate a
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"","epoch":7}
               -> done t1 free
        t=40   claim a
               -> read r2 cells/a/own.json
        t=60   r2 found e8 {"node":"","epoch":6}
               -> done t2 error regressed: cells/a/own.json went back from epoch 7 to 6; find out who restored it, and put back a record with epoch 7 or above
        t=80   claim a
               -> read r3 cells/a/own.json
        t=90   r3 missing
               -> done t3 error regressed: cells/a/own.json is gone but was at epoch 7; find out who removed it, and put back a record with epoch 7 or above
        t=95   claim a
               -> read r4 cells/a/own.json
        t=99   r4 found e9 {"node":"","epoch":7}
               -> write w5 cells/a/own.json match=e9 node=me epoch=8
        "#,
    );
}

#[test]
fn epochs_that_are_used_up_are_refused() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"","epoch":18446744073709551615}
               -> done t1 error corrupt: cells/a/own.json has used up all epochs; use another name for the cell
        "#,
    );
}

#[test]
fn a_waiting_claim_polls_until_the_holder_releases() {
    check(
        Scenario::joined().slow(),
        r#"
        t=5    claim a wait=30s
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=40   r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1001
               idle
               -> idle until=988 Poll
        t=1100 wake
               -> read r3 cells/a/own.json unless=e9
        t=1120 r3 unchanged
        t=2200 wake
               -> read r4 cells/a/own.json unless=e9
        t=2220 r4 found e10 {"node":"","epoch":6}
               -> write w5 cells/a/own.json match=e10 node=me epoch=7
        t=2240 w5 applied
               -> done t1 claimed epoch=7
        "#,
    );
}

#[test]
fn bl_20_a_waiting_claim_takes_over_when_the_holder_dies() {
    check(
        Scenario::joined().slow(),
        r#"
        t=5    claim a wait=30s
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=40   r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1012
        t=1100 wake
               -> read r3 cells/a/own.json unless=e9
        t=1120 r3 unchanged
               -> read r4 nodes/b.1.json unless=l5
        t=1140 r4 unchanged date=1013
               -> write w5 nodes/b.1.json match=l5 tombstone by=me
        t=1160 w5 applied
               -> write w6 cells/a/own.json match=e9 node=me epoch=7
        t=1180 w6 applied
               -> done t1 claimed epoch=7
        "#,
    );
}

#[test]
fn a_waiting_claim_ends_with_the_holder_named() {
    check(
        Scenario::joined().slow(),
        r#"
        t=5    claim a wait=2s
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=40   r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1001
        t=1100 wake
               -> read r3 cells/a/own.json unless=e9
        t=1120 r3 unchanged
        t=2005 wake
               -> done t1 error timeout: cell a is still held by b.1 at epoch 6
               idle
               -> idle until=20340 Renew
        "#,
    );
}

#[test]
fn a_caller_who_joins_a_waiting_claim_is_not_answered_from_an_old_look() {
    check(
        Scenario::joined().slow(),
        r#"
        t=5    claim a wait=30s
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=40   r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1001
        t=500  claim a
               -> read r3 cells/a/own.json unless=e9
        t=520  r3 unchanged
               -> done t2 error held: cell a is held by b.1 at epoch 6
        t=600  claim a
               -> read r4 cells/a/own.json unless=e9
        t=620  r4 found e10 {"node":"","epoch":6}
               -> write w5 cells/a/own.json match=e10 node=me epoch=7
        t=640  w5 applied
               -> done t1 claimed epoch=7
               -> done t3 claimed epoch=7
        "#,
    );
}

#[test]
fn a_claim_needs_a_lease() {
    check(
        Scenario::fresh(),
        r#"
        t=5    claim a
               -> done t1 error fenced: this node has not joined
        "#,
    );
}

#[test]
fn a_cell_held_is_claimed_without_a_request() {
    check(
        Scenario::joined().held("a"),
        r#"
        t=5    claim a
               -> done t1 claimed epoch=1
        "#,
    );
}

#[test]
fn a_claim_confirmed_after_the_lease_has_ended_grants_nothing_and_writes_nothing() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=9000 w2 applied
               -> notify fenced expired
               -> done t1 error fenced: this session has ended (expired); join again as a new one
               tenure a
               -> none
        "#,
    );
}

#[test]
fn a_claim_confirmed_while_leaving_is_given_back() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=30   leave
               -> done t1 error fenced: this node is leaving and claims nothing more
        t=40   w2 applied
               -> write w3 cells/a/own.json match=w2 released epoch=1
        t=60   w3 applied
               -> write w4 nodes/me.json match=lease tombstone by=me
        t=80   w4 applied
               -> notify fenced left
               -> done t2 left
        "#,
    );
}
