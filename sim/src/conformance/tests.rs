//! The suite against a small store that can be wrong in one way at a time: each way must be found.

#![expect(clippy::wildcard_enum_match_arm, reason = "a toy is right in every way but one")]

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use tenure_core::{
    ETag, Entry, Fault, FaultKind, Guard, ListOp, ListReply, Op, Page, ReadReply, RemoveReply, Reply, Stamps,
    StoreClock, StoreTime, WriteOp, WriteReply,
};

use super::{Race, Report, Settings, Verdict, race, run};

/// How the store is wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Wrong {
    Nothing,
    AlwaysUnknown,
    CheckedThenWritten,
    DatesGoBack,
    EndlessListing,
    ForgetsARemoval,
    IfMatchIgnored,
    IfNoneMatchIgnored,
    ListsOutOfOrder,
    LosesEveryThirdAnswer,
    MissingIsUpdated,
    NoStamps,
    ReadsIgnoreTags,
    RejectsEverything,
    SameTagForSameLength,
    StaleReads,
    StaleUnchanged,
    TextOnly,
}

struct Version {
    etag: ETag,
    body: Vec<u8>,
    modified: StoreTime,
}

#[derive(Default)]
struct Objects {
    now: u64,
    objects: BTreeMap<String, Vec<Version>>,
}

struct Toy {
    wrong: Wrong,
    objects: Mutex<Objects>,
}

impl Toy {
    fn new(wrong: Wrong) -> Self {
        Self { wrong, objects: Mutex::default() }
    }

    fn execute(&self, op: Op) -> Reply {
        let mut objects = self.objects.lock().expect("no panic");
        objects.now += 1;
        let now = objects.now;
        match op {
            Op::Read(op) => Reply::Read(self.read(&objects, op.key.as_str(), op.unless.as_ref())),
            Op::Remove(op) => {
                if self.wrong != Wrong::ForgetsARemoval {
                    objects.objects.remove(op.key.as_str());
                }
                Reply::Remove(RemoveReply::Removed)
            }
            Op::List(op) => Reply::List(ListReply::Page(self.list(&objects, &op))),
            Op::Write(op) => {
                let holds = self.holds(&objects, &op);
                if self.wrong == Wrong::CheckedThenWritten {
                    drop(objects);
                    thread::yield_now();
                    objects = self.objects.lock().expect("no panic");
                }
                let lost = Fault::new(FaultKind::TimedOut, "lost");
                // Each third request is lost, and of each three the answer of one is.
                if self.wrong == Wrong::AlwaysUnknown
                    || (self.wrong == Wrong::LosesEveryThirdAnswer && now.is_multiple_of(3))
                {
                    return Reply::Write(WriteReply::Unknown(lost));
                }
                if !holds {
                    return Reply::Write(WriteReply::Rejected);
                }
                let etag = self.put(&mut objects, &op);
                if self.wrong == Wrong::LosesEveryThirdAnswer && now % 3 == 1 {
                    return Reply::Write(WriteReply::Unknown(lost));
                }
                Reply::Write(WriteReply::Applied { etag })
            }
        }
    }

    fn read(&self, objects: &Objects, key: &str, unless: Option<&ETag>) -> ReadReply {
        let Some(versions) = objects.objects.get(key) else { return ReadReply::Missing };
        let newest = versions.len() - 1;
        let version =
            &versions[if self.wrong == Wrong::StaleReads { newest.saturating_sub(1) } else { newest }];
        let stamps = match self.wrong {
            Wrong::NoStamps => Stamps::default(),
            Wrong::DatesGoBack => Stamps {
                modified: Some(version.modified),
                date: Some(time(10_000_u64.saturating_sub(objects.now * 10))),
            },
            _ => Stamps { modified: Some(version.modified), date: Some(time(objects.now)) },
        };
        let known = match self.wrong {
            Wrong::ReadsIgnoreTags => false,
            Wrong::StaleUnchanged => unless.is_some(),
            _ => unless == Some(&version.etag),
        };
        if known {
            return ReadReply::Unchanged(stamps);
        }
        ReadReply::Found { etag: version.etag.clone(), body: version.body.clone().into(), stamps }
    }

    fn list(&self, objects: &Objects, op: &ListOp) -> Page {
        let after = op.after.as_deref().unwrap_or("");
        let mut entries: Vec<_> = objects
            .objects
            .iter()
            .filter(|(key, _)| key.starts_with(&*op.prefix) && key.as_str() > after)
            .filter_map(|(key, versions)| {
                let version = versions.last()?;
                let (etag, modified) = (Some(version.etag.clone()), Some(version.modified));
                Some(Entry { key: key.clone(), etag, modified })
            })
            .collect();
        let more = entries.len() > 2;
        entries.truncate(2);
        let mut next = entries.last().filter(|_| more).map(|last| last.key.as_str().into());
        if self.wrong == Wrong::EndlessListing {
            next = Some("probe/".into());
        }
        if self.wrong == Wrong::ListsOutOfOrder {
            entries.reverse();
        }
        Page { entries, next, date: Some(time(objects.now)) }
    }

