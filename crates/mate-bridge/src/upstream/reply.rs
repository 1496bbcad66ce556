//! The one end of one request, and the race between sending it and giving up on it.

use crate::core::Answer;
use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};
use tokio::sync::oneshot;

/// How a request ended.
#[derive(Debug)]
pub(crate) enum End {
    Answer(Answer),
    /// No byte went out.
    NotSent(String),
    /// Bytes went out, or may have, and no usable answer came.
    Unknown(String),
}

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const GIVEN_UP: u8 = 2;

/// Shared by who sends and who waits: exactly one of "begin to send" and "give up" wins.
#[derive(Debug, Clone)]
pub(crate) struct Race(Arc<AtomicU8>);

impl Race {
    fn turn(&self, to: u8) -> bool {
        self.0.compare_exchange(WAITING, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Must be asked right before the first byte. False: the waiter gave up, send nothing.
    pub(crate) fn begin(&self) -> bool {
        self.turn(BEGUN)
    }

    /// The waiter gives up. True: it is now certain that nothing is sent.
    pub(crate) fn give_up(&self) -> bool {
        self.turn(GIVEN_UP) || self.0.load(Ordering::Acquire) == GIVEN_UP
    }
}

/// Called with the end of a request that nobody waits for any more.
pub(crate) type Late = Box<dyn FnOnce(End) + Send>;

/// The sender's side.
pub(crate) struct Reply {
    race: Race,
    end: Option<oneshot::Sender<End>>,
    late: Option<Late>,
}

impl Reply {
    /// A reply, what the waiter needs to give up, and where the end arrives.
    pub(crate) fn new(late: Option<Late>) -> (Self, Race, oneshot::Receiver<End>) {
        let (tx, rx) = oneshot::channel();
        let race = Race(Arc::new(AtomicU8::new(WAITING)));
        (Self { race: race.clone(), end: Some(tx), late }, race, rx)
    }

    /// As [`Race::begin`].
    pub(crate) fn begin(&self) -> bool {
        self.race.begin()
    }

    /// For who sends without holding the reply.
    pub(crate) fn race(&self) -> Race {
        self.race.clone()
    }

    /// Ends the request.
    pub(crate) fn end(mut self, end: End) {
        self.finish(end);
    }

    /// Ends the request with the connection: unknown if it was begun, else not sent.
    pub(crate) fn lost(mut self, why: &str) {
        let begun = self.race.0.load(Ordering::Acquire) == BEGUN;
        self.finish(if begun { End::Unknown(why.into()) } else { End::NotSent(why.into()) });
    }

    fn finish(&mut self, end: End) {
        let Some(tx) = self.end.take() else { return };
        if let Err(end) = tx.send(end)
            && let Some(late) = self.late.take()
        {
            late(end);
        }
    }
}

impl Drop for Reply {
    /// A reply that was lost on some path still tells the truth about what was sent.
    fn drop(&mut self) {
        if self.end.is_some() {
            let begun = self.race.0.load(Ordering::Acquire) == BEGUN;
            self.finish(if begun {
                End::Unknown("the connection was lost before an answer came".into())
            } else {
                End::NotSent("it was dropped before it was sent".into())
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn giving_up_and_beginning_exclude_each_other() {
        let (reply, race, _end) = Reply::new(None);
        assert!(race.give_up());
        assert!(!reply.begin());
        let (reply, race, _end) = Reply::new(None);
        assert!(reply.begin());
        assert!(!race.give_up());
    }

    #[tokio::test]
    async fn a_lost_reply_is_unknown_only_if_it_was_begun() {
        let (reply, _race, end) = Reply::new(None);
        drop(reply);
        assert!(matches!(end.await, Ok(End::NotSent(_))));
        let (reply, _race, end) = Reply::new(None);
        assert!(reply.begin());
        drop(reply);
        assert!(matches!(end.await, Ok(End::Unknown(_))));
    }
}
