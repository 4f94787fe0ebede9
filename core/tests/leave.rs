//! A graceful end: everything is given back, then the lease is ended, and nobody waits for it to run out.

mod common;

use common::{Scenario, check};

#[test]
fn bl_08_every_cell_is_given_back_before_the_tombstone_is_sent() {
    check(
        Scenario::joined().held("a").held_at("b", 7),
        r#"
        t=5    leave
               -> notify ended a epoch=1
               -> write w1 cells/a/own.json match=a.1 released epoch=1
               -> notify ended b epoch=7
               -> write w2 cells/b/own.json match=b.7 released epoch=7
               tenure a
               -> none
               authority
               -> until=9000
        t=20   w1 applied
        t=30   w2 applied
               -> write w3 nodes/me.json match=lease tombstone by=me
               authority
               -> none
               body w3
               -> {"node":"me","expires_ms":0,"addr":"-","peer_protocol":1,"ownership_index_generation":"0000000000000001","ttl_ms":10000,"write":"me#6","fenced_by":"me"}
        t=50   w3 applied
               -> notify fenced left
               -> done t1 left
               idle
               -> idle
        "#,
    );
}

#[test]
fn a_node_that_never_joined_leaves_at_once() {
    check(
        Scenario::fresh(),
        r#"
        t=5    leave
               -> notify fenced left
               -> done t1 left
        "#,
    );
}

#[test]
fn leaving_while_joining_ends_the_join() {
    check(
        Scenario::fresh(),
        r#"
        t=0    join
               -> write w1 probe/* absent
        t=5    leave
               -> remove d2 probe/*
               -> done t1 error fenced: this session has ended (left); join again as a new one
               -> notify fenced left
               -> done t2 left
        t=20   w1 applied p1
        "#,
    );
}

#[test]
fn leaving_admits_nothing_and_still_answers_for_what_is_held() {
    check(
        Scenario::joined().held("a").with(|config| config.patience = core::time::Duration::from_secs(3)),
        r#"
        t=5    claim b
               -> read r1 cells/b/own.json
        t=6    claim c wait=20s
               -> read r2 cells/c/own.json
        t=7    r2 found e9 {"node":"b.1","epoch":6}
               -> read r3 nodes/b.1.json
        t=9    leave
               -> done t1 error fenced: this node is leaving and claims nothing more
               -> done t2 error fenced: this node is leaving and claims nothing more
               -> notify ended a epoch=1
               -> write w4 cells/a/own.json match=a.1 released epoch=1
        t=10   claim d
               -> done t4 error fenced: this node is leaving and claims nothing more
        t=11   verify a
               -> done t5 error not_owner: this node does not own cell a at that epoch
        t=12   locate e
               -> read r5 cells/e/own.json
        t=13   leave
        t=20   w4 applied
               -> write w6 nodes/me.json match=lease tombstone by=me
        "#,
    );
}

#[test]
fn a_renewal_under_way_is_settled_before_the_tombstone_is_sent() {
    check(
        Scenario::joined(),
        r#"
        t=3400 wake
               -> write w1 nodes/me.json match=lease lease
        t=3405 leave
        t=3420 w1 unknown timed-out
               -> read r2 nodes/me.json
        t=3440 r2 found w1
               -> notify authority until=12400
               -> write w3 nodes/me.json match=w1 tombstone by=me
        t=3460 w3 unknown timed-out
               -> read r4 nodes/me.json
        t=3480 r4 found w3
               -> notify fenced left
               -> done t1 left
        "#,
    );
}

#[test]
fn a_tombstone_that_cannot_be_sent_ends_with_the_lease() {
    check(
        Scenario::joined(),
        r#"
        t=5    leave
               -> write w1 nodes/me.json match=lease tombstone by=me
        t=20   w1 not-applied network
               idle
               -> idle until=56 Retry
        t=9000 wake
               -> notify fenced left
               -> done t1 left
        "#,
    );
}

#[test]
fn what_cannot_be_given_back_in_time_is_abandoned() {
    check(
        Scenario::joined()
            .slow()
            .held("a")
            .with(|config| config.patience = core::time::Duration::from_secs(2)),
        r#"
        t=5    leave
               -> notify ended a epoch=1
               -> write w1 cells/a/own.json match=a.1 released epoch=1
        t=1500 w1 unknown timed-out
               -> read r2 cells/a/own.json
        t=1800 r2 failed network
        t=2005 wake
               -> read r3 cells/a/own.json
               -> write w4 nodes/me.json match=lease tombstone by=me
        t=2020 w4 applied
               -> notify fenced left
               -> done t1 left
        "#,
    );
}

#[test]
fn a_renewal_under_way_when_leaving_gives_up_does_not_make_the_driver_spin() {
    check(
        Scenario::joined().held("a").with(|config| config.patience = core::time::Duration::from_secs(1)),
        r#"
        t=3400 leave
               -> write w1 nodes/me.json match=lease lease
               -> notify ended a epoch=1
               -> write w2 cells/a/own.json match=a.1 released epoch=1
        # The session demands that every deadline lies ahead.
        t=4400 wake
               idle
               -> idle until=9000 Fence
        t=4500 w2 applied
        "#,
    );
}

#[test]
fn a_release_asked_for_while_leaving_is_answered_and_settled() {
    let names: Vec<&'static str> = (0..40).map(|n| &*format!("c{n:02}").leak()).collect();
    let mut session = names.iter().fold(Scenario::joined(), |start, name| start.held(name)).start();
    let mut lines = session.feed("t=5 leave");
    assert_eq!(lines.iter().filter(|line| line.starts_with("write")).count(), 32);
    // The application gives up a cell itself that leaving has not come to yet.
    lines.extend(session.feed("t=6 release c39"));
    // Its own release is answered after leaving has come to it.
    let (mut told, mut next) = (Vec::new(), 0);
    while next < lines.len() {
        let line: String = lines[next].clone();
        next += 1;
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["write", id, ..] => lines.extend(session.feed(&format!("{id} applied"))),
            ["done", ..] => told.push(line),
            _ => {}
        }
    }
    assert_eq!(told, ["done t2 released", "done t1 left"]);
}
