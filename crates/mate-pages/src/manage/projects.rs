//! Projects, and a project with its members.

use crate::{
    frame::Context,
    parts::{
        badge, empty, facts,
        form::{Draft, Field, form, options, press, tick, trouble},
        moment, more,
    },
    text::{bytes, line},
    view::{Artifact, List, Member, Project},
};
use maud::{Markup, html};

/// What a project's page shows.
#[derive(Clone, Debug, Default)]
pub struct ProjectPage {
    /// The project.
    pub project: Project,
    /// Its members.
    pub members: List<Member>,
    /// Its newest artifacts.
    pub artifacts: List<Artifact>,
    /// Whether the reader is an owner.
    pub owner: bool,
}

/// The list of projects.
#[must_use]
pub fn projects(cx: &Context, list: &List<Project>, draft: &Draft) -> Markup {
    html! {
        div.head { h1 { "Projects" } }
        @if list.items.is_empty() { (empty("There is no project that you may see.", &html! { "Make one below, or ask an owner to add you to theirs." })) }
        ul.tasks {
            @for project in &list.items {
                li.row {
                    a.title href={ "/projects/" (project.id) } { (line(&project.name, 80)) }
                    (badge(&project.state))
                    p.meta { span { @if let Some(workspace) = &project.workspace { code { (line(workspace, 160)) } } @else { "a folder of its own for each session" } } }
                }
            }
        }
        (more(list.next.as_ref().map(|next| format!("/projects?cursor={next}")), "More projects"))
        @if cx.admin {
            section #new aria-labelledby="h-new" {
                h2 id="h-new" { "Make a project" }
                (trouble(draft))
                (form(cx, "/projects", "stack", &html! {
                    (Field::new("name", "Name").required().line(draft, "text"))
                    (Field::new("workspace", "Workspace").hint("The directory that its sessions work in, absolute. Empty: a folder of its own for each session.").line(draft, "text"))
                    (tick(draft, "distinct_approver", "who submits a task cannot approve it or give leave for its calls", false))
                    button.primary type="submit" { "Make it" }
                }))
            }
        }
    }
}

/// A project.
#[must_use]
pub fn project(cx: &Context, shown: &ProjectPage, draft: &Draft) -> Markup {
    let project = &shown.project;
    let address = format!("/projects/{}/members", project.id);
    html! {
        div.head { h1 { (line(&project.name, 80)) } (badge(&project.state)) }
        (trouble(draft))
        (facts(&[
            ("Workspace", html! { @if let Some(workspace) = &project.workspace { code { (line(workspace, 200)) } } @else { "a folder of its own for each session" } }),
            ("Approval", html! { (if project.distinct_approver { "by somebody else than who submits" } else { "by any operator" }) }),
            ("Artifacts", html! { (bytes(project.artifact_bytes.unwrap_or_default())) " of " (bytes(project.artifact_quota.unwrap_or_default())) }),
            ("Made", moment(project.created_at, cx.now)),
        ]))
        p.actions {
            a.button href={ "/?project=" (project.id) } { "Its tasks" }
            a.button href={ "/grants?project=" (project.id) } { "Its grants" }
            a.button.primary href={ "/tasks/new?project=" (project.id) } { "New task" }
        }
        section aria-labelledby="h-members" {
            h2 id="h-members" { "Members" }
            table.cards {
                thead { tr { th scope="col" { "Account" } th scope="col" { "Role" } th scope="col" { "Since" } th scope="col" { span.sr { "Actions" } } } }
                tbody {
                    @for member in &shown.members.items {
                        tr.row {
                            td data-label="Account" { (line(member.account_name.as_deref().unwrap_or(&member.account), 60)) }
                            td data-label="Role" { (line(&member.role, 20)) }
                            td data-label="Since" { (moment(member.added_at, cx.now)) }
                            td { @if shown.owner { (press(cx, &format!("{address}/{}/remove", member.account), "Remove", "quiet danger")) } }
                        }
                    }
                }
            }
            (more(shown.members.next.as_ref().map(|next| format!("/projects/{}?cursor={next}", project.id)), "More members"))
            @if shown.owner {
                h3 { "Add a member, or change a role" }
                (form(cx, &address, "stack", &html! {
                    (Field::new("account", "Account").required().hint("Its name or id. Administrators make accounts with agent-mate account add.").line(draft, "text"))
                    (Field::new("role", "Role").required().first("operator").choice(draft, &options(&[
                        ("viewer", "viewer: reads"),
                        ("operator", "operator: also proposes, approves, stops, answers, resolves"),
                        ("owner", "owner: also manages members and grants"),
                    ])))
                    button.primary type="submit" { "Set the role" }
                }))
            }
        }
        section aria-labelledby="h-kept" {
            h2 id="h-kept" { "Artifacts" }
            @if shown.artifacts.items.is_empty() { p.calm { "No task has left one yet." } }
            ul.files {
                @for artifact in &shown.artifacts.items {
                    li {
                        @if artifact.state == "kept" { a href={ "/artifacts/" (artifact.id) "/content" } download { (line(&artifact.name, 100)) } }
                        @else { (line(&artifact.name, 100)) " " (badge(&artifact.state)) }
                        span.calm { " " (bytes(artifact.size.unwrap_or_default())) " " (moment(artifact.created_at, cx.now)) " " a href={ "/tasks/" (artifact.task) } { "its task" } }
                    }
                }
            }
        }
        @if shown.owner && project.state == "active" {
            details.fold { summary.button { "Archive it" } p { "It takes no new work from then on; what is there stays readable." } (press(cx, &format!("/projects/{}/archive", project.id), "Archive", "danger")) }
        }
    }
}
