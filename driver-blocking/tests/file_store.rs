//! The file store within one process: compare-and-swap row by row, stamps, listings, and garbage.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test panics on whatever it does not expect")]

mod common;

use core::time::Duration;
use std::fs;
use std::os::unix::fs::symlink;

use common::{TIMEOUT, TempDir, applied, found, keys, list, page, read, read_unless, remove, write};
use tenure_blocking::{Durability, FileStore, Store};
use tenure_core::{
    AttemptId, CellId, ETag, FaultKind, Guard, Key, ListReply, NodeId, Op, RECORD_MAX, ReadReply,
    RemoveReply, Reply, StoreClock, WriteOp, WriteReply,
};

fn cell(text: &str) -> Key {
    Key::owner(&CellId::new(text).expect("a legal name"))
}

#[test]
fn a_record_is_created_once() {
    let dir = TempDir::new();
    let store = dir.store();
    let etag = applied(write(&store, &cell("a"), Guard::Absent, b"one"));
    assert_eq!(write(&store, &cell("a"), Guard::Absent, b"two"), WriteReply::Rejected);
    let (found_tag, body, ..) = found(read(&store, &cell("a")));
    assert_eq!((found_tag, &body[..]), (etag, &b"one"[..]));
    assert_eq!(fs::read(dir.path().join("cells/a/own.json")).expect("a plain file"), b"one");
}

#[test]
fn an_update_needs_the_tag_of_the_current_version() {
    let dir = TempDir::new();
    let store = dir.store();
    let first = applied(write(&store, &cell("a"), Guard::Absent, b"one"));
    let second = applied(write(&store, &cell("a"), Guard::Match(first.clone()), b"two"));
    assert_ne!(first, second);
    assert_eq!(write(&store, &cell("a"), Guard::Match(first), b"three"), WriteReply::Rejected);
    assert_eq!(found(read(&store, &cell("a"))).1, b"two");
}

#[test]
fn an_update_of_a_missing_record_creates_nothing() {
    let dir = TempDir::new();
    let store = dir.store();
    let etag = ETag::new(b"\"00\"").expect("a tag");
    assert_eq!(write(&store, &cell("a"), Guard::Match(etag), b"one"), WriteReply::Rejected);
    assert_eq!(read(&store, &cell("a")), ReadReply::Missing);
    assert!(!dir.path().join("cells").exists());
}

#[test]
fn both_durabilities_store_the_same() {
    let dir = TempDir::new();
    let store = FileStore::open(dir.path()).expect("a store").with_durability(Durability::Machine);
    let first = applied(write(&store, &cell("a"), Guard::Absent, b"one"));
    applied(write(&dir.store(), &cell("a"), Guard::Match(first), b"two"));
    assert_eq!(found(read(&store, &cell("a"))).1, b"two");
    assert_eq!(remove(&store, &cell("a")), RemoveReply::Removed);
}

#[test]
fn a_removed_record_is_missing_and_may_be_created_again() {
    let dir = TempDir::new();
    let store = dir.store();
    let key = Key::probe(1);
    assert_eq!(remove(&store, &key), RemoveReply::Removed);
    applied(write(&store, &key, Guard::Absent, b"one"));
    assert_eq!(remove(&store, &key), RemoveReply::Removed);
    assert_eq!(read(&store, &key), ReadReply::Missing);
    applied(write(&store, &key, Guard::Absent, b"one"));
}

#[test]
fn a_conditional_read_tells_unchanged_from_changed() {
    let dir = TempDir::new();
    let store = dir.store();
    let first = applied(write(&store, &cell("a"), Guard::Absent, b"one"));
    let (_, _, modified, date) = found(read(&store, &cell("a")));
    match read_unless(&store, &cell("a"), Some(first.clone())) {
        ReadReply::Unchanged(stamps) => {
            assert_eq!(stamps.modified, Some(modified));
            assert!(stamps.date >= Some(date));
        }
        other => panic!("{other:?}"),
    }
    let second = applied(write(&store, &cell("a"), Guard::Match(first.clone()), b"two"));
    assert_eq!(found(read_unless(&store, &cell("a"), Some(first))).0, second);
}

