//! One page of `ListObjectsV2`, as XML.
//!
//! A listing is advice: absence from it proves nothing. Still it is never read as more complete than it is
//! (BL-46): a page that says it is cut off without saying where to go on, or that repeats the place where it
//! started, is an error, and so is a key that was not asked for.

use std::sync::Arc;

use tenure_core::{ETag, Entry, ListOp, Page};

use crate::bucket::Bucket;
use crate::encode::percent_decode;
use crate::stamp::iso_date;
use crate::xml::walk;

#[derive(Default)]
struct Contents {
    key: Option<String>,
    etag: Option<ETag>,
    modified: Option<tenure_core::StoreTime>,
}

#[derive(Default)]
struct Listing {
    contents: Vec<Contents>,
    open: Contents,
    truncated: Option<bool>,
    next: Option<String>,
    url_encoded: bool,
    is_listing: bool,
}

impl Listing {
    fn visit(&mut self, path: &[String], text: &str) {
        let mut names = [""; 3];
        if path.len() > names.len() {
            return;
        }
        for (name, segment) in names.iter_mut().zip(path) {
            *name = segment;
        }
        match names {
            ["ListBucketResult", "", ""] => self.is_listing = true,
            ["ListBucketResult", "EncodingType", ""] => self.url_encoded = text.trim() == "url",
            ["ListBucketResult", "IsTruncated", ""] => {
                self.truncated = match text.trim() {
                    "true" => Some(true),
                    "false" => Some(false),
                    _ => None,
                }
            }
            ["ListBucketResult", "NextContinuationToken", ""] => {
                self.next = Some(text.to_owned()).filter(|token| !token.is_empty());
            }
            ["ListBucketResult", "Contents", ""] => self.contents.push(core::mem::take(&mut self.open)),
            ["ListBucketResult", "Contents", "Key"] => self.open.key = Some(text.to_owned()),
            ["ListBucketResult", "Contents", "ETag"] => self.open.etag = etag(text),
            ["ListBucketResult", "Contents", "LastModified"] => self.open.modified = iso_date(text),
            _ => {}
        }
    }
}

/// Parses one page; keys come out relative to the bucket's prefix. The error says what is wrong with it.
pub(crate) fn parse(body: &[u8], bucket: &Bucket, op: &ListOp) -> Result<Page, String> {
    let mut listing = Listing::default();
    walk(body, |path, text| listing.visit(path, text)).map_err(|error| error.to_string())?;
    if !listing.is_listing {
        return Err("it is not a ListBucketResult".into());
    }
    let next = match (listing.truncated, listing.next) {
        (None, _) => return Err("it does not say whether it is truncated".into()),
        (Some(true), None) => return Err("it is truncated but has no continuation token".into()),
        (Some(true), Some(token)) if op.after.as_deref() == Some(&token) => {
            return Err("its continuation token is the one that asked for it".into());
        }
        (Some(true), Some(token)) => Some(Arc::from(token)),
        (Some(false), _) => None,
    };
    let mut entries = Vec::with_capacity(listing.contents.len());
    for contents in listing.contents {
        let key = contents.key.ok_or("an entry has no key")?;
        let key = if listing.url_encoded { percent_decode(&key) } else { key };
        let relative = key.strip_prefix(bucket.prefix()).filter(|rest| rest.starts_with(&*op.prefix));
        // A store that ignores the prefix would show us another application's objects as ours.
        let Some(relative) = relative else {
            return Err("it has a key outside the prefix".into());
        };
        entries.push(Entry { key: relative.to_owned(), etag: contents.etag, modified: contents.modified });
    }
    Ok(Page { entries, next, date: None })
}

