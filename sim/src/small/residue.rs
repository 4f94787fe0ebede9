//! What of the past can still matter.
//!
//! A store remembers every version, but the engines see only the current ones, and the checks ask little about the
//! others. What nobody can ask for any more is left out of the print of a situation, so that situations that differ
//! in nothing else are explored once. What is left out is argued here, and tested against a search that leaves out
//! nothing.

use core::hash::{Hash, Hasher};

use tenure_core::Key;

use crate::store::{Store, Version};

/// Hashes what can still matter of a store.
///
/// - Of an object that is no lease: its versions, by whom and in which order, since G1, G3 and the check of sessions
///   look far back. But *when* a version was made is asked only by G3, of a `verify`: without those it is left out.
///   When the current one was stamped an engine can see.
/// - Of a lease: that it has been there; the current version; and of the others those that may prove why a session
///   ended: removals, what others than its creator wrote, and tombstones. All that its creator's superseded renewals
///   could be asked for is what no renewal changes: a small world publishes nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Residue<'s> {
    pub(super) store: &'s Store,
    /// Whether somebody may ask to have a tenure verified.
    pub(super) may_verify: bool,
}

impl Hash for Residue<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Beginnings differ in where the store's second begins.
        self.store.stamping().hash(state);
        for key in self.store.keys() {
            let versions = self.store.history(key);
            let Some((last, past)) = versions.split_last() else { continue };
            (key, last.modified()).hash(state);
            let is_lease = key.starts_with(Key::LEASES);
            for version in past.iter().filter(|version| !is_lease || proves_something(version, versions)) {
                self.version(version, state);
            }
            self.version(last, state);
        }
    }
}

impl Residue<'_> {
    fn version<H: Hasher>(&self, version: &Version, state: &mut H) {
        (version.by, version.body.is_some(), version.etag()).hash(state);
        if self.may_verify {
            version.at.hash(state);
        }
    }
}

/// Tells whether a superseded version of a lease may be why a session ended.
fn proves_something(version: &Version, versions: &[Version]) -> bool {
    let is_tombstone = |body: &[u8]| body.windows(FENCED.len()).any(|part| part == FENCED);
    version.by != versions[0].by || version.body.as_ref().is_none_or(|body| is_tombstone(body))
}

/// What no renewal says.
const FENCED: &[u8] = b"fenced_by";
