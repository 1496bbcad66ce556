//! Signing in.

use crate::{
    frame::Context,
    parts::form::{Draft, Field, trouble},
};
use maud::{Markup, html};

/// The form that takes a token; `back` is where to go then.
#[must_use]
pub fn login(_: &Context, draft: &Draft, back: &str) -> Markup {
    html! {
        section.plain.login {
            h1 { "Sign in" }
            p { "On the machine where Agent Mate runs, this opens the dashboard, signed in:" }
            pre tabindex="0" { code { "agent-mate open" } }
            p { "Or show a token. It is checked now, and this browser keeps a cookie in its place." }
            (trouble(draft))
            form method="post" action="/sign-in" {
                input type="hidden" name="back" value=(back);
                (Field::new("token", "Token").required().hint("It begins with am_. The command agent-mate token add makes one.").line(&Draft { values: Default::default(), ..draft.clone() }, "password"))
                button.primary type="submit" { "Sign in" }
            }
        }
    }
}
