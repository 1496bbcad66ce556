//! One running child: who writes to it, who reads from it, and what its death means.

use super::{End, Hello, Inbound, Outgoing, Reply, dress::dress, inbound, own::Own};
use crate::{
    config::{Child, Limits},
    core::{
        Answer, MOST, Message, Response, bounded,
        lines::{Line, Lines, guess_id},
        message, raw,
    },
};
use serde_json::{json, value::RawValue};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::Mutex as AsyncMutex,
};
use tokio_util::sync::CancellationToken;

/// Requests without an answer that are remembered, given-up ones included.
const REMEMBERED: usize = 1024;
/// The id of our `initialize`; no other request has it.
const HANDSHAKE: u64 = 0;
/// The same of the question whether it speaks without sessions, and of the request by which it is listened to.
const DISCOVER: u64 = (1 << 53) - 1;
const LISTEN: u64 = (1 << 53) - 2;
/// Ids below that one which are for listening as well.
const LISTENING: u64 = 1 << 20;
/// Resources that are listened to at one upstream.
const WATCHED: usize = 256;
/// How long it may take to answer that question before it is greeted as of the old era as well.
const PROBE: Duration = Duration::from_secs(2);

type Writer = Box<dyn AsyncWrite + Send + Unpin>;

pub(crate) struct Link {
    writer: AsyncMutex<Option<Writer>>,
    pending: Mutex<Pending>,
    end: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    hello: OnceLock<Arc<Hello>>,
    dead: CancellationToken,
    limits: Limits,
    inbound: Arc<dyn Inbound>,
    /// Resources of whose changes it tells, where it speaks without sessions.
    watched: Mutex<Vec<String>>,
}

#[derive(Default)]
struct Pending {
    replies: HashMap<u64, Reply>,
    /// The request whose bytes go out right now: whoever writes it knows best what became of it.
    writing: Option<u64>,
    death: Option<String>,
}

/// A request while it is written. Afterwards the death of the link counts for it as for all others.
struct BeingWritten<'a> {
    link: &'a Link,
    id: u64,
}

impl Drop for BeingWritten<'_> {
    fn drop(&mut self) {
        let lost = {
            let mut pending = lock(&self.link.pending);
            pending.writing.take_if(|id| *id == self.id);
            let death = pending.death.clone();
            death.and_then(|why| pending.replies.remove(&self.id).map(|reply| (reply, why)))
        };
        if let Some((reply, why)) = lost {
            reply.lost(&gone(&why));
        }
    }
}

fn gone(why: &str) -> String {
    format!("the upstream went away before it answered: {why}")
}

/// A link that ends its child when dropped before it is kept.
pub(crate) struct Starting(Option<Arc<Link>>);

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(link) = self.0.take() {
            link.end("its start was given up");
        }
    }
}

