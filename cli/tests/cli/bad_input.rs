//! Everything that can be wrong before, or instead of, a store that works.

use crate::nobody::Nobody;
use crate::support::{Dir, finish, tenure};

const AWS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE"), ("AWS_SECRET_ACCESS_KEY", "secret")];

#[test]
fn a_command_line_that_makes_no_sense_exits_64_and_names_what_is_wrong() {
    let dir = Dir::new();
    for (args, word) in [
        (&["owner", "a/b"][..], "a$2Fb"),
        (&["owner", ".."], "cell name"),
        (&["owner", ""], "cell name"),
        (&["owner"], "CELL"),
        (&["fly"], "fly"),
        (&["cells", "a/b"], "a$2Fb"),
        (&["cells", "--colour"], "--colour"),
        (&["run", "--cell", "c"], "CMD"),
        (&["run", "--", "true"], "--cell"),
        (&["run", "--cell", "c", "--wait", "5", "--", "true"], "500ms"),
        (&["run", "--cell", "c", "--wait", "-1s", "--", "true"], "-1"),
        (&["run", "--cell", "c", "--grace", "9s", "--", "true"], "--grace (9s) must be <"),
        (&["nodes", "--ttl", "soon"], "--ttl"),
        (&["nodes", "--log", "loud"], "loud"),
        (&["demo", "--store", "file:///tmp"], "--store"),
        (&["demo", "--ttl", "1h"], "--ttl"),
        (&["sim", "--seeds", "none"], "--seeds"),
        (&["sim", "--seed", "1", "--from", "2"], "--picture"),
        (&["--json", "sim", "--seed", "1"], "--json"),
        (&[], "Usage"),
    ] {
        let done = finish(dir.tenure(args));
        assert_eq!(done.code, Some(64), "{args:?}: {}", done.stderr);
        assert!(done.stderr.contains(word), "{args:?}: {}", done.stderr);
        assert_eq!(done.stdout, "", "{args:?}");
    }
    assert!(dir.records().is_empty());
}

#[test]
fn with_json_an_error_is_one_object() {
    let dir = Dir::new();
    for args in [&["owner", "a/b", "--json"][..], &["--json", "fly"], &["cells", "a/b", "--json"]] {
        let done = finish(dir.tenure(args));
        assert_eq!(done.code, Some(64), "{args:?}");
        assert_eq!(done.error()["kind"], "usage", "{args:?}");
    }
    // What follows `--` belongs to the command that is run.
    let done = finish(dir.tenure(&["run", "--", "--json"]));
    assert!(done.stderr.starts_with("error: "), "{}", done.stderr);
}

#[test]
fn without_a_store_every_command_exits_64_and_shows_both_forms() {
    for args in [
        &["owner", "c"][..],
        &["cells"],
        &["nodes"],
        &["agent"],
        &["evict", "c", "--epoch", "1"],
        &["repair", "c", "--epoch", "1"],
        &["run", "--cell", "c", "--", "true"],
    ] {
        let done = finish(tenure(args));
        assert_eq!(done.code, Some(64), "{args:?}: {}", done.stderr);
        for form in ["s3://bucket/prefix", "file:///dir", "TENURE_STORE"] {
            assert!(done.stderr.contains(form), "{args:?}: {}", done.stderr);
        }
    }
}

#[test]
fn help_and_version_are_no_errors() {
    for args in
        [&["--help"][..], &["run", "--help"], &["agent", "--help"], &["sim", "--help"], &["--version"]]
    {
        let done = finish(tenure(args));
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{args:?}");
        assert!(!done.stdout.is_empty());
    }
}

#[test]
fn the_help_of_the_demo_says_which_options_of_every_command_it_does_not_take() {
    let done = finish(tenure(&["demo", "--help"]));
    assert!(done.stdout.contains("it refuses --store"), "{}", done.stdout);
}

