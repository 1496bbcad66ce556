//! Looking after what waits: answers, ends in time, and authority that is lost. It needs no caller.

use super::{AskKey, Waiting};
use crate::{
    EngineError,
    admit::{
        Admission, Asked, CurrentTurn, deny::next_step, explain::recorded_arguments, intent::other_grant,
    },
    approvals::told,
};
use mate_model::{
    ApprovalId, Micros,
    approval::{ApprovalCommand, ApprovalState},
    event::EventType,
    operation::OperationCommand,
    records::Approval,
    words::{ApprovalMode, DenyReason, EffectClass},
};
use mate_store::LedgerError;
use serde_json::json;

/// What its time ran out for.
const fn over_time(row: &Approval) -> &'static str {
    match row.state {
        ApprovalState::Allowed { .. } => "leave was given, and no call came to use it in time",
        ApprovalState::Open { .. }
        | ApprovalState::Denied { .. }
        | ApprovalState::Expired
        | ApprovalState::Withdrawn
        | ApprovalState::Used { .. } => "nobody answered in time",
    }
}

/// How a request ends without being let out.
enum End {
    Denied(String),
    Expired,
    Withdrawn(String),
    Refused(DenyReason, String),
}

impl Admission {
    /// Looks what became of the requests that wait. Costs nothing while none does; what cannot be looked at now is
    /// looked at the next time.
    pub async fn tend(&self) {
        if self.asks.is_empty() {
            return;
        }
        for (key, id, expires) in self.asks.waiting() {
            if let Err(error) = self.tend_one(&key, id, expires).await {
                tracing::warn!(approval = %id, %error, "what became of it cannot be seen; it is looked at again");
            }
        }
    }

    async fn tend_one(&self, key: &AskKey, id: ApprovalId, expires: Micros) -> Result<(), EngineError> {
        let Some(row) = self.engine.ledger.approval(id).await? else {
            return self.end(key, id, End::Withdrawn("it is not in the inbox".to_owned())).await;
        };
        match &row.state {
            ApprovalState::Open { .. } | ApprovalState::Allowed { .. } if self.now() >= expires => {
                if self.expire(&row).await? { self.end(key, id, End::Expired).await } else { Ok(()) }
            }
            ApprovalState::Open { .. } => match self.lost(key, &row).await? {
                Some(end) => self.end(key, id, end).await,
                None => self.allow_by_permission(&row).await,
            },
            ApprovalState::Allowed { .. } => {
                self.asks.allow(key, id);
                Ok(())
            }
            ApprovalState::Denied { reason, .. } => self.end(key, id, End::Denied(reason.clone())).await,
            ApprovalState::Expired => self.end(key, id, End::Expired).await,
            ApprovalState::Withdrawn => {
                self.end(key, id, End::Withdrawn("its leave was taken back".to_owned())).await
            }
            ApprovalState::Used { .. } => {
                self.end(key, id, End::Withdrawn("its leave was used up without a call".to_owned())).await
            }
        }
    }

    /// A request for a tool that has leave until its task ends has it too: it was being asked when that was given, or
    /// whoever gave it could not tell all that waited.
    async fn allow_by_permission(&self, row: &Approval) -> Result<(), EngineError> {
        let (ApprovalMode::Once, Some(connection)) = (row.mode, row.connection) else { return Ok(()) };
        let ledger = &self.engine.ledger;
        let Some(permission) = ledger.permission(row.task, connection, &row.tool).await? else {
            return Ok(());
        };
        let answer = ledger.approval(permission.id).await?.and_then(|given| given.answer);
        let Some(answer) = answer else { return Ok(()) };
        self.engine.allow_with(row, permission.id, (answer.by, answer.with)).await
    }

