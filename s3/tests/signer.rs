//! What a signer learns from answers: the store's time, and that credentials were replaced.

use core::time::Duration;

use tenure_core::{
    AttemptId, CellId, FaultKind, Guard, Key, Op, ReadId, ReadOp, ReadReply, Reply, WallTime, WriteOp,
    WriteReply,
};
use tenure_s3::{
    Bucket, Credentials, Response, ResponseHeaders, Settings, SignedAt, Signer, unanswered, unsent,
};

const TIMEOUT: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
const SUNDAY: WallTime = WallTime::from_millis(784_111_777_000);
const SUNDAY_TEXT: &[u8] = b"Sun, 06 Nov 1994 08:49:37 GMT";
const SUNDAY_AMZ: &[u8] = b"19941106T084937Z";

fn signer() -> Signer {
    let settings = Settings { endpoint: Some("http://h".into()), ..Settings::default() };
    let bucket = Bucket::parse("s3://bkt", &settings).expect("a legal address");
    Signer::new(bucket, Credentials::new("AK", "SK", None).expect("legal"))
}

fn write() -> Op {
    let key = Key::owner(&CellId::new("a").expect("legal"));
    Op::Write(WriteOp {
        id: AttemptId::new(1),
        key,
        guard: Guard::Absent,
        body: (*b"{}").into(),
        timeout: TIMEOUT,
    })
}

fn read() -> Op {
    let key = Key::owner(&CellId::new("a").expect("legal"));
    Op::Read(ReadOp { id: ReadId::new(1), key, unless: None, timeout: TIMEOUT })
}

/// Signs a write on a machine whose clock says `at`; returns what the signature says.
fn sign(signer: &mut Signer, at: WallTime) -> (SignedAt, Vec<u8>) {
    let mut buf = Vec::new();
    let op = write();
    let request = signer.request(&op, at, &mut buf);
    let date = request.headers.iter().find(|(name, _)| *name == "x-amz-date").expect("dated").1.to_vec();
    (request.signed_at, date)
}

fn refuse(signer: &mut Signer, op: &Op, signed_at: SignedAt, code: &str, date: Option<&[u8]>) -> Reply {
    let body = format!("<Error><Code>{code}</Code><ServerTime>1994-11-06T08:49:37Z</ServerTime></Error>");
    let headers = ResponseHeaders { date, ..ResponseHeaders::default() };
    signer.reply(op, signed_at, &Response { status: 403, headers, body: body.as_bytes() })
}

fn is_not_applied(reply: &Reply) -> bool {
    matches!(reply, Reply::Write(WriteReply::NotApplied(_)))
}

fn is_refused(reply: &Reply) -> bool {
    matches!(reply, Reply::Write(WriteReply::Refused(_)))
}

#[test]
fn a_skewed_signature_teaches_the_store_s_time_whichever_way_the_clock_is_off() {
    for at in [SUNDAY.after(HOUR), SUNDAY.before(HOUR)] {
        for date in [Some(SUNDAY_TEXT), None] {
            let mut signer = signer();
            let (signed_at, _) = sign(&mut signer, at);
            assert!(is_not_applied(&refuse(&mut signer, &write(), signed_at, "RequestTimeTooSkewed", date)));
            assert_eq!(signer.clock_error(), HOUR);
            assert_eq!(sign(&mut signer, at).1, SUNDAY_AMZ);
            // Ten seconds later on our clock it is ten seconds later in the signature.
            let later = sign(&mut signer, at.after(Duration::from_secs(10))).1;
            assert_eq!(later, b"19941106T084947Z");
        }
    }
}

#[test]
fn a_read_that_taught_the_time_fails_and_is_left_to_the_engine() {
    let mut signer = signer();
    let (signed_at, _) = sign(&mut signer, SUNDAY.after(HOUR));
    let reply = refuse(&mut signer, &read(), signed_at, "RequestTimeTooSkewed", Some(SUNDAY_TEXT));
    // Not `Denied`, which would say that asking again is of no use.
    let Reply::Read(ReadReply::Failed(fault)) = reply else { panic!("{reply:?}") };
    assert_eq!(fault.kind, FaultKind::Unavailable);
    assert_eq!(signer.clock_error(), HOUR);
}

