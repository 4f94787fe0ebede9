//! The command line as people use it: the real binary.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

#[test]
fn many_worlds_hold_with_the_same_digest_on_any_number_of_threads() {
    let run = |threads| sim(&["--seeds", "40", "--threads", threads]);
    let (one, many) = (run("1"), run("3"));
    assert_eq!((one.code, many.code), (0, 0), "{one:?}");
    assert!(one.out.contains("every check holds in every world"), "{}", one.out);
    assert!(one.out.contains("40 worlds and "), "{}", one.out);
    assert_eq!(digest(&one.out), digest(&many.out));
    // Nobody watches a bar that is no terminal.
    assert_eq!(one.err, "");
}

#[test]
fn one_world_is_traced_and_its_digest_is_shown() {
    let traced = sim(&["--seed", "0x7", "--trace"]);
    assert_eq!(traced.code, 0);
    assert!(traced.out.contains(" starts as "), "{}", traced.out);
    assert_eq!(digest(&traced.out), digest(&sim(&["--seed", "7"]).out));
}

#[test]
fn a_failure_names_its_seed_and_the_commands_that_lead_on() {
    // What shows only when a world does not end takes thousands of runs to shrink.
    let failed = sim(&["--defect", "WaitNoPoll", "--seeds", "3000"]);
    assert_eq!(failed.code, 1);
    assert!(failed.out.contains("violated at t="), "{}", failed.out);
    let steps = failed.out.lines().filter(|line| line.starts_with("    t=")).count();
    assert_eq!(steps, 20, "{}", failed.out);
    let trace = words_of(&failed.out, "trace:  cargo sim ");
    assert_eq!(sim(&refs(&trace)).code, 1);
    for (start, last) in [("shrink: ", "--shrink"), ("draw:   ", "failure.svg"), ("test:   ", "--transcript")]
    {
        assert_eq!(words_of(&failed.out, start).last().map(String::as_str), Some(last), "{}", failed.out);
    }
}

#[test]
fn a_shrunk_failure_replays_from_its_tape_in_words_and_in_a_file() {
    // What shows only when a world does not end takes thousands of runs to shrink.
    let failed = sim(&["--defect", "WaitNoPoll", "--seeds", "3000"]);
    let shrunk = sim(&[&refs(&words_of(&failed.out, "shrink: cargo sim "))[..], &["--runs", "500"]].concat());
    assert_eq!(shrunk.code, 1);
    assert!(shrunk.out.contains("shrunk from "), "{}", shrunk.out);
    let violated = |out: &str| out.lines().find(|line| line.starts_with("violated at ")).map(str::to_owned);
    let words = words_of(&shrunk.out, "trace:  cargo sim ");
    let replayed = sim(&refs(&words));
    assert_eq!((replayed.code, violated(&replayed.out)), (1, violated(&shrunk.out)));
    let file = scratch("a-tape");
    fs::write(&file, format!("{}\n", words[1])).expect("written");
    let mut words = words;
    words[1] = file.display().to_string();
    assert_eq!(violated(&sim(&refs(&words)).out), violated(&shrunk.out));
    fs::remove_file(file).expect("it is there");
}

#[test]
fn a_world_is_drawn_and_written_as_a_test() {
    let file = scratch("a-picture.svg");
    let path = file.display().to_string();
    // What shows only when a world does not end takes thousands of runs to shrink.
    let failed = sim(&["--defect", "WaitNoPoll", "--seeds", "3000"]);
    let seed = words_of(&failed.out, "trace:  cargo sim --seed ").remove(0);
    let drawn = sim(&["--seed", &seed, "--defect", "StealLive", "--transcript", "--picture", &path]);
    assert_eq!(drawn.code, 1);
    assert!(drawn.out.contains("Scenario::of(") && drawn.out.contains("-> write w"), "{}", drawn.out);
    // It pastes: what comes before the first test is comments.
    let (prose, _) = drawn.out.split_once("#[test]").expect("a test");
    assert!(prose.lines().all(|line| line.is_empty() || line.starts_with("// ")), "{prose}");
    let picture = fs::read_to_string(&file).expect("drawn");
    assert!(picture.starts_with("<svg") && picture.contains("G2: "), "{picture}");
    fs::remove_file(file).expect("it is there");
}

#[test]
fn what_it_does_not_understand_is_refused_with_64() {
    for words in [
        &["--nonsense"][..],
        &["--seed"],
        &["--seed", "x"],
        &["--seeds", "0"],
        &["--family", "nobody"],
        &["--defect", "Nothing"],
        &["--tape", "1 2"],
        &["--seed", "1", "--from", "3"],
        &["--seed", "1", "--picture", "/nowhere/at/all.svg"],
        &["find", "nothing"],
    ] {
        let refused = sim(words);
        assert_eq!(refused.code, 64, "{words:?}");
        assert!(!refused.err.is_empty(), "{words:?}");
    }
    let help = sim(&["--help"]);
    assert_eq!(help.code, 0);
    assert!(help.out.contains("--shrink"));
}

/// `UPDATE=1` rewrites the pictures; the difference is then for people to look at.
#[test]
fn the_pictures_in_the_documentation_are_those_that_the_command_draws() {
    let docs = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs"));
    let folder = if std::env::var_os("UPDATE").is_some() { docs.clone() } else { scratch("pictures") };
    let drawn = sim(&["pictures", &folder.display().to_string()]);
    assert_eq!(drawn.code, 0, "{drawn:?}");
    for file in ["takeover.svg", "late-landing.svg", "fence.svg"] {
        let read = |folder: &PathBuf| fs::read_to_string(folder.join(file)).expect("drawn");
        assert!(read(&docs) == read(&folder), "{file} is not as drawn now: UPDATE=1 rewrites it");
    }
    if folder != docs {
        fs::remove_dir_all(folder).expect("it is there");
    }
}

