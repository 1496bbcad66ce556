//! `/connections`

use super::{
    answer::see_other,
    form::Form,
    inside::escape,
    projects::page,
    refusal::Refusal,
    visit::{Tried, Visit},
};
use crate::extract::{PageQuery, Query, Segments};
use axum::response::Response;
use mate_pages::{
    Here,
    manage::{ConnectionPage, connection, connections},
    view::{Connection, ConnectionCheck, List},
};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) async fn list(visit: Visit, query: Query<PageQuery>) -> Result<Response, Refusal> {
    all(&visit, &query.0, &Tried::default()).await
}

async fn all(visit: &Visit, query: &PageQuery, tried: &Tried) -> Result<Response, Refusal> {
    let list: List<Connection> = visit.api.get(&format!("/connections?{}", page(query, 50))).await?;
    let main = connections(&visit.cx, &list, &tried.draft);
    Ok(visit.drafted(&tried.on(Here::Connections, "Connections"), &main))
}

pub(super) async fn add(visit: Visit, form: Form) -> Result<Response, Refusal> {
    let asked = async {
        let mut body = json!({
            "allow_fields": form.lines("allow_fields"),
            "trust_annotations": form.ticked("trust_annotations"),
            "secret_env": form.pairs("secret_env")?,
            "headers": form.pairs("headers")?,
        });
        form.put(&mut body, &["name", "url", "effect"]);
        let command = form.lines("command");
        if !command.is_empty() {
            body["command"] = json!(command);
        }
        visit.api.post::<Connection>("/connections", &body, &form.key).await
    };
    match asked.await {
        Ok(made) => Ok(see_other(&format!("/connections/{}?tools=yes", escape(&made.id)))),
        Err(refusal) => all(&visit, &PageQuery::default(), &Tried::refused(form, refusal)).await,
    }
}

#[derive(Default, Deserialize)]
pub(super) struct Which {
    tools: Option<String>,
}

pub(super) async fn show(
    visit: Visit,
    Segments(id): Segments<String>,
    query: Query<Which>,
) -> Result<Response, Refusal> {
    let tools = match query.0.tools.as_deref() {
        None => return one(&visit, &id, None, &Tried::default()).await,
        Some("yes") => String::new(),
        Some(cursor) => format!("&cursor={}", escape(cursor)),
    };
    let asked = visit.api.get(&format!("/connections/{}/tools?limit=100{tools}", escape(&id))).await;
    match asked {
        Ok(tools) => {
            let shown =
                ConnectionPage { connection: find(&visit, &id).await?, tools: Some(tools), check: None };
            let main = connection(&visit.cx, &shown, &Tried::default().draft);
            Ok(visit.page(Here::Connections, &shown.connection.name, &main))
        }
        Err(refusal) => one(&visit, &id, None, &Tried::refused(Form::default(), refusal)).await,
    }
}

async fn find(visit: &Visit, id: &str) -> Result<Connection, Refusal> {
    visit.api.get(&format!("/connections/{}", escape(id))).await
}

async fn one(
    visit: &Visit,
    id: &str,
    check: Option<ConnectionCheck>,
    tried: &Tried,
) -> Result<Response, Refusal> {
    let shown = ConnectionPage { connection: find(visit, id).await?, check, tools: None };
    let main = connection(&visit.cx, &shown, &tried.draft);
    Ok(visit.drafted(&tried.on(Here::Connections, &shown.connection.name), &main))
}

/// Looks at it, replaces its secrets, or removes it.
pub(super) async fn post(
    visit: Visit,
    Segments((id, verb)): Segments<(String, String)>,
    form: Form,
) -> Result<Response, Refusal> {
    let path = format!("/connections/{}", escape(&id));
    let asked: Result<Value, Refusal> = match verb.as_str() {
        "check" => {
            match visit.api.post::<ConnectionCheck>(&format!("{path}/check"), &json!({}), &form.key).await {
                Ok(found) => return one(&visit, &id, Some(found), &Tried::default()).await,
                Err(refusal) => Err(refusal),
            }
        }
        "rotate" => {
            let body = async {
                Ok(json!({ "secret_env": form.pairs("secret_env")?, "headers": form.pairs("headers")? }))
            };
            match body.await {
                Ok(body) => visit.api.post(&format!("{path}/rotate"), &body, &form.key).await,
                Err(refusal) => Err(refusal),
            }
        }
        "remove" => match visit.api.delete(&path).await {
            Ok(_) => return Ok(see_other("/connections")),
            Err(refusal) => Err(refusal),
        },
        _ => return Err(Refusal::not_found()),
    };
    match asked {
        Ok(_) => Ok(see_other(&path)),
        Err(refusal) => one(&visit, &id, None, &Tried::refused(form, refusal)).await,
    }
}