#[test]
fn stamps_never_go_back_and_a_date_is_never_earlier_than_its_version() {
    let dir = TempDir::new();
    let store = dir.store();
    let mut etag = applied(write(&store, &cell("a"), Guard::Absent, b"0"));
    let (mut last_modified, mut last_date) = Default::default();
    for n in 1..500_u32 {
        let (_, _, modified, date) = found(read(&store, &cell("a")));
        assert!(date >= modified, "round {n}");
        assert!(modified >= last_modified && date >= last_date, "round {n}");
        (last_modified, last_date) = (modified, date);
        etag = applied(write(&store, &cell("a"), Guard::Match(etag), n.to_string().as_bytes()));
        let listed = page(&store, "cells/", None);
        assert!(listed.date >= listed.entries[0].modified, "round {n}");
        assert!(listed.date >= Some(last_modified), "round {n}");
    }
}

#[test]
fn a_date_moves_on_with_time_and_never_makes_a_version_older_than_it_is() {
    let dir = TempDir::new();
    let store = dir.store();
    assert_eq!(store.clock(), StoreClock::FINE);
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    for wait in [5_u64, 20, 60] {
        let key = Key::probe(wait);
        #[expect(clippy::disallowed_methods, reason = "this test compares the store's clock with another")]
        let before = std::time::Instant::now();
        applied(write(&store, &key, Guard::Absent, b"x"));
        #[expect(clippy::disallowed_methods, reason = "this test compares the store's clock with another")]
        let after = std::time::Instant::now();
        assert!(receiver.recv_timeout(Duration::from_millis(wait)).is_err());
        let at_least = after.elapsed();
        let (_, _, modified, date) = found(read(&store, &key));
        let at_most = before.elapsed();
        let age = date.since(modified);
        assert!(age <= at_most, "judged {age:?} old, but it was written {at_most:?} ago");
        assert!(age + Duration::from_millis(25) >= at_least, "{age:?} is long past {at_least:?}");
    }
    drop(sender);
}

#[test]
fn names_with_every_legal_character_are_kept_apart() {
    let dir = TempDir::new();
    let store = dir.store();
    let every = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:$-";
    let long = "$:".repeat(127) + "x";
    let names =
        [every, &long, "a", "A", "a.b", "a-b", "...", "-rf", "$(x)".get(..1).expect("$"), "a:b", ".tenure-1"];
    for name in names {
        applied(write(&store, &cell(name), Guard::Absent, name.as_bytes()));
    }
    for name in names {
        assert_eq!(found(read(&store, &cell(name))).1, name.as_bytes());
    }
    let mut expected: Vec<_> = names.iter().map(|name| cell(name).to_string()).collect();
    expected.sort();
    assert_eq!(keys(&store, "cells/").0, expected);
    let node = NodeId::parse(&"n.".repeat(64)).expect("128 bytes");
    applied(write(&store, &Key::lease(&node), Guard::Absent, b"x"));
    applied(write(&store, &Key::retired(&node), Guard::Absent, b"x"));
}

#[test]
fn a_listing_of_2500_keys_comes_in_three_pages_each_key_once_and_in_order() {
    let dir = TempDir::new();
    let store = dir.store();
    // Names around the slash, which sorts between them, so that the order of directories is not that of keys.
    let mut expected: Vec<_> =
        (0..2500).map(|n| cell(&format!("c{:03}{}", n / 5, ["", "-", ".", "0", "$x"][n % 5]))).collect();
    expected.sort();
    for key in &expected {
        fs::create_dir_all(dir.path().join(key.as_str()).parent().expect("a parent")).expect("fresh");
        applied(write(&store, key, Guard::Absent, key.as_str().as_bytes()));
    }
    let (listed, pages) = keys(&store, "cells/");
    assert_eq!(pages, 3);
    assert!(listed.iter().map(String::as_str).eq(expected.iter().map(Key::as_str)));
    let (some, _) = keys(&store, "cells/c49");
    assert_eq!(some.len(), 50);
    let listed = page(&store, "cells/c007/", None);
    let (etag, _, modified, _) = found(read(&store, &cell("c007")));
    assert_eq!(listed.entries.len(), 1);
    assert_eq!((listed.entries[0].etag.clone(), listed.entries[0].modified), (Some(etag), Some(modified)));
    let beyond = page(&store, "cells/", Some("zzz".into()));
    assert!(beyond.entries.is_empty() && beyond.next.is_none());
    assert_eq!(keys(&store, "nodes/").0, Vec::<String>::new());
}

