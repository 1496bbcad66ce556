//! Who asks, as the bearer check found out.

use crate::problem::Problem;
use axum::extract::FromRequestParts;
use http::request::Parts;
use mate_engine::{EngineError, Principal};
use std::{fmt, sync::Arc};

/// The caller, and the token that was shown (for streams, which check it again while they last).
#[derive(Clone)]
pub(crate) struct Caller {
    /// Who asks.
    pub(crate) who: Principal,
    /// What was shown.
    pub(crate) bearer: Arc<str>,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("who", &self.who).finish_non_exhaustive()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| EngineError::NotAuthenticated.into())
    }
}
