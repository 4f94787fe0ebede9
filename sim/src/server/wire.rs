//! A connection that may break, dawdle or close at a byte that was chosen beforehand.
//!
//! hyper writes whole answers into it. What is to become of the next one is set right before hyper has it.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Sleep, sleep};

/// What becomes of the answer that is about to go out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fate {
    /// After so many bytes the connection breaks.
    cut: Option<usize>,
    /// So long passes before each byte.
    pace: Option<Duration>,
    /// The connection is closed once what there is of the answer is out.
    close: bool,
    /// Something of the answer has gone out.
    is_begun: bool,
}

impl Fate {
    pub(crate) const fn new(cut: Option<usize>, pace: Option<Duration>, close: bool) -> Self {
        Self { cut, pace, close, is_begun: false }
    }
}

/// The fate of a connection, shared between who decides it and the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decided(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    fate: Mutex<Fate>,
    over: Notify,
}

impl Decided {
    pub(crate) fn set(&self, fate: Fate) {
        *self.get() = fate;
    }

    /// Resolves when the connection is to be closed.
    pub(crate) async fn is_over(&self) {
        self.0.over.notified().await;
    }

    fn get(&self) -> MutexGuard<'_, Fate> {
        // A plain value is whole at every step.
        self.0.fate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection with a fate.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    decided: Decided,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Wire {
    pub(crate) const fn new(stream: TcpStream, decided: Decided) -> Self {
        Self { stream, decided, pause: None }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let fate = *self.decided.get();
        let mut room = fate.cut.unwrap_or(usize::MAX).min(bytes.len());
        if room == 0 && !bytes.is_empty() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        if let Some(pace) = fate.pace {
            let pause = self.pause.get_or_insert_with(|| Box::pin(sleep(pace)));
            ready!(pause.as_mut().poll(cx));
            self.pause = None;
            room = room.min(1);
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &bytes[..room]))?;
        let mut fate = self.decided.get();
        fate.cut = fate.cut.map(|cut| cut - written);
        fate.is_begun = true;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        let fate = *self.decided.get();
        if fate.close && fate.is_begun {
            self.decided.0.over.notify_one();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