#[test]
fn a_store_that_refuses_its_own_time_is_not_asked_for_ever() {
    let mut signer = signer();
    let (signed_at, _) = sign(&mut signer, SUNDAY.after(HOUR));
    assert!(is_not_applied(&refuse(
        &mut signer,
        &write(),
        signed_at,
        "RequestTimeTooSkewed",
        Some(SUNDAY_TEXT)
    )));
    let (signed_at, _) = sign(&mut signer, SUNDAY.after(HOUR));
    assert!(is_refused(&refuse(&mut signer, &write(), signed_at, "RequestTimeTooSkewed", Some(SUNDAY_TEXT))));
}

#[test]
fn two_requests_in_flight_learn_the_same_time() {
    let mut signer = signer();
    let (first, _) = sign(&mut signer, SUNDAY.after(HOUR));
    let (second, _) = sign(&mut signer, SUNDAY.after(HOUR));
    for signed_at in [first, second] {
        assert!(is_not_applied(&refuse(
            &mut signer,
            &write(),
            signed_at,
            "RequestTimeTooSkewed",
            Some(SUNDAY_TEXT)
        )));
        assert_eq!(signer.clock_error(), HOUR);
    }
}

#[test]
fn a_clock_that_is_set_right_later_is_learned_again() {
    let mut signer = signer();
    let (signed_at, _) = sign(&mut signer, SUNDAY.after(HOUR));
    refuse(&mut signer, &write(), signed_at, "RequestTimeTooSkewed", Some(SUNDAY_TEXT));
    // The operator sets the clock: signatures are now an hour early, and the store says so again.
    let (signed_at, _) = sign(&mut signer, SUNDAY);
    assert!(is_not_applied(&refuse(
        &mut signer,
        &write(),
        signed_at,
        "RequestTimeTooSkewed",
        Some(SUNDAY_TEXT)
    )));
    assert_eq!(signer.clock_error(), Duration::ZERO);
}

#[test]
fn no_other_refusal_moves_the_time() {
    let mut signer = signer();
    let (signed_at, _) = sign(&mut signer, SUNDAY.after(HOUR));
    assert!(is_refused(&refuse(&mut signer, &write(), signed_at, "AccessDenied", Some(SUNDAY_TEXT))));
    assert_eq!(signer.clock_error(), Duration::ZERO);
}

#[test]
fn bl_11_an_expired_token_may_be_sent_again_only_after_new_credentials() {
    let mut signer = signer();
    let (signed_at, _) = sign(&mut signer, SUNDAY);
    assert!(is_refused(&refuse(&mut signer, &write(), signed_at, "ExpiredToken", Some(SUNDAY_TEXT))));
    signer.replace_credentials(Credentials::new("AK2", "SK2", Some("t")).expect("legal"));
    assert!(is_not_applied(&refuse(&mut signer, &write(), signed_at, "ExpiredToken", Some(SUNDAY_TEXT))));
    // A request signed with the new ones has nothing left to hope for.
    let (signed_at, _) = sign(&mut signer, SUNDAY);
    assert!(is_refused(&refuse(&mut signer, &write(), signed_at, "ExpiredToken", Some(SUNDAY_TEXT))));
}

#[test]
fn new_credentials_sign_with_their_own_key_on_the_same_day() {
    let authorization = |signer: &mut Signer| {
        let (mut buf, op) = (Vec::new(), write());
        let request = signer.request(&op, SUNDAY, &mut buf);
        request.headers.iter().find(|(name, _)| *name == "authorization").expect("signed").1.to_vec()
    };
    let mut replaced = signer();
    authorization(&mut replaced);
    replaced.replace_credentials(Credentials::new("AK", "other", None).expect("legal"));
    assert_ne!(authorization(&mut replaced), authorization(&mut signer()));
}

#[test]
fn only_a_request_that_never_left_is_known_not_to_be_applied() {
    let fault = || tenure_core::Fault::new(FaultKind::Network, "broke");
    assert!(is_not_applied(&unsent(&write(), fault())));
    assert!(matches!(unanswered(&write(), fault()), Reply::Write(WriteReply::Unknown(_))));
    for reply in [unsent(&read(), fault()), unanswered(&read(), fault())] {
        assert!(matches!(reply, Reply::Read(ReadReply::Failed(_))));
    }
}
