//! `/assets/{name}`

use super::refusal::Refusal;
use crate::extract::Segments;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use mate_pages::assets;

/// An asset's name has its hash: under the name it never changes.
pub(super) async fn show(Segments(name): Segments<String>) -> Result<Response, Refusal> {
    let asset = assets::find(&name).ok_or_else(Refusal::not_found)?;
    let mut response = asset.content.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    Ok(response)
}
