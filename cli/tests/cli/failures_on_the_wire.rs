//! Entries of `docs/failures.md` that bite between a process and its store: the binary against the fault server.

use core::time::Duration;
use std::collections::BTreeSet;
use std::thread;

use rustix::process::Signal;
use serde_json::json;
use tenure_sim::server::{Fault, Rule};

use crate::support::finish;
use crate::wire::{Wire, named, on_cells};

#[test]
fn bl_01_a_claim_whose_reply_and_first_look_are_lost_is_granted_once() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    // The first look is before the write.
    let lost_look = on_cells(Fault::CutAnswer(Some(0)), "GET").after(1).times(1);
    wire.0.faults([on_cells(Fault::Drop, "PUT").times(1), lost_look]);
    assert_eq!(agent.claim("c1"), 1);
    assert_eq!(agent.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 1);
    assert_eq!(wire.versions("c1"), 1);
}

/// A renewal, a takeover: updates, where the create above is none.
#[test]
fn bl_01_an_update_whose_reply_and_first_look_are_lost_happens_once() {
    let wire = Wire::new();
    let mut first = wire.join("a");
    assert_eq!(first.claim("c1"), 1);
    let lost_look = |key: &str| Rule::new(Fault::CutAnswer(Some(0))).on("GET").below(key).times(1);
    wire.0.faults([Rule::new(Fault::Drop).on("PUT").below("nodes/").times(1), lost_look("nodes/")]);
    wire.await_seen(1, |seen| seen.key.contains("nodes/") && seen.faults == [Fault::Drop]);
    // Found by the second look, it counts as the renewal that it was: the next one follows it, and none is lost.
    wire.await_renewals(2);
    assert_eq!(first.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 1);
    let mut second = wire.join("b");
    first.process.signal(Signal::KILL);
    wire.0.faults([on_cells(Fault::Drop, "PUT").times(1)]);
    let granted = second.call(json!({ "do": "claim", "cell": "c1", "wait_ms": 30_000 }));
    assert_eq!(granted["ok"]["epoch"], 2, "{granted}");
    wire.await_seen(1, |seen| seen.key.contains("cells/c1/") && seen.faults == [Fault::Drop]);
    assert_eq!(wire.versions("c1"), 2);
}

#[test]
fn bl_02_an_unfit_store_ends_every_run_before_its_command_starts() {
    for fault in ["ignores-conditions", "ignores-if-match"] {
        let wire = Wire::with(named(fault));
        let done = wire.run();
        assert_eq!((done.code, done.stdout.as_str()), (Some(76), ""), "{fault}: {}", done.stderr);
        let error = done.error();
        assert_eq!(error["kind"], "unfit", "{fault}");
        assert!(error["message"].as_str().is_some_and(|said| said.contains("`tenure doctor`")), "{error}");
        assert!(wire.asked("PUT").is_empty(), "{fault}");
    }
    // Trouble says nothing about the store.
    for fault in ["409", "429", "500", "503"] {
        let wire = Wire::new();
        wire.0.faults([Rule::new(named(fault)).below("probe/").times(1)]);
        let done = wire.run();
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "ran\n"), "{fault}: {}", done.stderr);
    }
}

#[test]
fn bl_04_a_throttled_claim_is_granted_and_not_lost() {
    // Most of the time is spent waiting, so all of them wait together.
    thread::scope(|scope| {
        for fault in ["429", "429-after", "503"] {
            scope.spawn(move || {
                let wire = Wire::new();
                let mut agent = wire.join("a");
                wire.0.faults([on_cells(named(fault), "PUT").times(1)]);
                assert_eq!(agent.claim("c1"), 1, "{fault}");
                let writes = wire.asked("PUT");
                assert_eq!(writes.len(), 2, "{fault}");
                let rest = writes[1].at.since(writes[0].at);
                assert!(rest >= Duration::from_millis(900), "{fault}: {rest:?}");
            });
        }
    });
}

