//! A task's page: what it does now, its plan, its timeline, what was said, what was done and by whose leave.

use crate::{
    approval::card,
    conversation::{Conversation, conversation},
    frame::Context,
    home::called,
    operation::table,
    parts::{
        badge, facts,
        form::{Draft, Field, form, press, tick, trouble},
        moment, more, short, since,
    },
    text::{bytes, line, prose},
    timeline::{Window, timeline},
    view::{Approval, Artifact, Event, Operation, Session, Task},
};
use maud::{Markup, html};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a task's page shows.
#[derive(Clone, Debug, Default)]
pub struct TaskPage {
    /// The task.
    pub task: Task,
    /// Its project's name.
    pub project: String,
    /// Its session.
    pub session: Session,
    /// Whether the reader may act on it.
    pub operator: bool,
    /// Its approvals that wait.
    pub approvals: Vec<Approval>,
    /// The last plan.
    pub plan: Option<Event>,
    /// The last word on tokens and cost.
    pub usage: Option<Event>,
    /// Its last operations, in order.
    pub operations: Vec<Operation>,
    /// Where earlier operations are.
    pub earlier_operations: Option<String>,
    /// The conversation.
    pub conversation: Conversation,
    /// What the ledger tells: who asked, allowed and decided.
    pub decided: Vec<Event>,
    /// What the last listing of the workspace found.
    pub files: Option<Event>,
    /// Its artifacts.
    pub artifacts: Vec<Artifact>,
    /// What the agent reported in its words.
    pub summary: Option<String>,
    /// The part of time that is drawn.
    pub window: Option<Window>,
    /// Accounts by id.
    pub names: BTreeMap<String, String>,
}

impl TaskPage {
    fn name(&self, id: &str) -> String {
        self.names.get(id).map_or_else(|| line(id, 60), |name| line(name, 60))
    }
}

/// A task's page.
#[must_use]
pub fn task(cx: &Context, shown: &TaskPage, draft: &Draft) -> Markup {
    let task = &shown.task;
    html! {
        (head(cx, shown))
        (trouble(draft))
        @if let Some(why) = &task.set_aside { div.trouble role="alert" { b { "It is set aside." } " " (line(why, 400)) } }
        (uncertain(cx, shown, draft))
        @for approval in &shown.approvals { (card(cx, approval, None)) }
        (buttons(cx, shown, draft))
        div.columns {
            div.wide {
                section #timeline aria-labelledby="h-timeline" {
                    h2 id="h-timeline" { "Timeline" }
                    (timeline(task, &shown.operations, &shown.decided, shown.window, cx.now))
                }
                section #operations aria-labelledby="h-operations" {
                    h2 id="h-operations" { "Operations" }
                    (more(shown.earlier_operations.clone(), "Earlier operations"))
                    (table(&shown.operations))
                }
                section #conversation aria-labelledby="h-conversation" {
                    h2 id="h-conversation" { "Conversation" }
                    @if shown.conversation.past { p.pager { a.button href={ "/tasks/" (task.id) "#conversation" } { "To the newest part" } } }
                    (conversation(&shown.conversation, cx.now))
                }
            }
            div.side {
                (plan(shown.plan.as_ref()))
                (about(cx, shown))
                (artifacts(cx, shown, draft))
                (trail(cx, shown))
            }
        }
    }
}

fn head(cx: &Context, shown: &TaskPage) -> Markup {
    let task = &shown.task;
    html! {
        div.head #head {
            h1 dir="auto" { (called(task)) }
            div.state { (badge(&task.state)) @if let Some(activity) = &task.activity { (badge(activity)) } }
        }
        p.meta #meta {
            span { a href={ "/?project=" (task.project) } { (line(&shown.project, 60)) } }
            span { (line(&task.runtime_name, 60)) }
            span { "by " (shown.name(&task.proposer)) }
            @if task.ended_at.is_some() { span { "ended " (moment(task.ended_at, cx.now)) } }
            @else if task.started_at.is_some() { span { "for " (since(task.started_at, cx.now)) } }
            @else { span { "submitted " (moment(task.created_at, cx.now)) } }
            @if task.quiet_since.is_some() { span { "nothing heard for " (since(task.quiet_since, cx.now)) } }
            @if task.deadline_at.is_some() { span { "asked to stop " (moment(task.deadline_at, cx.now)) } }
            @if let Some(result) = &task.result { span { "result " (line(result, 20)) @if let Some(report) = &task.report { ": " (line(report, 30)) } } }
        }
        @if let Some(reason) = &task.reason { p.reason dir="auto" { (line(reason, 400)) } }
        @if let Some(summary) = &shown.summary { div.summary { h2 { "What the agent reported" } (prose(summary)) } }
        @if task.instructions.chars().count() > 110 || task.instructions.trim().contains('\n') {
            details.instructions { summary { "All of what it was asked" } (prose(&task.instructions)) }
        }
    }
}

