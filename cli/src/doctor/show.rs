//! What the doctor prints: a line for each check, and what it all amounts to.

use core::time::Duration;
use std::io::{self, Write};

use serde_json::{Value, json};
use tenure_core::{Config, Fault, FaultKind};
use tenure_sim::conformance::{Check, Latency, Outcome, Report, Verdict};

use crate::args::Global;
use crate::exit::Failure;
use crate::hints;
use crate::output::{Output, Printed, printable};

use super::subject::Place;

/// The longest bar of a histogram.
const BAR: usize = 40;
/// The percentiles that are shown, in thousandths.
const PERMILLES: [(&str, usize); 4] = [("p50", 500), ("p90", 900), ("p99", 990), ("max", 1000)];

/// Prints for people or for programs.
#[derive(Debug)]
pub(super) struct Show {
    output: Output,
    hint: Option<&'static str>,
    is_read_only: bool,
    /// The ttl that a fleet of the user's would have.
    ttl: Duration,
    /// The least that this store's stamps allow.
    ttl_min: Duration,
}

impl Show {
    pub(super) fn new(output: Output, global: &Global, place: &Place, is_read_only: bool) -> Self {
        let ttl = global.ttl.unwrap_or_else(|| Config::new("any").ttl);
        let hint = place.bucket().and_then(|bucket| hints::of_host(bucket.host()));
        let ttl_min = Duration::from_millis(if place.clock().unit.is_zero() { 50 } else { 3000 });
        Self { output, hint, is_read_only, ttl, ttl_min }
    }

    pub(super) fn is_for_people(&self) -> bool {
        !self.output.is_json()
    }

    /// Says something to whoever waits, beside the verdicts.
    pub(super) fn say(&self, sentence: &str) {
        // If that fails there is nobody left to tell.
        let _ = writeln!(io::stderr(), "tenure: {}", printable(sentence));
    }

    /// Prints verdicts.
    pub(super) fn checks(&self, checks: &[Check]) -> Result<Printed, Failure> {
        let mut text = String::new();
        for check in checks {
            if self.output.is_json() {
                text += &format!("{}\n", object(check));
                continue;
            }
            text += &format!("{} {}: {}\n", mark(check.verdict), check.name, printable(&check.sentence));
            if let Some(advice) = &check.advice {
                text += &format!("       do: {}\n", printable(advice));
            }
        }
        self.output.text(&text)
    }

    /// Prints what all verdicts amount to.
    pub(super) fn summary(
        &self,
        report: &Report,
        place: &Place,
        requests: u64,
        took: Duration,
        code: u8,
    ) -> Result<Printed, Failure> {
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if self.output.is_json() {
            let summary = json!({
                "outcome": report.outcome().as_str(),
                "exit": code,
                "read_only": self.is_read_only,
                "store": place.url(),
                "host": place.bucket().map(|bucket| bucket.host()),
                "settings": report.settings,
                "hint": self.hint,
                "store_ahead_ms": report.store_ahead_ms,
                "writes": report.writes.as_ref().map(times),
                "reads": report.reads.as_ref().map(times),
                "ttl_ms": self.recommended(report).map(ms),
                "requests": requests,
                "took_ms": took_ms,
            });
            return self.output.text(&format!("{}\n", json!({ "summary": summary })));
        }
        let mut text = String::new();
        for (what, latency) in [("writes", &report.writes), ("reads", &report.reads)] {
            if let Some(latency) = latency {
                text += &format!("\n{what}, one at a time:\n{}", histogram(latency));
            }
        }
        text += &format!("\n{}\n", printable(&self.verdict(report, place)));
        if let Some(advice) = self.ttl_advice(report).filter(|_| report.is_fit()) {
            text += &format!("{advice}\n");
        }
        if let Some(hint) = self.hint {
            text += &format!("note: {hint}\n");
        }
        let asked = if requests == 1 { "1 request".to_owned() } else { format!("{requests} requests") };
        text += &format!("({asked} in {:.1} s)\n", took.as_secs_f64());
        self.output.text(&text)
    }

