//! Going on without being asked: tasks that lost their runtime, and whose policy says so.
//!
//! That a task is due is written by the very script that ends it, and is taken back by the script that continues
//! it or says why it waits. So a coordinator may die at any point between, and several may look at once.

use super::resume::{Heir, Resume};
use crate::{Engine, EngineError};
use mate_model::{
    event::{Draft, EventType},
    operation::OperationStateWord,
    records::Task,
    task::TaskStateWord,
};
use mate_store::LedgerError;
use serde_json::json;

/// How many tasks are looked at in one round.
const PAGE: u32 = 100;

impl Engine {
    /// Continues the tasks that are due to go on by themselves, or says why they wait; how many go on. One that
    /// cannot be looked at now is looked at again in the next round.
    ///
    /// # Errors
    /// The ledger's, when it cannot be asked at all.
    pub async fn go_on(&self) -> Result<u64, EngineError> {
        let mut gone_on = 0;
        let mut after = None;
        loop {
            let page = self.ledger.resumes_due(after, PAGE).await?;
            for corrupt in &page.corrupt {
                tracing::error!(%corrupt, "a task that is due to go on cannot be read; the others go on");
            }
            for task in page.items {
                let id = task.id;
                match self.go_on_with(task).await {
                    Ok(on) => gone_on += u64::from(on),
                    Err(error) => {
                        tracing::error!(task = %id, %error, "the task could not go on; tried again")
                    }
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(gone_on),
            }
        }
    }

    async fn go_on_with(&self, task: Task) -> Result<bool, EngineError> {
        if let Some(why) = self.why_held(&task).await? {
            return self.hold(&task, &why).await;
        }
        let heir = Heir { account: task.proposer, token: task.token, by_itself: true };
        let wish = Resume { id: None, task: task.id, fresh: false, instructions: None, queue: true };
        match self.continue_task(task.clone(), heir, wish, None).await {
            Ok(next) => {
                tracing::info!(task = %task.id, %next.id, "a task that was interrupted goes on");
                Ok(true)
            }
            Err(EngineError::Refused { code: "already_continued" | "changed_meanwhile", .. }) => Ok(false),
            Err(EngineError::Refused { detail, .. }) => self.hold(&task, &detail).await,
            Err(error) => Err(error),
        }
    }

    /// Why a task that is due waits for a person after all.
    async fn why_held(&self, task: &Task) -> Result<Option<String>, EngineError> {
        if task.resumes >= i64::from(task.policy.max_resumes) {
            let most = task.policy.max_resumes;
            return Ok(Some(format!("it went on by itself as often as its policy allows: {most}")));
        }
        if let (Some(deadline), Some(claim)) = (task.policy.deadline(), &task.claim)
            && u128::try_from(self.clock.now().since(claim.since)).unwrap_or_default() >= deadline.as_micros()
        {
            return Ok(Some(format!("its deadline of {} s has passed", deadline.as_secs())));
        }
        if let Some(why) = crate::admit::lost_authority(self, task).await? {
            return Ok(Some(why));
        }
        let chain = self.chain(task).await?;
        if chain.more {
            return Ok(Some("it continues more tasks than are looked back at".to_owned()));
        }
        for earlier in std::iter::once(task).chain(&chain.tasks) {
            if earlier.state.word() == TaskStateWord::Unknown {
                return Ok(Some(format!("{} is uncertain", earlier.id)));
            }
            let reader = self.stores.journal_reader(earlier.session).await?;
            for state in [OperationStateWord::Unknown, OperationStateWord::Abandoned] {
                let found = self.seen_operations(&reader, earlier, Some(state), 0, 1).await?;
                if let Some(seen) = found.items.first() {
                    return Ok(Some(format!("nobody knows whether {} happened", seen.operation.id)));
                }
                if found.corrupt > 0 {
                    return Ok(Some(format!("the record of {} cannot be read", earlier.id)));
                }
            }
        }
        Ok(None)
    }

    async fn hold(&self, task: &Task, why: &str) -> Result<bool, EngineError> {
        let data = json!({ "reason": why });
        let draft =
            Draft { kind: EventType::TaskHeld, task: Some(task.id), turn: None, at: self.clock.now(), data };
        match self.ledger.hold(task, draft).await {
            // Another coordinator was faster.
            Ok(()) | Err(LedgerError::Conflict(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
