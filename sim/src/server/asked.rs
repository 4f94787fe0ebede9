//! What a request asks for: which object, or which page of a listing.
//!
//! Both ways to name a bucket are understood: in the path (`/bucket/key`) and in the host (`bucket.host`). The target
//! and the headers are kept as they came, for the signature is made from them.

use hyper::header::{HOST, HeaderMap};
use hyper::http::request::Parts;
use percent_encoding::percent_decode_str;

use crate::server::answer::Answer;

/// A request's head.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Path and query as received.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) what: What,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// The bucket itself, or what is asked of it.
    Bucket(Vec<(String, String)>),
    /// One object, by its key.
    Object(String),
    /// Something that this server has not: another bucket, or a part of S3 that the protocol does not need.
    Other(Answer),
}

impl Asked {
    pub(crate) fn new(parts: &Parts, bucket: &str) -> Self {
        let target =
            parts.uri.path_and_query().map_or_else(|| "/".to_owned(), |target| target.as_str().to_owned());
        let what = what(&target, host(parts), bucket);
        Self { method: parts.method.as_str().to_owned(), target, headers: parts.headers.clone(), what }
    }

    /// Returns the key, or the prefix of a listing, or nothing.
    pub(crate) fn key(&self) -> &str {
        match &self.what {
            What::Bucket(query) => value(query, "prefix").unwrap_or_default(),
            What::Object(key) => key,
            What::Other(_) => "",
        }
    }

    /// Returns a header as text; one that is no text is not there.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the path as received.
    pub(crate) fn path(&self) -> &str {
        self.target.split_once('?').map_or(&*self.target, |(path, _)| path)
    }
}

/// Returns the value of the first parameter of this name.
pub(crate) fn value<'q>(query: &'q [(String, String)], name: &str) -> Option<&'q str> {
    query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Takes a query apart, decoded.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(&name.replace('+', " ")), decoded(&value.replace('+', " ")))
    })
}

fn host(parts: &Parts) -> &str {
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    host.or_else(|| parts.uri.host()).unwrap_or_default()
}

fn what(target: &str, host: &str, bucket: &str) -> What {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = path.strip_prefix('/').unwrap_or(path);
    let in_host = host.strip_prefix(bucket).is_some_and(|rest| rest.starts_with('.'));
    let (named, key) = match path.split_once('/') {
        _ if in_host => (bucket.to_owned(), path),
        Some((named, key)) => (decoded(named), key),
        None => (decoded(path), ""),
    };
    if named != bucket {
        return What::Other(match &*named {
            "" => Answer::not_implemented("listing buckets"),
            _ => Answer::error(404, "NoSuchBucket", "The specified bucket does not exist"),
        });
    }
    if key.is_empty() {
        return What::Bucket(pairs(query).collect());
    }
    if !query.is_empty() {
        return What::Other(Answer::not_implemented("a query on an object"));
    }
    let key = decoded(key);
    if key.len() > KEY_MAX {
        return What::Other(Answer::error(400, "KeyTooLongError", "Your key is too long"));
    }
    What::Object(key)
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The longest key that S3 takes, in bytes.
const KEY_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::{What, what};

    fn key(target: &str, host: &str) -> Option<String> {
        match what(target, host, "bkt") {
            What::Object(key) => Some(key),
            What::Bucket(_) | What::Other(_) => None,
        }
    }

    #[test]
    fn a_bucket_is_named_in_the_path_or_in_the_host() {
        assert_eq!(key("/bkt/p/a%3Ab", "127.0.0.1:9"), Some("p/a:b".into()));
        assert_eq!(key("/p/a%3Ab", "bkt.localhost:9"), Some("p/a:b".into()));
        assert_eq!(key("/other/p", "127.0.0.1:9"), None);
        assert_eq!(key("/bkt/", "bktless.localhost"), None);
        assert!(matches!(what("/bkt?list-type=2&prefix=a%2Fb", "h", "bkt"), What::Bucket(query)
            if query == [("list-type".to_owned(), "2".to_owned()), ("prefix".to_owned(), "a/b".to_owned())]));
    }

    #[test]
    fn slashes_and_dots_are_kept_as_they_came() {
        assert_eq!(key("/bkt/a//../b", "h"), Some("a//../b".into()));
        assert_eq!(key(&format!("/bkt/{}", "k".repeat(1025)), "h"), None);
    }
}
