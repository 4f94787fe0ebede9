//! One write until its fate is certain, shown on a claim: every row of the table in DESIGN section 4.

mod common;

use common::{Scenario, check};

#[test]
fn bl_01_a_lost_reply_is_settled_by_reading_back() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=220  w2 unknown timed-out
               -> read r3 cells/a/own.json
        t=240  r3 found w2
               -> done t1 claimed epoch=1
        "#,
    );
}

#[test]
fn bl_01_the_old_version_still_there_proves_nothing_and_the_same_bytes_are_sent_again() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 found e9 {"node":"","epoch":6}
               -> write w2 cells/a/own.json match=e9 node=me epoch=7
        t=220  w2 unknown timed-out
               -> read r3 cells/a/own.json
        t=240  r3 found e9 {"node":"","epoch":6}
               -> write w4 cells/a/own.json match=e9 node=me epoch=7
               body w2
               -> {"node":"me","epoch":7,"write":"me#2"}
               body w4
               -> {"node":"me","epoch":7,"write":"me#2"}
        # The first copy has landed in the meantime.
        t=260  w4 rejected
               -> read r5 cells/a/own.json
        t=280  r5 found w2
               -> done t1 claimed epoch=7
        "#,
    );
}

#[test]
fn bl_01_a_read_back_that_fails_leaves_the_fate_unknown() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=220  w2 unknown timed-out
               -> read r3 cells/a/own.json
        t=240  r3 failed network
               idle
               -> idle until=315 Retry
        t=400  wake
               -> read r4 cells/a/own.json
        t=420  r4 throttled
               idle
               -> idle until=1905 Retry
        t=2000 wake
               -> read r5 cells/a/own.json
        t=2020 r5 missing
        t=2200 wake
               -> write w6 cells/a/own.json absent node=me epoch=1
        t=2220 w6 applied
               -> done t1 claimed epoch=1
        "#,
    );
}

#[test]
fn bl_01_another_version_than_the_guarded_one_means_lost() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=220  w2 unknown timed-out
               -> read r3 cells/a/own.json
        t=240  r3 found e9 {"node":"b.1","epoch":1,"write":"b.1#4"}
               -> read r4 nodes/b.1.json
        t=260  r4 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1001
               -> done t1 error held: cell a is held by b.1 at epoch 1
        "#,
    );
}

#[test]
fn rejected_after_an_attempt_of_unknown_fate_may_be_our_own_doing() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=40   w2 unknown timed-out
               -> read r3 cells/a/own.json
        t=60   r3 missing
               -> write w4 cells/a/own.json absent node=me epoch=1
        t=80   w4 rejected
               -> read r5 cells/a/own.json
        t=100  r5 found w2
               -> done t1 claimed epoch=1
        "#,
    );
}

#[test]
fn refused_does_not_settle_an_earlier_attempt() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=40   w2 unknown timed-out
               -> read r3 cells/a/own.json
        t=60   r3 missing
               -> write w4 cells/a/own.json absent node=me epoch=1
        t=80   w4 refused denied
               idle
               -> idle until=155 Retry
        t=300  wake
               -> read r5 cells/a/own.json
        t=320  r5 found w2
               -> done t1 claimed epoch=1
        "#,
    );
}

#[test]
fn bl_04_throttled_sends_the_same_bytes_again_after_a_second() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=40   w2 throttled
               idle
               -> idle until=1506 Retry
        t=2000 wake
               -> write w3 cells/a/own.json absent node=me epoch=1
        t=2020 w3 throttled after=5s
               idle
               -> idle until=7432 Retry
        t=9000 wake
               -> write w4 cells/a/own.json absent node=me epoch=1
        t=9020 w4 applied
               -> done t1 claimed epoch=1
               body w2
               -> {"node":"me","epoch":1,"write":"me#2"}
               body w4
               -> {"node":"me","epoch":1,"write":"me#2"}
        "#,
    );
}

#[test]
fn certainly_not_applied_is_sent_again_soon() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=40   w2 not-applied network
               idle
               -> idle until=76 Retry
        t=200  wake
               -> write w3 cells/a/own.json absent node=me epoch=1
        t=220  w3 applied
               -> done t1 claimed epoch=1
        "#,
    );
}

#[test]
fn an_attempt_that_certainly_never_left_is_dropped_when_the_caller_is_gone() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=40   w2 not-applied network
        t=50   cancel t1
               idle
               -> idle until=3389 Renew
        "#,
    );
}

#[test]
fn a_repeated_or_unknown_reply_changes_nothing() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=21   r1 found e9 {"node":"b.1","epoch":6}
        t=22   r77 missing
        t=30   w2 unknown timed-out
               -> read r3 cells/a/own.json
        t=40   w2 rejected
        t=50   w99 rejected
        t=60   r3 found w2
               -> done t1 claimed epoch=1
        t=70   r3 missing
        "#,
    );
}

#[test]
fn a_304_to_an_unconditional_read_makes_no_sense_and_settles_nothing() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=30   w2 unknown timed-out
               -> read r3 cells/a/own.json
        t=60   r3 unchanged
        t=200  wake
               -> read r4 cells/a/own.json
        t=220  r4 found w2
               -> done t1 claimed epoch=1
        "#,
    );
}

#[test]
fn a_caller_is_told_when_patience_is_over_and_the_write_is_settled_without_it() {
    check(
        Scenario::joined().slow().with(|config| config.patience = core::time::Duration::from_secs(1)),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=400  w2 unknown timed-out
               -> read r3 cells/a/own.json
        t=1000 wake
               -> done t1 error unavailable: the store did not answer in time
        t=1020 r3 failed network
        t=1200 wake
               -> read r4 cells/a/own.json
        t=1220 r4 found w2
               -> write w5 cells/a/own.json match=w2 released epoch=1
        t=1240 w5 applied
               idle
               -> idle until=20340 Renew
        "#,
    );
}

