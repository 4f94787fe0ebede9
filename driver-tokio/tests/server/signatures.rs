//! Every kind of request that is ever sent has the signature that the provider's own code finds, over a socket.

use core::num::NonZeroU32;
use core::time::Duration;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use tenure_blocking::clock;
use tenure_core::{
    AttemptId, CellId, ETag, Guard, Key, ListId, ListOp, NodeId, Op, ReadId, ReadOp, RemoveId, RemoveOp,
    WriteOp,
};
use tenure_s3::{Bucket, Checksum, Credentials, Dialect, IfMatch, Settings, Signer, Style};
use tenure_sim::server::{Claim, Expected, Keys, Options, Server, Verify};
use tenure_sim::{Choices, Prng};

use crate::aws::Aws;
use crate::both::{ACCESS_KEY, SECRET, start};

const TIMEOUT: Duration = Duration::from_secs(10);

#[test]
fn ten_thousand_random_requests_are_signed_as_the_provider_signs() {
    let server = start(Options { keeps_history: false, ..Options::default() });
    let mut link = Link::to(&server);
    let mut draw = Draw(Prng::new(4));
    for round in 0..10_000 {
        let (bucket, credentials) = (draw.bucket(&server), draw.credentials());
        let op = draw.op();
        let status = link.send(&mut Signer::new(bucket, credentials), &op, |_| ());
        assert!(matches!(status, 200 | 204 | 404 | 412), "round {round}: {status} for {op:?}");
    }
}

/// The server's own arithmetic, which `tenure dev-store` uses, is no other.
#[test]
fn the_server_s_own_verifier_agrees_with_the_provider_s() {
    #[derive(Debug)]
    struct Agree(Aws, Keys);
    impl Verify for Agree {
        fn expect(&self, claim: &Claim<'_>) -> Expected {
            let theirs = self.0.expect(claim);
            assert_eq!(self.1.expect(claim), theirs, "{claim:?}");
            theirs
        }
    }
    let keys = Keys::new(ACCESS_KEY, SECRET, None);
    let verify = Agree(Aws { access_key: ACCESS_KEY, secret: SECRET }, keys);
    let server =
        Server::start(Options { verify: Some(Arc::new(verify)), ..Options::default() }).expect("a port");
    let mut link = Link::to(&server);
    let mut draw = Draw(Prng::new(5));
    for _ in 0..500 {
        let bucket = draw.bucket(&server);
        let credentials = Credentials::new(ACCESS_KEY, SECRET, None).expect("legal");
        let op = draw.op();
        assert_ne!(link.send(&mut Signer::new(bucket, credentials), &op, |_| ()), 403, "{op:?}");
    }
}

/// A signature that could not fail would prove nothing.
#[test]
fn a_request_that_was_changed_on_its_way_is_refused() {
    type Change = fn(&mut String);
    let changes: [(&str, Change, u16); 7] = [
        ("the guard", |head| *head = head.replace("if-none-match: *", "if-match: x"), 403),
        ("the guard is gone", |head| *head = head.replace("if-none-match: *\r\n", ""), 403),
        ("the key", |head| *head = head.replacen("/own.json", "/own.jsom", 1), 403),
        ("the host", |head| *head = head.replace("host: ", "host: x"), 403),
        ("the token is not signed", |head| *head = head.replace(";x-amz-security-token", ""), 403),
        ("the token", |head| *head = head.replace("security-token: t", "security-token: u"), 403),
        ("the body's digest", |head| *head = head.replace("content-sha256: ", "content-sha256: 0"), 403),
    ];
    let server = start(Options::default());
    let mut draw = Draw(Prng::new(6));
    for (what, change, status) in changes {
        let credentials = Credentials::new(ACCESS_KEY, SECRET, Some("token")).expect("legal");
        let mut signer = Signer::new(draw.bucket(&server), credentials);
        let op = draw.create();
        let mut link = Link::to(&server);
        assert_eq!(link.send(&mut signer, &op, change), status, "{what}");
        assert_eq!(link.send(&mut signer, &op, |_| ()), 200, "unchanged: {what}");
    }
}

/// One connection, on which requests go out as they were signed.
struct Link {
    stream: TcpStream,
    answers: BufReader<TcpStream>,
}

impl Link {
    fn to(server: &Server) -> Self {
        let stream = TcpStream::connect(server.address()).expect("it listens");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a socket");
        let answers = BufReader::new(stream.try_clone().expect("a handle"));
        Self { stream, answers }
    }

