//! An independent judge of the store's journal: it shares no code with the engine, the drivers or the store,
//! and knows nothing but the files and what the records promise.
//!
//! A line of the journal is one change that happened, in order: the key, the tag that was replaced, the new tag
//! and body, and the store's time stamp in nanoseconds.

use core::fmt::Display;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

/// What the judge found about one rule: the evidence, or what breaks it.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) rule: &'static str,
    pub(super) result: Result<String, String>,
}

/// All changes of a store, in order.
#[derive(Debug)]
pub(super) struct History {
    changes: Vec<Change>,
}

/// One change.
#[derive(Debug)]
struct Change {
    line: usize,
    key: String,
    previous: Option<String>,
    /// The new version; nothing for a removal.
    version: Option<Version>,
    at_ns: u64,
}

#[derive(Debug)]
struct Version {
    etag: String,
    /// Not an object if the bytes are not one.
    record: Value,
}

/// A version of an owner record, as far as it matters.
#[derive(Debug)]
struct Owned<'h> {
    line: usize,
    node: &'h str,
    epoch: u64,
    writer: &'h str,
}

type Verdict = Result<String, String>;

impl History {
    /// Reads a journal's complete lines.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        // What follows the last newline announces a change that has not happened.
        let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
        let changes = complete.lines().enumerate().map(|(at, line)| Change::parse(at + 1, line));
        Ok(Self { changes: changes.collect::<Result<_, _>>()? })
    }

    /// Judges the history; at its end every one of `cells` must belong to one of `live`.
    pub(super) fn judge(&self, cells: &[&str], live: &BTreeSet<String>) -> Vec<Finding> {
        let finding = |rule, result| Finding { rule, result };
        vec![
            finding("every write replaced exactly the version it was guarded by", self.is_chained()),
            finding("epochs only grow, and each is claimed once", self.epochs_grow()),
            finding("nobody was displaced before its lease had run out and was fenced", self.fenced_first()),
            finding("nobody wrote after it was fenced", self.is_silent_after_fence()),
            finding("every cell ended with a live owner", self.owners(cells, live)),
        ]
    }

    fn is_chained(&self) -> Verdict {
        let mut current: BTreeMap<&str, &str> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for change in &self.changes {
            let there = current.get(change.key.as_str()).copied();
            if change.previous.as_deref() != there {
                return change
                    .broken(format_args!("it replaced {:?}, but {there:?} was there", change.previous));
            }
            match &change.version {
                Some(version) => {
                    if !seen.insert((&change.key, &version.etag)) {
                        return change.broken("its tag was there before, so a guard could have held twice");
                    }
                    current.insert(&change.key, &version.etag);
                }
                None if change.key.starts_with("probe/") => {
                    current.remove(change.key.as_str());
                }
                None => return change.broken("it was removed, which nobody may do"),
            }
        }
        Ok(format!("{} changes of {} records", self.changes.len(), current.len()))
    }

    fn epochs_grow(&self) -> Verdict {
        let mut last: BTreeMap<&str, Owned<'_>> = BTreeMap::new();
        let mut claims = 0;
        for change in &self.changes {
            let Some(cell) = change.cell() else { continue };
            let Some(now) = change.owned() else {
                return change.broken("it is no owner record");
            };
            let before = last.get(cell);
            let epoch = before.map_or(0, |before| before.epoch);
            let is_accepted_offer = before.is_some_and(|before| {
                before.node == now.node && before.writer != before.node && now.epoch == before.epoch
            });
            let gives_back = now.node.is_empty() && now.epoch == epoch;
            if !(now.epoch == epoch + 1 || is_accepted_offer || gives_back) {
                return change.broken(format_args!("epoch {} follows epoch {epoch}", now.epoch));
            }
            if gives_back && before.is_none_or(|before| before.node != now.writer) {
                return change.broken("it was given back by somebody who did not own it");
            }
            claims += usize::from(!now.node.is_empty() && now.node == now.writer);
            last.insert(cell, now);
        }
        Ok(format!("{claims} claims of {} cells", last.len()))
    }

    fn fenced_first(&self) -> Verdict {
        let mut owners: BTreeMap<&str, Owned<'_>> = BTreeMap::new();
        let mut takeovers = 0;
        for (at, change) in self.changes.iter().enumerate() {
            let (Some(cell), Some(now)) = (change.cell(), change.owned()) else { continue };
            let before = owners.get(cell).filter(|before| before.node == before.writer);
            if let Some(before) = before.filter(|before| before.node != now.writer) {
                takeovers += 1;
                let (node, line) = (before.node, before.line);
                let Some(age_ms) = self.age_when_fenced(node, at)? else {
                    return change
                        .broken(format_args!("{node}, the owner since line {line}, was not fenced before"));
                };
                let ttl_ms = self.ttl_ms(node).unwrap_or(u64::MAX);
                if age_ms < ttl_ms {
                    return change.broken(format_args!("{node} was fenced after {age_ms} ms of {ttl_ms} ms"));
                }
            }
            owners.insert(cell, now);
        }
        Ok(format!("{takeovers} takeovers"))
    }

    /// Returns how old a node's lease was when it was fenced by another node, before the change number `end`.
    fn age_when_fenced(&self, node: &str, end: usize) -> Result<Option<u64>, String> {
        let mut renewed_ns = None;
        for change in self.changes[..end].iter().filter(|change| change.lease() == Some(node)) {
            let Some(version) = &change.version else { continue };
            if is_tombstone(&version.record) && change.writer() != Some(node) {
                let Some(renewed_ns) = renewed_ns else {
                    return Err(format!("line {}: {node} had no lease to fence", change.line));
                };
                return Ok(Some(change.at_ns.saturating_sub(renewed_ns) / 1_000_000));
            }
            renewed_ns = Some(change.at_ns);
        }
        Ok(None)
    }

    fn ttl_ms(&self, node: &str) -> Option<u64> {
        let mut leases = self.changes.iter().filter(|change| change.lease() == Some(node));
        leases.find_map(|change| change.version.as_ref()?.record.get("ttl_ms")?.as_u64())
    }

    fn is_silent_after_fence(&self) -> Verdict {
        let mut fenced = BTreeSet::new();
        for change in &self.changes {
            if let Some(writer) = change.writer().filter(|writer| fenced.contains(writer)) {
                return change.broken(format_args!("{writer} wrote it after it was fenced"));
            }
            if let (Some(node), Some(version)) = (change.lease(), &change.version) {
                if fenced.contains(node) {
                    return change.broken("a fenced lease was replaced");
                }
                if is_tombstone(&version.record) {
                    fenced.insert(node);
                }
            }
        }
        Ok(format!("{} nodes fenced", fenced.len()))
    }

    fn owners(&self, cells: &[&str], live: &BTreeSet<String>) -> Verdict {
        for cell in cells {
            let last = self.changes.iter().rev().find(|change| change.cell() == Some(cell));
            let owner = last.and_then(Change::owned).filter(|last| last.node == last.writer);
            let Some(owner) = owner else { return Err(format!("nobody owns {cell}")) };
            let lease = self.changes.iter().rev().find(|change| change.lease() == Some(owner.node));
            let is_fenced =
                lease.and_then(|lease| lease.version.as_ref()).is_none_or(|v| is_tombstone(&v.record));
            if is_fenced || !live.contains(owner.node) {
                return Err(format!("{cell} belongs to {}, which does not live", owner.node));
            }
        }
        Ok(format!("{} cells, {} live nodes", cells.len(), live.len()))
    }
}

