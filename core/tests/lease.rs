//! This node's own lease: joining, renewing, every cause of a fence.

mod common;

use common::{Scenario, check};

#[test]
fn a_renewal_is_one_write_and_authority_counts_from_its_send() {
    check(
        Scenario::joined(),
        r#"
        t=0    publish zone=a
               -> done t1 published
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease zone=a
        t=3900 w1 applied
               -> notify authority until=12400
               authority
               -> until=12400
               body w1
               -> {"node":"me","expires_ms":1700000013400,"addr":"-","peer_protocol":1,"ownership_index_generation":"0000000000000001","ttl_ms":10000,"write":"me#2","meta":{"zone":"a"}}
               idle
               -> idle until=6913 Renew
        "#,
    );
}

#[test]
fn authority_ends_exactly_at_first_sent_plus_ttl_minus_margin() {
    check(
        Scenario::joined(),
        r#"
        t=8999ms tenure a
               -> none
               authority
               -> until=9000
        t=9000 wake
               -> notify fenced expired
               ending
               -> expired; last renewed 9000 ms before
               authority
               -> none
        "#,
    );
}

#[test]
fn a_success_that_arrives_when_authority_has_ended_revives_nothing() {
    check(
        Scenario::joined().held("a"),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=8999 tenure a
               -> epoch=1
        t=9000 w1 applied
               -> notify fenced expired
               tenure a
               -> none
               authority
               -> none
               idle
               -> idle
        "#,
    );
}

#[test]
fn a_renewal_found_by_reading_counts_from_its_first_attempt() {
    check(
        Scenario::joined(),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=4900 w1 unknown timed-out
               -> read r2 nodes/me.json
        t=4920 r2 found lease {"node":"me","expires_ms":1}
               -> write w3 nodes/me.json match=lease lease
        t=6400 w3 unknown timed-out
        t=6500 wake
               -> read r4 nodes/me.json
        t=6520 r4 found w1
               -> notify authority until=12400
        "#,
    );
}

#[test]
fn a_renewal_whose_own_attempt_answers_counts_from_that_attempt() {
    check(
        Scenario::joined(),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=4900 w1 unknown timed-out
               -> read r2 nodes/me.json
        t=4920 r2 found lease {"node":"me","expires_ms":1}
               -> write w3 nodes/me.json match=lease lease
        t=4940 w3 applied
               -> notify authority until=13920
        "#,
    );
}

#[test]
fn bl_03_a_failed_renewal_is_tried_again_soon_and_scaled_to_what_is_left() {
    check(
        Scenario::joined(),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=3410 w1 unknown unavailable
               -> read r2 nodes/me.json
        t=3420 r2 failed unavailable
               idle
               -> idle until=3495 Retry
        t=3500 wake
               -> read r3 nodes/me.json
        t=3510 r3 failed unavailable
               idle
               -> idle until=3620 Retry
        t=8000 wake
               -> read r4 nodes/me.json
        t=8010 r4 failed unavailable
               idle
               -> idle until=8133 Retry
        t=8200 wake
               -> read r5 nodes/me.json
        t=8210 r5 found lease {"node":"me","expires_ms":1}
        t=8400 wake
               -> write w6 nodes/me.json match=lease lease
        t=8410 w6 applied
               -> notify authority until=17400
        "#,
    );
}

#[test]
fn bl_03_a_dark_store_fences_at_the_deadline_and_not_a_tick_earlier() {
    check(
        Scenario::joined().held("a"),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=3410 w1 not-applied network
        t=8990 wake
               -> write w2 nodes/me.json match=lease lease
        t=8995 w2 not-applied network
               tenure a
               -> epoch=1
               idle
               -> idle until=9000 Fence
        t=9000 wake
               -> notify fenced expired
               tenure a
               -> none
        "#,
    );
}

