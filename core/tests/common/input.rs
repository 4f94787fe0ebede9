//! Input lines into events.

use std::collections::BTreeMap;

use core::time::Duration;
use tenure_core::{
    Call, ETag, Entry, Epoch, Event, Fault, FaultKind, ListId, ListReply, NodeId, Page, ReadReply, RemoveId,
    RemoveReply, Stamps, StoreTime, Tenure, Ticket, WriteReply,
};

use super::session::{Session, cell};

/// Parses `250`, `250ms`, `20s` or `7.000001`, which are milliseconds unless it says seconds.
pub(crate) fn duration(text: &str) -> Duration {
    match text.strip_suffix("ms").unwrap_or(text).strip_suffix('s') {
        Some(seconds) => decimal(seconds, 1_000_000_000),
        None => decimal(text.trim_end_matches("ms"), 1_000_000),
    }
}

/// Parses a decimal number of so many nanoseconds.
fn decimal(text: &str, unit: u64) -> Duration {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let whole: u64 = whole.parse().expect("a number");
    let part = part
        .bytes()
        .fold((0, unit), |(sum, unit), digit| (sum + u64::from(digit - b'0') * unit / 10, unit / 10));
    Duration::from_nanos(whole * unit + part.0)
}

/// Parses the number of `r4`.
pub(crate) fn number(text: &str) -> u64 {
    text[1..].parse().expect("a letter and a number")
}

/// Returns the attempt whose bytes or tag an input is about, if it was never sent: then the engine has done something
/// else before.
pub(crate) fn unsent(line: &str, session: &Session) -> Option<u64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let attempt = |word: &str| word.strip_prefix('w').and_then(|n| n.parse::<u64>().ok());
    let shown = match words[..] {
        [write, "applied"] => attempt(write),
        [_, "found", tag] => attempt(tag),
        [_, "found", tag, stamps, ..] if stamps.contains('=') => attempt(tag),
        ["body", write] => attempt(write),
        _ => None,
    }?;
    (!session.writes.contains_key(&(session.base + shown))).then_some(shown)
}

pub(crate) fn event(line: &str, session: &mut Session) -> Event {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_reply = words.len() > 1
        && words[0].starts_with(['d', 'l', 'r', 'w'])
        && words[0][1..].bytes().all(|b| b.is_ascii_digit());
    match words[0] {
        "wake" => Event::Wake,
        "cancel" => Event::Cancel(Ticket::new(number(words[1]))),
        word if is_reply => {
            let shown = number(word);
            match &word[..1] {
                "d" => Event::RemoveDone(RemoveId::new(session.base + shown), remove_reply(&words[1..])),
                "l" => Event::ListDone(ListId::new(session.base + shown), list_reply(&words[1..])),
                "r" => Event::ReadDone(session.read_id(shown), read_reply(&words[1..], session)),
                _ => Event::WriteDone(session.attempt_id(shown), write_reply(shown, &words[1..], session)),
            }
        }
        _ => {
            let call = call(&words, session);
            Event::Call(session.ticket(), call)
        }
    }
}

fn call(words: &[&str], session: &Session) -> Call {
    let span = |key| option(words, key).map_or(Duration::ZERO, duration);
    let tenure = || Tenure {
        cell: cell(words[1]),
        epoch: Epoch::new(option(words, "epoch").map_or(1, |text| text.parse().expect("an epoch")))
            .expect("not zero"),
    };
    match words[0] {
        "claim" => Call::Claim { cell: cell(words[1]), wait: span("wait") },
        "join" => Call::Join,
        "leave" => Call::Leave,
        "locate" => Call::Locate { cell: cell(words[1]), max_age: span("age") },
        "peers" => Call::Peers,
        "publish" if words.len() == 1 => Call::Publish { load: None, meta: None },
        "publish" => {
            let (key, value) = words[1].split_once('=').expect("a fact as key=value");
            Call::Publish { load: None, meta: Some(BTreeMap::from([(key.to_owned(), value.to_owned())])) }
        }
        "release" => Call::Release(tenure()),
        "transfer" => {
            let to = option(words, "to").expect("to=NODE");
            let to = if to == "me" { session.me.clone() } else { NodeId::parse(to).expect("a node") };
            Call::Transfer { tenure: tenure(), to }
        }
        "unwatch" => Call::Unwatch(cell(words[1])),
        "verify" => Call::Verify(tenure()),
        "watch" => Call::Watch(cell(words[1])),
        other => panic!("{other:?} is no input"),
    }
}

