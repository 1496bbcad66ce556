//! The variable parts of an address. What cannot be read names nothing that exists.

use crate::problem::Problem;
use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use serde::de::DeserializeOwned;

/// The variable parts of the address, decoded.
pub(crate) struct Segments<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Segments<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Path::<T>::from_request_parts(parts, state).await;
        read.map(|Path(value)| Self(value)).map_err(|_| Problem::not_found())
    }
}