/// Takes a tag that can be echoed in a header, which XML text need not be.
fn etag(text: &str) -> Option<ETag> {
    let text = text.trim();
    if text.bytes().any(|b| b.is_ascii_control()) { None } else { ETag::new(text.as_bytes()) }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::bucket::{Bucket, Settings};
    use core::time::Duration;
    use proptest::prelude::*;
    use tenure_core::{ListId, ListOp, Page, StoreTime};

    fn page(body: &str, after: Option<&str>) -> Result<Page, String> {
        let settings = Settings { endpoint: Some("http://h".into()), ..Settings::default() };
        let bucket = Bucket::parse("s3://bkt/p", &settings).expect("legal");
        let op = ListOp {
            id: ListId::new(1),
            prefix: "nodes/".into(),
            after: after.map(Into::into),
            timeout: Duration::from_secs(1),
        };
        parse(body.as_bytes(), &bucket, &op)
    }

    fn listing(inner: &str) -> String {
        format!("<?xml version=\"1.0\"?><ListBucketResult xmlns=\"u\">{inner}</ListBucketResult>")
    }

    const WHOLE: &str = "<IsTruncated>false</IsTruncated>";

    #[test]
    fn a_page_gives_keys_below_the_prefix_with_tags_and_stamps() {
        let body = listing(
            "<Name>bkt</Name><IsTruncated>true</IsTruncated><NextContinuationToken>a+b==</NextContinuationToken>\
             <Contents><Key>p/nodes/a.1.json</Key><LastModified>1994-11-06T08:49:37.000Z</LastModified>\
             <ETag>&quot;0a&quot;</ETag><Size>3</Size><Owner><ID>p/x</ID><Key>no</Key></Owner></Contents>\
             <Contents><Key>p/nodes/b.1.json</Key></Contents><KeyCount>2</KeyCount>",
        );
        let page = page(&body, None).expect("a page");
        assert_eq!(page.next.as_deref(), Some("a+b=="));
        let [first, second] = &page.entries[..] else { panic!("two entries: {page:?}") };
        assert_eq!(first.key, "nodes/a.1.json");
        assert_eq!(first.etag.as_ref().map(|tag| tag.as_bytes()), Some(&b"\"0a\""[..]));
        assert_eq!(first.modified, Some(StoreTime::from_millis(784_111_777_000)));
        assert_eq!((second.key.as_str(), &second.etag, second.modified), ("nodes/b.1.json", &None, None));
    }

    #[test]
    fn bl_46_keys_are_decoded_only_if_the_page_says_they_are_encoded() {
        let entry = "<Contents><Key>p/nodes/a%26b&amp;c</Key></Contents>";
        let plain = page(&listing(&format!("{WHOLE}{entry}")), None).expect("a page");
        assert_eq!(plain.entries[0].key, "nodes/a%26b&c");
        // The element may stand behind the entries it is about.
        let body = listing(&format!("{WHOLE}{entry}<EncodingType>url</EncodingType>"));
        assert_eq!(page(&body, None).expect("a page").entries[0].key, "nodes/a&b&c");
    }

    #[test]
    fn bl_46_a_page_that_cannot_be_followed_is_an_error() {
        let truncated = listing("<IsTruncated>true</IsTruncated>");
        assert!(page(&truncated, None).expect_err("no token").contains("no continuation token"));
        let empty = listing("<IsTruncated>true</IsTruncated><NextContinuationToken/>");
        assert!(page(&empty, None).expect_err("empty token").contains("no continuation token"));
        let again =
            listing("<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>");
        assert!(page(&again, Some("t")).expect_err("repeats").contains("asked for it"));
        assert!(page(&again, Some("s")).is_ok());
        assert!(page(&listing(""), None).expect_err("silent").contains("truncated"));
    }

    #[test]
    fn what_was_not_asked_for_is_an_error() {
        for key in ["nodes/a.json", "p/cells/a/own.json", "q/nodes/a", ""] {
            let body = listing(&format!("{WHOLE}<Contents><Key>{key}</Key></Contents>"));
            assert!(page(&body, None).expect_err(key).contains("outside the prefix"));
        }
        assert!(page(&listing(&format!("{WHOLE}<Contents/>")), None).expect_err("no key").contains("no key"));
    }

    #[test]
    fn a_document_that_is_no_listing_or_cut_short_is_an_error() {
        for body in
            ["", "<Error/>", "<html></html>", "{}", "<ListBucketResult><IsTruncated>false</IsTruncated>"]
        {
            assert!(page(body, None).is_err(), "{body}");
        }
    }

    #[test]
    fn a_tag_that_cannot_be_echoed_is_no_tag() {
        let body =
            listing(&format!("{WHOLE}<Contents><Key>p/nodes/a</Key><ETag>a&#13;&#10;b</ETag></Contents>"));
        assert_eq!(page(&body, None).expect("a page").entries[0].etag, None);
    }

    proptest! {
        #[test]
        fn any_key_in_a_page_reads_back(name in "\\PC{1,30}") {
            let mut encoded = Vec::new();
            crate::encode::percent_encode(&name, crate::encode::Slash::Encoded, &mut encoded);
            let encoded = String::from_utf8(encoded).expect("ASCII");
            let body = listing(&format!(
                "{WHOLE}<EncodingType>url</EncodingType><Contents><Key>p/nodes/{encoded}</Key></Contents>"
            ));
            prop_assert_eq!(&page(&body, None).expect("a page").entries[0].key, &format!("nodes/{name}"));
        }
    }
}
