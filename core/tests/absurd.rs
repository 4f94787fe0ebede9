//! Leases whose numbers make no sense: they prove nothing, least of all a death.

mod common;

use std::collections::VecDeque;

use common::Scenario;

/// What may stand in a lease for its expiry, or for its ttl, that is no such number.
const ABSURD: [&str; 10] = [
    r#""expires_ms":-1,"ttl_ms":10000"#,
    r#""expires_ms":18446744073709551616,"ttl_ms":10000"#,
    r#""expires_ms":1e300,"ttl_ms":10000"#,
    r#""expires_ms":0.5,"ttl_ms":10000"#,
    r#""expires_ms":"0","ttl_ms":10000"#,
    r#""expires_ms":1,"ttl_ms":0"#,
    r#""expires_ms":1,"ttl_ms":-1"#,
    r#""expires_ms":1,"ttl_ms":60001"#,
    r#""expires_ms":1,"ttl_ms":9223372036854775808"#,
    r#""ttl_ms":10000"#,
];

/// By its stamps it has been dead for days, and a lease that can be read would be: this one is watched for the largest
/// ttl and the drift, on one clock, and only then fenced.
#[test]
fn bl_51_a_lease_whose_numbers_are_absurd_is_judged_by_the_largest_ttl_and_by_silence() {
    for numbers in ABSURD {
        let lease = format!("{{\"node\":\"b.1\",{numbers}}} modified=1000 date=500000");
        let mut session = Scenario::joined().slow().start();
        let mut pending = VecDeque::from(session.feed("t=0 claim a wait=90s"));
        let mut at = 0;
        let fenced = loop {
            assert!(at < 80_000, "{numbers}: it is never fenced");
            at += 20;
            let line = pending.pop_front().unwrap_or_default();
            let id = line.split(' ').nth(1).unwrap_or_default();
            let answer = match &line {
                line if line.contains("write") && line.contains("nodes/b.1") => break at,
                line if line.contains("cells/a/") => {
                    format!("{id} found e9 {{\"node\":\"b.1\",\"epoch\":6}}")
                }
                line if line.contains("nodes/b.1") => format!("{id} found l5 {lease}"),
                line if line.contains("nodes/me") => format!("{id} applied"),
                line if line.is_empty() || line.starts_with("notify") => "wake".to_owned(),
                line => panic!("{numbers}: {line}"),
            };
            pending.extend(session.feed(&format!("t={at} {answer}")));
        };
        // The first answer that showed it came after 40 ms; 60 s and a hundredth later it may be fenced.
        assert!((60_640..64_000).contains(&fenced), "{numbers}: fenced at {fenced}");
    }
}
