//! Tokens: what a caller shows.

use crate::{
    frame::Context,
    parts::{
        badge,
        form::{Draft, Field, form, options, press, trouble},
        moment, more, short,
    },
    text::line,
    view::{List, Project, Token},
};
use maud::{Markup, html};

/// What the page of tokens shows.
#[derive(Clone, Debug, Default)]
pub struct TokensPage {
    /// The reader's tokens.
    pub tokens: List<Token>,
    /// The projects that a token may be limited to.
    pub projects: Vec<Project>,
}

/// One's own tokens, and the form for a new one.
#[must_use]
pub fn tokens(cx: &Context, shown: &TokensPage, draft: &Draft) -> Markup {
    let mut projects = options(&[("", "all of yours")]);
    projects.extend(shown.projects.iter().map(|one| (one.id.clone(), one.name.clone())));
    html! {
        div.head { h1 { "Your tokens" } }
        (trouble(draft))
        table.cards {
            thead { tr { th scope="col" { "Token" } th scope="col" { "State" } th scope="col" { "Limited to" } th scope="col" { "Used last" } th scope="col" { "Ends" } th scope="col" { span.sr { "Actions" } } } }
            tbody {
                @for token in &shown.tokens.items {
                    tr.row {
                        td data-label="Token" { (short(&token.id)) " made " (moment(token.created_at, cx.now)) }
                        td data-label="State" { (badge(&token.state)) }
                        td data-label="Limited to" {
                            @let project = token.project.as_ref().and_then(|id| shown.projects.iter().find(|one| &one.id == id));
                            @if let Some(project) = project { (line(&project.name, 60)) " " }
                            @if let Some(role) = &token.role { (line(role, 20)) }
                            @if token.project.is_none() && token.role.is_none() { "nothing" }
                        }
                        td data-label="Used last" { (moment(token.last_used_at, cx.now)) }
                        td data-label="Ends" { @if token.expires_at.is_some() { (moment(token.expires_at, cx.now)) } @else { "when revoked" } }
                        td { @if token.state == "active" { (press(cx, &format!("/tokens/{}/revoke", token.id), "Revoke", "quiet danger")) } }
                    }
                }
            }
        }
        (more(shown.tokens.next.as_ref().map(|next| format!("/tokens?cursor={next}")), "More tokens"))
        section #new aria-labelledby="h-new" {
            h2 id="h-new" { "Make a token" }
            (form(cx, "/tokens", "stack", &html! {
                (Field::new("project", "For the project").choice(draft, &projects))
                (Field::new("role", "At most").choice(draft, &options(&[
                    ("", "your own role"), ("viewer", "viewer"), ("operator", "operator"), ("owner", "owner"),
                ])))
                (Field::new("expires", "Ends").hint("30d, or 2030-01-31T12:00:00Z.").line(draft, "text"))
                button.primary type="submit" { "Make it" }
            }))
        }
    }
}

/// A token that was just made: the one time that it is shown.
#[must_use]
pub fn made(_: &Context, token: &Token) -> Markup {
    html! {
        section.plain {
            h1 { "Your new token" }
            @match &token.token {
                Some(secret) => {
                    p { "Keep it now: it is not shown again." }
                    pre tabindex="0" { code { (secret) } }
                }
                None => p { "It was made before; its secret is not shown a second time. Revoke it and make another if you did not keep it." },
            }
            p { a.button href="/tokens" { "To your tokens" } }
        }
    }
}
