//! A person settles what of a task is uncertain besides its operations: the runtime's own last act, or what a lost
//! journal held.

use super::Ask;
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{
    TaskId,
    event::{Draft, EventType},
    records::Task,
    task::{TaskState, TaskStateWord},
};
use serde_json::json;

const PAGE: u32 = 500;

impl Engine {
    /// Settles a task's own uncertainty on a person's word. The task takes the end it stored, unless operations of it
    /// are unknown still. Settled already on the same word: the same answer again.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when it does not exist, or not for this caller; why it is refused.
    pub async fn resolve_task(&self, who: &Principal, id: TaskId, ask: &Ask) -> Result<Task, EngineError> {
        let task = self.task_for(who, id, Verb::TaskResolve).await?;
        ask.check()?;
        let ask = ask.redacted(&self.redactor_of(task.project, None).await?);
        self.ledger.observe_time(self.clock.now()).await?;
        let Some(subject) = self.own_subject(&task).await? else {
            return if self.was_said(&task, who, &ask).await? {
                // Whoever wrote it may have died before the task was looked at.
                self.settle(id).await?;
                self.task_for(who, id, Verb::TaskResolve).await
            } else {
                Err(self.nothing_of_its_own(&task).await?)
            };
        };
        let data = json!({ "by": who.account, "reason": ask.reason, "proof": ask.proof, "subject": subject });
        let draft = Draft {
            kind: EventType::TaskResolved,
            task: Some(id),
            turn: subject.parse().ok(),
            at: self.clock.now(),
            data,
        };
        // Whoever is first says it; for the others it is said.
        self.ledger.close_attention(&task, &subject, draft).await?;
        self.settle(id).await?;
        self.task_for(who, id, Verb::TaskResolve).await
    }

    /// Settles tasks whose last uncertainty was settled by somebody who died before the task was looked at. For a
    /// coordinator's start.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn settle_left(&self) -> Result<u64, EngineError> {
        let mut settled = 0;
        let mut after = None;
        loop {
            let found = self.ledger.to_be_settled(after, PAGE).await?;
            for task in &found {
                self.settle(*task).await?;
                settled += 1;
            }
            match found.last() {
                Some(last) if found.len() == PAGE as usize => after = Some(*last),
                Some(_) | None => return Ok(settled),
            }
        }
    }

    /// The item of a task that is no operation's, while it is open.
    async fn own_subject(&self, task: &Task) -> Result<Option<String>, EngineError> {
        if !matches!(task.state, TaskState::Unknown { .. }) || !self.ledger.unsettled(task).await?.own {
            return Ok(None);
        }
        Ok(self.ledger.own_attention(task.id).await?)
    }

    /// Whether the same account has settled it with the same reason before.
    async fn was_said(&self, task: &Task, who: &Principal, ask: &Ask) -> Result<bool, EngineError> {
        let mut after = 0;
        loop {
            let page = self.ledger.events_of_task(task.id, after, PAGE).await?;
            let by = json!(who.account);
            let said = page.items.iter().any(|event| {
                event.kind == EventType::TaskResolved
                    && event.data.get("by") == Some(&by)
                    && event.data.get("reason").and_then(|reason| reason.as_str()) == Some(&ask.reason)
            });
            match page.next {
                _ if said => return Ok(true),
                Some(next) => after = next,
                None => return Ok(false),
            }
        }
    }

    async fn nothing_of_its_own(&self, task: &Task) -> Result<EngineError, EngineError> {
        let word = task.state.word();
        if word != TaskStateWord::Unknown {
            return Ok(EngineError::refused(
                "not_unknown",
                format!("the task is {word}: only an unknown task can be resolved"),
            ));
        }
        let left = self.ledger.unsettled(task).await?.operations;
        Ok(EngineError::refused(
            "operations_unknown",
            format!(
                "what is uncertain of it are {left} operations: resolve each (`operation list --task {} --state \
                 unknown`), and the task takes its end by itself",
                task.id
            ),
        ))
    }
}
