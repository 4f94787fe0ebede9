//! How a cell is given up: released, offered to another node, given back unasked.

mod common;

use common::{Scenario, check};

#[test]
fn bl_24_a_tenure_ends_when_its_release_is_sent() {
    check(
        Scenario::joined().held_at("a", 7),
        r#"
               tenure a
               -> epoch=7
        t=5    release a epoch=7
               -> notify ended a epoch=7
               -> write w1 cells/a/own.json match=a.7 released epoch=7
               tenure a
               -> none
        t=6    verify a epoch=7
               -> done t2 error not_owner: this node does not own cell a at that epoch
        t=7    release a epoch=7
               -> done t3 error not_owner: this node does not own cell a at that epoch
        t=20   w1 applied
               -> done t1 released
               body w1
               -> {"node":"","epoch":7,"write":"me#3"}
        "#,
    );
}

#[test]
fn bl_24_a_claim_made_while_the_release_is_under_way_waits_and_gets_the_next_epoch() {
    check(
        Scenario::joined().held_at("a", 7),
        r#"
        t=5    release a epoch=7
               -> notify ended a epoch=7
               -> write w1 cells/a/own.json match=a.7 released epoch=7
        t=6    claim a
        t=20   w1 unknown timed-out
               -> read r2 cells/a/own.json
        t=30   r2 found a.7 {"node":"me","epoch":7,"write":"me#2"}
               -> write w3 cells/a/own.json match=a.7 released epoch=7
        t=50   w3 applied
               -> done t1 released
               -> write w4 cells/a/own.json match=w1 node=me epoch=8
        t=60   w4 applied
               -> done t2 claimed epoch=8
        "#,
    );
}

#[test]
fn a_release_of_another_tenure_is_refused() {
    check(
        Scenario::joined().held_at("a", 7),
        r#"
        t=5    release a epoch=6
               -> done t1 error not_owner: this node does not own cell a at that epoch
        t=6    release b
               -> done t2 error not_owner: this node does not own cell b at that epoch
               tenure a
               -> epoch=7
        "#,
    );
}

#[test]
fn a_release_that_lost_the_record_is_done_all_the_same() {
    check(
        Scenario::joined().held("a"),
        r#"
        t=5    release a
               -> notify ended a epoch=1
               -> write w1 cells/a/own.json match=a.1 released epoch=1
        t=20   w1 rejected
               -> read r2 cells/a/own.json
        t=30   r2 found e9 {"node":"b.1","epoch":2,"write":"b.1#4"}
               -> done t1 released
               idle
               -> idle until=3389 Renew
        "#,
    );
}

#[test]
fn a_release_that_the_store_refuses_is_reported_and_made_again() {
    check(
        Scenario::joined().slow().held("a"),
        r#"
        t=5    release a
               -> notify ended a epoch=1
               -> write w1 cells/a/own.json match=a.1 released epoch=1
        t=20   w1 refused denied
               -> done t1 error denied: the release is not confirmed yet: the store denied access
        t=2000 wake
               -> write w2 cells/a/own.json match=a.1 released epoch=1
        t=2020 w2 applied
        "#,
    );
}

#[test]
fn a_release_not_confirmed_in_time_is_reported_and_goes_on() {
    check(
        Scenario::joined()
            .slow()
            .held("a")
            .with(|config| config.patience = core::time::Duration::from_secs(2)),
        r#"
        t=5    release a
               -> notify ended a epoch=1
               -> write w1 cells/a/own.json match=a.1 released epoch=1
        t=1500 w1 unknown timed-out
               -> read r2 cells/a/own.json
        t=1900 r2 failed network
        t=2005 wake
               -> read r3 cells/a/own.json
               -> done t1 error unavailable: the release is not confirmed yet: the connection to the store failed
        t=2020 r3 found a.1 {"node":"me","epoch":1,"write":"me#2"}
        t=3000 wake
               -> write w4 cells/a/own.json match=a.1 released epoch=1
        t=3020 w4 applied
               idle
               -> idle until=20340 Renew
        "#,
    );
}

