//! `/approvals/{approval}`

use super::{
    form::Form,
    inside::escape,
    live,
    refusal::Refusal,
    visit::{Tried, Visit},
};
use crate::extract::Segments;
use axum::response::Response;
use mate_pages::{Approvals, Here, approval, view::Approval};
use serde_json::{Value, json};

pub(super) async fn show(visit: Visit, Segments(id): Segments<String>) -> Result<Response, Refusal> {
    whole(&visit, &id, &Tried::default()).await
}

async fn whole(visit: &Visit, id: &str, tried: &Tried) -> Result<Response, Refusal> {
    let found: Approval = visit.api.get(&format!("/approvals/{}", escape(id))).await?;
    let mark = live::of(visit, &found.task).await?;
    let by = found.receipt.as_ref().map(|receipt| receipt.by.as_str());
    let names = visit.names(by.into_iter()).await;
    let main = approval(&visit.cx, &Approvals { approval: found, names }, &tried.draft);
    Ok(visit.live(&tried.on(Here::Home, "Approval"), &mark, &main))
}

/// The answer.
pub(super) async fn answer(
    visit: Visit,
    Segments(id): Segments<String>,
    form: Form,
) -> Result<Response, Refusal> {
    let mut body = json!({});
    form.put(&mut body, &["decision", "reason"]);
    tell(&visit, &id, &format!("/approvals/{}", escape(&id)), &body, form).await
}

/// Takes leave back.
pub(super) async fn revoke(
    visit: Visit,
    Segments(id): Segments<String>,
    form: Form,
) -> Result<Response, Refusal> {
    tell(&visit, &id, &format!("/approvals/{}/revoke", escape(&id)), &json!({}), form).await
}

async fn tell(visit: &Visit, id: &str, path: &str, body: &Value, form: Form) -> Result<Response, Refusal> {
    match visit.api.post::<Value>(path, body, &form.key).await {
        Ok(_) => Ok(visit.back(&format!("/approvals/{}", escape(id)))),
        Err(refusal) => whole(visit, id, &Tried::refused(form, refusal)).await,
    }
}
