//! The parameters of an address, read strictly.

use crate::problem::Problem;
use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::de::DeserializeOwned;

/// The parameters of the address.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        axum::extract::Query::<T>::try_from_uri(&parts.uri).map(|query| Self(query.0)).map_err(|rejection| {
            let text = rejection.body_text();
            let reason = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
            let (field, why) = field_of(reason);
            Problem::parameter(field, why)
        })
    }
}

/// `limit: invalid digit`, or a message that names the field between backticks.
fn field_of(reason: &str) -> (String, String) {
    let named = reason.split('`').nth(1);
    match (reason.split_once(": "), named) {
        (_, Some(name)) if reason.contains(" field `") => (name.to_owned(), reason.to_owned()),
        (Some((field, why)), _) => (field.to_owned(), why.to_owned()),
        (None, _) => ("query".to_owned(), reason.to_owned()),
    }
}
