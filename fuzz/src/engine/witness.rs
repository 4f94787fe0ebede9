//! What the store has really said, and what follows from it. Knows nothing of how the engine decides.

use std::collections::BTreeMap;
use std::sync::Arc;

use core::time::Duration;

use tenure_core::{
    AttemptId, CellId, Config, ETag, Engine, Guard, Holder, Instant, Key, LeaseRecord, NodeId, Now,
    OwnerRecord, ReadId, ReadOp, ReadReply, RetiredRecord, Ticket, WriteOp, WriteReply,
};

/// All evidence of one run.
#[derive(Debug)]
pub(super) struct Witness {
    me: NodeId,
    /// How long a lease gives authority after the send that counts.
    authority: Duration,
    keys: BTreeMap<Key, Seen>,
    pub(super) is_fenced: bool,
    /// The tombstone of our own lease, once sent.
    goodbye: Option<Arc<[u8]>>,
    /// How many calls have been made.
    calls: u64,
    /// What was to be verified, and which call asked.
    verifies: BTreeMap<Ticket, (Key, u64)>,
    /// After which call each read was sent.
    reads: BTreeMap<ReadId, u64>,
}

/// What has been said to be stored under one tag; a listing does not say.
type Bodies = Vec<Option<Box<[u8]>>>;

/// What is known about one key.
#[derive(Debug, Default)]
struct Seen {
    /// Tags that an answer about this key has named, each with what was said to be stored under it.
    tags: BTreeMap<Vec<u8>, Bodies>,
    /// After which call the latest read was sent that has shown a version.
    shown: u64,
    /// Whether the store has said that there is nothing.
    was_missing: bool,
    /// Every body sent, with its guard and the time of its first attempt.
    sent: BTreeMap<Arc<[u8]>, (Guard, Instant)>,
    /// The body sent last.
    last: Option<Arc<[u8]>>,
    /// Bodies shown to be stored, with the latest send from which that lets a lease count.
    stored: BTreeMap<Arc<[u8]>, Instant>,
    /// The attempt that is not answered yet.
    in_flight: Option<AttemptId>,
}

impl Witness {
    pub(super) fn new(me: NodeId, config: &Config) -> Self {
        let authority = config.ttl - config.margin_hold;
        Self {
            me,
            authority,
            keys: BTreeMap::new(),
            is_fenced: false,
            goodbye: None,
            calls: 0,
            verifies: BTreeMap::new(),
            reads: BTreeMap::new(),
        }
    }

    /// Notes a call to verify.
    pub(super) fn asked(&mut self, ticket: Ticket, key: Key) {
        self.calls += 1;
        self.verifies.insert(ticket, (key, self.calls));
    }

    /// Notes a listing that names a tag of a key.
    pub(super) fn heard_tag(&mut self, key: Key, etag: &ETag) {
        self.keys.entry(key).or_default().heard(etag, None);
    }

    pub(super) fn sent_read(&mut self, op: &ReadOp) {
        self.reads.insert(op.id, self.calls);
    }

    pub(super) fn heard_read(&mut self, op: &ReadOp, reply: &ReadReply) {
        let sent_after = self.reads.remove(&op.id).unwrap_or_default();
        let seen = self.keys.entry(op.key.clone()).or_default();
        if matches!(reply, ReadReply::Found { .. } | ReadReply::Unchanged(_)) {
            seen.shown = seen.shown.max(sent_after);
        }
        match reply {
            ReadReply::Found { etag, body, .. } => {
                seen.heard(etag, Some(body));
                if let Some((_, first)) = seen.sent.get(&**body) {
                    let first = *first;
                    seen.stored.entry(Arc::from(&**body)).or_insert(first);
                }
            }
            ReadReply::Missing => seen.was_missing = true,
            ReadReply::Failed(_) | ReadReply::Throttled { .. } | ReadReply::Unchanged(_) => {}
        }
    }

    pub(super) fn heard_write(&mut self, op: &WriteOp, sent: Instant, reply: &WriteReply) {
        let seen = self.keys.entry(op.key.clone()).or_default();
        seen.in_flight = seen.in_flight.filter(|id| *id != op.id);
        if let WriteReply::Applied { etag } = reply {
            seen.heard(etag, Some(&op.body));
            let latest = seen.stored.entry(op.body.clone()).or_insert(sent);
            *latest = sent.max(*latest);
        }
    }

    /// Holds a write that the engine asks for against what it can know.
    pub(super) fn judge_write(&mut self, op: &WriteOp, now: Instant) {
        assert!(!self.is_fenced, "{op:?} after the fence");
        if let Some(goodbye) = &self.goodbye {
            assert_eq!(*goodbye, op.body, "{op:?} after our own tombstone");
        }
        self.judge_body(op);
        self.judge_taking(op);
        let seen = self.keys.entry(op.key.clone()).or_default();
        assert_eq!(seen.in_flight.replace(op.id), None, "two writes of {} at once", op.key);
        match &op.guard {
            Guard::Match(etag) => {
                assert!(seen.tags.contains_key(etag.as_bytes()), "{etag} was never the tag of {}", op.key);
            }
            Guard::Absent => {
                let may_be_created = op.key == Key::lease(&self.me) || op.key.as_str().starts_with("probe/");
                assert!(may_be_created || seen.was_missing, "{} was never missing", op.key);
            }
        }
        let (guard, _) = seen.sent.entry(op.body.clone()).or_insert_with(|| (op.guard.clone(), now));
        assert_eq!(*guard, op.guard, "all attempts of one write have one guard");
        let creations = seen.sent.values().filter(|(guard, _)| *guard == Guard::Absent).count();
        assert!(op.key != Key::lease(&self.me) || creations <= 1, "a session creates its lease once");
        seen.last = Some(op.body.clone());
    }

