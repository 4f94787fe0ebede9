//! The adapter as the conformance suite sees it, and operations for the other tests.

use core::time::Duration;

use tenure_blocking::clock;
use tenure_core::{
    AttemptId, CellId, ETag, Guard, Key, ListId, ListOp, Now, Op, ReadId, ReadOp, Reply, WriteOp,
};
use tenure_sim::conformance::{AsyncSubject, Report, Settings, Spelling, Suite, Ticket, run_async};
use tenure_tokio::{ObjectStoreAdapter, Store as _};
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
