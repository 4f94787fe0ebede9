//! An authority, a server that speaks TLS, and a proxy, each as small as a test can do with.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::fs;
use std::io::{self, BufReader, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::listen;

const STORED: &str = "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 0\r\n\r\n";

/// A certificate authority of its own, whose certificate lies in a file.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    path: PathBuf,
    text: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let mut params = CertificateParams::new([]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer =
            CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("signed");
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tenure-tls-{}-{number}.pem", std::process::id()));
        fs::write(&path, issuer.pem()).expect("a file");
        let text = path.display().to_string();
        Self { issuer, path, text }
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &str {
        &self.text
    }

    /// Issues a certificate for a name.
    pub(crate) fn certificate(&self, name: &str) -> ServerConfig {
        self.issue(CertificateParams::new([name.to_owned()]).expect("a name"))
    }

    /// Issues a certificate that is no longer valid.
    pub(crate) fn expired(&self, name: &str) -> ServerConfig {
        let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
        (params.not_before, params.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
        self.issue(params)
    }

    fn issue(&self, params: CertificateParams) -> ServerConfig {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("signed");
        let chain: Vec<CertificateDer<'static>> = vec![certificate.der().clone()];
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("a certificate")
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

/// A server that stores whatever it is sent, over TLS.
pub(crate) struct Server {
    listening: Listening,
    requests: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn start(config: ServerConfig) -> Self {
        let (config, requests) = (Arc::new(config), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&requests);
        let listening = Listening::start(move |stream| {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a good configuration");
            let mut tls = BufReader::new(StreamOwned::new(connection, stream));
            // A handshake that the client breaks off is what half of the tests are about.
            while read_head(&mut tls).is_some_and(|head| read_body(&mut tls, &head)) {
                counted.fetch_add(1, Ordering::Relaxed);
                if tls.get_mut().write_all(STORED.as_bytes()).is_err() {
                    break;
                }
            }
        });
        Self { listening, requests }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.listening.address
    }

    /// Returns how many requests came whole.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

/// What a proxy does with each request.
pub(crate) enum Verdict {
    /// Answers with this status, and the tag of a write that was stored.
    Answer(&'static str),
    /// Speaks before it is asked, as no server with TLS does.
    Chatter,
    /// Closes the connection.
    Hangup,
    /// As [`Verdict::Answer`] of 200 to whoever sends this password, else of 407.
    Password(&'static str),
    /// Says yes, and hands on all bytes to and from this address, whatever was asked for.
    Tunnel(SocketAddr),
}

/// An HTTP proxy.
pub(crate) struct Proxy {
    listening: Listening,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    pub(crate) fn start(verdict: Verdict) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        let listening = Listening::start(move |mut stream| {
            if matches!(verdict, Verdict::Chatter) {
                stream.write_all(b"220 mail.example ESMTP, at your service\r\n").ok();
                return;
            }
            let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
            let Some(head) = read_head(&mut reader) else { return };
            noted.lock().expect("no panic in the proxy").push(head[0].clone());
            match verdict {
                Verdict::Answer(status) => {
                    read_body(&mut reader, &head);
                    stream.write_all(STORED.replace("200 OK", status).as_bytes()).ok();
                }
                Verdict::Chatter | Verdict::Hangup => {}
                Verdict::Password(password) => {
                    read_body(&mut reader, &head);
                    let expected = format!("proxy-authorization: {password}").to_ascii_lowercase();
                    let is_known = head.iter().any(|line| line.to_ascii_lowercase() == expected);
                    let status = if is_known { "200 OK" } else { "407 Proxy Authentication Required" };
                    stream.write_all(STORED.replace("200 OK", status).as_bytes()).ok();
                }
                Verdict::Tunnel(address) => {
                    stream
                        .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                        .expect("the client waits");
                    tunnel(stream, address);
                }
            }
        });
        Self { listening, seen }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.listening.address
    }

    /// Returns the request lines so far.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("no panic in the proxy").clone()
    }
}

fn tunnel(client: TcpStream, address: SocketAddr) {
    let server = TcpStream::connect(address).expect("the server listens");
    let (mut from, mut to) = (client.try_clone().expect("a handle"), server.try_clone().expect("a handle"));
    let up = thread::spawn(move || {
        io::copy(&mut from, &mut to).ok();
        to.shutdown(Shutdown::Write).ok();
    });
    let (mut from, mut to) = (server, client);
    io::copy(&mut from, &mut to).ok();
    to.shutdown(Shutdown::Both).ok();
    up.join().expect("no panic in the tunnel");
}

/// A port that is listened on; dropping it closes every connection and waits for its threads.
struct Listening {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
    accepting: Option<JoinHandle<()>>,
}

impl Listening {
    fn start(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = listen();
        let address = listener.local_addr().expect("bound");
        let (stop, sockets) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (stopped, held, serve) = (Arc::clone(&stop), Arc::clone(&sockets), Arc::new(serve));
        let accepting = thread::spawn(move || {
            let mut serving = Vec::new();
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let stream = stream.expect("a connection");
                let handle = || stream.try_clone().expect("a handle");
                held.lock().expect("no panic while it is held").push(handle());
                let (serve, done) = (Arc::clone(&serve), handle());
                serving.push(thread::spawn(move || {
                    serve(stream);
                    // The handles that are held would keep it open.
                    done.shutdown(Shutdown::Both).ok();
                }));
            }
            for thread in serving {
                thread.join().expect("no panic in the server");
            }
        });
        Self { address, stop, sockets, accepting: Some(accepting) }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the accepting thread.
        TcpStream::connect(self.address).ok();
        for socket in self.sockets.lock().expect("no panic while it is held").iter() {
            socket.shutdown(Shutdown::Both).ok();
        }
        if let Some(accepting) = self.accepting.take() {
            let joined = accepting.join();
            assert!(thread::panicking() || joined.is_ok(), "no panic in the server");
        }
    }
}

/// Reads the lines of a request's head.
fn read_head(reader: &mut impl io::BufRead) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
        match line.trim_end() {
            "" => return Some(lines).filter(|lines: &Vec<String>| !lines.is_empty()),
            text => lines.push(text.to_owned()),
        }
    }
}

/// Reads a request's body; false if it does not come.
fn read_body(reader: &mut impl io::BufRead, head: &[String]) -> bool {
    let length = head.iter().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        if name.eq_ignore_ascii_case("content-length") { value.parse().ok() } else { None }
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).is_ok()
}
