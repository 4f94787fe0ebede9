//! Watching a cell: what its record says, and each time it says something else.

mod common;

use common::{Scenario, check};

#[test]
fn a_watcher_is_told_of_a_claim_a_takeover_an_offer_a_release_and_a_removal() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    r1 missing
               -> done t1 watched absent
        t=1000 wake
               -> read r2 cells/a/own.json
        t=1001 r2 found e1 {"node":"b.1","epoch":1}
               -> notify changed a held node=b.1 epoch=1
        t=2000 wake
               -> read r3 cells/a/own.json unless=e1
        t=2001 r3 found e2 {"node":"c.1","epoch":2}
               -> notify changed a held node=c.1 epoch=2
        t=3000 wake
               -> read r4 cells/a/own.json unless=e2
        t=3001 r4 found e3 {"node":"b.1","epoch":3,"write":"c.1#8"}
               -> notify changed a offered to=b.1 epoch=3
        t=4000 wake
               -> read r5 cells/a/own.json unless=e3
        t=4001 r5 found e4 {"node":"","epoch":3}
               -> notify changed a released epoch=3
        t=5000 wake
               -> read r6 cells/a/own.json unless=e4
        t=5001 r6 missing
               -> notify changed a absent
        "#,
    );
}

#[test]
fn a_record_that_has_not_changed_costs_a_conditional_read_and_says_nothing() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    r1 found e1 {"node":"b.1","epoch":1}
               -> done t1 watched held node=b.1 epoch=1
               idle
               -> idle until=949 Poll
        t=500  wake
        t=1000 wake
               -> read r2 cells/a/own.json unless=e1
        t=1001 r2 unchanged
               idle
               -> idle until=1894 Poll
        t=2000 wake
               -> read r3 cells/a/own.json unless=e1
        "#,
    );
}

#[test]
fn a_new_version_that_says_the_same_is_no_change() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    r1 found e1 {"node":"b.1","epoch":1}
               -> done t1 watched held node=b.1 epoch=1
        t=1000 wake
               -> read r2 cells/a/own.json unless=e1
        t=1001 r2 found e2 {"node":"b.1","epoch":1,"write":"b.1#9"}
        t=2000 wake
               -> read r3 cells/a/own.json unless=e2
        "#,
    );
}

#[test]
fn any_number_of_watchers_share_one_poll_and_one_notice_until_the_last_has_gone() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    watch a
        t=2    r1 missing
               -> done t1 watched absent
               -> done t2 watched absent
        t=3    watch a
               -> done t3 watched absent
        t=1000 wake
               -> read r2 cells/a/own.json
        t=1001 watch a
               -> done t4 watched absent
        t=1002 r2 found e1 {"node":"b.1","epoch":1}
               -> notify changed a held node=b.1 epoch=1
        t=1003 unwatch a
               -> done t5 unwatched
               unwatch a
               -> done t6 unwatched
               unwatch a
               -> done t7 unwatched
        t=2000 wake
               -> read r3 cells/a/own.json unless=e1
        t=2001 unwatch a
               -> done t8 unwatched
        t=2002 r3 found e2 {"node":"c.1","epoch":2}
               idle
               -> idle until=20340 Renew
        t=2003 unwatch a
               -> done t9 unwatched
        "#,
    );
}

#[test]
fn a_watch_that_begins_anew_is_not_answered_by_the_old_ones_read() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    r1 missing
               -> done t1 watched absent
        t=1000 wake
               -> read r2 cells/a/own.json
        t=1001 unwatch a
               -> done t2 unwatched
               watch a
               -> read r3 cells/a/own.json
        t=1002 r2 found e1 {"node":"b.1","epoch":1}
        t=1003 r3 found e2 {"node":"c.1","epoch":2}
               -> done t3 watched held node=c.1 epoch=2
        "#,
    );
}

#[test]
fn each_cell_is_looked_at_in_its_own_time() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    r1 missing
               -> done t1 watched absent
        t=500  watch b
               -> read r2 cells/b/own.json
        t=501  r2 missing
               -> done t2 watched absent
        t=1000 wake
               -> read r3 cells/a/own.json
        t=1001 r3 missing
        t=1500 wake
               -> read r4 cells/b/own.json
        t=1501 unwatch b
               -> done t3 unwatched
               idle
               -> idle until=1969 Poll
        "#,
    );
}

#[test]
fn a_cell_that_this_node_holds_is_watched_like_any_other() {
    check(
        Scenario::joined().slow().held("a"),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    r1 found a.1 {"node":"me","epoch":1,"write":"me#7"}
               -> done t1 watched held node=me epoch=1
        t=2    release a
               -> notify ended a epoch=1
               -> write w2 cells/a/own.json match=a.1 released epoch=1
        t=3    w2 applied
               -> done t2 released
        t=1000 wake
               -> read r3 cells/a/own.json unless=a.1
        t=1001 r3 found w2
               -> notify changed a released epoch=1
        "#,
    );
}

#[test]
fn a_corrupt_record_is_reported_once_and_watched_on() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    r1 found e1 {"node":7}
               -> done t1 watched bad: cells/a/own.json (etag e1) is corrupt: invalid type: integer `7`, expected a string at line 1 column 9; look at it, and put a record in its place with an epoch above every earlier one: do not remove it
        t=1000 wake
               -> read r2 cells/a/own.json
        t=1001 r2 unchanged
        t=2000 wake
               -> read r3 cells/a/own.json
        t=2001 r3 found e2 {"node":"b.1","epoch":2}
               -> notify changed a held node=b.1 epoch=2
        t=3000 wake
               -> read r4 cells/a/own.json unless=e2
        t=3001 r4 found e3 {}
               -> notify changed a bad: cells/a/own.json (etag e3) is corrupt: missing field `node` at line 1 column 2; look at it, and put a record in its place with an epoch above every earlier one: do not remove it
        "#,
    );
}

