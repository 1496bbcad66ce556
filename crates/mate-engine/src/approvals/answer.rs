//! A person's answer.

use super::{ApprovalView, told};
use crate::{Engine, EngineError, Principal, Verb, admit::granted};
use mate_model::{
    AccountId, ApprovalId, Micros, TokenId,
    approval::{ApprovalCommand, ApprovalKind, ApprovalState, Decision},
    event::EventType,
    records::{Approval, Task},
    task::TaskStateWord,
    words::ApprovalMode,
};
use mate_store::LedgerError;
use serde_json::json;

/// How often a decision is made again because the approval moved at that moment.
const TRIES: u32 = 20;
/// The longest reason, in bytes.
const MAX_REASON: usize = 4096;

impl Engine {
    /// Answers a request. The same answer again gets the same receipt, whoever gives it.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when it does not exist, or not for this caller; why the answer has no effect.
    pub async fn answer_approval(
        &self,
        who: &Principal,
        id: ApprovalId,
        decision: Decision,
        reason: Option<&str>,
    ) -> Result<ApprovalView, EngineError> {
        let reason = self.said(who, id, decision, reason).await?;
        for _ in 0..TRIES {
            let approval = self.approval_for(who, id, Verb::ApprovalAnswer).await?;
            if let Some(answer) = &approval.answer {
                if answer.decision == decision {
                    return self.full_approval(approval).await;
                }
                return Err(answered(&approval));
            }
            let task = self.ledger.task(approval.task).await?.ok_or(EngineError::NotFound)?;
            self.must_wait(&approval, &task)?;
            let now = match decision {
                Decision::Allow => self.writing_time().await?,
                Decision::Deny => self.cautious_time().await?,
            };
            self.may_answer(who, &approval, &task, decision, now).await?;
            if self.write_answer(who, &approval, decision, &reason, now).await? {
                let approval = self.approval_for(who, id, Verb::ApprovalAnswer).await?;
                if decision == Decision::Allow {
                    self.allow_alike(who, &approval).await?;
                }
                return self.full_approval(approval).await;
            }
        }
        Err(EngineError::Unavailable("the approval keeps moving: try again".to_owned()))
    }

    /// The reason, bounded and without secrets.
    async fn said(
        &self,
        who: &Principal,
        id: ApprovalId,
        decision: Decision,
        reason: Option<&str>,
    ) -> Result<String, EngineError> {
        let approval = self.approval_for(who, id, Verb::ApprovalAnswer).await?;
        let Some(reason) = reason else { return Ok(String::new()) };
        if decision == Decision::Allow {
            return Err(EngineError::invalid("reason", "is for a refusal: leave it out, or deny"));
        }
        if reason.len() > MAX_REASON || reason.contains('\0') {
            return Err(EngineError::invalid("reason", "longer than 4 KiB, or holds a NUL character"));
        }
        let redactor = self.redactor_of(approval.project, approval.connection).await?;
        Ok(redactor.redact(reason).into_owned())
    }

    /// Refuses an answer that nobody waits for.
    fn must_wait(&self, approval: &Approval, task: &Task) -> Result<(), EngineError> {
        let over = |why: &str| {
            Err(EngineError::refused(
                "approval_over",
                format!("{why}: the answer has no effect, nothing was sent"),
            ))
        };
        match &approval.state {
            ApprovalState::Open { expires } if self.clock.now() >= *expires => {
                over("nobody answered in time, and it has expired")
            }
            ApprovalState::Open { .. } if task.state.word() != TaskStateWord::Running => {
                over("its task was asked to stop, or is over")
            }
            ApprovalState::Open { .. } => Ok(()),
            ApprovalState::Expired => over("nobody answered in time, and it has expired"),
            ApprovalState::Withdrawn => over(&withdrawn(task)),
            ApprovalState::Allowed { .. } | ApprovalState::Denied { .. } | ApprovalState::Used { .. } => {
                Err(answered(approval))
            }
        }
    }

    /// Who may give leave, and whether leave would be of any use: what was revoked is not sent, allowed or not.
    async fn may_answer(
        &self,
        who: &Principal,
        approval: &Approval,
        task: &Task,
        decision: Decision,
        now: Micros,
    ) -> Result<(), EngineError> {
        if decision == Decision::Deny {
            return Ok(());
        }
        let useless = |why: String| {
            Err(EngineError::refused(
                "approval_without_effect",
                format!("{why}: leave would have no effect, and the call is not made"),
            ))
        };
        self.must_be_another(who, task).await?;
        if let Some(why) = crate::admit::lost_authority(self, task).await? {
            return useless(why);
        }
        let Some(connection) = approval.connection else { return Ok(()) };
        let (grants, _) = granted(&self.ledger, approval.project).await?;
        match mate_guard::judge(&grants, connection, &approval.tool, now) {
            mate_guard::Decision::Allow { .. } => Ok(()),
            mate_guard::Decision::Refuse(why) => useless(why.to_string()),
        }
    }

