//! Joining: the probe of the store, and the creation of the lease.

mod common;

use common::{Scenario, check};
use tenure_core::Config;

#[test]
fn joining_probes_the_store_and_then_creates_the_lease() {
    check(
        Scenario::fresh(),
        r#"
        t=0    join
               -> write w1 probe/* absent
        t=20   w1 applied p1
               -> write w2 probe/* absent
        t=40   w2 rejected
               -> write w3 probe/* match=p1
        t=60   w3 applied p2
               -> write w4 probe/* match=p1
        t=80   w4 rejected
               -> remove d5 probe/*
               -> write w6 nodes/me.json absent lease
               authority
               -> none
        t=120  w6 applied
               -> notify authority until=9080
               -> done t1 joined me
               body w6
               -> {"node":"me","expires_ms":1700000010080,"addr":"-","peer_protocol":1,"ownership_index_generation":"0000000000000001","ttl_ms":10000,"write":"me#1"}
               authority
               -> until=9080
               idle
               -> idle until=3469 Renew
        "#,
    );
}

#[test]
fn bl_02_a_store_that_creates_what_exists_is_unfit() {
    check(
        Scenario::fresh(),
        r#"
        t=0    join
               -> write w1 probe/* absent
        t=20   w1 applied p1
               -> write w2 probe/* absent
        t=40   w2 applied p2
               -> remove d3 probe/*
               -> done t1 error unfit: this store cannot guarantee one owner: it overwrote an object although told to create it
               -> notify fenced store_unfit
        t=50   join
               -> done t2 error fenced: this session has ended (store_unfit); join again as a new one
        "#,
    );
}

#[test]
fn bl_02_a_store_that_overwrites_on_a_stale_tag_is_unfit() {
    check(
        Scenario::fresh(),
        r#"
        t=0    join
               -> write w1 probe/* absent
        t=20   w1 applied p1
               -> write w2 probe/* absent
        t=40   w2 rejected
               -> write w3 probe/* match=p1
        t=60   w3 applied p2
               -> write w4 probe/* match=p1
        t=80   w4 applied p3
               -> remove d5 probe/*
               -> done t1 error unfit: this store cannot guarantee one owner: it overwrote an object although its etag had changed
               -> notify fenced store_unfit
        "#,
    );
}

#[test]
fn bl_33_a_store_whose_tag_does_not_change_with_the_content_is_unfit() {
    check(
        Scenario::fresh(),
        r#"
        t=0    join
               -> write w1 probe/* absent
        t=20   w1 applied p1
               -> write w2 probe/* absent
        t=40   w2 rejected
               -> write w3 probe/* match=p1
        t=60   w3 applied p1
               -> remove d4 probe/*
               -> done t1 error unfit: this store cannot guarantee one owner: its etag p1 did not change with the content
               -> notify fenced store_unfit
        "#,
    );
}

/// A tag made of size and time differs if the sizes do.
#[test]
fn bl_33_the_probe_writes_other_bytes_of_one_length() {
    for seed in 0..100 {
        let mut session = Scenario::of(Config::new("me"), 1, seed).start();
        for line in ["t=0 join", "t=1 w1 applied p1", "t=2 w2 rejected"] {
            assert_eq!(session.feed(line).len(), 1, "{line}");
        }
        let (created, updated) = (session.written(1).0, session.written(3).0);
        assert_eq!(created.len(), updated.len(), "seed {seed}");
        assert_ne!(created, updated, "seed {seed}");
    }
}

#[test]
fn bl_40_a_store_with_weak_tags_is_unfit() {
    check(
        Scenario::fresh(),
        r#"
        t=0    join
               -> write w1 probe/* absent
        t=20   w1 applied W/"p1"
               -> remove d2 probe/*
               -> done t1 error unfit: this store cannot guarantee one owner: it gives weak etags (W/\"p1\"), which no compare-and-swap can match
               -> notify fenced store_unfit
        "#,
    );
}

#[test]
fn bl_02_trouble_during_the_probe_is_no_verdict_on_the_store() {
    check(
        Scenario::fresh(),
        r#"
        t=0    join
               -> write w1 probe/* absent
        t=20   w1 throttled
               -> remove d2 probe/*
               idle
               -> idle until=1497 Retry
        t=1500 wake
               -> write w3 probe/* absent
        t=1520 w3 applied p1
               -> write w4 probe/* absent
        t=1540 w4 unknown timed-out
               -> remove d5 probe/*
        t=1900 wake
               -> write w6 probe/* absent
        t=1920 w6 conflict
               -> remove d7 probe/*
        t=2500 wake
               -> write w8 probe/* absent
        t=2520 w8 applied p1
               -> write w9 probe/* absent
        t=2540 w9 rejected
               -> write w10 probe/* match=p1
        t=2560 w10 applied p2
               -> write w11 probe/* match=p1
        t=2580 w11 rejected
               -> remove d12 probe/*
               -> write w13 nodes/me.json absent lease
        t=2600 w13 applied
               -> notify authority until=11580
               -> done t1 joined me
        "#,
    );
}

#[test]
fn a_store_that_answers_nothing_useful_ends_the_join_in_time() {
    check(
        Scenario::fresh().with(|config| config.patience = core::time::Duration::from_secs(2)),
        r#"
        t=0    join
               -> write w1 probe/* absent
        t=1500 w1 unknown timed-out
               -> remove d2 probe/*
        t=1600 wake
               -> write w3 probe/* absent
        t=3100 w3 unknown timed-out
               -> remove d4 probe/*
               -> done t1 error unavailable: cannot join: the store did not answer in time
               -> notify fenced expired
               idle
               -> idle
        "#,
    );
}

#[test]
fn joining_without_rights_ends_at_once() {
    check(
        Scenario::fresh(),
        r#"
        t=0    join
               -> write w1 probe/* absent
        t=20   w1 refused denied
               -> remove d2 probe/*
               -> done t1 error denied: cannot join: the store denied access
               -> notify fenced credentials
        "#,
    );
}

#[test]
fn bl_02_a_store_without_conditional_writes_is_unfit() {
    check(
        Scenario::fresh(),
        r#"
        t=0    join
               -> write w1 probe/* absent
        t=20   w1 refused unfit
               -> remove d2 probe/*
               -> done t1 error unfit: this store cannot guarantee one owner: 
               -> notify fenced store_unfit
        "#,
    );
}

#[test]
fn a_session_joins_once() {
    check(
        Scenario::joined(),
        r#"
        t=5    join
               -> done t1 error usage: this session has joined already
        "#,
    );
}

#[test]
fn a_lease_whose_creation_is_not_known_in_time_is_no_lease() {
    check(
        Scenario::fresh(),
        r#"
        t=0    join
               -> write w1 probe/* absent
        t=20   w1 applied p1
               -> write w2 probe/* absent
        t=40   w2 rejected
               -> write w3 probe/* match=p1
        t=60   w3 applied p2
               -> write w4 probe/* match=p1
        t=80   w4 rejected
               -> remove d5 probe/*
               -> write w6 nodes/me.json absent lease
        t=1600 w6 unknown timed-out
               -> read r7 nodes/me.json
        t=3100 r7 failed timed-out
               idle
               -> idle until=3172 Retry
        t=9080 wake
               -> done t1 error unavailable: cannot join: the store did not answer in time
               -> notify fenced expired
        "#,
    );
}

#[test]
fn bl_01_a_lost_reply_to_the_creation_is_settled_by_reading_back() {
    check(
        Scenario::fresh(),
        r#"
        t=0    join
               -> write w1 probe/* absent
        t=20   w1 applied p1
               -> write w2 probe/* absent
        t=40   w2 rejected
               -> write w3 probe/* match=p1
        t=60   w3 applied p2
               -> write w4 probe/* match=p1
        t=80   w4 rejected
               -> remove d5 probe/*
               -> write w6 nodes/me.json absent lease
        t=1600 w6 unknown timed-out
               -> read r7 nodes/me.json
        t=1620 r7 missing
               -> write w8 nodes/me.json absent lease
        t=1640 w8 rejected
               -> read r9 nodes/me.json
        t=1660 r9 found w6
               -> notify authority until=9080
               -> done t1 joined me
               authority
               -> until=9080
        "#,
    );
}

#[test]
fn a_lease_found_in_our_place_while_joining_is_not_adopted() {
    check(
        Scenario::fresh(),
        r#"
        t=0    join
               -> write w1 probe/* absent
        t=20   w1 applied p1
               -> write w2 probe/* absent
        t=40   w2 rejected
               -> write w3 probe/* match=p1
        t=60   w3 applied p2
               -> write w4 probe/* match=p1
        t=80   w4 rejected
               -> remove d5 probe/*
               -> write w6 nodes/me.json absent lease
        t=99   w6 rejected
               -> read r7 nodes/me.json
        t=120  r7 found e9 {"node":"me","expires_ms":0,"fenced_by":"b.1"}
               -> done t1 error fenced: this session has ended (lease_fenced); join again as a new one
               -> notify fenced lease_fenced
        "#,
    );
}

#[test]
fn a_store_that_refuses_to_create_the_lease_is_unfit() {
    let mut session = Scenario::fresh().start();
    let mut lines = session.feed("t=0 join");
    for reply in ["applied p1", "rejected", "applied p2", "rejected"] {
        let id = lines[lines.len() - 1].split(' ').nth(1).expect("an id").to_owned();
        lines = session.feed(&format!("{id} {reply}"));
    }
    let mut at = 0;
    while !lines.iter().any(|line| line.starts_with("done")) {
        at += 100;
        let id = lines.last().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
        lines = match lines.last() {
            Some(line) if line.starts_with("read") => session.feed(&format!("t={at} {id} missing")),
            Some(_) => session.feed(&format!("t={at} {id} rejected")),
            None => session.feed(&format!("t={at} wake")),
        };
    }
    assert_eq!(
        lines,
        [
            "done t1 error unfit: this store cannot guarantee one owner: it rejects a create, and shows nothing there when it is read",
            "notify fenced store_unfit"
        ]
    );
}

#[test]
fn a_store_that_goes_on_rejecting_a_renewal_whose_guard_holds_is_unfit() {
    let mut session = Scenario::joined().start();
    let mut lines = session.feed("t=3400 wake");
    let mut at = 3400;
    while !lines.iter().any(|line| line.starts_with("notify")) {
        at += 100;
        let id = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
        lines = match lines.first() {
            Some(line) if line.starts_with("read") => session.feed(&format!("t={at} {id} found lease old")),
            Some(_) => session.feed(&format!("t={at} {id} rejected")),
            None => session.feed(&format!("t={at} wake")),
        };
    }
    assert_eq!((at, lines), (9000, vec!["notify fenced store_unfit".to_owned()]));
}
