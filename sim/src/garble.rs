//! Answers that are not what was asked for: somebody else's page, a record cut off, the answer to another request.
//!
//! They come once or in spells, in which one reader gets nothing else under one key, whatever it reads. Whoever gets
//! them cannot tell by any number of reads whether the answers are to blame or the record.

use core::time::Duration;

use tenure_core::{ETag, Key, ReadOp, ReadReply, Stamps, StoreTime, TTL_MAX};

use crate::app::App;
use crate::choices::{Choices, Draw};
use crate::clock::Moment;
use crate::store::content_tag;
use crate::witness::Witness;
use crate::world::World;

/// What an answer turns into.
#[derive(Clone, Debug)]
pub(crate) struct Garble {
    what: What,
    /// Under which tag it comes, unless it is that of another record.
    is_foreign: bool,
    stamps: Wrong,
    /// For how long the next answers under the same key fare likewise.
    lasts: Duration,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// Bytes that are no record, by the number of their kind.
    Bytes(usize),
    /// Another record, as the answer to a read of it: that at this place of all there are.
    Crossed(usize),
    /// Nothing has changed, although no version was named.
    Unasked304,
}

#[derive(Clone, Copy, Debug)]
enum Wrong {
    /// They are right.
    No,
    Missing,
    /// `Last-Modified` and `Date` are off by so many hours.
    Off(i64, i64),
}

/// What a reader got under one key.
#[derive(Clone, Debug)]
pub(crate) struct Garbled {
    key: Key,
    spell: Option<Spell>,
    /// How many such answers came in a row.
    count: u32,
}

#[derive(Clone, Debug)]
struct Spell {
    /// When the first answer of those that came without one that makes sense in between was given.
    since: Moment,
    until: Moment,
    garble: Garble,
}

impl Garble {
    /// Draws how an answer, and those after it for up to `longest`, is garbled.
    pub(crate) fn draw(longest: Duration, choices: &mut impl Choices) -> Self {
        let what = match choices.number(8) {
            0..4 => What::Bytes(choices.number(GARBAGE)),
            4..7 => What::Crossed(choices.number(64)),
            _ => What::Unasked304,
        };
        let hours = |number: usize| number as i64 - 1;
        let stamps = match choices.number(4) {
            0 | 1 => Wrong::No,
            2 => Wrong::Missing,
            _ => Wrong::Off(hours(choices.number(3)), hours(choices.number(3))),
        };
        let is_foreign = choices.number(2) == 1;
        let lasts = if choices.number(4) == 3 { longest } else { Duration::ZERO };
        Self { what, is_foreign, stamps, lasts: choices.between(Duration::ZERO, lasts) }
    }
}

impl Garbled {
    pub(crate) const fn key(&self) -> &Key {
        &self.key
    }
}