    /// Writes the answer; false when the approval moved meanwhile.
    async fn write_answer(
        &self,
        who: &Principal,
        approval: &Approval,
        decision: Decision,
        reason: &str,
        now: Micros,
    ) -> Result<bool, EngineError> {
        let (command, kind) = match decision {
            Decision::Allow => (ApprovalCommand::Allow { by: who.account }, EventType::ApprovalAllowed),
            Decision::Deny => {
                let reason = reason.to_owned();
                (ApprovalCommand::Deny { by: who.account, reason }, EventType::ApprovalDenied)
            }
        };
        let transition = approval.state.decide(command, now)?;
        let permission = decision == Decision::Allow && approval.mode == ApprovalMode::Once;
        let data = json!({
            "by": who.account, "token": who.token, "decision": decision, "reason": reason, "permission": permission,
        });
        let draft = told(kind, approval, now, &data);
        match self.ledger.apply_approval(approval, &transition, Some(who.token), permission, draft).await {
            Ok(()) => {
                mate_fault::point_async!("leave.answered");
                Ok(true)
            }
            Err(LedgerError::Conflict(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Leave for a tool until the task ends covers the calls of it that wait already.
    async fn allow_alike(&self, who: &Principal, given: &Approval) -> Result<(), EngineError> {
        if given.mode != ApprovalMode::Once || given.kind() != ApprovalKind::Call {
            return Ok(());
        }
        let waiting = self.ledger.waiting_approvals(given.task, None).await?;
        let alike = |other: &&Approval| {
            matches!(other.state, ApprovalState::Open { .. })
                && other.mode == ApprovalMode::Once
                && (other.connection, &other.tool) == (given.connection, &given.tool)
        };
        for other in waiting.items.iter().filter(alike) {
            self.allow_with(other, given.id, (who.account, who.token)).await?;
        }
        Ok(())
    }

    /// Gives the leave that a permission is for a request of the same tool that waits.
    pub(crate) async fn allow_with(
        &self,
        waiting: &Approval,
        given: ApprovalId,
        (by, token): (AccountId, TokenId),
    ) -> Result<(), EngineError> {
        let now = self.clock.now();
        let Ok(transition) = waiting.state.decide(ApprovalCommand::Allow { by }, now) else { return Ok(()) };
        let data = json!({ "by": by, "token": token, "decision": Decision::Allow, "with": given });
        let draft = told(EventType::ApprovalAllowed, waiting, now, &data);
        match self.ledger.apply_approval(waiting, &transition, Some(token), false, draft).await {
            Ok(()) | Err(LedgerError::Conflict(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Why nobody waits any more, as its task stands.
fn withdrawn(task: &Task) -> String {
    match task.state.word() {
        TaskStateWord::StopRequested => "it was withdrawn, because its task was asked to stop".to_owned(),
        TaskStateWord::Running => {
            "it was withdrawn, because the agent's turn ended, or the task lost its authority, before that"
                .to_owned()
        }
        over @ (TaskStateWord::Proposed
        | TaskStateWord::Accepted
        | TaskStateWord::Completed
        | TaskStateWord::Failed
        | TaskStateWord::Stopped
        | TaskStateWord::Rejected
        | TaskStateWord::Unknown) => format!(
            "it was withdrawn, because its task ended before that ({over}); `agent-mate task resume {}` lets the agent \
             ask again, and a longer `approval.caller_seconds` keeps it waiting",
            task.id
        ),
    }
}

/// The other answer stands.
fn answered(approval: &Approval) -> EngineError {
    let (decision, state) = (approval.answer.as_ref().map(|answer| answer.decision), approval.state.word());
    let word = match decision {
        Some(Decision::Allow) => "allowed",
        Some(Decision::Deny) => "denied",
        None => state.as_str(),
    };
    let next = match approval.state {
        ApprovalState::Allowed { .. } => "; `agent-mate approval revoke` takes it back while it is not used",
        ApprovalState::Used { .. } => ", and the call was let out",
        ApprovalState::Open { .. }
        | ApprovalState::Denied { .. }
        | ApprovalState::Expired
        | ApprovalState::Withdrawn => "",
    };
    EngineError::refused("approval_answered", format!("it was {word} already, and that answer stands{next}"))
}
