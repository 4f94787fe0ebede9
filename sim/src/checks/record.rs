//! G1: for each cell at most one claim succeeds per epoch, and epochs only grow.

use tenure_core::{Epoch, Holder, Key, NodeId, Op, OwnerRecord, Reply, WriteReply};

use super::{Check, Violation};
use crate::kinds::Kinds;
use crate::view::{Step, View};

/// Judges every version of an owner record by the one it replaced.
///
/// Each step up is by exactly one, a claim is the claimant's own, an offer comes from the holder, and nobody
/// releases what another holds. Together that leaves one claim to each epoch.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Record;

impl Check for Record {
    fn kinds(&self) -> Kinds {
        Kinds::SERVED_WRITE
    }

    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let Step::Served { op: Op::Write(op), reply: Reply::Write(WriteReply::Applied { .. }), .. } =
            view.step
        else {
            return Ok(());
        };
        let Some(session) = view.session() else { return Ok(()) };
        let key = op.key.as_str();
        if !key.starts_with(Key::OWNERS) {
            return Ok(());
        }
        let history = view.store.history(op.key.as_str());
        let Some((last, before)) = history.split_last() else { return Ok(()) };
        let before = before.last();
        if before.is_some_and(|before| before.body.is_some() && before.owner.is_none()) {
            return Err(Violation::new("G1", format_args!("{key}: a record that is garbage was taken over")));
        }
        let before = before.and_then(|version| version.owner.as_ref());
        let Some(after) = &last.owner else {
            return Err(Violation::new("G1", format_args!("{key} cannot be parsed")));
        };
        judge(session.id(), before, after).map_err(|why| {
            let was = before.map_or_else(|| "nothing".to_owned(), |record| format!("{record:?}"));
            Violation::new("G1", format_args!("{key}: {why}: {was} became {after:?}"))
        })
    }
}

fn judge(by: &NodeId, before: Option<&OwnerRecord>, after: &OwnerRecord) -> Result<(), &'static str> {
    if after.write.as_ref().map(|write| &write.node) != Some(by) {
        return Err("the record does not name its writer");
    }
    let next = before.map_or(Some(Epoch::FIRST), |before| before.epoch.next());
    let same = before.map(|before| before.epoch);
    let is_next = Some(after.epoch) == next;
    match after.holder() {
        Holder::Node(node) if node != by => Err("a claim in another's name"),
        Holder::Node(node) => {
            let accepts = before.is_some_and(|before| before.holder() == Holder::OfferedTo(node));
            if is_next || (accepts && Some(after.epoch) == same) { Ok(()) } else { Err("not the next epoch") }
        }
        Holder::OfferedTo(_) if !before.is_some_and(|before| before.holder() == Holder::Node(by)) => {
            Err("offered by somebody who does not hold it")
        }
        Holder::OfferedTo(_) => {
            if is_next {
                Ok(())
            } else {
                Err("not the next epoch")
            }
        }
        Holder::Nobody => match before.map(OwnerRecord::holder) {
            Some(Holder::Node(node)) if node == by && Some(after.epoch) == same => Ok(()),
            Some(Holder::OfferedTo(_)) if Some(after.epoch) == same => Ok(()),
            Some(Holder::Node(_) | Holder::OfferedTo(_) | Holder::Nobody) | None => {
                Err("released by somebody who does not hold it")
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::judge;
    use tenure_core::{NodeId, OwnerRecord};

    fn judged(by: &str, before: Option<&str>, after: &str) -> Result<(), &'static str> {
        let parse = |text: &str| OwnerRecord::parse(text.as_bytes()).expect("a record");
        let by = NodeId::parse(by).expect("legal");
        judge(&by, before.map(parse).as_ref(), &parse(after))
    }

    const HELD: &str = r#"{"node":"a.1","epoch":3,"write":"a.1#1"}"#;
    const OFFER: &str = r#"{"node":"b.1","epoch":4,"write":"a.1#2"}"#;

    #[test]
    fn what_the_protocol_does_is_accepted() {
        let first = r#"{"node":"a.1","epoch":1,"write":"a.1#1"}"#;
        let taken = r#"{"node":"b.1","epoch":4,"write":"b.1#1"}"#;
        let released = r#"{"node":"","epoch":3,"write":"a.1#2"}"#;
        assert_eq!(judged("a.1", None, first), Ok(()));
        assert_eq!(judged("b.1", Some(HELD), taken), Ok(()));
        assert_eq!(judged("a.1", Some(HELD), released), Ok(()));
        assert_eq!(judged("a.1", Some(HELD), OFFER), Ok(()));
        assert_eq!(judged("b.1", Some(OFFER), taken), Ok(()));
    }

    #[test]
    fn a_step_that_leaves_two_claims_to_one_epoch_is_found() {
        for (by, after) in [
            ("b.1", r#"{"node":"b.1","epoch":3,"write":"b.1#1"}"#),
            ("b.1", r#"{"node":"b.1","epoch":5,"write":"b.1#1"}"#),
            ("b.1", r#"{"node":"b.1","epoch":2,"write":"b.1#1"}"#),
            ("b.1", r#"{"node":"","epoch":3,"write":"b.1#1"}"#),
            ("b.1", r#"{"node":"a.1","epoch":4,"write":"b.1#1"}"#),
            ("a.1", r#"{"node":"b.1","epoch":3,"write":"a.1#2"}"#),
            ("a.1", r#"{"node":"b.1","epoch":4,"write":"b.1#2"}"#),
        ] {
            assert!(judged(by, Some(HELD), after).is_err(), "{by} {after}");
        }
        assert!(judged("a.1", None, HELD).is_err());
    }
}