impl<C: Choices, A: App> World<'_, C, A> {
    /// Turns the answer to a read into something else, if its fate or a spell is so; tells whether it did.
    ///
    /// A spell ends before anybody may think, by the silence of a record's tag, that nothing else will ever come.
    pub(crate) fn garble(
        &mut self,
        session: usize,
        op: &ReadOp,
        reply: ReadReply,
        fate: Option<&Garble>,
    ) -> (ReadReply, bool) {
        let at = self.at;
        let garbled = &mut self.sessions[session].garbled;
        let place = garbled.iter().position(|garbled| garbled.key == op.key);
        if self.calm.is_some() || (fate.is_none() && place.is_none()) {
            return (reply, false);
        }
        let place = place.unwrap_or_else(|| {
            garbled.push(Garbled { key: op.key.clone(), spell: None, count: 0 });
            garbled.len() - 1
        });
        let spell = &mut garbled[place].spell;
        if spell.as_ref().is_some_and(|spell| at.since(spell.since) > LONGEST) {
            return (reply, false);
        }
        if spell.as_ref().is_none_or(|spell| at >= spell.until) {
            let Some(garble) = fate else { return (reply, false) };
            let since = spell.as_ref().map_or(at, |spell| spell.since);
            *spell = Some(Spell { since, until: at.after(garble.lasts), garble: garble.clone() });
        }
        let garble =
            spell.as_ref().map(|spell| spell.garble.clone()).expect("it was just begun, if not before");
        match self.garbage(op, &reply, &garble) {
            Some(garbage) => (garbage, true),
            None => (reply, false),
        }
    }

    /// Notes that an answer has reached its reader.
    pub(crate) fn note_garbled(&mut self, session: usize, key: &Key, is_garbled: bool, reply: &ReadReply) {
        let entries = &mut self.sessions[session].garbled;
        let Some(entry) = entries.iter_mut().find(|entry| entry.key == *key) else { return };
        if !is_garbled {
            if matches!(reply, ReadReply::Found { .. } | ReadReply::Missing | ReadReply::Unchanged(_)) {
                entry.spell = None;
                entry.count = 0;
            }
            return;
        }
        entry.count += 1;
        let (count, text) = (entry.count, key.as_str());
        let is_crossed = |spell: &Spell| matches!(spell.garble.what, What::Crossed(_));
        if entry.spell.as_ref().is_some_and(is_crossed) {
            self.spotter.note(Witness::Crossed);
        }
        if count > PATIENCE {
            self.spotter.note(Witness::GarbledLong);
        }
        if text.starts_with("retired/") {
            self.spotter.note(Witness::MarkerGarbled);
        }
        if matches!(reply, ReadReply::Unchanged(_)) {
            self.spotter.note(Witness::Unasked304);
        }
    }

    /// Returns what comes instead of an answer, if it can be had.
    fn garbage(&self, op: &ReadOp, reply: &ReadReply, garble: &Garble) -> Option<ReadReply> {
        let (etag, body, stamps) = match reply {
            ReadReply::Found { etag, body, stamps } => (Some(etag), &**body, *stamps),
            ReadReply::Missing => (None, &[][..], Stamps::default()),
            ReadReply::Unchanged(stamps) => (op.unless.as_ref(), &[][..], *stamps),
            ReadReply::Failed(_) | ReadReply::Throttled { .. } => return None,
        };
        let stamps = garble.stamps.of(stamps);
        match garble.what {
            What::Bytes(which) => {
                let garbage = garbage(body, which);
                let etag = etag.filter(|_| !garble.is_foreign);
                let etag = etag.cloned().unwrap_or_else(|| content_tag(&garbage));
                Some(ReadReply::Found { etag, body: garbage, stamps })
            }
            What::Crossed(place) => {
                let (etag, body) = self.other(&op.key, place)?;
                Some(ReadReply::Found { etag, body, stamps })
            }
            What::Unasked304 => op.unless.is_none().then_some(ReadReply::Unchanged(stamps)),
        }
    }

    /// Returns the record under another key: a lease, since an owner record does not say which cell's it is.
    fn other(&self, key: &Key, place: usize) -> Option<(ETag, Box<[u8]>)> {
        let keys =
            || self.store.keys().filter(|other| other.starts_with(Key::LEASES) && *other != key.as_str());
        let other = keys().nth(place.checked_rem(keys().count())?)?;
        let version = self.store.history(other).last()?;
        Some((version.etag().clone(), version.body.as_deref()?.into()))
    }
}

impl Wrong {
    fn of(self, stamps: Stamps) -> Stamps {
        let off = |stamp: Option<StoreTime>, hours: i64| {
            let by = hours * i64::try_from(AN_HOUR.as_nanos()).unwrap_or(i64::MAX);
            stamp.map(|stamp| StoreTime::from_nanos(stamp.as_nanos().saturating_add_signed(by)))
        };
        match self {
            Self::No => stamps,
            Self::Missing => Stamps::default(),
            Self::Off(modified, date) => {
                Stamps { modified: off(stamps.modified, modified), date: off(stamps.date, date) }
            }
        }
    }
}

/// Returns what a body has turned into: cut off, somebody else's page, a record of nonsense, or nothing.
pub(crate) fn garbage(body: &[u8], which: usize) -> Box<[u8]> {
    match which {
        0 => body[..body.len() / 2].into(),
        1 => (*b"<html><body>It works!</body></html>").into(),
        2 => (*br#"{"node":7,"epoch":"seven","expires_ms":-1}"#).into(),
        _ => Box::default(),
    }
}

/// How many kinds of garbage there are.
pub(crate) const GARBAGE: usize = 4;

/// For how long a reader gets garbage under one key, however often it is drawn.
const LONGEST: Duration = TTL_MAX.checked_div(2).expect("two is not zero");

/// How many answers of garbage in a row may well be the answers' fault.
const PATIENCE: u32 = 4;

const AN_HOUR: Duration = Duration::from_secs(3600);
