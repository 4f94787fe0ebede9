//! Questions about the bucket itself, which a doctor asks and a node never does: what will happen to records, and
//! where they are. Not every store answers, and not everybody may ask.

use crate::bucket::Bucket;
use crate::encode::{Slash, percent_encode};
use crate::explain::{ErrorBody, printable};
use crate::request::{Method, common};
use crate::response::Response;
use crate::sigv4::Draft;
use crate::xml::walk;

/// A question about a bucket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Question {
    /// Which objects are removed by age.
    Lifecycle,
    /// In which region the bucket is.
    Location,
    /// Whether old versions of objects are kept.
    Versioning,
}

impl Question {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Lifecycle => "lifecycle",
            Self::Location => "location",
            Self::Versioning => "versioning",
        }
    }
}

/// What a store says about a bucket.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Said {
    /// The rules in force by which objects are removed; mostly none.
    Lifecycle(Vec<Rule>),
    /// The bucket's region.
    Location(String),
    /// Nothing, and why not: for people.
    Nothing(String),
    /// Whether old versions are kept.
    Versioning(bool),
}

/// A rule by which objects are removed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Rule {
    /// The rule's name; may be empty.
    pub id: String,
    /// Only keys that begin with this are concerned; in the bucket, not below the store's prefix.
    pub prefix: String,
    /// Whether only objects with a certain tag or size are concerned, which ours may not be.
    pub is_narrow: bool,
}

impl Rule {
    /// Tells whether the rule may remove something below the bucket's prefix.
    pub fn covers(&self, bucket: &Bucket) -> bool {
        self.prefix.starts_with(bucket.prefix()) || bucket.prefix().starts_with(&self.prefix)
    }
}

pub(crate) fn request<'b>(bucket: &Bucket, question: Question, buf: &'b mut Vec<u8>) -> Draft<'b> {
    let query = |buf: &mut Vec<u8>| {
        buf.push(b'?');
        percent_encode(question.as_str(), Slash::Encoded, buf);
        // In this form the query is its own canonical form.
        buf.push(b'=');
    };
    let origin = |buf: &mut Vec<u8>| bucket.push_origin(buf);
    let path = |buf: &mut Vec<u8>| bucket.push_bucket_path(buf);
    common(Draft::new(Method::Get.as_str(), buf, origin, path, query), bucket)
}

/// Reads the answer to a question.
pub(crate) fn said(question: Question, response: &Response<'_>) -> Said {
    let error = ErrorBody::of(response);
    match (response.status, error.code.as_str(), question) {
        (404, "NoSuchLifecycleConfiguration", Question::Lifecycle) => return Said::Lifecycle(Vec::new()),
        (200, "", _) => {}
        (status, "", _) => return Said::Nothing(format!("the store answered {status}")),
        (status, code, _) => return Said::Nothing(format!("the store answered {status} {code}")),
    }
    let read = match question {
        Question::Lifecycle => rules(response.body).map(Said::Lifecycle),
        Question::Location => one(response.body, "LocationConstraint").map(|region| {
            // The oldest region has no name there, and Europe's oldest an old one.
            Said::Location(match region.as_str() {
                "" => "us-east-1".into(),
                "EU" => "eu-west-1".into(),
                _ => region,
            })
        }),
        Question::Versioning => one(response.body, "VersioningConfiguration/Status")
            .map(|status| Said::Versioning(matches!(status.as_str(), "Enabled" | "Suspended"))),
    };
    read.unwrap_or_else(|| Said::Nothing("the answer is no document that S3 knows".into()))
}

/// Returns the text at a path below the root, if the root is the path's; empty if there is nothing.
fn one(body: &[u8], wanted: &str) -> Option<String> {
    let (root, mut text, mut is_ours) = (wanted.split('/').next()?, String::new(), false);
    walk(body, |path, found| {
        is_ours |= path[0] == root;
        if path.join("/") == wanted {
            text = printable(found, 64);
        }
    })
    .ok()?;
    is_ours.then_some(text)
}