#[test]
fn a_bad_address_exits_with_the_code_of_its_kind() {
    for (url, code, word) in [
        ("gopher://bucket", 64, "s3://bucket/prefix"),
        #[cfg(not(feature = "object-store"))]
        ("gs://bucket", 64, "--features object-store"),
        #[cfg(not(feature = "object-store"))]
        ("az://container", 64, "--features object-store"),
        ("bucket", 64, "file:///"),
        ("file://relative", 78, "file:///absolute/path"),
        ("file:///no/such/directory", 78, "/no/such/directory"),
        ("s3://", 78, "bucket"),
        ("s3://bucket/a//b", 78, "a//b"),
        ("s3://bucket", 78, "AWS_REGION"),
    ] {
        for args in [&["owner", "c"][..], &["agent"]] {
            let done = finish(with_keys(&[args, &["--json", "--store", url]].concat()));
            assert_eq!(done.code, Some(code), "{url} {args:?}: {}", done.stderr);
            let message = done.error()["message"].as_str().expect("text").to_owned();
            assert!(message.contains(word), "{url}: {message}");
        }
        let done = finish(with_keys(&["run", "--cell", "c", "--store", url, "--", "true"]));
        assert_eq!(done.code, Some(code), "{url}: {}", done.stderr);
    }
}

#[test]
fn a_password_in_an_address_is_never_shown() {
    for url in
        ["https://u:pass-word@host/b", "u:pass-word@host", "file://u:pass-word@host/b", "s3://u:pass-word@b"]
    {
        for args in [&["owner", "c"][..], &["agent", "--log", "debug"], &["run", "--cell", "c", "--", "true"]]
        {
            let mut command = with_keys(args);
            command.env("TENURE_STORE", url);
            let done = finish(command);
            assert!(matches!(done.code, Some(64 | 78)), "{url}: {}", done.stderr);
            assert!(!done.stderr.contains("word") && done.stderr.contains("store"), "{url}: {}", done.stderr);
        }
    }
}

#[test]
fn missing_credentials_exit_77_and_a_bad_endpoint_78() {
    let args = ["owner", "c", "--json", "--store", "s3://bucket", "--region", "eu-west-1"];
    let done = finish(tenure(&args));
    assert_eq!(done.code, Some(77), "{}", done.stderr);
    assert!(done.error()["message"].as_str().expect("text").contains("AWS_ACCESS_KEY_ID"));
    for endpoint in ["127.0.0.1:9000", "ftp://127.0.0.1", "http://user:pw@h"] {
        let done = finish(with_keys(&[&args[..], &["--endpoint", endpoint]].concat()));
        assert_eq!(done.code, Some(78), "{endpoint}: {}", done.stderr);
        assert!(!done.stderr.contains("pw"), "the password is shown: {}", done.stderr);
    }
}

#[test]
fn a_store_that_cannot_be_reached_exits_69() {
    let nobody = Nobody::new();
    let endpoint = format!("http://{}", nobody.address());
    let store = ["--json", "--store", "s3://bucket/p", "--ttl", "3s", "--endpoint", &endpoint];
    for args in [
        &["owner", "c"][..],
        &["cells"],
        &["nodes"],
        &["agent"],
        &["evict", "c", "--epoch", "1"],
        &["repair", "c", "--epoch", "1"],
    ] {
        let done = finish(with_keys(&[args, &store].concat()));
        assert_eq!(done.code, Some(69), "{args:?}: {}", done.stderr);
        assert_eq!(done.error()["kind"], "unavailable", "{args:?}");
    }
    let done = finish(with_keys(&[&["run", "--cell", "c"], &store[..], &["--", "true"]].concat()));
    assert_eq!(done.code, Some(69), "{}", done.stderr);
}

#[test]
fn a_ttl_that_breaks_a_rule_exits_78_with_the_rule() {
    let dir = Dir::new();
    for ttl in ["10ms", "61s"] {
        let done = finish(dir.tenure(&["agent", "--json", "--ttl", ttl]));
        assert_eq!(done.code, Some(78), "{ttl}: {}", done.stderr);
        assert!(done.error()["message"].as_str().expect("text").contains("ttl"), "{ttl}");
    }
    let done = finish(dir.tenure(&["agent", "--json", "--name", "a/b"]));
    assert_eq!(done.code, Some(78), "{}", done.stderr);
    assert!(dir.records().is_empty());
}

