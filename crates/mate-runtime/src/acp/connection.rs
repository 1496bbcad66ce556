//! The protocol library, driven in a task of its own.

use super::{
    Diagnostic, Event, Lost, PermissionAnswer,
    coalesce::Item,
    link::{Link, UNANSWERED},
    parse, permission,
};
use agent_client_protocol::{
    Client, Error, Lines, Responder, UntypedMessage, V1, on_receive_request, v1::ConnectionTo,
};
use futures_util::{SinkExt as _, stream};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::PollSender;

pub(super) type Peer = ConnectionTo<agent_client_protocol::Agent>;

/// Answers what the runtime asks.
pub(super) struct Desk {
    pub(super) items: mpsc::Sender<Item>,
    /// Grows at each cancel; open permission requests end then.
    pub(super) cancels: watch::Receiver<u64>,
    pub(super) asked: AtomicU64,
}

/// Drives the connection until `stop` is dropped or the runtime is gone. Hands out the peer once.
pub(super) async fn drive(
    link: Arc<Link>,
    desk: Arc<Desk>,
    incoming: mpsc::Receiver<io::Result<String>>,
    outgoing: mpsc::Sender<String>,
    ready: oneshot::Sender<Peer>,
    stop: oneshot::Receiver<()>,
) {
    let incoming = stream::unfold(incoming, async |mut lines| lines.recv().await.map(|line| (line, lines)));
    let outgoing = PollSender::new(outgoing).sink_map_err(io::Error::other);
    let connection = Client
        .v1()
        .name("agent-mate")
        .on_receive_request(
            async move |request: UntypedMessage, responder: Responder<serde_json::Value, V1>, _peer| {
                desk.answer(request, responder).await
            },
            on_receive_request!(),
        )
        .connect_with(Lines::new(outgoing, incoming), async |peer: Peer| {
            // Nobody waits any more when the receiver is gone; then `stop` is gone, too.
            let _ = ready.send(peer);
            let _ = stop.await;
            Ok(())
        });
    if let Err(error) = connection.await {
        tracing::debug!(code = %error.code, "the connection to a runtime ended with an error");
    }
    link.lose(Lost::Closed);
}

/// How many messages wait between the pipes and the library.
pub(super) const WAITING: usize = UNANSWERED;

impl Desk {
    async fn answer(
        &self,
        request: UntypedMessage,
        responder: Responder<serde_json::Value, V1>,
    ) -> Result<(), Error> {
        if request.method != "session/request_permission" {
            let method = parse::cut(&request.method, 200);
            self.tell(Event::Diagnostic(Diagnostic::Refused { method })).await;
            return responder.respond_with_error(Error::method_not_found());
        }
        let number = self.asked.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let (asked, answered) = permission::request(number, &request.params);
        let options = asked.options.clone();
        let mut cancels = self.cancels.clone();
        cancels.mark_unchanged();
        self.tell(Event::Permission(asked)).await;
        // In a task of its own, so that the runtime can go on talking while a person thinks.
        tokio::spawn(async move {
            let withdrawn = responder.cancellation();
            let answer = tokio::select! {
                answer = answered => answer.unwrap_or(PermissionAnswer::Cancelled),
                // A cancel, or the end of the connection.
                _ = cancels.changed() => PermissionAnswer::Cancelled,
                () = withdrawn.cancelled() => PermissionAnswer::Cancelled,
            };
            let known = match &answer {
                PermissionAnswer::Selected(id) => options.iter().any(|option| option.id == *id),
                PermissionAnswer::Cancelled => true,
            };
            let answer = if known { answer } else { PermissionAnswer::Cancelled };
            // It fails when the runtime is gone, which is told elsewhere.
            let _ = responder.respond(permission::answer(answer));
        });
        Ok(())
    }

    async fn tell(&self, event: Event) {
        // Nobody listens any more; the answer is given all the same.
        let _ = self.items.send(Item::Event(event)).await;
    }
}
