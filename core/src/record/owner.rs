//! `cells/<cell>/own.json`: who owns a cell, and at which epoch.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::Deserialize;

use super::{RecordError, Text, fields, put_name, put_number, put_write};
use crate::id::{Epoch, NodeId, WriteId};

/// The owner record of one cell.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct OwnerRecord {
    /// The node named by the record; nothing when the cell is released.
    pub node: Option<NodeId>,
    /// The epoch of the owner, or of the last one.
    pub epoch: Epoch,
    /// The write that made this version; nothing in another implementation's record.
    pub write: Option<WriteId>,
}

/// What an owner record means.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Holder<'r> {
    /// Nobody holds the cell.
    Nobody,
    /// A planned hand-over that this node may accept at the record's epoch; nobody acts on it until then.
    OfferedTo(&'r NodeId),
    /// This node holds the cell, as long as its lease lives.
    Node(&'r NodeId),
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    node: Cow<'a, str>,
    epoch: u64,
    #[serde(borrow, default)]
    write: Option<Text<'a>>,
}

/// How many bytes a record has besides its names, at most.
const PUNCTUATION: usize = 76;

impl OwnerRecord {
    /// Parses the record's bytes.
    ///
    /// # Errors
    /// Says which field is missing, of the wrong type or not a legal value. Such a record is corrupt: no
    /// takeover may rest on it.
    pub fn parse(body: &[u8]) -> Result<Self, RecordError> {
        let wire: Wire<'_> = fields(body)?;
        let node = match wire.node.as_ref() {
            "" => None,
            text => Some(NodeId::parse(text).map_err(RecordError::new)?),
        };
        let epoch = Epoch::new(wire.epoch).ok_or_else(|| RecordError::new("epoch 0 is not an epoch"))?;
        let write =
            match wire.write {
                None => None,
                Some(Text(text)) => Some(WriteId::parse_beside(&text, node.as_ref()).ok_or_else(|| {
                    RecordError::new(format_args!("write {text:?} is not <node>#<sequence>"))
                })?),
            };
        Ok(Self { node, epoch, write })
    }

    /// Returns the record's bytes. Names need no escaping: their alphabet has no quote or backslash.
    pub fn to_bytes(&self) -> Vec<u8> {
        let node = self.node.as_ref().map_or("", NodeId::as_str);
        let write = self.write.as_ref().map_or(0, |write| write.node.as_str().len());
        let mut out = Vec::with_capacity(PUNCTUATION + node.len() + write);
        put_name(&mut out, r#"{"node":"#, node);
        put_number(&mut out, r#","epoch":"#, self.epoch.get());
        if let Some(write) = &self.write {
            put_write(&mut out, r#","write":"#, write);
        }
        out.push(b'}');
        out
    }

    /// Returns what the record means.
    pub fn holder(&self) -> Holder<'_> {
        match (&self.node, &self.write) {
            (None, _) => Holder::Nobody,
            (Some(node), Some(write)) if write.node != *node => Holder::OfferedTo(node),
            (Some(node), _) => Holder::Node(node),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Holder, OwnerRecord};

    const OURS: &str = r#"{"node":"web-1.9f3c2a7b1d04e5f6","epoch":7,"write":"web-1.9f3c2a7b1d04e5f6#12"}"#;

    #[test]
    fn our_golden_record_reads_and_writes_back_to_the_same_bytes() {
        let record = OwnerRecord::parse(OURS.as_bytes()).expect("ours");
        assert!(matches!(record.holder(), Holder::Node(_)));
        assert_eq!(record.to_bytes(), OURS.as_bytes());
    }

    #[test]
    fn a_celld_record_is_simply_held() {
        let record = OwnerRecord::parse(br#"{"node":"x","epoch":7}"#).expect("celld's");
        assert!(matches!(record.holder(), Holder::Node(node) if node.as_str() == "x"));
    }

    #[test]
    fn a_record_written_by_another_session_is_an_offer() {
        let record = OwnerRecord::parse(br#"{"node":"b.1","epoch":8,"write":"a.1#3"}"#).expect("offer");
        assert!(matches!(record.holder(), Holder::OfferedTo(node) if node.as_str() == "b.1"));
    }

    #[test]
    fn a_released_record_has_no_holder_and_keeps_its_epoch() {
        let record = OwnerRecord::parse(br#"{"node":"","epoch":8,"write":"a.1#3"}"#).expect("released");
        assert_eq!((record.holder(), record.epoch.get()), (Holder::Nobody, 8));
    }

    #[test]
    fn an_epoch_is_an_exact_positive_integer() {
        for epoch in ["0", "-1", "7.0", "1e3", "18446744073709551616", "\"7\"", "null"] {
            let body = alloc::format!(r#"{{"node":"x","epoch":{epoch}}}"#);
            assert!(OwnerRecord::parse(body.as_bytes()).is_err(), "{epoch}");
        }
        assert!(OwnerRecord::parse(br#"{"node":"x","epoch":18446744073709551615}"#).is_ok());
    }

    #[test]
    fn a_record_that_is_not_text_is_refused_even_in_a_field_that_nobody_reads() {
        assert!(OwnerRecord::parse(b"{\"node\":\"x\",\"epoch\":1,\"zz\":\"\xff\"}").is_err());
    }
}
