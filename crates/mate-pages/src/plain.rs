//! Pages that say one thing.

use crate::text::line;
use maud::{Markup, html};

/// Something that cannot be done, or is over: what, and what to do next.
#[must_use]
pub fn message(title: &str, detail: &str) -> Markup {
    html! {
        section.plain {
            h1 { (line(title, 200)) }
            p { (line(detail, 800)) }
            p { a.button href="/" { "To the overview" } }
        }
    }
}

/// What does not exist, and what is somebody else's.
#[must_use]
pub fn not_found() -> Markup {
    message(
        "Not found",
        "It does not exist, or you may not see it. Look whether the address is whole, and with which token you signed in.",
    )
}