fn read_reply(words: &[&str], session: &Session) -> ReadReply {
    match words[0] {
        "failed" => ReadReply::Failed(fault(words[1])),
        "found" => {
            // A tag alone stands for what that attempt wrote; with a body it is only a tag.
            let has_body = words.get(2).is_some_and(|word| !word.contains('='));
            let is_attempt =
                !has_body && words[1].strip_prefix('w').is_some_and(|n| n.parse::<u64>().is_ok());
            let (body, tag) = if is_attempt {
                let (body, tag) = session.written(number(words[1]));
                (Box::from(&*body), tag)
            } else {
                (bytes(words[2], session), words[1].to_owned())
            };
            ReadReply::Found { etag: etag(&tag), body, stamps: stamps(words) }
        }
        "missing" => ReadReply::Missing,
        "throttled" => ReadReply::Throttled { after: after(words) },
        "unchanged" => ReadReply::Unchanged(stamps(words)),
        other => panic!("{other:?} is no answer to a read"),
    }
}

/// Parses a body: the text itself, or `hex:` and its bytes if it is none or has blanks.
fn bytes(word: &str, session: &Session) -> Box<[u8]> {
    let Some(digits) = word.strip_prefix("hex:") else { return session.long(word).into_bytes().into() };
    let byte = |pair: &[u8]| {
        u8::from_str_radix(core::str::from_utf8(pair).expect("digits"), 16).expect("two digits")
    };
    digits.as_bytes().chunks(2).map(byte).collect()
}

fn remove_reply(words: &[&str]) -> RemoveReply {
    match words[0] {
        "failed" => RemoveReply::Failed(fault(words[1])),
        "removed" => RemoveReply::Removed,
        other => panic!("{other:?} is no answer to a remove"),
    }
}

fn write_reply(shown: u64, words: &[&str], session: &Session) -> WriteReply {
    match words[0] {
        "applied" => {
            let tag = words.get(1).map_or_else(|| session.written(shown).1, |tag| (*tag).to_owned());
            WriteReply::Applied { etag: etag(&tag) }
        }
        "conflict" => WriteReply::Conflict,
        "not-applied" => WriteReply::NotApplied(fault(words[1])),
        "refused" => WriteReply::Refused(fault(words[1])),
        "rejected" => WriteReply::Rejected,
        "throttled" => WriteReply::Throttled { after: after(words) },
        "unknown" => WriteReply::Unknown(fault(words[1])),
        other => panic!("{other:?} is no answer to a write"),
    }
}

/// Parses `page date=1000 next=tok nodes/b.1.json@e1@990 ...`.
fn list_reply(words: &[&str]) -> ListReply {
    match words[0] {
        "failed" => ListReply::Failed(fault(words[1])),
        "page" => ListReply::Page(Page {
            entries: words.iter().filter(|word| word.contains('@')).map(|word| entry(word)).collect(),
            next: option(words, "next").map(Into::into),
            date: seconds(words, "date"),
        }),
        "throttled" => ListReply::Throttled { after: after(words) },
        other => panic!("{other:?} is no answer to a list"),
    }
}

fn entry(word: &str) -> Entry {
    let mut parts = word.split('@');
    let key = parts.next().expect("a key").to_owned();
    let etag = parts.next().filter(|tag| !tag.is_empty()).map(etag);
    let modified = parts.next().map(stamp);
    Entry { key, etag, modified }
}

fn etag(text: &str) -> ETag {
    ETag::new(text.as_bytes()).expect("not empty")
}

fn stamps(words: &[&str]) -> Stamps {
    Stamps { modified: seconds(words, "modified"), date: seconds(words, "date") }
}

fn seconds(words: &[&str], key: &str) -> Option<StoreTime> {
    option(words, key).map(stamp)
}

/// Parses a stamp in seconds since 1970.
fn stamp(text: &str) -> StoreTime {
    StoreTime::from_nanos(
        u64::try_from(decimal(text, 1_000_000_000).as_nanos()).expect("before the year 2500"),
    )
}

fn after(words: &[&str]) -> Option<Duration> {
    option(words, "after").map(duration)
}

fn option<'t>(words: &[&'t str], key: &str) -> Option<&'t str> {
    words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

fn fault(word: &str) -> Fault {
    let kind = match word {
        "config" => FaultKind::Config,
        "denied" => FaultKind::Denied,
        "malformed" => FaultKind::Malformed,
        "network" => FaultKind::Network,
        "throttled" => FaultKind::Throttled,
        "timed-out" => FaultKind::TimedOut,
        "unavailable" => FaultKind::Unavailable,
        "unfit" => FaultKind::Unfit,
        other => panic!("{other:?} is no fault"),
    };
    Fault::new(kind, "")
}