    fn holds(&self, objects: &Objects, op: &WriteOp) -> bool {
        let current = objects.objects.get(op.key.as_str()).and_then(|versions| versions.last());
        match (&op.guard, current) {
            _ if self.wrong == Wrong::RejectsEverything => false,
            (Guard::Absent, current) => current.is_none() || self.wrong == Wrong::IfNoneMatchIgnored,
            (Guard::Match(_), None) => self.wrong == Wrong::MissingIsUpdated,
            (Guard::Match(etag), Some(version)) => {
                version.etag == *etag || self.wrong == Wrong::IfMatchIgnored
            }
        }
    }

    fn put(&self, objects: &mut Objects, op: &WriteOp) -> ETag {
        let tag = match self.wrong {
            Wrong::SameTagForSameLength => format!("\"{}\"", op.body.len()),
            _ => format!("\"{}\"", op.body.escape_ascii()),
        };
        let etag = ETag::new(tag.as_bytes()).expect("not empty");
        let body = match self.wrong {
            Wrong::TextOnly => String::from_utf8_lossy(&op.body).into_owned().into_bytes(),
            _ => op.body.to_vec(),
        };
        let version = Version { etag: etag.clone(), body, modified: time(objects.now) };
        objects.objects.entry(op.key.as_str().to_owned()).or_default().push(version);
        etag
    }
}

fn time(second: u64) -> StoreTime {
    StoreTime::from_millis(second * 1000)
}

fn asked(wrong: Wrong) -> (Report, Toy) {
    let toy = Toy::new(wrong);
    let settings = Settings { scratch: true, ..Settings::new(7) };
    let report = run(&settings, &mut |op| toy.execute(op), &mut |_| {});
    (report, toy)
}

fn raced(wrong: Wrong) -> Report {
    let toy = Toy::new(wrong);
    let settings = Race { seed: 7, contenders: 4, rounds: 50, timeout: Duration::from_secs(1) };
    race(&settings, &|op| toy.execute(op), &|_| {})
}

/// Returns the names of the checks with this verdict.
fn names(report: &Report, verdict: Verdict) -> Vec<&'static str> {
    report.checks.iter().filter(|check| check.verdict == verdict).map(|check| check.name).collect()
}

#[test]
fn a_right_store_is_fit_and_nothing_is_left_in_it() {
    let (report, toy) = asked(Wrong::Nothing);
    assert!(report.is_fit(), "{report}");
    assert_eq!(names(&report, Verdict::Holds).len(), report.checks.len(), "{report}");
    assert!(toy.objects.lock().expect("no panic").objects.is_empty());
    assert!(raced(Wrong::Nothing).is_fit());
}

#[test]
fn a_store_that_loses_requests_and_answers_is_still_fit() {
    let (report, toy) = asked(Wrong::LosesEveryThirdAnswer);
    assert!(report.is_fit(), "{report}");
    assert!(toy.objects.lock().expect("no panic").objects.is_empty());
    let report = raced(Wrong::LosesEveryThirdAnswer);
    assert!(report.is_fit(), "{report}");
}

#[test]
fn each_way_to_be_wrong_is_found_by_the_check_that_is_there_for_it() {
    for (wrong, name) in [
        (Wrong::DatesGoBack, "stamps"),
        (Wrong::EndlessListing, "listing"),
        (Wrong::ForgetsARemoval, "remove and create"),
        (Wrong::IfMatchIgnored, "stale update"),
        (Wrong::IfNoneMatchIgnored, "create again"),
        (Wrong::ListsOutOfOrder, "listing"),
        (Wrong::MissingIsUpdated, "update of a missing record"),
        (Wrong::RejectsEverything, "create"),
        (Wrong::SameTagForSameLength, "a tag for each version"),
        (Wrong::StaleReads, "read after write"),
        (Wrong::StaleUnchanged, "conditional read"),
        (Wrong::TextOnly, "bytes"),
    ] {
        let (report, _) = asked(wrong);
        assert!(!report.is_fit(), "{wrong:?}");
        assert!(names(&report, Verdict::Fails).contains(&name), "{wrong:?}:\n{report}");
    }
}

#[test]
fn a_store_that_checks_and_then_writes_is_found_by_the_race_alone() {
    assert!(asked(Wrong::CheckedThenWritten).0.is_fit());
    let report = raced(Wrong::CheckedThenWritten);
    assert_eq!(names(&report, Verdict::Fails), ["race of updates", "race of creates"], "{report}");
}

#[test]
fn what_is_allowed_is_noted_and_what_is_unclear_is_not_fit() {
    assert_eq!(names(&asked(Wrong::NoStamps).0, Verdict::Allowed), ["stamps"]);
    assert_eq!(names(&asked(Wrong::ReadsIgnoreTags).0, Verdict::Allowed), ["conditional read"]);
    let (report, _) = asked(Wrong::AlwaysUnknown);
    assert!(!report.is_fit());
    assert!(names(&report, Verdict::Unclear).contains(&"create"), "{report}");
    assert!(!raced(Wrong::AlwaysUnknown).is_fit());
    assert!(!Report::default().is_fit());
    assert_eq!(Settings::new(1).clock, StoreClock::HTTP);
}
