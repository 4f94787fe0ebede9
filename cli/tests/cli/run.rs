//! `tenure run`: the command ends before ownership does, whatever happens to whom.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::Receiver;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;

use crate::support::{Agent, DEADLINE, Dir, Process, finish, lines};

/// A command that runs under `tenure run`, and writes to a named pipe: the pipe closes when nothing of the
/// command's group is left.
struct Running {
    process: Process,
    said: Receiver<String>,
    /// The id of the node that holds the cell.
    node: String,
}

/// Runs a shell script that finds the pipe at its descriptor 3.
fn start(dir: &Dir, options: &[&str], script: &str) -> Running {
    let fifo = dir.fifo("fifo");
    let script = format!("exec 3>{}; echo $TENURE_NODE >&3; {script}", fifo.display());
    let args = [&["run", "--cell", "c1", "--ttl", "2s"], options, &["--", "sh", "-c", &script]].concat();
    let process = Process::start(&mut dir.tenure(&args));
    let said = lines(File::open(fifo).expect("the command opens it, too"));
    let node = said.recv_timeout(DEADLINE).expect("the command says who it runs for");
    Running { process, said, node }
}

impl Running {
    fn says(&self, word: &str) {
        assert_eq!(self.said.recv_timeout(DEADLINE).as_deref(), Ok(word));
    }

    /// Waits until nothing of the group is left.
    fn is_gone(&self) {
        let end = self.said.recv_timeout(DEADLINE);
        assert_eq!(end, Err(std::sync::mpsc::RecvTimeoutError::Disconnected), "something else was said");
    }
}

const STUBBORN: &str = "trap '' TERM INT HUP; sleep 1000 & echo up >&3; sleep 1000; sleep 1000";

#[test]
fn bl_29_the_command_finds_its_cell_epoch_and_node_in_its_environment() {
    let dir = Dir::new();
    let print = "echo $TENURE_CELL $TENURE_EPOCH $TENURE_NODE";
    for epoch in [1, 2] {
        let done = finish(dir.tenure(&["run", "--cell", "c:1", "--name", "web", "--", "sh", "-c", print]));
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let words: Vec<_> = done.stdout.split_whitespace().collect();
        assert_eq!(words[..2], ["c:1", &epoch.to_string()]);
        assert!(words[2].starts_with("web."), "{words:?}");
    }
    // It was given back: the next owner waits for nobody.
    let record = dir.get("cells/c:1/own.json");
    assert_eq!((&record["node"], &record["epoch"]), (&json!(""), &json!(2)));
}

#[test]
fn bl_32_a_cell_that_was_lost_unseen_while_the_command_ran_is_no_success() {
    let evicts = format!("{} evict c1 --epoch $TENURE_EPOCH --force", env!("CARGO_BIN_EXE_tenure"));
    for (deed, reason) in [(evicts.as_str(), "record_replaced"), ("rm $RECORD", "record_removed")] {
        let dir = Dir::new();
        let script = format!("{deed} >/dev/null && exit 3");
        let mut run = dir.tenure(&["run", "--json", "--cell", "c1", "--", "sh", "-c", &script]);
        run.env("RECORD", dir.path().join("cells/c1/own.json"));
        let done = finish(run);
        assert_eq!(done.code, Some(79), "{deed}: {}", done.stderr);
        let error = done.error();
        assert_eq!(error["kind"], "lost", "{error}");
        assert!(error["message"].as_str().is_some_and(|said| said.contains(reason)), "{error}");
    }
}

