//! The agent's standard input and output, each on a thread of its own, with bounded memory on both sides.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::thread;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// The longest line that is taken; longer ones are refused and skipped.
pub(super) const LINE_MAX: usize = 1024 * 1024;
/// How many lines may wait on each side before their producer is held up.
const QUEUE: usize = 256;

/// What standard input brings.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Line {
    /// A line, without its end.
    Full(Vec<u8>),
    /// A line longer than [`LINE_MAX`], of which nothing was kept.
    TooLong,
}

/// Reads lines until the input ends or nobody wants them any more. The thread is not waited for: it may be
/// blocked in a read when the agent is done.
pub(super) fn lines(input: impl Read + Send + 'static) -> mpsc::Receiver<Line> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    thread::spawn(move || {
        let mut input = BufReader::new(input);
        while let Some(line) = next(&mut input) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Returns the next line that is not blank; nothing at the end of the input, or when it breaks.
fn next(input: &mut impl BufRead) -> Option<Line> {
    loop {
        let mut line = Vec::new();
        let limit = LINE_MAX as u64 + 1;
        let read = input.by_ref().take(limit).read_until(b'\n', &mut line).ok()?;
        if read == 0 {
            return None;
        }
        if line.last() != Some(&b'\n') && line.len() > LINE_MAX {
            return skip(input).then_some(Line::TooLong);
        }
        let text = line.trim_ascii();
        if !text.is_empty() {
            return Some(Line::Full(text.to_vec()));
        }
    }
}

/// Skips the rest of a line without keeping it; false if the input breaks.
fn skip(input: &mut impl BufRead) -> bool {
    loop {
        let Ok(buffer) = input.fill_buf() else { return false };
        if buffer.is_empty() {
            return true;
        }
        let end = buffer.iter().position(|b| *b == b'\n');
        let used = end.map_or(buffer.len(), |at| at + 1);
        input.consume(used);
        if end.is_some() {
            return true;
        }
    }
}

/// What goes to standard output.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// One object on one line.
    Line(Value),
    /// Nothing follows.
    End,
}

/// Writes objects to standard output, one per line, until the end is sent. If nobody reads the output any more
/// the thread ends, and sending fails. What is returned besides resolves when the thread is done.
pub(super) fn writer() -> (mpsc::Sender<Outgoing>, oneshot::Receiver<()>) {
    let (sender, mut receiver) = mpsc::channel(QUEUE);
    let (done, is_done) = oneshot::channel();
    thread::spawn(move || {
        write_all(&mut receiver);
        // Whoever waited may have given up.
        let _ = done.send(());
    });
    (sender, is_done)
}

fn write_all(receiver: &mut mpsc::Receiver<Outgoing>) {
    let mut text = Vec::new();
    let mut next = receiver.blocking_recv();
    while let Some(Outgoing::Line(object)) = next {
        push(&object, &mut text);
        // What is ready already goes out with it, in one write.
        let ready = if text.len() < LINE_MAX { receiver.try_recv().ok() } else { None };
        if ready.is_none() {
            let mut out = io::stdout().lock();
            if out.write_all(&text).and_then(|()| out.flush()).is_err() {
                return;
            }
            text.clear();
        }
        next = ready.or_else(|| receiver.blocking_recv());
    }
    let mut out = io::stdout().lock();
    // The agent ends whether or not anybody reads its last lines.
    let _ = out.write_all(&text).and_then(|()| out.flush());
}

fn push(object: &Value, text: &mut Vec<u8>) {
    text.extend_from_slice(object.to_string().as_bytes());
    text.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::{LINE_MAX, Line, next};

    #[test]
    fn blank_lines_are_skipped_and_the_last_line_needs_no_end() {
        let mut input = &b"\n  \r\na\r\nb"[..];
        assert_eq!(next(&mut input), Some(Line::Full(b"a".to_vec())));
        assert_eq!(next(&mut input), Some(Line::Full(b"b".to_vec())));
        assert_eq!(next(&mut input), None);
    }

    #[test]
    fn a_line_too_long_is_reported_once_and_the_next_is_read() {
        for more in [0, 1, 10 * LINE_MAX] {
            let mut text = vec![b'x'; LINE_MAX + 1 + more];
            text.extend_from_slice(b"\nnext\n");
            let mut input = &text[..];
            assert_eq!(next(&mut input), Some(Line::TooLong));
            assert_eq!(next(&mut input), Some(Line::Full(b"next".to_vec())));
            assert_eq!(next(&mut input), None);
        }
        let mut text = vec![b'x'; LINE_MAX];
        text.push(b'\n');
        assert!(matches!(next(&mut &text[..]), Some(Line::Full(line)) if line.len() == LINE_MAX));
    }
}
