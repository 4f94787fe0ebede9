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
fn a_cell_of_a_dead_node_is_taken_after_its_lease_is_fenced() {
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
               -> done t1 error corrupt: cells/a/own.json (etag e9) is corrupt: invalid type: string "6", expected u64 at line 1 column 25; look at it, then mend it with `tenure repair`
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
               -> done t2 error regressed: cells/a/own.json went back from epoch 7 to 6; find out who restored it, then use `tenure repair`
        t=80   claim a
               -> read r3 cells/a/own.json
        t=90   r3 missing
               -> done t3 error regressed: cells/a/own.json is gone but was at epoch 7; find out who removed it, then use `tenure repair`
        t=95   claim a
               -> read r4 cells/a/own.json
        t=99   r4 found e9 {"node":"","epoch":7}
               -> write w5 cells/a/own.json match=e9 node=me epoch=8
        "#,
    );
}

#[test]
fn an_answer_overtaken_by_one_that_showed_more_is_asked_for_again() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=6    claim b
               -> read r2 cells/b/own.json
        t=7    locate a
               -> read r3 cells/a/own.json
        t=8    locate b
               -> read r4 cells/b/own.json
        # Both claims' reads were served first and arrive last: nothing has gone back.
        t=20   r3 found e9 {"node":"","epoch":7}
               -> done t3 free
        t=21   r4 found e9 {"node":"","epoch":1}
               -> done t4 free
        t=30   r1 found e8 {"node":"","epoch":6}
               -> read r5 cells/a/own.json
        t=31   r2 missing
               -> read r6 cells/b/own.json
        t=40   r5 found e9 {"node":"","epoch":7}
               -> write w7 cells/a/own.json match=e9 node=me epoch=8
        # Here a record did go back.
        t=41   r6 missing
               -> done t2 error regressed: cells/b/own.json is gone but was at epoch 1; find out who removed it, then use `tenure repair`
        "#,
    );
}

#[test]
fn a_race_lost_to_a_claim_that_a_look_up_saw_first_is_no_regression() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=25   locate a
               -> read r3 cells/a/own.json
        t=30   w2 rejected
               -> read r4 cells/a/own.json
        # The settling read was served at epoch 1; the look-up, served later, arrives first.
        t=35   r3 found e9 {"node":"","epoch":2,"write":"b.1#7"}
               -> done t2 free
        t=40   r4 found e8 {"node":"b.1","epoch":1,"write":"b.1#4"}
               -> read r5 cells/a/own.json
        t=50   r5 found e9 {"node":"","epoch":2,"write":"b.1#7"}
               -> write w6 cells/a/own.json match=e9 node=me epoch=3
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
               -> done t1 error corrupt: cells/a/own.json has used up all epochs
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
fn a_waiting_claim_takes_over_when_the_holder_dies() {
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
fn bl_06_a_conflict_is_neither_a_loss_nor_a_win() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=40   w2 conflict
               -> read r3 cells/a/own.json
        t=60   r3 missing
               -> write w4 cells/a/own.json absent node=me epoch=1
        t=80   w4 conflict
               -> read r5 cells/a/own.json
        t=90   r5 missing
               idle
               -> idle until=162 Retry
        t=200  wake
               -> write w6 cells/a/own.json absent node=me epoch=1
        t=220  w6 applied
               -> done t1 claimed epoch=1
        "#,
    );
}

#[test]
fn bl_30_a_race_for_a_dead_nodes_cell_is_judged_afresh() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=40   r2 found l5 {"node":"b.1","expires_ms":0,"fenced_by":"c.1"} modified=1000 date=1013
               -> write w3 cells/a/own.json match=e9 node=me epoch=7
        t=60   w3 rejected
               -> read r4 cells/a/own.json
        t=80   r4 found e10 {"node":"c.1","epoch":7,"write":"c.1#4"}
               -> read r5 nodes/c.1.json
        t=90   r5 found l6 {"node":"c.1","expires_ms":1,"ttl_ms":10000} modified=1012 date=1013
               -> done t1 error held: cell a is held by c.1 at epoch 7
        "#,
    );
}

#[test]
fn bl_34_a_create_rejected_although_nothing_is_there_is_tried_again() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=40   w2 rejected
               -> read r3 cells/a/own.json
        t=60   r3 missing
               -> write w4 cells/a/own.json absent node=me epoch=1
        t=80   w4 applied
               -> done t1 claimed epoch=1
        "#,
    );
}

