//! Either driver's store, with signed requests, against the server.

use core::time::Duration;

use tenure_blocking::{Store as _, clock};
use tenure_core::{AttemptId, CellId, Guard, Key, Now, Op, ReadId, ReadOp, Reply, WriteOp};
use tenure_s3::{Bucket, Credentials};
use tenure_sim::conformance::{Race, Settings, Spelling, Subject, Suite, Ticket, run};
use tenure_sim::server::{Fault, Options, Rule, Server};
use tenure_tokio::Store as _;
use tokio::runtime::{Builder, Runtime};

use crate::aws::Aws;

pub(crate) const ACCESS_KEY: &str = "AKIDEXAMPLE";
pub(crate) const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

/// Starts a server that takes what is signed with the key above.
pub(crate) fn start(options: Options) -> Server {
    let aws = Aws { access_key: ACCESS_KEY, secret: SECRET };
    Server::start(Options { verify: Some(std::sync::Arc::new(aws)), ..options }).expect("a loopback port")
}

pub(crate) fn bucket(server: &Server) -> Bucket {
    let settings =
        tenure_s3::Settings { endpoint: Some(server.endpoint()), ..tenure_s3::Settings::default() };
    Bucket::parse("s3://tenure/some/prefix", &settings).expect("a legal address")
}

pub(crate) fn credentials(secret: &str, token: Option<&str>) -> Credentials {
    Credentials::new(ACCESS_KEY, secret, token).expect("legal")
}

/// Either driver's store.
pub(crate) enum Store {
    Blocking(tenure_blocking::S3Store),
    Tokio(Runtime, tenure_tokio::S3Store),
}

impl Store {
    pub(crate) fn both(server: &Server, credentials: &Credentials) -> [Self; 2] {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let blocking = tenure_blocking::S3Store::new(bucket(server), credentials.clone());
        let tokio = tenure_tokio::S3Store::new(bucket(server), credentials.clone());
        [Self::Blocking(blocking.expect("a client")), Self::Tokio(runtime, tokio.expect("a client"))]
    }

    pub(crate) fn execute(&self, op: Op) -> Reply {
        match self {
            Self::Blocking(store) => store.execute(op),
            Self::Tokio(runtime, store) => runtime.block_on(store.execute(op)),
        }
    }

    pub(crate) fn create(&self, cell: &str) -> Reply {
        self.execute(Op::Write(WriteOp {
            id: AttemptId::new(1),
            key: Key::owner(&CellId::new(cell).expect("legal")),
            guard: Guard::Absent,
            body: (*b"{\"node\":\"a.1\",\"epoch\":1}").into(),
            timeout: Duration::from_secs(10),
        }))
    }

    pub(crate) fn read(&self, cell: &str) -> Reply {
        let key = Key::owner(&CellId::new(cell).expect("legal"));
        self.execute(Op::Read(ReadOp {
            id: ReadId::new(1),
            key,
            unless: None,
            timeout: Duration::from_secs(10),
        }))
    }
}

/// A store as the suite sees it. One that never asks to be left alone need not be.
struct Asked<'s> {
    store: &'s Store,
    pauses: bool,
}

impl Subject for Asked<'_> {
    fn execute(&self, op: Op, _: Spelling) -> Reply {
        self.store.execute(op)
    }

    fn execute_held(&self, op: Op, _: Spelling, ticket: Ticket) -> Reply {
        match self.store {
            Store::Blocking(store) => store.execute_in_two(op, || ticket.wait()),
            Store::Tokio(runtime, store) => runtime.block_on(store.execute_in_two(op, ticket.pass())),
        }
    }

    fn pause(&self, time: Duration) {
        if self.pauses {
            std::thread::park_timeout(time);
        }
    }

    fn now(&self) -> Now {
        clock::now()
    }
}

#[test]
fn the_server_does_what_ownership_rests_on_through_both_drivers() {
    for store in Store::both(&start(Options::default()), &credentials(SECRET, None)) {
        let race = Race { contenders: 4, rounds: 10, budget: Duration::from_secs(60), apart: true };
        let settings = Settings { race: Some(race), scratch: true, ..Settings::new(1) };
        let report = run(&mut Suite::new(settings), &Asked { store: &store, pauses: true }, |_| {});
        assert!(report.is_fit(), "{report}");
    }
}

/// Whatever makes a store unfit without a race is seen by the suite without one.
#[test]
fn an_unfit_server_is_found_out_through_both_drivers() {
    for (name, fault) in Fault::all().filter(|(_, fault)| fault.is_unfit()) {
        let server = start(Options::default());
        server.faults([Rule::new(fault)]);
        for store in Store::both(&server, &credentials(SECRET, None)) {
            let race = Race { contenders: 4, rounds: 3, budget: Duration::from_secs(60), apart: true };
            let race = (fault == Fault::ChecksEarly).then_some(race);
            // Bodies are held back for a moment, which is what the pause is for.
            let pauses = race.is_some();
            let settings = Settings { race, ..Settings::new(1) };
            let report = run(&mut Suite::new(settings), &Asked { store: &store, pauses }, |_| {});
            assert!(!report.is_fit(), "{name}:\n{report}");
        }
    }
}