/// Returns the rules in force that remove current versions.
fn rules(body: &[u8]) -> Option<Vec<Rule>> {
    let (mut rules, mut open) = (Vec::new(), Rule::default());
    let (mut is_enabled, mut removes, mut is_ours) = (false, false, false);
    walk(body, |path, text| {
        is_ours |= path[0] == "LifecycleConfiguration";
        let Some(("Rule", inner)) = path.get(1).map(|rule| (rule.as_str(), &path[2..])) else { return };
        match inner.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] => {
                let rule = core::mem::take(&mut open);
                if core::mem::take(&mut is_enabled) & core::mem::take(&mut removes) {
                    rules.push(rule);
                }
            }
            ["ID"] => open.id = printable(text, 80),
            // A filter's own text is blank; its prefix comes before it ends.
            ["Prefix" | "Filter"] | ["Filter", "Prefix"] | ["Filter", "And", "Prefix"]
                if !text.trim().is_empty() =>
            {
                open.prefix = text.trim().to_owned();
            }
            ["Filter", .., "Tag" | "ObjectSizeGreaterThan" | "ObjectSizeLessThan"] => open.is_narrow = true,
            ["Status"] => is_enabled = text.trim() == "Enabled",
            ["Expiration", "Date" | "Days"] => removes = true,
            _ => {}
        }
    })
    .ok()?;
    is_ours.then_some(rules)
}

#[cfg(test)]
mod tests {
    use super::{Question, Rule, Said, said};
    use crate::bucket::{Bucket, Settings};
    use crate::response::{Response, ResponseHeaders};

    fn answer(question: Question, status: u16, body: &str) -> Said {
        said(question, &Response { status, headers: ResponseHeaders::default(), body: body.as_bytes() })
    }

    #[test]
    fn only_rules_in_force_that_remove_current_versions_are_told() {
        let body = r#"<?xml version="1.0"?>
            <LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
              <Rule><ID>a</ID><Filter><Prefix>logs/</Prefix></Filter><Status>Enabled</Status>
                <Expiration><Days>7</Days></Expiration></Rule>
              <Rule><ID>b</ID><Prefix></Prefix><Status>Disabled</Status><Expiration><Days>1</Days></Expiration></Rule>
              <Rule><ID>c</ID><Filter><And><Prefix>p/</Prefix><Tag><Key>k</Key><Value>v</Value></Tag></And></Filter>
                <Status>Enabled</Status><Expiration><Date>2026-01-01</Date></Expiration></Rule>
              <Rule><ID>d</ID><Filter/><Status>Enabled</Status>
                <NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration>
                <AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation></AbortIncompleteMultipartUpload>
              </Rule>
              <Rule><ID>e</ID><Filter/><Status>Enabled</Status><Expiration><Days>9</Days></Expiration></Rule>
            </LifecycleConfiguration>"#;
        let rule =
            |id: &str, prefix: &str, is_narrow| Rule { id: id.into(), prefix: prefix.into(), is_narrow };
        let expected = vec![rule("a", "logs/", false), rule("c", "p/", true), rule("e", "", false)];
        assert_eq!(answer(Question::Lifecycle, 200, body), Said::Lifecycle(expected));
        let none = "<Error><Code>NoSuchLifecycleConfiguration</Code></Error>";
        assert_eq!(answer(Question::Lifecycle, 404, none), Said::Lifecycle(Vec::new()));
    }

    #[test]
    fn a_rule_covers_what_begins_alike_in_either_direction() {
        let settings = Settings { endpoint: Some("http://127.0.0.1:1".into()), ..Settings::default() };
        let bucket = Bucket::parse("s3://bkt/app/prod", &settings).expect("legal");
        for (prefix, covers) in
            [("", true), ("app/", true), ("app/prod/probe/", true), ("app/test", false), ("logs/", false)]
        {
            let rule = Rule { prefix: prefix.into(), ..Rule::default() };
            assert_eq!(rule.covers(&bucket), covers, "{prefix}");
        }
    }

    #[test]
    fn region_and_versioning_are_read_and_anything_else_is_nothing() {
        let location = |body| answer(Question::Location, 200, body);
        assert_eq!(location("<LocationConstraint/>"), Said::Location("us-east-1".into()));
        assert_eq!(
            location("<LocationConstraint>eu-x-1</LocationConstraint>"),
            Said::Location("eu-x-1".into())
        );
        let versioning = |body| answer(Question::Versioning, 200, body);
        assert_eq!(versioning("<VersioningConfiguration/>"), Said::Versioning(false));
        let kept = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
        assert_eq!(versioning(kept), Said::Versioning(true));
        for (status, body) in [
            (200, ""),
            (200, "<html>"),
            (200, "<ListBucketResult/>"),
            (200, "<Error><Code>InternalError</Code></Error>"),
            (403, "<Error><Code>AccessDenied</Code></Error>"),
            (501, ""),
        ] {
            for question in [Question::Lifecycle, Question::Location, Question::Versioning] {
                assert!(matches!(answer(question, status, body), Said::Nothing(_)), "{status} {body}");
            }
        }
    }
}
