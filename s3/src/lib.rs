//! S3's dialect of Tenure's store: signed requests out, replies in, no sockets and no clock.
//!
//! A [`Bucket`] and [`Credentials`] make a [`Signer`]. For each operation it gives a [`Request`] of plain
//! values for any HTTP client, and turns the client's [`Response`] into the operation's one reply. It never
//! retries and never follows: what a reply means is the engine's business.
//!
//! ```
//! use tenure_core::{CellId, Key, Op, ReadId, ReadOp, Reply, ReadReply, WallTime};
//! use tenure_s3::{Bucket, Credentials, Response, ResponseHeaders, Settings, Signer};
//!
//! let settings = Settings { endpoint: Some("http://127.0.0.1:9000".into()), ..Settings::default() };
//! let bucket = Bucket::parse("s3://my-bucket/prod", &settings)?;
//! let mut signer = Signer::new(bucket, Credentials::new("AKIDEXAMPLE", "secret", None)?);
//!
//! let key = Key::owner(&CellId::new("orders:42")?);
//! let timeout = core::time::Duration::from_secs(1);
//! let op = Op::Read(ReadOp { id: ReadId::new(1), key, unless: None, timeout });
//! let mut buf = Vec::new();
//! let request = signer.request(&op, WallTime::from_millis(1_764_400_000_000), &mut buf);
//! assert_eq!(request.url, "http://127.0.0.1:9000/my-bucket/prod/cells/orders%3A42/own.json");
//!
//! // An HTTP client sends it and reads the answer to its end.
//! let body = br#"<Error><Code>NoSuchKey</Code></Error>"#;
//! let response = Response { status: 404, headers: ResponseHeaders::default(), body };
//! let signed_at = request.signed_at;
//! assert_eq!(signer.reply(&op, signed_at, &response), Reply::Read(ReadReply::Missing));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to decide | read |
//! | --- | --- |
//! | which URLs a store's address means | [`Bucket`], [`Settings`] |
//! | in what stores differ | [`Dialect`] |
//! | what is signed, and how | [`Signer`], [`Request`] |
//! | where credentials come from, and when they are fetched anew | [`Credentials`], [`Profile`], [`Provider`] |
//! | how long to wait, how much to read, what to say without an answer | [`timeout`], [`reply_max`], [`unsent`], [`unanswered`] |
//! | what the bucket is, beside its objects | [`Question`], [`Said`] |
//! | what an answer means | [`read_reply`], [`write_reply`], [`list_reply`], [`remove_reply`] |

mod advice;
mod bucket;
mod checksum;
mod credentials;
mod dialect;
mod encode;
mod endpoint;
mod explain;
mod list;
mod op;
mod profile;
mod provider;
mod request;
mod response;
mod signer;
mod sigv4;
mod stamp;
mod survey;
mod xml;

pub use bucket::{Bucket, BucketError, KEY_MAX, Setting, Settings, prefix};
pub use credentials::{Credentials, CredentialsError};
pub use dialect::{Checksum, Dialect, IfMatch, Style};
pub use endpoint::is_local;
pub use op::{
    LIST_MAX, REPLY_MAX, is_lease, is_too_long, reply_max, timeout, unanswered, unsendable, unsent,
};
pub use profile::Profile;
pub use provider::{Issued, Provider, refresh_after, retry_after_failures};
pub use request::{Headers, Method, Request};
pub use response::{About, Response, ResponseHeaders, list_reply, read_reply, remove_reply, write_reply};
pub use signer::{SignedAt, Signer};
pub use survey::{Question, Rule, Said};
