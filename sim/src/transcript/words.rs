//! Inputs of an engine in the notation of its tests.

use core::fmt::{self, Write as _};
use core::time::Duration;

use tenure_core::{
    Call, Event, Fault, ListReply, ReadId, ReadReply, RemoveReply, Stamps, StoreTime, WriteReply, notation,
};

use super::Transcript;
use crate::store::content_tag;

impl Transcript {
    pub(super) fn event(&mut self, event: &Event) -> String {
        match event {
            Event::Call(_, call) => self.call(call),
            Event::Cancel(ticket) => format!("cancel {ticket}"),
            Event::ListDone(id, reply) => format!("l{} {}", id.get(), self.list_reply(reply)),
            Event::ReadDone(id, reply) => format!("r{} {}", id.get(), self.read_reply(*id, reply)),
            Event::RemoveDone(id, RemoveReply::Failed(fault)) => {
                format!("d{} failed {}", id.get(), word(fault))
            }
            Event::RemoveDone(id, RemoveReply::Removed) => format!("d{} removed", id.get()),
            Event::Wake => "wake".to_owned(),
            Event::WriteDone(id, reply) => format!("w{} {}", id.get(), self.write_reply(id.get(), reply)),
        }
    }

    fn call(&self, call: &Call) -> String {
        let named = |name: &str, span: Duration| match span.is_zero() {
            true => String::new(),
            false => format!(" {name}={}", millis(span)),
        };
        match call {
            Call::Claim { cell, wait } => format!("claim {cell}{}", named("wait", *wait)),
            Call::Join => "join".to_owned(),
            Call::Leave => "leave".to_owned(),
            Call::Locate { cell, max_age } => format!("locate {cell}{}", named("age", *max_age)),
            Call::Peers => "peers".to_owned(),
            Call::Publish { meta, .. } => {
                let fact = meta.as_ref().and_then(|meta| meta.iter().next());
                fact.map_or("publish".to_owned(), |(key, value)| format!("publish {key}={value}"))
            }
            Call::Release(tenure) => format!("release {} epoch={}", tenure.cell, tenure.epoch),
            Call::Transfer { tenure, to } => {
                let to = if to.as_str() == self.me { "me" } else { to.as_str() };
                format!("transfer {} epoch={} to={to}", tenure.cell, tenure.epoch)
            }
            Call::Unwatch(cell) => format!("unwatch {cell}"),
            Call::Verify(tenure) => format!("verify {} epoch={}", tenure.cell, tenure.epoch),
            Call::Watch(cell) => format!("watch {cell}"),
        }
    }

    fn read_reply(&mut self, id: ReadId, reply: &ReadReply) -> String {
        match reply {
            ReadReply::Failed(fault) => format!("failed {}", word(fault)),
            ReadReply::Found { etag, body, stamps } => {
                let Some(key) = self.reads.get(&id).cloned() else { return "missing".to_owned() };
                let tag = self.tag(key.as_str(), etag);
                let attempt = tag.strip_prefix('w').and_then(|number| self.writes.get(&number.parse().ok()?));
                let is_own = attempt.is_some_and(|(_, written)| **written == **body);
                let body = if is_own { String::new() } else { format!(" {}", self.body(body)) };
                format!("found {tag}{body}{}", Stamped(stamps))
            }
            ReadReply::Missing => "missing".to_owned(),
            ReadReply::Throttled { after } => throttled(*after),
            ReadReply::Unchanged(stamps) => format!("unchanged{}", Stamped(stamps)),
        }
    }

    fn body(&self, body: &[u8]) -> String {
        match core::str::from_utf8(body) {
            Ok(text) if text.starts_with('{') && !text.contains([' ', '\n', '\r', '\t']) => {
                let me = &self.me;
                text.replace(&format!("\"{me}\""), "\"me\"").replace(&format!("\"{me}#"), "\"me#")
            }
            Ok(_) | Err(_) => body.iter().fold("hex:".to_owned(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            }),
        }
    }

    fn list_reply(&mut self, reply: &ListReply) -> String {
        match reply {
            ListReply::Failed(fault) => format!("failed {}", word(fault)),
            ListReply::Page(page) => {
                let mut line = "page".to_owned();
                if let Some(date) = page.date {
                    let _ = write!(line, " date={}", seconds(date));
                }
                if let Some(next) = &page.next {
                    let _ = write!(line, " next={next}");
                }
                for entry in &page.entries {
                    let tag = entry.etag.as_ref().map(|etag| self.tag(&entry.key, etag));
                    let _ = write!(line, " {}@{}", entry.key, tag.unwrap_or_default());
                    if let Some(modified) = entry.modified {
                        let _ = write!(line, "@{}", seconds(modified));
                    }
                }
                line
            }
            ListReply::Throttled { after } => throttled(*after),
        }
    }

    fn write_reply(&mut self, id: u64, reply: &WriteReply) -> String {
        match reply {
            WriteReply::Applied { etag } => {
                let Some((key, body)) = self.writes.get(&id).cloned() else { return "applied".to_owned() };
                if content_tag(&body) == *etag {
                    "applied".to_owned()
                } else {
                    format!("applied {}", self.tag(key.as_str(), etag))
                }
            }
            WriteReply::Conflict => "conflict".to_owned(),
            WriteReply::NotApplied(fault) => format!("not-applied {}", word(fault)),
            WriteReply::Refused(fault) => format!("refused {}", word(fault)),
            WriteReply::Rejected => "rejected".to_owned(),
            WriteReply::Throttled { after } => throttled(*after),
            WriteReply::Unknown(fault) => format!("unknown {}", word(fault)),
        }
    }
}

/// The stamps of an answer, in seconds.
struct Stamped<'s>(&'s Stamps);

impl fmt::Display for Stamped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(modified) = self.0.modified {
            write!(f, " modified={}", seconds(modified))?;
        }
        self.0.date.map_or(Ok(()), |date| write!(f, " date={}", seconds(date)))
    }
}

fn throttled(after: Option<Duration>) -> String {
    after.map_or("throttled".to_owned(), |after| format!("throttled after={}", millis(after)))
}

const fn word(fault: &Fault) -> &'static str {
    notation::fault(fault.kind)
}

pub(super) fn millis(span: Duration) -> String {
    decimal(span.as_nanos(), 6)
}

fn seconds(at: StoreTime) -> String {
    decimal(at.as_nanos().into(), 9)
}

/// Writes nanoseconds in a unit of ten to so many of them, with no more digits than it takes.
fn decimal(nanos: u128, digits: u32) -> String {
    let unit = 10_u128.pow(digits);
    let (whole, part) = (nanos / unit, nanos % unit);
    if part == 0 {
        return whole.to_string();
    }
    let part = format!("{part:0width$}", width = digits as usize);
    format!("{whole}.{}", part.trim_end_matches('0'))
}