#[test]
fn bl_02_what_others_have_seen_of_an_unfit_store_s_host_is_said() {
    let not_implemented = Fault::Error { status: 501, applied: false };
    for (host, fault, words) in [
        ("storage.googleapis.com", Fault::IgnoresConditions, "gs://bucket/prefix"),
        ("s3.us-west-004.backblazeb2.com", not_implemented, "Backblaze B2"),
        ("nyc3.digitaloceanspaces.com", Fault::IgnoresMatch, "DigitalOcean Spaces"),
        ("s3.example.org", Fault::IgnoresConditions, "cannot guarantee one owner"),
    ] {
        let wire = Wire::with(fault);
        // The server takes what is meant for anybody, as a proxy does.
        let on_host = |args: &[&str]| {
            let mut command = wire.tenure(args);
            command.env("HTTP_PROXY", wire.0.endpoint()).env("AWS_ENDPOINT_URL", format!("http://{host}"));
            finish(command)
        };
        for args in [
            &["run", "--json", "--ttl", "3s", "--cell", "c1", "--", "echo", "ran"][..],
            &["agent", "--json", "--ttl", "3s"],
        ] {
            let done = on_host(args);
            assert_eq!((done.code, done.stdout.as_str()), (Some(76), ""), "{host}: {}", done.stderr);
            let error = done.error();
            assert_eq!(error["kind"], "unfit", "{host}: {error}");
            assert!(error["message"].as_str().is_some_and(|text| text.contains(words)), "{host}: {error}");
            assert_eq!(error["host"], host, "the store is named: {error}");
        }
        assert!(wire.asked("PUT").is_empty(), "{host}: nothing else is tried");
    }
}

/// As a store does that takes one write of a key in a second.
#[test]
fn bl_04_a_throttled_release_or_renewal_costs_neither_cell_nor_lease() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    for (fault, epoch) in [("429", 1), ("503", 2)] {
        assert_eq!(agent.claim("c1"), epoch, "{fault}");
        let throttle = |below| Rule::new(named(fault)).on("PUT").below(below).times(1);
        wire.0.faults([throttle("cells/"), throttle("nodes/")]);
        let released = agent.call(json!({ "do": "release", "cell": "c1" }));
        assert_eq!(released["ok"]["epoch"], epoch, "{fault}: {released}");
        wire.await_seen(1, |seen| seen.key.contains("nodes/") && seen.faults == [named(fault)]);
        wire.await_renewals(1);
    }
    assert_eq!(agent.claim("c1"), 3);
    assert_eq!(agent.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 3);
    assert_eq!(wire.versions("c1"), 5);
}

#[test]
fn bl_06_a_claim_that_meets_a_conflict_is_granted() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    wire.0.faults([on_cells(Fault::Conflict, "PUT").times(1)]);
    assert_eq!(agent.claim("c1"), 1, "a create");
    agent.call(json!({ "do": "release", "cell": "c1" }));
    wire.0.faults([on_cells(Fault::Conflict, "PUT").times(1)]);
    assert_eq!(agent.claim("c1"), 2, "an update");
    assert_eq!(wire.versions("c1"), 3);
}

#[test]
fn bl_08_bare_tags_are_a_setting_and_never_a_reaction() {
    let wire = Wire::with(Fault::BareTags);
    let done = wire.run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(76), ""), "{}", done.stderr);
    let mut command = wire.run_on("c1");
    command.env("TENURE_STORE", "s3://tenure/p?if-match=bare");
    let done = finish(command);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "ran\n"), "{}", done.stderr);
}

#[test]
fn bl_09_a_store_that_creates_what_it_should_update_is_found_out() {
    let wire = Wire::with(Fault::MissingCreated);
    let done = finish(wire.tenure(&["doctor", "--json", "--rounds", "1"]));
    assert_eq!(done.code, Some(76), "{}{}", done.stdout, done.stderr);
}

