//! Operations: the table of a task's, and the desk at which an unknown outcome is settled.

use crate::{
    frame::Context,
    parts::{
        arguments, badge, duration, effect, exactly, facts,
        form::{Draft, Field, form, options, press, tick, trouble},
        moment, short, tool,
    },
    text::{bytes, line, prose},
    view::{Approval, Artifact, Evidence, Grant, Operation},
};
use maud::{Markup, html};
use serde_json::Value;
use std::collections::BTreeMap;

/// What the desk lays out.
#[derive(Clone, Debug, Default)]
pub struct Desk {
    /// The operation.
    pub operation: Operation,
    /// The grant that allowed it.
    pub grant: Option<Grant>,
    /// The leave that was asked for it.
    pub approval: Option<Approval>,
    /// Calls of the same tool with the same arguments, near it.
    pub alike: Vec<Operation>,
    /// Whether the reader may settle it.
    pub operator: bool,
    /// Accounts by id.
    pub names: BTreeMap<String, String>,
}

impl Desk {
    fn name(&self, id: &str) -> String {
        self.names.get(id).map_or_else(|| line(id, 60), |name| line(name, 60))
    }
}

/// A task's operations; cards on a narrow screen.
pub(crate) fn table(operations: &[Operation]) -> Markup {
    html! {
        @if operations.is_empty() {
            p.calm { "No tool was called through the bridge." }
        } @else {
            table.cards {
                thead { tr { th scope="col" { "Tool" } th scope="col" { "Outcome" } th scope="col" { "Took" } th scope="col" { "Effect" } th scope="col" { "By whose leave" } } }
                tbody {
                    @for operation in operations {
                        tr.row id={ "o-" (operation.id) } {
                            td data-label="Tool" { a.title href={ "/operations/" (operation.id) } { (tool(&operation.connection_name, &operation.tool)) } }
                            td data-label="Outcome" {
                                (badge(&operation.state))
                                @if let Some(reason) = &operation.deny_reason { " " span.calm { (line(reason, 60).replace('_', " ")) } }
                            }
                            td data-label="Took" { @if let Some(span) = operation.duration_us { (duration(span)) } @else { "–" } }
                            td data-label="Effect" { (effect(&operation.effect)) }
                            td data-label="By whose leave" { (leave(operation)) }
                        }
                    }
                }
            }
        }
    }
}

fn leave(operation: &Operation) -> Markup {
    html! {
        @if let Some(grant) = &operation.grant { a href={ "/grants/" (grant) } { "grant " (short(grant)) } }
        @else if operation.state == "denied" { span.calm { "refused" } }
        @else { span.calm { "no grant" } }
    }
}

/// One operation, whole, and the form that settles it while nobody knows how it ended.
#[must_use]
pub fn desk(cx: &Context, shown: &Desk, draft: &Draft) -> Markup {
    let operation = &shown.operation;
    html! {
        div.head {
            h1 { (tool(&operation.connection_name, &operation.tool)) }
            (badge(&operation.state))
        }
        p.meta { span { (effect(&operation.effect)) } span { a href={ "/tasks/" (operation.task) } { "its task" } } @if let Some(span) = operation.duration_us { span { "took " (duration(span)) } } }
        @if let Some(detail) = &operation.detail { p dir="auto" { (line(detail, 600)) } }
        (trouble(draft))
        @if operation.state == "unknown" { (settle(cx, shown, draft)) }
        @if operation.contradiction.is_some() { (contradiction(cx, shown, draft)) }
        div.columns {
            div.wide {
                section aria-labelledby="h-sent" { h2 id="h-sent" { "What was asked" } (arguments(&operation.arguments)) }
                section aria-labelledby="h-when" { h2 id="h-when" { "When" } (times(cx, operation)) }
                section aria-labelledby="h-proof" { h2 id="h-proof" { "How it is known" } (evidence(cx, shown)) }
            }
            div.side {
                section aria-labelledby="h-leave" { h2 id="h-leave" { "By whose leave" } (decided(cx, shown)) }
                section aria-labelledby="h-alike" { h2 id="h-alike" { "Identical calls nearby" } (alike(cx, &shown.alike)) }
                (left(operation.artifacts.as_deref().unwrap_or_default()))
                section aria-labelledby="h-ids" {
                    h2 id="h-ids" { "Ids" }
                    (facts(&[
                        ("Operation", html! { code { (operation.id) } }),
                        ("Trace", html! { code { (line(&operation.trace, 60)) } }),
                        ("Digest", html! { code { (line(&operation.digest, 80)) } }),
                    ]))
                }
            }
        }
    }
}

fn settle(cx: &Context, shown: &Desk, draft: &Draft) -> Markup {
    let operation = &shown.operation;
    let at = operation.sent_at.or(operation.admitted_at);
    html! {
        section.card.doubt #settle aria-labelledby="h-settle" {
            h2 id="h-settle" { "Did it happen?" }
            p {
                (if operation.sent_at.is_some() { "It was sent " } else { "It was let out, and may have been sent, " })
                (moment(at, cx.now)) "; its answer never came. Look at the other side. Until this is settled, Agent Mate does not send the same call again."
            }
            @if let Some(look) = &operation.last_look { p { "The connection's own look says: " bdi { (line(look, 300)) } } }
            @if operation.next_look_at.is_some() { p.calm { "It is looked for again " (moment(operation.next_look_at, cx.now)) "." } }
            @if shown.operator {
                @if operation.looks.is_some() { (press(cx, &format!("/operations/{}/verify", operation.id), "Look now", "")) }
                (form(cx, &format!("/operations/{}/resolve", operation.id), "stack", &html! {
                    (Field::new("as", "It has").required().choice(draft, &options(&[
                        ("", "choose"),
                        ("succeeded", "happened: it succeeded"),
                        ("failed", "not happened: it failed"),
                        ("abandoned", "nobody will find out: abandoned"),
                    ])))
                    (Field::new("reason", "How you know").required().line(draft, "text"))
                    (Field::new("proof", "What you looked at").hint("An address, a number, a line of a log.").line(draft, "text"))
                    (tick(draft, "permit_repeat", "the agent may make this call once more", false))
                    button.primary type="submit" { "Settle it" }
                }))
            } @else { p.calm { "Operators of the project settle it." } }
        }
    }
}

