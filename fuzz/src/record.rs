//! Records and names from any bytes: reading never panics, what is read is written back in one canonical form,
//! fencing any lease gives a tombstone, and a name never leaves its folder.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use tenure_core::{CellId, Holder, Key, LeaseRecord, NodeId, OwnerRecord, WriteId};

/// Takes the bytes for an owner record, for a lease and for a name.
///
/// # Panics
/// If one of the properties is broken.
pub fn check(input: &[u8]) {
    owner(input);
    lease(input);
    fence(input);
    if let Ok(text) = core::str::from_utf8(input) {
        name(text);
    }
}

fn owner(input: &[u8]) {
    let Ok(record) = OwnerRecord::parse(input) else { return };
    let bytes = record.to_bytes();
    assert_eq!(OwnerRecord::parse(&bytes).as_ref(), Ok(&record), "an owner record reads back");
    let offered = record.write.as_ref().is_some_and(|write| Some(&write.node) != record.node.as_ref());
    match record.holder() {
        Holder::Nobody => assert_eq!(record.node, None),
        Holder::OfferedTo(node) => assert!(offered && Some(node) == record.node.as_ref()),
        Holder::Node(node) => assert!(!offered && Some(node) == record.node.as_ref()),
    }
    if let Some(node) = &record.node {
        assert_eq!(Key::node(Key::lease(node).as_str()).as_ref(), Some(node), "a node has one lease");
    }
}

fn lease(input: &[u8]) {
    let Ok(record) = LeaseRecord::parse(input) else { return };
    let bytes = record.to_bytes();
    let again = LeaseRecord::parse(&bytes).expect("what is written can be read");
    assert_eq!(again.to_bytes(), bytes, "one record has one spelling");
    // An address that is missing or empty is spelled `-`, since other readers take an empty one for death.
    let addr = record.addr.clone().filter(|addr| !addr.is_empty()).unwrap_or_else(|| "-".to_owned());
    assert_eq!(again, LeaseRecord { addr: Some(addr), ..record }, "a lease reads back");
}

fn fence(input: &[u8]) {
    let id = |text| NodeId::parse(text).expect("a legal id");
    let (node, by) = (id("dead.1"), id("taker.2"));
    let write = WriteId { node: by.clone(), seq: 7 };
    let fenced = LeaseRecord::fence(input, &node, &by, &write);
    let tombstone = LeaseRecord::parse_of(&node, &fenced).expect("a tombstone can be read");
    assert!(tombstone.is_tombstone(), "{}", String::from_utf8_lossy(&fenced));
    assert_eq!((tombstone.fenced_by.as_deref(), tombstone.write), (Some("taker.2"), Some(write)));
    if LeaseRecord::parse_of(&node, input).is_err() {
        return;
    }
    let fields = |body| serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(body).expect("an object");
    let (mut before, mut after) = (fields(input), fields(&fenced));
    for ours in ["expires_ms", "fenced_by", "write"] {
        before.remove(ours);
        after.remove(ours);
    }
    let text = |fields: BTreeMap<String, Box<RawValue>>| -> Vec<(String, String)> {
        fields.into_iter().map(|(name, value)| (name, value.get().to_owned())).collect()
    };
    assert_eq!(text(before), text(after), "what is not ours survives byte for byte");
}

fn name(text: &str) {
    if let Ok(cell) = CellId::new(text) {
        assert_eq!(cell.as_str(), text);
        in_its_folder(&cell);
    }
    if let Ok(cell) = CellId::escape(text) {
        assert_eq!(unescape(cell.as_str()), text.as_bytes(), "an escaped name can be told from any other");
        in_its_folder(&cell);
    }
    if let Some(id) = WriteId::parse(text) {
        assert_eq!(id.to_string(), text, "a write id has one spelling");
    }
    // Keys from a listing.
    if let Some(cell) = Key::cell(text) {
        assert_eq!(Key::owner(&cell).as_str(), text);
    }
    if let Some(node) = Key::node(text) {
        assert_eq!(Key::lease(&node).as_str(), text);
    }
}

fn in_its_folder(cell: &CellId) {
    let key = Key::owner(cell);
    let segments: Vec<&str> = key.as_str().split('/').collect();
    assert!(matches!(segments[..], ["cells", name, "own.json"] if !matches!(name, "" | "." | "..")), "{key}");
    assert_eq!(Key::cell(key.as_str()).as_ref(), Some(cell));
}

/// Undoes the escaping from its description: `$XX` is a byte, a lone `$` the empty text.
fn unescape(name: &str) -> Vec<u8> {
    if name == "$" {
        return Vec::new();
    }
    let mut parts = name.split('$');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).expect("two digits follow a dollar"));
        bytes.extend(&part.as_bytes()[2..]);
    }
    bytes
}