#[test]
fn bl_12_every_spelling_of_an_endpoint_is_signed_as_it_is_sent_or_refused() {
    let wire = Wire::new();
    let address = wire.0.address();
    for spelling in [format!("http://{address}"), format!("http://{address}/"), format!("HTTP://{address}")] {
        let mut command = wire.run_on("c1");
        command.env("AWS_ENDPOINT_URL", &spelling);
        let done = finish(command);
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "ran\n"), "{spelling}: {}", done.stderr);
    }
    let before = wire.0.requests();
    for spelling in [
        address.to_string(),
        format!("http://user:word@{address}"),
        format!("http://{address}?a=b"),
        format!("http://{address}#a"),
    ] {
        let mut command = wire.run_on("c1");
        command.env("AWS_ENDPOINT_URL", &spelling);
        let done = finish(command);
        assert_eq!((done.code, done.stdout.as_str()), (Some(78), ""), "{spelling}: {}", done.stderr);
    }
    assert_eq!(wire.0.requests(), before, "what is refused is not sent");
}

#[test]
fn bl_14_a_bucket_that_is_elsewhere_is_a_setting_and_is_asked_once() {
    for (fault, word) in [
        (Fault::Moved, "eu-elsewhere-1"),
        (Fault::WrongRegion, "eu-elsewhere-1"),
        (Fault::Redirect, "127.0.0.1:1"),
    ] {
        let wire = Wire::with(fault);
        let done = wire.run();
        assert_eq!((done.code, done.stdout.as_str()), (Some(78), ""), "{fault}: {}", done.stderr);
        let error = done.error();
        assert!(error["message"].as_str().is_some_and(|text| text.contains(word)), "{fault}: {error}");
        assert_eq!(wire.0.requests(), 1, "{fault}");
    }
}

#[test]
fn bl_19_connections_that_die_idle_cost_neither_the_lease_nor_a_cell() {
    let wire = Wire::with(Fault::CloseIdle);
    let mut agent = wire.join("a");
    assert_eq!(agent.claim("c1"), 1);
    let renewals = || wire.0.seen().iter().filter(|seen| seen.key.contains("nodes/") && seen.applied).count();
    let first = renewals();
    while renewals() < first + 3 {
        wire.0.wait_until(wire.0.now().after(Duration::from_millis(50)));
        assert_eq!(agent.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 1);
    }
}

#[test]
fn bl_19_a_server_tired_of_waiting_is_asked_again() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    for (method, cell) in [("GET", "c1"), ("PUT", "c2")] {
        wire.0.faults([on_cells(Fault::RequestTimeout, method).times(1)]);
        assert_eq!(agent.claim(cell), 1, "{method}");
        assert_eq!(wire.versions(cell), 1, "{method}");
    }
    wire.0.faults([Rule::new(Fault::RequestTimeout).on("PUT").below("nodes/").times(1)]);
    wire.await_seen(1, |seen| seen.key.contains("nodes/") && seen.status == Some(400));
    wire.await_renewals(1);
    assert_eq!(agent.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 1);
}

#[test]
fn bl_30_a_takeover_removes_nothing() {
    let wire = Wire::new();
    let mut first = wire.join("a");
    assert_eq!(first.claim("c1"), 1);
    let mut waiting = ["b", "c"].map(|name| wire.join(name));
    for agent in &mut waiting {
        agent.ask(json!({ "do": "claim", "cell": "c1", "wait_ms": 30_000 }));
    }
    first.process.signal(Signal::KILL);
    wire.await_seen(2, |seen| seen.key.contains("cells/c1/") && seen.applied);
    // The winner may not have its answer yet; the other still waits.
    let answers = loop {
        let answers = waiting.each_mut().map(|agent| agent.call(json!({ "do": "verify", "cell": "c1" })));
        if answers.iter().any(|answer| answer["ok"]["epoch"] == json!(2)) {
            break answers;
        }
    };
    let others = answers.iter().filter(|answer| answer["error"]["kind"] == json!("not_owner")).count();
    assert_eq!(others, 1, "{answers:?}");
    assert_eq!(wire.versions("c1"), 2);
    let removed: Vec<_> = wire.0.seen().into_iter().filter(|seen| seen.method == "DELETE").collect();
    assert!(removed.iter().all(|seen| seen.key.contains("probe/")), "{removed:?}");
}

