//! A bucket at an S3-compatible server as a store: one operation, one request, one reply.
//!
//! Signing and the meaning of answers live in `tenure-s3`; this adds the socket. The HTTP client is held to
//! sending each request at most once: no redirects, no retries, no decoding, and a deadline that covers
//! everything from the connection to the last byte of the answer. Only a failure to connect is `NotApplied`.
//!
//! hyper sends a request again only if a reused connection was closed before it had taken the request from
//! its queue, so that no byte of it had left; a test counts what a server sees. Very rarely it loses a request
//! whose connection closed at that very moment: the deadline answers for it, at the cost of one attempt (BL-19).

use core::fmt;
use core::time::Duration;
use std::env;
use std::io::{self, Read as _};
use std::sync::mpsc;

use reqwest::blocking::{Body, Client, ClientBuilder, Request, Response};
use tenure_core::{Fault, FaultKind, Op, Reply};
use tenure_s3::{
    Bucket, Credentials, SignedAt, is_lease, is_too_long, reply_max, timeout, unanswered, unsendable, unsent,
};

use crate::clock;
use crate::http::{Transport, builder, collect, detail, fault, spell};
use crate::keys::{Keys, Signing};
use crate::store::Store;

/// A bucket at an S3-compatible server.
///
/// Leases have connections of their own, so that a renewal never waits for other traffic. Must not be made
/// or used on a thread that runs async code; there, use the store of `tenure-tokio`.
pub struct S3Store {
    signing: Signing,
    leases: Client,
    others: Client,
}

impl S3Store {
    /// Opens the bucket; nothing is sent yet. Certificates and proxies are those that the environment names
    /// ([`Transport::from_env`]).
    ///
    /// # Errors
    /// Says what is wrong if the HTTP client cannot be set up, for want of root certificates say.
    pub fn new(bucket: Bucket, credentials: Credentials) -> Result<Self, Fault> {
        Self::with(bucket, credentials, &Transport::from_env(|name| env::var(name).ok())?)
    }

    /// Opens the bucket, with keys and a way to reach it of the caller's choice; nothing is sent to it yet.
    ///
    /// # Errors
    /// Says what is wrong if the HTTP client cannot be set up, for want of root certificates say.
    pub fn with(bucket: Bucket, keys: impl Into<Keys>, transport: &Transport) -> Result<Self, Fault> {
        // One idle connection is all that renewals need, and after one that went silent the next is fresh.
        let leases = client(&bucket, transport, 1)?;
        let others = client(&bucket, transport, 16)?;
        Ok(Self { signing: Signing::new(bucket, keys.into()), leases, others })
    }

    /// Signs with other credentials from now on, also what is sent again.
    pub fn replace_credentials(&self, credentials: Credentials) {
        self.signing.replace(credentials);
    }

    /// Returns how far this machine's wall clock is off by the store's, if that made the store refuse a
    /// request; requests are signed with the store's time since then. Otherwise zero.
    pub fn clock_error(&self) -> Duration {
        self.signing.clock_error()
    }

    /// Executes one operation; the body of a write stops after its first byte, which is on the wire with the
    /// headers before `between` is called, and goes on when that returns. For tests of stores: one that judges a
    /// guard before it has the body is found out by several such writes at once.
    pub fn execute_in_two(&self, op: Op, between: impl FnOnce() + Send + 'static) -> Reply {
        self.send(&op, |body| {
            let length = u64::try_from(body.len()).unwrap_or(u64::MAX);
            let mut rest = body;
            let first = rest.splice(..rest.len().min(1), []).collect();
            Body::sized(
                Halves { first: io::Cursor::new(first), between: Some(between), rest: io::Cursor::new(rest) },
                length,
            )
        })
    }