fn uncertain(cx: &Context, shown: &TaskPage, draft: &Draft) -> Markup {
    let task = &shown.task;
    if task.state != "unknown" {
        return html! {};
    }
    let left = task.unknown_operations.unwrap_or_default();
    let own = task.uncertain.as_deref() != Some("operations");
    html! {
        section.card.doubt #uncertain aria-labelledby="h-uncertain" {
            h2 id="h-uncertain" { "Nobody knows how this ended" }
            @if left > 0 {
                p { (left) " of its calls may or may not have happened. Settle each of them with evidence:" }
                ul {
                    @for operation in shown.operations.iter().filter(|one| one.state == "unknown").take(20) {
                        li { a href={ "/operations/" (operation.id) } { (line(&operation.connection_name, 60)) "/" (line(&operation.tool, 80)) } }
                    }
                }
            }
            @if let Some(then) = &task.then { p { "Then it is " b { (line(then, 20)) } "." } }
            @if own && left == 0 && shown.operator {
                p { "The runtime's own last act is uncertain: look at the workspace and at what it works on, then say how it stands." }
                (form(cx, &format!("/tasks/{}/resolve", task.id), "stack", &html! {
                    (Field::new("reason", "How you know").required().line(draft, "text"))
                    (Field::new("proof", "What you looked at").line(draft, "text"))
                    button.primary type="submit" { "Settle it" }
                }))
            }
        }
    }
}

fn buttons(cx: &Context, shown: &TaskPage, draft: &Draft) -> Markup {
    let task = &shown.task;
    if !shown.operator {
        return html! {};
    }
    let address = |verb: &str| format!("/tasks/{}/{verb}", task.id);
    let ended = task.is_final || task.state == "unknown";
    html! {
        div.actions #actions {
            @match task.state.as_str() {
                "proposed" => { (press(cx, &address("approve"), "Approve", "primary")) (reject(cx, shown, draft)) }
                "accepted" => (reject(cx, shown, draft)),
                "running" => { (press(cx, &address("stop"), "Stop", "danger")) (press(cx, &address("kill"), "Kill", "danger quiet")) }
                "stop_requested" => (press(cx, &address("kill"), "Kill", "danger")),
                _ => {}
            }
            @if let Some(next) = &task.continued_by { a.button href={ "/tasks/" (next) } { "Continued by another task" } }
            @else if ended && task.state != "rejected" {
                details.fold open[draft.action == address("resume")] {
                    summary.button { "Continue it" }
                    (form(cx, &address("resume"), "stack", &html! {
                        p { "A new task on the same session, with a note of what is on record." }
                        (Field::new("instructions", "What it is asked").hint("Empty: what it was asked before.").lines(draft, 3))
                        (tick(draft, "fresh", "in a new session, without the conversation so far", false))
                        button.primary type="submit" { "Continue" }
                    }))
                }
            }
        }
    }
}

fn reject(cx: &Context, shown: &TaskPage, draft: &Draft) -> Markup {
    let address = format!("/tasks/{}/reject", shown.task.id);
    html! {
        details.fold open[draft.action == address] {
            summary.button { "Reject" }
            (form(cx, &address, "stack", &html! {
                (Field::new("reason", "Why").line(draft, "text"))
                button.danger type="submit" { "Reject" }
            }))
        }
    }
}

fn plan(event: Option<&Event>) -> Markup {
    let entries = event.and_then(|event| event.data.get("entries")).and_then(Value::as_array);
    let entries = entries.map(Vec::as_slice).unwrap_or_default();
    let text =
        |entry: &Value, name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let done = entries.iter().filter(|entry| text(entry, "status") == "completed").count();
    html! {
        @if !entries.is_empty() {
            section #plan aria-labelledby="h-plan" {
                h2 id="h-plan" { "Plan" }
                p { label { (done) " of " (entries.len()) " steps done " progress max=(entries.len()) value=(done) {} } }
                ol.plan {
                    @for entry in entries.iter().take(100) {
                        @let status = text(entry, "status");
                        li.{ "s-" (if status == "completed" { "done" } else if status == "in_progress" { "now" } else { "open" }) } dir="auto" {
                            (line(&text(entry, "content"), 300))
                            span.sr { ", " (line(&status, 20).replace('_', " ")) }
                        }
                    }
                }
            }
        }
    }
}

