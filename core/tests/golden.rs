//! The records as they are stored, byte for byte: a change of these files is a change of the format.

use tenure_core::{Holder, LeaseRecord, OwnerRecord};

const OURS: &[u8] = include_bytes!("golden/owner-ours.json");
const RELEASED: &[u8] = include_bytes!("golden/owner-released.json");
const OFFERED: &[u8] = include_bytes!("golden/owner-offered.json");
const CELLD: &[u8] = include_bytes!("golden/owner-celld.json");
const LEASE: &[u8] = include_bytes!("golden/lease-ours.json");
const TOMBSTONE: &[u8] = include_bytes!("golden/lease-tombstone.json");
const LEASE_CELLD: &[u8] = include_bytes!("golden/lease-celld.json");

#[test]
fn owner_records_of_both_shapes_read_and_write_back_to_the_same_bytes() {
    for bytes in [OURS, RELEASED, OFFERED, CELLD] {
        let record = OwnerRecord::parse(bytes).expect("a record");
        assert_eq!(record.to_bytes(), bytes, "{record:?}");
    }
    let read = |bytes| OwnerRecord::parse(bytes).expect("a record");
    assert!(matches!(read(OURS).holder(), Holder::Node(node) if node.as_str() == "web-1.9f3c2a7b1d04e5f6"));
    assert_eq!(read(RELEASED).holder(), Holder::Nobody);
    assert!(
        matches!(read(OFFERED).holder(), Holder::OfferedTo(node) if node.as_str() == "web-2.0123456789abcdef")
    );
    assert!(matches!(read(CELLD).holder(), Holder::Node(node) if node.as_str() == "x"));
}

#[test]
fn leases_of_our_shape_write_back_to_the_same_bytes_and_celld_s_is_read() {
    for bytes in [LEASE, TOMBSTONE] {
        let record = LeaseRecord::parse(bytes).expect("a lease");
        assert_eq!(record.to_bytes(), bytes, "{record:?}");
        assert_eq!(record.is_tombstone(), bytes == TOMBSTONE);
    }
    let foreign = LeaseRecord::parse(LEASE_CELLD).expect("a lease");
    assert_eq!((foreign.node.as_str(), foreign.ttl, foreign.write), ("x", None, None));
}