#[test]
fn a_transfer_is_one_write_whose_epoch_is_already_the_receivers() {
    check(
        Scenario::joined().held_at("a", 7),
        r#"
        t=5    transfer a epoch=7 to=b.1
               -> notify ended a epoch=7
               -> write w1 cells/a/own.json match=a.7 node=b.1 epoch=8
               tenure a
               -> none
        t=20   w1 applied
               -> done t1 transferred epoch=8
               body w1
               -> {"node":"b.1","epoch":8,"write":"me#3"}
        "#,
    );
}

#[test]
fn an_offer_accepted_before_its_sender_knows_that_it_was_stored_is_a_transfer_done() {
    check(
        Scenario::joined().held_at("a", 7),
        r#"
        t=5    transfer a epoch=7 to=b.1
               -> notify ended a epoch=7
               -> write w1 cells/a/own.json match=a.7 node=b.1 epoch=8
        t=20   w1 unknown timed-out
               -> read r2 cells/a/own.json
        t=30   r2 found e9 {"node":"b.1","epoch":8,"write":"b.1#4"}
               -> done t1 transferred epoch=8
        "#,
    );
}

#[test]
fn a_transfer_overtaken_by_somebody_else_is_lost() {
    check(
        Scenario::joined().held_at("a", 7),
        r#"
        t=5    transfer a epoch=7 to=b.1
               -> notify ended a epoch=7
               -> write w1 cells/a/own.json match=a.7 node=b.1 epoch=8
        t=20   w1 rejected
               -> read r2 cells/a/own.json
        t=30   r2 found e9 {"node":"c.1","epoch":8,"write":"c.1#4"}
               -> done t1 error not_owner: cell a was changed by somebody else before the transfer
        "#,
    );
}

#[test]
fn a_transfer_that_the_store_refuses_ends_in_a_release() {
    check(
        Scenario::joined().slow().held_at("a", 7),
        r#"
        t=5    transfer a epoch=7 to=b.1
               -> notify ended a epoch=7
               -> write w1 cells/a/own.json match=a.7 node=b.1 epoch=8
        t=20   w1 refused denied
               -> done t1 error denied: the transfer is not confirmed: the store denied access
        t=2000 wake
               -> write w2 cells/a/own.json match=a.7 released epoch=7
        t=2020 w2 applied
        "#,
    );
}

#[test]
fn an_offer_nobody_takes_is_free_to_its_sender() {
    check(
        Scenario::joined().held_at("a", 7),
        r#"
        t=5    transfer a epoch=7 to=b.1
               -> notify ended a epoch=7
               -> write w1 cells/a/own.json match=a.7 node=b.1 epoch=8
        t=20   w1 applied
               -> done t1 transferred epoch=8
        t=30   claim a
               -> read r2 cells/a/own.json
        t=40   r2 found w1
               -> write w3 cells/a/own.json match=w1 node=me epoch=9
        t=50   w3 applied
               -> done t2 claimed epoch=9
        "#,
    );
}

#[test]
fn a_cell_is_not_handed_to_ourselves_nor_beyond_the_last_epoch() {
    check(
        Scenario::joined().held("a").held_at("z", u64::MAX),
        r#"
        t=5    transfer a to=me
               -> done t1 error usage: cell a is this node's own already
        t=6    transfer z epoch=18446744073709551615 to=b.1
               -> done t2 error corrupt: cell z has used up all epochs
        t=7    transfer b to=c.1
               -> done t3 error not_owner: this node does not own cell b at that epoch
               tenure a
               -> epoch=1
               tenure z
               -> epoch=18446744073709551615
        "#,
    );
}

#[test]
fn a_fence_answers_whoever_waits_for_a_release_or_a_transfer() {
    check(
        Scenario::joined().held("a").held("b"),
        r#"
        t=5    release a
               -> notify ended a epoch=1
               -> write w1 cells/a/own.json match=a.1 released epoch=1
        t=6    transfer b to=c.1
               -> notify ended b epoch=1
               -> write w2 cells/b/own.json match=b.1 node=c.1 epoch=2
        t=9000 wake
               -> notify fenced expired
               -> done t1 error fenced: this session has ended (expired); join again as a new one
               -> done t2 error fenced: this session has ended (expired); join again as a new one
        "#,
    );
}