impl Change {
    fn parse(number: usize, line: &str) -> Result<Self, String> {
        let broken = |what: &str| format!("line {number} of the journal {what}");
        let value: Value = serde_json::from_str(line).map_err(|error| broken(&error.to_string()))?;
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let version = match (value.get("removed").and_then(Value::as_bool).unwrap_or(false), text("etag")) {
            (true, _) => None,
            (false, Some(etag)) => {
                let record =
                    text("body").and_then(|body| serde_json::from_str(&body).ok()).unwrap_or_default();
                Some(Version { etag, record })
            }
            (false, None) => return Err(broken("is neither a write nor a removal")),
        };
        Ok(Self {
            line: number,
            key: text("key").ok_or_else(|| broken("has no key"))?,
            previous: text("previous"),
            version,
            at_ns: value.get("modified_ns").and_then(Value::as_u64).ok_or_else(|| broken("has no time"))?,
        })
    }

    fn cell(&self) -> Option<&str> {
        self.key.strip_prefix("cells/")?.strip_suffix("/own.json")
    }

    fn lease(&self) -> Option<&str> {
        self.key.strip_prefix("nodes/")?.strip_suffix(".json")
    }

    /// Returns the node that wrote the version, as the record says.
    fn writer(&self) -> Option<&str> {
        let id = self.version.as_ref()?.record.get("write")?.as_str()?;
        id.rsplit_once('#').map(|(node, _)| node)
    }

    fn owned(&self) -> Option<Owned<'_>> {
        let record = &self.version.as_ref()?.record;
        let node = record.get("node")?.as_str()?;
        Some(Owned { line: self.line, node, epoch: record.get("epoch")?.as_u64()?, writer: self.writer()? })
    }

    fn broken<T>(&self, why: impl Display) -> Result<T, String> {
        Err(format!("line {}, {}: {why}", self.line, self.key))
    }
}

