//! What a runtime asks: a person's permission, and nothing else.

use super::{Diagnostic, Event, PermissionAnswer, coalesce::Item, parse, peer::Outgoing, permission};
use mate_rpc::{Answer, Fault, Id, Request, message, raw};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Requests of the runtime that may be unanswered at a time; more are not read.
pub(super) const UNANSWERED: usize = 64;

/// The one request that is served.
const PERMISSION: &str = "session/request_permission";

/// Answers what the runtime asks.
pub(super) struct Desk {
    items: mpsc::Sender<Item>,
    outgoing: mpsc::Sender<Outgoing>,
    /// Grows at each cancel; open permission requests end then.
    cancels: watch::Receiver<u64>,
    /// How many permission requests came so far.
    asked: u64,
    open: Arc<Open>,
    /// Nothing more is heard of the runtime when this is cancelled.
    over: CancellationToken,
}

/// The permission requests that are open, by their numbers.
#[derive(Default)]
struct Open(Mutex<Vec<(u64, Id, CancellationToken)>>);

impl Open {
    fn list(&self) -> MutexGuard<'_, Vec<(u64, Id, CancellationToken)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Desk {
    pub(super) fn new(
        items: mpsc::Sender<Item>,
        outgoing: mpsc::Sender<Outgoing>,
        cancels: watch::Receiver<u64>,
    ) -> Self {
        let over = CancellationToken::new();
        Self { items, outgoing, cancels, asked: 0, open: Arc::default(), over }
    }

    /// Takes a request, in the order in which the runtime said it. Its place is free when the answer was written.
    pub(super) async fn take(&mut self, request: Request, place: OwnedSemaphorePermit) {
        if request.method != PERMISSION {
            let method = parse::cut(&request.method, 64 * 1024);
            self.tell(Event::Diagnostic(Diagnostic::Refused { method })).await;
            return reply(
                &self.outgoing,
                &request.id,
                Answer::Error(Fault::no_method(&request.method)),
                place,
            )
            .await;
        }
        let params = request.params.map_or(Ok(Value::Null), |params| serde_json::from_str(params.get()));
        let Ok(params) = params else {
            let fault = Fault::invalid_params("the parameters cannot be read");
            return reply(&self.outgoing, &request.id, Answer::Error(fault), place).await;
        };
        self.asked = self.asked.saturating_add(1);
        let number = self.asked;
        let (asked, answered) = permission::request(number, &params);
        let waiting = Waiting {
            number,
            id: request.id,
            options: asked.options.iter().map(|option| option.id.clone()).collect(),
            answered,
            cancels: self.cancels.clone(),
            withdrawn: self.over.child_token(),
            open: Arc::clone(&self.open),
        };
        self.open.list().push((number, waiting.id.clone(), waiting.withdrawn.clone()));
        let outgoing = self.outgoing.clone();
        let mut waiting = waiting;
        waiting.cancels.mark_unchanged();
        self.tell(Event::Permission(asked)).await;
        // In a task of its own, so that the runtime can go on talking while a person thinks.
        tokio::spawn(async move {
            let id = waiting.id.clone();
            let answer = waiting.answer().await;
            reply(&outgoing, &id, Answer::Result(raw(&permission::answer(answer))), place).await;
        });
    }

    /// The runtime does not wait for the answer to this request of its own any more.
    pub(super) fn withdraw(&self, id: &Id) {
        self.open.list().iter().filter(|(_, open, _)| open == id).for_each(|(_, _, open)| open.cancel());
    }

    async fn tell(&self, event: Event) {
        // Nobody listens any more; the answer is given all the same.
        let _ = self.items.send(Item::Event(event)).await;
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.over.cancel();
    }
}

/// A permission request that waits for a person.
struct Waiting {
    number: u64,
    id: Id,
    /// The answers it takes.
    options: Vec<String>,
    answered: oneshot::Receiver<PermissionAnswer>,
    cancels: watch::Receiver<u64>,
    withdrawn: CancellationToken,
    open: Arc<Open>,
}

impl Waiting {
    async fn answer(mut self) -> PermissionAnswer {
        let answer = tokio::select! {
            answer = &mut self.answered => answer.unwrap_or(PermissionAnswer::Cancelled),
            // A cancel, or the end of the connection.
            _ = self.cancels.changed() => PermissionAnswer::Cancelled,
            () = self.withdrawn.cancelled() => PermissionAnswer::Cancelled,
        };
        match answer {
            PermissionAnswer::Selected(id) if self.options.contains(&id) => PermissionAnswer::Selected(id),
            PermissionAnswer::Selected(_) | PermissionAnswer::Cancelled => PermissionAnswer::Cancelled,
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.open.list().retain(|(number, _, _)| *number != self.number);
    }
}

async fn reply(outgoing: &mpsc::Sender<Outgoing>, id: &Id, answer: Answer, place: OwnedSemaphorePermit) {
    let line = message::write_response(Some(id), &answer);
    // It fails when the runtime is gone, which is told elsewhere.
    let _ = outgoing.send(Outgoing { line, place: Some(place) }).await;
}

/// A place for each request that may be unanswered.
pub(super) fn places() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(UNANSWERED))
}
