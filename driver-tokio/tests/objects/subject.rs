//! The adapter as the conformance suite sees it, and operations for the other tests.

use core::time::Duration;
use std::thread;

use tenure_blocking::Store as _;
use tenure_blocking::clock;
use tenure_core::{
    AttemptId, CellId, ETag, Guard, Key, ListId, ListOp, ListReply, Now, Op, ReadId, ReadOp, ReadReply,
    RemoveReply, Reply, StoreTime, WriteOp, WriteReply,
};
use tenure_sim::conformance::{
    self, AsyncSubject, Report, Settings, Spelling, Suite, Ticket, run, run_async,
};
use tenure_tokio::{Bridged, ObjectStoreAdapter, Store as _};
use tokio::runtime::{Builder, Runtime};

pub(crate) struct Subject<'a>(pub(crate) &'a ObjectStoreAdapter);

impl AsyncSubject for Subject<'_> {
    async fn execute(&self, op: Op, _: Spelling) -> Reply {
        self.0.execute(op).await
    }

    async fn execute_held(&self, op: Op, _: Spelling, ticket: Ticket) -> Reply {
        self.0.execute_in_two(op, ticket.pass()).await
    }

    async fn pause(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn now(&self) -> Now {
        clock::now()
    }
}

/// The same, as the blocking driver uses it.
struct Blocking(Bridged<ObjectStoreAdapter>);

impl conformance::Subject for Blocking {
    fn execute(&self, op: Op, _: Spelling) -> Reply {
        self.0.execute(op)
    }

    fn pause(&self, time: Duration) {
        thread::park_timeout(time);
    }

    fn now(&self) -> Now {
        clock::now()
    }
}

/// Puts the suite's questions through the blocking driver's store.
pub(crate) fn ask_blocking(store: ObjectStoreAdapter, settings: Settings) -> Report {
    let settings = Settings { clock: store.clock(), ..settings };
    let store = Bridged::new(store).expect("a thread");
    run(&mut Suite::new(settings), &Blocking(store), |_| {})
}

/// Puts the suite's questions.
pub(crate) fn ask(store: &ObjectStoreAdapter, settings: Settings) -> Report {
    let settings = Settings { clock: store.clock(), ..settings };
    runtime().block_on(run_async(&mut Suite::new(settings), &Subject(store), |_| {}))
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Executes one operation.
pub(crate) fn execute(store: &ObjectStoreAdapter, op: Op) -> Reply {
    runtime().block_on(store.execute(op))
}

pub(crate) fn write(guard: Guard, timeout: Duration) -> Op {
    Op::Write(WriteOp {
        id: AttemptId::new(1),
        key: key(),
        guard,
        body: (*b"{\"node\":\"a.1\",\"epoch\":1}").into(),
        timeout,
    })
}

pub(crate) fn read(unless: Option<ETag>) -> Op {
    Op::Read(ReadOp { id: ReadId::new(1), key: key(), unless, timeout: Duration::from_secs(10) })
}

pub(crate) fn list(prefix: &str, after: Option<&str>) -> Op {
    Op::List(ListOp {
        id: ListId::new(1),
        prefix: prefix.into(),
        after: after.map(Into::into),
        timeout: Duration::from_secs(10),
    })
}

fn key() -> Key {
    Key::owner(&CellId::new("c").expect("legal"))
}

/// Spells a reply in a few words.
pub(crate) fn said(reply: &Reply) -> String {
    let ms = |stamp: Option<StoreTime>| format!("{:?}", stamp.map(StoreTime::as_millis));
    match reply {
        Reply::List(ListReply::Page(page)) => format!("{} keys", page.entries.len()),
        Reply::Read(ReadReply::Found { etag, body, stamps }) => {
            let body = String::from_utf8_lossy(body);
            format!("found {etag} {body} {} {}", ms(stamps.modified), ms(stamps.date))
        }
        Reply::Read(ReadReply::Missing) => "missing".into(),
        Reply::Read(ReadReply::Unchanged(stamps)) => {
            format!("unchanged {} {}", ms(stamps.modified), ms(stamps.date))
        }
        Reply::Remove(RemoveReply::Removed) => "removed".into(),
        Reply::Write(WriteReply::Applied { etag }) => format!("applied {etag}"),
        Reply::Write(WriteReply::Conflict) => "conflict".into(),
        Reply::Write(WriteReply::NotApplied(fault)) => format!("not applied {:?}", fault.kind),
        Reply::Write(WriteReply::Refused(fault)) => format!("refused {:?}", fault.kind),
        Reply::Write(WriteReply::Rejected) => "rejected".into(),
        Reply::Write(WriteReply::Unknown(fault)) => format!("unknown {:?}", fault.kind),
        Reply::List(ListReply::Failed(fault))
        | Reply::Read(ReadReply::Failed(fault))
        | Reply::Remove(RemoveReply::Failed(fault)) => format!("failed {:?}", fault.kind),
        Reply::List(ListReply::Throttled { after })
        | Reply::Read(ReadReply::Throttled { after })
        | Reply::Write(WriteReply::Throttled { after }) => format!("throttled {after:?}"),
    }
}
