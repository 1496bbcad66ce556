//! Closing a session: its worker ends, and with it everything that runs in it; it takes no further tasks.

use super::NamedSession;
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{
    SessionId,
    event::{Draft, EventType},
    records::Session,
    session::{SessionCommand, SessionState},
};
use mate_store::LedgerError;
use serde_json::json;
use std::time::Duration;

/// How often it is looked whether the worker has given the session back.
const LOOK: Duration = Duration::from_millis(100);
/// How often at most: half a minute. The wish stays after that.
const LOOKS: u32 = 300;

impl Engine {
    /// Closes a session that has nothing to do and nothing uncertain. A worker that is idle in it is asked to end, and
    /// waited for; one that takes longer ends all the same, and the answer says that the session is still hosted.
    /// Closed already: the same answer again.
    ///
    /// # Errors
    /// [`EngineError::NotFound`]; that it has an unfinished or an uncertain task; the ledger's.
    pub async fn close_session(&self, who: &Principal, id: &str) -> Result<NamedSession, EngineError> {
        let id: SessionId = id.parse().map_err(|_| EngineError::NotFound)?;
        self.session_of(who, id, Verb::SessionClose).await?;
        for look in 0..LOOKS {
            if self.close_now(who, id).await? {
                break;
            }
            if look == 0 {
                self.ledger.ask_close(id, self.clock.now()).await?;
            }
            tokio::time::sleep(LOOK).await;
        }
        self.session(who, &id.to_string()).await
    }

    /// Closes the session if it is idle; says whether it is closed now.
    async fn close_now(&self, who: &Principal, id: SessionId) -> Result<bool, EngineError> {
        let session = self.ledger.session(id).await?.ok_or(EngineError::NotFound)?;
        match session.state {
            SessionState::Closed { .. } => Ok(true),
            SessionState::Hosted { .. } => self.may_close(&session).await.map(|()| false),
            SessionState::Idle { .. } => {
                self.may_close(&session).await?;
                self.ledger.observe_time(self.clock.now()).await?;
                let now = self.clock.now();
                let transition = session.state.decide(SessionCommand::Close, now)?;
                let data = json!({ "session": id, "by": who.account });
                let draft = Draft { kind: EventType::SessionClosed, task: None, turn: None, at: now, data };
                match self.ledger.apply_session(&session, &transition, Some(draft)).await {
                    Ok(()) => Ok(true),
                    // A worker was started for it at this moment.
                    Err(LedgerError::Conflict(_)) => Ok(false),
                    Err(error) => Err(error.into()),
                }
            }
        }
    }

    async fn may_close(&self, session: &Session) -> Result<(), EngineError> {
        if self.has_work(session.id).await? {
            return Err(EngineError::refused(
                "session_busy",
                "the session has an unfinished task: wait for it, or stop it first",
            ));
        }
        if let Some(task) = self.ledger.unknown_tasks(session.id).await?.first() {
            return Err(EngineError::refused(
                "session_uncertain",
                format!("something of {task} is uncertain: settle it first, so that its record is complete"),
            ));
        }
        Ok(())
    }
}
