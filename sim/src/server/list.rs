//! `ListObjectsV2`, page by page, and the little else that is asked of a bucket.

use core::fmt::Write as _;
use core::ops::Bound;

use percent_encoding::utf8_percent_encode;
use quick_xml::escape::escape;

use crate::server::answer::{Answer, Content};
use crate::server::asked::{Asked, value};
use crate::server::clock::{self, Clock};
use crate::server::evaluate::tag;
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
) -> Answer {
    match asked.method.as_str() {
        "HEAD" => return Answer::status(200),
        "GET" if value(query, "list-type") == Some("2") => {}
        _ => return Answer::not_implemented("anything but ListObjectsV2"),
    }
    if value(query, "delimiter").is_some_and(|text| !text.is_empty()) {
        return Answer::not_implemented("a delimiter");
    }
    page(store, clock, query, wrong)
}

fn page(store: &Store, clock: &Clock, query: &[(String, String)], wrong: Page) -> Answer {
    let prefix = value(query, "prefix").unwrap_or_default();
    let token = value(query, "continuation-token");
    // A token is the last key of the page before; S3's own are opaque.
    let after = token.or_else(|| value(query, "start-after"));
    let from = after.filter(|after| *after >= prefix).map_or(Bound::Included(prefix), Bound::Excluded);
    let room = room(query, wrong);
    let mut rows: Vec<_> =
        store.keys_from(from).take_while(|(key, _)| key.starts_with(prefix)).take(room + 1).collect();
    let is_truncated = rows.len() > room;
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
    let next = if wrong.repeats_token { next.map(|next| token.unwrap_or(next)) } else { next };
    if let Some(next) = next.filter(|_| !wrong.has_no_token) {
        push("NextContinuationToken", &escape(next));
    }
    for (key, version) in rows {
        let body = version.body.as_deref().unwrap_or_default();
        let mut entry = format!("<Key>{}</Key>", spelled(key));
        if !wrong.has_no_modified {
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

/// Returns how many keys the page may have.
fn room(query: &[(String, String)], wrong: Page) -> usize {
    let asked = value(query, "max-keys").and_then(|text| text.parse().ok()).unwrap_or(KEYS_MAX);
    asked.min(KEYS_MAX).min(wrong.keys_max.unwrap_or(KEYS_MAX))
}
