//! A bucket in memory: linearizable, tagged by content as S3 is, and never forgetting a version.
//!
//! It decides what one request does at the moment it is served. What happens to the request on its way
//! belongs to [`Faults`](crate::Faults).

use core::hash::{Hash, Hasher};
use core::ops::Bound;
use core::time::Duration;
use std::sync::Arc;

use tenure_core::{
    ETag, Entry, Guard, Key, ListOp, ListReply, Op, OwnerRecord, Page, ReadOp, ReadReply, RemoveOp,
    RemoveReply, Reply, Stamps, StoreTime, WriteOp, WriteReply,
};

use crate::choices::mix;
use crate::clock::{Moment, WALL_AT_START};
use crate::make::{Flaw, Stamping};
use crate::objects::Objects;

/// A store with every version it ever held.
///
/// A check reads it by [`history`](Self::history) and [`current`](Self::current), under the names that
/// [`Key`] gives. It can also be used alone, as a store for tests of anything that speaks [`Op`] and [`Reply`]:
///
/// ```
/// use tenure_core::{AttemptId, CellId, Guard, Key, Op, Reply, WriteOp, WriteReply};
/// use tenure_sim::{Moment, Stamping, Store, Visit};
///
/// let mut store = Store::new(Stamping::HTTP);
/// let key = Key::owner(&CellId::new("orders:42")?);
/// let create = Op::Write(WriteOp {
///     id: AttemptId::new(1),
///     key: key.clone(),
///     guard: Guard::Absent,
///     body: br#"{"node":"a.1","epoch":1}"#.as_slice().into(),
///     timeout: core::time::Duration::from_secs(1),
/// });
/// let visit = Visit { at: Moment::from_nanos(5), by: Some(0), ..Visit::default() };
/// assert!(matches!(store.execute(&create, visit), Reply::Write(WriteReply::Applied { .. })));
/// // Somebody is there now, so creating it again is refused.
/// assert_eq!(store.execute(&create, visit), Reply::Write(WriteReply::Rejected));
/// assert_eq!(store.history(key.as_str()).len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Store {
    objects: Objects,
    stamping: Stamping,
    flaw: Option<Flaw>,
}

/// One version of one object, or its removal.
#[derive(Clone, Debug)]
pub struct Version {
    /// When it was made.
    pub at: Moment,
    /// Who made it: the number of a session, or nothing for somebody outside the protocol.
    pub by: Option<usize>,
    /// Its bytes; nothing for a removal.
    pub body: Option<Arc<[u8]>>,
    /// The bytes as an owner record, if the key is one's and they parse.
    pub owner: Option<OwnerRecord>,
    etag: ETag,
    modified: StoreTime,
}

/// One request being served: when, for whom, and what the machines that serve it think the time is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Visit {
    /// When the request is evaluated.
    pub at: Moment,
    /// The number of the session that sent it.
    pub by: Option<usize>,
    /// How far `Last-Modified` is ahead of the store's clock, in nanoseconds.
    pub modified_ahead: i64,
    /// How far `Date` is ahead of the store's clock, in nanoseconds.
    pub date_ahead: i64,
    /// Which entries a listing fails to show: the first if the lowest bit is set, and so on, over and over.
    pub hides: u32,
    /// How long ago was so what a listing shows.
    pub stale: Duration,
}

impl Store {
    /// Creates an empty store.
    pub const fn new(stamping: Stamping) -> Self {
        Self { objects: Objects::new(), stamping, flaw: None }
    }

    /// Creates an empty store in the storage of another.
    pub(crate) fn within(mut objects: Objects, stamping: Stamping) -> Self {
        objects.clear();
        Self { objects, stamping, flaw: None }
    }

    /// Returns its storage.
    pub(crate) fn into_objects(self) -> Objects {
        self.objects
    }

    /// Makes it unfit.
    #[must_use]
    pub fn with_flaw(self, flaw: Option<Flaw>) -> Self {
        Self { flaw, ..self }
    }

    pub(crate) const fn stamping(&self) -> &Stamping {
        &self.stamping
    }

    /// Executes one operation.
    pub fn execute(&mut self, op: &Op, visit: Visit) -> Reply {
        match op {
            Op::List(op) => Reply::List(self.list(op, visit)),
            Op::Read(op) => Reply::Read(self.read(op, visit)),
            Op::Remove(op) => Reply::Remove(self.remove(op, visit)),
            Op::Write(op) => Reply::Write(self.write(op, visit)),
        }
    }

    /// Removes an object behind the protocol's back; tells whether there was one.
    pub fn remove_by_force(&mut self, key: &str, at: Moment) -> bool {
        let visit = Visit { at, ..Visit::default() };
        let modified = self.stamp(visit.at, 0);
        match self.objects.get_mut(key) {
            Some(versions) if versions.last().is_some_and(|version| version.body.is_some()) => {
                versions.push(removal(visit, modified));
                true
            }
            Some(_) | None => false,
        }
    }

