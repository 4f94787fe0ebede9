//! Judging without the usual evidence: no stamps or wrong ones, a missing lease, a foreign or a broken one.

mod common;

use common::{Scenario, check};

#[test]
fn a_placeholder_takes_a_removed_leases_place_and_is_judged_like_any_lease() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 missing
               -> read r3 retired/b.1.json
        t=3    r3 missing
               -> write w4 nodes/b.1.json absent placeholder by=me
               body w4
               -> {"node":"b.1","expires_ms":1700000060003,"addr":"-","peer_protocol":1,"ownership_index_generation":"1","ttl_ms":60000,"write":"me#2","fenced_by":"me"}
        t=4    w4 applied
               -> read r5 nodes/b.1.json
        t=5    r5 found w4 modified=1000 date=1000
               -> done t1 error held: cell a is held by b.1 at epoch 6
        "#,
    );
}

#[test]
fn a_placeholder_too_old_is_fenced_like_any_lease() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":9,"ttl_ms":60000,"fenced_by":"c.1","write":"c.1#4"} modified=1000 date=1062
               -> done t1 error held: cell a is held by b.1 at epoch 6
        t=2000 claim a
               -> read r3 cells/a/own.json
        t=2001 r3 found e9 {"node":"b.1","epoch":6}
               -> read r4 nodes/b.1.json unless=l5
        t=2002 r4 unchanged date=1063
               -> write w5 nodes/b.1.json match=l5 tombstone by=me
        t=2003 w5 applied
               -> write w6 cells/a/own.json match=e9 node=me epoch=7
        "#,
    );
}

#[test]
fn a_placeholder_lost_to_a_returning_lease_is_judged_afresh() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 missing
               -> read r3 retired/b.1.json
        t=3    r3 missing
               -> write w4 nodes/b.1.json absent placeholder by=me
        t=4    w4 rejected
               -> read r5 nodes/b.1.json
        t=5    r5 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1001
               -> read r6 nodes/b.1.json
        t=6    r6 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1001
               -> done t1 error held: cell a is held by b.1 at epoch 6
        "#,
    );
}

#[test]
fn a_node_whose_lease_was_cleaned_away_is_dead() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 missing
               -> read r3 retired/b.1.json
        t=3    r3 found m1 {"node":"b.1"}
               -> write w4 cells/a/own.json match=e9 node=me epoch=7
        t=5    w4 applied
               -> done t1 claimed epoch=7
        "#,
    );
}

#[test]
fn without_stamps_silence_counts_from_the_first_answer_to_the_issue_of_the_next_read() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a wait=30s
               -> read r1 cells/a/own.json
        t=100  r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=500  r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":3000}
        # The ttl and 1 % of drift after t=500 is t=3530; this read is issued a tick earlier.
        t=3500 wake
               -> read r3 cells/a/own.json unless=e9
        t=3529 r3 unchanged
               -> read r4 nodes/b.1.json unless=l5
        t=3999 r4 unchanged
               idle
               -> idle until=4892 Poll
        t=5000 wake
               -> read r5 cells/a/own.json unless=e9
        t=5010 r5 unchanged
               -> read r6 nodes/b.1.json unless=l5
        t=5020 r6 unchanged
               -> write w7 nodes/b.1.json match=l5 tombstone by=me
        "#,
    );
}

#[test]
fn bl_51_silence_starts_anew_with_every_version() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a wait=30s
               -> read r1 cells/a/own.json
        t=100  r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=500  r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":3000}
        t=3600 wake
               -> read r3 cells/a/own.json unless=e9
        t=3610 r3 unchanged
               -> read r4 nodes/b.1.json unless=l5
        t=3620 r4 found l6 {"node":"b.1","expires_ms":2,"ttl_ms":3000}
               idle
               -> idle until=4513 Poll
        t=6700 wake
               -> read r5 cells/a/own.json unless=e9
        t=6710 r5 unchanged
               -> read r6 nodes/b.1.json unless=l6
        t=6720 r6 unchanged
               -> write w7 nodes/b.1.json match=l6 tombstone by=me
        "#,
    );
}

#[test]
fn stamps_that_go_backwards_are_not_trusted_again() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":3000} modified=1000 date=1001
               -> done t1 error held: cell a is held by b.1 at epoch 6
        t=5100 claim a
               -> read r3 cells/a/own.json
        t=5101 r3 found e9 {"node":"b.1","epoch":6}
               -> read r4 nodes/b.1.json unless=l5
        # A later version with an earlier stamp: by the stamps it would be dead.
        t=5102 r4 found l6 {"node":"b.1","expires_ms":2,"ttl_ms":3000} modified=990 date=1006
               -> done t2 error held: cell a is held by b.1 at epoch 6
        "#,
    );
}

