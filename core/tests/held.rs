//! What verify says of a held cell, and how the loss of its record is noticed.

mod common;

use common::{Scenario, check};

#[test]
fn verify_is_one_conditional_read() {
    check(
        Scenario::joined().held("a"),
        r#"
        t=5    verify a
               -> read r1 cells/a/own.json unless=a.1
        t=20   r1 unchanged
               -> done t1 verified
        "#,
    );
}

#[test]
fn one_read_serves_every_verify_asked_before_it_was_issued_and_none_asked_after() {
    check(
        Scenario::joined().held("a"),
        r#"
        t=5    verify a
               -> read r1 cells/a/own.json unless=a.1
        t=6    verify a
        t=7    verify a
        t=20   r1 unchanged
               -> done t1 verified
               -> read r2 cells/a/own.json unless=a.1
        t=30   verify a
        t=40   r2 unchanged
               -> done t2 verified
               -> done t3 verified
               -> read r3 cells/a/own.json unless=a.1
        t=50   r3 unchanged
               -> done t4 verified
        "#,
    );
}

#[test]
fn a_store_without_conditional_reads_confirms_by_our_bytes() {
    check(
        Scenario::joined().held("a"),
        r#"
        t=5    verify a
               -> read r1 cells/a/own.json unless=a.1
        t=20   r1 found W/"a.1" {"node":"me","epoch":1,"write":"me#2"}
               -> done t1 verified
        # A proxy's weak tag would never match: ours is kept.
        t=30   release a
               -> notify ended a epoch=1
               -> write w2 cells/a/own.json match=a.1 released epoch=1
        "#,
    );
}

#[test]
fn bl_29_verify_fails_once_another_node_has_the_next_epoch() {
    check(
        Scenario::joined().held_at("a", 4),
        r#"
        t=5    verify a epoch=4
               -> read r1 cells/a/own.json unless=a.4
        t=6    verify a epoch=4
        t=20   r1 found e9 {"node":"b.1","epoch":5,"write":"b.1#4"}
               -> notify lost a epoch=4 record_replaced
               -> done t1 error not_owner: this node does not own cell a at that epoch
               -> done t2 error not_owner: this node does not own cell a at that epoch
               tenure a
               -> none
        t=30   verify a epoch=4
               -> done t3 error not_owner: this node does not own cell a at that epoch
        "#,
    );
}

#[test]
fn our_name_without_our_bytes_is_not_ours() {
    check(
        Scenario::joined().held("a"),
        r#"
        t=5    verify a
               -> read r1 cells/a/own.json unless=a.1
        t=20   r1 found e9 {"node":"me","epoch":1,"write":"me#999"}
               -> notify lost a epoch=1 record_replaced
               -> done t1 error not_owner: this node does not own cell a at that epoch
        "#,
    );
}

#[test]
fn bl_32_a_removed_record_ends_the_tenure_and_is_not_made_again() {
    check(
        Scenario::joined().held_at("a", 7),
        r#"
        t=5    verify a epoch=7
               -> read r1 cells/a/own.json unless=a.7
        t=20   r1 missing
               -> notify lost a epoch=7 record_removed
               -> done t1 error not_owner: this node does not own cell a at that epoch
        t=30   claim a
               -> read r2 cells/a/own.json
        t=40   r2 missing
               -> done t2 error regressed: cells/a/own.json is gone but was at epoch 7; find out who removed it, and put back a record with epoch 7 or above
        "#,
    );
}

#[test]
fn a_corrupt_record_ends_the_tenure() {
    check(
        Scenario::joined().slow().held("a"),
        r#"
        t=5    verify a
               -> read r1 cells/a/own.json unless=a.1
        t=20   r1 found e9 garbage
               -> read r2 cells/a/own.json unless=a.1
        t=30   r2 found e9 garbage
               -> read r3 cells/a/own.json unless=a.1
        t=40   r3 found e9 garbage
               -> notify lost a epoch=1 corrupt
               -> done t1 error not_owner: this node does not own cell a at that epoch
               -> write w4 cells/a/own.json match=a.1 released epoch=1
        # Were it the answers that are garbage, the record would name a node that does not hold the cell.
        t=50   w4 rejected
               -> read r5 cells/a/own.json
        t=60   r5 found e9 garbage
               tenure a
               -> none
        "#,
    );
}

#[test]
fn bl_19_a_store_that_does_not_answer_is_asked_three_times() {
    check(
        Scenario::joined().held("a"),
        r#"
        t=5    verify a
               -> read r1 cells/a/own.json unless=a.1
        t=20   r1 failed network
               -> read r2 cells/a/own.json unless=a.1
        t=25   verify a
        t=40   r2 failed network
               -> read r3 cells/a/own.json unless=a.1
        t=60   r3 failed network
               -> done t1 error unavailable: ownership could not be verified: the connection to the store failed
               -> done t2 error unavailable: ownership could not be verified: the connection to the store failed
               tenure a
               -> epoch=1
        t=70   verify a
               -> read r4 cells/a/own.json unless=a.1
        t=80   r4 throttled
               -> done t3 error unavailable: ownership could not be verified: the store is throttling us: cells/a/own.json
        t=90   verify a
               -> read r5 cells/a/own.json unless=a.1
        t=99   r5 failed denied
               -> done t4 error denied: ownership could not be verified: the store denied access
        "#,
    );
}

