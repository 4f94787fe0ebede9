//! Identities: who, what, which version. Parsed once at the edge, legal ever after.

use alloc::sync::Arc;
use core::cmp::Ordering;
use core::fmt::{self, Write as _};
use core::num::NonZeroU64;

use crate::digits;
use crate::name::{self, NameError, What};
use crate::store::Key;

/// What an id has that is kept as the key of its record: the key is needed all the time, and then costs nothing.
macro_rules! id_in_key {
    ($name:ident, $before:expr, $after:literal) => {
        impl $name {
            const BEFORE: &'static str = $before;
            const AFTER: &'static str = $after;

            fn legal(text: &str) -> Self {
                Self(Key::join([Self::BEFORE, text, Self::AFTER]))
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                let key = self.0.as_str();
                &key[Self::BEFORE.len()..key.len() - Self::AFTER.len()]
            }

            fn bytes(&self) -> &[u8] {
                let key = self.0.as_str().as_bytes();
                &key[Self::BEFORE.len()..key.len() - Self::AFTER.len()]
            }

            pub(crate) const fn key(&self) -> &Key {
                &self.0
            }
        }

        /// By text. Most ids that are compared are the same one, and need not be read.
        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                if self.0.is_same(&other.0) { Ordering::Equal } else { self.bytes().cmp(other.bytes()) }
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.as_str()).finish()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// The name of a cell: anything that must have one owner.
#[derive(Clone, Eq, Hash, PartialEq)]
pub struct CellId(Key);

impl CellId {
    /// Takes a legal name: 1 to 255 bytes of `[A-Za-z0-9_.:$-]`, not `.` or `..`.
    ///
    /// # Errors
    /// Refuses any other text; the error shows the escaped form, if that is short enough to be legal.
    pub fn new(text: &str) -> Result<Self, NameError> {
        if name::is_cell(text) {
            return Ok(Self::legal(text));
        }
        let hint = Some(name::escape(text)).filter(|escaped| name::is_cell(escaped));
        Err(NameError::new(What::Cell, text, hint))
    }

    /// Turns any text into a name, injectively: `user@x.org` becomes `user$40x.org`.
    ///
    /// # Errors
    /// Refuses a text whose escaped form is longer than 255 bytes.
    pub fn escape(text: &str) -> Result<Self, NameError> {
        let escaped = name::escape(text);
        if name::is_cell(&escaped) {
            return Ok(Self::legal(&escaped));
        }
        Err(NameError::new(What::Cell, text, None))
    }
}

id_in_key! {
    CellId, Key::OWNERS, "/own.json"
}

/// The identity of one run of one process: `<name>.<session>`, never used again after it ends.
///
/// A foreign implementation's id may be any legal text, with or without a session.
#[derive(Clone, Eq, Hash, PartialEq)]
pub struct NodeId(Key);

impl NodeId {
    /// Joins an operator's name (1 to 111 bytes of `[A-Za-z0-9_.-]`) and a fresh session.
    ///
    /// # Errors
    /// Refuses a name outside that alphabet or length.
    pub fn new(name: &str, session: SessionId) -> Result<Self, NameError> {
        Self::check_name(name)?;
        let mut room = [0; 20];
        let session = digits::hexadecimal(session.bits(), &mut room);
        Ok(Self(Key::join([Self::BEFORE, name, ".", session, Self::AFTER])))
    }

    /// Refuses what cannot be an operator's name.
    pub(crate) fn check_name(name: &str) -> Result<(), NameError> {
        if name::is_node(name, 111) { Ok(()) } else { Err(NameError::new(What::NodeName, name, None)) }
    }

    /// Takes an id found in a record: 1 to 128 bytes of `[A-Za-z0-9_.-]`.
    ///
    /// # Errors
    /// Refuses any other text, since an id becomes part of a key.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if name::is_node(text, 128) {
            return Ok(Self::legal(text));
        }
        Err(NameError::new(What::Node, text, None))
    }
}

id_in_key! {
    NodeId, Key::LEASES, ".json"
}

