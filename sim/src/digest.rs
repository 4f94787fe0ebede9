//! The digest of a world: one number for everything that happened in it, equal for equal worlds.
//!
//! It is computed from the steps themselves, at each of them, and allocates nothing. A multiplication and a rotation
//! for each word tell worlds apart; nobody tries to make two worlds look equal. What is small is inlined to where the
//! step is made, where the compiler knows which it is.

use tenure_core::{Event, ListReply, Op, ReadReply, Reply, WriteReply};

use crate::choices::mix;
use crate::view::{Step, View};

/// The digest of the steps so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) const fn new() -> Self {
        Self(1)
    }

    pub(crate) const fn value(self) -> u64 {
        mix(self.0)
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, view: &View<'_>) {
        let actor = view.actor.map_or(0, |actor| actor as u64 + 1);
        self.0 = fold(fold(self.0, view.at.as_nanos() ^ actor << 48), word(view.step));
    }
}

/// Reduces a step to one word: what it was, and what is particular about it.
#[inline(always)]
fn word(step: &Step<'_>) -> u64 {
    let (what, detail) = match step {
        Step::Acknowledged(ticket, tenure) => (1, ticket.get() << 32 | tenure.epoch.get()),
        Step::Told(event) => told(event),
        Step::Asked(ticket, call) => (3, ticket.get() << 8 | discriminant(call)),
        Step::Crashed => (4, 0),
        Step::Done { ticket, outcome, .. } => (5, ticket.get() << 8 | discriminant(outcome)),
        Step::Handled { now, authority, .. } => {
            (6, now.mono.as_nanos() ^ authority.map_or(0, |until| until.as_nanos().rotate_left(7)))
        }
        Step::Healed => (7, 0),
        Step::Jumped(machine, by) => (8, *machine as u64 ^ by.unsigned_abs()),
        Step::Noticed(notice) => (9, discriminant(notice)),
        Step::Paused(pause) => (10, pause.as_nanos() as u64),
        Step::Removed(key) => (11, hash(key.as_bytes())),
        Step::Resumed => (12, 0),
        Step::Sent(op) => (13, number(op) ^ content(op)),
        Step::Served { op, reply, is_late, .. } => {
            (14 + u64::from(*is_late), number(op).rotate_left(17) ^ answer(reply))
        }
        Step::Started => (16, 0),
        Step::Restored(key) => (17, hash(key.as_bytes())),
        Step::Noted(text) => (18, hash(text.as_bytes())),
        Step::Suspended(span) => (19, span.as_nanos() as u64),
        Step::Cloned(of) => (20, *of as u64),
        Step::Outage(span) => (21, span.as_nanos() as u64),
        Step::Finished => (22, 0),
        Step::Meddled(deed, key) => (23 + (*deed as u64), hash(key.as_bytes())),
    };
    detail ^ what << 56
}

fn told(event: &Event) -> (u64, u64) {
    match event {
        Event::Call(ticket, call) => (64, ticket.get() << 8 | discriminant(call)),
        Event::Cancel(ticket) => (65, ticket.get()),
        Event::ListDone(id, reply) => (66, id.get() << 8 | discriminant(reply)),
        Event::ReadDone(id, reply) => (67, id.get() << 8 | discriminant(reply)),
        Event::RemoveDone(id, reply) => (68, id.get() << 8 | discriminant(reply)),
        Event::Wake => (69, 0),
        Event::WriteDone(id, reply) => (70, id.get() << 8 | discriminant(reply)),
    }
}

/// What a request says beside its number.
fn content(op: &Op) -> u64 {
    match op {
        Op::List(op) => hash(op.prefix.as_bytes()),
        Op::Read(op) => hash(op.key.as_str().as_bytes()),
        Op::Remove(op) => hash(op.key.as_str().as_bytes()),
        Op::Write(op) => hash(&op.body),
    }
}

fn number(op: &Op) -> u64 {
    match op {
        Op::List(op) => op.id.get() << 2,
        Op::Read(op) => op.id.get() << 2 | 1,
        Op::Remove(op) => op.id.get() << 2 | 2,
        Op::Write(op) => op.id.get() << 2 | 3,
    }
}

fn answer(reply: &Reply) -> u64 {
    match reply {
        Reply::List(ListReply::Page(page)) => page.entries.len() as u64,
        Reply::Read(ReadReply::Found { etag, stamps, .. }) => {
            hash(etag.as_bytes()) ^ stamps.date.map_or(0, |date| date.as_nanos())
        }
        Reply::Write(WriteReply::Applied { etag }) => hash(etag.as_bytes()),
        Reply::List(reply) => discriminant(reply),
        Reply::Read(reply) => 8 | discriminant(reply),
        Reply::Remove(reply) => 16 | discriminant(reply),
        Reply::Write(reply) => 24 | discriminant(reply),
    }
}

/// Numbers the variants of an enum by hashing the standard library's own number for them.
fn discriminant<T>(value: &T) -> u64 {
    struct Last(u64);
    impl core::hash::Hasher for Last {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, bytes: &[u8]) {
            for byte in bytes {
                self.0 = self.0 << 8 | u64::from(*byte);
            }
        }
        fn write_isize(&mut self, number: isize) {
            self.0 = number as u64;
        }
    }
    let mut last = Last(0);
    core::hash::Hash::hash(&core::mem::discriminant(value), &mut last);
    core::hash::Hasher::finish(&last)
}

/// Hashes bytes, eight at a time; the last eight overlap those before them if the length is no multiple.
#[inline(never)]
fn hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let state = words.iter().fold(bytes.len() as u64, |state, word| fold(state, u64::from_le_bytes(*word)));
    match bytes.last_chunk::<8>() {
        Some(_) if rest.is_empty() => state,
        Some(last) => fold(state, u64::from_le_bytes(*last)),
        None => rest.iter().fold(state, |state, byte| fold(state, u64::from(*byte))),
    }
}

const fn fold(state: u64, word: u64) -> u64 {
    (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn texts_that_differ_in_one_byte_or_in_length_have_other_hashes() {
        for length in 0..40 {
            let text = vec![b'a'; length];
            assert_ne!(hash(&text), hash(&vec![b'a'; length + 1]), "{length}");
            for place in 0..length {
                let mut other = text.clone();
                other[place] = b'b';
                assert_ne!(hash(&text), hash(&other), "{length} {place}");
            }
        }
    }
}
