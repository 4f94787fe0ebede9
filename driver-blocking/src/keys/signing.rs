//! A signer that follows its keys, for the S3 stores of both drivers.

use core::fmt;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tenure_core::{Fault, FaultKind, Op, Reply};
use tenure_s3::{Bucket, Credentials, Response, SignedAt, Signer, unsendable, unsent};

use super::Keys;

/// Signs requests to one bucket with whatever keys are current, and reads the answers.
pub struct Signing {
    bucket: Bucket,
    keys: Keys,
    state: Mutex<State>,
}

/// The signer, once there are keys, and the buffer it builds requests in.
struct State {
    signer: Option<Signer>,
    generation: u64,
    buf: Vec<u8>,
}

impl Signing {
    /// Takes the address and what is signed with.
    pub fn new(bucket: Bucket, keys: Keys) -> Self {
        let state = State { signer: None, generation: 0, buf: Vec::new() };
        Self { bucket, keys, state: Mutex::new(state) }
    }

    /// Returns the address.
    pub fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// Returns how far requests are signed away from this machine's clock.
    pub fn clock_error(&self) -> Duration {
        self.lock().signer.as_ref().map_or(Duration::ZERO, Signer::clock_error)
    }

    /// Signs with other credentials from now on.
    pub fn replace(&self, credentials: Credentials) {
        self.keys.replace(credentials);
    }

    /// Tells whether there are keys.
    pub fn is_ready(&self) -> bool {
        self.follow().signer.is_some()
    }

    /// Hands out the signer and the buffer for its requests; nothing if there are no keys yet.
    pub fn with<R>(&self, work: impl FnOnce(&mut Signer, &mut Vec<u8>) -> R) -> Option<R> {
        let mut state = self.follow();
        let State { signer, buf, .. } = &mut *state;
        Some(work(signer.as_mut()?, buf))
    }

    /// Tells whether the answer says that the keys have ended, so that newer ones are worth some waiting.
    pub fn is_expired(&self, signed_at: SignedAt, response: &Response<'_>) -> bool {
        self.follow().signer.as_ref().is_some_and(|signer| signer.is_expired(signed_at, response))
    }

    /// Demands newer keys than those in use, and calls back when they are there or cannot be had.
    pub fn renew(&self, done: impl FnOnce() + Send + 'static) {
        let than = self.lock().generation;
        self.keys.renew(than, done);
    }

    /// Turns an answer into its reply. If it says that the keys have ended, and newer ones have come meanwhile,
    /// the operation may be sent again.
    pub fn reply(&self, op: &Op, signed_at: SignedAt, response: &Response<'_>) -> Reply {
        let reply = self.with(|signer, _| signer.reply(op, signed_at, response));
        reply.expect("whoever has an answer has signed a request")
    }

    /// Says why there are no keys.
    pub fn failure(&self) -> Fault {
        let Fault { kind, detail } = self.keys.failure();
        Fault::new(kind, format!("no credentials: {detail}"))
    }

    /// Returns the reply to an operation that there was nothing to sign with for.
    pub fn keyless(&self, op: &Op) -> Reply {
        let fault = self.failure();
        // What asking again will not help soon is told at once, and everything else at leisure.
        if matches!(fault.kind, FaultKind::Config | FaultKind::Denied) {
            unsendable(op, fault)
        } else {
            unsent(op, fault)
        }
    }

    /// Brings the signer up to date with the keys.
    fn follow(&self) -> MutexGuard<'_, State> {
        let current = self.keys.current();
        let mut state = self.lock();
        if let Some((credentials, generation)) = current
            && generation > state.generation
        {
            state.generation = generation;
            match &mut state.signer {
                Some(signer) => signer.replace_credentials(credentials),
                None => state.signer = Some(Signer::new(self.bucket.clone(), credentials)),
            }
        }
        state
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The signer is whole at every step, so a panic elsewhere leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Signing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signing({}, {:?})", self.bucket, self.keys)
    }
}