#[test]
fn corrupt_records_exit_65_everywhere_and_are_never_written_over() {
    let whole = r#"{"node":"n.1","epoch":7,"write":"n.1#3"}"#;
    let huge = format!("{whole}{}", " ".repeat(70_000));
    let bodies: [&[u8]; 13] = [
        b"",
        b"\xff\xfe",
        b"null",
        b"{}",
        br#"{"node":"n.1"}"#,
        br#"{"node":"n.1","epoch":0}"#,
        br#"{"node":"n.1","epoch":-1}"#,
        br#"{"node":"n.1","epoch":"7"}"#,
        br#"{"node":"n.1","epoch":18446744073709551616}"#,
        br#"{"node":"../x","epoch":7}"#,
        br#"{"node":"n.1","epoch":7,"write":"x"}"#,
        &whole.as_bytes()[..whole.len() - 1],
        huge.as_bytes(),
    ];
    let dir = Dir::new();
    for (at, body) in bodies.iter().enumerate() {
        dir.put(&format!("cells/c{at}/own.json"), body);
    }
    let before = dir.records();
    for at in 0..bodies.len() {
        let cell = format!("c{at}");
        let done = finish(dir.tenure(&["owner", &cell, "--json"]));
        assert_eq!(done.code, Some(65), "{cell}: {}", done.stderr);
        assert_eq!(done.lines()[0]["state"], "corrupt", "{cell}");
        assert_eq!(done.error()["key"], format!("cells/{cell}/own.json"));
    }
    let done = finish(dir.tenure(&["cells", "--json"]));
    assert_eq!((done.code, done.lines().len()), (Some(65), bodies.len()), "{}", done.stderr);
    assert_eq!(dir.records(), before);
    let done = finish(dir.tenure(&["run", "--cell", "c0", "--ttl", "1s", "--json", "--", "true"]));
    assert_eq!((done.code, done.error()["kind"].as_str()), (Some(65), Some("corrupt")));
    let cells = |records: Vec<(std::path::PathBuf, Vec<u8>)>| -> Vec<_> {
        records.into_iter().filter(|(path, _)| path.ends_with("own.json")).collect()
    };
    assert_eq!(cells(dir.records()), cells(before));
}

#[test]
fn corrupt_leases_hide_nobody_and_are_never_written_over() {
    let dir = Dir::new();
    let huge = format!(r#"{{"node":"x","expires_ms":1,"ttl_ms":3000}}{}"#, " ".repeat(70_000));
    let bodies: [&[u8]; 6] = [
        b"",
        b"\xff",
        b"[]",
        huge.as_bytes(),
        br#"{"node":"x","expires_ms":"1"}"#,
        br#"{"node":"x","expires_ms":1,"ttl_ms":0}"#,
    ];
    for (at, body) in bodies.iter().enumerate() {
        dir.put(&format!("nodes/n.{at}.json"), body);
        dir.put(&format!("cells/c{at}/own.json"), format!(r#"{{"node":"n.{at}","epoch":2}}"#).as_bytes());
    }
    let before = dir.records();
    let done = finish(dir.tenure(&["nodes", "--json"]));
    assert_eq!((done.code, done.lines().len()), (Some(0), bodies.len()), "{}", done.stderr);
    assert!(done.lines().iter().all(|line| line["state"] == "unknown"), "{}", done.stdout);
    let done = finish(dir.tenure(&["cells", "--json"]));
    assert!(done.lines().iter().all(|line| line["state"] == "unknown"), "{}", done.stdout);
    assert_eq!(dir.records(), before);
}

#[test]
fn a_closed_standard_output_is_no_panic() {
    let dir = Dir::new();
    for at in 0..200 {
        dir.put(&format!("cells/c{at}/own.json"), br#"{"node":"","epoch":1}"#);
    }
    for args in [&["cells", "--json"][..], &["cells"], &["owner", "c1"], &["--help"]] {
        let (process, stdout) = crate::support::Process::start_piped(&mut dir.tenure(args));
        drop(stdout);
        let done = process.finish();
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

fn with_keys(args: &[&str]) -> std::process::Command {
    let mut command = tenure(args);
    command.envs(AWS);
    command
}
