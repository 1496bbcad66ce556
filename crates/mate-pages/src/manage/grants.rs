//! Grants: a project's authority to use tools of a connection, within limits, until revoked.

use crate::{
    frame::Context,
    parts::{
        badge, effect, empty, facts,
        form::{Draft, Field, form, options, press, tick, trouble},
        moment, more,
    },
    text::line,
    view::{Connection, Grant, List, Project},
};
use maud::{Markup, html};
use serde_json::Value;
use std::collections::BTreeMap;

/// A grant, with whom and what it names.
#[derive(Clone, Debug, Default)]
pub struct GrantPage {
    /// The grant.
    pub grant: Grant,
    /// Its project's name.
    pub project: String,
    /// Whether the reader is an owner there.
    pub owner: bool,
    /// Accounts by id.
    pub names: BTreeMap<String, String>,
}

/// What the form for a new grant offers.
#[derive(Clone, Debug, Default)]
pub struct Granting {
    /// The projects.
    pub projects: Vec<Project>,
    /// The connections.
    pub connections: Vec<Connection>,
    /// The project that is chosen at first.
    pub project: String,
    /// The connection that is chosen at first.
    pub connection: String,
}

/// The fields that are folded away until one of them is filled in.
const LIMITS: [&str; 5] = ["rate", "max_spend", "spend_fields", "cost", "needs_permit"];

fn asks(approve: &str) -> &'static str {
    match approve {
        "always" => "a person is asked before each call",
        "once" => "a person is asked at the first call of a tool in a task",
        _ => "nobody is asked",
    }
}

/// The list of grants.
#[must_use]
pub fn grants(cx: &Context, list: &List<Grant>, projects: &BTreeMap<String, String>, query: &str) -> Markup {
    html! {
        div.head { h1 { "Grants" } a.button.primary href="/grants/new" { "Grant tools" } }
        @if list.items.is_empty() { (empty("Nothing is granted: agents can call no tool.", &html! { a.button href="/grants/new" { "Grant some tools of a connection" } })) }
        @else {
            table.cards {
                thead { tr { th scope="col" { "Tools" } th scope="col" { "Project" } th scope="col" { "State" } th scope="col" { "Asks" } th scope="col" { "Used" } th scope="col" { "Ends" } } }
                tbody {
                    @for grant in &list.items {
                        tr.row {
                            td data-label="Tools" { a.title href={ "/grants/" (grant.id) } { (line(&grant.connection_name, 60)) "/" b { (line(&grant.tools.join(", "), 100)) } } }
                            td data-label="Project" { (line(projects.get(&grant.project).map_or("", String::as_str), 60)) }
                            td data-label="State" { (badge(&grant.state)) }
                            td data-label="Asks" { (asks(&grant.approve)) }
                            td data-label="Used" { (used(grant)) }
                            td data-label="Ends" { @if grant.expires_at.is_some() { (moment(grant.expires_at, cx.now)) } @else { "when revoked" } }
                        }
                    }
                }
            }
        }
        (more(list.next.as_ref().map(|next| format!("/grants?{query}&cursor={next}")), "More grants"))
        p { a href={ "/grants?all=true&" (query) } { "Show those that are over, too" } }
    }
}

/// What may be spent, and what has been.
fn spending(grant: &Grant) -> Markup {
    let most = plain(&grant.max_spend);
    html! {
        @if most.is_empty() { "without a limit" }
        @else { (line(&plain(&grant.used_spend), 40)) " of " (line(&most, 40)) }
        @if !grant.cost.is_null() { "; " (line(&plain(&grant.cost), 40)) " for each call" }
        @if !grant.spend_fields.is_empty() { "; as " (line(&grant.spend_fields.join(", "), 200)) " says" }
    }
}

