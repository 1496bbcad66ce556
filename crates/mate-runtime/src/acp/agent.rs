//! The owner's side of a connection to a runtime.

use super::{
    AcpError, Event, Lost, McpEndpoints, SessionStart, StopReason, TurnEnd, Via,
    coalesce::{Item, coalesce},
    desk::{Desk, UNANSWERED},
    link::{self, Link, Reader},
    options::{AgentInfo, AgentOptions},
    parse,
    peer::{Call, Closed, NotBegun, Peer},
    session,
    wire::{
        Authenticate, CancelTurn, Initialize, LoadSession, McpServer, NewSession, Prompt, ResumeSession,
        Said, SetMode,
    },
};
use crate::container::Process;
use mate_rpc::Answer;
use serde_json::Value;
use std::{
    fmt,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// How many things that the runtime said wait to be joined and passed on.
const SAID: usize = 64;
/// How many lines wait to be written: room for the answers to all requests of the runtime, so that a runtime that reads
/// late is still read, and for ours.
const QUEUED: usize = 3 * UNANSWERED;

/// A runtime that introduced itself. One session, one prompt at a time.
///
/// The events of [`Agent::connect`] must be drained all the while; the runtime waits otherwise.
#[derive(Clone)]
pub struct Agent(Arc<Inner>);

struct Inner {
    peer: Peer,
    link: Arc<Link>,
    items: mpsc::Sender<Item>,
    cancels: watch::Sender<u64>,
    session: Mutex<Option<String>>,
    /// True from a prompt's sending until its end is known, also when nobody waits for it any more.
    busy: AtomicBool,
    info: AgentInfo,
    options: AgentOptions,
    /// Ends the connection.
    stop: CancellationToken,
}

/// The last owner is gone.
impl Drop for Inner {
    fn drop(&mut self) {
        self.link.lose(Lost::Closed);
        self.stop.cancel();
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("info", &self.0.info).finish_non_exhaustive()
    }
}

impl Agent {
    /// Takes over a process, introduces itself and authenticates.
    ///
    /// # Errors
    /// When the runtime ends, is silent for too long, speaks another version or refuses.
    pub async fn connect(
        process: Process,
        options: AgentOptions,
    ) -> Result<(Self, mpsc::Receiver<Event>), AcpError> {
        let (events, receiver) = mpsc::channel(options.events.max(1));
        let (items, incoming) = mpsc::channel(SAID);
        tokio::spawn(coalesce(incoming, events));
        let link = Arc::new(Link::new(process.exited));
        tokio::spawn(link::listen(Arc::clone(&link), process.stderr, options.on_stderr.clone()));
        let (outgoing, to_write) = mpsc::channel(QUEUED);
        let stop = CancellationToken::new();
        tokio::spawn(link::write(Arc::clone(&link), process.stdin, to_write, stop.clone()));
        let peer = Peer::new(outgoing.clone());
        let (cancels, cancelled) = watch::channel(0);
        let desk = Desk::new(items.clone(), outgoing, cancelled);
        let reader =
            Reader { link: Arc::clone(&link), items: items.clone(), desk, calls: peer.calls(), garbage: 0 };
        tokio::spawn(reader.run(process.stdout, options.max_line));
        let mut inner = Inner {
            peer,
            link,
            items,
            cancels,
            session: Mutex::default(),
            busy: AtomicBool::new(false),
            info: AgentInfo::default(),
            options,
            stop,
        };
        inner.info = inner.initialize().await?;
        inner.authenticate().await?;
        Ok((Self(Arc::new(inner)), receiver))
    }

    /// How the runtime introduced itself.
    #[must_use]
    pub fn info(&self) -> &AgentInfo {
        &self.0.info
    }

    /// Opens a new session in `cwd`.
    ///
    /// # Errors
    /// When the runtime refuses, or has a session already.
    pub async fn new_session(&self, cwd: &Path, mcp: &McpEndpoints) -> Result<SessionStart, AcpError> {
        let (server, via) = self.0.prepare(mcp)?;
        let request = NewSession { cwd, mcp_servers: [server] };
        let answer = self.0.ask(&request, self.0.options.session_timeout).await?;
        let id = answer["sessionId"].as_str().filter(|id| !id.is_empty() && id.len() <= 1_000);
        let id = id.ok_or_else(|| unusable("session/new", "it names no session"))?.to_owned();
        Ok(self.0.opened(id, via, &answer))
    }

    /// Loads an earlier session. The history that the runtime tells comes as events, before the answer
    /// or after it: until the first prompt every event is history.
    ///
    /// # Errors
    /// When the runtime cannot do that, does not know the session, or has a session already.
    pub async fn load_session(
        &self,
        id: &str,
        cwd: &Path,
        mcp: &McpEndpoints,
    ) -> Result<SessionStart, AcpError> {
        if !self.0.info.load {
            return Err(AcpError::NotOffered { what: "the loading of sessions" });
        }
        let (server, via) = self.0.prepare(mcp)?;
        let request = LoadSession { session_id: id, cwd, mcp_servers: [server] };
        let answer = self.0.ask(&request, self.0.options.session_timeout).await?;
        self.0.flush().await;
        same_session("session/load", id, &answer)?;
        Ok(self.0.opened(id.to_owned(), via, &answer))
    }

    /// Resumes an earlier session, without its history.
    ///
    /// # Errors
    /// When the runtime cannot do that, does not know the session, or has a session already.
    pub async fn resume_session(
        &self,
        id: &str,
        cwd: &Path,
        mcp: &McpEndpoints,
    ) -> Result<SessionStart, AcpError> {
        if !self.0.info.resume {
            return Err(AcpError::NotOffered { what: "the resuming of sessions" });
        }
        let (server, via) = self.0.prepare(mcp)?;
        let request = ResumeSession { session_id: id, cwd, mcp_servers: [server] };
        let answer = self.0.ask(&request, self.0.options.session_timeout).await?;
        same_session("session/resume", id, &answer)?;
        Ok(self.0.opened(id.to_owned(), via, &answer))
    }

    /// Puts the session into a mode.
    ///
    /// # Errors
    /// When there is no session or the runtime refuses.
    pub async fn set_mode(&self, mode: &str) -> Result<(), AcpError> {
        let session = self.0.session()?;
        let request = SetMode { session_id: &session, mode_id: mode };
        self.0.ask(&request, self.0.options.session_timeout).await?;
        Ok(())
    }

    /// Sends a prompt and waits for the end of its turn. All events of the turn are in the queue before
    /// this returns. Dropping the future does not take the prompt back; the runtime stays busy until
    /// its turn has ended.
    ///
    /// # Errors
    /// [`AcpError::Busy`] while a prompt is unanswered, [`AcpError::NoSession`] before there is one. How
    /// a turn that was begun ended is never an error.
    pub async fn prompt(&self, text: &str) -> Result<TurnEnd, AcpError> {
        let session = self.0.session()?;
        if self.0.busy.swap(true, Ordering::AcqRel) {
            return Err(AcpError::Busy);
        }
        let mut call = self.0.begin(&Prompt::of(&session, text));
        // Before anything else can be said: a cancel that overtakes its prompt ends nothing.
        if let Ok(call) = &mut call {
            call.queue();
        }
        let inner = Arc::clone(&self.0);
        let turn = tokio::spawn(async move {
            let end = inner.turn(call).await;
            inner.flush().await;
            inner.busy.store(false, Ordering::Release);
            end
        });
        Ok(turn.await.unwrap_or(TurnEnd::Lost(Lost::Closed)))
    }

    /// Asks the runtime to end its turn, and withdraws the permission requests that are open. A request.
    ///
    /// # Errors
    /// When there is no session or the runtime is gone.
    pub fn cancel(&self) -> Result<(), AcpError> {
        let session = self.0.session()?;
        if let Some(lost) = self.lost() {
            return Err(lost.into());
        }
        let sent = self.0.peer.tell(&CancelTurn { session_id: &session });
        self.0.cancels.send_modify(|count| *count = count.wrapping_add(1));
        sent.map_err(|Closed| Lost::Closed.into())
    }

    /// Closes the runtime's standard input, which asks it to end.
    pub fn close_input(&self) {
        self.0.link.close_input.notify_one();
    }

    /// Why the runtime is gone, if it is.
    #[must_use]
    pub fn lost(&self) -> Option<Lost> {
        self.0.link.lost.borrow().clone()
    }

    /// Waits until the runtime is gone.
    pub async fn gone(&self) -> Lost {
        self.0.gone().await
    }

    /// The last 50 lines that it complained.
    #[must_use]
    pub fn stderr(&self) -> Vec<String> {
        self.0.link.stderr()
    }
}

impl Inner {
    async fn initialize(&self) -> Result<AgentInfo, AcpError> {
        let request = Initialize::of(&self.options.client_name, &self.options.client_version);
        AgentInfo::read(&self.ask(&request, self.options.initialize_timeout).await?)
    }

    async fn authenticate(&self) -> Result<(), AcpError> {
        if let Some(method) = &self.options.auth_method {
            let request = Authenticate { method_id: method };
            self.ask(&request, self.options.session_timeout).await?;
        }
        Ok(())
    }

    fn prepare<'a>(&self, mcp: &'a McpEndpoints) -> Result<(McpServer<'a>, Via), AcpError> {
        if self.session().is_ok() {
            return Err(AcpError::SecondSession);
        }
        mcp.choose(self.info.mcp_http)
    }

    fn opened(&self, id: String, via: Via, answer: &Value) -> SessionStart {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(id.clone());
        session::start(id, via, answer)
    }

    fn session(&self) -> Result<String, AcpError> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        session.clone().ok_or(AcpError::NoSession)
    }

    async fn turn(&self, call: Result<Call, AcpError>) -> TurnEnd {
        let answer = match call {
            Ok(call) => self.outcome(Prompt::METHOD, call).await,
            Err(why) => Err(why),
        };
        match answer {
            Ok(answer) => match parse::turn(&answer) {
                Some((reason, usage)) => TurnEnd::Stopped { reason, usage },
                None => TurnEnd::Stopped { reason: StopReason::Other("unnamed".to_owned()), usage: None },
            },
            Err(AcpError::Refused { code, message, .. }) => TurnEnd::Failed { code, message },
            Err(AcpError::Lost(lost)) => TurnEnd::Lost(lost),
            Err(other) => TurnEnd::Failed { code: 0, message: other.to_string() },
        }
    }

    /// Everything that was said so far is in the owner's queue when this returns.
    async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.items.send(Item::Barrier(done)).await.is_ok() {
            let _ = flushed.await;
        }
    }

    async fn gone(&self) -> Lost {
        let mut lost = self.link.lost.subscribe();
        match lost.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or(Lost::Closed),
            Err(_) => Lost::Closed,
        }
    }

    async fn ask<S: Said>(&self, request: &S, patience: Duration) -> Result<Value, AcpError> {
        let call = self.begin(request)?;
        match tokio::time::timeout(patience, self.outcome(S::METHOD, call)).await {
            Ok(answer) => answer,
            Err(_) => Err(AcpError::TimedOut { method: S::METHOD, seconds: patience.as_secs() }),
        }
    }

    fn closed(&self) -> AcpError {
        self.link.lost.borrow().clone().unwrap_or(Lost::Closed).into()
    }

    fn begin<S: Said>(&self, request: &S) -> Result<Call, AcpError> {
        self.peer.begin(request).map_err(|why| match why {
            NotBegun::Closed => self.closed(),
            NotBegun::TooMany => AcpError::Unwritable("too many requests have no answer yet".to_owned()),
            NotBegun::Unwritable(why) => AcpError::Unwritable(parse::message(&why)),
        })
    }

    /// The answer to a request; ends when the runtime is gone, and not before.
    async fn outcome(&self, method: &'static str, mut call: Call) -> Result<Value, AcpError> {
        let mut sent = std::pin::pin!(async {
            call.send().await?;
            if method == Prompt::METHOD {
                mate_fault::point_async!("worker.prompt_sent");
            }
            call.answer().await
        });
        let answer = tokio::select! {
            biased;
            answer = &mut sent => answer,
            lost = self.gone() => {
                // An answer that came just before the end is still an answer.
                match tokio::time::timeout(Duration::from_secs(1), &mut sent).await {
                    Ok(answer) => answer,
                    Err(_) => return Err(lost.into()),
                }
            }
        };
        match answer.map_err(|Closed| self.closed())? {
            // Read as it comes: what an answer has to have is looked for by who asked.
            Answer::Result(answer) => serde_json::from_str(answer.get())
                .map_err(|error| unusable(method, &format!("it cannot be read ({error})"))),
            Answer::Error(fault) => Err(AcpError::refused(method, &fault)),
        }
    }
}

/// The answer need not name the session; one that names another has not opened the one that was asked for.
fn same_session(method: &'static str, id: &str, answer: &Value) -> Result<(), AcpError> {
    match answer["sessionId"].as_str() {
        Some(other) if other != id => Err(unusable(method, "it names another session")),
        Some(_) | None => Ok(()),
    }
}

fn unusable(method: &'static str, why: &str) -> AcpError {
    AcpError::Unusable { method, why: why.to_owned() }
}
