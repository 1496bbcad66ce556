//! Reading what an HTTP upstream answers: one JSON body, or a stream of events that ends with it.

use super::{
    End, Reply, SseEvents,
    http::{NOTICE, Session, Wire},
    inbound,
};
use crate::core::{Answer, Fault, Id, Message, Request, faults};
use http::{HeaderMap, StatusCode, header};
use mate_http::{BodyFault, Response};
use std::{sync::Arc, time::Duration};
use tokio::task::JoinSet;

/// Resumptions of one stream without a single event in between.
const RESUMES: u32 = 5;
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Whose answer is read.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Handshake,
    Request(u64),
    /// The stream of messages that answer nothing.
    Listening,
}

impl Source {
    const fn id(self) -> Option<u64> {
        match self {
            Self::Handshake => Some(0),
            Self::Request(id) => Some(id),
            Self::Listening => None,
        }
    }

    const fn origin(self) -> Option<u64> {
        match self {
            Self::Request(id) => Some(id),
            Self::Handshake | Self::Listening => None,
        }
    }
}

fn content_type(response: &Response) -> String {
    let value = response.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    value.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

/// Reads the answer to one request and ends its reply.
pub(super) async fn read(
    wire: &Wire,
    session: Option<&Arc<Session>>,
    source: Source,
    response: Response,
    reply: Reply,
) {
    let end = match content_type(&response).as_str() {
        "application/json" => read_json(wire, source, response).await,
        "text/event-stream" => read_events(wire, session, source, response).await,
        other => Err(format!("the upstream answered with content of type {other:?}")),
    };
    reply.end(match end {
        Ok(answer) => End::Answer(answer),
        Err(why) => {
            wire.client.forget();
            End::Unknown(why)
        }
    });
}

/// What an answer with another status than 200 comes to: the upstream's own, if its body is a JSON-RPC answer to this very
/// request and does not contradict the status. In a session, 404 is how an upstream says that the session is over, which
/// proves nothing of the call: there only an error about the request itself counts.
pub(super) async fn of_status(wire: &Wire, id: u64, in_session: bool, response: Response) -> End {
    let status = response.status();
    let (reply, _race, end) = Reply::new(None);
    read(wire, None, Source::Request(id), response, reply).await;
    match end.await {
        Ok(End::Answer(Answer::Error(fault)))
            if !(in_session && status == StatusCode::NOT_FOUND) || is_of_the_request(&fault) =>
        {
            End::Answer(Answer::Error(fault))
        }
        Ok(End::Answer(answer @ Answer::Result(_))) if status.is_success() => End::Answer(answer),
        Ok(_) | Err(_) => {
            wire.client.forget();
            let status = status.as_u16();
            End::Unknown(format!("the upstream answered with HTTP {status} instead of a result"))
        }
    }
}

/// No such method, or parameters that are wrong.
fn is_of_the_request(fault: &Fault) -> bool {
    matches!(faults::code(fault), faults::NO_METHOD | faults::INVALID_PARAMS)
}

async fn read_json(wire: &Wire, source: Source, response: Response) -> Result<Answer, String> {
    let body = response.body(wire.limits.message).await.map_err(|fault| match fault {
        BodyFault::TooLong(max) => format!("the answer was larger than {max} bytes and could not be read"),
        BodyFault::Broken(_) => "the answer broke off".into(),
    })?;
    match Message::read(&body) {
        Ok(Message::Response(r)) if r.id.as_ref().and_then(Id::as_number) == source.id() => Ok(r.answer),
        Ok(_) => Err("the answer belongs to no request of ours".into()),
        Err(error) => Err(format!("the answer could not be read: {error}")),
    }
}

async fn read_events(
    wire: &Wire,
    session: Option<&Arc<Session>>,
    source: Source,
    mut response: Response,
) -> Result<Answer, String> {
    let mut last: Option<String> = None;
    let mut resumes = 0;
    let mut asked = Asked::default();
    loop {
        let mut events = SseEvents::after(last.take());
        let mut heard = false;
        if let Some(answer) =
            drain(wire, session, source, response, &mut events, &mut heard, &mut asked).await?
        {
            return Ok(answer);
        }
        // Reading on after the last event is a read of what is already done; it sends no call again.
        let (Some(id), Some(session)) = (events.last_id.clone(), session) else {
            return Err("the stream ended without an answer".into());
        };
        resumes = if heard { 1 } else { resumes + 1 };
        if resumes > RESUMES {
            return Err("the stream ended without an answer, and resuming it gave none".into());
        }
        let pause = Duration::from_millis(events.retry.unwrap_or(500)).min(LONGEST_PAUSE);
        tokio::time::sleep(pause).await;
        response = match wire.get(session, Some(&id)).await {
            Ok(next) if next.status().is_success() && content_type(&next) == "text/event-stream" => next,
            Ok(_) | Err(_) => return Err("the stream ended without an answer and cannot be resumed".into()),
        };
        last = Some(id);
    }
}

/// The upstream's own requests that came on a stream. Dropped with what the stream is for, nothing of them goes on.
#[derive(Default)]
struct Asked(JoinSet<()>);

impl Asked {
    fn take(&mut self, wire: &Wire, session: Option<&Arc<Session>>, source: Source, request: Request) {
        while self.0.try_join_next().is_some() {}
        let Some(taken) = wire.own.take(&request, &*wire.inbound) else { return };
        let (wire, session) = (wire.clone(), session.cloned());
        self.0.spawn(async move {
            let text = inbound::answer(Arc::clone(&wire.inbound), source.origin(), request).await;
            let posted = wire.post(session.as_deref(), HeaderMap::new(), text, || true);
            tokio::time::timeout(NOTICE, posted).await.ok();
            drop(taken);
        });
    }
}

/// Reads one stream to its end or to the answer.
async fn drain(
    wire: &Wire,
    session: Option<&Arc<Session>>,
    source: Source,
    mut response: Response,
    events: &mut SseEvents,
    heard: &mut bool,
    asked: &mut Asked,
) -> Result<Option<Answer>, String> {
    let max = wire.limits.message;
    loop {
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) | Err(_) => return Ok(None),
        };
        let too_big = |()| format!("an event was larger than {max} bytes and could not be read");
        for event in events.feed(&chunk, max).map_err(too_big)? {
            match inbound::read(&*wire.inbound, &event.data) {
                None => {}
                Some(Message::Response(r)) => {
                    if r.id.is_some() && r.id.as_ref().and_then(Id::as_number) == source.id() {
                        tokio::spawn(response.finish());
                        return Ok(Some(r.answer));
                    }
                    wire.inbound.diagnostic("it answered what was not asked");
                }
                Some(Message::Notification(n)) => {
                    *heard = true;
                    wire.inbound.notification(source.origin(), n);
                }
                Some(Message::Request(request)) => {
                    *heard = true;
                    asked.take(wire, session, source, request);
                }
            }
        }
    }
}

