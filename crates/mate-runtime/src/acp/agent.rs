//! The owner's side of a connection to a runtime.

use super::{
    AcpError, Event, Lost, McpEndpoints, SessionStart, StopReason, TurnEnd, Via,
    coalesce::{Item, coalesce},
    connection::{Desk, Peer, WAITING, drive},
    link::{self, Link, Reader},
    options::{AgentInfo, AgentOptions},
    parse, session,
};
use crate::container::Process;
use agent_client_protocol::{
    JsonRpcMessage, is_connection_terminated, is_incoming_transport_closed,
    schema::ProtocolVersion,
    v1::schema::{
        AuthenticateRequest, CancelNotification, ClientCapabilities, ContentBlock, FileSystemCapabilities,
        Implementation, InitializeRequest, LoadSessionRequest, NewSessionRequest, PromptRequest,
        ResumeSessionRequest, SetSessionModeRequest, TextContent,
    },
};
use serde_json::Value;
use std::{
    fmt,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::{mpsc, oneshot, watch};

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
    /// Dropped with the last owner, which ends the connection.
    _stop: oneshot::Sender<()>,
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
        let (items, incoming) = mpsc::channel(WAITING);
        tokio::spawn(coalesce(incoming, events));
        let link = Arc::new(Link::new(process.exited));
        tokio::spawn(link::listen(Arc::clone(&link), process.stderr, options.on_stderr.clone()));
        let (outgoing, to_write) = mpsc::channel(WAITING);
        tokio::spawn(link::write(Arc::clone(&link), process.stdin, to_write));
        let (messages, to_library) = mpsc::channel(WAITING);
        let reader = Reader { link: Arc::clone(&link), items: items.clone(), messages, garbage: 0 };
        tokio::spawn(reader.run(process.stdout, options.max_line));
        let (cancels, cancelled) = watch::channel(0);
        let desk = Arc::new(Desk { items: items.clone(), cancels: cancelled, asked: AtomicU64::new(0) });
        let (ready, peer) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(Box::pin(drive(Arc::clone(&link), desk, to_library, outgoing, ready, stopped)));
        let peer = peer.await.map_err(|_| Lost::Closed)?;
        let mut inner = Inner {
            peer,
            link,
            items,
            cancels,
            session: Mutex::default(),
            busy: AtomicBool::new(false),
            info: AgentInfo::default(),
            options,
            _stop: stop,
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
        let request = NewSessionRequest::new(cwd).mcp_servers(vec![server]);
        let answer = self.0.ask("session/new", &request, self.0.options.session_timeout).await?;
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
        let request = LoadSessionRequest::new(id.to_owned(), cwd).mcp_servers(vec![server]);
        let answer = self.0.ask("session/load", &request, self.0.options.session_timeout).await?;
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
        let request = ResumeSessionRequest::new(id.to_owned(), cwd).mcp_servers(vec![server]);
        let answer = self.0.ask("session/resume", &request, self.0.options.session_timeout).await?;
        same_session("session/resume", id, &answer)?;
        Ok(self.0.opened(id.to_owned(), via, &answer))
    }

    /// Puts the session into a mode.
    ///
    /// # Errors
    /// When there is no session or the runtime refuses.
    pub async fn set_mode(&self, mode: &str) -> Result<(), AcpError> {
        let request = SetSessionModeRequest::new(self.0.session()?, mode.to_owned());
        self.0.ask("session/set_mode", &request, self.0.options.session_timeout).await?;
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
        let request = PromptRequest::new(
            self.0.session()?,
            vec![ContentBlock::Text(TextContent::new(text.to_owned()))],
        );
        if self.0.busy.swap(true, Ordering::AcqRel) {
            return Err(AcpError::Busy);
        }
        let inner = Arc::clone(&self.0);
        let turn = tokio::spawn(async move {
            let end = inner.turn(request).await;
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
        let sent = self.0.peer.send_notification(CancelNotification::new(session));
        self.0.cancels.send_modify(|count| *count = count.wrapping_add(1));
        sent.map_err(|_| Lost::Closed.into())
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
        let files = FileSystemCapabilities::new().read_text_file(false).write_text_file(false);
        let capabilities = ClientCapabilities::new().fs(files).terminal(false);
        let client =
            Implementation::new(self.options.client_name.clone(), self.options.client_version.clone());
        let request =
            InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities).client_info(client);
        let answer = self.ask("initialize", &request, self.options.initialize_timeout).await?;
        if answer["protocolVersion"] != 1 {
            return Err(AcpError::Version {
                version: parse::cut(&answer["protocolVersion"].to_string(), 40),
            });
        }
        let abilities = &answer["agentCapabilities"];
        let resume = &abilities["sessionCapabilities"]["resume"];
        Ok(AgentInfo {
            name: parse::short(&answer["agentInfo"]["name"]),
            version: parse::short(&answer["agentInfo"]["version"]),
            mcp_http: abilities["mcpCapabilities"]["http"] == true,
            load: abilities["loadSession"] == true,
            resume: resume.is_object() || *resume == true,
            auth_methods: parse::list(&answer["authMethods"])
                .filter_map(|method| parse::short(&method["id"]))
                .collect(),
        })
    }

    async fn authenticate(&self) -> Result<(), AcpError> {
        if let Some(method) = &self.options.auth_method {
            let request = AuthenticateRequest::new(method.clone());
            self.ask("authenticate", &request, self.options.session_timeout).await?;
        }
        Ok(())
    }

    fn prepare(
        &self,
        mcp: &McpEndpoints,
    ) -> Result<(agent_client_protocol::v1::schema::McpServer, Via), AcpError> {
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

    async fn turn(&self, request: PromptRequest) -> TurnEnd {
        match self.answer("session/prompt", &request).await {
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

    async fn ask(
        &self,
        method: &'static str,
        request: &impl JsonRpcMessage,
        patience: Duration,
    ) -> Result<Value, AcpError> {
        match tokio::time::timeout(patience, self.answer(method, request)).await {
            Ok(answer) => answer,
            Err(_) => Err(AcpError::TimedOut { method, seconds: patience.as_secs() }),
        }
    }

    /// The answer to a request; ends when the runtime is gone, and not before.
    async fn answer(&self, method: &'static str, request: &impl JsonRpcMessage) -> Result<Value, AcpError> {
        // Sent as it is typed and answered as it comes, because answers are read leniently.
        let message = request
            .to_untyped_message()
            .map_err(|error| AcpError::Unwritable(parse::message(&error.message)))?;
        let sent = self.peer.send_request(message).block_task();
        let mut sent = std::pin::pin!(sent);
        if method == "session/prompt" {
            mate_fault::point_async!("worker.prompt_sent");
        }
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
        match answer {
            Ok(answer) => Ok(answer),
            Err(error) if is_incoming_transport_closed(&error) || is_connection_terminated(&error) => {
                Err(self.gone().await.into())
            }
            Err(error) => {
                let code = i32::from(error.code);
                Err(AcpError::Refused {
                    method,
                    code,
                    message: parse::error_words(&error.message, error.data.as_ref()),
                })
            }
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
