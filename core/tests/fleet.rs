//! Listing the fleet.

mod common;

use common::{Scenario, check};

#[test]
fn every_page_is_followed_and_each_lease_is_read() {
    check(
        Scenario::joined(),
        r#"
        t=0    peers
               -> list l1 nodes/
        t=1    l1 page date=1000 next=tok nodes/b.1.json@l5@999
               -> list l2 nodes/ after=tok
               -> read r3 nodes/b.1.json
        t=2    l2 page date=1000 nodes/c.1.json@l6@900
               -> read r4 nodes/c.1.json
        t=3    r3 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=999 date=1000
        t=4    r4 found l6 {"node":"c.1","expires_ms":1,"ttl_ms":10000} modified=900 date=1000
               -> done t1 peers b.1=live c.1=dead
        "#,
    );
}

#[test]
fn a_lease_known_by_its_tag_is_not_read_again() {
    check(
        Scenario::joined(),
        r#"
        t=0    peers
               -> list l1 nodes/
        t=1    l1 page date=1000 nodes/b.1.json@l5@999
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=999 date=1000
               -> done t1 peers b.1=live
        t=3    peers
               -> list l3 nodes/
        t=4    l3 page date=1012 nodes/b.1.json@l5@999
               -> done t2 peers b.1=dead
        "#,
    );
}

#[test]
fn a_malformed_record_hides_nobody_else() {
    check(
        Scenario::joined(),
        r#"
        t=0    peers
               -> list l1 nodes/
        t=1    l1 page date=1000 nodes/b.1.json@l5@999 nodes/c.1.json@l6@999 nodes/notes.txt@x@999
               -> read r2 nodes/c.1.json
               -> read r3 nodes/b.1.json
        t=2    r2 found l6 garbage modified=999 date=1000
        t=3    r3 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=999 date=1000
               -> done t1 peers b.1=live c.1=live,unread
        "#,
    );
}

#[test]
fn tombstones_are_dead_and_removed_leases_are_gone() {
    check(
        Scenario::joined(),
        r#"
        t=0    peers
               -> list l1 nodes/
        t=1    l1 page date=1000 nodes/b.1.json@l5@999 nodes/c.1.json@l6@999
               -> read r2 nodes/c.1.json
               -> read r3 nodes/b.1.json
        t=2    r2 missing
        t=3    r3 found l5 {"node":"b.1","expires_ms":0,"fenced_by":"c.1"} modified=999 date=1000
               -> done t1 peers b.1=dead
        "#,
    );
}

#[test]
fn bl_46_a_page_token_that_comes_twice_is_an_error_and_no_loop() {
    check(
        Scenario::joined(),
        r#"
        t=0    peers
               -> list l1 nodes/
        t=1    l1 page next=tok
               -> list l2 nodes/ after=tok
        t=2    l2 page next=tok
               -> done t1 error inconsistent: the listing of nodes contradicts itself: a page token came twice
        "#,
    );
}

#[test]
fn a_listing_that_fails_is_tried_again_and_then_reported() {
    check(
        Scenario::joined(),
        r#"
        t=0    peers
               -> list l1 nodes/
        t=1    l1 failed network
               -> list l2 nodes/
        t=2    l2 failed network
               -> list l3 nodes/
        t=3    l3 failed network
               -> list l4 nodes/
        t=4    l4 failed network
               -> done t1 error unavailable: the connection to the store failed
        t=5    peers
               -> list l5 nodes/
        t=6    l5 throttled
               -> done t2 error unavailable: the store is throttling us: nodes/
        "#,
    );
}

#[test]
fn callers_who_come_later_get_a_listing_of_their_own() {
    check(
        Scenario::joined(),
        r#"
        t=0    peers
               -> list l1 nodes/
        t=1    peers
        t=2    peers
        t=3    l1 page date=1000
               -> done t1 peers
               -> list l2 nodes/
        t=4    l2 page date=1000
               -> done t2 peers
               -> done t3 peers
        "#,
    );
}

#[test]
fn a_lease_listed_but_not_readable_lives_unless_its_stamp_is_too_old_for_any_ttl() {
    check(
        Scenario::joined(),
        r#"
        t=0    peers
               -> list l1 nodes/
        t=1    l1 page date=1000 nodes/b.1.json@l5@938 nodes/c.1.json@l6@937
               -> read r2 nodes/c.1.json
               -> read r3 nodes/b.1.json
        t=2    r2 failed network
        t=3    r3 throttled
               -> done t1 peers b.1=live,unread c.1=dead,unread
        "#,
    );
}

#[test]
fn bl_46_a_listing_that_never_ends_is_an_error() {
    let mut session = Scenario::joined().start();
    let mut said = session.feed("t=0 peers");
    let mut pages = 0;
    while let Some(list) = said.iter().find_map(|line| line.strip_prefix("list ")) {
        let id = list.split(' ').next().expect("an id").to_owned();
        pages += 1;
        assert!(pages <= 2000, "it goes on for ever");
        said = session.feed(&format!("{id} page next=tok{pages}"));
    }
    assert_eq!(
        said,
        ["done t1 error inconsistent: the listing of nodes contradicts itself: it does not end"]
    );
}
