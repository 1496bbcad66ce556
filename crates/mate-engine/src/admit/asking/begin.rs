//! Asking: the request is in the journal first, then in the ledger's inbox.

use super::{Phase, Place, Waiting, wait::Judged};
use crate::{
    EngineError,
    admit::{Admission, Admitted, Request, intent::Passed, settled_event},
    approvals::told,
};
use mate_model::{
    ApprovalId, Micros,
    approval::ApprovalState,
    event::EventType,
    operation::{OperationCommand, OperationState},
    records::{Approval, Operation},
    words::{DenyReason, OnApproval},
};
use mate_store::{Change, OperationFacts};
use serde_json::json;
use tokio::sync::watch;

/// How long a person may take at the most, in seconds: a year.
const LONGEST: u64 = 366 * 24 * 3600;

impl Admission {
    /// Writes the request down, or gives what the call came to without a person being asked.
    pub(super) async fn begin(
        &self,
        request: &Request<'_>,
        judged: &Judged<'_>,
        place: Place<'_>,
    ) -> Result<Result<watch::Receiver<Phase>, Admitted>, EngineError> {
        let Judged { turn, allowed, requested_at, class, key } = judged;
        let deny = async |reason, why: &str| {
            self.deny(request, *turn, *requested_at, Some(allowed), reason, why).await.map(Err)
        };
        let task = self.engine.ledger.task(turn.task).await?.ok_or(EngineError::NotFound)?;
        if task.policy.on_approval == OnApproval::Deny {
            let why = "this tool needs a person's leave, and this task is not to wait for anybody";
            return deny(DenyReason::NobodyThere, why).await;
        }
        let way = match self.pass(request, *turn, *requested_at, allowed, *class, key).await? {
            Passed::Free(way) => way,
            Passed::Answered(answered) => return Ok(Err(answered)),
        };
        let _open = self.gate.read().await;
        if self.current() != Some(*turn) {
            return deny(DenyReason::NoTurn, "the turn is over").await;
        }
        if request.is_gone() {
            return deny(DenyReason::CallerGone, "nobody waits for the answer any more").await;
        }
        self.engine.ledger.observe_time(self.now()).await?;
        let imprint = self.imprint(request, Some(allowed.connection));
        let trace = self.engine.entropy.uuid().simple().to_string();
        let operation = self.operation(request, *turn, *requested_at, Some(allowed), *class, imprint, trace);
        let mode = allowed.approve;
        let decision = json!({ "by": "person", "grant": allowed.grant.id, "approve": mode });
        let operation = Operation { repeats: way.repeats, decision, ..operation };
        let expires = self.expiry();
        let operation = self.journal_ask(operation, expires).await?;
        mate_fault::point_async!("leave.journaled");
        let approval = Approval {
            id: ApprovalId::Call(operation.id),
            project: self.project,
            task: turn.task,
            turn: turn.turn,
            mode,
            connection: Some(allowed.connection.id),
            connection_name: operation.connection_name.clone(),
            tool: operation.tool.clone(),
            class: *class,
            digest: operation.digest.clone(),
            shape: operation.shape.clone(),
            state: ApprovalState::Open { expires },
            expires_at: expires,
            answer: None,
            over: None,
            created_at: self.now(),
        };
        if let Err(error) = self.put_in_inbox(&approval).await {
            self.withdraw_operation(&operation, "the inbox could not take it").await?;
            return Err(error);
        }
        mate_fault::point_async!("leave.in_inbox");
        Ok(Ok(place.open(Waiting { approval, call: Some(Box::new((operation, way))) })))
    }

    /// When a request that is made now ends.
    pub(super) fn expiry(&self) -> Micros {
        let seconds = self.approval.expire_seconds.min(LONGEST);
        Micros(self.now().0.saturating_add(i64::try_from(seconds).unwrap_or(0).saturating_mul(1_000_000)))
    }

    pub(super) async fn put_in_inbox(&self, approval: &Approval) -> Result<(), EngineError> {
        let data = json!({ "approve": approval.mode, "effect": approval.class, "expires_at_us": approval.expires_at });
        let draft = told(EventType::ApprovalAsked, approval, self.now(), &data);
        if self.engine.ledger.add_approval(approval, draft).await? {
            return Ok(());
        }
        Err(EngineError::Internal(format!("the inbox knows {} already", approval.id)))
    }

    async fn journal_ask(&self, operation: Operation, expires: Micros) -> Result<Operation, EngineError> {
        let now = self.now();
        let command = OperationCommand::Await { expires };
        let transition = OperationState::Requested.decide(operation.class, command, now)?;
        let operation = Operation { state: transition.to().clone(), ..operation };
        let more = json!({ "digest": operation.digest, "expires_at_us": expires });
        let event = self.event(EventType::OperationAwaitingApproval, &operation, now, more);
        let add = Change::AddOperation { operation: Box::new(operation.clone()), transition };
        if let Err(error) = self.journal.write(vec![add, Change::Event(event)]).await {
            if error.maybe_committed() {
                // It may stand there all the same: then it waits for nobody.
                self.withdraw_operation(&operation, "the journal did not confirm it in time").await?;
            }
            return Err(error.into());
        }
        Ok(operation)
    }

    /// Withdraws an operation that waits, in the journal. One that is not there, or has moved, stays as it is.
    pub(super) async fn withdraw_operation(
        &self,
        operation: &Operation,
        why: &str,
    ) -> Result<(), EngineError> {
        self.end_operation(operation, OperationCommand::Withdraw, &json!({ "detail": why })).await
    }

    /// Ends an operation that waits, in the journal, with the event that says why.
    pub(super) async fn end_operation(
        &self,
        operation: &Operation,
        command: OperationCommand,
        more: &serde_json::Value,
    ) -> Result<(), EngineError> {
        let now = self.now();
        let transition = operation.state.decide(operation.class, command, now)?;
        let kind = settled_event(transition.to().word());
        let event = self.event(kind, operation, now, more.clone());
        let change = Change::MoveOperation { id: operation.id, transition, facts: OperationFacts::default() };
        match self.journal.write_patiently(vec![change, Change::Event(event)], PATIENCE).await {
            Ok(_) => Ok(()),
            Err(mate_store::JournalError::Conflict(why)) => {
                tracing::debug!(operation = %operation.id, %why, "it does not wait any more");
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// How long a journal in trouble is waited for with an end; recovery finds what it does not take.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);
