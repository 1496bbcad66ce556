//! What is not sent: refused in words that tell the agent what to do next, and recorded.

use super::{Admission, Admitted, CurrentTurn, intent::class_of, request::Request, standing::Allowed};
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
        let operation = Operation { state: transition.to().clone(), recorded_at: Some(now), ..operation };
        self.journal
            .write(vec![
                Change::AddOperation { operation: Box::new(operation), transition },
                Change::Event(event),
            ])
            .await?;
        mate_fault::point_async!("deny.committed");
        Ok(Admitted::Refused(format!("{why}. The call was NOT made. {}", next_step(reason))))
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
        DenyReason::NotGranted | DenyReason::NotAuthorised | DenyReason::LimitReached => {
            "Do not try it again; say in your report that it was not allowed."
        }
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