#[test]
fn bl_04_a_throttled_renewal_waits_a_second_or_what_leaves_room_for_one_more_attempt() {
    check(
        Scenario::joined(),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=3410 w1 throttled
               idle
               -> idle until=4876 Retry
        t=5000 wake
               -> write w2 nodes/me.json match=lease lease
        t=5010 w2 throttled after=30s
               idle
               -> idle until=7500 Retry
        t=7500 wake
               -> write w3 nodes/me.json match=lease lease
        # No room for another attempt: a throttled store is not hammered.
        t=7510 w3 throttled
               idle
               -> idle until=8995 Retry
        "#,
    );
}

#[test]
fn a_refused_renewal_is_tried_again_as_a_new_write_until_the_rights_are_back() {
    check(
        Scenario::joined(),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=3410 w1 refused denied
               idle
               -> idle until=3482 Renew
        t=3500 wake
               -> write w2 nodes/me.json match=lease lease
        t=3510 w2 applied
               -> notify authority until=12500
        "#,
    );
}

#[test]
fn bl_50_credentials_refused_until_the_end_are_the_cause() {
    check(
        Scenario::joined(),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=3410 w1 refused denied
        t=9000 wake
               -> notify fenced credentials
               ending
               -> credentials; last renewed 9000 ms before; last trouble: the store denied access
        "#,
    );
}

#[test]
fn bl_09_bl_50_a_removed_lease_fences_at_once_and_is_not_created_again() {
    check(
        Scenario::joined().held("a"),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=3410 w1 rejected
               -> read r2 nodes/me.json
        t=3420 r2 missing
               -> notify fenced lease_removed
               ending
               -> lease_removed; last renewed 3420 ms before, 5580 ms of authority left
               tenure a
               -> none
        "#,
    );
}

#[test]
fn bl_50_a_placeholder_means_that_the_lease_was_removed() {
    check(
        Scenario::joined(),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=3410 w1 rejected
               -> read r2 nodes/me.json
        t=3420 r2 found e9 {"node":"me","expires_ms":99,"ttl_ms":60000,"fenced_by":"b.1","write":"b.1#4"}
               -> notify fenced lease_removed
               ending
               -> lease_removed by b.1; last renewed 3420 ms before, 5580 ms of authority left
        "#,
    );
}

#[test]
fn bl_50_a_fenced_lease_fences_at_once() {
    check(
        Scenario::joined(),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=3410 w1 rejected
               -> read r2 nodes/me.json
        t=3420 r2 found e9 {"node":"me","expires_ms":0,"fenced_by":"b.1"}
               -> notify fenced lease_fenced
               ending
               -> lease_fenced by b.1; last renewed 3420 ms before, 5580 ms of authority left
        "#,
    );
}

#[test]
fn bl_16_a_clone_that_renewed_first_ends_the_other() {
    check(
        Scenario::joined().held("a"),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=3410 w1 rejected
               -> read r2 nodes/me.json
        # Our name, our sequence, but not the bytes that this process sent.
        t=3420 r2 found e9 {"node":"me","expires_ms":77,"ttl_ms":10000,"write":"me#3"}
               -> notify fenced lease_replaced
               ending
               -> lease_replaced by me.0000000000000001; last renewed 3420 ms before, 5580 ms of authority left
        "#,
    );
}

#[test]
fn a_lease_that_stays_corrupt_is_looked_at_until_authority_ends() {
    check(
        Scenario::joined(),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=3410 w1 rejected
               -> read r2 nodes/me.json
        t=3420 r2 found e9 garbage
        t=4400 wake
               -> read r3 nodes/me.json
        t=4420 r3 found e9 garbage
        t=5400 wake
               -> read r4 nodes/me.json
        t=5420 r4 found e9 garbage
        t=6400 wake
               -> read r5 nodes/me.json
        t=6420 r5 found e9 garbage
        t=7400 wake
               -> read r6 nodes/me.json
        t=7420 r6 found e9 garbage
               idle
               -> idle until=7617 Retry
        t=8900 wake
               -> read r7 nodes/me.json
        t=8910 r7 found e9 garbage
        # Closer and closer to the end, yet no closer than a breath.
               idle
               -> idle until=8930 Retry
        t=9000 wake
               -> notify fenced expired
        "#,
    );
}