#[test]
fn a_record_stored_anew_under_another_tag_is_given_up_all_the_same() {
    check(
        Scenario::joined().slow().held("a"),
        r#"
        t=5    release a
               -> notify ended a epoch=1
               -> write w1 cells/a/own.json match=a.1 released epoch=1
        t=20   w1 rejected
               -> read r2 cells/a/own.json
        # Still ours, byte for byte, and nobody holds it: released is what it must become.
        t=30   r2 found e9 {"node":"me","epoch":1,"write":"me#2"}
               -> write w3 cells/a/own.json match=e9 released epoch=1
        t=40   w3 rejected
               -> read r4 cells/a/own.json
        t=50   r4 found e10 {"node":"me","epoch":1,"write":"me#2"}
        t=999  wake
               -> write w5 cells/a/own.json match=e10 released epoch=1
        t=1020 w5 applied
               -> done t1 released
        "#,
    );
}

#[test]
fn an_offer_is_made_again_from_a_record_stored_anew() {
    check(
        Scenario::joined().slow().held("a"),
        r#"
        t=5    transfer a to=b.1
               -> notify ended a epoch=1
               -> write w1 cells/a/own.json match=a.1 node=b.1 epoch=2
        t=20   w1 rejected
               -> read r2 cells/a/own.json
        t=30   r2 found e9 {"node":"me","epoch":1,"write":"me#2"}
               -> write w3 cells/a/own.json match=e9 node=b.1 epoch=2
        t=40   w3 applied
               -> done t1 transferred epoch=2
        "#,
    );
}

#[test]
fn a_record_whose_tag_never_stays_ends_the_callers_wait_in_time() {
    let patience = core::time::Duration::from_secs(2);
    let mut session = Scenario::joined().slow().held("a").with(|config| config.patience = patience).start();
    let mut lines = session.feed("t=5 release a");
    let mut at = 5;
    while !lines.iter().any(|line| line.starts_with("done")) {
        at += 10;
        assert!(at < 5000, "the caller still waits");
        let request = lines.iter().find(|line| line.starts_with("read") || line.starts_with("write"));
        let id = request.and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
        lines = match id.get(..1) {
            Some("r") => session
                .feed(&format!("t={at} {id} found e{at} {{\"node\":\"me\",\"epoch\":1,\"write\":\"me#2\"}}")),
            Some(_) => session.feed(&format!("t={at} {id} rejected")),
            None => session.feed(&format!("t={at} wake")),
        };
    }
    assert!((2005..2015).contains(&at), "{at}");
}

#[test]
fn a_release_whose_answers_are_garbage_is_settled_until_they_are_not() {
    check(
        Scenario::joined().slow().held("a"),
        r#"
        t=0    release a
               -> notify ended a epoch=1
               -> write w1 cells/a/own.json match=a.1 released epoch=1
        t=20   w1 unknown timed-out
               -> read r2 cells/a/own.json
        t=30   r2 found e9 garbage
        t=1240 wake
               -> read r3 cells/a/own.json
        t=1260 r3 found e9 garbage
        t=2240 wake
               -> read r4 cells/a/own.json
        t=2260 r4 found e9 garbage
        t=3240 wake
               -> read r5 cells/a/own.json
        t=3260 r5 found e9 garbage
               -> done t1 error inconsistent: the release is not confirmed yet: the store's answer makes no sense: cells/a/own.json
        t=3300 claim a
        t=5500 wake
               -> read r6 cells/a/own.json
        t=5520 r6 found e9 garbage
               -> done t2 error corrupt: cells/a/own.json (etag e9) is corrupt: a record is a JSON object; look at it, and put a record in its place with an epoch above every earlier one: do not remove it
        t=7800 wake
               -> read r7 cells/a/own.json
        t=7820 r7 found a.1 {"node":"me","epoch":1,"write":"me#1"}
        t=7830 wake
        t=9900 wake
               -> write w8 cells/a/own.json match=a.1 released epoch=1
        t=9910 w8 applied
        "#,
    );
}
