//! `ListObjectsV2`, page by page, and the little else that is asked of a bucket.

use core::fmt::Write as _;
use core::ops::Bound;

use percent_encoding::utf8_percent_encode;
use quick_xml::escape::escape;

use crate::server::answer::{Answer, Content};
use crate::server::asked::{Asked, value};
use crate::server::clock::{self, Clock};
use crate::server::evaluate::tag;
use crate::server::fault::Fault;
use crate::server::plan::Page;
use crate::server::signature::UNRESERVED_AND_SLASH;
use crate::store::Store;

/// How many keys S3 shows on one page.
const KEYS_MAX: usize = 1000;

/// Answers what is asked of the bucket itself.
pub(crate) fn bucket(
    store: &Store,
    clock: &Clock,
    asked: &Asked,
    query: &[(String, String)],
    wrong: Page,
    effects: &mut Vec<Fault>,
) -> Answer {
    match asked.method.as_str() {
        "HEAD" => return Answer::status(200),
        "GET" if value(query, "list-type") == Some("2") => {}
        _ => return Answer::not_implemented("anything but ListObjectsV2"),
    }
    if value(query, "delimiter").is_some_and(|text| !text.is_empty()) {
        return Answer::not_implemented("a delimiter");
    }
    page(store, clock, query, wrong, effects)
}

fn page(
    store: &Store,
    clock: &Clock,
    query: &[(String, String)],
    wrong: Page,
    effects: &mut Vec<Fault>,
) -> Answer {
    let prefix = value(query, "prefix").unwrap_or_default();
    let token = value(query, "continuation-token");
    // A token is the last key of the page before; S3's own are opaque.
    let after = token.or_else(|| value(query, "start-after"));
    let from = after.filter(|after| *after >= prefix).map_or(Bound::Included(prefix), Bound::Excluded);
    let most = value(query, "max-keys").and_then(|text| text.parse().ok()).unwrap_or(KEYS_MAX).min(KEYS_MAX);
    let room = wrong.keys_max.map_or(most, |(_, keys)| keys.min(most));
    let mut below = store.keys_from(from).take_while(|(key, _)| key.starts_with(prefix));
    let mut rows = Vec::new();
    if let Some((fault, keys)) = wrong.hides_first {
        effects.extend((below.by_ref().take(keys).count() > 0).then_some(fault));
    }
    rows.extend(below.take(room + 1));
    let is_truncated = rows.len() > room;
    effects.extend(wrong.keys_max.filter(|_| is_truncated && room < most).map(|(fault, _)| fault));
    rows.truncate(room);

    let is_url = value(query, "encoding-type") == Some("url");
    let spelled = |key: &str| match is_url {
        true => utf8_percent_encode(key, UNRESERVED_AND_SLASH).to_string(),
        false => escape(key).into_owned(),
    };
    let mut text = format!(
        "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Prefix>{}</Prefix>\
         <KeyCount>{}</KeyCount><MaxKeys>{room}</MaxKeys><IsTruncated>{is_truncated}</IsTruncated>",
        spelled(prefix),
        rows.len(),
    );
    let mut push = |name: &str, value: &str| {
        write!(text, "<{name}>{value}</{name}>").expect("writing to a string cannot fail");
    };
    if is_url {
        push("EncodingType", "url");
    }
    if let Some(token) = token {
        push("ContinuationToken", &escape(token));
    }
    let next = rows.last().map(|(key, _)| *key).filter(|_| is_truncated);
    let again = next.and(wrong.repeats_token).and(token);
    effects.extend(wrong.repeats_token.filter(|_| again.is_some()));
    effects.extend(wrong.has_no_token.filter(|_| next.is_some()));
    if let Some(next) = again.or(next).filter(|_| wrong.has_no_token.is_none()) {
        push("NextContinuationToken", &escape(next));
    }
    effects.extend(wrong.has_no_modified.filter(|_| !rows.is_empty()));
    for (key, version) in rows {
        let body = version.body.as_deref().unwrap_or_default();
        let mut entry = format!("<Key>{}</Key>", spelled(key));
        if wrong.has_no_modified.is_none() {
            let modified = clock::iso(clock.seconds(version.at));
            write!(entry, "<LastModified>{modified}</LastModified>")
                .expect("writing to a string cannot fail");
        }
        let etag = tag(body);
        write!(entry, "<ETag>{}</ETag><Size>{}</Size>", escape(&etag), body.len())
            .expect("writing to a string cannot fail");
        push("Contents", &entry);
    }
    text.push_str("</ListBucketResult>");
    Answer { content: Content::Xml(text), ..Answer::status(200) }
}
