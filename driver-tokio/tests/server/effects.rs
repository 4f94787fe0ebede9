//! Which of the faults that were drawn for a request have made a difference to it.

use core::time::Duration;

use tenure_core::{AttemptId, CellId, ETag, Guard, Key, ListId, ListOp, Op, WriteOp};
use tenure_sim::server::{Fault, Options, Rule, Server};

use crate::both::{SECRET, Store, credentials, start};

/// Draws these faults for every request, makes one, and returns those that befell it.
fn befell(server: &Server, faults: &[Fault], request: impl FnOnce()) -> Vec<Fault> {
    server.faults(faults.iter().copied().map(Rule::new));
    let before = server.requests();
    request();
    let seen = &server.seen()[before..];
    assert_eq!((seen.len(), seen[0].faults.as_slice()), (1, faults));
    seen[0].effects.clone()
}

#[test]
fn a_fault_befalls_only_a_request_that_it_changes_something_about() {
    let server = start(Options::default());
    for (number, store) in Store::both(&server, &credentials(SECRET, None)).into_iter().enumerate() {
        let (kept, missing) = (format!("kept{number}"), format!("missing{number}"));
        store.create(&kept);
        store.create(&format!("other{number}"));
        let read = |cell: &str, faults: &[Fault]| befell(&server, faults, || drop(store.read(cell)));
        // What is not there has no tag and no time, and its answer is no page.
        let parts = [Fault::NoTag, Fault::NoModified, Fault::NoDate, Fault::NoToken, Fault::ShortPage(1)];
        assert_eq!(read(&missing, &parts), [Fault::NoDate]);
        assert_eq!(read(&kept, &parts), [Fault::NoTag, Fault::NoModified, Fault::NoDate]);
        // What comes first leaves nothing for the others to befall.
        let several = [Fault::Drop, Fault::Conflict, Fault::Denied, Fault::Truncate];
        assert_eq!(read(&kept, &several), [Fault::Conflict, Fault::Truncate]);
        assert_eq!(read(&kept, &[Fault::Drop, Fault::NoTag]), [Fault::Drop]);
        assert_eq!(read(&kept, &[Fault::MissingDenied]), []);
        assert_eq!(read(&missing, &[Fault::MissingDenied]), [Fault::MissingDenied]);
        assert_eq!(read(&kept, &[Fault::CutAnswer(Some(1_000_000))]), []);

        let update = |cell: &str, faults: &[Fault]| {
            let id = AttemptId::new(1);
            let key = Key::owner(&CellId::new(cell).expect("legal"));
            let guard = Guard::Match(ETag::new(b"\"old\"").expect("not empty"));
            let op = WriteOp { id, key, guard, body: (*b"{}").into(), timeout: Duration::from_secs(10) };
            befell(&server, faults, || drop(store.execute(Op::Write(op))))
        };
        let judging = [Fault::MissingRejected, Fault::MarkerExists];
        assert_eq!(update(&missing, &judging[..1]), [Fault::MissingRejected]);
        assert_eq!(update(&kept, &judging), []);
        assert_eq!(update(&kept, &[Fault::IgnoresMatch]), [Fault::IgnoresMatch]);

        let list = |prefix: &str, faults: &[Fault]| {
            let (id, timeout) = (ListId::new(1), Duration::from_secs(10));
            let op = ListOp { id, prefix: prefix.into(), after: None, timeout };
            befell(&server, faults, || drop(store.execute(Op::List(op))))
        };
        let paging = [Fault::ShortPage(1), Fault::NoToken];
        assert_eq!(list("cells/", &paging), paging);
        assert_eq!(list("nodes/", &paging), []);
        assert_eq!(list(&format!("cells/{kept}/"), &[Fault::HidesFirst(1)]), [Fault::HidesFirst(1)]);
        server.faults([]);
    }
}
