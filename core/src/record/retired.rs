//! `retired/<node>.json`: the marker of a dead node whose lease was cleaned away.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::Deserialize;

use super::{RecordError, fields, put_name};
use crate::id::NodeId;

/// The marker that a node is dead for good. It outlives the node's lease, and a tombstone will do for one.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct RetiredRecord {
    /// The node.
    pub node: NodeId,
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    node: Cow<'a, str>,
}

impl RetiredRecord {
    /// Parses the bytes of the marker under a node's key.
    ///
    /// # Errors
    /// Says that they are no marker, or which other node they are of. They prove nothing then: any page that some
    /// proxy answers with would else kill a living node.
    pub fn parse_of(node: &NodeId, body: &[u8]) -> Result<Self, RecordError> {
        let wire: Wire<'_> = fields(body)?;
        if wire.node == node.as_str() {
            return Ok(Self { node: node.clone() });
        }
        Err(RecordError::new(format_args!("it is the marker of {}, not of {node}", wire.node)))
    }

    /// Returns the marker's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_name(&mut out, r#"{"node":"#, self.node.as_str());
        out.push(b'}');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::RetiredRecord;
    use crate::id::NodeId;

    #[test]
    fn a_marker_names_its_node_and_nothing_else_is_one() {
        let node = NodeId::parse("b.1").expect("legal");
        let marker = RetiredRecord { node: node.clone() };
        assert_eq!(RetiredRecord::parse_of(&node, &marker.to_bytes()), Ok(marker));
        let tombstone = br#"{"node":"b.1","expires_ms":0,"fenced_by":"c.1"}"#;
        assert!(RetiredRecord::parse_of(&node, tombstone).is_ok());
        for body in [&b"<html>"[..], b"", b"{}", br#"["b.1"]"#, br#"{"node":"b.2"}"#] {
            assert!(RetiredRecord::parse_of(&node, body).is_err(), "{body:?}");
        }
    }
}