/// The store's tags are of the content alone, so equal bytes would have one tag.
#[test]
fn bl_33_no_key_ever_has_one_tag_twice() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    for epoch in 1..=3 {
        assert_eq!(agent.claim("c1"), epoch);
        agent.call(json!({ "do": "release", "cell": "c1" }));
    }
    wire.await_renewals(2);
    let store = wire.0.store();
    for key in store.keys() {
        let bodies: Vec<_> =
            store.history(key).iter().filter_map(|version| version.body.as_deref()).collect();
        let distinct: BTreeSet<_> = bodies.iter().collect();
        assert_eq!(distinct.len(), bodies.len(), "{key}");
    }
    assert_eq!(wire.versions("c1"), 6);
}

#[test]
fn bl_34_a_create_that_is_refused_for_ever_is_told_as_inconsistent() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    wire.0.faults([on_cells(Fault::Rejected, "PUT").times(1)]);
    assert_eq!(agent.claim("c1"), 1, "once is nothing");
    wire.0.faults([on_cells(Fault::Rejected, "PUT")]);
    let error = agent.call(json!({ "do": "claim", "cell": "c2" }))["error"].clone();
    assert_eq!(error["kind"], "inconsistent", "{error}");
    for words in ["cells/c2/own.json", "rejects a create", "nothing there"] {
        assert!(error["message"].as_str().is_some_and(|text| text.contains(words)), "{words}: {error}");
    }
}

/// The holder gave the cell up between the write that lost and the look at who won.
#[test]
fn bl_34_a_holder_that_vanished_costs_a_claim_no_more_than_another_try() {
    let wire = Wire::new();
    wire.0.faults([on_cells(Fault::Rejected, "PUT").times(2)]);
    let done = finish(
        wire.tenure(&["run", "--json", "--ttl", "3s", "--cell", "c1", "--wait", "5s", "--", "echo", "ran"]),
    );
    assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (Some(0), "ran\n", ""));
    // Taken and given back, each once.
    assert_eq!(wire.versions("c1"), 2);
}

/// A versioned bucket whose record was deleted: the mark of it is no object, says S3; this store says both.
#[test]
fn bl_34_a_delete_marker_taken_for_a_record_is_inconsistent_and_never_ours() {
    let wire = Wire::new();
    wire.0.put("p/cells/c1/own.json", br#"{"node":"","epoch":3}"#);
    wire.0.remove("p/cells/c1/own.json");
    wire.0.faults([Rule::new(Fault::MarkerExists)]);
    let mut agent = wire.join("a");
    let answer = agent.call(json!({ "do": "claim", "cell": "c1", "wait_ms": 20_000 }));
    let error = &answer["error"];
    assert_eq!(error["kind"], "inconsistent", "{answer}");
    let begun = wire.asked("PUT");
    assert!((2..=20).contains(&begun.len()), "{} writes", begun.len());
    assert!(begun.iter().all(|seen| seen.status == Some(412) && !seen.applied), "{begun:?}");
    let verified = agent.call(json!({ "do": "verify", "cell": "c1" }));
    assert_eq!(verified["error"]["kind"], "not_owner", "{verified}");
    let done = wire.run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(76), ""), "{}", done.stderr);
    for error in [error, &done.error()] {
        assert_eq!(error["kind"], "inconsistent", "{error}");
        for words in ["cells/c1/own.json", "rejects a create", "nothing there"] {
            assert!(error["message"].as_str().is_some_and(|text| text.contains(words)), "{words}: {error}");
        }
    }
    // Other cells are none the worse, and the doctor finds it.
    assert_eq!(agent.claim("c2"), 1);
    let done = finish(wire.tenure(&["doctor", "--json", "--rounds", "1"]));
    assert_eq!(done.code, Some(76), "{}{}", done.stdout, done.stderr);
    let is_it = |line: &serde_json::Value| line["check"] == "remove and create" && line["verdict"] == "fails";
    assert!(done.lines().iter().any(is_it), "{}", done.stdout);
}

