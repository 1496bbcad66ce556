//! Approvals: the exact request, and one press for the answer.

use crate::{
    frame::Context,
    parts::{
        arguments, badge, effect, facts,
        form::{Draft, Field, form, press, trouble},
        moment, short, tool,
    },
    text::line,
    view::Approval,
};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// An approval with the names of whom it speaks.
#[derive(Clone, Debug, Default)]
pub struct Approvals {
    /// The approval.
    pub approval: Approval,
    /// Accounts by id.
    pub names: BTreeMap<String, String>,
}

/// A request that waits, with both answers.
pub(crate) fn card(cx: &Context, approval: &Approval, project: Option<&str>) -> Markup {
    let whole = if approval.approve == "once" { "Allow for this task" } else { "Allow once" };
    html! {
        article.card.ask id={ "a-" (approval.id) } {
            div.card-head {
                h3 { a.title href={ "/approvals/" (approval.id) } { (tool(&approval.connection_name, &approval.tool)) } }
                (badge("waits for you"))
            }
            p.meta {
                span { (effect(&approval.effect)) }
                span { "for " (line(&approval.proposer_name, 40)) }
                @if let Some(project) = project { span { "in " (line(project, 40)) } }
                span { "asked " (moment(approval.requested_at, cx.now)) }
                span { "ends " (moment(approval.expires_at, cx.now)) }
                span { a href={ "/tasks/" (approval.task) } { "the task" } }
            }
            (arguments(&approval.arguments))
            div.answers {
                (answer(cx, approval, "allow", whole, "primary"))
                (answer(cx, approval, "deny", "Deny", "danger"))
            }
        }
    }
}

fn answer(cx: &Context, approval: &Approval, decision: &str, words: &str, class: &str) -> Markup {
    form(
        cx,
        &format!("/approvals/{}", approval.id),
        "press",
        &html! {
            input type="hidden" name="decision" value=(decision);
            button.{ (class) } type="submit" { (words) span.sr { ": " (line(&approval.tool, 60)) } }
        },
    )
}

/// One approval, whole.
#[must_use]
pub fn approval(cx: &Context, shown: &Approvals, draft: &Draft) -> Markup {
    let Approvals { approval, names } = shown;
    let name = |id: &str| names.get(id).map_or_else(|| line(id, 60), |name| line(name, 60));
    let open = approval.state == "open";
    html! {
        div.head { h1 { "May this be done?" } (badge(&approval.state)) }
        (trouble(draft))
        (facts(&[
            ("Tool", tool(&approval.connection_name, &approval.tool)),
            ("Effect", effect(&approval.effect)),
            ("Leave is for", html! { (if approval.approve == "once" { "this tool, until the task ends" } else { "this one call" }) }),
            ("Task", html! { a href={ "/tasks/" (approval.task) } { (short(&approval.task)) } " of " (line(&approval.proposer_name, 60)) }),
            ("Asked", moment(approval.requested_at, cx.now)),
            ("Ends", moment(approval.expires_at, cx.now)),
            ("Digest of the request", html! { code { (line(&approval.digest, 80)) } }),
        ]))
        h2 { "The exact request" }
        (arguments(&approval.arguments))
        @if let Some(operation) = &approval.operation { p { a href={ "/operations/" (operation) } { "The operation" } } }
        @if open {
            h2 { "Your answer" }
            div.answers { (answer(cx, approval, "allow", "Allow", "primary")) }
            (form(cx, &format!("/approvals/{}", approval.id), "stack", &html! {
                input type="hidden" name="decision" value="deny";
                (Field::new("reason", "Why not").hint("The agent is told.").line(draft, "text"))
                button.danger type="submit" { "Deny" }
            }))
        }
        @if let Some(receipt) = &approval.receipt {
            h2 { "The answer" }
            p { (name(&receipt.by)) " said " b { (line(&receipt.decision, 20)) } " " (moment(receipt.at, cx.now)) "." }
            @if let Some(reason) = &receipt.reason { (crate::text::prose(reason)) }
        }
        @if approval.state == "allowed" || approval.permission.as_ref().is_some_and(|leave| leave.state == "active") {
            (press(cx, &format!("/approvals/{}/revoke", approval.id), "Take the leave back", "danger"))
        }
    }
}
