//! `nodes/<node>.json`: a node's lease, its tombstone, and the placeholder for one that was removed.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{RecordError, Text, fields, put_json, put_name, put_number, put_text, put_write};
use crate::config::TTL_MAX;
use crate::id::{NodeId, WriteId};

/// The lease of one node.
///
/// Equality and judgement never use `expires_ms`, which is the publisher's wall clock for foreign readers.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct LeaseRecord {
    /// The node.
    pub node: NodeId,
    /// When the lease ends by the publisher's wall clock, in milliseconds since 1970; 0 in a tombstone.
    pub expires_ms: u64,
    /// Where to reach the node; `-` when nowhere.
    pub addr: Option<String>,
    /// How long the lease lives after each renewal; nothing in another implementation's record.
    pub ttl: Option<Duration>,
    /// The write that made this version.
    pub write: Option<WriteId>,
    /// What the node carries, if it says.
    pub load: Option<Load>,
    /// What the application says about the node: zone, version, weight.
    pub meta: BTreeMap<String, String>,
    /// Who fenced the node, or put a placeholder for its removed lease.
    pub fenced_by: Option<String>,
}

/// The load a node publishes: all of it or none, so that every reader accepts it.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct Load {
    /// When it was sampled, by the publisher's wall clock in milliseconds since 1970.
    pub sampled_ms: u64,
    /// Cells resident in memory.
    pub resident_cells: u64,
    /// Open websockets.
    pub host_websockets: u64,
    /// Resident memory in bytes.
    pub rss_bytes: u64,
    /// Processor use in hundredths of a percent.
    pub cpu_percent_x100: u64,
    /// Open file descriptors.
    pub open_fds: u64,
    /// The limit of open file descriptors.
    pub fd_limit: u64,
    /// Whether the node wants no more work.
    pub pressured: bool,
    /// Cells given away because of pressure.
    pub shed_cells: u64,
}

#[derive(Deserialize)]
struct WireIn<'a> {
    #[serde(borrow)]
    node: Cow<'a, str>,
    expires_ms: u64,
    #[serde(borrow, default)]
    addr: Option<Text<'a>>,
    #[serde(default)]
    ttl_ms: Option<u64>,
    #[serde(borrow, default)]
    write: Option<Text<'a>>,
    #[serde(default)]
    load: Option<Load>,
    #[serde(default)]
    meta: Option<BTreeMap<String, String>>,
    #[serde(borrow, default)]
    fenced_by: Option<Text<'a>>,
}

/// What celld's readers expect of whoever they may talk to.
const PEER_PROTOCOL: &str = r#","peer_protocol":1"#;

/// The fields of a lease that is about to be written.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    pub(crate) node: &'a NodeId,
    pub(crate) expires_ms: u64,
    pub(crate) addr: Option<&'a str>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) write: Option<&'a WriteId>,
    pub(crate) load: Option<&'a Load>,
    pub(crate) meta: &'a BTreeMap<String, String>,
    pub(crate) fenced_by: Option<&'a str>,
}

