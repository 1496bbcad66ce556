//! Streams cut anywhere, lines of any length, ends of every kind.

use super::*;
use proptest::prelude::*;
use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::io::ReadBuf;

/// A stream that comes in pieces, with a pause before each.
struct Pieces {
    pieces: VecDeque<Vec<u8>>,
    paused: bool,
}

impl Pieces {
    fn cut(bytes: &[u8], at: &[usize]) -> Self {
        let mut pieces = VecDeque::new();
        let mut rest = bytes;
        for length in at {
            let (piece, left) = rest.split_at((*length).min(rest.len()));
            pieces.push_back(piece.to_vec());
            rest = left;
        }
        pieces.push_back(rest.to_vec());
        pieces.retain(|piece| !piece.is_empty());
        Self { pieces, paused: false }
    }
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        self.paused = !self.paused;
        if self.paused {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(mut piece) = self.pieces.pop_front() {
            let rest = piece.split_off(piece.len().min(buf.remaining()));
            buf.put_slice(&piece);
            if !rest.is_empty() {
                self.pieces.push_front(rest);
            }
        }
        Poll::Ready(Ok(()))
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Reads all, and gives each wait up once before it goes on.
fn all<R: AsyncRead + Unpin>(mut lines: Lines<R>) -> Vec<Line> {
    block_on(async {
        let mut found = Vec::new();
        loop {
            let given_up = tokio::select! {
                biased;
                line = lines.next() => Some(line),
                () = std::future::ready(()) => None,
            };
            match given_up {
                None => tokio::task::yield_now().await,
                Some(line) => match line.unwrap() {
                    Line::End => return found,
                    line @ (Line::Text(_) | Line::TooLong { .. } | Line::Unfinished(_)) => found.push(line),
                },
            }
        }
    })
}

fn text(line: &str) -> Line {
    Line::Text(line.as_bytes().to_vec())
}

#[test]
fn a_line_over_the_limit_is_dropped_and_the_next_one_is_read() {
    let long =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"{}\"}}\nnext\nunfinished", "x".repeat(300_000));
    let mut found = all(Lines::new(long.as_bytes(), 1000)).into_iter();
    match found.next() {
        Some(Line::TooLong { head, tail }) => {
            assert_eq!(guess_id(&head, &tail), Some(7));
            assert_eq!((head.len(), tail.len()), (KEPT, KEPT));
        }
        other => panic!("expected an oversized line: {other:?}"),
    }
    assert_eq!(found.collect::<Vec<_>>(), [text("next"), Line::Unfinished(b"unfinished".to_vec())]);
}

#[test]
fn the_id_may_also_stand_at_the_end() {
    assert_eq!(guess_id(br#"{"result":{"id":1,"x":"aaaa"#, br#"aaaa"},"id": 42}"#), Some(42));
    assert_eq!(guess_id(b"{\"result\":", b"aaaa"), None);
}

#[test]
fn f113_only_a_line_feed_ends_a_line() {
    let input = "a\u{2028}b\u{85}\r\n\0\n\nlast";
    let expected = [text("a\u{2028}b\u{85}\r"), text("\0"), text(""), Line::Unfinished(b"last".to_vec())];
    assert_eq!(all(Lines::new(input.as_bytes(), 100)), expected);
}

/// A stream that never ends, and has no line feed.
struct Endless;

impl AsyncRead for Endless {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let room = buf.remaining();
        buf.put_slice(&vec![b'x'; room]);
        Poll::Ready(Ok(()))
    }
}

#[test]
fn a_line_without_end_is_given_up() {
    let mut lines = Lines::giving_up(Endless, 1 << 20);
    let line = block_on(lines.next()).unwrap();
    assert!(matches!(line, Line::TooLong { tail, .. } if tail.is_empty()));
    let fits = all(Lines::giving_up(b"0123456789\n0123456789x\n".as_slice(), 10));
    assert!(matches!(fits.as_slice(), [Line::Text(_), Line::TooLong { .. }]), "{fits:?}");
}

proptest! {
    /// However the stream is cut, whatever is given up on the way: the lines are those of the whole text.
    #[test]
    fn f113_a_stream_cut_anywhere_has_the_same_lines(
        input in prop::collection::vec(prop_oneof![
            Just(b"\n".to_vec()), Just(b"\r\n".to_vec()), Just("\u{2028}".as_bytes().to_vec()), Just(b"\xef\xbb\xbf{}".to_vec()),
            Just(b"\xff\xfe".to_vec()), prop::collection::vec(any::<u8>(), 0..40),
        ], 0..24),
        cuts in prop::collection::vec(0_usize..20, 0..24),
        limit in 0_usize..64,
    ) {
        let bytes = input.concat();
        let mut whole: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let last = whole.pop().unwrap();
        let found = all(Lines::new(Pieces::cut(&bytes, &cuts), limit));
        let mut expected = whole.into_iter();
        for line in &found {
            match line {
                Line::Text(line) => prop_assert_eq!(Some(line.as_slice()), expected.next()),
                Line::TooLong { head, tail } => {
                    let line = expected.next().unwrap();
                    prop_assert!(line.len() > limit && line.starts_with(head) && line.ends_with(tail));
                }
                Line::Unfinished(line) => prop_assert_eq!(line.as_slice(), last),
                Line::End => prop_assert!(false, "the end is not collected"),
            }
        }
        prop_assert!(expected.next().is_none(), "a line is missing");
        let unfinished = found.iter().any(|line| matches!(line, Line::Unfinished(_)));
        prop_assert_eq!(unfinished, !last.is_empty() && last.len() <= limit);
    }
}