    /// Puts bytes in the place of whatever is there, behind the protocol's back.
    pub fn put_by_force(&mut self, key: &str, body: Arc<[u8]>, at: Moment) {
        let visit = Visit { at, ..Visit::default() };
        self.put(key, body, visit);
    }

    /// Puts the version that was current `back` versions ago in its place again, byte for byte; tells whether
    /// there is one and it had bytes.
    pub fn restore_by_force(&mut self, key: &str, back: usize, at: Moment) -> bool {
        let modified = self.stamp(at, 0);
        let Some(versions) = self.objects.get_mut(key) else { return false };
        let Some(old) = versions.iter().rev().nth(back).filter(|old| old.body.is_some()) else {
            return false;
        };
        let restored = Version { at, by: None, modified, ..old.clone() };
        versions.push(restored);
        true
    }

    /// Returns every version of an object, oldest first.
    pub fn history(&self, key: &str) -> &[Version] {
        self.objects.get(key).unwrap_or_default()
    }

    /// Returns the current bytes of an object.
    pub fn current(&self, key: &str) -> Option<&Arc<[u8]>> {
        self.version(key)?.body.as_ref()
    }

    /// Returns the keys of all objects that exist, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.objects
            .iter()
            .filter(|(_, versions)| versions.last().is_some_and(|version| version.body.is_some()))
            .map(|(key, _)| key)
    }

    /// Returns the objects that exist, from a name on, in order.
    #[cfg(feature = "server")]
    pub(crate) fn keys_from<'s>(
        &'s self,
        first: Bound<&str>,
    ) -> impl Iterator<Item = (&'s str, &'s Version)> {
        let all = self.objects.from(first).filter_map(|(key, versions)| Some((key, versions.last()?)));
        all.filter(|(_, version)| version.body.is_some())
    }

    /// Forgets all versions of an object but the current one.
    #[cfg(feature = "server")]
    pub(crate) fn forget_history(&mut self, key: &str) {
        if let Some(versions) = self.objects.get_mut(key) {
            versions.drain(..versions.len().saturating_sub(1));
        }
    }

    pub(crate) fn read(&self, op: &ReadOp, visit: Visit) -> ReadReply {
        let Some(version) = self.version(op.key.as_str()) else { return ReadReply::Missing };
        let Some(body) = &version.body else { return ReadReply::Missing };
        let stamps = Stamps {
            modified: self.stamping.has_modified.then_some(version.modified),
            date: self.date(visit),
        };
        if op.unless.as_ref() == Some(&version.etag) {
            return ReadReply::Unchanged(stamps);
        }
        ReadReply::Found { etag: version.etag.clone(), body: body.as_ref().into(), stamps }
    }

    fn write(&mut self, op: &WriteOp, visit: Visit) -> WriteReply {
        let current = self.version(op.key.as_str()).filter(|version| version.body.is_some());
        let holds = match (&op.guard, current) {
            (Guard::Absent, None) => true,
            (Guard::Match(etag), Some(version)) => *etag == version.etag,
            (Guard::Absent, Some(_)) | (Guard::Match(_), None) => false,
        };
        let holds = match (self.flaw, &op.guard) {
            (Some(Flaw::OverwritesOnCreate), Guard::Absent) => true,
            (Some(Flaw::OverwritesOnMatch), Guard::Match(_)) => current.is_some(),
            (Some(Flaw::RejectsTags), Guard::Match(_)) => false,
            (Some(_) | None, Guard::Absent | Guard::Match(_)) => holds,
        };
        if !holds {
            return WriteReply::Rejected;
        }
        WriteReply::Applied { etag: self.put(op.key.as_str(), op.body.clone(), visit) }
    }

    /// Makes a new version and returns its tag.
    fn put(&mut self, key: &str, body: Arc<[u8]>, visit: Visit) -> ETag {
        let etag = match self.flaw {
            Some(Flaw::WeakTags) => weak(&content_tag(&body)),
            Some(_) | None => content_tag(&body),
        };
        let owner = if key.starts_with(Key::OWNERS) { OwnerRecord::parse(&body).ok() } else { None };
        let modified = self.stamp(visit.at, visit.modified_ahead);
        let version =
            Version { at: visit.at, by: visit.by, body: Some(body), owner, etag: etag.clone(), modified };
        self.objects.get_or_insert(key).push(version);
        etag
    }

    fn remove(&mut self, op: &RemoveOp, visit: Visit) -> RemoveReply {
        let modified = self.stamp(visit.at, visit.modified_ahead);
        if let Some(versions) = self.objects.get_mut(op.key.as_str())
            && versions.last().is_some_and(|version| version.body.is_some())
        {
            versions.push(removal(visit, modified));
        }
        RemoveReply::Removed
    }

    pub(crate) fn list(&self, op: &ListOp, visit: Visit) -> ListReply {
        // A continuation is the last key of the page before it.
        let from = match &op.after {
            Some(after) => Bound::Excluded(after.as_ref()),
            None => Bound::Included(op.prefix.as_ref()),
        };
        let mut entries = Vec::new();
        let mut next = None;
        let mut shown = 0;
        for (key, versions) in self.objects.from(from) {
            if !key.starts_with(op.prefix.as_ref()) {
                break;
            }
            let version = if visit.stale.is_zero() { versions.last() } else { as_of(versions, visit) };
            let Some(version) = version.filter(|version| version.body.is_some()) else { continue };
            shown += 1;
            if visit.hides.rotate_right(shown - 1) & 1 == 1 {
                continue;
            }
            if entries.len() == self.stamping.page {
                next = entries.last().map(|last: &Entry| last.key.as_str().into());
                break;
            }
            entries.push(Entry {
                key: key.to_string(),
                etag: Some(version.etag.clone()),
                modified: self.stamping.has_modified.then_some(version.modified),
            });
        }
        ListReply::Page(Page { entries, next, date: self.date(visit) })
    }

    fn version(&self, key: &str) -> Option<&Version> {
        self.objects.get(key)?.last()
    }

    pub(crate) fn date(&self, visit: Visit) -> Option<StoreTime> {
        self.stamping.has_date.then(|| self.stamp(visit.at, visit.date_ahead))
    }

    /// Returns from when on answers are dated so or later, by a clock of the store that is right; nothing if answers
    /// are not dated.
    #[cfg(feature = "picture")]
    pub(crate) fn when_dated(&self, date: StoreTime) -> Option<Moment> {
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let wall = date.as_nanos().checked_next_multiple_of(nanos(self.stamping.unit).max(1))?;
        let since = wall.saturating_sub(WALL_AT_START).saturating_sub(nanos(self.stamping.phase));
        self.stamping.has_date.then(|| Moment::from_nanos(since))
    }

    fn stamp(&self, at: Moment, ahead: i64) -> StoreTime {
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let true_wall = WALL_AT_START + nanos(self.stamping.phase) + at.as_nanos();
        let wall = true_wall.saturating_add_signed(ahead);
        StoreTime::from_nanos(wall - wall % nanos(self.stamping.unit).max(1))
    }
}

