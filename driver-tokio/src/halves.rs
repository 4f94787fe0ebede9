//! A request body that pauses after its first byte.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// Sends the first byte, waits, sends the rest.
pub(crate) struct Halves {
    first: Bytes,
    rest: Bytes,
    /// In a mutex, never locked, since a body must be `Sync` and a future need not be.
    between: Option<Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>>,
}

impl Halves {
    pub(crate) fn new(body: Vec<u8>, between: impl Future<Output = ()> + Send + 'static) -> Self {
        let mut first = Bytes::from(body);
        let rest = first.split_off(first.len().min(1));
        Self { first, rest, between: Some(Mutex::new(Box::pin(between))) }
    }
}

impl Body for Halves {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if !self.first.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(core::mem::take(&mut self.first)))));
        }
        if let Some(between) = &mut self.between {
            let between = between.get_mut().unwrap_or_else(PoisonError::into_inner);
            ready!(between.as_mut().poll(context));
            self.between = None;
        }
        let rest = core::mem::take(&mut self.rest);
        Poll::Ready((!rest.is_empty()).then(|| Ok(Frame::data(rest))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(u64::try_from(self.first.len() + self.rest.len()).unwrap_or(u64::MAX))
    }
}