fn is_tombstone(record: &Value) -> bool {
    record.get("expires_ms").and_then(Value::as_u64) == Some(0) && record.get("fenced_by").is_some()
}

#[cfg(test)]
mod tests {
    use super::History;
    use serde_json::json;
    use std::collections::BTreeSet;

    /// Builds a journal: each change is (key, node that wrote, fields of the record, milliseconds).
    fn journal(changes: &[(&str, &str, serde_json::Value, u64)]) -> Vec<serde_json::Value> {
        let mut tags = std::collections::BTreeMap::new();
        let mut lines = Vec::new();
        for (at, (key, writer, record, ms)) in changes.iter().enumerate() {
            let mut record = record.clone();
            record["write"] = json!(format!("{writer}#{at}"));
            let etag = format!("t{at}");
            let previous = tags.insert((*key).to_owned(), etag.clone());
            lines.push(json!({ "key": key, "previous": previous, "etag": etag, "body": record.to_string(), "modified_ns": ms * 1_000_000 }));
        }
        lines
    }

    fn story() -> Vec<serde_json::Value> {
        let lease = |node: &str| json!({ "node": node, "expires_ms": 5, "ttl_ms": 1000 });
        journal(&[
            ("nodes/a.json", "a", lease("a"), 0),
            ("nodes/b.json", "b", lease("b"), 0),
            ("cells/c/own.json", "a", json!({ "node": "a", "epoch": 1 }), 10),
            ("nodes/b.json", "b", lease("b"), 900),
            (
                "nodes/a.json",
                "b",
                json!({ "node": "a", "expires_ms": 0, "ttl_ms": 1000, "fenced_by": "b" }),
                1000,
            ),
            ("cells/c/own.json", "b", json!({ "node": "b", "epoch": 2 }), 1010),
        ])
    }

    fn broken(lines: &[serde_json::Value]) -> Vec<String> {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let live = BTreeSet::from(["b".to_owned()]);
        let history = History::parse(&text).expect("a journal");
        history.judge(&["c"], &live).into_iter().filter_map(|finding| finding.result.err()).collect()
    }

    #[test]
    fn a_takeover_by_the_rules_is_approved() {
        assert_eq!(broken(&story()), Vec::<String>::new());
    }

    #[test]
    fn an_unguarded_write_is_found() {
        let mut lines = story();
        lines[5]["previous"] = json!("t0");
        assert_eq!(broken(&lines).len(), 1);
    }

    #[test]
    fn a_takeover_without_a_fence_is_found() {
        let mut lines = story();
        lines.remove(4);
        assert!(broken(&lines)[0].contains("was not fenced before"));
    }

    #[test]
    fn a_fence_that_came_too_early_is_found() {
        let mut lines = story();
        lines[4]["modified_ns"] = json!(999_999_999);
        assert!(broken(&lines)[0].contains("999 ms of 1000 ms"));
    }

    #[test]
    fn an_epoch_that_is_claimed_twice_or_skipped_is_found() {
        for epoch in [1, 3] {
            let mut lines = story();
            lines[5]["body"] = json!(format!(r#"{{"node":"b","epoch":{epoch},"write":"b#9"}}"#));
            assert!(broken(&lines)[0].contains("follows epoch 1"), "{epoch}");
        }
    }

    #[test]
    fn a_write_of_a_fenced_node_is_found() {
        let mut lines = story();
        lines.push(json!({ "key": "cells/d/own.json", "previous": null, "etag": "x", "modified_ns": 2,
            "body": r#"{"node":"a","epoch":1,"write":"a#99"}"# }));
        assert!(broken(&lines)[0].contains("after it was fenced"));
    }

    #[test]
    fn a_dead_owner_at_the_end_is_found() {
        let lines = &story()[..3];
        assert!(broken(lines)[0].contains("does not live"));
        assert!(broken(&story()[..2])[0].contains("nobody owns c"));
    }

    #[test]
    fn a_release_by_a_stranger_and_a_removal_are_found() {
        let mut lines = story();
        lines[5]["body"] = json!(r#"{"node":"","epoch":1,"write":"b#9"}"#);
        assert!(broken(&lines).iter().any(|why| why.contains("did not own it")));
        let mut lines = story();
        lines.push(json!({ "key": "cells/c/own.json", "previous": "t5", "removed": true, "modified_ns": 2 }));
        assert!(broken(&lines)[0].contains("removed"));
    }

    #[test]
    fn an_unfinished_last_line_is_no_change_and_nonsense_is_an_error() {
        assert_eq!(History::parse("{\"key\"").expect("empty").changes.len(), 0);
        assert!(History::parse("{}\n").is_err());
        assert!(History::parse("x\n").is_err());
    }
}