#[test]
fn the_exit_status_of_the_command_is_passed_on() {
    let dir = Dir::new();
    for (script, code) in
        [("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("kill -9 $$", 137), ("kill -15 $$", 143)]
    {
        let done = finish(dir.tenure(&["run", "--cell", "c1", "--", "sh", "-c", script]));
        assert_eq!(done.code, Some(code), "{script}: {}", done.stderr);
    }
}

#[test]
fn a_command_that_cannot_be_started_exits_as_in_a_shell_and_gives_the_cell_back() {
    let dir = Dir::new();
    fs::write(dir.path().join("plain"), "").expect("written");
    let plain = dir.path().join("plain").display().to_string();
    for (command, code) in [("no-such-command-anywhere", 127), (plain.as_str(), 126)] {
        let done = finish(dir.tenure(&["run", "--cell", "c1", "--", command]));
        assert_eq!(done.code, Some(code), "{}", done.stderr);
        assert!(done.stderr.contains(command), "{}", done.stderr);
        assert_eq!(dir.get("cells/c1/own.json")["node"], "");
    }
}

#[test]
fn a_held_cell_is_not_acquired_and_its_owner_is_named() {
    let dir = Dir::new();
    let mut agent = Agent::join(&dir, "a", "2s");
    agent.claim("c1");
    let done = finish(dir.tenure(&["run", "--cell", "c1", "--ttl", "2s", "--json", "--", "echo", "ran"]));
    assert_eq!((done.code, done.stdout.as_str()), (Some(75), ""));
    assert_eq!((&done.error()["kind"], &done.error()["node"]), (&json!("held"), &json!(agent.node)));
    let args = ["run", "--cell", "c1", "--ttl", "2s", "--wait", "300ms", "--json", "--", "echo", "ran"];
    let done = finish(dir.tenure(&args));
    assert_eq!((done.code, done.stdout.as_str()), (Some(75), ""));
    assert_eq!(done.error()["kind"], "timeout");
}

#[test]
fn a_wait_ends_with_the_release_of_the_cell() {
    let dir = Dir::new();
    let mut agent = Agent::join(&dir, "a", "2s");
    agent.claim("c1");
    let args = [
        "run",
        "--cell",
        "c1",
        "--ttl",
        "1s",
        "--wait",
        "50s",
        "--log",
        "info",
        "--",
        "sh",
        "-c",
        "echo $TENURE_EPOCH",
    ];
    let waiting = Process::start(&mut dir.tenure(&args));
    agent.call(json!({ "do": "release", "cell": "c1" }));
    let done = waiting.finish();
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "2\n"), "{}", done.stderr);
}

#[test]
fn a_signal_while_waiting_ends_the_wait() {
    let dir = Dir::new();
    let mut agent = Agent::join(&dir, "a", "2s");
    agent.claim("c1");
    let args = ["run", "--cell", "c1", "--ttl", "2s", "--wait", "50s", "--log", "info", "--", "echo", "ran"];
    let mut command = dir.tenure(&args);
    let mut child = command.spawn().expect("the binary starts");
    let stderr = lines(child.stderr.take().expect("piped"));
    let joined = stderr.recv_timeout(DEADLINE).expect("a log");
    let node = joined.split_once("joined as ").expect("joined").1.to_owned();
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    assert_eq!(child.wait().expect("ours").code(), Some(130));
    let lease = dir.get(&format!("nodes/{node}.json"));
    assert_eq!(lease["expires_ms"], 0, "it left gracefully");
}

#[test]
fn signals_go_to_the_command_and_its_answer_is_passed_on() {
    let dir = Dir::new();
    let script = "trap 'echo usr1 >&3' USR1; trap 'echo usr2 >&3' USR2; trap 'exit 9' TERM; echo up >&3; \
                  while :; do sleep 0.05; done";
    let mut run = start(&dir, &[], script);
    run.says("up");
    run.process.signal(Signal::USR1);
    run.says("usr1");
    run.process.signal(Signal::USR2);
    run.says("usr2");
    run.process.signal(Signal::TERM);
    assert_eq!(run.process.status().code(), Some(9));
    run.is_gone();
}

