//! Lists, ids, names, and what stands where there is nothing.

use crate::text::line;
use maud::{Markup, html};

/// An id, short, whole on demand.
pub(crate) fn short(id: &str) -> Markup {
    let text = line(id, 80);
    let tail =
        text.char_indices().rev().nth(7).map_or(text.as_str(), |(at, _)| text.get(at..).unwrap_or(&text));
    html! { code.id title=(text) { "…" (tail) } }
}

/// A tool, with its connection's name.
pub(crate) fn tool(connection: &str, tool: &str) -> Markup {
    html! {
        bdi.tool {
            @if !connection.is_empty() { (line(connection, 60)) span.slash { "/" } }
            b { (line(tool, 80)) }
        }
    }
}

/// What stands where there is nothing: what it means, and what to do next.
pub(crate) fn empty(words: &str, next: &Markup) -> Markup {
    html! { div.empty { p { (words) } p.next { (next) } } }
}

/// A link to the rest of a list.
pub(crate) fn more(address: Option<String>, words: &str) -> Markup {
    html! { @if let Some(address) = address { p.pager { a.button href=(address) { (words) } } } }
}

/// Names with their values.
pub(crate) fn facts(rows: &[(&str, Markup)]) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in rows { div { dt { (name) } dd { (value) } } }
        }
    }
}