#[test]
fn bl_34_a_store_that_rejects_a_guard_that_holds_again_and_again_is_inconsistent() {
    check(
        Scenario::joined().slow(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=40   w2 rejected
               -> read r3 cells/a/own.json
        t=60   r3 missing
               -> write w4 cells/a/own.json absent node=me epoch=1
        t=80   w4 rejected
               -> read r5 cells/a/own.json
        t=100  r5 missing
        t=300  wake
               -> write w6 cells/a/own.json absent node=me epoch=1
        t=320  w6 rejected
               -> read r7 cells/a/own.json
        t=340  r7 missing
        t=600  wake
               -> write w8 cells/a/own.json absent node=me epoch=1
        t=620  w8 rejected
               -> read r9 cells/a/own.json
        t=640  r9 missing
        t=1200 wake
               -> write w10 cells/a/own.json absent node=me epoch=1
        t=1220 w10 rejected
               -> read r11 cells/a/own.json
        t=1240 r11 missing
        t=3000 wake
               -> write w12 cells/a/own.json absent node=me epoch=1
        t=3020 w12 rejected
               -> read r13 cells/a/own.json
        t=3040 r13 missing
               -> done t1 error inconsistent: the store contradicts itself about cells/a/own.json: it rejects a write whose guard holds
               idle
               -> idle until=20340 Renew
        "#,
    );
}

#[test]
fn bl_53_races_lost_again_and_again_end_in_contended() {
    let mut session = Scenario::joined().slow().start();
    let mut lines = session.feed("t=5 claim a");
    let (mut at, mut epoch, mut writes) = (5, 1, 0);
    while !lines.iter().any(|line| line.starts_with("done")) {
        at += 200;
        let id = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
        lines = match lines.first() {
            Some(line) if line.starts_with("read") => {
                session.feed(&format!("t={at} {id} found e{epoch} {{\"node\":\"\",\"epoch\":{epoch}}}"))
            }
            Some(line) if line.contains("cells/a/") => {
                (writes, epoch) = (writes + 1, epoch + 1);
                session.feed(&format!("t={at} {id} rejected"))
            }
            Some(line) if line.contains("nodes/me") => session.feed(&format!("t={at} {id} applied")),
            _ => session.feed(&format!("t={at} wake")),
        };
    }
    assert_eq!(lines, ["done t1 error contended: cell a is contended: 17 races lost; try again later"]);
    assert_eq!(writes, 17);
}

#[test]
fn a_store_that_does_not_answer_reads_ends_the_claim_when_its_patience_is_over() {
    check(
        Scenario::joined().slow().with(|config| config.patience = core::time::Duration::from_secs(3)),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 failed network
        t=100  wake
               -> read r2 cells/a/own.json
        t=120  r2 failed network
        t=400  wake
               -> read r3 cells/a/own.json
        t=420  r3 failed network
        t=3005 wake
               -> done t1 error unavailable: the connection to the store failed
               idle
               -> idle until=20340 Renew
        "#,
    );
}

#[test]
fn a_claim_without_rights_ends_at_once() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 failed denied
               -> done t1 error denied: the store denied access
        t=30   claim b
               -> read r2 cells/b/own.json
        t=40   r2 missing
               -> write w3 cells/b/own.json absent node=me epoch=1
        t=50   w3 refused denied
               -> done t2 error denied: the store denied access
               idle
               -> idle until=3389 Renew
        "#,
    );
}

#[test]
fn bl_04_a_throttled_read_rests_for_a_second() {
    check(
        Scenario::joined().slow(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 throttled
               idle
               -> idle until=1020 Retry
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
        # Settling a write that was rejected: no copy of it can land.
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
fn a_verdict_on_an_earlier_holder_says_nothing_about_the_next() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=30   cancel t1
        # Meanwhile c.1 has taken the dead b.1's cell, and lives.
        t=40   claim a
               -> read r3 cells/a/own.json
        t=50   r3 found e10 {"node":"c.1","epoch":7,"write":"c.1#4"}
               -> read r4 nodes/c.1.json
        t=60   r2 found l5 {"node":"b.1","expires_ms":0,"fenced_by":"c.1"} modified=1000 date=1013
        t=70   r4 found l6 {"node":"c.1","expires_ms":1,"ttl_ms":10000} modified=1012 date=1013
               -> done t2 error held: cell a is held by c.1 at epoch 7
        "#,
    );
}
