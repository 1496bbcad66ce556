//! How slow the other end of a connection may be.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Sleep, sleep};

/// How long bytes may come in before any goes out: a request, and its body, arrive within it.
const ARRIVING: Duration = Duration::from_secs(60);

/// How long the other end may leave what is sent to it untaken.
const TAKING: Duration = Duration::from_secs(60);

/// How long nothing at all may happen: a connection that is kept open for later requests, or whose other end is gone.
const NOTHING: Duration = Duration::from_secs(300);

/// The clocks of one connection.
#[derive(Debug, Default)]
pub(super) struct Patience {
    arriving: Option<Pin<Box<Sleep>>>,
    taking: Option<Pin<Box<Sleep>>>,
    nothing: Option<Pin<Box<Sleep>>>,
}

impl Patience {
    /// After a try to read; whether bytes came.
    pub(super) fn after_read(&mut self, cx: &mut Context<'_>, read: Poll<bool>) -> Poll<io::Result<()>> {
        match read {
            Poll::Ready(true) => {
                self.nothing = None;
                if over(&mut self.arriving, ARRIVING, cx) { late() } else { Poll::Ready(Ok(())) }
            }
            Poll::Ready(false) => Poll::Ready(Ok(())),
            Poll::Pending => {
                // Of a request that has begun, no more may come for long either.
                let begun = self.arriving.as_mut().is_some_and(|clock| clock.as_mut().poll(cx).is_ready());
                if begun || over(&mut self.nothing, NOTHING, cx) { late() } else { Poll::Pending }
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
            *self = Self::default();
            return written;
        }
        if over(&mut self.taking, TAKING, cx) { late() } else { Poll::Pending }
    }
}

/// Whether a clock has run out; it is started if it was not.
fn over(clock: &mut Option<Pin<Box<Sleep>>>, span: Duration, cx: &mut Context<'_>) -> bool {
    clock.get_or_insert_with(|| Box::pin(sleep(span))).as_mut().poll(cx).is_ready()
}

fn late<T>() -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
}
