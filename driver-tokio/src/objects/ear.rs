//! What the wire tells the adapter about one operation, past the `object_store` crate, which keeps headers, and
//! whether a request has left, to itself.

use core::fmt;
use core::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use object_store::Extensions;
use tenure_core::{Fault, Op, Stamps};
use tenure_s3::{LIST_MAX, is_lease, reply_max};

use super::answer::Answer;

/// Travels with one operation as an extension of its request.
#[derive(Clone)]
pub(super) struct Ear(Arc<Shared>);

struct Shared {
    is_lease: bool,
    reads: bool,
    writes: bool,
    max: usize,
    between: Mutex<Option<Between>>,
    heard: Mutex<Heard>,
}

/// What a body waits for after its first byte.
type Between = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How far the request of an operation has come.
#[derive(Clone, Debug, Default)]
pub(super) enum Heard {
    /// It has not been handed to the HTTP client.
    #[default]
    Nothing,
    /// It may have left.
    Begun,
    /// There was no connection.
    Unsent(Fault),
    /// It may have left, and there was no answer, or none that is whole.
    Silent(Fault),
    /// This was the answer.
    Answer(Answer),
}

impl Ear {
    /// Makes the ear of an operation.
    pub(super) fn new(op: &Op) -> Self {
        Self(Arc::new(Shared {
            is_lease: is_lease(op),
            reads: matches!(op, Op::Read(_)),
            writes: matches!(op, Op::Write(_)),
            max: reply_max(op),
            between: Mutex::default(),
            heard: Mutex::default(),
        }))
    }

    /// Makes an ear for a request that is part of no operation, such as one for a token.
    pub(super) fn deaf() -> Self {
        Self(Arc::new(Shared {
            is_lease: false,
            reads: false,
            writes: false,
            max: LIST_MAX,
            between: Mutex::default(),
            heard: Mutex::default(),
        }))
    }

    /// Lets the body stop after its first byte until `between` resolves.
    pub(super) fn stop(&self, between: impl Future<Output = ()> + Send + 'static) {
        *lock(&self.0.between) = Some(Box::pin(between));
    }

    /// Returns what the body is to wait for, once.
    pub(super) fn take_between(&self) -> Option<Between> {
        lock(&self.0.between).take()
    }

    /// Returns the extensions of the operation's request.
    pub(super) fn extensions(&self) -> Extensions {
        let mut extensions = Extensions::new();
        extensions.insert(self.clone());
        extensions
    }

    /// Tells whether the operation is about a lease, which has a connection of its own.
    pub(super) fn is_lease(&self) -> bool {
        self.0.is_lease
    }

    /// Returns the most bytes of a body to read, but for one more.
    pub(super) fn max(&self) -> usize {
        self.0.max
    }

    /// Tells whether a body of `len` bytes makes an answer unusable; see [`tenure_s3::is_too_long`].
    pub(super) fn is_too_long(&self, status: u16, len: usize) -> bool {
        len > self.0.max && !(self.0.reads && status == 200)
    }

    /// Tells whether an answer of `len` bytes comes from whatever stands between us and the store: neither cloud says
    /// anything in the body of a write's success, and a gateway's page proves no write.
    pub(super) fn is_page(&self, status: u16, len: usize) -> bool {
        self.0.writes && (200..300).contains(&status) && len > 0
    }

    pub(super) fn hear(&self, heard: Heard) {
        *lock(&self.0.heard) = heard;
    }

    pub(super) fn heard(&self) -> Heard {
        lock(&self.0.heard).clone()
    }

    /// Returns the stamps of the answer, if there was one.
    pub(super) fn stamps(&self) -> Stamps {
        match &*lock(&self.0.heard) {
            Heard::Answer(answer) => answer.stamps,
            Heard::Nothing | Heard::Begun | Heard::Unsent(_) | Heard::Silent(_) => Stamps::default(),
        }
    }
}

impl fmt::Debug for Ear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ear").field(&self.heard()).finish()
    }
}

// No code that can panic runs under these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