/// Follows the upstream's stream of unasked messages while the session lasts; servers may not have one.
pub(super) async fn listen(wire: Wire, session: Arc<Session>) {
    let mut pause = Duration::from_secs(1);
    let mut last: Option<String> = None;
    let mut asked = Asked::default();
    loop {
        let round = async {
            let response = wire.get(&session, last.as_deref()).await.ok()?;
            if response.status().is_server_error() {
                return Some(last.clone());
            }
            if !response.status().is_success() || content_type(&response) != "text/event-stream" {
                return None;
            }
            let mut events = SseEvents::after(last.clone());
            let mut heard = false;
            let source = Source::Listening;
            drain(&wire, Some(&session), source, response, &mut events, &mut heard, &mut asked).await.ok();
            Some(events.last_id)
        };
        let next = tokio::select! {
            next = round => next,
            () = session.over.cancelled() => return,
        };
        let Some(next) = next else { return };
        last = next;
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = session.over.cancelled() => return,
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Hears a stream of changes to its end. Whether anything came on it.
pub(super) async fn hear(wire: &Wire, id: u64, response: Response) -> bool {
    if content_type(&response) != "text/event-stream" {
        return false;
    }
    let mut heard = false;
    let source = Source::Request(id);
    let (mut events, mut asked) = (SseEvents::default(), Asked::default());
    drain(wire, None, source, response, &mut events, &mut heard, &mut asked).await.ok();
    heard
}
