//! celld's surface over the file store, and over one that is scripted to lose requests and answers.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test panics on whatever it does not expect")]

mod common;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use common::TempDir;
use tenure_blocking::ownership::{
    CasGuard, CasOutcome, LeaseCasOutcome, OwnerRecord, OwnershipError, OwnershipStore,
};
use tenure_blocking::{FileStore, Store};
use tenure_core::{
    BadRecord, CellId, ETag, Epoch, Fault, FaultKind, Key, LeaseRecord, ListReply, NodeId, Op, Page,
    ReadReply, Reply, Stamps, StoreTime, WriteReply,
};

/// What happens to one request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Act {
    /// A conflict, without effect.
    Conflict,
    /// It is done, and what interferes is said to be another.
    ConflictDone,
    /// It is done and answered.
    Do,
    /// Another client's write goes first.
    Overtaken,
    /// It is done, and the answer is lost.
    LoseAnswer,
    /// It is lost.
    LoseRequest,
    /// It never left.
    NotSent,
    /// It is answered with bytes that are no record.
    Garble,
    /// It is refused for good.
    Refuse,
    /// It is done twice, as by a proxy that resends; the second answer arrives.
    Twice,
    /// It is put off.
    Throttle,
    /// It is done, and put off all the same.
    ThrottleDone,
    /// It is answered by something before the store, whose pages have weak tags.
    Weaken,
    /// It is rejected whatever the guard.
    Reject,
}

/// The file store, whose next writes and reads go as scripted.
struct Scripted {
    store: FileStore,
    writes: Mutex<VecDeque<Act>>,
    reads: Mutex<VecDeque<Act>>,
    sent: Mutex<Vec<Vec<u8>>>,
}

impl Store for Scripted {
    fn execute(&self, op: Op) -> Reply {
        let lost = || Fault::new(FaultKind::TimedOut, "lost");
        let script = if matches!(op, Op::Write(_)) { &self.writes } else { &self.reads };
        let act = script.lock().expect("no panic").pop_front().unwrap_or(Act::Do);
        let Op::Write(write) = &op else {
            return match (act, &op) {
                (Act::Do, _) => self.store.execute(op),
                (Act::Garble, _) => {
                    let (etag, body) = (ETag::new(b"g").expect("not empty"), b"<html>".as_slice().into());
                    Reply::Read(ReadReply::Found { etag, body, stamps: Stamps::default() })
                }
                (Act::Throttle, _) => Reply::Read(ReadReply::Throttled { after: None }),
                (_, Op::List(_)) => Reply::List(ListReply::Failed(lost())),
                _ => Reply::Read(ReadReply::Failed(lost())),
            };
        };
        self.sent.lock().expect("no panic").push(write.body.to_vec());
        Reply::Write(match act {
            Act::Conflict => WriteReply::Conflict,
            Act::ConflictDone => {
                self.store.execute(op);
                WriteReply::Conflict
            }
            Act::Do => return self.store.execute(op),
            Act::Overtaken => {
                let body = br#"{"node":"other.1","epoch":9,"write":"other.1#1"}"#;
                let guard = write.guard.clone();
                common::applied(common::write(&self.store, &write.key, guard, body));
                return self.store.execute(op);
            }
            Act::LoseAnswer => {
                self.store.execute(op);
                WriteReply::Unknown(lost())
            }
            Act::Garble | Act::LoseRequest => WriteReply::Unknown(lost()),
            Act::NotSent => WriteReply::NotApplied(lost()),
            Act::Refuse => WriteReply::Refused(Fault::new(FaultKind::Denied, "no")),
            Act::Reject => WriteReply::Rejected,
            Act::Throttle => WriteReply::Throttled { after: None },
            Act::ThrottleDone => {
                self.store.execute(op);
                WriteReply::Throttled { after: None }
            }
            Act::Weaken => WriteReply::Applied { etag: ETag::new(b"W/\"page\"").expect("not empty") },
            Act::Twice => {
                self.store.execute(op.clone());
                return self.store.execute(op);
            }
        })
    }
}

struct Bench {
    _dir: TempDir,
    scripted: Arc<Scripted>,
    ownership: OwnershipStore,
}

