//! How slow the other end of a connection may be.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Sleep, sleep};

/// How long is waited for the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    /// How long bytes may come in before any goes out: a request, and its body, arrive within it.
    pub arriving: Duration,
    /// How long the other end may leave what is sent to it untaken.
    pub taking: Duration,
    /// How long nothing at all may happen: a connection that is kept open for later requests, or whose other end is gone.
    pub nothing: Duration,
}

impl Default for Spans {
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self { arriving: minute, taking: minute, nothing: 5 * minute }
    }
}

/// The clocks of one connection.
#[derive(Debug)]
pub(super) struct Patience {
    spans: Spans,
    arriving: Option<Pin<Box<Sleep>>>,
    taking: Option<Pin<Box<Sleep>>>,
    nothing: Option<Pin<Box<Sleep>>>,
}

impl Patience {
    pub(super) const fn new(spans: Spans) -> Self {
        Self { spans, arriving: None, taking: None, nothing: None }
    }

    /// After a try to read; whether bytes came.
    pub(super) fn after_read(&mut self, cx: &mut Context<'_>, read: Poll<bool>) -> Poll<io::Result<()>> {
        match read {
            Poll::Ready(true) => {
                self.nothing = None;
                if over(&mut self.arriving, self.spans.arriving, cx) { late() } else { Poll::Ready(Ok(())) }
            }
            Poll::Ready(false) => Poll::Ready(Ok(())),
            Poll::Pending => {
                // Of a request that has begun, no more may come for long either.
                let begun = self.arriving.as_mut().is_some_and(|clock| clock.as_mut().poll(cx).is_ready());
                if begun || over(&mut self.nothing, self.spans.nothing, cx) { late() } else { Poll::Pending }
            }
        }
    }

    /// After a try to write.
    pub(super) fn after_write(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            *self = Self::new(self.spans);
            return written;
        }
        if over(&mut self.taking, self.spans.taking, cx) { late() } else { Poll::Pending }
    }
}

/// Whether a clock has run out; it is started if it was not.
fn over(clock: &mut Option<Pin<Box<Sleep>>>, span: Duration, cx: &mut Context<'_>) -> bool {
    clock.get_or_insert_with(|| Box::pin(sleep(span))).as_mut().poll(cx).is_ready()
}

fn late<T>() -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
}
