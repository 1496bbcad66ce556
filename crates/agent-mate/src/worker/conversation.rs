//! The runtime's conversation: the one that a session had, loaded again, or a new one. What is lost is said.

use super::{Worker, activity::Pump, live::Live};
use anyhow::{Result, anyhow};
use mate_engine::Conversation;
use mate_model::{
    event::EventType,
    records::{Task, Turn},
    words::Context,
};
use mate_runtime::acp::{AcpError, Agent, HttpEndpoint, McpEndpoints, SessionStart, StdioEndpoint};
use mate_store::Change;
use serde_json::json;
use std::{fmt, path::Path, time::Duration};

/// How long a loaded conversation may take to tell its history when it came with none.
const HISTORY: Duration = Duration::from_secs(2);
/// How many events of a task are looked at for a sign that its agent ever said something.
const SIGNS: u32 = 200;

/// What the conversation has to be before a task's prompt.
pub(super) struct Need {
    /// The last turn that was prompted in the session, if there was one.
    last: Option<Turn>,
    /// The task continues that turn's conversation, and does not go on without it.
    must: bool,
}

/// The conversation that a task continues cannot be had. No prompt was sent.
#[derive(Debug)]
pub(super) struct ContextLost(pub(super) String);

impl fmt::Display for ContextLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ContextLost {}

/// A conversation that is open.
pub(super) struct Opened {
    pub(super) start: SessionStart,
    pub(super) context: Context,
}

impl Worker {
    /// What the conversation has to be before the task's prompt.
    ///
    /// # Errors
    /// [`ContextLost`] when it cannot be had any more, whatever the runtime says; the stores'.
    pub(super) async fn need(&self, task: &Task) -> Result<Need> {
        let last = self.reader.last_prompted(None).await?;
        let must = match self.engine.conversation_of(task).await? {
            Conversation::Any => false,
            Conversation::Known(id)
                if last.as_ref().is_some_and(|turn| turn.conversation.as_deref() == Some(&id)) =>
            {
                true
            }
            Conversation::Known(_) => {
                let why = "another conversation has taken its place in the session";
                return Err(self.context_lost(task, why).await?.into());
            }
            Conversation::Gone(why) => return Err(self.context_lost(task, why).await?.into()),
        };
        Ok(Need { last, must })
    }

    /// Opens the session's conversation with a runtime that was just launched.
    ///
    /// # Errors
    /// [`ContextLost`] when the task needs one that the runtime does not have; what the runtime or the stores say.
    pub(super) async fn converse(
        &self,
        task: &Task,
        need: &Need,
        live: &mut Live,
        pump: &mut Pump,
    ) -> Result<Opened> {
        let agent = live.agent.clone();
        let mcp = self.endpoints()?;
        let workspace = Path::new(&self.session.workspace);
        let again = match need.last.as_ref().map(|turn| turn.conversation.as_deref()) {
            None => None,
            Some(None) => Some(Err("it gave its conversation no name that could be kept".to_owned())),
            Some(Some(id)) => {
                let again = load(&agent, id, workspace, &mcp);
                Some(live.during(pump, again).await.map_err(|error| error.to_string()))
            }
        };
        let context = match again {
            Some(Ok(start)) => return Ok(Opened { start, context: Context::Loaded }),
            Some(Err(why)) => {
                self.say_lost(task, need, &why).await?;
                Context::Lost
            }
            None => Context::New,
        };
        let start = live.during(pump, agent.new_session(workspace, &mcp)).await?;
        Ok(Opened { start, context })
    }

    /// Looks whether a conversation that was loaded has its history; a runtime that tells none has lost it.
    pub(super) async fn look_for_history(
        &self,
        task: &Task,
        need: &Need,
        live: &mut Live,
        pump: &mut Pump,
    ) -> Result<Context> {
        // One that is resumed is not told again.
        let Some(last) = need.last.as_ref().filter(|_| !live.agent.info().resume) else {
            return Ok(Context::Loaded);
        };
        if live.hears_history(pump, HISTORY).await || !self.was_told(last).await? {
            return Ok(Context::Loaded);
        }
        self.say_lost(task, need, "it loaded the conversation and told none of its history").await?;
        Ok(Context::Lost)
    }

    /// Whether the runtime ever said or did something in a turn that the record shows.
    async fn was_told(&self, turn: &Turn) -> Result<bool> {
        let events = self.reader.tail(Some(turn.task), SIGNS).await?.items;
        Ok(events.iter().any(|event| {
            [
                EventType::AgentMessage,
                EventType::AgentThought,
                EventType::AgentPlan,
                EventType::ToolCall,
                EventType::ToolUpdate,
            ]
            .contains(&event.kind)
        }))
    }

    /// Says that the conversation is lost; a task that needs it ends here.
    async fn say_lost(&self, task: &Task, need: &Need, why: &str) -> Result<()> {
        if need.must {
            return Err(self.context_lost(task, why).await?.into());
        }
        let conversation = need.last.as_ref().and_then(|turn| turn.conversation.as_deref());
        let data =
            json!({ "conversation": conversation.map(|id| self.clean(id)), "detail": self.clean(why) });
        self.recorder.event(EventType::ContextLost, data).await?;
        Ok(())
    }

    async fn context_lost(&self, task: &Task, why: &str) -> Result<ContextLost> {
        let why = self.clean(why);
        let turn = self.desk.current().ok_or_else(|| anyhow!("no turn is open"))?.turn;
        let event = self.recorder.draft(EventType::ContextLost, json!({ "detail": why, "needed": true }));
        let context = Context::Lost;
        let change = Change::SetContext { turn, context, conversation: None, note: None };
        self.recorder.write(vec![Change::Event(event), change]).await?;
        Ok(ContextLost(format!(
            "the runtime does not have the conversation that this task continues: {why}; nothing was sent to it. \
             To go on without that conversation: agent-mate task resume {} --fresh",
            task.id
        )))
    }

    fn endpoints(&self) -> Result<McpEndpoints> {
        let bridge = self.bridge.as_ref().ok_or_else(|| anyhow!("the session has no bridge"))?;
        Ok(McpEndpoints {
            name: "agent-mate".to_owned(),
            http: (!self.registration.shows_headers)
                .then(|| HttpEndpoint { url: bridge.url().to_owned(), bearer: bridge.bearer().to_owned() }),
            stdio: Some(StdioEndpoint {
                command: self.exe.clone(),
                args: vec!["bridge".to_owned(), self.folder.bridge().display().to_string()],
                env: Vec::new(),
            }),
        })
    }
}

async fn load(
    agent: &Agent,
    id: &str,
    workspace: &Path,
    mcp: &McpEndpoints,
) -> Result<SessionStart, AcpError> {
    if agent.info().resume {
        agent.resume_session(id, workspace, mcp).await
    } else {
        agent.load_session(id, workspace, mcp).await
    }
}
