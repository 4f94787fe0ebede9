//! `repair` against the fault server: what is not answered, what is refused, and who comes in between.

use core::time::Duration;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use rustix::process::Signal;
use serde_json::json;
use tenure_sim::server::{Fault, Rule};

use crate::support::{Finished, Process, finish};
use crate::wire::{Wire, named, on_cells};

const RECORD: &str = "p/cells/c1/own.json";

/// A store whose record of `c1` is corrupt.
fn corrupt() -> Wire {
    let wire = Wire::new();
    wire.0.put(RECORD, b"garbage");
    wire
}

fn repair(wire: &Wire) -> Command {
    wire.tenure(&["repair", "--json", "c1", "--epoch", "7"])
}

/// Demands that the record is mended, and that nobody wrote it but once.
fn is_mended(wire: &Wire, done: &Finished) {
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!((&done.lines()[0]["state"], &done.lines()[0]["epoch"]), (&json!("released"), &json!(7)));
    let store = wire.0.store();
    let record = store.current(RECORD).expect("it is there");
    assert!(record.starts_with(br#"{"node":"","epoch":7,"write":"operator#"#), "{record:?}");
    assert_eq!(wire.versions("c1"), 2);
}

#[test]
fn bl_01_a_repair_whose_reply_is_lost_happens_once_and_is_told() {
    for fault in
        ["drop", "cut", "error-in-200", "500-applied", "no-tag", "html-502", "request-timeout", "409"]
    {
        let wire = corrupt();
        wire.0.faults([on_cells(named(fault), "PUT").times(1)]);
        is_mended(&wire, &finish(repair(&wire)));
    }
}

/// What its sender gave up lands when the record is long mended and owned.
#[test]
fn a_repair_that_lands_late_takes_the_cell_from_nobody() {
    let wire = corrupt();
    let late = || Rule::new(Fault::Late(Duration::from_secs(3))).on("PUT").below("cells/");
    wire.0.faults([late().times(1)]);
    is_mended(&wire, &finish(repair(&wire)));
    let mut agent = wire.join("a");
    assert_eq!(agent.claim("c1"), 8);
    while wire.0.late() > 0 {
        wire.0.wait_until(wire.0.now().after(Duration::from_millis(50)));
    }
    assert_eq!(agent.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 8);
    assert_eq!(wire.versions("c1"), 3);
}

#[test]
fn an_interrupted_repair_ends_at_once_and_what_it_sent_is_found_by_the_next_one() {
    for (fault, versions, again) in [(Fault::Hang, 1, 0), (Fault::Delay(Duration::from_secs(1)), 2, 75)] {
        let wire = corrupt();
        wire.0.faults([on_cells(fault, "PUT")]);
        let mut operator = Process::start(&mut repair(&wire));
        wire.await_seen(1, |seen| seen.method == "PUT" && seen.key == RECORD);
        operator.signal(Signal::INT);
        assert_eq!(operator.status().signal(), Some(Signal::INT.as_raw()));
        wire.0.faults([]);
        while wire.versions("c1") < versions {
            wire.0.wait_until(wire.0.now().after(Duration::from_millis(50)));
        }
        assert_eq!(finish(repair(&wire)).code, Some(again), "{fault}");
        assert_eq!(wire.versions("c1"), 2, "{fault}");
    }
}

#[test]
fn a_record_that_has_moved_meanwhile_is_left_alone() {
    for now in
        [r#"{"node":"b.1","epoch":12,"write":"b.1#1"}"#, r#"{"node":"","epoch":9,"write":"operator#5"}"#]
    {
        let wire = corrupt();
        // Until another has mended it no write is let through.
        wire.0.faults([on_cells(named("429"), "PUT")]);
        let operator = Process::start(&mut repair(&wire));
        wire.await_seen(1, |seen| seen.method == "PUT" && seen.key == RECORD);
        wire.0.put(RECORD, now.as_bytes());
        wire.0.faults([]);
        let done = operator.finish();
        assert_eq!((done.code, done.stdout.as_str()), (Some(75), ""), "{}", done.stderr);
        let error = done.error();
        assert_eq!((&error["kind"], &error["key"]), (&json!("contended"), &json!("cells/c1/own.json")));
        let said = error["message"].as_str().expect("a sentence");
        assert!(said.contains("it was corrupt") && said.contains("and now is "), "{said}");
        assert_eq!(wire.0.store().current(RECORD).map(|body| body.to_vec()), Some(now.as_bytes().to_vec()));
    }
}

#[test]
fn a_record_that_changes_from_one_garbage_to_another_is_left_alone() {
    let wire = corrupt();
    wire.0.faults([on_cells(named("429"), "PUT")]);
    let operator = Process::start(&mut repair(&wire));
    wire.await_seen(1, |seen| seen.method == "PUT" && seen.key == RECORD);
    wire.0.put(RECORD, b"other garbage");
    wire.0.faults([]);
    let done = operator.finish();
    assert_eq!((done.code, done.error()["kind"].as_str()), (Some(65), Some("corrupt")), "{}", done.stderr);
    assert_eq!(wire.0.store().current(RECORD).map(|body| body.to_vec()), Some(b"other garbage".to_vec()));
}

/// A page of something before the store is no state of the record, however often it comes.
#[test]
fn bl_38_garbage_on_the_way_is_no_corrupt_record() {
    for (times, code, kind) in [(1, 75, "sound"), (2, 75, "sound"), (u32::MAX, 76, "inconsistent")] {
        let wire = Wire::new();
        let sound = br#"{"node":"b.1","epoch":3,"write":"b.1#1"}"#;
        wire.0.put(RECORD, sound);
        wire.0.faults([on_cells(named("html-200"), "GET").times(times)]);
        let done = finish(repair(&wire));
        assert_eq!((done.code, done.stdout.as_str()), (Some(code), ""), "{times}: {}", done.stderr);
        assert_eq!(done.error()["kind"], kind, "{times}");
        assert_eq!(wire.0.store().current(RECORD).map(|body| body.to_vec()), Some(sound.to_vec()));
        assert!(kind != "sound" || wire.asked("PUT").is_empty(), "{times}");
    }
}

/// Through something that drops the conditions of writes, a repair would write over whatever is there.
#[test]
fn a_store_that_ignores_conditions_gets_no_record_of_an_operator() {
    for fault in ["ignores-conditions", "ignores-if-match"] {
        let wire = corrupt();
        wire.0.faults([Rule::new(named(fault))]);
        let done = finish(repair(&wire));
        assert_eq!((done.code, done.error()["kind"].as_str()), (Some(76), Some("unfit")), "{}", done.stderr);
        assert_eq!(wire.versions("c1"), 1);
    }
    let wire = Wire::with(named("ignores-conditions"));
    let done = finish(repair(&wire));
    assert_eq!((done.code, done.error()["kind"].as_str()), (Some(76), Some("unfit")), "{}", done.stderr);
    assert!(wire.asked("PUT").is_empty());
}

/// What the probe is answered proves nothing, or that it must wait.
#[test]
fn a_probe_whose_answer_is_lost_is_made_again_and_leaves_nothing() {
    for fault in ["drop", "500-applied", "409", "412", "429", "html-502"] {
        let wire = corrupt();
        wire.0.faults([Rule::new(named(fault)).on("PUT").below("probe/").times(1)]);
        is_mended(&wire, &finish(repair(&wire)));
        let store = wire.0.store();
        let left: Vec<_> = store.keys().filter(|key| store.current(key).is_some()).collect();
        assert_eq!(left, [RECORD], "{fault}");
    }
}

#[test]
fn a_garbled_answer_to_the_look_after_a_repair_does_not_hide_that_it_may_have_been_done() {
    let wire = corrupt();
    wire.0.faults([on_cells(Fault::Drop, "PUT").times(1), on_cells(named("empty"), "GET").after(3)]);
    let done = finish(repair(&wire));
    assert_eq!((done.code, done.error()["kind"].as_str()), (Some(65), Some("corrupt")), "{}", done.stderr);
    assert!(done.stderr.contains("what became of the write before that is not known"), "{}", done.stderr);
    assert_eq!(wire.versions("c1"), 2);
}

#[test]
fn bl_15_a_repair_that_is_not_allowed_changes_nothing_and_names_the_right() {
    for method in ["GET", "PUT"] {
        let wire = corrupt();
        wire.0.faults([on_cells(Fault::Denied, method)]);
        let done = finish(repair(&wire));
        assert_eq!((done.code, done.error()["kind"].as_str()), (Some(77), Some("denied")), "{}", done.stderr);
        assert!(done.stderr.contains("cells/c1/own.json"), "{}", done.stderr);
        assert_eq!(wire.versions("c1"), 1);
    }
}

#[test]
fn a_repair_whose_fate_cannot_be_found_out_says_so() {
    let wire = corrupt();
    wire.0.faults([on_cells(Fault::Drop, "PUT"), on_cells(Fault::Denied, "GET").after(3)]);
    let done = finish(repair(&wire));
    assert_eq!(done.stdout, "");
    assert!(done.stderr.contains("may have been applied, or may yet be"), "{}", done.stderr);
    // It was; a second look tells.
    wire.0.faults([]);
    let again = finish(repair(&wire));
    assert_eq!((again.code, again.error()["kind"].as_str()), (Some(75), Some("sound")), "{}", again.stderr);
    assert_eq!(wire.versions("c1"), 2);
}

#[test]
fn a_store_that_fails_for_ever_is_unreachable() {
    for (method, fault) in [("GET", "503"), ("GET", "500"), ("PUT", "500"), ("PUT", "429")] {
        let wire = corrupt();
        wire.0.faults([on_cells(named(fault), method)]);
        let done = finish(repair(&wire));
        assert_eq!((done.code, done.stdout.as_str()), (Some(69), ""), "{method} {fault}: {}", done.stderr);
        assert_eq!(wire.versions("c1"), 1);
    }
}

/// Over the wire a missing record is created under its own condition.
#[test]
fn bl_32_a_missing_record_is_created_and_one_that_appears_meanwhile_is_left_alone() {
    let wire = Wire::new();
    wire.0.faults([on_cells(Fault::Drop, "PUT").times(1)]);
    let done = finish(repair(&wire));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(wire.versions("c1"), 1);
    assert_eq!(wire.join("a").claim("c1"), 8);

    let wire = Wire::new();
    wire.0.faults([on_cells(named("429"), "PUT")]);
    let operator = Process::start(&mut repair(&wire));
    wire.await_seen(1, |seen| seen.method == "PUT" && seen.key == RECORD);
    let claimed = br#"{"node":"b.1","epoch":1,"write":"b.1#1"}"#;
    wire.0.put(RECORD, claimed);
    wire.0.faults([]);
    let done = operator.finish();
    assert_eq!((done.code, done.error()["kind"].as_str()), (Some(75), Some("contended")), "{}", done.stderr);
    assert_eq!(wire.0.store().current(RECORD).map(|body| body.to_vec()), Some(claimed.to_vec()));
}

#[test]
fn a_record_too_long_to_be_one_is_mended_too() {
    let wire = Wire::new();
    wire.0.put(RECORD, &[b'x'; 70_000]);
    is_mended(&wire, &finish(repair(&wire)));
}