#[test]
fn bl_22_the_group_is_ended_at_once_when_tenure_is_killed() {
    let dir = Dir::new();
    let mut run = start(&dir, &[], STUBBORN);
    run.says("up");
    run.process.signal(Signal::KILL);
    run.process.status();
    run.is_gone();
    // Nobody told the others: the cell is taken over like any dead node's.
    assert_eq!(dir.get("cells/c1/own.json")["node"], run.node);
}

#[test]
fn bl_22_the_group_is_gone_before_anybody_else_owns_the_cell_when_tenure_is_stopped() {
    let dir = Dir::new();
    let mut run = start(&dir, &[], &format!("echo $$ >&3; {STUBBORN}"));
    let shell: u32 = run.said.recv_timeout(DEADLINE).expect("its number").parse().expect("a number");
    run.says("up");
    let group = stat(shell).expect("it runs").group;
    assert!(members(group) >= 2);
    let mut agent = Agent::join(&dir, "a", "2s");
    let waiting = agent.ask(json!({ "do": "claim", "cell": "c1", "wait_ms": 50_000 }));
    run.process.signal(Signal::STOP);
    assert_eq!(agent.answer(waiting)["ok"]["epoch"], 2);
    assert_eq!(members(group), 0, "two ran at once");
    run.process.signal(Signal::CONT);
    assert_eq!(run.process.status().code(), Some(79));
}

#[test]
fn bl_22_a_stopped_tenure_gives_its_command_the_grace_to_end_by_itself() {
    let dir = Dir::new();
    let run =
        start(&dir, &[], "trap 'echo term >&3; exit 0' TERM; echo up >&3; while :; do sleep 0.02; done");
    run.says("up");
    run.process.signal(Signal::STOP);
    run.says("term");
    run.is_gone();
    run.process.signal(Signal::CONT);
    assert_eq!(run.process.finish().code, Some(79));
}

#[test]
fn bl_22_a_stopped_command_is_ended_all_the_same() {
    let dir = Dir::new();
    let run = start(&dir, &[], "trap '' HUP TERM; echo up >&3; kill -STOP $$; sleep 1000");
    run.says("up");
    run.process.signal(Signal::KILL);
    run.is_gone();
}

#[test]
fn bl_22_when_the_store_is_gone_the_command_gets_sigterm_and_79_wins() {
    let dir = Dir::new();
    let script = "trap 'echo term >&3; exit 0' TERM; echo up >&3; while :; do sleep 0.02; done";
    let mut run = start(&dir, &["--json"], script);
    run.says("up");
    let moved = dir.path().with_extension("moved");
    fs::rename(dir.path(), &moved).expect("moved");
    run.says("term");
    run.is_gone();
    assert_eq!(run.process.status().code(), Some(79));
    fs::remove_dir_all(moved).expect("ours");
}

#[test]
fn bl_22_when_the_store_is_gone_a_stubborn_command_is_killed() {
    let dir = Dir::new();
    let run = start(&dir, &["--json", "--grace", "100ms"], STUBBORN);
    run.says("up");
    let moved = dir.path().with_extension("moved");
    fs::rename(dir.path(), &moved).expect("moved");
    run.is_gone();
    let done = run.process.finish();
    assert_eq!((done.code, done.error()["kind"].as_str()), (Some(79), Some("lost")));
    fs::remove_dir_all(moved).expect("ours");
}