    fn verdict(&self, report: &Report, place: &Place) -> String {
        let url = place.url();
        match report.outcome() {
            Outcome::Fit if self.is_read_only => {
                format!(
                    "{url}: nothing wrong was seen, but whether it is fit is shown by writes only (leave out --read-only)"
                )
            }
            Outcome::Fit => format!("{url} is fit: cells may be kept in it"),
            Outcome::FitWithSettings => {
                let settings = report.settings.join("&");
                let with =
                    report.settings.iter().fold(url.to_owned(), |url, setting| url_with(&url, setting));
                format!("{url} is fit with `{settings}`: give its URL as --store '{with}'")
            }
            Outcome::Unfit => {
                format!("{url} is UNFIT ({}): do not keep cells in it", names(report, Verdict::Fails))
            }
            Outcome::Denied => format!(
                "{url}: access is denied, see above; nodes need s3:GetObject, s3:PutObject and s3:DeleteObject below the prefix and s3:ListBucket on the bucket"
            ),
            Outcome::Config => format!("{url}: the address or a setting is wrong; see above"),
            Outcome::Unclear => format!("{url}: unclear whether it is fit: {}; see above", causes(report)),
        }
    }

    /// Returns the least round ttl with which this store's writes cost no lease.
    fn recommended(&self, report: &Report) -> Option<Duration> {
        report.writes.as_ref()?.ttl(self.ttl_min)
    }

    fn ttl_advice(&self, report: &Report) -> Option<String> {
        let ttl = self.recommended(report)?;
        let (needed, given) = (ttl.as_secs_f64(), self.ttl.as_secs_f64());
        Some(if ttl <= self.ttl {
            format!("writes leave room for a ttl of {needed} s; {given} s is safe")
        } else {
            format!("do: give every node --ttl {needed}s or more; with {given} s these writes cost leases")
        })
    }
}

fn names(report: &Report, verdict: Verdict) -> String {
    let names = report.checks.iter().filter(|check| check.verdict == verdict).map(|check| check.name);
    // Some names have commas in them.
    names.collect::<Vec<_>>().join("; ")
}

/// Says for each cause that left questions open which they are.
fn causes(report: &Report) -> String {
    let mut causes: Vec<(Option<FaultKind>, Vec<&str>)> = Vec::new();
    for check in report.checks.iter().filter(|check| check.verdict == Verdict::Unclear) {
        match causes.iter_mut().find(|(cause, _)| *cause == check.cause) {
            Some((_, names)) => names.push(check.name),
            None => causes.push((check.cause, vec![check.name])),
        }
    }
    let spell = |(cause, names): (Option<FaultKind>, Vec<&str>)| {
        let what =
            cause.map_or_else(|| "no clear answer".to_owned(), |kind| Fault::new(kind, "").to_string());
        format!("{what} ({})", names.join("; "))
    };
    causes.into_iter().map(spell).collect::<Vec<_>>().join(", ")
}

/// Returns a store's URL with a setting that was found to be needed.
fn url_with(url: &str, setting: &str) -> String {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let key = setting.split('=').next().unwrap_or_default();
    let mut parts: Vec<_> =
        query.split('&').filter(|part| !part.is_empty() && part.split('=').next() != Some(key)).collect();
    parts.push(setting);
    format!("{base}?{}", parts.join("&"))
}

fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allowed => "note ",
        Verdict::Fails => "FAILS",
        Verdict::Holds => "ok   ",
        Verdict::Unclear => "?    ",
    }
}

fn object(check: &Check) -> Value {
    json!({
        "check": check.name,
        "verdict": check.verdict.as_str(),
        "sentence": check.sentence,
        "advice": check.advice,
        "cause": check.cause.map(|kind| Fault::new(kind, "").kind_str()),
    })
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Spells times for programs, in milliseconds.
fn times(latency: &Latency) -> Value {
    let in_ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let mut object: serde_json::Map<String, Value> = PERMILLES
        .into_iter()
        .map(|(name, permille)| (name.into(), json!(in_ms(latency.permille(permille)))))
        .collect();
    object.insert("count".into(), json!(latency.count()));
    let classes = latency.histogram().into_iter().map(|(end, count)| json!([in_ms(end), count]));
    object.insert("up_to_ms".into(), Value::Array(classes.collect()));
    Value::Object(object)
}

/// Draws times for people.
fn histogram(latency: &Latency) -> String {
    let classes = latency.histogram();
    let most = classes.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    let mut text = String::new();
    for (end, count) in classes {
        let bar = "#".repeat((count * BAR).div_ceil(most));
        text += &format!("  up to {:>9}  {count:>4} {bar}\n", spell(end));
    }
    let times: Vec<_> = PERMILLES
        .iter()
        .map(|(name, permille)| format!("{name} {}", spell(latency.permille(*permille))))
        .collect();
    text + &format!("  {}\n", times.join(", "))
}

fn spell(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
