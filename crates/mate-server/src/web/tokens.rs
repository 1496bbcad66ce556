//! `/tokens`

use super::{
    answer::see_other,
    form::Form,
    gather::projects,
    inside::escape,
    projects::page,
    refusal::Refusal,
    visit::{Tried, Visit},
};
use crate::extract::{PageQuery, Query, Segments};
use axum::response::Response;
use mate_pages::{
    Here,
    manage::{TokensPage, made, tokens},
    view::Token,
};
use serde_json::{Value, json};

pub(super) async fn list(visit: Visit, query: Query<PageQuery>) -> Result<Response, Refusal> {
    all(&visit, &query.0, &Tried::default()).await
}

async fn all(visit: &Visit, query: &PageQuery, tried: &Tried) -> Result<Response, Refusal> {
    let list = visit.api.get(&format!("/tokens?{}", page(query, 50))).await?;
    let shown = TokensPage { tokens: list, projects: projects(visit).await? };
    let main = tokens(&visit.cx, &shown, &tried.draft);
    Ok(visit.drafted(&tried.on(Here::Tokens, "Tokens"), &main))
}

/// The secret is in this answer alone: there is no page to go to that would show it again.
pub(super) async fn add(visit: Visit, form: Form) -> Result<Response, Refusal> {
    let mut body = json!({});
    form.put(&mut body, &["project", "role", "expires"]);
    match visit.api.post::<Token>("/tokens", &body, &form.key).await {
        Ok(token) => Ok(visit.page(Here::Tokens, "Your new token", &made(&visit.cx, &token))),
        Err(refusal) => all(&visit, &PageQuery::default(), &Tried::refused(form, refusal)).await,
    }
}

pub(super) async fn revoke(
    visit: Visit,
    Segments(id): Segments<String>,
    form: Form,
) -> Result<Response, Refusal> {
    match visit.api.post::<Value>(&format!("/tokens/{}/revoke", escape(&id)), &json!({}), &form.key).await {
        Ok(_) => Ok(see_other("/tokens")),
        Err(refusal) => all(&visit, &PageQuery::default(), &Tried::refused(form, refusal)).await,
    }
}
