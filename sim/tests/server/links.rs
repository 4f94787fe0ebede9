//! Connections: kept, closed behind the client's back, refused, and left in the dark.

use core::time::Duration;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

use tenure_sim::server::{Fault, Rule, Weather};

use crate::client::{connect, create, get, is_silent, read_all, request, start, stored};

/// A request after which the connection stays open.
fn kept(line: &str) -> String {
    request(line, &[], "").replace("Connection: close\r\n", "")
}

/// Reads one answer without a body.
fn read_head(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("an answer");
        text.push(byte[0]);
    }
    String::from_utf8(text).expect("text")
}

#[test]
fn a_connection_serves_many_requests() {
    let server = start();
    let mut stream = connect(&server);
    for _ in 0..3 {
        stream.write_all(kept("DELETE /tenure/k").as_bytes()).expect("sent");
        assert!(read_head(&mut stream).starts_with("HTTP/1.1 204"));
    }
    assert!(server.seen().iter().all(|seen| seen.connection == 0 && seen.status == Some(204)));
}

#[test]
fn an_idle_connection_is_closed_without_a_word() {
    let server = start();
    server.faults([Rule::new(Fault::CloseIdle)]);
    let mut stream = connect(&server);
    stream.write_all(kept("DELETE /tenure/k").as_bytes()).expect("sent");
    let text = read_all(&mut stream);
    assert!(text.starts_with("HTTP/1.1 204") && !text.to_ascii_lowercase().contains("connection:"), "{text}");
}

#[test]
fn in_the_dark_nobody_is_answered_and_afterwards_everybody_is() {
    let server = start();
    let mut before = connect(&server);
    server.set_weather(Weather::Dark);
    let mut during = connect(&server);
    for stream in [&mut before, &mut during] {
        let put = request("PUT /tenure/k", &[("If-None-Match", "*")], "x");
        stream.write_all(put.as_bytes()).expect("sent");
        assert!(is_silent(stream, Duration::from_millis(100)));
    }
    server.set_weather(Weather::Clear);
    assert!(is_silent(&mut during, Duration::from_millis(100)), "what came in the dark is lost");
    assert_eq!(stored(&server, "k"), None);
    assert_eq!(create(&server, "k", "y").status, 200);
}

#[test]
fn a_server_that_refuses_closes_what_there_was_and_comes_back_at_the_same_port() {
    let server = start();
    create(&server, "k", "x");
    let mut before = connect(&server);
    server.set_weather(Weather::Refusing);
    assert!(matches!(before.read(&mut [0]), Ok(0) | Err(_)));
    let refused = loop {
        // Until the listener is gone a connection may still be made, and is closed at once.
        if let Err(error) = TcpStream::connect(server.address()) {
            break error;
        }
    };
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    server.set_weather(Weather::Clear);
    while TcpStream::connect(server.address()).is_err() {
        std::thread::yield_now();
    }
    assert_eq!(get(&server, "k").body, "x");
}

#[test]
fn a_dropped_server_leaves_nothing_behind() {
    let server = start();
    let address = server.address();
    let mut open = connect(&server);
    drop(server);
    assert!(matches!(open.read(&mut [0]), Ok(0) | Err(_)));
    assert!(TcpStream::connect(address).is_err());
}