impl Fields<'_> {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let node = self.node.as_str();
        // The session is the part of the id behind the last dot; celld's readers call it a generation.
        let session = node.rsplit_once('.').map_or(node, |(_, session)| session);
        let mut out = Vec::with_capacity(256 + 3 * node.len());
        put_name(&mut out, r#"{"node":"#, node);
        put_number(&mut out, r#","expires_ms":"#, self.expires_ms);
        // celld takes an empty address for a dead node.
        put_text(&mut out, r#","addr":"#, self.addr.filter(|addr| !addr.is_empty()).unwrap_or("-"));
        out.extend_from_slice(PEER_PROTOCOL.as_bytes());
        put_name(&mut out, r#","ownership_index_generation":"#, session);
        if let Some(ttl) = self.ttl {
            // Rounded up: the holder counts the fraction, so whoever judges it must, too.
            let ttl_ms = u64::try_from(ttl.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
            put_number(&mut out, r#","ttl_ms":"#, ttl_ms);
        }
        if let Some(write) = self.write {
            put_write(&mut out, r#","write":"#, write);
        }
        if let Some(load) = self.load {
            put_json(&mut out, r#","load":"#, load);
        }
        if !self.meta.is_empty() {
            put_json(&mut out, r#","meta":"#, self.meta);
        }
        if let Some(fenced_by) = self.fenced_by {
            put_text(&mut out, r#","fenced_by":"#, fenced_by);
        }
        out.push(b'}');
        out
    }
}

/// How long the facts in a lease may be, as JSON. Readers take no record beyond 64 KiB, and one that cannot be
/// read can never be judged.
const FACTS_MAX: usize = 16 << 10;

/// Tells whether these facts leave a lease, and the tombstone that keeps them, short enough to be read.
pub(crate) fn fits(addr: Option<&str>, meta: &BTreeMap<String, String>) -> bool {
    let texts = meta.iter().flat_map(|(name, value)| [name, value]).map(String::len);
    let bytes = texts.fold(addr.map_or(0, str::len), usize::saturating_add);
    // No byte takes more than six in JSON, and no fact more than six besides: most need not be written out.
    let is_short = bytes.saturating_add(meta.len() + 2).saturating_mul(6) <= FACTS_MAX;
    is_short || serde_json::to_vec(&(addr, meta)).is_ok_and(|text| text.len() <= FACTS_MAX)
}

impl LeaseRecord {
    /// Parses the record's bytes.
    ///
    /// # Errors
    /// Says what is missing, of the wrong type or out of range. Such a lease proves nothing: whoever judges
    /// it assumes the largest ttl allowed.
    pub fn parse(body: &[u8]) -> Result<Self, RecordError> {
        Self::parse_beside(body, None)
    }

    /// Parses the bytes of the record under a node's key. One that names another node has come by mistake: a crossed
    /// connection, a cache's mix-up.
    ///
    /// # Errors
    /// Says what [`parse`](Self::parse) says, or which other node it names.
    pub fn parse_of(node: &NodeId, body: &[u8]) -> Result<Self, RecordError> {
        let record = Self::parse_beside(body, Some(node))?;
        if record.node == *node {
            return Ok(record);
        }
        Err(RecordError::new(format_args!("it is the record of {}, not of {node}", record.node)))
    }

    /// Parses the record's bytes; the node is likely to be this one, whose name is then not stored again.
    fn parse_beside(body: &[u8], likely: Option<&NodeId>) -> Result<Self, RecordError> {
        let wire: WireIn<'_> = fields(body)?;
        let ttl = match wire.ttl_ms.map(Duration::from_millis) {
            Some(ttl) if ttl.is_zero() || ttl > TTL_MAX => {
                return Err(RecordError::new(format_args!("ttl_ms {} is out of range", ttl.as_millis())));
            }
            ttl => ttl,
        };
        let node = match likely.filter(|likely| likely.as_str() == wire.node) {
            Some(likely) => likely.clone(),
            None => NodeId::parse(&wire.node).map_err(RecordError::new)?,
        };
        let write = match wire.write {
            None => None,
            Some(Text(text)) => Some(
                WriteId::parse_beside(&text, Some(&node))
                    .ok_or_else(|| RecordError::new("write is not <node>#<sequence>"))?,
            ),
        };
        Ok(Self {
            node,
            expires_ms: wire.expires_ms,
            addr: wire.addr.map(|Text(text)| text.into_owned()),
            ttl,
            write,
            load: wire.load,
            meta: wire.meta.unwrap_or_default(),
            fenced_by: wire.fenced_by.map(|Text(text)| text.into_owned()),
        })
    }

    /// Returns the record's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let fields = Fields {
            node: &self.node,
            expires_ms: self.expires_ms,
            addr: self.addr.as_deref(),
            ttl: self.ttl,
            write: self.write.as_ref(),
            load: self.load.as_ref(),
            meta: &self.meta,
            fenced_by: self.fenced_by.as_deref(),
        };
        fields.to_bytes()
    }

    /// Tells whether this is a tombstone: the node is dead for good.
    pub fn is_tombstone(&self) -> bool {
        self.expires_ms == 0 && self.fenced_by.is_some()
    }

    /// Returns the placeholder that takes the key of a removed lease and blocks its holder's renewal.
    pub fn placeholder(node: &NodeId, by: &NodeId, write: WriteId, wall_ms: u64) -> Self {
        let ttl_ms = u64::try_from(TTL_MAX.as_millis()).unwrap_or(u64::MAX);
        Self {
            node: node.clone(),
            // Never 0, which would make it a tombstone on a machine whose clock reads 1970.
            expires_ms: wall_ms.saturating_add(ttl_ms).max(1),
            addr: None,
            ttl: Some(TTL_MAX),
            write: Some(write),
            load: None,
            meta: BTreeMap::new(),
            fenced_by: Some(by.as_str().to_owned()),
        }
    }

    /// Returns the bytes of the tombstone that replaces the lease `body`, keeping every field that is not ours
    /// to change, known or unknown, byte for byte.
    pub fn fence(body: &[u8], node: &NodeId, by: &NodeId, write: &WriteId) -> Vec<u8> {
        let parsed = Self::parse_of(node, body).is_ok();
        let fields = serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(body).ok().filter(|_| parsed);
        let Some(mut fields) = fields else {
            // Nothing in it can be trusted, and a tombstone that cannot be parsed would never be seen as one.
            let record = Self { expires_ms: 0, ttl: None, ..Self::placeholder(node, by, write.clone(), 0) };
            return record.to_bytes();
        };
        fields.insert("expires_ms".to_owned(), raw(&0));
        fields.insert("fenced_by".to_owned(), raw(&by.as_str()));
        fields.insert("write".to_owned(), raw(&write.to_string()));
        serde_json::to_vec(&fields).expect("a map of raw values is a JSON object")
    }
}

fn raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("strings and integers are JSON")
}

#[cfg(test)]
mod tests {
    use super::{LeaseRecord, Load};
    use crate::id::{NodeId, WriteId};
    use alloc::string::String;
    use core::time::Duration;

    const OURS: &str = concat!(
        r#"{"node":"web-1.9f3c2a7b1d04e5f6","expires_ms":1764400010000,"addr":"-","peer_protocol":1,"#,
        r#""ownership_index_generation":"9f3c2a7b1d04e5f6","ttl_ms":10000,"write":"web-1.9f3c2a7b1d04e5f6#3","#,
        r#""meta":{"zone":"a"}}"#
    );

    fn ids() -> (NodeId, NodeId, WriteId) {
        let by = NodeId::parse("b.1").expect("legal");
        (NodeId::parse("x").expect("legal"), by.clone(), WriteId { node: by, seq: 9 })
    }

    #[test]
    fn our_golden_record_reads_and_writes_back_to_the_same_bytes() {
        let record = LeaseRecord::parse(OURS.as_bytes()).expect("ours");
        assert_eq!(String::from_utf8(record.to_bytes()).expect("text"), OURS);
    }

    #[test]
    fn whatever_the_facts_are_the_record_is_json_and_reads_back() {
        let (node, by, write) = ids();
        for text in ["", "a\"b", "back\\slash", "line\nbreak", "\u{1}", "\u{7f}\u{e9}\u{1f600}"] {
            let record = LeaseRecord {
                addr: Some(text.into()),
                load: Some(Load { rss_bytes: u64::MAX, pressured: true, ..Load::default() }),
                meta: [(text.into(), text.into())].into(),
                fenced_by: Some(text.into()),
                ..LeaseRecord::placeholder(&node, &by, write.clone(), 7)
            };
            let read = LeaseRecord::parse(&record.to_bytes()).expect("ours");
            let addr = Some(if text.is_empty() { "-" } else { text }.into());
            assert_eq!(read, LeaseRecord { addr, ..record });
        }
    }

    #[test]
    fn a_celld_lease_may_lack_everything_but_node_and_expiry() {
        let record = LeaseRecord::parse(br#"{"node":"x","expires_ms":5}"#).expect("celld's");
        assert_eq!((record.ttl, record.is_tombstone()), (None, false));
    }

    #[test]
    fn fencing_keeps_unknown_fields_byte_for_byte() {
        let (node, by, write) = ids();
        let body =
            br#"{"node":"x","expires_ms":5,"ttl_ms":3000,"zz":{"n":1.50,"big":123456789012345678901}}"#;
        let fenced = LeaseRecord::fence(body, &node, &by, &write);
        let text = String::from_utf8(fenced.clone()).expect("text");
        assert!(text.contains(r#""zz":{"n":1.50,"big":123456789012345678901}"#), "{text}");
        assert!(LeaseRecord::parse(&fenced).expect("parses").is_tombstone());
    }

    #[test]
    fn fencing_garbage_gives_a_tombstone_that_parses() {
        let (node, by, write) = ids();
        let others = br#"{"node":"y","expires_ms":5}"#;
        for body in [&b"\xff"[..], b"{}", b"[]", br#"{"node":"x","expires_ms":5,"ttl_ms":"3"}"#, others] {
            let fenced = LeaseRecord::fence(body, &node, &by, &write);
            assert!(LeaseRecord::parse_of(&node, &fenced).expect("parses").is_tombstone());
        }
    }

    #[test]
    fn a_placeholder_is_never_a_tombstone() {
        let (node, by, write) = ids();
        assert!(!LeaseRecord::placeholder(&node, &by, write, 0).is_tombstone());
    }

    #[test]
    fn a_ttl_with_a_fraction_of_a_millisecond_is_judged_no_shorter_than_it_is_held() {
        let (node, by, write) = ids();
        let ttl = Some(Duration::from_micros(50_900));
        let record = LeaseRecord { ttl, ..LeaseRecord::placeholder(&node, &by, write, 0) };
        let read = LeaseRecord::parse(&record.to_bytes()).expect("ours");
        assert_eq!(read.ttl, Some(Duration::from_millis(51)));
    }

    #[test]
    fn bl_51_an_absurd_ttl_is_refused() {
        for ttl in ["0", "60001", "-1", "9223372036854775808"] {
            let body = alloc::format!(r#"{{"node":"x","expires_ms":5,"ttl_ms":{ttl}}}"#);
            assert!(LeaseRecord::parse(body.as_bytes()).is_err(), "{ttl}");
        }
    }
}
