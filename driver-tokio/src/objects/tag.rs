//! The engine's opaque tags, made of what the `object_store` crate names a version by: an ETag, and with some
//! stores (Google Cloud Storage) a version, which is what their writes are guarded by.
//!
//! A tag without a version is the ETag itself. One with a version is `@version@etag`, where the ETag may be
//! missing; an ETag that begins with `@` is written like one whose version is empty.

use object_store::UpdateVersion;
use tenure_core::ETag;

/// Puts a tag together; nothing if there is nothing to guard a write by.
pub(super) fn join(e_tag: Option<&str>, version: Option<&str>) -> Option<ETag> {
    match (e_tag, version.filter(|version| !version.is_empty())) {
        (None, None) => None,
        (Some(e_tag), None) if e_tag.starts_with('@') => ETag::new(format!("@@{e_tag}").as_bytes()),
        (Some(e_tag), None) => ETag::new(e_tag.as_bytes()),
        (_, Some(version)) if version.contains('@') => None,
        (e_tag, Some(version)) => ETag::new(format!("@{version}@{}", e_tag.unwrap_or_default()).as_bytes()),
    }
}

/// Takes a tag apart again. One that was not made here names no version at all.
pub(super) fn split(tag: &ETag) -> UpdateVersion {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let Ok(text) = core::str::from_utf8(tag.as_bytes()) else {
        return UpdateVersion { e_tag: None, version: None };
    };
    match text.strip_prefix('@').and_then(|rest| rest.split_once('@')) {
        Some((version, e_tag)) => UpdateVersion { e_tag: some(e_tag), version: some(version) },
        None => UpdateVersion { e_tag: some(text), version: None },
    }
}

#[cfg(test)]
mod tests {
    use super::{join, split};

    #[test]
    fn a_tag_comes_apart_into_what_it_was_made_of() {
        for (e_tag, version) in [
            (Some("\"0x8D\""), None),
            (Some("\"9b2c\""), Some("1732900000000001")),
            (None, Some("7")),
            (Some("@odd"), None),
            (Some("@odd@\"x\""), Some("7")),
            (Some("W/\"weak\""), None),
        ] {
            let tag = join(e_tag, version).expect("something to guard by");
            let back = split(&tag);
            assert_eq!((back.e_tag.as_deref(), back.version.as_deref()), (e_tag, version), "{tag}");
        }
    }

    #[test]
    fn without_anything_to_guard_a_write_by_there_is_no_tag() {
        assert_eq!(join(None, None), None);
        assert_eq!(join(Some(""), None), None);
        assert_eq!(join(None, Some("")), None);
        assert_eq!(join(Some("\"x\""), Some("a@b")), None, "it could not be taken apart");
    }
}
