//! The tasks that a task continues, and the conversation that it needs.

use crate::{Engine, EngineError};
use mate_model::{
    records::Task,
    task::{End, StopEvidence, TaskState},
};

/// How many tasks are looked back at.
pub(crate) const LOOK_BACK: usize = 20;

/// The tasks that a task continues, the latest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// The tasks, at most [`LOOK_BACK`].
    pub(crate) tasks: Vec<Task>,
    /// There are earlier ones.
    pub(crate) more: bool,
}

/// Which conversation the runtime must have before a task's prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversation {
    /// Any: the task continues nothing, or nothing was said yet, or it is to start afresh.
    Any,
    /// The one with this id of the runtime's own.
    Known(String),
    /// One that cannot be named any more, and why.
    Gone(&'static str),
}

impl Engine {
    /// The tasks that a task continues, the latest first.
    pub(crate) async fn chain(&self, task: &Task) -> Result<Chain, EngineError> {
        let mut chain = Chain { tasks: Vec::new(), more: false };
        let mut next = task.continues;
        while let Some(id) = next {
            if chain.tasks.len() >= LOOK_BACK {
                chain.more = true;
                break;
            }
            let earlier = self.ledger.task(id).await?.ok_or(EngineError::NotFound)?;
            next = earlier.continues;
            chain.tasks.push(earlier);
        }
        Ok(chain)
    }

    /// The conversation that a task goes on in.
    ///
    /// # Errors
    /// The stores'.
    pub async fn conversation_of(&self, task: &Task) -> Result<Conversation, EngineError> {
        for earlier in self.chain(task).await?.tasks {
            if earlier.session != task.session {
                break;
            }
            let reader = self.stores.journal_reader(earlier.session).await?;
            if let Some(turn) = reader.last_prompted(Some(earlier.id)).await? {
                let gone = "the runtime gave its conversation no name that could be kept";
                return Ok(turn.conversation.map_or(Conversation::Gone(gone), Conversation::Known));
            }
            if let Some(claim) = &earlier.claim
                && !never_started(&earlier)
                && reader.turn(claim.turn).await?.is_none()
            {
                return Ok(Conversation::Gone("the session's journal was lost, and its name with it"));
            }
        }
        Ok(Conversation::Any)
    }
}

const fn never_started(task: &Task) -> bool {
    matches!(task.state, TaskState::Ended { end: End::Stopped { evidence: StopEvidence::NeverStarted }, .. })
}
