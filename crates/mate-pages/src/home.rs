//! The front page, in the order of need: what needs you, what runs, what waits, what ended.

use crate::{
    approval::card,
    frame::Context,
    parts::{badge, empty, micros, moment, more, since, tool},
    text::line,
    view::{Approval, Operation, Project, Task},
};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// What the front page shows.
#[derive(Clone, Debug, Default)]
pub struct Home {
    /// The reader's projects.
    pub projects: Vec<Project>,
    /// The chosen one, by id; empty: all of them.
    pub chosen: String,
    /// Requests that wait for a person.
    pub approvals: Vec<Approval>,
    /// Calls of which nobody knows how they ended.
    pub unknown: Vec<Operation>,
    /// Tasks that need somebody: proposed, uncertain, failed lately.
    pub attention: Vec<Task>,
    /// Tasks at work.
    pub running: Vec<Task>,
    /// Tasks that wait for their session or a limit.
    pub waiting: Vec<Task>,
    /// Tasks that ended, the newest first.
    pub ended: Vec<Task>,
    /// Where the ended ones go on.
    pub older: Option<String>,
    /// There is more than is shown of what is not over.
    pub cut: bool,
}

impl Home {
    fn nothing_yet(&self) -> bool {
        self.attention.is_empty()
            && self.running.is_empty()
            && self.waiting.is_empty()
            && self.ended.is_empty()
    }
}

/// The front page.
#[must_use]
pub fn home(cx: &Context, shown: &Home) -> Markup {
    let names: BTreeMap<&str, &str> =
        shown.projects.iter().map(|project| (project.id.as_str(), project.name.as_str())).collect();
    let needs = shown.approvals.len() + shown.unknown.len() + shown.attention.len();
    html! {
        div.head {
            h1 { "Overview" }
            (projects(shown))
        }
        @if shown.projects.is_empty() {
            (empty("There is no project that you may see.", &html! { "A project holds work that belongs together. " a.button href="/projects#new" { "Make one" } " or " code { "agent-mate project add NAME" } }))
        } @else if shown.nothing_yet() {
            (beginning())
        }
        section #needs aria-labelledby="h-needs" {
            h2 id="h-needs" { "Needs you" @if needs > 0 { " " span.count { (needs) } } }
            @if needs == 0 { p.calm { "Nothing waits for you." } }
            @for approval in &shown.approvals { (card(cx, approval, names.get(approval.project.as_str()).copied())) }
            @for operation in &shown.unknown { (unknown(cx, operation)) }
            (rows(cx, &shown.attention, &names))
        }
        section #running aria-labelledby="h-running" {
            h2 id="h-running" { "Running" @if !shown.running.is_empty() { " " span.count { (shown.running.len()) } } }
            @if shown.running.is_empty() { p.calm { "No task is at work." } }
            (rows(cx, &shown.running, &names))
        }
        @if !shown.waiting.is_empty() {
            section #waiting aria-labelledby="h-waiting" {
                h2 id="h-waiting" { "Waiting " span.count { (shown.waiting.len()) } }
                (rows(cx, &shown.waiting, &names))
            }
        }
        @if shown.cut { p.calm { "There are more than are shown here: choose one project." } }
        section #ended aria-labelledby="h-ended" {
            h2 id="h-ended" { "Ended" }
            @if shown.ended.is_empty() { p.calm { "No task has ended yet." } }
            (rows(cx, &shown.ended, &names))
            (more(shown.older.clone(), "Older tasks"))
        }
    }
}

fn projects(shown: &Home) -> Markup {
    html! {
        @if shown.projects.len() > 1 {
            form.switch method="get" action="/" {
                label for="project" { "Project" }
                select id="project" name="project" {
                    option value="" selected[shown.chosen.is_empty()] { "all" }
                    @for project in &shown.projects {
                        option value=(project.id) selected[project.id == shown.chosen] { (line(&project.name, 60)) }
                    }
                }
                button type="submit" { "Show" }
            }
        }
    }
}

fn beginning() -> Markup {
    html! {
        section.steps aria-labelledby="h-begin" {
            h2 id="h-begin" { "To begin" }
            ol {
                li { a href="/runtimes#new" { "Register a runtime" } ": an agent program that is on this machine already." }
                li { a href="/connections#new" { "Connect a tool server" } ": what agents may reach, with its secrets sealed." }
                li { a href="/grants/new" { "Grant some of its tools" } " to a project, within limits, until you revoke it." }
                li { a href="/tasks/new" { "Submit a task" } " and watch it here. It goes on when you close this page." }
            }
        }
    }
}

/// The name by which a task is called: its first words.
pub(crate) fn called(task: &Task) -> String {
    line(task.instructions.lines().find(|line| !line.trim().is_empty()).unwrap_or("(no words)").trim(), 110)
}

pub(crate) fn rows(cx: &Context, tasks: &[Task], names: &BTreeMap<&str, &str>) -> Markup {
    html! {
        @if !tasks.is_empty() {
            ul.tasks {
                @for task in tasks {
                    li.row id={ "t-" (task.id) } {
                        a.title href={ "/tasks/" (task.id) } dir="auto" { (called(task)) }
                        div.state {
                            (badge(&task.state))
                            @if let Some(activity) = &task.activity { (badge(activity)) }
                        }
                        p.meta { (meta(cx, task, names)) }
                    }
                }
            }
        }
    }
}

fn meta(cx: &Context, task: &Task, names: &BTreeMap<&str, &str>) -> Markup {
    html! {
        @if names.len() > 1 && let Some(name) = names.get(task.project.as_str()) { span { (line(name, 40)) } }
        span { (line(&task.runtime_name, 40)) }
        @if task.ended_at.is_some() {
            span { "ended " (moment(task.ended_at, cx.now)) }
            @if let (Some(from), Some(to)) = (task.started_at, task.ended_at) {
                span { "took " (crate::parts::duration(micros(to) - micros(from))) }
            }
        } @else if task.started_at.is_some() {
            span { "for " (since(task.started_at, cx.now)) }
        } @else {
            span { "submitted " (moment(task.created_at, cx.now)) }
        }
        @if task.quiet_since.is_some() { span { "nothing heard for " (since(task.quiet_since, cx.now)) } }
        @if let Some(left) = task.unknown_operations.filter(|left| *left > 0) { span { (left) " outcomes to settle" } }
        @if let Some(reason) = &task.reason { span.reason dir="auto" { (line(reason, 140)) } }
    }
}

fn unknown(cx: &Context, operation: &Operation) -> Markup {
    html! {
        article.card.doubt id={ "o-" (operation.id) } {
            div.card-head {
                h3 { a.title href={ "/operations/" (operation.id) } { (tool(&operation.connection_name, &operation.tool)) } }
                (badge(&operation.state))
            }
            p { (if operation.sent_at.is_some() { "It was sent " } else { "It may have been sent " }) (moment(operation.sent_at.or(operation.admitted_at), cx.now)) ", and nobody knows whether it happened." }
            p { a.button href={ "/operations/" (operation.id) } { "Look and settle it" } }
        }
    }
}
