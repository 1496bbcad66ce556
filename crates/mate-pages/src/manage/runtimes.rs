//! Runtimes: agent programs that are there already, and how they are launched.

use crate::{
    frame::Context,
    parts::{
        empty,
        form::{Draft, Field, form, options, press, trouble},
        moment, more,
    },
    text::line,
    view::{List, Runtime},
};
use maud::{Markup, html};
use serde_json::Value;

/// The list of runtimes, and the form for a new one; `presets` are those that are built in.
#[must_use]
pub fn runtimes(cx: &Context, list: &List<Runtime>, presets: &[String], draft: &Draft) -> Markup {
    let mut offered = options(&[("", "none: a program of your own")]);
    offered.extend(presets.iter().map(|name| (name.clone(), name.clone())));
    html! {
        div.head { h1 { "Runtimes" } }
        p.lead { "Agent programs that exist already. Agent Mate launches them, gives them the granted tools, and records what they do." }
        @if list.items.is_empty() { (empty("No runtime is registered yet.", &html! { "Register one below, or with " code { "agent-mate runtime add NAME --preset PRESET" } })) }
        ul.tasks {
            @for runtime in &list.items {
                li.row {
                    b.title { (line(&runtime.name, 80)) }
                    @if let Some(preset) = runtime.preset.as_str() { span.badge.t-calm { (line(preset, 30)) } }
                    p.meta {
                        @if let Some(command) = runtime.command.as_array() {
                            span { code { (line(&command.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "), 200)) } }
                        }
                        @if let Some(own) = runtime.own_tools.as_str() { span { "its own tools: " (line(own, 20)) } }
                        span { "registered " (moment(runtime.created_at, cx.now)) }
                    }
                    @if cx.admin { (press(cx, &format!("/runtimes/{}/remove", runtime.id), "Remove", "quiet danger")) }
                }
            }
        }
        (more(list.next.as_ref().map(|next| format!("/runtimes?cursor={next}")), "More runtimes"))
        @if cx.admin {
            section #new aria-labelledby="h-new" {
                h2 id="h-new" { "Register a runtime" }
                (trouble(draft))
                (form(cx, "/runtimes", "stack", &html! {
                    (Field::new("name", "Name").required().line(draft, "text"))
                    (Field::new("preset", "A known agent").choice(draft, &offered))
                    (Field::new("command", "The program").hint("It and its arguments, one a line; in place of the preset's.").lines(draft, 3))
                    button.primary type="submit" { "Register" }
                }))
            }
        }
    }
}