#[test]
fn a_verify_whose_answer_comes_after_the_end_of_authority_fails() {
    check(
        Scenario::joined().held("a"),
        r#"
        t=5    verify a
               -> read r1 cells/a/own.json unless=a.1
        t=9000 r1 unchanged
               -> notify fenced expired
               -> done t1 error fenced: this session has ended (expired); join again as a new one
        "#,
    );
}

#[test]
fn a_verify_overtaken_by_a_release_fails() {
    check(
        Scenario::joined().held("a"),
        r#"
        t=5    verify a
               -> read r1 cells/a/own.json unless=a.1
        t=6    release a
               -> notify ended a epoch=1
               -> done t1 error not_owner: this node does not own cell a at that epoch
               -> write w2 cells/a/own.json match=a.1 released epoch=1
        t=20   r1 unchanged
        "#,
    );
}

#[test]
fn bl_18_a_tenure_is_judged_by_the_clock_at_the_call_before_any_timer_fires() {
    check(
        Scenario::joined().held("a"),
        r#"
        t=8999 tenure a
               -> epoch=1
        t=9000 tenure a
               -> none
        # A call queued before the machine slept is judged after it.
        t=3600s verify a
               -> notify fenced expired
               -> done t1 error fenced: this session has ended (expired); join again as a new one
        "#,
    );
}

#[test]
fn bl_18_a_jump_of_the_wall_clock_alone_changes_nothing() {
    let script = [
        "t=100 tenure a",
        "t=3600 wake",
        "t=3610 w1 applied",
        "t=3620 verify a",
        "t=3630 r2 found e9 {\"node\":\"b.1\",\"epoch\":2}",
        "t=3640 claim a",
        "t=3650 r3 found e9 {\"node\":\"b.1\",\"epoch\":2}",
        "t=3660 r4 found l5 {\"node\":\"b.1\",\"expires_ms\":1,\"ttl_ms\":10000} modified=1000 date=1012",
        "t=7000 wake",
        "t=12000 authority",
        "t=12600 authority",
    ];
    let told = |walls: &[u64]| -> Vec<Vec<String>> {
        let mut session = Scenario::joined().held("a").start();
        let mut walls = walls.iter().cycle();
        let step = |line: &&str| {
            session.wall_ms = *walls.next().expect("some time");
            session.feed(line)
        };
        script.iter().map(step).collect()
    };
    let steady = told(&[1_700_000_000_000]);
    // Backwards to the beginning and forward by a hundred years, again and again.
    assert_eq!(told(&[0, 4_855_000_000_000]), steady);
    assert_eq!(told(&[4_855_000_000_000, 0, 1_700_003_600_000]), steady);
    assert!(steady.iter().flatten().any(|line| line.contains("record_replaced")), "{steady:?}");
}

#[test]
fn a_tenure_lost_to_garbage_is_given_back_if_the_record_is_sound_after_all() {
    check(
        Scenario::joined().slow().held("a"),
        r#"
        t=5    verify a
               -> read r1 cells/a/own.json unless=a.1
        t=20   r1 found e9 garbage
               -> read r2 cells/a/own.json unless=a.1
        t=30   r2 found e9 garbage
               -> read r3 cells/a/own.json unless=a.1
        t=40   r3 found e9 garbage
               -> notify lost a epoch=1 corrupt
               -> done t1 error not_owner: this node does not own cell a at that epoch
               -> write w4 cells/a/own.json match=a.1 released epoch=1
        t=50   claim a
        t=60   w4 applied
               -> write w5 cells/a/own.json match=w4 node=me epoch=2
        t=70   w5 applied
               -> done t2 claimed epoch=2
        "#,
    );
}

#[test]
fn answers_of_garbage_say_nothing_about_a_tenure() {
    check(
        Scenario::joined().slow().held("a"),
        r#"
        t=5    verify a
               -> read r1 cells/a/own.json unless=a.1
        # Under our own tag: it is the answer.
        t=20   r1 found a.1 garbage
               -> read r2 cells/a/own.json unless=a.1
        t=30   r2 found a.1 garbage
               -> read r3 cells/a/own.json unless=a.1
        t=40   r3 found a.1 garbage
               -> done t1 error inconsistent: ownership could not be verified: the store's answer makes no sense: cells/a/own.json
        # Under ever new tags: no record changes so fast.
        t=50   verify a
               -> read r4 cells/a/own.json unless=a.1
        t=60   r4 found e7 garbage
               -> read r5 cells/a/own.json unless=a.1
        t=70   r5 found e8 garbage
               -> read r6 cells/a/own.json unless=a.1
        t=80   r6 found e9 garbage
               -> done t2 error inconsistent: ownership could not be verified: the store's answer makes no sense: cells/a/own.json
        # Once, and then as it should be.
        t=90   verify a
               -> read r7 cells/a/own.json unless=a.1
        t=100  r7 found e9 garbage
               -> read r8 cells/a/own.json unless=a.1
        t=110  r8 unchanged
               -> done t3 verified
               tenure a
               -> epoch=1
        "#,
    );
}
