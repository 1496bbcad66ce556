//! Leave is used: judged again, used up in the ledger, and only then intended.

use super::{AskKey, Leave, Waiting};
use crate::{
    EngineError,
    admit::{
        Admission, Admitted, CurrentTurn, Go, Request,
        deny::next_step,
        intent::same_terms,
        limits::spent,
        replay::Way,
        twins::{TwinGuard, TwinKey},
    },
    approvals::told,
    spill::Slot,
};
use mate_model::{
    ApprovalId,
    approval::{ApprovalCommand, ApprovalState},
    event::EventType,
    operation::{OperationCommand, Permit},
    records::{Approval, Operation},
    words::DenyReason,
};
use mate_store::{Change, LedgerError, OperationFacts};
use serde_json::json;

/// Why a call with leave is not let out.
enum Not {
    /// It is refused, and ends.
    Refused(DenyReason, String),
    /// Not now: it keeps its leave.
    Now(String),
}

impl Admission {
    /// Lets a call out that a person gave leave for; the caller is there to hear the answer.
    pub(super) async fn let_out(
        &self,
        request: &Request<'_>,
        key: &AskKey,
        waiting: Waiting,
    ) -> Result<Admitted, EngineError> {
        let _open = self.gate.read().await;
        let approval = waiting.approval.clone();
        let (operation, way) = match waiting.call.map(|call| *call) {
            Some(call) => call,
            None => return Err(EngineError::Internal("a call without its operation".to_owned())),
        };
        let kept =
            |way| Waiting { approval: approval.clone(), call: Some(Box::new((operation.clone(), way))) };
        if self.current().is_none_or(|current| current.turn != approval.turn) {
            // Taken at the moment when the turn ended: nobody else ends it.
            self.withdraw_operation(&operation, "the turn is over").await?;
            self.withdraw_in_inbox(approval.id, "the turn is over").await;
            return Ok(not_now("the turn is over"));
        }
        let slot = match self.ready_for(request) {
            Ok(slot) => slot,
            Err(why) => {
                self.asks.put_back(key, kept(way));
                return Ok(not_now(&why));
            }
        };
        let leave = match self.use_leave(request, &approval, &operation).await {
            Ok(Ok(leave)) => leave,
            Ok(Err(Not::Now(why))) => {
                self.asks.put_back(key, kept(way));
                return Ok(not_now(&why));
            }
            Ok(Err(Not::Refused(reason, why))) => {
                return self.refuse_asked(&approval, &operation, reason, &why).await;
            }
            Err(error) => {
                self.asks.put_back(key, kept(way));
                return Err(error);
            }
        };
        match self.reserve(request, &operation, &way).await {
            Ok(Ok(())) => {}
            Ok(Err((reason, why))) => return self.refuse_asked(&approval, &operation, reason, &why).await,
            Err(error) => {
                // Its leave is used up, and it was not sent: it is not sent later either.
                self.withdraw_operation(&operation, "what it needs could not be reserved").await?;
                return Err(error);
            }
        }
        let AskKey::Call(call) = key else {
            return Err(EngineError::Internal("a call under a key that is not a call's".to_owned()));
        };
        self.intend_asked(request, operation, way, (slot, leave, call.clone())).await
    }

    /// Whether it can be let out at this moment, before anything is used up.
    fn ready_for(&self, request: &Request<'_>) -> Result<Slot, String> {
        if request.is_gone() {
            return Err("nobody waits for the answer any more".to_owned());
        }
        let full = "too many calls of this session are in flight, or their outcomes are not recorded yet";
        self.spill.reserve().ok_or_else(|| full.to_owned())
    }

    /// Judges the call as things stand after the answer, and uses its leave up: once, and before its intent.
    async fn use_leave(
        &self,
        request: &Request<'_>,
        approval: &Approval,
        operation: &Operation,
    ) -> Result<Result<Leave, Not>, EngineError> {
        let turn = CurrentTurn { task: approval.task, turn: approval.turn };
        let standing = match self.look(turn).await? {
            Ok(standing) => standing,
            Err((reason, why)) => return Ok(Err(Not::Refused(reason, why))),
        };
        let Some(connection) = operation.connection else {
            return Ok(Err(Not::Refused(DenyReason::UnknownTool, "the tool is gone".to_owned())));
        };
        let allowed = match self.judge(&standing, request, connection) {
            Ok(allowed) => allowed,
            Err(barred) => return Ok(Err(Not::Refused(barred.reason, barred.why))),
        };
        if let Some(asked) = operation.grant
            && let Err((reason, why)) = same_terms(&allowed, request, asked, operation.class)
        {
            return Ok(Err(Not::Refused(reason, why)));
        }
        let leave = Leave::Approval(approval.id);
        if let Err((reason, why)) = self.still_has_leave(turn, &allowed, request.tool, leave).await? {
            return Ok(Err(Not::Refused(reason, why)));
        }
        self.engine.ledger.observe_time(self.now()).await?;
        let row = self.engine.ledger.approval(approval.id).await?.ok_or(EngineError::NotFound)?;
        // Leave for another request is none for this one.
        let bound = (&row.digest, &row.tool, row.connection)
            == (&operation.digest, &operation.tool, operation.connection);
        if !bound {
            return Ok(Err(Not::Refused(
                DenyReason::NotAuthorised,
                "the leave is for another call".to_owned(),
            )));
        }
        // Leave is not spent on a call that only came too early.
        if let Err(limited) = self.take_rate(allowed.grant) {
            return Ok(Err(Not::Now(limited.words().1)));
        }
        match self.use_up(&row).await? {
            true => Ok(Ok(leave)),
            // What stands is looked at next.
            false => Ok(Err(Not::Now(format!("its approval is {} now", row.state.word())))),
        }
    }