impl Starting {
    /// Greets the child; only then the link is worth keeping.
    pub(crate) async fn handshake(mut self, probe: bool) -> Result<Arc<Link>, NotGreeted> {
        match &self.0 {
            Some(link) => link.handshake(probe).await?,
            None => return Err(NotGreeted::Failed("it is not running".into())),
        }
        self.0.take().ok_or_else(|| NotGreeted::Failed("it is not running".into()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    pub(crate) fn start(child: Child, limits: Limits, inbound: Arc<dyn Inbound>) -> Starting {
        let link = Arc::new(Self {
            writer: AsyncMutex::new(Some(child.stdin)),
            pending: Mutex::default(),
            end: Mutex::new(Some(child.end)),
            hello: OnceLock::new(),
            dead: CancellationToken::new(),
            limits,
            inbound,
            watched: Mutex::default(),
        });
        tokio::spawn(Arc::clone(&link).read(child.stdout));
        if let Some(stderr) = child.stderr {
            tokio::spawn(Arc::clone(&link).read_stderr(stderr));
        }
        let watcher = Arc::clone(&link);
        tokio::spawn(async move {
            let how = tokio::select! {
                how = child.exit => Some(how),
                () = watcher.dead.cancelled() => None,
            };
            if let Some(how) = how {
                // What it wrote before its end is still in the pipe: the reader gets there first.
                tokio::time::timeout(Duration::from_secs(2), watcher.dead.cancelled()).await.ok();
                watcher.end(&format!("its process ended ({how})"));
            }
        });
        Starting(Some(link))
    }

    pub(crate) fn alive(&self) -> bool {
        !self.dead.is_cancelled()
    }

    /// Whether a request waits for its answer, or is written.
    pub(crate) fn is_busy(&self) -> bool {
        let pending = lock(&self.pending);
        // What is only listened for does not count: it may never be answered.
        let listens = |id: &u64| (LISTEN - LISTENING..=LISTEN).contains(id);
        pending.writing.is_some() || pending.replies.keys().any(|id| !listens(id))
    }

    pub(crate) fn hello(&self) -> Option<Arc<Hello>> {
        self.hello.get().cloned()
    }

    /// Finds out what it speaks: it is asked whether it does without sessions, and greeted if it says no, something else
    /// or, for a while, nothing. One that was greeted is of the old era, unless it refuses that and has said yes by then.
    async fn handshake(&self, probe: bool) -> Result<(), NotGreeted> {
        let asked = self.ask(DISCOVER, "server/discover", raw(&json!({})));
        tokio::pin!(asked);
        let mut said = None;
        if probe {
            match tokio::time::timeout(PROBE, &mut asked).await {
                Ok(answer) => said = Some(answer.map_err(NotGreeted::WhenAsked)?),
                Err(_) => self.inbound.diagnostic("it does not say whether it speaks without sessions"),
            }
        }
        if let Some(Answer::Result(result)) = &said
            && let Ok(hello) = Hello::discovered(result)
        {
            self.discovered(hello).await;
            return Ok(());
        }
        let refused = match self.ask(HANDSHAKE, "initialize", Hello::ours(self.inbound.has_roots())).await? {
            Answer::Result(result) => {
                self.hello.set(Arc::new(Hello::read(&result)?)).ok();
                let greeted = message::write_notification("notifications/initialized", None);
                let written = self.write(&greeted, || true).await;
                return written
                    .map_err(|e| NotGreeted::Failed(format!("it closed its input in the handshake ({e})")));
            }
            Answer::Error(fault) => format!("it refused the handshake: {}", bounded(fault.0.get())),
        };
        if !probe || said.is_some() {
            return Err(NotGreeted::Failed(refused));
        }
        match asked.await? {
            Answer::Result(result) => self.discovered(Hello::discovered(&result)?).await,
            Answer::Error(_) => return Err(NotGreeted::Failed(refused)),
        }
        Ok(())
    }

    /// It speaks without sessions: it is listened to, if it tells of changes.
    async fn discovered(&self, hello: Hello) {
        let wish = hello.wishes(&[]);
        self.hello.set(Arc::new(hello)).ok();
        if let Some(params) = wish {
            self.listen(LISTEN, params).await;
        }
    }

    /// Wants to be told of changes. The request has no answer while it is of use.
    async fn listen(&self, id: u64, params: Box<RawValue>) {
        let (reply, _race, _end) = Reply::new(None);
        self.send(Outgoing { id, method: "subscriptions/listen", params, mirrored: Vec::new(), reply }).await;
    }

    /// Wants to be told of changes of one more resource.
    pub(crate) async fn watch(&self, uri: &str) {
        let place = {
            let mut watched = lock(&self.watched);
            if watched.len() >= WATCHED || watched.iter().any(|known| known == uri) {
                return;
            }
            watched.push(uri.to_owned());
            watched.len() as u64
        };
        let params = raw(&json!({ "notifications": { "resourceSubscriptions": [uri] } }));
        self.listen(LISTEN - place, params).await;
    }

    /// A request of the handshake and its answer.
    async fn ask(&self, id: u64, method: &'static str, params: Box<RawValue>) -> Result<Answer, String> {
        let (reply, _race, end) = Reply::new(None);
        self.send(Outgoing { id, method, params, mirrored: Vec::new(), reply }).await;
        match end.await {
            Ok(End::Answer(answer)) => Ok(answer),
            Ok(End::NotSent(why) | End::Unknown(why)) => Err(why),
            Err(_) => Err("its handshake was dropped".into()),
        }
    }

    /// Writes the request; its reply is remembered first, so that no answer can come too early.
    pub(crate) async fn send(&self, outgoing: Outgoing) {
        let Outgoing { id, method, params, reply, .. } = outgoing;
        // What it is asked before it is greeted is in the words that it is asked in.
        let new = self.hello().map_or(id == DISCOVER, |hello| hello.new);
        let line = message::write_request(id, method, &dress(&params, new));
        let refused = {
            let mut pending = lock(&self.pending);
            if let Some(death) = &pending.death {
                Some((format!("the upstream is gone: {death}"), reply))
            } else if pending.replies.len() >= REMEMBERED {
                Some(("too many requests at this upstream have no answer yet".into(), reply))
            } else {
                pending.replies.insert(id, reply);
                None
            }
        };
        if let Some((why, reply)) = refused {
            return reply.end(End::NotSent(why));
        }
        let begin = || {
            let mut pending = lock(&self.pending);
            let begun = pending.replies.get(&id).is_some_and(Reply::begin);
            if begun {
                pending.writing = Some(id);
            }
            begun
        };
        let being_written = BeingWritten { link: self, id };
        if let Err(error) = self.write(&line, begin).await
            && let Some(reply) = lock(&self.pending).replies.remove(&id)
        {
            reply.end(match error {
                WriteError::Nothing(why) => End::NotSent(why),
                WriteError::Some(why) => End::Unknown(why),
            });
        }
        drop(being_written);
        if method == "tools/call" {
            mate_fault::point_async!("bridge.written");
        }
    }

    /// Writes one line. `begin` is asked right before the first byte and may call it off.
    pub(crate) async fn write(&self, line: &str, begin: impl Fn() -> bool) -> Result<(), WriteError> {
        let mut guard = self.writer.lock().await;
        let Some(mut writer) = guard.take() else {
            return Err(WriteError::Nothing("the upstream's input is closed".into()));
        };
        if !begin() {
            *guard = Some(writer);
            return Err(WriteError::Nothing("it was called off before it was sent".into()));
        }
        // From here a line is written whole or the link is at its end: half a line poisons the stream.
        let mut torn = Torn(Some(self));
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        self.write_all(&mut writer, &bytes).await?;
        torn.0 = None;
        *guard = Some(writer);
        Ok(())
    }

    async fn write_all(&self, writer: &mut Writer, bytes: &[u8]) -> Result<(), WriteError> {
        let broken = || WriteError::Some("the upstream closed its input while the call was written".into());
        let mut done = 0;
        while done < bytes.len() {
            let wrote = tokio::select! {
                wrote = writer.write(&bytes[done..]) => wrote.unwrap_or(0),
                () = self.dead.cancelled() => 0,
            };
            if wrote == 0 && done == 0 {
                return Err(WriteError::Nothing(
                    "the upstream had closed its input; nothing was written".into(),
                ));
            }
            if wrote == 0 {
                return Err(broken());
            }
            done += wrote;
        }
        writer.flush().await.map_err(|_| broken())
    }

    /// Ends the child and every request that waits for it.
    pub(crate) fn end(&self, why: &str) {
        self.dead.cancel();
        let replies = {
            let mut pending = lock(&self.pending);
            pending.death.get_or_insert_with(|| why.to_owned());
            let writing = pending.writing;
            let lost = pending.replies.extract_if(|id, _| Some(*id) != writing);
            lost.map(|(_, reply)| reply).collect::<Vec<_>>()
        };
        for reply in replies {
            // Nothing of a request goes out after this: `begin` no longer finds it.
            reply.lost(&gone(why));
        }
        if let Some(end) = lock(&self.end).take() {
            end();
        }
    }

    async fn read(self: Arc<Self>, stdout: Box<dyn AsyncRead + Send + Unpin>) {
        let mut lines = Lines::new(stdout, self.limits.message);
        let own = Own::default();
        let why = loop {
            let line = tokio::select! {
                line = lines.next() => line,
                () = self.dead.cancelled() => break "it was ended".to_owned(),
            };
            match line {
                Ok(Line::Text(text)) => self.take(&text, &own),
                Ok(Line::TooLong { head, tail }) => self.take_oversized(&head, &tail),
                // What has no line break is not a whole message.
                Ok(Line::Unfinished(_) | Line::End) => break "it closed its output".to_owned(),
                Err(error) => break format!("reading from it failed ({error})"),
            }
        };
        if self.alive() {
            self.inbound.diagnostic(&why);
        }
        self.end(&why);
    }

    fn take(self: &Arc<Self>, text: &[u8], own: &Own) {
        match inbound::read(&*self.inbound, text) {
            None => {}
            Some(Message::Response(response)) => self.take_response(response),
            Some(Message::Notification(notification)) => self.inbound.notification(None, notification),
            Some(Message::Request(request)) => {
                let Some(taken) = own.take(&request, &*self.inbound) else { return };
                let link = Arc::clone(self);
                tokio::spawn(async move {
                    let answered = async {
                        let text = inbound::answer(Arc::clone(&link.inbound), None, request).await;
                        link.write(&text, || true).await.ok();
                        mate_fault::point_async!("answer.written");
                    };
                    tokio::select! {
                        () = answered => {}
                        () = link.dead.cancelled() => {}
                    }
                    drop(taken);
                });
            }
        }
    }

    fn take_response(&self, response: Response) {
        let id = response.id.as_ref().and_then(crate::core::Id::as_number);
        let reply = id.and_then(|id| lock(&self.pending).replies.remove(&id));
        match reply {
            Some(reply) => reply.end(End::Answer(response.answer)),
            None => self.inbound.diagnostic("it answered what was not asked"),
        }
    }

    fn take_oversized(&self, head: &[u8], tail: &[u8]) {
        let limit = self.limits.message;
        self.inbound.diagnostic(&format!("it sent a message of more than {limit} bytes, which was dropped"));
        let reply = guess_id(head, tail).and_then(|id| lock(&self.pending).replies.remove(&id));
        if let Some(reply) = reply {
            reply
                .end(End::Unknown(format!("its answer was larger than {limit} bytes and could not be read")));
        }
    }

    async fn read_stderr(self: Arc<Self>, stderr: Box<dyn AsyncRead + Send + Unpin>) {
        // What is longer is cut where it is not shown any more: the beginning of a secret at the cut cannot be found.
        let mut lines = Lines::keeping(stderr, MOST);
        loop {
            let text = match lines.next().await {
                Ok(Line::Text(text)) => text,
                Ok(Line::TooLong { head, .. }) => head,
                Ok(Line::Unfinished(_) | Line::End) | Err(_) => return,
            };
            self.inbound.diagnostic(&format!("stderr: {}", String::from_utf8_lossy(&text)));
        }
    }
}

/// Why a child was not taken into use.
#[derive(Debug)]
pub(crate) enum NotGreeted {
    /// It went away when it was asked whether it speaks without sessions.
    WhenAsked(String),
    /// Anything else.
    Failed(String),
}

impl NotGreeted {
    pub(crate) fn into_words(self) -> String {
        match self {
            Self::WhenAsked(why) | Self::Failed(why) => why,
        }
    }
}

impl From<String> for NotGreeted {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// Ends the link when a write failed or was dropped half-way.
struct Torn<'a>(Option<&'a Link>);

impl Drop for Torn<'_> {
    fn drop(&mut self) {
        if let Some(link) = self.0 {
            link.end("writing to it failed");
        }
    }
}

/// Why a line was not, or not wholly, written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// No byte of it.
    #[error("{0}")]
    Nothing(String),
    /// A part of it, or perhaps all.
    #[error("{0}")]
    Some(String),
}

#[cfg(test)]
mod tests;