#[test]
fn bl_22_a_fenced_lease_ends_the_group_at_once() {
    let dir = Dir::new();
    let run = start(&dir, &["--json"], STUBBORN);
    run.says("up");
    let node = &run.node;
    let tombstone =
        format!(r#"{{"node":"{node}","expires_ms":0,"ttl_ms":2000,"write":"x.1#1","fenced_by":"x.1"}}"#);
    dir.put(&format!("nodes/{node}.json"), tombstone.as_bytes());
    run.is_gone();
    let done = run.process.finish();
    assert_eq!(done.code, Some(79), "{}", done.stderr);
    let message = done.error()["message"].as_str().expect("text").to_owned();
    assert!(message.contains("c1") && message.contains("lease_fenced"), "{message}");
    // A fenced session writes nothing more.
    assert_eq!(dir.get(&format!("nodes/{}.json", run.node))["fenced_by"], "x.1");
    assert_eq!(dir.get("cells/c1/own.json")["node"], run.node);
}

#[test]
fn bl_24_what_the_command_leaves_behind_is_ended_before_the_cell_is_given_back() {
    let dir = Dir::new();
    let mut run = start(&dir, &[], "(trap '' TERM; sleep 1000) & exit 4");
    assert_eq!(run.process.status().code(), Some(4));
    assert_eq!(run.said.recv(), Err(std::sync::mpsc::RecvError));
    assert_eq!(dir.get("cells/c1/own.json")["node"], "");
}

#[test]
fn bl_22_a_watchdog_that_somebody_kills_is_replaced() {
    let dir = Dir::new();
    let run = start(&dir, &[], STUBBORN);
    run.says("up");
    let first = watchdog(&run.process);
    kill_process(first, Signal::KILL).expect("it runs");
    while watchdog(&run.process) == first {}
    run.process.signal(Signal::KILL);
    run.is_gone();
}

#[test]
fn the_command_has_the_terminal_while_it_runs_and_the_caller_has_it_again() {
    let dir = Dir::new();
    let (keyboard, name) = terminal();
    // The shell leads a session whose terminal is the one that it opens first.
    let script = r#"exec <"$0" >"$0" 2>"$0"; "$@"; echo code $?; read word; echo caller $word"#;
    let inner = "read word; echo command $word; kill -TSTP $$; echo goes on";
    let command = dir.tenure(&["run", "--cell", "c1", "--", "sh", "-c", inner]);
    let mut shell = Command::new("setsid");
    shell.args(["--wait", "sh", "-c", script]).arg(&name).arg(command.get_program()).args(command.get_args());
    shell.env("TENURE_STORE", dir.url()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = Process::start(&mut shell);
    let screen = lines(keyboard.try_clone().expect("a descriptor"));
    let shows = |word: &str| while !screen.recv_timeout(DEADLINE).expect("it goes on").contains(word) {};
    (&keyboard).write_all(b"one\n").expect("typed");
    shows("command one");
    shows("goes on");
    shows("code 0");
    (&keyboard).write_all(b"two\n").expect("typed");
    shows("caller two");
    assert_eq!(process.status().code(), Some(0));
}

/// Opens a terminal: the side of its keyboard and screen, and the name of the other side.
fn terminal() -> (File, OsString) {
    let keyboard =
        openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&keyboard).expect("granted");
    unlockpt(&keyboard).expect("unlocked");
    let name = ptsname(&keyboard, Vec::new()).expect("a name");
    (keyboard.into(), OsString::from_vec(name.into_bytes()))
}

/// Finds the watchdog among the children of a process, waiting for it if need be.
fn watchdog(tenure: &Process) -> Pid {
    loop {
        for number in numbers() {
            let Ok(words) = fs::read(format!("/proc/{number}/cmdline")) else { continue };
            let is_watchdog = words.split(|b| *b == 0).any(|word| word == b"__watchdog");
            let parent = tenure.id().as_raw_nonzero().get().unsigned_abs();
            if is_watchdog && stat(number).is_some_and(|stat| stat.parent == parent) {
                return i32::try_from(number).ok().and_then(Pid::from_raw).expect("a number");
            }
        }
    }
}

/// Counts what runs in a process group.
fn members(group: u32) -> usize {
    numbers().filter_map(stat).filter(|stat| stat.group == group && stat.state != "Z").count()
}

struct Stat {
    state: String,
    parent: u32,
    group: u32,
}

fn stat(number: u32) -> Option<Stat> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some(Stat {
        state: fields.next()?.to_owned(),
        parent: fields.next()?.parse().ok()?,
        group: fields.next()?.parse().ok()?,
    })
}

fn numbers() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("Linux");
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}