    /// Lets a request expire in the ledger, which leads for answers; false when an answer came first.
    async fn expire(&self, row: &Approval) -> Result<bool, EngineError> {
        let now = self.now();
        let transition = row.state.decide(ApprovalCommand::Expire, now)?;
        let draft = told(EventType::ApprovalExpired, row, now, &json!({ "detail": over_time(row) }));
        match self.engine.ledger.apply_approval(row, &transition, None, false, draft).await {
            Ok(()) => Ok(true),
            Err(LedgerError::Conflict(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Why a request that waits is of no use any more, if it is not: what would refuse the call now.
    async fn lost(&self, key: &AskKey, row: &Approval) -> Result<Option<End>, EngineError> {
        let turn = CurrentTurn { task: row.task, turn: row.turn };
        let standing = match self.look(turn).await? {
            Ok(standing) => standing,
            // Whoever carries the stop out withdraws it, once the runtime was told to stop.
            Err((DenyReason::AfterStop, _)) => return Ok(None),
            Err((_, why)) => return Ok(Some(End::Withdrawn(why))),
        };
        let verdict = match (key, row.connection) {
            (AskKey::Call(_), Some(connection)) => {
                let shown = recorded_arguments(&row.shape);
                let (tool, counts) = (row.tool.as_str(), true);
                let says_read_only = row.class == EffectClass::Read;
                let definition = None;
                let asked = Asked { connection, tool, says_read_only, definition, counts, shown: &shown };
                match standing.judge(&asked, self.now()) {
                    Ok(allowed) => match self.asks.grant_of(key).filter(|asked| *asked != allowed.grant.id) {
                        Some(asked) => Err((DenyReason::GrantChanged, other_grant(asked, allowed.grant.id))),
                        None => Ok(()),
                    },
                    // What a policy says of the whole arguments is only known with the call.
                    Err(barred)
                        if barred.reason == DenyReason::Forbidden && standing.shows(connection, tool) =>
                    {
                        Ok(())
                    }
                    Err(barred) => Err((barred.reason, barred.why)),
                }
            }
            (AskKey::Call(_) | AskKey::Own(_), _) => standing.may_act(self.now()),
        };
        Ok(verdict.err().map(|(reason, why)| End::Refused(reason, why)))
    }

    /// Ends every request that waits: the turn is over, or a stop came.
    pub async fn withdraw_asks(&self, why: &str) {
        for (key, id, _) in self.asks.waiting() {
            if let Err(error) = self.end(&key, id, End::Withdrawn(why.to_owned())).await {
                // Whoever takes over withdraws it.
                tracing::warn!(approval = %id, %error, "it could not be withdrawn");
            }
        }
    }

    /// Ends a request, in the journal and then in the inbox, and tells those who wait for it.
    async fn end(&self, key: &AskKey, id: ApprovalId, end: End) -> Result<(), EngineError> {
        let Some(waiting) = self.asks.claim(key, id) else { return Ok(()) };
        if let Err(error) = self.write_end(&waiting, &end).await {
            self.asks.unclaim(key, waiting);
            return Err(error);
        }
        // Equal calls are let in when its place among them is given up.
        drop(waiting);
        self.asks.tell(key, words(&end));
        Ok(())
    }

    async fn write_end(&self, waiting: &Waiting, end: &End) -> Result<(), EngineError> {
        if let Some((operation, _)) = waiting.call.as_deref() {
            let deny = |reason, detail: &str| {
                let command = OperationCommand::Deny { reason, detail: detail.to_owned() };
                (command, json!({ "reason": reason, "detail": detail }))
            };
            let (command, more) = match end {
                End::Denied(reason) if reason.is_empty() => deny(DenyReason::ByPerson, "a person refused it"),
                End::Denied(reason) => deny(DenyReason::ByPerson, &format!("a person refused it: {reason}")),
                End::Expired => (OperationCommand::Expire, json!({})),
                End::Withdrawn(why) => (OperationCommand::Withdraw, json!({ "detail": why })),
                End::Refused(reason, why) => deny(*reason, why),
            };
            self.end_operation(operation, command, &more).await?;
        }
        if let End::Withdrawn(why) | End::Refused(_, why) = end {
            self.withdraw_in_inbox(waiting.approval.id, why).await;
        }
        Ok(())
    }
}

/// What the agent is told of an end.
fn words(end: &End) -> String {
    let (why, next) = match end {
        End::Denied(reason) if reason.is_empty() => {
            ("A person refused this call".to_owned(), next_step(DenyReason::ByPerson))
        }
        End::Denied(reason) => {
            (format!("A person refused this call: {reason}"), next_step(DenyReason::ByPerson))
        }
        End::Expired => (
            "Nobody approved this call in time, and the request has expired".to_owned(),
            next_step(DenyReason::NobodyThere),
        ),
        End::Withdrawn(why) => (why.clone(), next_step(DenyReason::NobodyThere)),
        End::Refused(reason, why) => (why.clone(), next_step(*reason)),
    };
    format!("{why}. The call was NOT made. {next}")
}
