//! The plainest client there is: bytes out, bytes in, so that nothing stands between a test and the server.

use core::time::Duration;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use tenure_sim::server::{Options, Server};

pub(crate) fn start() -> Server {
    Server::start(Options::default()).expect("a loopback port")
}

/// An answer, as far as it came.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn etag(&self) -> &str {
        self.header("etag").expect("a tag")
    }

    /// Returns the text of the first XML element of this name.
    pub(crate) fn element(&self, name: &str) -> Option<&str> {
        let (_, rest) = self.body.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0)
    }

    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }
}

/// Spells a request that asks for the connection to be closed afterwards.
pub(crate) fn request(line: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{line} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    if !body.is_empty() {
        text += &format!("Content-Length: {}\r\n", body.len());
    }
    text + "\r\n" + body
}

pub(crate) fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
    stream
}

/// Sends one request on a connection of its own and returns all that came back.
pub(crate) fn raw(server: &Server, text: &str) -> String {
    let mut stream = connect(server);
    stream.write_all(text.as_bytes()).expect("it can be sent");
    read_all(&mut stream)
}

/// Reads until the server closes, or breaks.
pub(crate) fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(more) => bytes.extend_from_slice(&buffer[..more]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error}"),
        }
    }
    String::from_utf8(bytes).expect("answers are text")
}

/// Tells whether nothing comes back within this time on a connection that stays open.
pub(crate) fn is_silent(stream: &mut TcpStream, within: Duration) -> bool {
    stream.set_read_timeout(Some(within)).expect("a time-out");
    let error = stream.read_exact(&mut [0]).err();
    error.is_some_and(|error| matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock))
}

pub(crate) fn ask(server: &Server, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    Answer::parse(&raw(server, &request(line, headers, body)))
}

pub(crate) fn put(server: &Server, key: &str, guard: (&str, &str), body: &str) -> Answer {
    ask(server, &format!("PUT /tenure/{key}"), &[guard], body)
}

pub(crate) fn create(server: &Server, key: &str, body: &str) -> Answer {
    put(server, key, ("If-None-Match", "*"), body)
}

pub(crate) fn get(server: &Server, key: &str) -> Answer {
    ask(server, &format!("GET /tenure/{key}"), &[], "")
}

/// Returns the current bytes of a key, from the store itself.
pub(crate) fn stored(server: &Server, key: &str) -> Option<String> {
    let store = server.store();
    store.current(key).map(|body| String::from_utf8(body.to_vec()).expect("text"))
}

/// Blocks until the store has these bytes under the key.
pub(crate) fn await_stored(server: &Server, key: &str, body: &str) {
    await_that(server, || stored(server, key).as_deref() == Some(body));
}

/// Blocks until something is so, which cannot take long.
pub(crate) fn await_that(server: &Server, is_so: impl Fn() -> bool) {
    let latest = server.now().after(Duration::from_secs(20));
    while !is_so() {
        assert!(server.now() < latest, "it does not come about");
        server.wait_until(server.now().after(Duration::from_millis(1)));
    }
}

/// Says that no more will be sent, and drops the connection.
pub(crate) fn hang_up(stream: &TcpStream) {
    stream.shutdown(Shutdown::Both).expect("it was open");
}
