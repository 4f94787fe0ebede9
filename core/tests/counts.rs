//! The exact number of requests that each operation costs: what a fleet pays for, and what a store must bear.

mod common;

use common::{Scenario, Session};

/// Returns how many requests of each kind some output holds: reads, writes, all others.
fn requests<'l>(lines: impl IntoIterator<Item = &'l String>) -> (usize, usize, usize) {
    let mut count = (0, 0, 0);
    for line in lines {
        match line.split(' ').next() {
            Some("read") => count.0 += 1,
            Some("write") => count.1 += 1,
            Some("list" | "remove") => count.2 += 1,
            _ => {}
        }
    }
    count
}

/// Answers every request at once and returns everything that was said.
fn run(session: &mut Session, line: &str, answer: impl Fn(&str) -> String) -> Vec<String> {
    let mut said = session.feed(line);
    let mut next = 0;
    while next < said.len() {
        let line = said[next].clone();
        next += 1;
        if let ["read" | "write", id, key, ..] = line.split(' ').collect::<Vec<_>>()[..] {
            let reply = if line.starts_with("write") { "applied".to_owned() } else { answer(key) };
            said.extend(session.feed(&format!("{id} {reply}")));
        }
    }
    said
}

#[test]
fn claims_releases_and_verifications_cost_what_they_promise() {
    let mut session = Scenario::joined().start();
    let mut cost = |line: &str, answer: &str| {
        let said = run(&mut session, line, |_| answer.to_owned());
        assert!(said.iter().all(|line| !line.contains("error")), "{said:?}");
        requests(&said)
    };
    assert_eq!(cost("t=1 claim a", "missing"), (1, 1, 0), "a fresh cell");
    assert_eq!(cost("t=2 verify a epoch=1", "unchanged"), (1, 0, 0), "a verification");
    assert_eq!(cost("t=3 release a epoch=1", ""), (0, 1, 0), "a release");
    assert_eq!(cost("t=4 claim a", ""), (0, 1, 0), "a claim after our own release");
    assert_eq!(cost("t=5 transfer a epoch=2 to=b.1", ""), (0, 1, 0), "a transfer");
    assert_eq!(
        cost("t=6 claim c", "found e1 {\"node\":\"me\",\"epoch\":3,\"write\":\"b.1#4\"}"),
        (1, 1, 0),
        "an offer"
    );
}

#[test]
fn a_look_up_between_release_and_claim_costs_the_claim_nothing() {
    let mut session = Scenario::joined().held("a").start();
    run(&mut session, "t=1 release a", |_| String::new());
    run(&mut session, "t=2 locate a", |_| "found w1".to_owned());
    assert_eq!(requests(&run(&mut session, "t=3 claim a", |_| String::new())), (0, 1, 0));
}

#[test]
fn bl_53_a_node_renews_with_one_write_whatever_it_holds() {
    let names: Vec<&'static str> = (0..1000).map(|n| &*format!("c{n}").leak()).collect();
    let mut session = names.iter().fold(Scenario::joined(), |start, name| start.held(name)).start();
    let said = run(&mut session, "t=3700 wake", |_| String::new());
    assert_eq!(requests(&said), (0, 1, 0), "{said:?}");
}

/// The formulas of docs/operations.md: 10,800 / ttl renewals, and a look at a watched cell each 0.9 poll intervals.
#[test]
fn an_hour_at_rest_costs_1080_renewals_and_4000_looks_at_a_watched_cell() {
    let mut session = Scenario::joined().start();
    run(&mut session, "t=1 watch a", |_| "missing".to_owned());
    let (mut reads, mut writes) = (0, 0);
    loop {
        let idle = session.feed("idle").remove(0);
        let until = idle.strip_prefix("idle until=").and_then(|rest| rest.split(' ').next());
        let until: u64 = until.and_then(|ms| ms.parse().ok()).unwrap_or_else(|| panic!("{idle}"));
        if until > 3_600_000 {
            break;
        }
        // What is shown is cut to whole milliseconds.
        let said = run(&mut session, &format!("t={} wake", until + 1), |_| "missing".to_owned());
        assert!(!said.is_empty(), "woken for nothing at {until}");
        let (r, w, others) = requests(&said);
        assert_eq!(others, 0, "{said:?}");
        (reads, writes) = (reads + r, writes + w);
    }
    assert!((1_070..=1_090).contains(&writes), "{writes} renewals");
    assert!((3_960..=4_040).contains(&reads), "{reads} looks");
}

#[test]
fn a_thousand_cells_of_one_dead_node_cost_one_lease_read_one_tombstone_and_two_requests_each() {
    let mut session = Scenario::joined().start();
    let mut said = Vec::new();
    for cell in 0..1000 {
        said.extend(session.feed(&format!("t=1 claim c{cell}")));
    }
    let mut next = 0;
    while next < said.len() {
        let line: String = said[next].clone();
        next += 1;
        let words: Vec<&str> = line.split(' ').collect();
        let reply = match words[..] {
            ["read", _, key, ..] if key.starts_with("cells/") => "found e6 {\"node\":\"b.1\",\"epoch\":6}",
            ["read", ..] => {
                "found l5 {\"node\":\"b.1\",\"expires_ms\":1,\"ttl_ms\":10000} modified=1000 date=1013"
            }
            ["write", ..] => "applied",
            _ => continue,
        };
        said.extend(session.feed(&format!("{} {reply}", words[1])));
    }
    let of = |prefix: &str| said.iter().filter(|line| line.contains(prefix)).collect::<Vec<_>>();
    assert_eq!(requests(of(" nodes/")), (1, 1, 0));
    assert_eq!(requests(of(" cells/")), (1000, 1000, 0));
    assert_eq!(of("claimed epoch=7").len(), 1000);
}
