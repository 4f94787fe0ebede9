//! One store's identity: bucket, credentials and what is known about the signing time.
//!
//! A [`Signer`] signs each operation's request and turns its answer into a reply. Two things can go wrong
//! with a request that has not been evaluated yet, and be put right without asking anyone: the machine's
//! clock is off, so that requests must be signed with the store's time, and temporary credentials run out.
//! In both cases the reply says that the operation was not applied; sending it again is the engine's business.

use core::fmt;
use core::time::Duration;

use tenure_core::{ListOp, Op, ReadOp, RemoveOp, Reply, WallTime, WriteOp};

use crate::bucket::Bucket;
use crate::credentials::Credentials;
use crate::request::{self, Method, Request};
use crate::response::{
    About, Response, is_expired, list_reply, read_reply, remove_reply, skewed, write_reply,
};
use crate::sigv4::{AmzDate, Draft, KeyCache, Scope, payload_hash};
use crate::survey::{self, Question, Said};

/// A store that calls a time skewed that agrees with its own `Date` this closely is not helped by another.
const SKEW_MIN: Duration = Duration::from_secs(60);

/// Signs requests to one bucket and reads the answers.
pub struct Signer {
    bucket: Bucket,
    credentials: Credentials,
    keys: KeyCache,
    skew: Skew,
    /// Counts replacements of the credentials.
    generation: u64,
}

/// When and with what a request was signed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SignedAt {
    /// What this machine's clock said.
    local: WallTime,
    /// What the signature says.
    claimed: WallTime,
    generation: u64,
}

/// How far the store's clock is ahead of ours, or behind.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Skew {
    ahead: Duration,
    behind: Duration,
}

impl Skew {
    fn apply(self, local: WallTime) -> WallTime {
        local.after(self.ahead).before(self.behind)
    }
}

impl Signer {
    /// Takes the parsed address and the credentials.
    pub fn new(bucket: Bucket, credentials: Credentials) -> Self {
        Self { bucket, credentials, keys: KeyCache::new(), skew: Skew::default(), generation: 0 }
    }

    /// Signs with other credentials from now on. A request that was signed with the old ones and is answered
    /// "expired" after this is known not to have been applied and may be sent again.
    pub fn replace_credentials(&mut self, credentials: Credentials) {
        self.credentials = credentials;
        self.keys.clear();
        self.generation = self.generation.wrapping_add(1);
    }

    /// Returns the address.
    pub fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// Returns how far requests are signed away from this machine's clock; zero until a store demanded it.
    pub fn clock_error(&self) -> Duration {
        self.skew.ahead.max(self.skew.behind)
    }

    /// Signs a read. `at` is what this machine's wall clock says, corrected or not.
    pub fn read<'b>(&mut self, op: &ReadOp, at: WallTime, buf: &'b mut Vec<u8>) -> Request<'b> {
        let draft = request::read(&self.bucket, op, buf);
        self.sign(Method::Get, draft, b"", at)
    }

    /// Signs a write. `at` is what this machine's wall clock says, corrected or not.
    pub fn write<'b>(&mut self, op: &'b WriteOp, at: WallTime, buf: &'b mut Vec<u8>) -> Request<'b> {
        let draft = request::write(&self.bucket, op, buf);
        self.sign(Method::Put, draft, &op.body, at)
    }

    /// Signs a list. `at` is what this machine's wall clock says, corrected or not.
    pub fn list<'b>(&mut self, op: &ListOp, at: WallTime, buf: &'b mut Vec<u8>) -> Request<'b> {
        let draft = request::list(&self.bucket, op, buf);
        self.sign(Method::Get, draft, b"", at)
    }

    /// Signs a remove. `at` is what this machine's wall clock says, corrected or not.
    pub fn remove<'b>(&mut self, op: &RemoveOp, at: WallTime, buf: &'b mut Vec<u8>) -> Request<'b> {
        let draft = request::remove(&self.bucket, op, buf);
        self.sign(Method::Delete, draft, b"", at)
    }

    /// Signs a question about the bucket itself. `at` is what this machine's wall clock says, corrected or not.
    pub fn ask<'b>(&mut self, question: Question, at: WallTime, buf: &'b mut Vec<u8>) -> Request<'b> {
        let draft = survey::request(&self.bucket, question, buf);
        self.sign(Method::Get, draft, b"", at)
    }

    /// Signs any one operation.
    pub fn request<'b>(&mut self, op: &'b Op, at: WallTime, buf: &'b mut Vec<u8>) -> Request<'b> {
        match op {
            Op::List(op) => self.list(op, at, buf),
            Op::Read(op) => self.read(op, at, buf),
            Op::Remove(op) => self.remove(op, at, buf),
            Op::Write(op) => self.write(op, at, buf),
        }
    }

    /// Tells whether the answer says that the credentials have ended that requests are still signed with: then
    /// [`replace_credentials`](Self::replace_credentials) before [`reply`](Self::reply) is worth some waiting.
    pub fn is_expired(&self, signed_at: SignedAt, response: &Response<'_>) -> bool {
        signed_at.generation == self.generation && is_expired(response)
    }

    /// Turns the whole answer to an operation's request into its reply.
    ///
    /// An answer that refuses the signature for its time corrects the time of the next one, by the store's
    /// own clock; it is not corrected again while the two agree.
    pub fn reply(&mut self, op: &Op, signed_at: SignedAt, response: &Response<'_>) -> Reply {
        let corrected = self.correct_time(signed_at, response) || signed_at.generation != self.generation;
        let about = About { bucket: &self.bucket, corrected, local: Some(signed_at.local) };
        match op {
            Op::List(op) => Reply::List(list_reply(&about, op, response)),
            Op::Read(op) => Reply::Read(read_reply(&about, op, response)),
            Op::Remove(op) => Reply::Remove(remove_reply(&about, op, response)),
            Op::Write(op) => Reply::Write(write_reply(&about, op, response)),
        }
    }

    /// Turns the whole answer to a question about the bucket into what it says.
    pub fn said(&self, question: Question, response: &Response<'_>) -> Said {
        survey::said(question, response)
    }

    fn correct_time(&mut self, signed_at: SignedAt, response: &Response<'_>) -> bool {
        let Some(store) = skewed(response) else { return false };
        let (store, local) = (WallTime::from_nanos(store.as_nanos()), signed_at.local);
        let claimed = signed_at.claimed;
        if store.since(claimed).max(claimed.since(store)) < SKEW_MIN {
            return false;
        }
        self.skew = Skew { ahead: store.since(local), behind: local.since(store) };
        true
    }

    fn sign<'b>(
        &mut self,
        method: Method,
        mut draft: Draft<'b>,
        body: &'b [u8],
        at: WallTime,
    ) -> Request<'b> {
        let signed_at = SignedAt { local: at, claimed: self.skew.apply(at), generation: self.generation };
        let at = AmzDate::new(signed_at.claimed);
        let payload = payload_hash(body);
        draft.signed("x-amz-content-sha256", &payload);
        draft.signed("x-amz-date", at.as_bytes());
        if let Some(token) = self.credentials.token() {
            draft.signed("x-amz-security-token", token.as_bytes());
        }
        let scope = Scope { credentials: &self.credentials, region: self.bucket.region(), at };
        Request::new(method, draft.sign(&payload, &scope, &mut self.keys), body, signed_at)
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({}, {:?})", self.bucket, self.credentials)
    }
}
