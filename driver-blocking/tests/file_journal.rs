//! The journal: its lines, and each state in which a killed process can leave its end.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test panics on whatever it does not expect")]

mod common;

use core::time::Duration;
use std::fs;

use common::{TIMEOUT, TempDir, applied, found, read, remove, write};
use tenure_blocking::{Change, FileStore, Journal, JournalEntry, Store};
use tenure_core::{Guard, Key, RemoveReply, WriteReply};

fn entries(store: &FileStore) -> Vec<JournalEntry> {
    store.journal(TIMEOUT).expect("settled").collect::<Result<_, _>>().expect("readable")
}

/// A store with a journal of two writes of one key.
fn two_writes(dir: &TempDir) -> FileStore {
    let store = dir.store().with_journal().expect("a journal");
    let first = applied(write(&store, &Key::probe(1), Guard::Absent, b"one"));
    applied(write(&store, &Key::probe(1), Guard::Match(first), b"two"));
    store
}

#[test]
fn every_applied_change_is_one_line_in_order_and_nothing_else_is() {
    let dir = TempDir::new();
    let store = two_writes(&dir);
    assert_eq!(write(&store, &Key::probe(1), Guard::Absent, b"x"), WriteReply::Rejected);
    applied(write(&dir.store(), &Key::probe(2), Guard::Absent, b"\xff\x00"));
    assert_eq!(remove(&store, &Key::probe(1)), RemoveReply::Removed);
    assert_eq!(remove(&store, &Key::probe(1)), RemoveReply::Removed);
    let entries = entries(&store);
    let keys: Vec<_> = entries.iter().map(|entry| entry.key.as_str()).collect();
    let (one, two) = (Key::probe(1), Key::probe(2));
    assert_eq!(keys, [one.as_str(), one.as_str(), two.as_str(), one.as_str()]);
    let (etag, body, modified, _) = found(read(&store, &two));
    assert_eq!(entries[2].change, Change::Wrote { etag, body: body.into() });
    assert_eq!((entries[2].previous.clone(), entries[2].stamp), (None, modified));
    assert_eq!(entries[3].change, Change::Removed);
    assert!(entries[3].previous.is_some());
    assert!(entries.iter().map(|entry| entry.seq).eq(1..=4));
}

#[test]
fn a_store_without_a_journal_says_so() {
    let dir = TempDir::new();
    let store = dir.store();
    applied(write(&store, &Key::probe(1), Guard::Absent, b"one"));
    assert!(store.journal(TIMEOUT).expect_err("none").to_string().contains("does not exist"));
    assert!(Journal::read(&store.journal_path()).is_err());
}

#[test]
fn killed_between_the_change_and_its_confirmation_the_change_counts() {
    let dir = TempDir::new();
    let store = two_writes(&dir);
    let whole = fs::read(store.journal_path()).expect("ours");
    fs::write(store.journal_path(), &whole[..whole.len() - 1]).expect("ours");
    assert_eq!(Journal::read(&store.journal_path()).expect("there").count(), 1, "an open line is not read");
    assert_eq!(entries(&store).len(), 2);
    assert_eq!(fs::read(store.journal_path()).expect("ours"), whole);
}

#[test]
fn killed_between_the_announcement_and_the_change_the_line_is_struck() {
    let dir = TempDir::new();
    let store = two_writes(&dir);
    let whole = fs::read(store.journal_path()).expect("ours");
    let text = String::from_utf8(whole.clone()).expect("text");
    let first = text.lines().next().expect("two lines");
    // The first version is no longer there: as if its writer had only announced it.
    for cut in [first.len(), first.len() - 1, first.len() / 2, 1] {
        fs::write(store.journal_path(), [&whole[..], &first.as_bytes()[..cut]].concat()).expect("ours");
        assert_eq!(entries(&store).len(), 2, "{cut}");
        assert_eq!(fs::read(store.journal_path()).expect("ours"), whole, "{cut}");
    }
}

#[test]
fn an_open_removal_counts_if_the_record_is_gone() {
    let dir = TempDir::new();
    let store = two_writes(&dir);
    let open = r#"{"key":"probe/0000000000000001","previous":null,"removed":true,"modified_ns":1}"#;
    let whole = fs::read(store.journal_path()).expect("ours");
    fs::write(store.journal_path(), [&whole[..], open.as_bytes()].concat()).expect("ours");
    assert_eq!(entries(&store).len(), 2, "the record is there");
    fs::write(store.journal_path(), [&whole[..], open.as_bytes()].concat()).expect("ours");
    fs::remove_file(dir.path().join(Key::probe(1).as_str())).expect("there");
    assert_eq!(entries(&store).len(), 3, "the record is gone");
}

#[test]
fn the_next_writer_settles_an_open_line_before_its_own() {
    let dir = TempDir::new();
    let store = two_writes(&dir);
    let whole = fs::read(store.journal_path()).expect("ours");
    fs::write(store.journal_path(), &whole[..whole.len() - 1]).expect("ours");
    applied(write(&store, &Key::probe(2), Guard::Absent, b"three"));
    fs::write(store.journal_path(), [&fs::read(store.journal_path()).expect("ours")[..], b"{\"key"].concat())
        .expect("ours");
    applied(write(&store, &Key::probe(3), Guard::Absent, b"four"));
    let read: Vec<_> = Journal::read(&store.journal_path()).expect("there").collect();
    assert_eq!(read.len(), 4);
    assert!(read.iter().all(Result::is_ok));
}

#[test]
fn an_unfinished_temporary_file_is_thrown_away_by_the_next_writer() {
    let dir = TempDir::new();
    let store = dir.store();
    let first = applied(write(&store, &Key::probe(1), Guard::Absent, b"one"));
    for stripe in 0..64 {
        fs::write(dir.path().join(format!(".tenure-1/new-{stripe:02x}")), b"half a rec").expect("ours");
    }
    applied(write(&store, &Key::probe(1), Guard::Match(first), b"two"));
    assert_eq!(found(read(&store, &Key::probe(1))).1, b"two");
}

#[test]
fn a_journal_of_nonsense_is_an_error_with_its_line() {
    let dir = TempDir::new();
    let store = two_writes(&dir);
    let whole = fs::read(store.journal_path()).expect("ours");
    for nonsense in [&b"nonsense\n"[..], b"\n", b"\xff\xfe\n", b"{}\n", b"[1,2]\n", &[b'x'; 2 * 1024 * 1024]]
    {
        fs::write(store.journal_path(), [&whole[..], nonsense, b"\n", &whole].concat()).expect("ours");
        let read: Vec<_> = Journal::read(&store.journal_path()).expect("there").collect();
        assert_eq!(read.len(), 3);
        assert_eq!(read[2].as_ref().expect_err("nonsense").line, 3);
    }
}

#[test]
fn a_write_that_never_gets_the_journal_is_not_applied() {
    let dir = TempDir::new();
    let store = two_writes(&dir);
    let held = fs::File::open(store.journal_path()).expect("ours");
    held.lock().expect("free");
    let op = match common::write_op(&Key::probe(9), Guard::Absent, b"x") {
        tenure_core::Op::Write(op) => tenure_core::WriteOp { timeout: Duration::from_millis(50), ..op },
        other => panic!("{other:?}"),
    };
    match store.execute(tenure_core::Op::Write(op)) {
        tenure_core::Reply::Write(WriteReply::NotApplied(_)) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(read(&store, &Key::probe(9)), tenure_core::ReadReply::Missing);
    drop(held);
    assert_eq!(entries(&store).len(), 2);
}
