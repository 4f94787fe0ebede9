//! `doctor`: what it says and how it ends, without a server.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_sim::server::Fault;

use crate::nobody::Nobody;
use crate::support::{DEADLINE, Dir, Finished, Process, finish, lines, tenure};
use crate::wire::Wire;

#[test]
fn a_directory_is_fit_and_nothing_is_left_in_it() {
    let dir = Dir::new();
    let done = finish(dir.tenure(&["doctor", "--json", "--rounds", "20"]));
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    let checks = checks(&done);
    for name in ["create again", "stale update", "listing", "race of updates", "latency", "cleaned up"] {
        assert!(checks.contains(&(name.to_owned(), "holds".to_owned())), "{name}: {}", done.stdout);
    }
    let summary = summary(&done);
    assert_eq!((&summary["outcome"], &summary["exit"]), (&json!("fit"), &json!(0)));
    assert!(summary["ttl_ms"].as_u64().is_some() && summary["writes"]["p99"].as_f64().is_some(), "{summary}");
    assert!(dir.records().is_empty(), "{:?}", dir.records());
}

#[test]
fn a_reading_look_writes_nothing_and_promises_nothing() {
    let dir = Dir::new();
    dir.put("nodes/a.1.json", br#"{"node":"a.1","expires_ms":1}"#);
    let before = dir.records();
    let done = finish(dir.tenure(&["doctor", "--read-only"]));
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("leave out --read-only"), "{}", done.stdout);
    assert!(done.stdout.contains("nodes/a.1.json has a tag"), "{}", done.stdout);
    assert_eq!(dir.records(), before);
}

#[test]
fn an_interrupted_doctor_removes_what_it_wrote() {
    let dir = Dir::new();
    for signal in [Signal::INT, Signal::TERM] {
        let (process, stdout) = Process::start_piped(&mut dir.tenure(&["doctor", "--json"]));
        let output = lines(stdout);
        // Keys of the checks before are there still, and the listing's are being written.
        while !output.recv_timeout(DEADLINE).expect("more is said").contains("remove and create") {}
        assert!(!dir.records().is_empty(), "nothing is there to be removed");
        process.signal(signal);
        let last = output.iter().last().expect("a summary");
        let done = process.finish();
        assert_eq!(done.code, Some(128 + signal.as_raw()), "{}", done.stderr);
        assert!(last.contains("\"unclear\""), "{last}");
        assert!(dir.records().is_empty(), "{:?}", dir.records());
    }
}

#[test]
fn a_server_that_is_not_there_is_unreachable_and_a_wrong_address_is_configuration() {
    let nobody = Nobody::new();
    let endpoint = format!("http://{}", nobody.address());
    let doctor = |arguments: &[&str]| {
        let mut command = tenure(&["doctor", "--json"]);
        command.args(arguments).env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "b");
        finish(command)
    };
    let done = doctor(&["--store", "s3://bucket/p", "--endpoint", &endpoint]);
    assert_eq!(done.code, Some(69), "{}{}", done.stdout, done.stderr);
    assert_eq!(checks(&done), [("access".to_owned(), "unclear".to_owned())]);
    assert_eq!(summary(&done)["exit"], 69);
    let done = doctor(&["--store", "s3://bucket/p?if-match=maybe", "--endpoint", &endpoint]);
    assert_eq!(done.code, Some(78), "{}{}", done.stdout, done.stderr);
    assert_eq!(done.error()["kind"], "config");
}

/// Whoever reads the outcome alone must not start nodes with the URL that was asked about.
#[test]
fn a_store_that_needs_a_setting_is_not_simply_fit() {
    let wire = Wire::with(Fault::BareTags);
    let done = finish(wire.tenure(&["doctor", "--json", "--rounds", "1"]));
    assert_eq!(done.code, Some(78), "{}{}", done.stdout, done.stderr);
    let summary = summary(&done);
    assert_eq!(
        (&summary["outcome"], &summary["settings"]),
        (&json!("fit_with_settings"), &json!(["if-match=bare"]))
    );
    let done = finish(wire.tenure(&["doctor", "--rounds", "1", "--store", "s3://tenure/p?checksum=md5"]));
    let words =
        "is fit with `if-match=bare`: give its URL as --store 's3://tenure/p?checksum=md5&if-match=bare'";
    assert!(done.stdout.contains(words), "{}", done.stdout);
}

#[test]
fn what_left_it_unclear_is_said_by_its_cause() {
    for (fault, cause, remedy) in [
        (Fault::Error { status: 500, applied: false }, "the store is unavailable (access", "health"),
        (Fault::CutAnswer(Some(0)), "the connection to the store failed (access", "firewall"),
    ] {
        let done = finish(Wire::with(fault).tenure(&["doctor", "--rounds", "1"]));
        assert_eq!(done.code, Some(69), "{fault}: {}{}", done.stdout, done.stderr);
        assert!(done.stdout.contains(&format!("unclear whether it is fit: {cause}")), "{}", done.stdout);
        assert!(
            done.stdout.lines().any(|line| line.contains("do: ") && line.contains(remedy)),
            "{}",
            done.stdout
        );
    }
}

#[test]
fn a_listing_that_leaves_keys_out_is_unfit_and_says_what_to_do() {
    let done = finish(Wire::with(Fault::HidesFirst(1)).tenure(&["doctor", "--rounds", "1"]));
    assert_eq!(done.code, Some(76), "{}{}", done.stdout, done.stderr);
    let mut lines = done.stdout.lines().skip_while(|line| !line.starts_with("FAILS listing"));
    assert!(lines.next().is_some_and(|line| line.contains("is not listed")), "{}", done.stdout);
    assert!(lines.next().is_some_and(|line| line.contains("do: use another store")), "{}", done.stdout);
}

/// Returns the names of all checks and their verdicts.
fn checks(done: &Finished) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    done.lines().iter().filter_map(|line| Some((text(&line["check"])?, text(&line["verdict"])?))).collect()
}

fn summary(done: &Finished) -> Value {
    done.lines().last().expect("a summary")["summary"].clone()
}
