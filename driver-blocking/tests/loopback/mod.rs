//! A server on a loopback port that does as a script says, and tells what it saw.

#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]

mod nobody;

pub(crate) use nobody::Nobody;

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// What the server does with one request.
pub(crate) enum Act {
    /// Sends these bytes and waits for the next request.
    Answer(Vec<u8>),
    /// Sends these bytes and closes the connection.
    AnswerAndClose(Vec<u8>),
    /// Sends these bytes, then one more each 20 ms until the client has had enough.
    Dribble(Vec<u8>),
    /// Says nothing until the client has had enough.
    Hang,
}

/// A request as it came over the wire.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Counts connections.
    pub(crate) connection: usize,
    pub(crate) request_line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

type Script = Arc<dyn Fn(&Seen) -> Act + Send + Sync>;

/// A running server; dropping it closes every connection and waits for its threads.
pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
    accepting: Option<JoinHandle<()>>,
    stop: Sender<()>,
}

impl Server {
    /// Starts a server that looks up what to do with each request.
    pub(crate) fn start(script: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sockets = Arc::new(Mutex::new(Vec::new()));
        let (stop, stopped) = mpsc::channel();
        let script: Script = Arc::new(script);
        let accepting = {
            let (seen, sockets) = (Arc::clone(&seen), Arc::clone(&sockets));
            thread::spawn(move || {
                let mut serving = Vec::new();
                for (connection, stream) in listener.incoming().enumerate() {
                    let Ok(stream) = stream else { break };
                    if stopped.try_recv().is_ok() {
                        break;
                    }
                    sockets
                        .lock()
                        .expect("no panic in the server")
                        .push(stream.try_clone().expect("a handle"));
                    let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                    serving.push(thread::spawn(move || serve(connection, &stream, &seen, &script)));
                }
                for thread in serving {
                    thread.join().expect("no panic in the server");
                }
            })
        };
        Self { address, seen, sockets, accepting: Some(accepting), stop }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the requests so far, in the order in which their heads were complete.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic in the server").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.send(()).ok();
        // Wakes the accepting thread.
        TcpStream::connect(self.address).ok();
        for socket in self.sockets.lock().expect("no panic in the server").iter() {
            socket.shutdown(Shutdown::Both).ok();
        }
        if let Some(accepting) = self.accepting.take() {
            let joined = accepting.join();
            assert!(thread::panicking() || joined.is_ok(), "no panic in the server");
        }
    }
}

fn serve(connection: usize, stream: &TcpStream, seen: &Mutex<Vec<Seen>>, script: &Script) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(connection, &mut reader) {
        let act = script(&request);
        seen.lock().expect("no panic in the server").push(request);
        let mut writer = stream;
        match act {
            Act::Answer(bytes) => {
                if writer.write_all(&bytes).is_err() {
                    return;
                }
            }
            Act::AnswerAndClose(bytes) => {
                writer.write_all(&bytes).ok();
                stream.shutdown(Shutdown::Both).ok();
                return;
            }
            Act::Dribble(bytes) => {
                writer.write_all(&bytes).ok();
                let (_keep, pace) = mpsc::channel::<()>();
                while pace.recv_timeout(Duration::from_millis(20)).is_err() && writer.write_all(b"x").is_ok()
                {
                }
                return;
            }
            Act::Hang => {
                reader.read_to_end(&mut Vec::new()).ok();
                return;
            }
        }
    }
}

fn read_request(connection: usize, reader: &mut BufReader<&TcpStream>) -> Option<Seen> {
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
        Some(line.trim_end().to_owned())
    };
    let request_line = line()?;
    let mut headers = Vec::new();
    loop {
        let line = line()?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ")?;
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let mut seen = Seen { connection, request_line, headers, body: Vec::new() };
    let length = seen.header("content-length").map_or(0, |length| length.parse().expect("a number"));
    seen.body = vec![0; length];
    reader.read_exact(&mut seen.body).ok()?;
    Some(seen)
}

/// Spells an answer with its length.
pub(crate) fn answer(status: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status}\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
    text.into_bytes()
}