#[test]
fn a_stamp_that_is_later_than_the_date_is_not_trusted_and_keeps_no_cell_from_being_taken() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a wait=30s
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        # The store's clock was set back by an hour, or a proxy dates answers by its own. By the stamps it lives for an hour.
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":3000} modified=5000 date=1400
        t=2500 wake
               -> read r3 cells/a/own.json unless=e9
        t=2501 r3 unchanged
               -> read r4 nodes/b.1.json unless=l5
        t=2502 r4 unchanged date=1402
        t=4000 wake
               -> read r5 cells/a/own.json unless=e9
        t=4001 r5 unchanged
               -> read r6 nodes/b.1.json unless=l5
        t=4002 r6 unchanged date=1404
               -> write w7 nodes/b.1.json match=l5 tombstone by=me
        "#,
    );
}

#[test]
fn stamps_that_disagree_within_the_margin_are_trusted() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a wait=30s
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":3000} modified=1003 date=1000
        t=4000 wake
               -> read r3 cells/a/own.json unless=e9
        t=4001 r3 unchanged
        t=8000 wake
               -> read r4 cells/a/own.json unless=e9
        t=8001 r4 unchanged
               -> read r5 nodes/b.1.json unless=l5
        # A second less than the ttl, the unit and the margin since the stamp.
        t=8002 r5 unchanged date=1008
        "#,
    );
}

#[test]
fn a_date_that_runs_away_from_our_clock_is_not_trusted() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":3000} modified=1000 date=1001
               -> done t1 error held: cell a is held by b.1 at epoch 6
        t=5100 claim a
               -> read r3 cells/a/own.json
        t=5101 r3 found e9 {"node":"b.1","epoch":6}
               -> read r4 nodes/b.1.json unless=l5
        t=5102 r4 found l6 {"node":"b.1","expires_ms":2,"ttl_ms":3000} modified=1006 date=1030
               -> done t2 error held: cell a is held by b.1 at epoch 6
        "#,
    );
}

#[test]
fn a_corrupt_lease_proves_nothing_and_is_judged_with_the_largest_ttl() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        # However old it is by its stamps: they came with garbage.
        t=2    r2 found l5 garbage modified=1000 date=2000
        t=200  wake
               -> read r3 nodes/b.1.json
        t=206  r3 found l5 garbage modified=1000 date=2000
        t=500  wake
               -> read r4 nodes/b.1.json
        t=507  r4 found l5 garbage modified=1000 date=2000
               -> done t1 error held: cell a is held by b.1 at epoch 6
        t=21000 wake
               -> write w5 nodes/me.json match=lease lease
        t=21001 w5 applied
               -> notify authority until=75000
        t=43000 wake
               -> write w6 nodes/me.json match=w5 lease
        t=43001 w6 applied
               -> notify authority until=97000
        # The largest ttl and 1 % of drift after t=2 is t=60602: this read is issued a tick earlier.
        t=60600 claim a
               -> read r7 cells/a/own.json
        t=60601 r7 found e9 {"node":"b.1","epoch":6}
               -> read r8 nodes/b.1.json
        t=60603 r8 found l5 garbage modified=1000 date=2000
               -> done t2 error held: cell a is held by b.1 at epoch 6
        t=60604 claim a
               -> read r9 cells/a/own.json
        t=60605 r9 found e9 {"node":"b.1","epoch":6}
               -> read r10 nodes/b.1.json
        t=60606 r10 found l5 garbage modified=1000 date=2000
               -> write w11 nodes/b.1.json match=l5 tombstone by=me
               body w11
               -> {"node":"b.1","expires_ms":0,"addr":"-","peer_protocol":1,"ownership_index_generation":"1","write":"me#4","fenced_by":"me"}
        "#,
    );
}

#[test]
fn a_foreign_lease_must_also_have_expired_by_the_stores_date() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b","epoch":6}
               -> read r2 nodes/b.json
        t=2    r2 found l5 {"node":"b","expires_ms":1100000} modified=1000 date=1099
               -> done t1 error held: cell a is held by b at epoch 6
        t=3    claim c
               -> read r3 cells/c/own.json
        t=4    r3 found e9 {"node":"d","epoch":6}
               -> read r4 nodes/d.json
        t=5    r4 found l5 {"node":"d","expires_ms":1100000} modified=1000 date=1100
               -> write w5 nodes/d.json match=l5 tombstone by=me
        "#,
    );
}

