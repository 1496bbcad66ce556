//! Artifacts: downloaded, and kept from a workspace.

use super::{
    answer::see_other,
    form::Form,
    inside::escape,
    refusal::Refusal,
    tasks::{self, Which},
    visit::{Tried, Visit},
};
use crate::extract::Segments;
use axum::response::Response;
use http::HeaderMap;
use http_body_util::BodyExt;
use serde_json::{Value, json};

/// The content, as the interface gives it: never shown as a page.
pub(super) async fn content(
    visit: Visit,
    Segments(id): Segments<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let response = visit.api.fetch(&format!("/artifacts/{}/content", escape(&id)), &headers).await?;
    let status = response.status();
    if status.is_client_error() && status != http::StatusCode::RANGE_NOT_SATISFIABLE
        || status.is_server_error()
    {
        let bytes = response.into_body().collect().await.map(|all| all.to_bytes()).unwrap_or_default();
        return Err(Refusal::read(status, &serde_json::from_slice(&bytes).unwrap_or_default()));
    }
    Ok(response)
}

/// Makes an artifact of a file in a task's workspace.
pub(super) async fn keep(
    visit: Visit,
    Segments(task): Segments<String>,
    form: Form,
) -> Result<Response, Refusal> {
    let body = json!({ "path": form.whole("path") });
    match visit.api.post::<Value>(&format!("/tasks/{}/artifacts", escape(&task)), &body, &form.key).await {
        Ok(_) => Ok(see_other(&format!("/tasks/{}#artifacts", escape(&task)))),
        Err(refusal) => tasks::whole(&visit, &task, &Which::default(), &Tried::refused(form, refusal)).await,
    }
}