#[test]
fn what_would_be_ignored_is_refused_with_a_sentence() {
    let garbage = scratch("garbage");
    fs::write(&garbage, [0xff, 0xfe, 0, 7]).expect("written");
    let garbage = garbage.display().to_string();
    for (words, named) in [
        (&["--seeds", "5", "--shrink"][..], "--seed or --tape"),
        (&["--seeds", "5", "--picture", "x.svg"], "--seed or --tape"),
        (&["--seed", "1", "--picture", "x.svg", "--from", "5", "--to", "3"], "after --to"),
        (&["--seeds", "5", "--threads", "1000000"], "--threads"),
        (&["--seeds", "5", "--threads", "0"], "1 to 1024 threads"),
        (&["--seeds", "18446744073709551616"], "too large: at most 18446744073709551615"),
        (&["--seed", "1x"], "not a number"),
        (&["--seed", "1", "--picture", "/nowhere/at/all.svg"], "there is no folder /nowhere/at"),
        (&["find", "crash", "--picture", "/"], "it is a folder"),
        (&["--tape", &garbage], "cannot be read"),
        (&["--tape", "garbage text"], "neither a file nor a word of a tape"),
        (&["--tape", "z9999999.z9999999"], "neither a file nor a word of a tape"),
        (&["explore", "--nodes", "0"], "1..=8"),
        (&["explore", "--cells", "1000000"], "1..=8"),
        (&["explore", "--ttl", "1"], "attempt_timeout"),
        (&["explore", "--pinned", "--nodes", "3"], "--pinned"),
    ] {
        let refused = sim(words);
        assert_eq!((refused.code, refused.out.as_str()), (64, ""), "{words:?}: {refused:?}");
        assert!(
            refused.err.starts_with("error: ") && refused.err.contains(named),
            "{words:?}: {}",
            refused.err
        );
    }
    fs::remove_file(garbage).expect("it is there");
}

#[test]
fn a_world_says_what_it_is_held_to() {
    let drifting = sim(&["--seed", "5", "--family", "drifting"]);
    assert!(drifting.out.contains("family drifting, held to G1, G3, G4, G5, "), "{}", drifting.out);
    assert!(drifting.out.contains(", but not to G2\n"), "{}", drifting.out);
}

#[test]
fn whoever_closes_the_pipe_is_told_by_the_status_alone() {
    for words in [&["--seed", "7", "--trace"][..], &["--help"]] {
        let mut child = start(words);
        drop(child.stdout.take());
        let Output { status, stderr, .. } = child.wait_with_output().expect("it ends");
        assert_eq!((status.code(), String::from_utf8_lossy(&stderr).as_ref()), (Some(0), ""), "{words:?}");
    }
}

#[cfg(unix)]
#[test]
fn after_ctrl_c_every_command_says_what_it_has_and_exits_130() {
    // What shows only when a world does not end takes thousands of runs to shrink.
    let failed = sim(&["--defect", "WaitNoPoll", "--seeds", "3000"]);
    let seed = words_of(&failed.out, "trace:  cargo sim --seed ").remove(0);
    let many = "10000000000";
    for (words, said) in [
        (&["--seeds", many][..], " of 10000000000 worlds"),
        (&["--survey", "--seeds", many], "of 10000000000 worlds, of which 0 violate"),
        // Nobody joins an unfit store, so nothing that a member does wrong shows there.
        (&["--teeth", "--seeds", many, "--family", "unfit"], "interrupted"),
        (
            &["--seed", &seed, "--defect", "WaitNoPoll", "--shrink", "--runs", "4000000000"],
            "interrupted\nshrunk from ",
        ),
        (&["find", "grant", "--family", "unfit", "--seeds", many], "interrupted: not met in "),
        (
            &["explore", "--nodes", "4", "--cells", "3", "--faults", "4"],
            "interrupted: every check holds within ",
        ),
    ] {
        let mut child = start(words);
        let first = if words[0] == "explore" {
            first_line(child.stderr.as_mut().expect("piped"))
        } else {
            first_line(child.stdout.as_mut().expect("piped"))
        };
        assert!(!first.is_empty(), "{words:?}");
        let killed =
            Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("it starts");
        assert!(killed.success());
        let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
        let out = String::from_utf8_lossy(&stdout);
        assert_eq!(status.code(), Some(130), "{words:?}: {out}{}", String::from_utf8_lossy(&stderr));
        assert!(out.contains(said), "{words:?}: {out}");
    }
}

/// Reads byte by byte, so that nothing behind the line is lost.
#[cfg(unix)]
fn first_line(from: &mut impl Read) -> String {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while from.read(&mut byte).expect("it can be read") > 0 && byte != *b"\n" {
        line.extend(byte);
    }
    String::from_utf8(line).expect("text")
}

fn start(words: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure-sim"));
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

#[derive(Debug)]
struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn sim(words: &[&str]) -> Ran {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_tenure-sim")).args(words).output().expect("it starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ran { code: status.code().expect("not killed"), out: text(stdout), err: text(stderr) }
}

fn digest(out: &str) -> &str {
    let (_, rest) = out.split_once("digest ").expect("a digest");
    rest.lines().next().expect("a line")
}

/// Returns what follows on the line that starts so, word by word.
fn words_of(out: &str, start: &str) -> Vec<String> {
    let line = out.lines().find_map(|line| line.strip_prefix(start));
    line.unwrap_or_else(|| panic!("no {start:?} in {out}")).split_whitespace().map(str::to_owned).collect()
}

fn refs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}