/// A value of the interface as one writes it.
fn plain(value: &Value) -> String {
    if value.is_null() {
        return String::new();
    }
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn used(grant: &Grant) -> Markup {
    html! { (grant.used_calls) @if let Some(most) = grant.max_calls { " of " (most) } " calls" }
}

/// One grant.
#[must_use]
pub fn grant(cx: &Context, shown: &GrantPage, draft: &Draft) -> Markup {
    let grant = &shown.grant;
    let by = shown.names.get(&grant.created_by).unwrap_or(&grant.created_by);
    let over = grant.state == "revoked";
    html! {
        div.head { h1 { "Grant of " (line(&grant.connection_name, 60)) "/" (line(&grant.tools.join(", "), 100)) } (badge(&grant.state)) }
        (trouble(draft))
        (facts(&[
            ("Project", html! { a href={ "/projects/" (grant.project) } { (line(&shown.project, 60)) } }),
            ("Connection", html! { (line(&grant.connection_name, 60)) }),
            ("Asks", html! { (asks(&grant.approve)) }),
            ("Effect", match &grant.effect { Some(class) => effect(class), None => html! { "as the connection says" } }),
            ("Used", used(grant)),
            ("Rate", html! { @if grant.rate.is_null() { "without a limit" } @else { (line(&plain(&grant.rate), 40)) " in each session" } }),
            ("Spent", spending(grant)),
            ("Made", html! { (moment(grant.created_at, cx.now)) " by " (line(by, 60)) }),
            ("Ends", html! { @if grant.expires_at.is_some() { (moment(grant.expires_at, cx.now)) } @else { "when revoked" } }),
            ("Revoked", moment(grant.revoked_at, cx.now)),
        ]))
        @if grant.needs_permit { p { "A policy must permit each call as well." } }
        @if shown.owner && !over {
            div.actions {
                @if grant.changed_tools > 0 { (press(cx, &format!("/grants/{}/renew", grant.id), "Accept the changed definitions", "primary")) }
                (press(cx, &format!("/grants/{}/revoke", grant.id), "Revoke", "danger"))
            }
            p.calm { "Revoked, it allows nothing from that moment on. What was sent before is not undone." }
        }
        @if let Some(pins) = &grant.pins && !pins.items.is_empty() {
            h2 { "Definitions that were pinned" }
            ul.tools {
                @for pin in &pins.items {
                    li {
                        b { (line(&pin.tool, 100)) } " " (badge(&pin.state))
                        @if let Some(changed) = pin.change.get("changed") { p { "Changed: " (line(&changed.to_string(), 200)) } }
                    }
                }
            }
        }
    }
}

/// The form for a new grant.
#[must_use]
pub fn granting(cx: &Context, shown: &Granting, draft: &Draft) -> Markup {
    let projects: Vec<_> = shown.projects.iter().map(|one| (one.id.clone(), one.name.clone())).collect();
    let connections: Vec<_> =
        shown.connections.iter().map(|one| (one.id.clone(), one.name.clone())).collect();
    html! {
        div.head { h1 { "Grant tools" } }
        @if connections.is_empty() {
            (empty("There is no connection whose tools could be granted.", &html! { a.button href="/connections#new" { "Connect a tool server" } }))
        } @else {
            (trouble(draft))
            (form(cx, "/grants", "stack", &html! {
                (Field::new("project", "To the project").required().first(&shown.project).choice(draft, &projects))
                (Field::new("connection", "Of the connection").required().first(&shown.connection).choice(draft, &connections))
                (Field::new("tools", "Tools").required().hint("Names or patterns such as get_*, separated by commas. * is all.").line(draft, "text"))
                (Field::new("approve", "Asks a person").first("always").choice(draft, &options(&[
                    ("always", "before each call"), ("once", "at the first call of a tool in a task"), ("never", "never"),
                ])))
                (Field::new("effect", "Effect").choice(draft, &options(&[
                    ("", "as the connection says"), ("read", "only reads"), ("idempotent", "may be repeated"), ("effect", "changes things outside"),
                ])))
                (Field::new("expires", "Ends").hint("30d, or 2030-01-31T12:00:00Z. Empty: when it is revoked.").line(draft, "text"))
                (Field::new("max_calls", "Most calls").line(draft, "number"))
                details.fold open[LIMITS.iter().any(|name| !draft.value(name, "").is_empty())] {
                    summary.button { "More limits" }
                    (Field::new("rate", "Rate").hint("Calls in a time, for each session: 5/s, 30/min, 100/h.").line(draft, "text"))
                    (Field::new("max_spend", "May spend in all").hint("A number, in whatever unit the tools count.").line(draft, "text"))
                    (Field::new("spend_fields", "What a call spends").hint("TOOL.FIELD, separated by commas: the arguments that say it.").line(draft, "text"))
                    (Field::new("cost", "What each call costs").hint("Besides what its arguments say.").line(draft, "text"))
                    (tick(draft, "needs_permit", "A policy must permit each call as well", false))
                }
                button.primary type="submit" { "Grant" }
            }))
        }
    }
}
