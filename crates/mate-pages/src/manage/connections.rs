//! Connections: links to upstream tool servers, with their secrets sealed.

use crate::{
    frame::Context,
    parts::{
        badge, effect, empty, facts,
        form::{Draft, Field, form, options, press, tick, trouble},
        moment, more,
    },
    text::{block, line},
    view::{Connection, ConnectionCheck, List, Tool},
};
use maud::{Markup, html};
use serde_json::Value;

/// What a connection's page shows.
#[derive(Clone, Debug, Default)]
pub struct ConnectionPage {
    /// The connection.
    pub connection: Connection,
    /// What a look at it found, if one was asked for.
    pub check: Option<ConnectionCheck>,
    /// Its tools, if they were asked for.
    pub tools: Option<List<Tool>>,
}

/// The list of connections, and the form for a new one.
#[must_use]
pub fn connections(cx: &Context, list: &List<Connection>, draft: &Draft) -> Markup {
    html! {
        div.head { h1 { "Connections" } }
        p.lead { "What agents may reach outside: MCP servers. Agents see none of a connection before some of its tools are granted to their project." }
        @if list.items.is_empty() { (empty("There is no connection yet.", &html! { "Connect a tool server below, or take over what another client has: " code { "agent-mate connection import FILE" } })) }
        ul.tasks {
            @for connection in &list.items {
                li.row {
                    a.title href={ "/connections/" (connection.id) } { (line(&connection.name, 80)) }
                    span.badge.t-calm { (line(&connection.kind, 20)) }
                    p.meta { span { code { (reach(connection)) } } }
                }
            }
        }
        (more(list.next.as_ref().map(|next| format!("/connections?cursor={next}")), "More connections"))
        @if cx.admin { (new(cx, draft)) }
    }
}

fn reach(connection: &Connection) -> String {
    match (&connection.url, &connection.command) {
        (Some(url), _) => line(url, 200),
        (None, Some(command)) => line(&command.join(" "), 200),
        (None, None) => String::new(),
    }
}

fn new(cx: &Context, draft: &Draft) -> Markup {
    html! {
        section #new aria-labelledby="h-new" {
            h2 id="h-new" { "Connect a tool server" }
            (trouble(draft))
            (form(cx, "/connections", "stack", &html! {
                (Field::new("name", "Name").required().hint("Its tools appear as NAME__TOOL.").line(draft, "text"))
                (Field::new("url", "Address").hint("Of a server that speaks MCP over HTTP.").line(draft, "url"))
                (Field::new("command", "Or a program").hint("One that speaks MCP over its standard streams, and its arguments; one a line.").lines(draft, 3))
                (Field::new("secret_env", "Secrets for the program").hint("NAME=VALUE, one a line. Sealed at once and never shown again.").lines(&blank(draft), 2))
                (Field::new("headers", "Headers for the address").hint("NAME=VALUE, one a line, such as Authorization=Bearer … Sealed.").lines(&blank(draft), 2))
                (Field::new("allow_fields", "Arguments that may be recorded").hint("TOOL.FIELD, one a line. Of all others only type and size are kept.").lines(draft, 2))
                (Field::new("effect", "Effect where a grant is silent").choice(draft, &options(&[
                    ("", "changes things outside"), ("read", "only reads"), ("idempotent", "may be repeated"), ("effect", "changes things outside, said explicitly"),
                ])))
                (tick(draft, "trust_annotations", "believe what the server says of its tools' effects", false))
                button.primary type="submit" { "Connect" }
            }))
        }
    }
}

/// What was typed as a secret is not sent back.
fn blank(draft: &Draft) -> Draft {
    let mut draft = draft.clone();
    draft.values.remove("secret_env");
    draft.values.remove("headers");
    draft
}

/// A connection.
#[must_use]
pub fn connection(cx: &Context, shown: &ConnectionPage, draft: &Draft) -> Markup {
    let connection = &shown.connection;
    let address = format!("/connections/{}", connection.id);
    let names = |value: &Value| {
        let list =
            value.as_array().map(|list| list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "));
        list.filter(|text| !text.is_empty()).unwrap_or_else(|| "none".to_owned())
    };
    html! {
        div.head { h1 { (line(&connection.name, 80)) } @if let Some(check) = &shown.check { (badge(&check.state)) } }
        (trouble(draft))
        (facts(&[
            ("Reaches", html! { code { (reach(connection)) } }),
            ("Secrets, sealed", html! { (line(&names(&connection.secret_env), 200)) }),
            ("Headers, sealed", html! { (line(&names(&connection.headers), 200)) }),
            ("Arguments on record", html! { (if connection.allow_fields.is_empty() { "type and size alone".to_owned() } else { line(&connection.allow_fields.join(", "), 300) }) }),
            ("Effect where a grant is silent", effect(connection.effect.as_deref().unwrap_or("effect"))),
            ("Made", moment(connection.created_at, cx.now)),
        ]))
        div.actions {
            (press(cx, &format!("{address}/check"), "Look whether it is well", ""))
            a.button href={ (address) "?tools=yes" } { "Show its tools" }
            a.button.primary href={ "/grants/new?connection=" (connection.id) } { "Grant some of its tools" }
        }
        @if let Some(check) = &shown.check { (found(check)) }
        @if let Some(tools) = &shown.tools { (list(tools, &address)) }
        @if cx.admin {
            div.actions { (changes(cx, &address)) }
        }
    }
}

fn changes(cx: &Context, address: &str) -> Markup {
    html! {
            details.fold {
                summary.button { "Replace secrets" }
                (form(cx, &format!("{address}/rotate"), "stack", &html! {
                    (Field::new("secret_env", "Secrets for the program").hint("NAME=VALUE, one a line.").lines(&Draft::default(), 2))
                    (Field::new("headers", "Headers for the address").hint("NAME=VALUE, one a line.").lines(&Draft::default(), 2))
                    button.primary type="submit" { "Replace" }
                }))
            }
            details.fold {
                summary.button { "Remove it" }
                p { "Every grant of its tools ends. What was done with it stays on record." }
                (press(cx, &format!("{address}/remove"), "Remove", "danger"))
            }
    }
}

fn found(check: &ConnectionCheck) -> Markup {
    let part =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(|text| block(text, 800));
    html! {
        section.card.(if check.state == "well" { "good" } else { "bad" }) aria-labelledby="h-check" {
            h2 id="h-check" { (if check.state == "well" { "It is well" } else { "It is ill" }) }
            @if check.state == "well" { p { "It answered, speaks " (line(check.protocol.as_deref().unwrap_or("MCP"), 40)) " and offers " (check.tools) " tools." } }
            @if let Some(detail) = part(&check.problem, "detail") { p dir="auto" { (detail) } }
            @if let Some(next) = part(&check.problem, "next") { p.next { (next) } }
            @for notice in check.notices.as_array().into_iter().flatten().take(20) {
                p { (block(&notice.as_str().map_or_else(|| notice.to_string(), str::to_owned), 400)) }
            }
        }
    }
}

fn list(tools: &List<Tool>, address: &str) -> Markup {
    html! {
        section aria-labelledby="h-tools" {
            h2 id="h-tools" { "Tools" }
            @if tools.items.is_empty() { p.calm { "It offers none." } }
            ul.tools {
                @for tool in &tools.items {
                    li { b { (line(&tool.name, 100)) } @if let Some(words) = &tool.description { p dir="auto" { (block(words, 400)) } } }
                }
            }
            (more(tools.next.as_ref().map(|next| format!("{address}?tools={next}")), "More tools"))
        }
    }
}
