//! Input lines into events.

use std::collections::BTreeMap;

use core::time::Duration;
use tenure_core::{
    Call, ETag, Entry, Epoch, Event, Fault, FaultKind, ListId, ListReply, NodeId, Page, ReadReply, Stamps,
    StoreTime, Tenure, Ticket, WriteReply,
};

use super::session::{Session, cell};

/// Parses `250`, `250ms` or `20s` into milliseconds.
pub(crate) fn millis(text: &str) -> u64 {
    match text.strip_suffix("ms").unwrap_or(text).strip_suffix('s') {
        Some(seconds) => seconds.parse::<u64>().expect("whole seconds") * 1000,
        None => text.trim_end_matches("ms").parse().expect("whole milliseconds"),
    }
}

/// Parses the number of `r4`.
pub(crate) fn number(text: &str) -> u64 {
    text[1..].parse().expect("a letter and a number")
}

pub(crate) fn event(line: &str, session: &mut Session) -> Event {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_reply = words.len() > 1
        && words[0].starts_with(['l', 'r', 'w'])
        && words[0][1..].bytes().all(|b| b.is_ascii_digit());
    match words[0] {
        "wake" => Event::Wake,
        "cancel" => Event::Cancel(Ticket::new(number(words[1]))),
        word if is_reply => {
            let shown = number(word);
            match &word[..1] {
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
    let duration =
        |key| option(words, key).map_or(Duration::ZERO, |text| Duration::from_millis(millis(text)));
    let tenure = || Tenure {
        cell: cell(words[1]),
        epoch: Epoch::new(option(words, "epoch").map_or(1, |text| text.parse().expect("an epoch")))
            .expect("not zero"),
    };
    match words[0] {
        "claim" => Call::Claim { cell: cell(words[1]), wait: duration("wait") },
        "join" => Call::Join,
        "leave" => Call::Leave,
        "locate" => Call::Locate { cell: cell(words[1]), max_age: duration("age") },
        "peers" => Call::Peers,
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
            let is_attempt = words[1].strip_prefix('w').is_some_and(|n| n.parse::<u64>().is_ok());
            let (body, tag) = if is_attempt {
                let (body, tag) = session.written(number(words[1]));
                (Box::from(&*body), tag)
            } else {
                (session.long(words[2]).into_bytes().into(), words[1].to_owned())
            };
            ReadReply::Found { etag: etag(&tag), body, stamps: stamps(words) }
        }
        "missing" => ReadReply::Missing,
        "throttled" => ReadReply::Throttled { after: after(words) },
        "unchanged" => ReadReply::Unchanged(stamps(words)),
        other => panic!("{other:?} is no answer to a read"),
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
    let etag = parts.next().map(etag);
    let modified = parts.next().map(|text| StoreTime::from_millis(millis(&format!("{text}s"))));
    Entry { key, etag, modified }
}

fn etag(text: &str) -> ETag {
    ETag::new(text.as_bytes()).expect("not empty")
}

fn stamps(words: &[&str]) -> Stamps {
    Stamps { modified: seconds(words, "modified"), date: seconds(words, "date") }
}

fn seconds(words: &[&str], key: &str) -> Option<StoreTime> {
    option(words, key).map(|text| StoreTime::from_millis(millis(&format!("{text}s"))))
}

fn after(words: &[&str]) -> Option<Duration> {
    option(words, "after").map(|text| Duration::from_millis(millis(text)))
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
        "timed-out" => FaultKind::TimedOut,
        "unavailable" => FaultKind::Unavailable,
        "unfit" => FaultKind::Unfit,
        other => panic!("{other:?} is no fault"),
    };
    Fault::new(kind, "")
}