fn contradiction(cx: &Context, shown: &Desk, draft: &Draft) -> Markup {
    let operation = &shown.operation;
    let Some(other) = &operation.contradiction else { return html! {} };
    html! {
        section.card.doubt aria-labelledby="h-contrary" {
            h2 id="h-contrary" { "Later evidence says otherwise" }
            p { "It says " b { (line(&other.verdict, 20)) } " " (moment(operation.contradicted_at, cx.now)) ": " bdi { (line(&other.evidence.detail, 400)) } }
            @if operation.acknowledged_at.is_some() {
                p { (shown.name(other.acknowledged_by.as_deref().unwrap_or_default())) " took note " (moment(operation.acknowledged_at, cx.now)) ": " bdi { (line(other.acknowledgement.as_deref().unwrap_or_default(), 300)) } }
            } @else if shown.operator {
                (form(cx, &format!("/operations/{}/resolve", operation.id), "stack", &html! {
                    input type="hidden" name="as" value=(operation.state);
                    (Field::new("reason", "What you make of it").required().line(draft, "text"))
                    button type="submit" { "Take note" }
                }))
            }
        }
    }
}

fn times(cx: &Context, operation: &Operation) -> Markup {
    facts(&[
        ("Asked for by the runtime", exactly(operation.requested_at, cx.now)),
        ("Intent on record", exactly(operation.admitted_at, cx.now)),
        ("Sent", exactly(operation.sent_at, cx.now)),
        ("Answered", exactly(operation.answered_at, cx.now)),
        ("Outcome on record", exactly(operation.recorded_at, cx.now)),
    ])
}

fn evidence(cx: &Context, shown: &Desk) -> Markup {
    let operation = &shown.operation;
    html! {
        @match &operation.evidence {
            Some(Evidence { kind, by, detail }) => {
                p { (line(kind, 40).replace('_', " ")) @if let Some(by) = by { " by " b { (shown.name(by)) } } @if operation.resolved_at.is_some() { " " (moment(operation.resolved_at, cx.now)) } }
                @if !detail.is_empty() { (prose(detail)) }
            }
            None => p.calm { (if operation.state == "unknown" { "Nothing proves either." } else { "There is no evidence of an outcome." }) },
        }
        @if let Some(proof) = &operation.proof { p { "Looked at: " bdi { (line(proof, 300)) } } }
        @if operation.permit_repeat == Some(true) { p { "One identical call more was permitted." } }
        @if let Some(size) = operation.result_size { p.calm { "Its result had " (bytes(size)) @if let Some(kind) = &operation.result_type { ", " (line(kind, 80)) } "." } }
        @if let Some(named) = &operation.upstream_task { p { "The upstream calls it " code { (line(named, 100)) } "." } }
    }
}

fn decided(cx: &Context, shown: &Desk) -> Markup {
    let operation = &shown.operation;
    let policies: Vec<_> = operation
        .decision
        .get("policies")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    html! {
        @if let Some(reason) = &operation.deny_reason { p { "It was refused: " b { (line(reason, 60).replace('_', " ")) } } }
        @match &shown.grant {
            Some(grant) => p { "Under " a href={ "/grants/" (grant.id) } { "the grant of " (line(&grant.tools.join(", "), 80)) } ", made " (moment(grant.created_at, cx.now)) " by " (shown.name(&grant.created_by)) ". It is " (badge(&grant.state)) " now." },
            None => @if let Some(grant) = &operation.grant { p { "Under the grant " (short(grant)) "." } } @else { p.calm { "No grant allowed it." } },
        }
        @if !policies.is_empty() {
            p { "Decided by " @for (n, policy) in policies.iter().take(20).enumerate() { @if n > 0 { ", " } code { (line(policy, 80)) } } "." }
        }
        @if let Some(approval) = &shown.approval {
            p {
                a href={ "/approvals/" (approval.id) } { "Leave" } " is " (badge(&approval.state))
                @if let Some(receipt) = &approval.receipt { ": " (shown.name(&receipt.by)) " said " b { (line(&receipt.decision, 20)) } " " (moment(receipt.at, cx.now)) }
            }
        }
    }
}

fn alike(cx: &Context, operations: &[Operation]) -> Markup {
    html! {
        @if operations.is_empty() { p.calm { "None in this task." } }
        ul {
            @for operation in operations {
                li { a href={ "/operations/" (operation.id) } { (moment(operation.requested_at, cx.now)) } " " (badge(&operation.state)) }
            }
        }
    }
}

fn left(artifacts: &[Artifact]) -> Markup {
    html! {
        @if !artifacts.is_empty() {
            section aria-labelledby="h-left" {
                h2 id="h-left" { "What its result left" }
                ul.files {
                    @for artifact in artifacts {
                        li {
                            @if artifact.state == "kept" { a href={ "/artifacts/" (artifact.id) "/content" } download { (line(&artifact.name, 100)) } }
                            @else { (line(&artifact.name, 100)) " " (badge(&artifact.state)) }
                        }
                    }
                }
            }
        }
    }
}