#[test]
fn a_foreign_expiry_counts_even_when_only_the_date_is_stamped() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b","epoch":6}
               -> read r2 nodes/b.json
        t=2    r2 found l5 {"node":"b","expires_ms":1100000} date=1000
               -> done t1 error held: cell a is held by b at epoch 6
        t=21000 wake
               -> write w3 nodes/me.json match=lease lease
        t=21001 w3 applied
               -> notify authority until=75000
        t=43000 wake
               -> write w4 nodes/me.json match=w3 lease
        t=43001 w4 applied
               -> notify authority until=97000
        t=62000 claim a
               -> read r5 cells/a/own.json
        t=62001 r5 found e9 {"node":"b","epoch":6}
               -> read r6 nodes/b.json unless=l5
        t=62002 r6 unchanged date=1062
               -> done t2 error held: cell a is held by b at epoch 6
        t=65000 wake
               -> write w7 nodes/me.json match=w4 lease
        t=65001 w7 applied
               -> notify authority until=119000
        t=87000 wake
               -> write w8 nodes/me.json match=w7 lease
        t=87001 w8 applied
               -> notify authority until=141000
        t=101000 claim a
               -> read r9 cells/a/own.json
        t=101001 r9 found e9 {"node":"b","epoch":6}
               -> read r10 nodes/b.json unless=l5
        t=101002 r10 unchanged date=1101
               -> write w11 nodes/b.json match=l5 tombstone by=me
        "#,
    );
}

#[test]
fn bl_51_a_foreign_expiry_years_ahead_is_not_remembered_for_years() {
    check(
        Scenario::joined().slow(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b","epoch":6}
               -> read r2 nodes/b.json
        t=2    r2 found l5 {"node":"b","expires_ms":4102444800000} modified=1000 date=1001
               -> done t1 error held: cell a is held by b at epoch 6
        t=20500 wake
               -> write w3 nodes/me.json match=lease lease
        t=20501 w3 applied
               -> notify authority until=74500
        t=43000 wake
               -> write w4 nodes/me.json match=w3 lease
        t=43001 w4 applied
               -> notify authority until=97000
        t=65500 wake
               -> write w5 nodes/me.json match=w4 lease
        t=65501 w5 applied
               -> notify authority until=119500
        t=88000 wake
               -> write w6 nodes/me.json match=w5 lease
        t=88001 w6 applied
               -> notify authority until=142000
        t=110500 wake
               -> write w7 nodes/me.json match=w6 lease
        t=110501 w7 applied
               -> notify authority until=164500
        t=115000 claim a
               -> read r8 cells/a/own.json
        t=115001 r8 found e9 {"node":"b","epoch":6}
               -> done t2 error held: cell a is held by b at epoch 6
        t=121000 claim a
               -> read r9 cells/a/own.json
        t=121001 r9 found e9 {"node":"b","epoch":6}
               -> read r10 nodes/b.json unless=l5
        t=121002 r10 found l6 {"node":"b","expires_ms":0,"fenced_by":"c.1"}
               -> write w11 cells/a/own.json match=e9 node=me epoch=7
        "#,
    );
}

#[test]
fn another_nodes_tombstone_kills_nobody() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        # Two connections were crossed: this is the answer to a read of another key.
        t=2    r2 found l5 {"node":"c.1","expires_ms":0,"fenced_by":"d.1"} modified=1000 date=1001
        t=200  wake
               -> read r3 nodes/b.1.json
        t=202  r3 found l6 {"node":"b.1","expires_ms":1,"ttl_ms":10000} modified=1000 date=1001
               -> done t1 error held: cell a is held by b.1 at epoch 6
        "#,
    );
}

#[test]
fn only_a_marker_that_names_the_node_says_that_it_is_dead() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 missing
               -> read r3 retired/b.1.json
        t=3    r3 found m1 <html>
        t=200  wake
               -> read r4 nodes/b.1.json
        t=201  r4 missing
               -> read r5 retired/b.1.json
        t=202  r5 found m2 {"node":"c.1"}
        t=500  wake
               -> read r6 nodes/b.1.json
        t=501  r6 missing
               -> read r7 retired/b.1.json
        t=502  r7 found m3 {}
               -> write w8 nodes/b.1.json absent placeholder by=me
        # Junk that stays is no marker: as if there were none.
        t=503  w8 applied
               -> read r9 nodes/b.1.json
        "#,
    );
}

#[test]
fn a_304_to_an_unconditional_read_of_a_lease_is_no_answer() {
    check(
        Scenario::joined(),
        r#"
        t=0    claim a
               -> read r1 cells/a/own.json
        t=1    r1 found e9 {"node":"b.1","epoch":6}
               -> read r2 nodes/b.1.json
        t=2    r2 unchanged date=1099
        t=200  wake
               -> read r3 nodes/b.1.json
        t=201  r3 found l5 {"node":"b.1","expires_ms":1,"ttl_ms":3000} modified=1000 date=1001
               -> done t1 error held: cell a is held by b.1 at epoch 6
        "#,
    );
}
