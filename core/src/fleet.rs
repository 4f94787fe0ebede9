//! Listing the fleet: every page of `nodes/`, and each lease that changed since it was last read.
//!
//! A listing is advice. Nobody is dead because a list does not show it, and a record that cannot be parsed
//! hides nobody else.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::config::TTL_MAX;
use crate::env::{Env, Target};
use crate::error::{FenceCause, PeersError};
use crate::event::{Outcome, Peer, Ticket};
use crate::id::NodeId;
use crate::judge::Version;
use crate::lru::Lru;
use crate::record::LeaseRecord;
use crate::store::{Fault, FaultKind, Key, ListId, ListReply, Page, ReadId, ReadReply, Stamps};
use crate::time::{Instant, StoreTime};

#[derive(Clone, Debug, Hash)]
pub(crate) struct Fleet {
    run: Option<Run>,
    /// Callers who came after the listing was begun.
    next: Vec<Ticket>,
    known: Lru<NodeId, Version>,
}

#[derive(Clone, Debug, Hash)]
struct Run {
    callers: Vec<Ticket>,
    list: Option<ListId>,
    tokens: BTreeSet<Arc<str>>,
    last: Option<Arc<str>>,
    tries: u32,
    /// When leases that were not read yet are reported by what the listing says of them.
    give_up: Instant,
    /// Leases yet to be read, with what the listing says of them.
    todo: Vec<(NodeId, Stamps)>,
    reads: BTreeMap<ReadId, (NodeId, Stamps)>,
    peers: Vec<Peer>,
}

/// How many leases are read at once.
const READS_MAX: usize = 8;
const TRIES_MAX: u32 = 3;
/// How many pages a listing may have: a million nodes at 1,000 a page.
const PAGES_MAX: usize = 1000;
/// How many leases are remembered.
const REMEMBERED: usize = 4096;

impl Fleet {
    pub(crate) fn new() -> Self {
        Self { run: None, next: Vec::new(), known: Lru::new(REMEMBERED) }
    }

    pub(crate) fn ask(&mut self, ticket: Ticket, env: &mut Env) {
        self.next.push(ticket);
        if self.run.is_none() {
            self.begin(env);
        }
    }

    pub(crate) fn on_list(&mut self, id: ListId, reply: ListReply, env: &mut Env) {
        let Some(run) = &mut self.run else { return };
        if run.list.take_if(|list| *list == id).is_none() {
            return;
        }
        let fault = match reply {
            ListReply::Page(page) => return self.on_page(page, env),
            ListReply::Failed(fault) => fault,
            ListReply::Throttled { .. } => Fault::new(FaultKind::Throttled, Key::LEASES),
        };
        run.tries += 1;
        let is_hopeless = matches!(fault.kind, FaultKind::Throttled | FaultKind::Denied) || env.is_short();
        if run.tries > TRIES_MAX || is_hopeless {
            return self.end(Some(PeersError::Store(fault)), env);
        }
        run.list = Some(env.list(Target::Fleet, Key::LEASES, run.last.clone()));
    }

    pub(crate) fn on_read(&mut self, id: ReadId, reply: ReadReply, env: &mut Env) {
        let Some(run) = &mut self.run else { return };
        let Some((node, listed)) = run.reads.remove(&id) else { return };
        match reply {
            ReadReply::Found { etag, body, stamps } => match LeaseRecord::parse_of(&node, &body) {
                Ok(lease) => {
                    let version = Version::of(&lease, etag, body, (stamps, env.mono()));
                    run.peers.push(peer(&node, (&version, Some(lease)), stamps.date, env));
                    self.known.insert(node, version);
                }
                Err(_) => run.peers.push(unread(node, listed, env)),
            },
            ReadReply::Failed(_) | ReadReply::Throttled { .. } | ReadReply::Unchanged(_) => {
                run.peers.push(unread(node, listed, env));
            }
            ReadReply::Missing => {}
        }
        self.go_on(env);
    }

    /// Tells whether the listing awaits the answer to the request of this number.
    pub(crate) fn awaits(&self, number: u64) -> bool {
        let is_asked = |run: &Run| {
            run.list.is_some_and(|id| id.get() == number) || run.reads.contains_key(&ReadId::new(number))
        };
        self.run.as_ref().is_some_and(is_asked)
    }

