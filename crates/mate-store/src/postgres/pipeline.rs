//! Sending several requests before the first is answered.

use std::{future::poll_fn, pin::Pin, task::Poll};

/// A request that borrows its statement and connection.
pub(super) type Request<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends all in order and waits for all. A request goes out when it is first polled, and each is polled in turn.
pub(super) async fn in_order<T: Unpin>(mut requests: Vec<Request<'_, T>>) -> Vec<T> {
    let mut answers: Vec<Option<T>> = requests.iter().map(|_| None).collect();
    poll_fn(move |context| {
        let mut waiting = false;
        for (request, answer) in requests.iter_mut().zip(&mut answers) {
            if answer.is_none() {
                match request.as_mut().poll(context) {
                    Poll::Ready(done) => *answer = Some(done),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting {
            return Poll::Pending;
        }
        Poll::Ready(answers.iter_mut().filter_map(Option::take).collect())
    })
    .await
}
