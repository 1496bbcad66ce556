//! Joins the chunks of a message: a journal row for each token would be waste.

use super::{Activity, Event, Message, Role};
use std::{pin::Pin, time::Duration};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Sleep, sleep},
};

/// A text of this many bytes is passed on.
const ENOUGH: usize = 4 << 10;
/// A text this old is passed on.
const LATEST: Duration = Duration::from_millis(250);
/// No piece is longer, however long the chunk was.
const LONGEST: usize = 16 << 10;

/// What goes in.
pub(super) enum Item {
    Event(Event),
    /// Everything before this is out when it is answered.
    Barrier(oneshot::Sender<()>),
}

/// Runs until the other end of `incoming` or of `outgoing` is gone.
pub(super) async fn coalesce(mut incoming: mpsc::Receiver<Item>, outgoing: mpsc::Sender<Event>) {
    let mut joined =
        Joined { text: String::new(), role: Role::Agent, due: Box::pin(sleep(LATEST)), outgoing };
    while let Some(item) = joined.next(&mut incoming).await {
        let passed = match item {
            Some(Item::Event(Event::Activity(Activity::Message(message)))) => joined.add(message).await,
            Some(Item::Event(event)) => match joined.flush().await {
                Ok(()) => joined.send(event).await,
                gone => gone,
            },
            Some(Item::Barrier(done)) => {
                let flushed = joined.flush().await;
                // Whoever waited may have gone away.
                let _ = done.send(());
                flushed
            }
            None => joined.flush().await,
        };
        if passed.is_err() {
            return;
        }
    }
}

struct Gone;

struct Joined {
    text: String,
    role: Role,
    /// When the text has waited long enough; counts from its first chunk.
    due: Pin<Box<Sleep>>,
    outgoing: mpsc::Sender<Event>,
}

impl Joined {
    /// The next item; `Some(None)` when the text has waited long enough; `None` at the end of all.
    async fn next(&mut self, incoming: &mut mpsc::Receiver<Item>) -> Option<Option<Item>> {
        if self.text.is_empty() {
            return incoming.recv().await.map(Some);
        }
        tokio::select! {
            biased;
            () = &mut self.due => Some(None),
            item = incoming.recv() => match item {
                Some(item) => Some(Some(item)),
                None => {
                    let _ = self.flush().await;
                    None
                }
            },
        }
    }

    async fn add(&mut self, message: Message) -> Result<(), Gone> {
        if message.role != self.role {
            self.flush().await?;
            self.role = message.role;
        }
        if self.text.is_empty() {
            self.due = Box::pin(sleep(LATEST));
        }
        self.text.push_str(&message.text);
        if self.text.len() >= ENOUGH { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> Result<(), Gone> {
        let text = std::mem::take(&mut self.text);
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (piece, left) = rest.split_at(rest.floor_char_boundary(LONGEST));
            let message = Message { role: self.role, text: piece.to_owned() };
            self.send(Event::Activity(Activity::Message(message))).await?;
            rest = left;
        }
        Ok(())
    }

    async fn send(&self, event: Event) -> Result<(), Gone> {
        self.outgoing.send(event).await.map_err(|_| Gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(role: Role, text: &str) -> Item {
        Item::Event(Event::Activity(Activity::Message(Message { role, text: text.to_owned() })))
    }

    fn text(event: Option<Event>) -> (Role, String) {
        match event {
            Some(Event::Activity(Activity::Message(message))) => (message.role, message.text),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn chunks_are_joined_by_role_and_flushed_at_a_boundary() {
        let (into, incoming) = mpsc::channel(16);
        let (outgoing, mut out) = mpsc::channel(16);
        tokio::spawn(coalesce(incoming, outgoing));
        for item in [chunk(Role::Agent, "a"), chunk(Role::Agent, "b"), chunk(Role::Thought, "c")] {
            into.send(item).await.unwrap();
        }
        let (done, barrier) = oneshot::channel();
        into.send(Item::Barrier(done)).await.unwrap();
        barrier.await.unwrap();
        assert_eq!(text(out.try_recv().ok()), (Role::Agent, "ab".to_owned()));
        assert_eq!(text(out.try_recv().ok()), (Role::Thought, "c".to_owned()));
        // A slow drip comes out as well, without any boundary.
        into.send(chunk(Role::Agent, "slow")).await.unwrap();
        assert_eq!(text(out.recv().await).1, "slow");
        into.send(chunk(Role::Agent, "last")).await.unwrap();
        drop(into);
        assert_eq!(text(out.recv().await).1, "last");
        assert!(out.recv().await.is_none());
    }

    #[tokio::test]
    async fn f111_a_huge_chunk_is_cut_between_characters() {
        let (into, incoming) = mpsc::channel(16);
        let (outgoing, mut out) = mpsc::channel(4096);
        tokio::spawn(coalesce(incoming, outgoing));
        let huge = format!("x{}", "👩‍👩‍👧".repeat(100_000));
        into.send(chunk(Role::Agent, &huge)).await.unwrap();
        drop(into);
        let mut whole = String::new();
        while let Some(event) = out.recv().await {
            let piece = text(Some(event)).1;
            assert!(piece.len() <= LONGEST);
            whole.push_str(&piece);
        }
        assert_eq!(whole, huge);
    }
}