    pub(crate) fn fence(&mut self, cause: FenceCause, env: &mut Env) {
        let callers = self.run.take().map(|run| run.callers).unwrap_or_default();
        for ticket in callers.into_iter().chain(core::mem::take(&mut self.next)) {
            env.done(ticket, Outcome::Peers(Err(PeersError::Fenced(cause))));
        }
    }

    fn begin(&mut self, env: &mut Env) {
        self.run = Some(Run {
            callers: core::mem::take(&mut self.next),
            list: Some(env.list(Target::Fleet, Key::LEASES, None)),
            tokens: BTreeSet::new(),
            last: None,
            tries: 0,
            give_up: env.mono().after(env.config.patience),
            todo: Vec::new(),
            reads: BTreeMap::new(),
            peers: Vec::new(),
        });
    }

    fn on_page(&mut self, page: Page, env: &mut Env) {
        let Some(run) = &mut self.run else { return };
        for entry in page.entries {
            let Some(node) = Key::node(&entry.key) else { continue };
            let stamps = Stamps { modified: entry.modified, date: page.date };
            match self.known.get(&node).filter(|version| Some(&version.etag) == entry.etag.as_ref()) {
                Some(version) => {
                    let mut version = version.clone();
                    version.shown_again(stamps);
                    let lease = LeaseRecord::parse_of(&node, &version.body).ok();
                    run.peers.push(peer(&node, (&version, lease), page.date, env));
                }
                None => run.todo.push((node, stamps)),
            }
        }
        run.last = page.next.clone();
        if let Some(next) = page.next {
            if !run.tokens.insert(next.clone()) {
                return self.end(Some(PeersError::Inconsistent("a page token came twice")), env);
            }
            if run.tokens.len() > PAGES_MAX {
                return self.end(Some(PeersError::Inconsistent("it does not end")), env);
            }
            run.list = Some(env.list(Target::Fleet, Key::LEASES, Some(next)));
        }
        self.go_on(env);
    }

    fn go_on(&mut self, env: &mut Env) {
        let Some(run) = &mut self.run else { return };
        if env.is_short() && env.mono() >= run.give_up {
            run.peers.extend(run.todo.drain(..).map(|(node, listed)| unread(node, listed, env)));
        }
        while run.reads.len() < READS_MAX
            && let Some((node, stamps)) = run.todo.pop()
        {
            run.reads.insert(env.read(Target::Fleet, Key::lease(&node), None), (node, stamps));
        }
        if run.list.is_none() && run.reads.is_empty() {
            self.end(None, env);
        }
    }

    fn end(&mut self, error: Option<PeersError>, env: &mut Env) {
        let Some(mut run) = self.run.take() else { return };
        run.peers.sort_by(|a, b| a.node.cmp(&b.node));
        if error.is_some() && env.is_short() {
            // Nor will a listing of their own be answered in time.
            run.callers.append(&mut self.next);
        }
        for ticket in run.callers {
            let result = error.clone().map_or_else(|| Ok(run.peers.clone()), Err);
            env.done(ticket, Outcome::Peers(result));
        }
        if !self.next.is_empty() {
            self.begin(env);
        }
    }
}

/// Shows a node whose lease is listed but cannot be read at the moment: like one that does not say its ttl, it lives
/// unless the listing's stamps say that it is too old for any.
fn unread(node: NodeId, listed: Stamps, env: &Env) -> Peer {
    Peer { node, is_live: lives_unread(listed, env), lease: None }
}

/// Tells whether a lease of unknown ttl lives, by the stamps of a listing; without any it counts as live.
fn lives_unread(listed: Stamps, env: &Env) -> bool {
    match (listed.modified, listed.date) {
        (Some(modified), Some(date)) => {
            date.since(modified) < TTL_MAX + env.config.clock.unit + env.config.clock.margin
        }
        (None, _) | (_, None) => true,
    }
}

fn peer(
    node: &NodeId,
    (version, lease): (&Version, Option<LeaseRecord>),
    date: Option<StoreTime>,
    env: &Env,
) -> Peer {
    // Without a stamp to judge by, a lease that was just read counts as live.
    let remaining = version.remaining(date, env.mono(), env.now, &env.config);
    let is_live = !version.is_tombstone && !remaining.is_zero();
    Peer { node: node.clone(), is_live, lease }
}
