//! A small store that can be wrong in one way at a time.

#![expect(clippy::wildcard_enum_match_arm, reason = "a toy is right in every way but one")]

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use tenure_core::{
    ETag, Entry, Fault, FaultKind, Guard, Instant, ListOp, ListReply, Now, Op, Page, ReadReply, RemoveReply,
    Reply, Stamps, StoreTime, WallTime, WriteOp, WriteReply,
};

use super::{AsyncSubject, Spelling, Subject, Ticket};

/// How the store is wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Wrong {
    Nothing,
    AlwaysUnknown,
    BareTags,
    BareTagsUnchecked,
    CheckedThenWritten,
    ChecksBeforeTheBody,
    DatesGoBack,
    EndlessListing,
    DeniesRemovals,
    DeniesWrites,
    ForgetsARemoval,
    Garbled,
    IfMatchIgnored,
    IfNoneMatchIgnored,
    ListsOutOfOrder,
    LosesEveryThirdAnswer,
    MissingBucket,
    MissingIsUpdated,
    NoStamps,
    ReadsIgnoreTags,
    RejectsEverything,
    SameTagForSameLength,
    StaleReads,
    StaleUnchanged,
    TextOnly,
    WeakTags,
}

impl Wrong {
    pub(super) const ALL: [Self; 26] = [
        Self::Nothing,
        Self::AlwaysUnknown,
        Self::BareTags,
        Self::BareTagsUnchecked,
        Self::CheckedThenWritten,
        Self::ChecksBeforeTheBody,
        Self::DatesGoBack,
        Self::EndlessListing,
        Self::DeniesRemovals,
        Self::DeniesWrites,
        Self::ForgetsARemoval,
        Self::Garbled,
        Self::IfMatchIgnored,
        Self::IfNoneMatchIgnored,
        Self::ListsOutOfOrder,
        Self::LosesEveryThirdAnswer,
        Self::MissingBucket,
        Self::MissingIsUpdated,
        Self::NoStamps,
        Self::ReadsIgnoreTags,
        Self::RejectsEverything,
        Self::SameTagForSameLength,
        Self::StaleReads,
        Self::StaleUnchanged,
        Self::TextOnly,
        Self::WeakTags,
    ];
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

pub(super) struct Toy {
    pub(super) wrong: Wrong,
    objects: Mutex<Objects>,
}

impl Toy {
    pub(super) fn new(wrong: Wrong) -> Self {
        Self { wrong, objects: Mutex::default() }
    }

    /// Returns the keys that are there.
    pub(super) fn keys(&self) -> Vec<String> {
        self.objects.lock().expect("no panic").objects.keys().cloned().collect()
    }

    fn answer(&self, op: Op, spelling: Spelling) -> Reply {
        let mut objects = self.objects.lock().expect("no panic");
        objects.now += 1;
        let now = objects.now;
        match op {
            Op::Read(_) if self.wrong == Wrong::MissingBucket => {
                Reply::Read(ReadReply::Failed(Fault::new(FaultKind::Config, "no such bucket")))
            }
            Op::Read(op) => Reply::Read(self.read(&objects, op.key.as_str(), op.unless.as_ref())),
            Op::Remove(_) if self.wrong == Wrong::DeniesRemovals => {
                Reply::Remove(RemoveReply::Failed(Fault::new(FaultKind::Denied, "no")))
            }
            Op::Remove(op) => {
                if self.wrong != Wrong::ForgetsARemoval {
                    objects.objects.remove(op.key.as_str());
                }
                Reply::Remove(RemoveReply::Removed)
            }
            Op::List(op) => Reply::List(ListReply::Page(self.list(&objects, &op))),
            Op::Write(_) if self.wrong == Wrong::DeniesWrites => {
                Reply::Write(WriteReply::Refused(Fault::new(FaultKind::Denied, "no")))
            }
            Op::Write(op) => {
                let holds = self.holds(&objects, &op, spelling);
                if self.wrong == Wrong::CheckedThenWritten {
                    drop(objects);
                    thread::yield_now();
                    objects = self.objects.lock().expect("no panic");
                }
                if self.wrong == Wrong::Garbled {
                    return Reply::Write(WriteReply::Unknown(Fault::new(FaultKind::Malformed, "")));
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

    fn holds(&self, objects: &Objects, op: &WriteOp, spelling: Spelling) -> bool {
        let current = objects.objects.get(op.key.as_str()).and_then(|versions| versions.last());
        match (&op.guard, current) {
            _ if self.wrong == Wrong::RejectsEverything => false,
            (Guard::Absent, current) => current.is_none() || self.wrong == Wrong::IfNoneMatchIgnored,
            (Guard::Match(etag), _) if etag.is_weak() => false,
            (Guard::Match(_), None) => self.wrong == Wrong::MissingIsUpdated,
            (Guard::Match(_), Some(_)) if self.wrong == Wrong::BareTagsUnchecked => {
                spelling == Spelling::Other
            }
            (Guard::Match(etag), Some(version)) => {
                if self.wrong == Wrong::BareTags && spelling == Spelling::AsSet {
                    return false;
                }
                version.etag == *etag || self.wrong == Wrong::IfMatchIgnored
            }
        }
    }

    fn put(&self, objects: &mut Objects, op: &WriteOp) -> ETag {
        let tag = match self.wrong {
            Wrong::SameTagForSameLength => format!("\"{}\"", op.body.len()),
            Wrong::WeakTags => format!("W/\"{}\"", op.body.escape_ascii()),
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

impl Subject for Toy {
    fn execute(&self, op: Op, spelling: Spelling) -> Reply {
        self.answer(op, spelling)
    }

    fn execute_held(&self, op: Op, spelling: Spelling, ticket: Ticket) -> Reply {
        if self.wrong == Wrong::ChecksBeforeTheBody
            && let Op::Write(op) = &op
        {
            let holds = self.holds(&self.objects.lock().expect("no panic"), op, spelling);
            ticket.wait();
            if !holds {
                return Reply::Write(WriteReply::Rejected);
            }
            let etag = self.put(&mut self.objects.lock().expect("no panic"), op);
            return Reply::Write(WriteReply::Applied { etag });
        }
        ticket.wait();
        self.answer(op, spelling)
    }

    fn pause(&self, _: Duration) {}

    fn now(&self) -> Now {
        let now = self.objects.lock().expect("no panic").now;
        Now { mono: Instant::from_nanos(now * 1_000_000), wall: WallTime::from_millis(now * 1000) }
    }
}

impl AsyncSubject for Toy {
    async fn execute(&self, op: Op, spelling: Spelling) -> Reply {
        self.answer(op, spelling)
    }

    async fn pause(&self, _: Duration) {}

    fn now(&self) -> Now {
        Subject::now(self)
    }
}