impl Version {
    /// Returns the tag of this version: equal for equal bytes.
    pub const fn etag(&self) -> &ETag {
        &self.etag
    }

    /// Returns the stamp of this version, whether or not the store shows it.
    pub const fn modified(&self) -> StoreTime {
        self.modified
    }
}

/// The tag stands for the bytes, as it does everywhere in this store. When a version was stamped nobody can tell
/// any more once another has taken its place.
impl Hash for Store {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { objects, stamping, flaw } = self;
        (stamping, flaw).hash(state);
        for (key, versions) in objects.iter() {
            (key, versions.len(), versions.last().map(|version| version.modified)).hash(state);
            for Version { at, by, body, owner: _, etag, modified: _ } in versions {
                (at, by, body.is_some(), etag).hash(state);
            }
        }
    }
}

fn removal(visit: Visit, modified: StoreTime) -> Version {
    Version { at: visit.at, by: visit.by, body: None, owner: None, etag: content_tag(&[]), modified }
}

/// Returns the version that was current as long ago as what the visitor is shown.
fn as_of(versions: &[Version], visit: Visit) -> Option<&Version> {
    versions.iter().rev().find(|version| visit.at.since(version.at) >= visit.stale)
}

/// Hashes bytes, eight at a time.
fn hash(bytes: &[u8]) -> u64 {
    let step = |state: u64, word: u64| (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let state =
        words.iter().fold(mix(bytes.len() as u64), |state, word| step(state, u64::from_le_bytes(*word)));
    if rest.is_empty() {
        return mix(state);
    }
    let last = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    mix(step(state, last))
}

fn weak(tag: &ETag) -> ETag {
    ETag::new(&[b"W/", tag.as_bytes()].concat()).expect("it is not empty")
}

pub(crate) fn content_tag(body: &[u8]) -> ETag {
    let mut text = [b'"'; 18];
    for (byte, digits) in hash(body).to_be_bytes().into_iter().zip(text[1..].as_chunks_mut().0) {
        *digits = HEXADECIMAL[usize::from(byte)];
    }
    ETag::new(&text).expect("a quoted digest is not empty")
}

/// The two digits of each byte.
const HEXADECIMAL: [[u8; 2]; 256] = {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut all = [[0; 2]; 256];
    let mut byte = 0;
    while byte < all.len() {
        all[byte] = [DIGITS[byte >> 4], DIGITS[byte & 15]];
        byte += 1;
    }
    all
};
