//! The body of an answer on the wire: whole, or not.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

/// How a body ends.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Ending {
    /// With its last byte.
    #[default]
    Whole,
    /// In its middle, and the connection with it.
    Short,
    /// In its middle, where it stops without a word.
    Stalled,
}

/// A body, of which only the first half may be there.
#[derive(Debug)]
pub(crate) struct Part {
    bytes: Option<Bytes>,
    ending: Ending,
}

impl Part {
    pub(crate) fn new(body: Vec<u8>, ending: Ending) -> Self {
        let mut bytes = Bytes::from(body);
        if ending != Ending::Whole {
            bytes.truncate(bytes.len() / 2);
        }
        Self { bytes: Some(bytes).filter(|bytes| !bytes.is_empty()), ending }
    }
}

impl Body for Part {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.bytes.take() {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            None if self.ending == Ending::Whole => Poll::Ready(None),
            // Nobody will wake this one: it is dropped with its connection, which one that is too short closes.
            None => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ending == Ending::Whole && self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.ending {
            Ending::Whole => SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            // The header promises more.
            Ending::Short | Ending::Stalled => SizeHint::default(),
        }
    }
}