    fn judge_body(&mut self, op: &WriteOp) {
        let key = op.key.as_str();
        if Key::cell(key).is_some() {
            let record = OwnerRecord::parse(&op.body).expect("an owner record can be read");
            let by = record.write.expect("every version is unique").node;
            assert_eq!(by, self.me, "nobody writes in another's name");
        } else if let Some(node) = Key::node(key) {
            let record = LeaseRecord::parse(&op.body).expect("a lease can be read");
            let by = record.write.as_ref().expect("every version is unique");
            assert_eq!(by.node, self.me, "nobody writes in another's name");
            assert!(node == self.me || record.fenced_by.is_some(), "another's lease is fenced or let be");
            if node == self.me && record.is_tombstone() {
                self.goodbye = Some(op.body.clone());
            }
        } else {
            assert!(key.starts_with("probe/") || key.starts_with("retired/"), "{key} is not ours to write");
        }
    }

    /// A record that names another node changes hands only when that node was fenced.
    fn judge_taking(&self, op: &WriteOp) {
        let Guard::Match(etag) = &op.guard else { return };
        let Some(seen) = self.keys.get(&op.key).filter(|_| Key::cell(op.key.as_str()).is_some()) else {
            return;
        };
        // A store that contradicts itself may have shown several bodies under one tag; none may be free to take.
        for body in seen.tags.get(etag.as_bytes()).into_iter().flatten() {
            let Some(Ok(record)) = body.as_deref().map(OwnerRecord::parse) else { return };
            match record.holder() {
                Holder::Node(node) if *node != self.me && !self.is_dead(node) => {}
                Holder::Node(_) | Holder::Nobody | Holder::OfferedTo(_) => return,
            }
        }
        panic!("{op:?} takes a cell from a node that was never fenced");
    }

    /// Tells whether the store has shown a node's tombstone, or its marker.
    fn is_dead(&self, node: &NodeId) -> bool {
        let is_tombstone =
            |body: &[u8]| LeaseRecord::parse_of(node, body).is_ok_and(|lease| lease.is_tombstone());
        let is_marker = |body: &[u8]| RetiredRecord::parse_of(node, body).is_ok();
        let bodies =
            |key| self.keys.get(&key).into_iter().flat_map(|seen| seen.tags.values().flatten().flatten());
        bodies(Key::lease(node)).any(|body| is_tombstone(body)) || bodies(Key::retired(node)).any(|body| is_marker(body))
    }

    /// A tenure is confirmed by what a read has shown that was sent after the call.
    pub(super) fn judge_verified(&self, ticket: Ticket) {
        let (key, call) = &self.verifies[&ticket];
        let shown = self.keys.get(key).map(|seen| seen.shown);
        assert!(
            shown.is_some_and(|shown| shown >= *call),
            "{ticket} is confirmed, but {key} was not read since"
        );
    }

    /// Holds what the engine believes now against what the store has said.
    pub(super) fn judge_belief(&self, engine: &Engine, cells: &[CellId], now: Now) {
        let Some(until) = engine.authority() else {
            for cell in cells {
                assert_eq!(engine.tenure(cell, now), None, "a tenure without authority");
            }
            return;
        };
        assert!(!self.is_fenced, "authority after the fence");
        let lease = self.keys.get(&Key::lease(&self.me)).expect("the lease was written");
        let counted = lease.stored.values().max().expect("the lease was shown to be stored");
        assert!(until <= counted.after(self.authority), "authority until {until}, counted from {counted}");
        for cell in cells {
            let Some(tenure) = engine.tenure(cell, now) else { continue };
            assert!(self.goodbye.is_none(), "{tenure:?} after our own tombstone");
            let seen = self.keys.get(&Key::owner(cell)).expect("the record was written");
            let last = seen.last.as_ref().expect("the record was written");
            let record = OwnerRecord::parse(last).expect("an owner record can be read");
            assert_eq!((record.node.as_ref(), record.epoch), (Some(&self.me), tenure.epoch), "{tenure:?}");
            assert!(seen.stored.contains_key(last), "{tenure:?} was never shown to be stored");
        }
    }

    /// Returns what this node wrote last under a key.
    pub(super) fn last(&self, key: &Key) -> Option<Arc<[u8]>> {
        self.keys.get(key)?.last.clone()
    }

    /// Returns some tag that the key has had.
    pub(super) fn tag(&self, key: &Key, pick: usize) -> Option<ETag> {
        let tags = &self.keys.get(key)?.tags;
        ETag::new(tags.keys().nth(pick % tags.len().max(1))?)
    }
}

impl Seen {
    fn heard(&mut self, etag: &ETag, body: Option<&[u8]>) {
        let bodies = self.tags.entry(etag.as_bytes().to_vec()).or_default();
        let body = body.map(Into::into);
        if !bodies.contains(&body) {
            bodies.push(body);
        }
    }
}