    /// Sends one operation, with its head changed, and returns the status of the answer.
    fn send(&mut self, signer: &mut Signer, op: &Op, change: impl Fn(&mut String)) -> u16 {
        let mut buf = Vec::new();
        let request = signer.request(op, clock::wall(), &mut buf);
        let after_scheme = request.url.split_once("://").expect("absolute").1;
        let target = &after_scheme[after_scheme.find('/').expect("a path")..];
        let mut head = format!("{} {target} HTTP/1.1\r\n", request.method.as_str());
        for (name, value) in request.headers.iter() {
            head += &format!("{name}: {}\r\n", core::str::from_utf8(value).expect("text"));
        }
        if !request.body.is_empty() {
            head += &format!("content-length: {}\r\n", request.body.len());
        }
        change(&mut head);
        let bytes = [head.as_bytes(), b"\r\n", request.body].concat();
        self.stream.write_all(&bytes).expect("sent");
        self.answer()
    }

    fn answer(&mut self) -> u16 {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer");
        let status = line.split(' ').nth(1).expect("a status").parse().expect("a number");
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.answers.read_line(&mut line).expect("a head");
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.parse().expect("a number");
            }
        }
        self.answers.read_exact(&mut vec![0; length]).expect("the body");
        status
    }
}

/// Draws what can be part of a request.
struct Draw(Prng);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0.below(NonZeroU32::new(u32::try_from(bound).expect("small")).expect("not zero")) as usize
    }

    fn text(&mut self, alphabet: &str, least: usize, most: usize) -> String {
        let length = least + self.below(most - least + 1);
        let alphabet = alphabet.as_bytes();
        (0..length).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect()
    }

    /// The bucket has one name, as the server knows it; all else is drawn.
    fn bucket(&mut self, server: &Server) -> Bucket {
        let prefix: Vec<String> =
            (0..self.below(4)).map(|_| format!("{}x", self.text("abXY019_.-", 0, 12))).collect();
        let (style, host) = match self.below(2) {
            0 => (Style::Path, "127.0.0.1"),
            _ => (Style::VirtualHost, "localhost"),
        };
        let region = Some(format!("r{}", self.text("abcxyz019-", 0, 20)));
        let endpoint = Some(format!("http://{host}:{}", server.address().port()));
        let checksum = [None, Some(Checksum::Crc32), Some(Checksum::Crc32c)][self.below(3)];
        let if_match = [None, Some(IfMatch::Bare)][self.below(2)];
        let settings =
            Settings { endpoint, region, dialect: Dialect { checksum, if_match, style: Some(style) } };
        let url = format!("s3://tenure/{}", prefix.join("/"));
        Bucket::parse(&url, &settings).unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    fn credentials(&mut self) -> Credentials {
        let graphic: String = (b'!'..=b'~').map(char::from).collect();
        let token = self.text(&graphic, 1, 300);
        let token = Some(token.as_str()).filter(|_| self.below(2) == 0);
        Credentials::new(ACCESS_KEY, SECRET, token).expect("legal")
    }

    fn key(&mut self) -> Key {
        const NAME: &str = "abXY019_.:$-";
        match self.below(4) {
            0 => Key::probe(self.below(1 << 20) as u64),
            1 => Key::lease(&NodeId::parse(&format!("{}.1", self.text("abXY019_-", 1, 40))).expect("legal")),
            _ => {
                // A name of dots only is none.
                let cell = format!("c{}", self.text(NAME, 0, 254));
                Key::owner(&CellId::new(cell.as_str()).expect("legal"))
            }
        }
    }

    fn tag(&mut self) -> ETag {
        let tag = self.text("abcdef019 -/W\"", 1, 40);
        ETag::new(format!("\"{tag}\"").as_bytes()).expect("not empty")
    }

    fn create(&mut self) -> Op {
        let key =
            Key::owner(&CellId::new(format!("c{}", self.text("abXY019", 20, 40)).as_str()).expect("legal"));
        self.write(key, Guard::Absent)
    }

    fn write(&mut self, key: Key, guard: Guard) -> Op {
        let body = self.text("{}\":,abc019 ", 1, 400).into_bytes();
        Op::Write(WriteOp { id: AttemptId::new(1), key, guard, body: body.into(), timeout: TIMEOUT })
    }

    fn op(&mut self) -> Op {
        let key = self.key();
        match self.below(6) {
            0 => self.write(key, Guard::Absent),
            1 => {
                let guard = Guard::Match(self.tag());
                self.write(key, guard)
            }
            2 => Op::Read(ReadOp { id: ReadId::new(1), key, unless: None, timeout: TIMEOUT }),
            3 => {
                let unless = Some(self.tag());
                Op::Read(ReadOp { id: ReadId::new(1), key, unless, timeout: TIMEOUT })
            }
            4 => Op::Remove(RemoveOp { id: RemoveId::new(1), key, timeout: TIMEOUT }),
            _ => {
                let prefix = if self.below(2) == 0 { Key::LEASES } else { Key::OWNERS };
                let token = self.text("abXY019 /+=&%?_.:$-", 1, 100);
                let after = Some(token.into()).filter(|_| self.below(2) == 0);
                Op::List(ListOp { id: ListId::new(1), prefix: prefix.into(), after, timeout: TIMEOUT })
            }
        }
    }
}
