//! What a search found.

use crate::{
    frame::Context,
    home::rows,
    operation::table,
    text::line,
    view::{Operation, Task},
};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// What was looked for, and found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The words.
    pub words: String,
    /// Tasks whose instructions have them.
    pub tasks: Vec<Task>,
    /// Operations whose tool has them.
    pub operations: Vec<Operation>,
    /// How many tasks were looked at.
    pub looked: usize,
    /// Whether there are older ones.
    pub more: bool,
}

/// What a search found.
#[must_use]
pub fn search(cx: &Context, found: &Found) -> Markup {
    html! {
        div.head { h1 { "Search" } }
        form.stack action="/search" method="get" role="search" aria-label="Search again" {
            div.field { label for="q" { "An id, words of a task, or a tool" } input id="q" type="search" name="q" value=(found.words) autocomplete="off"; }
            button type="submit" { "Search" }
        }
        @if !found.words.is_empty() {
            h2 { "Tasks" }
            @if found.tasks.is_empty() { p.calm { "No task has “" (line(&found.words, 80)) "”." } }
            (rows(cx, &found.tasks, &BTreeMap::new()))
            h2 { "Operations" }
            (table(&found.operations))
            p.calm { "Looked at the newest " (found.looked) " tasks" @if found.more { "; older ones are found by their id" } "." }
        }
    }
}