fn bench(writes: &[Act], reads: &[Act]) -> Bench {
    let dir = TempDir::new();
    let scripted = Arc::new(Scripted {
        store: dir.store(),
        writes: Mutex::new(writes.iter().copied().collect()),
        reads: Mutex::new(reads.iter().copied().collect()),
        sent: Mutex::default(),
    });
    let ownership = OwnershipStore::new(scripted.clone(), node("a.1"));
    Bench { _dir: dir, scripted, ownership }
}

impl Bench {
    fn claim(&self) -> Result<CasOutcome, OwnershipError> {
        self.ownership.cas_owner(&cell(), CasGuard::Absent, Epoch::FIRST)
    }

    fn owner(&self) -> Option<OwnerRecord> {
        self.ownership.read_owner(&cell()).expect("readable")
    }

    fn sent(&self) -> Vec<Vec<u8>> {
        self.scripted.sent.lock().expect("no panic").clone()
    }
}

fn cell() -> CellId {
    CellId::new("orders:42").expect("legal")
}

fn node(id: &str) -> NodeId {
    NodeId::parse(id).expect("legal")
}

fn epoch(number: u64) -> Epoch {
    Epoch::new(number).expect("positive")
}

fn lease(id: &str, expires_ms: u64) -> LeaseRecord {
    let body = format!(r#"{{"node":"{id}","expires_ms":{expires_ms},"addr":"h:1","ttl_ms":10000}}"#);
    LeaseRecord::parse(body.as_bytes()).expect("legal")
}

#[test]
fn a_cell_is_claimed_released_and_claimed_at_the_next_epoch() {
    let bench = bench(&[], &[]);
    assert_eq!(bench.owner(), None);
    assert_eq!(bench.claim(), Ok(CasOutcome::Applied));
    assert_eq!(bench.claim(), Ok(CasOutcome::Rejected));
    let owner = bench.owner().expect("claimed");
    assert_eq!((owner.record.node.clone(), owner.record.epoch), (Some(node("a.1")), epoch(1)));
    assert!(owner.stamps.date >= owner.stamps.modified && owner.stamps.date.is_some());
    let ownership = &bench.ownership;
    assert_eq!(ownership.release_owner(&cell(), epoch(2)), Ok(CasOutcome::Rejected));
    assert_eq!(ownership.release_owner(&cell(), epoch(1)), Ok(CasOutcome::Applied));
    assert_eq!(ownership.release_owner(&cell(), epoch(1)), Ok(CasOutcome::Rejected));
    let released = bench.owner().expect("released");
    assert_eq!((released.record.node.clone(), released.record.epoch), (None, epoch(1)));
    let stale = CasGuard::Match(owner.etag);
    assert_eq!(ownership.cas_owner(&cell(), stale, epoch(2)), Ok(CasOutcome::Rejected));
    let current = CasGuard::Match(released.etag);
    assert_eq!(ownership.cas_owner(&cell(), current, epoch(2)), Ok(CasOutcome::Applied));
    let other = OwnershipStore::new(bench.scripted.clone(), node("b.1"));
    assert_eq!(other.release_owner(&cell(), epoch(2)), Ok(CasOutcome::Rejected));
    assert_eq!(bench.owner().expect("ours").record.epoch, epoch(2));
}

#[test]
fn a_lease_is_created_and_renewed_under_the_tag_of_its_last_version() {
    let bench = bench(&[], &[]);
    let ownership = &bench.ownership;
    assert_eq!(ownership.read_node_lease(&node("a.1")), Ok(None));
    let created = ownership.cas_node_lease(&lease("a.1", 5), CasGuard::Absent).expect("settled");
    let LeaseCasOutcome::Applied { etag } = created else { panic!("nobody was there") };
    let again = ownership.cas_node_lease(&lease("a.1", 5), CasGuard::Absent);
    assert_eq!(again, Ok(LeaseCasOutcome::Rejected));
    // The same fields again: the bytes, and so the tag, differ all the same.
    let renewed = ownership.cas_node_lease(&lease("a.1", 5), CasGuard::Match(etag.clone())).expect("settled");
    assert_ne!(renewed, LeaseCasOutcome::Applied { etag: etag.clone() });
    let stale = ownership.cas_node_lease(&lease("a.1", 9), CasGuard::Match(etag));
    assert_eq!(stale, Ok(LeaseCasOutcome::Rejected));
    let read = ownership.read_node_lease(&node("a.1")).expect("readable").expect("there");
    assert_eq!(LeaseCasOutcome::Applied { etag: read.etag }, renewed);
    assert_eq!(read.record.addr.as_deref(), Some("h:1"));
    let missing = ownership.cas_node_lease(&lease("c.1", 5), CasGuard::Match(read_tag(&bench)));
    assert_eq!(missing, Ok(LeaseCasOutcome::Rejected));
}

#[test]
fn a_node_is_fenced_under_the_version_that_was_judged_and_its_other_fields_stay() {
    let body = br#"{"node":"x.1","expires_ms":7,"ttl_ms":3000,"zz":[1.50]}"#;
    let key = Key::lease(&node("x.1"));
    for writes in [&[][..], &[Act::LoseAnswer], &[Act::LoseRequest]] {
        let bench = bench(writes, &[]);
        common::applied(common::write(&bench.scripted.store, &key, CasGuard::Absent, body));
        let judged = bench.ownership.read_node_lease(&node("x.1")).expect("readable").expect("there");
        let fenced = bench.ownership.fence_node_lease(&node("x.1"), &judged);
        let found = bench.ownership.read_node_lease(&node("x.1")).expect("readable").expect("there");
        assert_eq!(fenced, Ok(LeaseCasOutcome::Applied { etag: found.etag.clone() }), "{writes:?}");
        assert_eq!(found.record.fenced_by.as_deref(), Some("a.1"));
        assert!(found.record.is_tombstone() && found.body.windows(11).any(|part| part == br#""zz":[1.50]"#));
        let again = bench.ownership.fence_node_lease(&node("x.1"), &judged);
        assert_eq!(again, Ok(LeaseCasOutcome::Rejected));
    }
}

fn read_tag(bench: &Bench) -> ETag {
    bench.ownership.read_node_lease(&node("a.1")).expect("readable").expect("there").etag
}

#[test]
fn a_write_that_landed_without_an_answer_is_applied() {
    for writes in [&[Act::LoseAnswer][..], &[Act::LoseRequest, Act::LoseAnswer], &[Act::Twice]] {
        let bench = bench(writes, &[]);
        assert_eq!(bench.claim(), Ok(CasOutcome::Applied), "{writes:?}");
        assert_eq!(bench.owner().expect("claimed").record.node, Some(node("a.1")));
        let sent = bench.sent();
        assert!(sent.iter().all(|body| *body == sent[0]), "attempts of one write differ");
    }
}

#[test]
fn a_write_that_was_put_off_and_then_refused_is_looked_for() {
    let bench = bench(&[Act::ThrottleDone, Act::Refuse], &[]);
    assert_eq!(bench.claim(), Ok(CasOutcome::Applied));
}

#[test]
fn a_write_that_was_interfered_with_and_then_refused_is_looked_for() {
    let bench = bench(&[Act::ConflictDone, Act::Refuse], &[Act::LoseRequest; 3]);
    assert_eq!(bench.claim(), Ok(CasOutcome::Applied));
}

#[test]
fn bl_40_a_success_under_a_weak_tag_is_read_back() {
    let bench = bench(&[Act::Weaken], &[]);
    assert_eq!(bench.claim(), Ok(CasOutcome::Applied));
    assert_eq!((bench.sent().len(), bench.owner().map(|owner| owner.record.epoch)), (2, Some(epoch(1))));
}

#[test]
fn a_write_without_effect_is_sent_again() {
    for act in [Act::LoseRequest, Act::Conflict, Act::NotSent, Act::Throttle, Act::Reject] {
        let bench = bench(&[act], &[]);
        assert_eq!(bench.claim(), Ok(CasOutcome::Applied), "{act:?}");
        assert_eq!(bench.sent().len(), 2, "{act:?}");
    }
}

#[test]
fn a_write_overtaken_by_another_is_rejected_whatever_its_answer_was() {
    for writes in
        [&[Act::Overtaken][..], &[Act::LoseRequest, Act::Overtaken], &[Act::Conflict, Act::Overtaken]]
    {
        let bench = bench(writes, &[]);
        assert_eq!(bench.claim(), Ok(CasOutcome::Rejected), "{writes:?}");
        assert_eq!(bench.owner().expect("theirs").record.node, Some(node("other.1")));
    }
}

#[test]
fn a_write_that_cannot_be_settled_is_an_error_and_never_an_outcome() {
    let lost = bench(&[Act::LoseRequest; 6], &[]);
    assert!(matches!(lost.claim(), Err(OwnershipError::Unsettled { key, .. }) if key == Key::owner(&cell())));
    assert_eq!(lost.sent().len(), 6);
    // It landed, but nobody can see it; a rejection that cannot be explained is no rejection either.
    for act in [Act::LoseAnswer, Act::Twice] {
        let blind = bench(
            &[act, Act::Reject, Act::Reject, Act::Reject, Act::Reject, Act::Reject],
            &[Act::LoseRequest; 18],
        );
        assert!(matches!(blind.claim(), Err(OwnershipError::Unsettled { .. })), "{act:?}");
        assert_eq!(blind.owner().expect("it did land").record.node, Some(node("a.1")));
    }
}

#[test]
fn answers_of_garbage_do_not_tell_what_became_of_a_write() {
    for garbled in [1, 2] {
        let bench = bench(&[Act::LoseAnswer], &vec![Act::Garble; garbled]);
        assert_eq!(bench.claim(), Ok(CasOutcome::Applied), "{garbled}");
    }
}

#[test]
fn a_refusal_does_not_settle_an_earlier_attempt() {
    let refused = bench(&[Act::Refuse], &[]);
    assert!(matches!(refused.claim(), Err(OwnershipError::Store(fault)) if fault.kind == FaultKind::Denied));
    assert_eq!(refused.sent().len(), 1);
    let late =
        bench(&[Act::LoseRequest, Act::Refuse, Act::Refuse, Act::Refuse, Act::Refuse, Act::Refuse], &[]);
    assert!(matches!(late.claim(), Err(OwnershipError::Unsettled { .. })));
    let landed = bench(&[Act::LoseAnswer, Act::Refuse], &[Act::LoseRequest; 3]);
    assert_eq!(landed.claim(), Ok(CasOutcome::Applied));
}

#[test]
fn what_was_never_sent_is_a_fault_of_the_store_and_what_makes_no_sense_is_said() {
    let unsent = bench(&[Act::NotSent; 6], &[]);
    assert!(matches!(unsent.claim(), Err(OwnershipError::Store(fault)) if fault.kind == FaultKind::TimedOut));
    assert_eq!(unsent.owner(), None);
    let absurd = bench(&[Act::Reject; 6], &[]);
    let error = absurd.claim().expect_err("it contradicts itself");
    assert_eq!(error.kind(), "inconsistent");
    assert!(error.to_string().contains("cells/orders:42/own.json"), "{error}");
}

#[test]
fn a_corrupt_record_is_named_and_left_alone() {
    let bench = bench(&[], &[]);
    let key = Key::owner(&cell());
    common::applied(common::write(&bench.scripted.store, &key, CasGuard::Absent, b"{\"node\":7}"));
    for error in [
        bench.ownership.read_owner(&cell()).expect_err("corrupt"),
        bench.ownership.release_owner(&cell(), epoch(1)).expect_err("corrupt"),
    ] {
        assert!(
            matches!(&error, OwnershipError::Bad(BadRecord::Corrupt { key: found, .. }) if *found == key)
        );
        assert_eq!(error.kind(), "corrupt");
    }
    // Nothing tells it from our own record, garbled on its way: no outcome, then.
    assert!(matches!(bench.claim(), Err(OwnershipError::Bad(BadRecord::Corrupt { .. }))));
    assert!(bench.sent().len() == 1);
}

#[test]
fn a_corrupt_or_missing_record_is_replaced_by_one_that_nobody_owns() {
    let key = Key::owner(&cell());
    for writes in [&[][..], &[Act::LoseRequest], &[Act::LoseAnswer], &[Act::Conflict]] {
        let missing = bench(writes, &[]);
        let ownership = &missing.ownership;
        assert_eq!(ownership.free_owner(&cell(), CasGuard::Absent, epoch(7)), Ok(CasOutcome::Applied));
        let freed = missing.owner().expect("put there");
        assert_eq!((freed.record.node, freed.record.epoch), (None, epoch(7)));

        let corrupt = bench(writes, &[]);
        let etag = common::applied(common::write(&corrupt.scripted.store, &key, CasGuard::Absent, b"{"));
        let guard = || CasGuard::Match(etag.clone());
        assert_eq!(corrupt.ownership.free_owner(&cell(), guard(), epoch(8)), Ok(CasOutcome::Applied));
        assert_eq!(corrupt.owner().expect("mended").record.epoch, epoch(8));
        assert_eq!(corrupt.ownership.free_owner(&cell(), guard(), epoch(9)), Ok(CasOutcome::Rejected));
    }
}

#[test]
fn an_offer_to_this_node_is_not_its_to_release() {
    let bench = bench(&[], &[]);
    let offer = br#"{"node":"a.1","epoch":8,"write":"b.1#3"}"#;
    common::applied(common::write(&bench.scripted.store, &Key::owner(&cell()), CasGuard::Absent, offer));
    assert_eq!(bench.ownership.release_owner(&cell(), epoch(8)), Ok(CasOutcome::Rejected));
}

#[test]
fn capacity_peers_are_the_recent_leases_and_nothing_hides_them() {
    let bench = bench(&[], &[]);
    let store = &bench.scripted.store;
    for (id, fenced) in [("a.1", ""), ("b.1", ""), ("dead.1", r#","fenced_by":"a.1""#), ("old.1", "")] {
        let body = format!(r#"{{"node":"{id}","expires_ms":7{fenced}}}"#);
        common::applied(common::write(store, &Key::lease(&node(id)), CasGuard::Absent, body.as_bytes()));
    }
    let garbage = Key::lease(&node("bad.1"));
    common::applied(common::write(store, &garbage, CasGuard::Absent, b"\xff"));
    let elsewhere = Key::lease(&node("liar.1"));
    common::applied(common::write(store, &elsewhere, CasGuard::Absent, br#"{"node":"b.1","expires_ms":7}"#));
    let old = store
        .journal_path()
        .parent()
        .and_then(|path| path.parent())
        .expect("below it")
        .join("nodes/old.1.json");
    let file = std::fs::File::options().write(true).open(old).expect("there");
    let stale = StoreTime::from_millis(1_700_000_000_000);
    let since = core::time::Duration::from_nanos(stale.as_nanos());
    file.set_modified(std::time::UNIX_EPOCH + since).expect("ours");
    let peers = bench.ownership.read_capacity_peers().expect("readable");
    let ids: Vec<_> = peers.iter().map(|peer| peer.record.node.as_str()).collect();
    assert_eq!(ids, ["a.1", "b.1"]);
}

#[test]
fn a_fleet_that_cannot_be_read_whole_is_an_error() {
    let bench = bench(&[], &[Act::LoseRequest; 3]);
    assert!(matches!(bench.ownership.read_capacity_peers(), Err(OwnershipError::Store(_))));
    let store = &bench.scripted.store;
    let key = Key::lease(&node("b.1"));
    common::applied(common::write(store, &key, CasGuard::Absent, br#"{"node":"b.1","expires_ms":7}"#));
    bench.scripted.reads.lock().expect("no panic").extend([
        Act::Do,
        Act::LoseRequest,
        Act::LoseRequest,
        Act::LoseRequest,
    ]);
    assert!(matches!(bench.ownership.read_capacity_peers(), Err(OwnershipError::Store(_))));
    assert_eq!(bench.ownership.read_capacity_peers().expect("readable").len(), 1);
}

#[test]
fn a_node_id_used_again_after_a_restart_still_writes_other_bytes() {
    let bench = bench(&[], &[]);
    assert_eq!(bench.claim(), Ok(CasOutcome::Applied));
    let restarted = OwnershipStore::new(bench.scripted.clone(), node("a.1"));
    assert_eq!(restarted.cas_owner(&cell(), CasGuard::Absent, epoch(1)), Ok(CasOutcome::Rejected));
    let sent = bench.sent();
    assert_ne!(sent[0], sent[1]);
}

#[test]
fn bl_46_a_listing_that_goes_round_in_circles_is_an_error() {
    struct Circle;
    impl Store for Circle {
        fn execute(&self, op: Op) -> Reply {
            let Op::List(op) = op else { panic!("only lists are asked for") };
            let next = if op.after.as_deref() == Some("a") { "b" } else { "a" };
            Reply::List(ListReply::Page(Page { next: Some(next.into()), ..Page::default() }))
        }
    }
    let ownership = OwnershipStore::new(Arc::new(Circle), node("a.1"));
    assert!(matches!(ownership.read_capacity_peers(), Err(OwnershipError::Store(_))));
}