    /// Waits for newer keys, or for the news that there are none, no longer than `most`.
    fn renew(&self, most: Duration) {
        let (done, waiting) = mpsc::sync_channel(1);
        // Nobody waits any longer if it comes too late.
        self.signing.renew(move || done.try_send(()).unwrap_or_default());
        waiting.recv_timeout(most).ok();
    }

    /// Signs the request; nothing if there are no keys yet. An error means that it cannot be spelled.
    fn prepare(
        &self,
        op: &Op,
        body: impl FnOnce(Vec<u8>) -> Body,
    ) -> Option<Result<(Request, SignedAt), Fault>> {
        self.signing.with(|signer, buf| {
            let signed = signer.request(op, clock::wall(), buf);
            let (method, url, headers) = spell(&signed)?;
            let mut request = Request::new(method, url);
            *request.headers_mut() = headers;
            if let Op::Write(write) = op {
                *request.body_mut() = Some(body(write.body.to_vec()));
            }
            Ok((request, signed.signed_at))
        })
    }

    fn send(&self, op: &Op, body: impl FnOnce(Vec<u8>) -> Body) -> Reply {
        let started = clock::mono();
        let left = || timeout(op).saturating_sub(clock::mono().since(started));
        if !self.signing.is_ready() {
            self.renew(left());
        }
        let (mut request, signed_at) = match self.prepare(op, body) {
            Some(Ok(prepared)) => prepared,
            Some(Err(fault)) => return unsendable(op, fault),
            None => return self.signing.keyless(op),
        };
        *request.timeout_mut() = Some(left());
        let client = if is_lease(op) { &self.leases } else { &self.others };
        let mut response = match client.execute(request) {
            Ok(response) => response,
            Err(error) if error.is_connect() => return unsent(op, fault(&error)),
            Err(error) => return unanswered(op, fault(&error)),
        };
        let (status, headers) = (response.status().as_u16(), core::mem::take(response.headers_mut()));
        let body = match read_body(response, reply_max(op)) {
            Ok(body) => body,
            Err(fault) => return unanswered(op, fault),
        };
        if is_too_long(op, status, body.len()) {
            let why = format!("the answer is longer than {} bytes", reply_max(op));
            return unanswered(op, Fault::new(FaultKind::Malformed, why));
        }
        let response = tenure_s3::Response { status, headers: collect(&headers), body: &body };
        // Not sent again here, but known not to be applied once there are newer keys.
        if self.signing.is_expired(signed_at, &response) {
            self.renew(left());
        }
        self.signing.reply(op, signed_at, &response)
    }
}

impl Store for S3Store {
    fn execute(&self, op: Op) -> Reply {
        self.send(&op, Body::from)
    }
}

impl fmt::Debug for S3Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S3Store({})", self.signing.bucket())
    }
}

fn client(bucket: &Bucket, transport: &Transport, idle_max: usize) -> Result<Client, Fault> {
    let builder = ClientBuilder::from(builder(bucket.is_local(), transport, idle_max));
    builder.build().map_err(|error| Fault::new(FaultKind::Config, detail(&error)))
}

/// A body that calls somebody after its first byte.
struct Halves<F> {
    first: io::Cursor<Vec<u8>>,
    between: Option<F>,
    rest: io::Cursor<Vec<u8>>,
}

impl<F: FnOnce()> io::Read for Halves<F> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.first.read(buf)?;
        if read > 0 {
            return Ok(read);
        }
        if let Some(between) = self.between.take() {
            between();
        }
        self.rest.read(buf)
    }
}

/// Reads a body of at most `max` bytes, and one more of a longer one.
fn read_body(response: Response, max: usize) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    response.take(limit).read_to_end(&mut body).map_err(|error| {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<reqwest::Error>()) {
            Some(error) => fault(error),
            None if error.kind() == io::ErrorKind::TimedOut => {
                Fault::new(FaultKind::TimedOut, error.to_string())
            }
            None => Fault::new(FaultKind::Network, error.to_string()),
        }
    })?;
    Ok(body)
}
