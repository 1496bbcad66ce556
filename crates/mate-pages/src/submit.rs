//! Submitting a task.

use crate::{
    frame::Context,
    parts::{
        empty,
        form::{Draft, Field, form, tick, trouble},
    },
    view::{Project, Runtime},
};
use maud::{Markup, html};

/// What the form offers.
#[derive(Clone, Debug, Default)]
pub struct Submission {
    /// The projects.
    pub projects: Vec<Project>,
    /// The runtimes.
    pub runtimes: Vec<Runtime>,
    /// The project that is chosen at first.
    pub project: String,
}

/// The form for a new task.
#[must_use]
pub fn submit(cx: &Context, shown: &Submission, draft: &Draft) -> Markup {
    let projects: Vec<_> = shown.projects.iter().map(|one| (one.id.clone(), one.name.clone())).collect();
    let runtimes: Vec<_> = shown.runtimes.iter().map(|one| (one.id.clone(), one.name.clone())).collect();
    html! {
        div.head { h1 { "New task" } }
        @if projects.is_empty() {
            (empty("There is no project yet.", &html! { a.button href="/projects#new" { "Make one" } }))
        } @else if runtimes.is_empty() {
            (empty("No runtime is registered: nobody could do the task.", &html! { a.button href="/runtimes#new" { "Register one" } " or " code { "agent-mate runtime add NAME --preset PRESET" } }))
        } @else {
            (trouble(draft))
            (form(cx, "/tasks", "stack", &html! {
                (Field::new("project", "Project").required().first(&shown.project).choice(draft, &projects))
                (Field::new("runtime", "Runtime").required().choice(draft, &runtimes))
                (Field::new("instructions", "What is to be done").required().hint("The agent gets these words as they are. Put long material into the workspace and name the file.").lines(draft, 8))
                (tick(draft, "approve", "approve it at once", true))
                button.primary type="submit" { "Submit" }
            }))
        }
    }
}
