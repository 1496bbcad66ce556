//! What is not sent: refused in words that tell the agent what to do next, and recorded.

use super::{
    Admission, Admitted, CurrentTurn,
    decided::Decided,
    intent::class_of,
    request::Request,
    standing::{Allowed, Barred},
};
use crate::EngineError;
use mate_model::{
    Micros,
    event::EventType,
    operation::{OperationCommand, OperationState},
    records::Operation,
    words::{DenyReason, EffectClass},
};
use mate_store::Change;
use serde_json::json;

/// Why a call is refused, with what decided and what the agent is told to do next.
#[derive(Debug)]
pub(super) struct Why<'a> {
    pub(super) reason: DenyReason,
    pub(super) text: &'a str,
    pub(super) next: &'a str,
    pub(super) decided: Decided,
}

impl Admission {
    /// Records a refusal and says it to the agent.
    pub(super) async fn deny(
        &self,
        request: &Request<'_>,
        turn: CurrentTurn,
        requested_at: Micros,
        allowed: Option<&Allowed<'_>>,
        reason: DenyReason,
        why: &str,
    ) -> Result<Admitted, EngineError> {
        let decided =
            allowed.map_or_else(Decided::by_admission, |allowed| allowed.decided.clone().overruled());
        let why = Why { reason, text: why, next: next_step(reason), decided };
        self.deny_for(request, turn, requested_at, allowed, why).await
    }

    /// The same for a call that grants or policies refuse.
    pub(super) async fn deny_barred(
        &self,
        request: &Request<'_>,
        turn: CurrentTurn,
        requested_at: Micros,
        barred: Barred,
    ) -> Result<Admitted, EngineError> {
        let Barred { reason, why, decided } = barred;
        let why = Why { reason, text: &why, next: next_step(reason), decided: *decided };
        self.deny_for(request, turn, requested_at, None, why).await
    }

    /// The same, with what decided and what to do next.
    pub(super) async fn deny_for(
        &self,
        request: &Request<'_>,
        turn: CurrentTurn,
        requested_at: Micros,
        allowed: Option<&Allowed<'_>>,
        why: Why<'_>,
    ) -> Result<Admitted, EngineError> {
        let Why { reason, text: why, next, decided } = why;
        let now = self.now();
        let imprint = self.imprint(request, allowed.map(|allowed| allowed.connection));
        let class = allowed.map_or(EffectClass::Effect, |allowed| {
            class_of(allowed.grant, allowed.connection, request.says_read_only)
        });
        let operation = self.operation(request, turn, requested_at, allowed, class, imprint, String::new());
        let command = OperationCommand::Deny { reason, detail: why.to_owned() };
        let transition = OperationState::Requested.decide(class, command, now).map_err(EngineError::from)?;
        let event = self.event(
            EventType::OperationDenied,
            &operation,
            now,
            json!({ "reason": reason, "detail": why }),
        );
        let (state, decision) = (transition.to().clone(), decided.record());
        let grant = decided.grant().or(operation.grant);
        let operation = Operation { state, decision, grant, recorded_at: Some(now), ..operation };
        self.journal
            .write(vec![
                Change::AddOperation { operation: Box::new(operation), transition },
                Change::Event(event),
            ])
            .await?;
        mate_fault::point_async!("deny.committed");
        Ok(Admitted::Refused(format!("{why}. The call was NOT made. {next}")))
    }

    /// A call before the turn's prompt was intended.
    pub(super) async fn too_early(
        &self,
        request: &Request<'_>,
        turn: CurrentTurn,
        requested_at: Micros,
    ) -> Result<Admitted, EngineError> {
        let why = Why {
            reason: DenyReason::NoTurn,
            text: "the task has not begun: its prompt was not sent yet",
            next: "Call again in a moment.",
            decided: Decided::by_admission(),
        };
        self.deny_for(request, turn, requested_at, None, why).await
    }

    /// Records a call that the bridge refused, for the reason that the ledger gives now.
    pub(super) async fn refused_as(
        &self,
        request: &Request<'_>,
        turn: CurrentTurn,
        barred: Barred,
    ) -> Option<String> {
        match self.deny_barred(request, turn, self.now(), barred).await {
            Ok(Admitted::Refused(words)) => Some(words),
            Ok(
                Admitted::Go(_) | Admitted::Told { .. } | Admitted::Stored { .. } | Admitted::Asked { .. },
            ) => None,
            Err(error) => {
                tracing::warn!(%error, "a refused call could not be recorded");
                None
            }
        }
    }

    /// Records a call that the bridge refused before it came here.
    pub async fn refused(&self, request: &Request<'_>, reason: DenyReason, why: &str) {
        let Some(turn) = self.current() else { return };
        if let Err(error) = self.deny(request, turn, self.now(), None, reason, why).await {
            tracing::warn!(%error, "a refused call could not be recorded");
        }
    }
}

/// What the agent is told to do next.
pub(super) const fn next_step(reason: DenyReason) -> &'static str {
    match reason {
        DenyReason::UnknownTool => "Use only the tools that are listed.",
        DenyReason::NotGranted
        | DenyReason::NotAuthorised
        | DenyReason::Forbidden
        | DenyReason::DefinitionChanged
        | DenyReason::LimitReached => "Do not try it again; say in your report that it was not allowed.",
        DenyReason::GrantChanged => "If it is still wanted, call again: it is judged anew.",
        DenyReason::BadArguments => "Correct the arguments and call again.",
        DenyReason::AfterStop | DenyReason::NoTurn => "End your turn now.",
        DenyReason::MayHaveHappened => {
            "Do not try it again. If a tool that only reads can show whether it happened, use that; \
             otherwise say in your report that its outcome is uncertain."
        }
        DenyReason::HasHappened => "Go on from there. If it is to happen once more, make the call once more.",
        DenyReason::CallerGone => "If it is still wanted, call again and wait for the answer.",
        DenyReason::ByPerson | DenyReason::NobodyThere => "Go on without it, or report that you are blocked.",
        DenyReason::NotRecordable => "Try again in a little while, or report that you are blocked.",
    }
}
