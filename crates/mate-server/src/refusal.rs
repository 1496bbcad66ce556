//! The one mapping from what the engine says to what HTTP says.

use crate::problem::Problem;
use http::StatusCode;
use mate_engine::EngineError;

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        let detail = error.to_string();
        match error {
            EngineError::NotFound => Self::not_found(),
            EngineError::NotAllowed { .. } => {
                Self::new(StatusCode::FORBIDDEN, "not_allowed", "Your role does not allow this", detail)
            }
            EngineError::NotAuthenticated => {
                Self::new(StatusCode::UNAUTHORIZED, "not_authenticated", "No valid token", detail)
            }
            EngineError::Invalid { field, why } => Self::field(field, why),
            EngineError::Refused { code, .. } => {
                Self::new(StatusCode::CONFLICT, code, "It does not fit the present state", detail)
            }
            EngineError::KeyReused => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "idempotency_key_reused",
                "The idempotency key belongs to another request",
                detail,
            ),
            EngineError::Unavailable(_) => {
                tracing::warn!(%detail, "the stores could not take a request");
                Self::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "unavailable",
                    "The stores cannot take it now",
                    "nothing was changed: try again in a moment, and see the coordinator's log if it stays so",
                )
            }
            EngineError::ClockBehind(_) => {
                tracing::warn!(%detail, "a request was refused");
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "clock_behind", "The clock is behind", detail)
            }
            EngineError::Internal(_) | EngineError::Damaged(_) => {
                tracing::error!(%detail, "a request failed");
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "internal",
                    "A defect of Agent Mate or of its files",
                    "the coordinator's log says more; run `agent-mate doctor`",
                )
            }
        }
    }
}
