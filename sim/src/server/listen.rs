//! The port: who is let in, and who is sent away.

use core::net::SocketAddr;
use std::io;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::yield_now;

use crate::server::serve::serve;
use crate::server::shared::{Shared, Weather};
use crate::server::wire::{Decided, Wire};

/// Lets connections in for as long as the weather is fit for it.
pub(crate) async fn run(
    listener: std::net::TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
) -> io::Result<()> {
    let mut listener = TcpListener::from_std(listener)?;
    let mut weather = shared.weather.subscribe();
    let mut connections = 0;
    loop {
        tokio::select! {
            () = accept(&listener, &mut connections, &shared) => {}
            _ = weather.wait_for(is_refusing) => {}
        }
        drop(listener);
        // The port is kept, with nobody listening.
        let kept = keep(address)?;
        // The weather lasts as long as the server.
        let _ = weather.wait_for(|weather| !is_refusing(weather)).await;
        listener = kept.listen(1024)?;
    }
}

/// Lets in everybody who comes, without end.
async fn accept(listener: &TcpListener, connections: &mut usize, shared: &Arc<Shared>) {
    loop {
        // An error is the peer's that went away, or a want of descriptors that passes.
        if let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(converse(stream, *connections, Arc::clone(shared)));
            *connections += 1;
        } else {
            yield_now().await;
        }
    }
}

fn is_refusing(weather: &Weather) -> bool {
    *weather == Weather::Refusing
}

fn keep(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Serves one connection to its end.
async fn converse(stream: TcpStream, connection: usize, shared: Arc<Shared>) {
    let mut weather = shared.weather.subscribe();
    // Answers are small: without this each one waits for the client's acknowledgement.
    let _ = stream.set_nodelay(true);
    let decided = Decided::default();
    let wire = TokioIo::new(Wire::new(stream, decided.clone()));
    let deciding = decided.clone();
    let service =
        service_fn(move |request| serve(Arc::clone(&shared), deciding.clone(), connection, request));
    let served = http1::Builder::new()
        .auto_date_header(false)
        .header_read_timeout(None)
        .title_case_headers(true)
        .serve_connection(wire, service);
    tokio::select! {
        // Broken connections are what this server is for.
        _ = served => {}
        () = decided.is_over() => {}
        _ = weather.wait_for(is_refusing) => {}
    }
}