    /// Uses leave up in the ledger; false when there is none any more.
    pub(super) async fn use_up(&self, row: &Approval) -> Result<bool, EngineError> {
        let now = self.now();
        if !matches!(row.state, ApprovalState::Allowed { .. }) {
            return Ok(false);
        }
        let Ok(transition) = row.state.decide(ApprovalCommand::Use, now) else { return Ok(false) };
        let draft = told(EventType::ApprovalUsed, row, now, &json!({}));
        match self.engine.ledger.apply_approval(row, &transition, None, false, draft).await {
            Ok(()) => {
                mate_fault::point_async!("leave.used_up");
                Ok(true)
            }
            Err(LedgerError::Conflict(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What is reserved before the intent: a crash leaves it used.
    async fn reserve(
        &self,
        request: &Request<'_>,
        operation: &Operation,
        way: &Way,
    ) -> Result<Result<(), (DenyReason, String)>, EngineError> {
        let grant = match operation.grant {
            Some(grant) => self.engine.ledger.grant(grant).await?,
            None => None,
        };
        if let Some(grant) = grant {
            let reserved = match spent(&grant, request.tool, request.arguments) {
                Ok(spend) => self.reserve_call(&grant, spend).await?,
                Err(limited) => Err(limited),
            };
            if let Err(limited) = reserved {
                return Ok(Err(limited.words()));
            }
        }
        self.take_leave_of(way, operation.id).await
    }

    /// The intent of an operation that waited, and the second read.
    async fn intend_asked(
        &self,
        request: &Request<'_>,
        operation: Operation,
        way: Way,
        (slot, leave, call): (Slot, Leave, TwinKey),
    ) -> Result<Admitted, EngineError> {
        let now = self.now();
        let turn = CurrentTurn { task: operation.task, turn: operation.turn };
        let (class, id) = (operation.class, operation.id);
        let transition = operation.state.decide(class, OperationCommand::Admit, now)?;
        let more = json!({ "grant": operation.grant, "repeats": operation.repeats, "approval": id });
        let event = self.event(EventType::OperationAdmitted, &operation, now, more);
        let change = Change::MoveOperation { id, transition, facts: OperationFacts::default() };
        let written = match self.journal.write(vec![change, Change::Event(event)]).await {
            Ok(written) => written,
            Err(error) => {
                if error.maybe_committed() {
                    self.never_sent(id, class, turn, slot).await?;
                }
                // Its leave is used up, and it was not sent: it is not sent later either.
                self.withdraw_operation(&operation, "its intent could not be written").await?;
                return Err(error.into());
            }
        };
        let permit: Permit =
            written.permits.into_iter().find(|permit| permit.operation() == id).ok_or_else(|| {
                EngineError::Internal("the journal gave no permit for a committed intent".to_owned())
            })?;
        mate_fault::point_async!("admit.intended");
        let Way { twin, key, settles, .. } = way;
        let twin = twin.map(TwinGuard::intended);
        let (key, trace) = (key.unwrap_or(id), operation.trace);
        let (round, intended_at) = (1, now);
        let decision = operation.decision;
        let Some(grant) = operation.grant else {
            return Err(EngineError::Internal("an operation that was asked about under no grant".to_owned()));
        };
        let go = Go {
            permit,
            class,
            grant,
            turn,
            call,
            round,
            intended_at,
            twin,
            slot,
            settles,
            key,
            trace,
            leave,
            decision,
        };
        self.second_read(request, go).await
    }

    /// Ends a call that waited and is refused after all.
    pub(super) async fn refuse_asked(
        &self,
        approval: &Approval,
        operation: &Operation,
        reason: DenyReason,
        why: &str,
    ) -> Result<Admitted, EngineError> {
        let command = OperationCommand::Deny { reason, detail: why.to_owned() };
        self.end_operation(operation, command, &json!({ "reason": reason, "detail": why })).await?;
        self.withdraw_in_inbox(approval.id, why).await;
        Ok(Admitted::Refused(format!("{why}. The call was NOT made. {}", next_step(reason))))
    }

    /// Takes what is over out of the inbox. What fails here is done when the task ends.
    pub(super) async fn withdraw_in_inbox(&self, id: ApprovalId, why: &str) {
        let withdrawn = match self.engine.ledger.approval(id).await {
            Ok(Some(row)) => self.engine.withdraw_approval(&row, why).await,
            Ok(None) => Ok(()),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = withdrawn {
            tracing::warn!(approval = %id, %error, "it stays in the inbox until its task ends");
        }
    }
}

fn not_now(why: &str) -> Admitted {
    Admitted::Refused(format!(
        "{why}. The call was NOT made. Call again with exactly the same arguments in a little while."
    ))
}