fn about(cx: &Context, shown: &TaskPage) -> Markup {
    let task = &shown.task;
    let link =
        |id: &Option<String>| html! { @if let Some(id) = id { a href={ "/tasks/" (id) } { (short(id)) } } };
    let mut rows = vec![
        ("Task", html! { code { (task.id) } }),
        ("Session", html! { (short(&task.session)) " " (badge(&shown.session.state)) }),
        ("Submitted", moment(task.created_at, cx.now)),
        ("Started", moment(task.started_at, cx.now)),
    ];
    if task.continues.is_some() {
        rows.push(("Continues", link(&task.continues)));
    }
    if let Some(workspace) = &shown.session.workspace {
        rows.push(("Workspace", html! { code { (line(workspace, 200)) } }));
    }
    if let Some(usage) = &shown.usage {
        for (name, words) in [
            ("input_tokens", "Tokens in"),
            ("output_tokens", "Tokens out"),
            ("total_tokens", "Tokens in all"),
        ] {
            if let Some(count) = usage.data.get(name).and_then(Value::as_u64) {
                rows.push((words, html! { (count) }));
            }
        }
    }
    html! {
        section #about aria-labelledby="h-about" { h2 id="h-about" { "About it" } (facts(&rows)) }
    }
}

fn artifacts(cx: &Context, shown: &TaskPage, draft: &Draft) -> Markup {
    let files = shown.files.as_ref().and_then(|event| event.data.get("files")).and_then(Value::as_array);
    let files = files.map(Vec::as_slice).unwrap_or_default();
    html! {
        section #artifacts aria-labelledby="h-artifacts" {
            h2 id="h-artifacts" { "Artifacts and files" }
            @if shown.artifacts.is_empty() && files.is_empty() { p.calm { "It has left nothing yet." } }
            ul.files {
                @for artifact in &shown.artifacts {
                    li {
                        @if artifact.state == "kept" {
                            a href={ "/artifacts/" (artifact.id) "/content" } download { (line(&artifact.name, 100)) }
                        } @else { (line(&artifact.name, 100)) " " (badge(&artifact.state)) }
                        span.calm {
                            @if let Some(size) = artifact.size { " " (bytes(size)) }
                            @if let Some(kind) = &artifact.media_type { " " (line(kind, 50)) }
                        }
                        @if let Some(reason) = &artifact.reason { " " (line(reason, 140)) }
                    }
                }
            }
            @if !files.is_empty() {
                h3 { "Left in the workspace" }
                ul.files {
                    @for file in files.iter().take(100) {
                        @let path = file.get("path").and_then(Value::as_str).unwrap_or_default();
                        li {
                            code { (line(path, 160)) }
                            @if let Some(size) = file.get("size").and_then(Value::as_i64) { " " span.calm { (bytes(size)) } }
                            @if shown.operator && !path.is_empty() {
                                (form(cx, &format!("/tasks/{}/artifacts", shown.task.id), "press", &html! {
                                    input type="hidden" name="path" value=(path);
                                    button.quiet type="submit" { "Keep" span.sr { " " (line(path, 100)) } }
                                }))
                            }
                        }
                    }
                }
            }
            @if draft.action.ends_with("/artifacts") { (trouble(draft)) }
        }
    }
}

fn trail(cx: &Context, shown: &TaskPage) -> Markup {
    html! {
        section #trail aria-labelledby="h-trail" {
            h2 id="h-trail" { "Who decided what" }
            ol.trail {
                @for event in &shown.decided {
                    li {
                        b { (line(&event.kind, 60).replace(['.', '_'], " ")) }
                        @if !event.text("by").is_empty() { " by " (shown.name(event.text("by"))) }
                        @for name in ["tool", "reason"] {
                            @if !event.text(name).is_empty() { " · " bdi { (line(event.text(name), 160)) } }
                        }
                        span.when { (moment(event.at, cx.now)) }
                    }
                }
            }
            @if !shown.task.permissions.is_empty() {
                h3 { "Leave until it ends" }
                ul {
                    @for leave in &shown.task.permissions {
                        li {
                            a href={ "/approvals/" (leave.id) } { (line(&leave.connection_name, 60)) "/" (line(&leave.tool, 80)) }
                            " by " (shown.name(&leave.given_by)) " " (badge(&leave.state))
                        }
                    }
                }
            }
        }
    }
}