#[test]
fn bl_33_every_version_ever_written_has_bytes_of_its_own() {
    let mut session = Scenario::joined().held("a").start();
    let mut bodies = std::collections::BTreeSet::new();
    let mut number = 0;
    for _ in 0..20 {
        for call in ["release a epoch=", "claim a"] {
            let epoch = 1 + number / 2;
            let line = if call.ends_with('=') { format!("{call}{epoch}") } else { call.to_owned() };
            let written = session.feed(&line);
            number += 1;
            assert!(written.iter().any(|line| line.starts_with(&format!("write w{number} "))), "{written:?}");
            session.feed(&format!("w{number} applied"));
        }
    }
    let count = session.writes.len();
    bodies.extend(session.writes.into_values());
    assert_eq!(bodies.len(), count);
}

#[test]
fn bl_04_a_throttled_claim_that_nobody_wants_any_more_is_looked_at_before_it_is_forgotten() {
    check(
        Scenario::joined().slow(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=30   w2 throttled
        t=40   cancel t1
        t=2000 wake
               -> read r3 cells/a/own.json
        # Applied all the same: too few disks had confirmed it in time.
        t=2020 r3 found w2
               -> write w4 cells/a/own.json match=w2 released epoch=1
        t=2040 w4 applied
        t=2050 claim b
               -> read r5 cells/b/own.json
        t=2060 r5 missing
               -> write w6 cells/b/own.json absent node=me epoch=1
        t=2070 w6 throttled
        t=2080 cancel t2
        t=4000 wake
               -> read r7 cells/b/own.json
        t=4020 r7 missing
               idle
               -> idle until=20340 Renew
        "#,
    );
}

#[test]
fn bl_04_a_refusal_does_not_settle_a_throttled_attempt() {
    check(
        Scenario::joined(),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=3410 w1 throttled
        t=4900 wake
               -> write w2 nodes/me.json match=lease lease
        t=4910 w2 refused denied
        t=5500 wake
               -> read r3 nodes/me.json
        t=5510 r3 found w1
               -> notify authority until=12400
        "#,
    );
}

#[test]
fn bl_40_a_success_under_a_weak_tag_proves_nothing_until_it_is_read_back() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        # A gateway's page, or a proxy that weakened the tag of a true answer.
        t=40   w2 applied W/"page"
               -> read r3 cells/a/own.json
        t=60   r3 missing
               -> write w4 cells/a/own.json absent node=me epoch=1
        t=80   w4 applied W/"e1"
        t=200  wake
               -> read r5 cells/a/own.json
        t=220  r5 found w2
               -> done t1 claimed epoch=1
        "#,
    );
}

#[test]
fn bl_38_an_answer_of_garbage_settles_nothing() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=220  w2 unknown timed-out
               -> read r3 cells/a/own.json
        t=240  r3 found e9 garbage
        t=1240 wake
               -> read r4 cells/a/own.json
        t=1260 r4 found w2
               -> done t1 claimed epoch=1
        "#,
    );
}

#[test]
fn a_record_that_stays_garbage_is_corrupt_and_yet_settled_until_it_tells_what_won() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=220  w2 unknown timed-out
               -> read r3 cells/a/own.json
        t=240  r3 found e9 garbage
        t=1240 wake
               -> read r4 cells/a/own.json
        t=1260 r4 found e9 garbage
        t=2240 wake
               -> read r5 cells/a/own.json
        t=2260 r5 found e9 garbage
        t=3240 wake
               -> read r6 cells/a/own.json
        t=3260 r6 found e9 garbage
               -> done t1 error corrupt: cells/a/own.json (etag e9) is corrupt: a record is a JSON object; look at it, and put a record in its place with an epoch above every earlier one: do not remove it
        # Each answer may have been garbled: were our write in the store, nobody else could take the cell.
        t=5500 wake
               -> read r7 cells/a/own.json
        t=5520 r7 found e9 garbage
        t=6000 claim a
        t=7800 wake
               -> read r8 cells/a/own.json
        t=7820 r8 found w2
               -> done t2 claimed epoch=1
        "#,
    );
}

#[test]
fn a_corrupt_record_is_told_to_who_claims_while_a_write_to_it_is_settled() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=20   r1 found e8 {"node":"","epoch":3}
               -> write w2 cells/a/own.json match=e8 node=me epoch=4
        t=30   w2 rejected
               -> read r3 cells/a/own.json
        t=40   r3 found e9 garbage
        t=1240 wake
               -> read r4 cells/a/own.json
        t=1260 r4 found e9 garbage
        t=2240 wake
               -> read r5 cells/a/own.json
        t=2260 r5 found e9 garbage
        t=3240 wake
               -> read r6 cells/a/own.json
        t=3260 r6 found e9 garbage
               -> done t1 error corrupt: cells/a/own.json (etag e9) is corrupt: a record is a JSON object; look at it, and put a record in its place with an epoch above every earlier one: do not remove it
        t=3300 claim a
        t=5500 wake
               -> read r7 cells/a/own.json
        t=5520 r7 found e9 garbage
               -> done t2 error corrupt: cells/a/own.json (etag e9) is corrupt: a record is a JSON object; look at it, and put a record in its place with an epoch above every earlier one: do not remove it
        # Mended by an operator: another version for certain.
        t=7800 wake
               -> read r8 cells/a/own.json
        t=7820 r8 found e10 {"node":"","epoch":9}
        t=7830 claim a
               -> read r9 cells/a/own.json
        "#,
    );
}
