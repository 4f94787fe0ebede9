//! The store as the suite sees it: under its own settings, and with tags spelled the other way.

use core::time::Duration;
use std::env;

use tenure_blocking::clock;
use tenure_blocking::open::{Place as Resolved, Remote, resolve};
use tenure_core::{Now, Op, Reply, StoreClock};
use tenure_sim::conformance::{AsyncSubject, Spelling, Ticket};
use tenure_tokio::{AnyStore, Bucket, Fault, IfMatch, Question, S3Store, Said, Store, Threaded};

use crate::args::Global;
use crate::exit::Failure;
use crate::log::{Log, Logged};
use crate::store;

/// A store, opened.
#[derive(Debug)]
pub(super) struct Place {
    url: String,
    as_set: Logged<AnyStore>,
    /// What a bucket has beside it: its address, and the store in which tags are spelled the other way.
    bucket: Option<(Bucket, S3Store)>,
}

impl Place {
    pub(super) fn open(global: &Global) -> Result<Self, Failure> {
        let url = store::url(global)?.to_owned();
        #[cfg(feature = "object-store")]
        if url.starts_with("az://") || url.starts_with("gs://") {
            return Ok(Self { url, as_set: store::asynchronous(global)?, bucket: None });
        }
        let (store, bucket) = match resolve(&url, &store::options(global), |name| env::var(name).ok())? {
            Resolved::File(store) => (AnyStore::File(Threaded::new(store)), None),
            Resolved::S3(remote) => {
                let Remote { bucket, keys, transport } = *remote;
                let other = bucket.clone().with_if_match(other(&bucket));
                let other = S3Store::with(other, keys.clone(), &transport)?;
                let store = S3Store::with(bucket.clone(), keys, &transport)?;
                (AnyStore::S3(store), Some((bucket, other)))
            }
        };
        Ok(Self { url, as_set: Logged::new(store, Log::new(global)), bucket })
    }

    /// Returns the address, if this is a bucket.
    pub(super) fn bucket(&self) -> Option<&Bucket> {
        self.bucket.as_ref().map(|(bucket, _)| bucket)
    }

    /// Returns the store's URL as it was given.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Returns how true the stamps are said to be.
    pub(super) fn clock(&self) -> StoreClock {
        self.as_set.clock()
    }

    /// Tells whether bodies travel, so that they can be held back.
    pub(super) fn has_wire(&self) -> bool {
        #[cfg(feature = "object-store")]
        if let AnyStore::Objects(_) = self.as_set.inner() {
            return true;
        }
        self.bucket.is_some()
    }

    /// Returns the setting that spells tags the other way.
    pub(super) fn other_spelling(&self) -> Option<&'static str> {
        self.bucket().map(|bucket| match other(bucket) {
            IfMatch::Bare => "if-match=bare",
            IfMatch::Verbatim => "if-match=verbatim",
        })
    }

    /// Asks about the bucket itself; nothing if this is none.
    pub(super) async fn ask(&self, question: Question, patience: Duration) -> Option<Result<Said, Fault>> {
        let AnyStore::S3(store) = self.as_set.inner() else { return None };
        Some(store.ask(question, patience).await)
    }
}

fn other(bucket: &Bucket) -> IfMatch {
    match bucket.dialect().if_match {
        Some(IfMatch::Bare) => IfMatch::Verbatim,
        Some(IfMatch::Verbatim) | None => IfMatch::Bare,
    }
}

impl AsyncSubject for Place {
    async fn execute(&self, op: Op, spelling: Spelling) -> Reply {
        match (spelling, &self.bucket) {
            (Spelling::Other, Some((_, other))) => other.execute(op).await,
            (Spelling::AsSet | Spelling::Other, _) => self.as_set.execute(op).await,
        }
    }

    async fn execute_held(&self, op: Op, spelling: Spelling, ticket: Ticket) -> Reply {
        match (spelling, &self.bucket) {
            (Spelling::Other, Some((_, other))) => other.execute_in_two(op, ticket.pass()).await,
            (Spelling::AsSet | Spelling::Other, _) => {
                self.as_set.inner().execute_in_two(op, ticket.pass()).await
            }
        }
    }

    async fn pause(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn now(&self) -> Now {
        clock::now()
    }
}
