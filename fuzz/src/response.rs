//! Any answer to any operation: reading it never panics, and no answer is taken for more than it proves.
//!
//! An input is the operation, then the answer:
//!
//! ```text
//! write match "tag"        or: write absent, read ["tag"], list [token], remove
//! 404
//! x-amz-request-id: 17
//!
//! <Error><Code>NoSuchKey</Code></Error>
//! ```

use std::collections::BTreeMap;

use tenure_core::{
    CellId, Fault, Guard, Key, ListOp, ListReply, Op, ReadOp, ReadReply, RemoveReply, Reply, WallTime,
    WriteOp, WriteReply,
};
use tenure_s3::{Bucket, Credentials, Response, ResponseHeaders, Settings, Signer};

use crate::sigv4::operation;
use crate::text::{Lines, header_value};

/// Reads the answer that the input describes.
///
/// # Panics
/// If it panics, or is taken for more than it proves.
pub fn check(input: &[u8]) {
    let mut lines = Lines::new(input);
    let key = Key::owner(&CellId::new("orders:42").expect("a legal name"));
    let op = operation(lines.line(), key, b"{}");
    let status = lines.text().trim().parse().unwrap_or_default();
    let mut headers: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    loop {
        let line = lines.line();
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { break };
        let name = String::from_utf8_lossy(&line[..colon]).to_ascii_lowercase();
        headers.insert(name, header_value(&line[colon + 1..]));
    }
    let headers = ResponseHeaders::collect(|name| headers.get(name).map(Vec::as_slice));
    let response = Response { status, headers, body: lines.rest() };

    let settings = Settings { endpoint: Some("http://h:9000".into()), ..Settings::default() };
    let bucket = Bucket::parse("s3://bkt/p", &settings).expect("legal settings");
    let credentials = Credentials::new("AKID", "s3cr3t", Some("t0k3n")).expect("legal credentials");
    let mut signer = Signer::new(bucket, credentials);
    let mut buf = Vec::new();
    let signed_at = signer.request(&op, NOW, &mut buf).signed_at;
    for replaced in [false, true] {
        if replaced {
            signer.replace_credentials(Credentials::new("B", "s3cr3t", None).expect("legal credentials"));
        }
        let reply = signer.reply(&op, signed_at, &response);
        judge(&op, &response, &reply);
    }
    // Whatever time the answer made the signer believe in.
    let _ = signer.request(&op, NOW, &mut buf);
}

fn judge(op: &Op, response: &Response<'_>, reply: &Reply) {
    match (op, reply) {
        (Op::List(op), Reply::List(reply)) => list(op, response, reply),
        (Op::Read(op), Reply::Read(reply)) => read(op, response, reply),
        (Op::Remove(_), Reply::Remove(RemoveReply::Failed(why))) => explained(why),
        (Op::Remove(_), Reply::Remove(RemoveReply::Removed)) => {
            assert!(matches!(response.status, 200..=299 | 404), "{reply:?}");
        }
        (Op::Write(op), Reply::Write(reply)) => write(op, response, reply),
        (Op::List(_) | Op::Read(_) | Op::Remove(_) | Op::Write(_), _) => {
            panic!("{reply:?} does not answer {op:?}");
        }
    }
}

fn write(op: &WriteOp, response: &Response<'_>, reply: &WriteReply) {
    let status = response.status;
    let promised_success = matches!(status, 200..=299);
    match reply {
        WriteReply::Applied { etag } => {
            assert!(promised_success, "{status} applies nothing");
            assert_eq!(response.headers.etag, Some(etag.as_bytes()), "a tag is echoed verbatim");
        }
        // Only a store that judged the guard can have rejected it.
        WriteReply::Rejected => {
            let object_gone = status == 404 && matches!(op.guard, Guard::Match(_));
            assert!(status == 412 || object_gone, "{status} is no judgement of {:?}", op.guard);
        }
        WriteReply::Conflict => assert_eq!(status, 409),
        WriteReply::Throttled { .. } => assert!(matches!(status, 429 | 503), "{status}"),
        WriteReply::NotApplied(why) | WriteReply::Refused(why) => {
            explained(why);
            let may_be_done = promised_success || matches!(status, 100..=199 | 304 | 408 | 500 | 502..=599);
            assert!(!may_be_done, "{status} does not prove that nothing was written: {reply:?}");
        }
        WriteReply::Unknown(why) => explained(why),
    }
}

fn read(op: &ReadOp, response: &Response<'_>, reply: &ReadReply) {
    match reply {
        ReadReply::Failed(why) => explained(why),
        ReadReply::Found { etag, body, stamps } => {
            assert_eq!(response.status, 200);
            assert_eq!(response.headers.etag, Some(etag.as_bytes()), "a tag is echoed verbatim");
            assert_eq!(&**body, response.body, "a body is handed on as it came");
            assert!(stamps.modified.is_none() || response.headers.last_modified.is_some());
            assert!(stamps.date.is_none() || response.headers.date.is_some());
        }
        ReadReply::Missing => assert_eq!(response.status, 404),
        ReadReply::Throttled { .. } => assert!(matches!(response.status, 429 | 503)),
        ReadReply::Unchanged(_) => assert!(response.status == 304 && op.unless.is_some()),
    }
}

fn list(op: &ListOp, response: &Response<'_>, reply: &ListReply) {
    match reply {
        ListReply::Failed(why) => explained(why),
        ListReply::Page(page) => {
            assert_eq!(response.status, 200);
            assert!(page.next.is_none() || page.next != op.after, "a listing goes on");
            for entry in &page.entries {
                assert!(entry.key.starts_with(&*op.prefix), "{:?} was not asked for", entry.key);
                let tag = entry.etag.as_ref().map(tenure_core::ETag::as_bytes);
                assert!(tag.is_none_or(|tag| header_value(tag) == tag), "{tag:?} cannot be echoed");
            }
        }
        ListReply::Throttled { .. } => assert!(matches!(response.status, 429 | 503)),
    }
}

/// What people are shown is short and on one line.
fn explained(why: &Fault) {
    let text = why.to_string();
    assert!(text.len() <= 4000, "{} bytes of explanation", text.len());
    assert!(!text.chars().any(char::is_control), "{text:?}");
}

const NOW: WallTime = WallTime::from_millis(1_764_400_000_000);
