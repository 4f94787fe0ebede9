//! One request against the store: what S3 does with it, at the one instant at which it is evaluated.

use md5::{Digest as _, Md5};

use crate::clock::Moment;
use crate::server::answer::{Answer, Content};
use crate::server::asked::{Asked, What};
use crate::server::clock::Clock;
use crate::server::fault::Fault;
use crate::server::list;
use crate::server::plan::{Conditions, Page};
use crate::store::{Store, Version};

/// Tells whether the request's condition holds; if not, what is answered.
pub(crate) fn condition(store: &Store, asked: &Asked, wrong: &Conditions) -> Result<(), Box<Answer>> {
    let What::Object(key) = &asked.what else { return Ok(()) };
    let current = current(store, key);
    let (wanted, unwanted) = (asked.header("if-match"), asked.header("if-none-match"));
    let is_put = asked.method == "PUT";
    if is_put && unwanted.is_some_and(|tag| tag != "*" || wanted.is_some()) {
        let what = "If-None-Match on a PUT with anything but *, or together with If-Match,";
        return Err(Answer::not_implemented(what).into());
    }
    if wrong.ignores_all {
        return Ok(());
    }
    if let Some(tag) = wanted.filter(|_| !wrong.ignores_match) {
        match &current {
            Some((_, etag)) if is_match(tag, etag, wrong) => {}
            Some(_) => return Err(rejected().into()),
            None if is_put && wrong.missing_created => {}
            None if wrong.missing_rejected => return Err(rejected().into()),
            None => return Err(no_such_key().into()),
        }
    }
    match (unwanted, current) {
        (Some("*"), Some(_)) if is_put => Err(rejected().into()),
        (Some("*"), None) if is_put && wrong.marker_exists && !store.history(key).is_empty() => {
            Err(rejected().into())
        }
        (Some(tag), Some((_, etag))) if is_reading(asked) && is_match(tag, &etag, wrong) => {
            // As most stores do, without the stamp of the version.
            Err(Answer { etag: Some(etag), ..Answer::status(304) }.into())
        }
        _ => Ok(()),
    }
}

/// Does what was asked for, whatever its condition; tells whether the store has changed, and adds what was wrong with
/// the answer to `effects`.
pub(crate) fn apply(
    store: &mut Store,
    clock: &Clock,
    at: Moment,
    asked: &Asked,
    body: &[u8],
    wrong: Page,
    effects: &mut Vec<Fault>,
) -> (Answer, bool) {
    let key = match &asked.what {
        What::Bucket(query) => return (list::bucket(store, clock, asked, query, wrong, effects), false),
        What::Object(key) => key,
        What::Other(answer) => return (answer.clone(), false),
    };
    match asked.method.as_str() {
        "GET" | "HEAD" => match current(store, key) {
            Some((version, etag)) => {
                let content = version.body.clone().map_or(Content::Nothing, Content::Bytes);
                let modified = Some(clock.seconds(version.at));
                (Answer { etag: Some(etag), modified, content, ..Answer::status(200) }, false)
            }
            None => (no_such_key(), false),
        },
        "PUT" => {
            store.put_by_force(key, body.into(), at);
            (Answer { etag: Some(tag(body)), ..Answer::status(200) }, true)
        }
        "DELETE" => (Answer::status(204), store.remove_by_force(key, at)),
        other => {
            let message = format!("{other} is not allowed against this resource");
            (Answer::error(405, "MethodNotAllowed", message), false)
        }
    }
}

/// Tells whether this answer to this request says what is not there, or what is: for that one needs the right to list.
pub(crate) fn tells_of_missing(asked: &Asked, answer: &Answer) -> bool {
    match &asked.what {
        What::Bucket(_) => true,
        What::Object(_) => is_reading(asked) && answer.status == 404,
        What::Other(_) => false,
    }
}

/// Returns the tag of these bytes, as S3 makes it: their MD5, in quotes.
pub(crate) fn tag(body: &[u8]) -> String {
    use core::fmt::Write as _;
    let mut text = String::with_capacity(34);
    text.push('"');
    for byte in Md5::digest(body) {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
    }
    text.push('"');
    text
}

fn current<'s>(store: &'s Store, key: &str) -> Option<(&'s Version, String)> {
    let version = store.history(key).last()?;
    Some((version, tag(version.body.as_ref()?)))
}

/// Tells whether a condition names this tag. S3 does not insist on the quotes.
fn is_match(sent: &str, etag: &str, wrong: &Conditions) -> bool {
    let bare = etag.trim_matches('"');
    sent == bare || ((sent == etag || sent == "*") && !wrong.bare_tags)
}

fn is_reading(asked: &Asked) -> bool {
    matches!(asked.method.as_str(), "GET" | "HEAD")
}

fn no_such_key() -> Answer {
    Answer::error(404, "NoSuchKey", "The specified key does not exist.")
}

pub(crate) fn denied() -> Answer {
    Answer::error(403, "AccessDenied", "Access Denied")
}

pub(crate) fn rejected() -> Answer {
    let message = "At least one of the pre-conditions you specified did not hold";
    Answer::error(412, "PreconditionFailed", message)
}