#[test]
fn garbage_in_the_directory_gives_errors_or_is_passed_over() {
    let dir = TempDir::new();
    let store = dir.store();
    let good = cell("good");
    applied(write(&store, &good, Guard::Absent, b"x"));
    let at = |key: &Key| dir.path().join(key.as_str());
    for name in ["dir", "long", "link", "pipe", "empty", "nodir"] {
        if name != "nodir" {
            fs::create_dir(dir.path().join("cells").join(name)).expect("fresh");
        }
    }
    fs::create_dir(at(&cell("dir"))).expect("fresh");
    fs::write(at(&cell("long")), vec![b'x'; 64 * 1024 + 1]).expect("fresh");
    symlink("/etc/passwd", at(&cell("link"))).expect("fresh");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at(&cell("pipe")),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .expect("fresh");
    fs::write(at(&cell("empty")), b"").expect("fresh");
    fs::write(dir.path().join("cells/nodir"), b"a file where a directory should be").expect("fresh");
    symlink("/tmp", dir.path().join("nodes")).expect("fresh");
    fs::write(dir.path().join("README"), b"foreign").expect("fresh");
    let tag = || Guard::Match(ETag::new(b"\"00\"").expect("a tag"));
    for (name, why) in [("dir", "move it away"), ("link", "a link"), ("pipe", "a link")] {
        match read(&store, &cell(name)) {
            ReadReply::Failed(fault) => {
                assert_eq!(fault.kind, FaultKind::Malformed);
                assert!(fault.detail.contains(why) && fault.detail.contains(name), "{fault}");
            }
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(write(&store, &cell(name), Guard::Absent, b"y"), WriteReply::Rejected, "{name}");
        assert_eq!(write(&store, &cell(name), tag(), b"y"), WriteReply::Rejected, "{name}");
    }
    assert_eq!(found(read(&store, &cell("empty"))).1, b"");
    // Too long for a record, but a version with a tag: it is read as corrupt, and can be replaced.
    let (etag, body, ..) = found(read(&store, &cell("long")));
    assert_eq!(body.len(), RECORD_MAX + 1);
    assert_eq!(write(&store, &cell("long"), tag(), b"y"), WriteReply::Rejected);
    applied(write(&store, &cell("long"), Guard::Match(etag), b"y"));
    assert_eq!(found(read(&store, &cell("long"))).1, b"y");
    assert!(
        matches!(read(&store, &cell("nodir")), ReadReply::Failed(fault) if fault.kind == FaultKind::Config)
    );
    assert!(matches!(remove(&store, &cell("dir")), RemoveReply::Failed(_)));
    let node = Key::lease(&NodeId::parse("n").expect("legal"));
    match write(&store, &node, Guard::Absent, b"y") {
        WriteReply::Refused(fault) => assert_eq!(fault.kind, FaultKind::Config),
        other => panic!("it followed a link out of the store: {other:?}"),
    }
    let (listed, _) = keys(&store, "");
    assert_eq!(
        listed,
        ["README", "cells/empty/own.json", "cells/good/own.json", "cells/long/own.json", "cells/nodir"]
    );
    for hostile in ["../", "/", "\0", ".tenure-1/", "cells/../../"] {
        assert!(
            matches!(list(&store, hostile, Some(hostile.into())), ListReply::Page(p) if p.entries.is_empty())
        );
    }
}

#[test]
fn a_body_longer_than_a_record_is_refused_and_one_as_long_is_not() {
    let dir = TempDir::new();
    let store = dir.store();
    let body = vec![0xff; 64 * 1024 + 1];
    assert!(matches!(write(&store, &cell("a"), Guard::Absent, &body), WriteReply::Refused(_)));
    applied(write(&store, &cell("a"), Guard::Absent, &body[1..]));
    assert_eq!(found(read(&store, &cell("a"))).1, body[1..]);
}

#[test]
fn a_missing_directory_is_an_error_that_names_it() {
    let dir = TempDir::new();
    let missing = dir.path().join("missing");
    let error = FileStore::open(&missing).expect_err("nothing is there");
    assert_eq!(error.kind, FaultKind::Config);
    assert!(error.detail.contains(missing.to_str().expect("text")), "{error}");
    let url = format!("file://{}", dir.path().display());
    FileStore::from_url(&url).expect("it is there");
}

#[test]
fn a_store_whose_directory_was_replaced_answers_nothing_more() {
    let dir = TempDir::new();
    let path = dir.path().join("store");
    fs::create_dir(&path).expect("fresh");
    let store = FileStore::open(&path).expect("a store");
    applied(write(&store, &cell("a"), Guard::Absent, b"one"));
    let moved = dir.path().join("moved");
    fs::rename(&path, &moved).expect("ours");
    for replaced in [false, true] {
        if replaced {
            fs::create_dir(&path).expect("gone");
        }
        assert!(matches!(read(&store, &cell("a")), ReadReply::Failed(f) if f.kind == FaultKind::Config));
        assert!(matches!(list(&store, "", None), ListReply::Failed(_)));
        assert!(matches!(remove(&store, &cell("a")), RemoveReply::Failed(_)));
        assert!(matches!(write(&store, &cell("b"), Guard::Absent, b"x"), WriteReply::Refused(_)));
    }
    fs::remove_dir(&path).expect("empty");
    fs::rename(&moved, &path).expect("ours");
    assert_eq!(found(read(&store, &cell("a"))).1, b"one");
}

#[test]
fn a_write_that_never_gets_the_lock_is_not_applied_and_gives_up_in_time() {
    let dir = TempDir::new();
    let store = dir.store();
    let key = cell("a");
    let etag = applied(write(&store, &key, Guard::Absent, b"one"));
    let lock = fs::read_dir(dir.path().join(".tenure-1"))
        .expect("the store's own")
        .map(|entry| entry.expect("readable").path())
        .find(|path| path.to_string_lossy().contains("lock-"))
        .expect("the lock of the only key");
    let held = fs::File::open(&lock).expect("ours");
    held.lock().expect("free");
    let timeout = Duration::from_millis(80);
    let op = |id| WriteOp {
        id: AttemptId::new(id),
        key: key.clone(),
        guard: Guard::Match(etag.clone()),
        body: (*b"two").into(),
        timeout,
    };
    #[expect(clippy::disallowed_methods, reason = "this test measures a timeout")]
    let began = std::time::Instant::now();
    match store.execute(Op::Write(op(1))) {
        Reply::Write(WriteReply::NotApplied(fault)) => assert_eq!(fault.kind, FaultKind::TimedOut),
        other => panic!("{other:?}"),
    }
    assert!(began.elapsed() >= timeout && began.elapsed() < timeout * 10, "{:?}", began.elapsed());
    assert_eq!(found(read(&store, &key)).1, b"one");
    // A lock file that somebody removes is no lock any more, even while the old one is held.
    fs::remove_file(&lock).expect("ours");
    assert!(matches!(store.execute(Op::Write(op(2))), Reply::Write(WriteReply::Applied { .. })));
    assert!(TIMEOUT > timeout);
}

#[test]
fn a_read_only_directory_is_a_denial_for_writers() {
    use std::os::unix::fs::PermissionsExt;
    let dir = TempDir::new();
    let store = dir.store();
    applied(write(&store, &cell("a"), Guard::Absent, b"one"));
    let cells = dir.path().join("cells");
    fs::set_permissions(&cells, fs::Permissions::from_mode(0o555)).expect("ours");
    // The superuser is denied nothing.
    let superuser = fs::write(cells.join("try"), b"").is_ok();
    if !superuser {
        match write(&store, &cell("b"), Guard::Absent, b"x") {
            WriteReply::Refused(fault) => assert_eq!(fault.kind, FaultKind::Denied),
            other => panic!("{other:?}"),
        }
    }
    fs::set_permissions(&cells, fs::Permissions::from_mode(0o755)).expect("ours");
    assert_eq!(found(read(&store, &cell("a"))).1, b"one");
}

/// A process that waits, or is stopped, in the middle of a write must not believe in it if meanwhile others
/// have begun a new store at this path.
#[cfg(target_os = "linux")]
#[test]
fn a_write_that_waited_while_the_directory_was_replaced_is_not_taken_for_applied() {
    let dir = TempDir::new();
    let path = dir.path().join("store");
    fs::create_dir(&path).expect("ours");
    let store = FileStore::open(&path).expect("a store").with_durability(Durability::Process);
    let first = applied(write(&store, &cell("a"), Guard::Absent, b"one"));
    let names = fs::read_dir(path.join(".tenure-1")).expect("ours").map(|entry| entry.expect("ours").path());
    let lock = names.into_iter().find(|path| path.to_string_lossy().contains("lock-")).expect("one lock");
    let held = fs::File::open(&lock).expect("ours");
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).expect("free");
    let is_opened = || {
        let fds = fs::read_dir("/proc/self/fd").expect("Linux").flatten();
        fds.filter(|fd| fs::read_link(fd.path()).is_ok_and(|path| path == lock)).count() == 2
    };
    let reply = std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(&store, &cell("a"), Guard::Match(first), b"two"));
        while !is_opened() {
            std::thread::yield_now();
        }
        fs::rename(&path, dir.path().join("moved")).expect("ours");
        fs::create_dir(&path).expect("ours");
        drop(held);
        writer.join().expect("no panic")
    });
    assert!(matches!(reply, WriteReply::Refused(_) | WriteReply::Unknown(_)), "{reply:?}");
}