/// 64 fresh random bits that make a process a new node, printed as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SessionId(u64);

impl SessionId {
    /// Takes the bits; the driver draws them from the operating system.
    pub const fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the bits.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A fencing token: strictly greater with each change of owner of one cell. The first is 1.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Epoch(NonZeroU64);

impl Epoch {
    /// The epoch of a cell's first claim.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// Takes a number read from a record; zero is no epoch.
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Returns the epoch of the next owner, or nothing when the numbers are used up.
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The identity of one write, `<node>#<sequence>`: unique in its session, and in every record we make.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct WriteId {
    /// The node that wrote.
    pub node: NodeId,
    /// The write's number in that session. Later writes have greater ones; some numbers are skipped at random.
    pub seq: u64,
}

impl WriteId {
    /// Parses the text form.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_beside(text, None)
    }

    /// Parses the text form; the node is likely to be this one, whose name is then not stored again.
    pub(crate) fn parse_beside(text: &str, likely: Option<&NodeId>) -> Option<Self> {
        let beside = likely.and_then(|likely| {
            let seq = text.strip_prefix(likely.as_str())?.strip_prefix('#')?;
            Some((likely.clone(), seq))
        });
        let (node, seq) = match beside {
            Some(likely) => likely,
            None => {
                let (node, seq) = text.rsplit_once('#')?;
                (NodeId::parse(node).ok()?, seq)
            }
        };
        // A sign or a leading zero would give one id two spellings.
        if seq.starts_with('+') || (seq.len() > 1 && seq.starts_with('0')) {
            return None;
        }
        let seq = seq.parse().ok()?;
        Some(Self { node, seq })
    }
}

impl fmt::Display for WriteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.node, self.seq)
    }
}

/// The store's name for one version of a record: opaque bytes, echoed verbatim, never empty.
#[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ETag(Arc<[u8]>);

impl ETag {
    /// Takes a tag as the store sent it; an empty one is no tag.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return None;
        }
        Some(Self(bytes.into()))
    }

    /// Returns the bytes to echo.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Tells whether the tag is weak (`W/...`): one that no compare-and-swap can match.
    pub fn is_weak(&self) -> bool {
        self.0.starts_with(b"W/")
    }
}

impl fmt::Debug for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ETag({})", self.0.escape_ascii())
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| match byte {
            // Nearly every tag has quotes, and people compare it with what their store shows.
            b'"' => f.write_char('"'),
            byte => write!(f, "{}", byte.escape_ascii()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CellId, ETag, Epoch, NodeId, SessionId, WriteId};
    use alloc::string::ToString;

    #[test]
    fn a_tag_is_shown_as_it_is_but_for_what_cannot_be_shown() {
        let tag = ETag::new(b"W/\"a1\xff\n\"").expect("not empty");
        assert_eq!(tag.to_string(), "W/\"a1\\xff\\n\"");
    }

    #[test]
    fn a_bad_cell_name_is_refused_with_its_escaped_form() {
        let error = CellId::new("../nodes/n1").expect_err("leaves its folder").to_string();
        assert!(error.contains("..$2Fnodes$2Fn1"), "{error}");
    }

    #[test]
    fn a_node_id_ends_with_its_session() {
        let id = NodeId::new("web-1", SessionId::new(0x9f3c)).expect("legal");
        assert_eq!(id.as_str(), "web-1.0000000000009f3c");
    }

    #[test]
    fn the_last_epoch_has_no_next() {
        assert_eq!(Epoch::new(u64::MAX).and_then(Epoch::next), None);
        assert_eq!(Epoch::new(0), None);
    }

    #[test]
    fn a_write_id_reads_back_and_has_one_spelling() {
        let id = WriteId::parse("web-1.9f3c#12").expect("legal");
        assert_eq!(id.to_string(), "web-1.9f3c#12");
        for text in ["web", "web#", "#1", "web#+1", "web#01", "web#-1", "a/b#1"] {
            assert_eq!(WriteId::parse(text), None, "{text}");
        }
    }
}