#[test]
fn a_look_that_fails_is_repeated_later_each_time_and_loses_no_watcher() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    r1 found e1 {"node":"b.1","epoch":1}
               -> done t1 watched held node=b.1 epoch=1
        t=1000 wake
               -> read r2 cells/a/own.json unless=e1
        t=1001 r2 failed network
               idle
               -> idle until=1076 Poll
        t=2000 wake
               -> read r3 cells/a/own.json unless=e1
        t=2001 r3 failed denied
               idle
               -> idle until=2111 Poll
        t=3000 wake
               -> read r4 cells/a/own.json unless=e1
        t=3001 r4 failed timed-out
               idle
               -> idle until=3348 Poll
        t=4000 wake
               -> read r5 cells/a/own.json unless=e1
        t=4001 r5 unchanged
               idle
               -> idle until=4895 Poll
        t=5000 wake
               -> read r6 cells/a/own.json unless=e1
        t=5001 r6 failed network
               idle
               -> idle until=5077 Poll
        "#,
    );
}

#[test]
fn a_throttled_look_is_not_repeated_within_a_second() {
    check(
        Scenario::joined().slow().with(|config| config.poll = core::time::Duration::from_millis(10)),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    r1 throttled
               idle
               -> idle until=1467 Poll
        t=1000 wake
        t=1500 wake
               -> read r2 cells/a/own.json
        t=1501 r2 missing
               -> done t1 watched absent
               idle
               -> idle until=1510 Poll
        "#,
    );
}

#[test]
fn who_has_seen_nothing_yet_waits_out_trouble_with_patience_and_no_longer() {
    check(
        Scenario::joined().slow().with(|config| config.patience = core::time::Duration::from_secs(3)),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    r1 failed network
        t=2000 watch a
               -> read r2 cells/a/own.json
        t=2001 r2 failed network
        t=3000 wake
               -> done t1 error unavailable: the connection to the store failed: cells/a/own.json
               -> read r3 cells/a/own.json
        t=3001 r3 failed timed-out
        t=4000 wake
               -> read r4 cells/a/own.json
        t=4001 r4 missing
               -> done t2 watched absent
        "#,
    );
}

#[test]
fn a_store_that_denies_the_first_look_ends_the_watch_at_once() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    r1 failed denied
               -> done t1 error denied: the store denied access
               idle
               -> idle until=20340 Renew
        "#,
    );
}

#[test]
fn an_answer_to_another_question_proves_nothing() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    r1 unchanged
        t=1000 wake
               -> read r2 cells/a/own.json
        t=1001 r2 missing
               -> done t1 watched absent
        t=2000 wake
               -> read r3 cells/a/own.json
        t=2001 r3 unchanged
        t=3000 wake
               -> read r4 cells/a/own.json
        "#,
    );
}

#[test]
fn a_watch_needs_a_lease_and_ends_with_it() {
    check(
        Scenario::fresh(),
        r#"
        t=0    watch a
               -> done t1 error fenced: this node has not joined
               unwatch a
               -> done t2 unwatched
        "#,
    );
    check(
        Scenario::joined(),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    r1 missing
               -> done t1 watched absent
        t=2    watch b
               -> read r2 cells/b/own.json
        t=9000 wake
               -> notify fenced expired
               -> done t2 error fenced: this session has ended (expired); join again as a new one
        t=9001 r2 missing
               r3 found e1 {"node":"b.1","epoch":1}
               watch a
               -> done t3 error fenced: this session has ended (expired); join again as a new one
               unwatch a
               -> done t4 unwatched
               idle
               -> idle
        "#,
    );
}

#[test]
fn a_leaving_node_watches_on_until_its_session_ends() {
    check(
        Scenario::joined().slow().held("b"),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    r1 missing
               -> done t1 watched absent
        t=2    leave
               -> notify ended b epoch=1
               -> write w2 cells/b/own.json match=b.1 released epoch=1
        t=1000 wake
               -> read r3 cells/a/own.json
        t=1001 r3 found e1 {"node":"c.1","epoch":1}
               -> notify changed a held node=c.1 epoch=1
               watch a
               -> done t3 watched held node=c.1 epoch=1
        t=1002 w2 applied
               -> write w4 nodes/me.json match=lease tombstone by=me
        t=1003 w4 applied
               -> notify fenced left
               -> done t2 left
               idle
               -> idle
        "#,
    );
}

#[test]
fn an_epoch_that_a_watcher_saw_outdates_a_remembered_look_up() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    locate a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":60000} modified=1000 date=1001
               -> done t1 at b.1 addr=none epoch=6
        t=3    watch a
               -> read r3 cells/a/own.json
        t=4    r3 found e10 {"node":"c.1","epoch":7}
               -> done t2 watched held node=c.1 epoch=7
        t=5    locate a age=1000s
               -> read r4 cells/a/own.json
        "#,
    );
}

#[test]
fn a_304_to_a_look_that_named_no_version_is_no_answer() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    watch a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 garbage
               -> done t1 watched bad: cells/a/own.json (etag e9) is corrupt: a record is a JSON object; look at it, and put a record in its place with an epoch above every earlier one: do not remove it
        t=1000 wake
               -> read r2 cells/a/own.json
        t=1001 r2 unchanged
        t=3000 wake
               -> read r3 cells/a/own.json
        t=3001 r3 found e9 {"node":"b.1","epoch":1}
               -> notify changed a held node=b.1 epoch=1
        "#,
    );
}