#[test]
fn an_answer_of_garbage_does_not_end_a_session_whose_renewal_was_applied() {
    check(
        Scenario::joined(),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=4900 w1 unknown timed-out
               -> read r2 nodes/me.json
        t=4920 r2 found e9 garbage
        t=5900 wake
               -> read r3 nodes/me.json
        t=5920 r3 found w1
               -> notify authority until=12400
        "#,
    );
}

#[test]
fn nothing_follows_a_fence() {
    check(
        Scenario::joined().held("a"),
        r#"
        t=5    claim b
               -> read r1 cells/b/own.json
        t=6    verify a
               -> read r2 cells/a/own.json unless=a.1
        t=7    locate c
               -> read r3 cells/c/own.json
        t=8    peers
               -> list l4 nodes/
        t=9000 claim d
               -> notify fenced expired
               -> done t2 error fenced: this session has ended (expired); join again as a new one
               -> done t1 error fenced: this session has ended (expired); join again as a new one
               -> done t3 error fenced: this session has ended (expired); join again as a new one
               -> done t4 error fenced: this session has ended (expired); join again as a new one
               -> done t5 error fenced: this session has ended (expired); join again as a new one
        t=9001 r1 missing
        t=9002 release a
               -> done t6 error fenced: this session has ended (expired); join again as a new one
        t=9003 transfer a to=b.1
               -> done t7 error fenced: this session has ended (expired); join again as a new one
        t=9004 verify a
               -> done t8 error fenced: this session has ended (expired); join again as a new one
        t=9005 locate a
               -> done t9 error fenced: this session has ended (expired); join again as a new one
        t=9006 peers
               -> done t10 error fenced: this session has ended (expired); join again as a new one
        t=9007 leave
               -> done t11 left
        t=9008 join
               -> done t12 error fenced: this session has ended (expired); join again as a new one
        t=9009 publish zone=a
               -> done t13 error fenced: this session has ended (expired); join again as a new one
               idle
               -> idle
        "#,
    );
}

#[test]
fn facts_that_would_make_the_lease_too_long_to_be_judged_are_not_published() {
    let mut session = Scenario::joined().start();
    session.feed("publish zone=a");
    // Longer than it looks: JSON spells each of these characters with six.
    session.feed(&format!("publish zone={}", "\u{1}".repeat(12 << 10)));
    assert_eq!(session.feed("t=3400 wake"), ["write w1 nodes/me.json match=lease lease zone=a"]);
    session.feed("w1 applied");
    session.feed(&format!("publish zone={}", "b".repeat(15 << 10)));
    session.feed("t=7000 wake");
    assert!((15 << 10..16 << 10).contains(&session.written(2).0.len()));
}

#[test]
fn the_renewal_is_found_after_any_number_of_answers_of_garbage() {
    check(
        Scenario::joined(),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=3410 w1 unknown timed-out
               -> read r2 nodes/me.json
        t=3420 r2 found e9 garbage
        t=4400 wake
               -> read r3 nodes/me.json
        t=4420 r3 found e9 garbage
        t=5400 wake
               -> read r4 nodes/me.json
        t=5420 r4 found e9 garbage
        t=6400 wake
               -> read r5 nodes/me.json
        t=6420 r5 found e9 garbage
        t=7400 wake
               -> read r6 nodes/me.json
        t=7420 r6 found e9 garbage
        t=7900 wake
               -> read r7 nodes/me.json
        t=7920 r7 found w1
               -> notify authority until=12400
               -> write w8 nodes/me.json match=w1 lease
        "#,
    );
}

#[test]
fn another_nodes_lease_is_no_answer_to_a_read_of_our_own() {
    check(
        Scenario::joined(),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=3410 w1 unknown timed-out
               -> read r2 nodes/me.json
        t=3420 r2 found l9 {"node":"b.1","expires_ms":0,"fenced_by":"c.1"}
        t=4400 wake
               -> read r3 nodes/me.json
        t=4420 r3 found w1
               -> notify authority until=12400
        "#,
    );
}
