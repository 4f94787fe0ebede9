//! Claims that meet trouble: races lost, answers overtaken, a store that fails or contradicts itself.

mod common;

use common::{Scenario, check};

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
               -> done t2 error regressed: cells/b/own.json is gone but was at epoch 1; find out who removed it, and put back a record with epoch 1 or above
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
fn bl_06_conflicts_again_and_again_end_in_contended_and_not_in_held() {
    let mut session = Scenario::joined().slow().start();
    let mut lines = session.feed("t=5 claim a");
    let (mut at, mut writes) = (5, 0);
    while !lines.iter().any(|line| line.starts_with("done")) {
        at += 200;
        let id = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
        lines = match lines.first() {
            Some(line) if line.starts_with("read") => session.feed(&format!("t={at} {id} missing")),
            Some(line) if line.contains("cells/a/") => {
                writes += 1;
                session.feed(&format!("t={at} {id} conflict"))
            }
            Some(line) if line.contains("nodes/me") => session.feed(&format!("t={at} {id} applied")),
            _ => session.feed(&format!("t={at} wake")),
        };
    }
    let told = "done t1 error contended: cell a is contended: 17 races lost; try again later";
    assert_eq!((lines.last().map(String::as_str), writes), (Some(told), 17));
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
        t=1100 wake
               -> write w6 cells/a/own.json absent node=me epoch=1
        t=1120 w6 rejected
               -> read r7 cells/a/own.json
        t=1140 r7 missing
        t=2140 wake
               -> write w8 cells/a/own.json absent node=me epoch=1
        t=2160 w8 rejected
               -> read r9 cells/a/own.json
        t=2180 r9 missing
        t=3180 wake
               -> write w10 cells/a/own.json absent node=me epoch=1
        t=3200 w10 rejected
               -> read r11 cells/a/own.json
        t=3220 r11 missing
        t=4900 wake
               -> write w12 cells/a/own.json absent node=me epoch=1
        t=4920 w12 rejected
               -> read r13 cells/a/own.json
        t=4940 r13 missing
               -> done t1 error inconsistent: the store contradicts itself about cells/a/own.json: it rejects a create, and shows nothing there when it is read
               idle
               -> idle until=20340 Renew
        "#,
    );
}

#[test]
fn who_gives_up_on_a_store_that_rejects_a_guard_that_holds_is_told_so() {
    check(
        Scenario::joined().slow().with(|config| config.patience = core::time::Duration::from_millis(1500)),
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
        t=1100 wake
               -> write w6 cells/a/own.json absent node=me epoch=1
        t=1120 w6 rejected
               -> read r7 cells/a/own.json
        t=1140 r7 missing
        t=1505 wake
               -> done t1 error inconsistent: the store contradicts itself about cells/a/own.json: it rejects a create, and shows nothing there when it is read
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
                // Who wins gives the cell back at once, but for the last.
                let node = if writes == 17 { "b.1" } else { "" };
                session.feed(&format!("t={at} {id} found e{epoch} {{\"node\":\"{node}\",\"epoch\":{epoch}}}"))
            }
            Some(line) if line.contains("cells/a/") => {
                (writes, epoch) = (writes + 1, epoch + 1);
                session.feed(&format!("t={at} {id} rejected"))
            }
            Some(line) if line.contains("nodes/me") => session.feed(&format!("t={at} {id} applied")),
            _ => session.feed(&format!("t={at} wake")),
        };
    }
    let why = "cell a is contended: 17 races lost, the last to b.1; try again later";
    assert_eq!(lines, [format!("done t1 error contended: {why}")]);
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
fn bl_15_a_claim_without_rights_ends_at_once() {
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
               -> idle until=1486 Retry
        "#,
    );
}

#[test]
fn bl_04_a_read_rests_for_as_long_as_the_store_asks() {
    check(
        Scenario::joined().slow(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 throttled after=4s
               idle
               -> idle until=5885 Retry
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

#[test]
fn bl_40_weak_tags_are_named_as_what_keeps_a_claim_from_ever_holding() {
    let mut session = Scenario::joined().slow().start();
    let mut lines = session.feed("t=0 claim a");
    let mut at = 0;
    while !lines.iter().any(|line| line.starts_with("done")) {
        at += 100;
        let id = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
        lines = match lines.first() {
            Some(line) if line.starts_with("read") => {
                session.feed(&format!("t={at} {id} found W/e9 {{\"node\":\"\",\"epoch\":6}}"))
            }
            Some(_) => session.feed(&format!("t={at} {id} rejected")),
            None => session.feed(&format!("t={at} wake")),
        };
    }
    assert_eq!(
        lines,
        [concat!(
            "done t1 error inconsistent: the store contradicts itself about cells/a/own.json: ",
            "it, or a proxy before it, gives weak etags, which no compare-and-swap can match"
        )]
    );
}

#[test]
fn a_holder_that_cannot_be_judged_is_asked_about_less_and_less_often() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a wait=30s
               -> read r1 cells/a/own.json
        t=10   r1 found e1 {"node":"b.1","epoch":1}
               -> read r2 nodes/b.1.json
        t=20   r2 failed malformed
               idle
               -> idle until=92 Retry
        t=120  wake
               -> read r3 nodes/b.1.json
        t=130  r3 failed malformed
               idle
               -> idle until=281 Retry
        t=330  wake
               -> read r4 nodes/b.1.json
        t=340  r4 failed malformed
               idle
               -> idle until=395 Retry
        t=500  wake
               -> read r5 cells/a/own.json
        t=510  r5 found e1 {"node":"b.1","epoch":1}
               -> read r6 nodes/b.1.json
        t=520  r6 failed malformed
        t=700  wake
               -> read r7 nodes/b.1.json
        t=710  r7 failed malformed
        t=1000 wake
               -> read r8 nodes/b.1.json
        t=1010 r8 failed malformed
               idle
               -> idle until=1163 Retry
        "#,
    );
}

#[test]
fn bl_53_who_loses_a_third_race_looks_no_more_often_than_who_waits() {
    check(
        Scenario::joined().slow().with(|config| config.poll = core::time::Duration::from_secs(5)),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=10   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=20   w2 rejected
               -> read r3 cells/a/own.json
        t=30   r3 found e1 {"node":"","epoch":1}
               -> write w4 cells/a/own.json match=e1 node=me epoch=2
        t=40   w4 rejected
               -> read r5 cells/a/own.json
        t=50   r5 found e2 {"node":"","epoch":2}
               -> write w6 cells/a/own.json match=e2 node=me epoch=3
        t=60   w6 rejected
               -> read r7 cells/a/own.json
        t=70   r7 found e3 {"node":"","epoch":3}
               idle
               -> idle until=5340 Retry
        "#,
    );
}
