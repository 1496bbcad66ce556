//! `/grants`

use super::{
    answer::see_other,
    form::Form,
    gather::projects,
    inside::escape,
    refusal::Refusal,
    visit::{Tried, Visit},
};
use crate::extract::{Query, Segments};
use axum::response::Response;
use mate_model::words::Role;
use mate_pages::{
    Here,
    manage::{GrantPage, Granting, grant, granting, grants},
    view::{Grant, List, Project},
};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Default, Deserialize)]
pub(super) struct Which {
    project: Option<String>,
    connection: Option<String>,
    cursor: Option<String>,
    all: Option<bool>,
}

pub(super) async fn list(visit: Visit, query: Query<Which>) -> Result<Response, Refusal> {
    let which = query.0;
    let project = which.project.filter(|project| !project.is_empty());
    let same = project.map(|project| format!("project={}", escape(&project))).unwrap_or_default();
    let mut path = format!("/grants?limit=100&{same}");
    if which.all == Some(true) {
        path.push_str("&all=true");
    }
    if let Some(cursor) = which.cursor {
        path = format!("{path}&cursor={}", escape(&cursor));
    }
    let list: List<Grant> = visit.api.get(path.trim_end_matches('&')).await?;
    let names = projects(&visit).await?.into_iter().map(|project| (project.id, project.name)).collect();
    let main = grants(&visit.cx, &list, &names, &same);
    Ok(visit.page(Here::Grants, "Grants", &main))
}

pub(super) async fn form(visit: Visit, query: Query<Which>) -> Result<Response, Refusal> {
    let which = query.0;
    offer(&visit, which.project, which.connection, &Tried::default()).await
}

async fn offer(
    visit: &Visit,
    project: Option<String>,
    connection: Option<String>,
    tried: &Tried,
) -> Result<Response, Refusal> {
    let connections: List<_> = visit.api.find("/connections?limit=200").await.unwrap_or_default();
    let shown = Granting {
        projects: projects(visit).await?,
        connections: connections.items,
        project: project.unwrap_or_default(),
        connection: connection.unwrap_or_default(),
    };
    let main = granting(&visit.cx, &shown, &tried.draft);
    Ok(visit.drafted(&tried.on(Here::Grants, "Grant tools"), &main))
}

pub(super) async fn add(visit: Visit, form: Form) -> Result<Response, Refusal> {
    let asked = async {
        let tools: Vec<_> = form.text("tools").unwrap_or_default().split(',').map(str::trim).collect();
        let mut body = json!({ "tools": tools });
        form.put(
            &mut body,
            &["project", "connection", "effect", "approve", "expires", "rate", "max_spend", "cost"],
        );
        if let Some(fields) = form.text("spend_fields") {
            body["spend_fields"] =
                fields.split(',').map(str::trim).filter(|field| !field.is_empty()).collect();
        }
        if form.ticked("needs_permit") {
            body["needs_permit"] = json!(true);
        }
        if let Some(most) = form.text("max_calls") {
            let most: i64 =
                most.parse().map_err(|_| Refusal::field("max_calls", "must be a whole number"))?;
            body["max_calls"] = json!(most);
        }
        visit.api.post::<Grant>("/grants", &body, &form.key).await
    };
    match asked.await {
        Ok(made) => Ok(see_other(&format!("/grants/{}", escape(&made.id)))),
        Err(refusal) => offer(&visit, None, None, &Tried::refused(form, refusal)).await,
    }
}

pub(super) async fn show(visit: Visit, Segments(id): Segments<String>) -> Result<Response, Refusal> {
    one(&visit, &id, &Tried::default()).await
}

async fn one(visit: &Visit, id: &str, tried: &Tried) -> Result<Response, Refusal> {
    let found: Grant = visit.api.get(&format!("/grants/{}?limit=100", escape(id))).await?;
    let project: Project = visit.api.get(&format!("/projects/{}", found.project)).await?;
    let owner = visit.has(&found.project, Role::Owner).await;
    let names = visit.names([found.created_by.as_str()].into_iter()).await;
    let shown = GrantPage { grant: found, project: project.name, owner, names };
    let main = grant(&visit.cx, &shown, &tried.draft);
    Ok(visit.drafted(&tried.on(Here::Grants, "Grant"), &main))
}

/// Revokes it, or accepts what has changed of its tools' definitions.
pub(super) async fn post(
    visit: Visit,
    Segments((id, verb)): Segments<(String, String)>,
    form: Form,
) -> Result<Response, Refusal> {
    if !matches!(verb.as_str(), "revoke" | "renew") {
        return Err(Refusal::not_found());
    }
    let address = format!("/grants/{}", escape(&id));
    match visit.api.post::<Value>(&format!("{address}/{verb}"), &json!({}), &form.key).await {
        Ok(_) => Ok(see_other(&address)),
        Err(refusal) => one(&visit, &id, &Tried::refused(form, refusal)).await,
    }
}