#[test]
fn bl_38_a_claim_answered_200_with_an_error_inside_is_settled() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    wire.0.faults([on_cells(Fault::ErrorInSuccess, "PUT").times(1)]);
    assert_eq!(agent.claim("c1"), 1);
    wire.0.faults([on_cells(Fault::Truncate, "GET").times(1)]);
    assert_eq!(agent.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 1);
    assert_eq!(wire.versions("c1"), 1);
}

#[test]
fn bl_38_a_claim_answered_200_with_a_page_of_something_before_the_store_is_settled() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    wire.0.faults([on_cells(Fault::Html(200), "PUT").times(1)]);
    assert_eq!(agent.claim("c1"), 1);
    assert_eq!(wire.versions("c1"), 1, "nothing is owned that is not in the store");
}

#[test]
fn bl_38_a_page_in_the_place_of_a_record_is_asked_for_again() {
    let wire = Wire::new();
    let page = || wire.0.faults([on_cells(Fault::Html(200), "GET").times(1)]);
    page();
    let done = wire.run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "ran\n"), "{}", done.stderr);
    page();
    let shown = finish(wire.tenure(&["owner", "--json", "c1"]));
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert_eq!(shown.lines()[0]["epoch"], 1, "{}", shown.stdout);
}

/// Whether the cell was held to the end is asked then, and this much may not depend on the answer.
#[test]
fn a_store_that_is_silent_once_the_command_has_ended_takes_no_success_from_it() {
    let wire = Wire::new();
    wire.0.faults([on_cells(Fault::Hang, "GET").after(1)]);
    let done = wire.run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "ran\n"), "{}", done.stderr);
    wire.await_seen(1, |seen| seen.faults == [Fault::Hang]);
}

#[test]
fn bl_40_a_proxy_that_weakens_tags_is_named() {
    let done = Wire::with(Fault::WeakTag).run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(76), ""), "{}", done.stderr);
    let error = done.error();
    assert!(error["message"].as_str().is_some_and(|text| text.contains("weak")), "{error}");
}

/// A proxy that begins to compress, or changes tags otherwise, when all is under way.
#[test]
fn bl_40_tags_changed_on_the_way_cost_no_lease_and_are_no_rival() {
    thread::scope(|scope| {
        for (fault, words) in [(Fault::WeakTag, "weak"), (Fault::WrongTag, "version that it shows")] {
            scope.spawn(move || {
                let wire = Wire::new();
                let mut agent = wire.join("a");
                assert_eq!((agent.claim("held"), agent.claim("c1")), (1, 1));
                agent.call(json!({ "do": "release", "cell": "c1" }));
                let mut other = wire.join("b");
                wire.0.faults([Rule::new(fault).on("GET")]);
                let error = other.call(json!({ "do": "claim", "cell": "c1" }))["error"].clone();
                assert_eq!(error["kind"], "inconsistent", "{fault}: {error}");
                assert!(
                    error["message"].as_str().is_some_and(|text| text.contains(words)),
                    "{fault}: {error}"
                );
                assert_eq!(wire.versions("c1"), 2, "{fault}");
                // A renewal is guarded by the tag that the write before it was answered with, and needs no other.
                wire.await_renewals(3);
                assert_eq!(
                    agent.call(json!({ "do": "verify", "cell": "held" }))["ok"]["epoch"],
                    1,
                    "{fault}"
                );
            });
        }
    });
}

#[test]
fn bl_50_credentials_that_end_under_a_node_are_its_reason() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    agent.claim("c1");
    wire.0.faults([Rule::new(Fault::Expired)]);
    let fenced = agent.event("fenced");
    assert_eq!(fenced["reason"], "credentials");
    assert!(fenced["fault"].as_str().is_some_and(|fault| fault.contains("ExpiredToken")), "{fenced}");
    assert_eq!(agent.event("lost")["reason"], "credentials");
}
