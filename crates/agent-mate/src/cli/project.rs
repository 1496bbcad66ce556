//! `agent-mate project`

use super::{
    Context,
    exit::{Exit, Failure},
    input,
    list::PageArgs,
    project_events::{self, EventsArgs},
    show::{column, text_at},
};
use clap::Subcommand;
use mate_model::words::Role;
use mate_server::wire::{AddProject, SetMember, SetProject};
use serde_json::json;
use std::path::{Path, PathBuf};

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum ProjectVerb {
    /// Make a project
    Add {
        /// Its name
        name: String,
        /// The directory that its sessions work in; otherwise each gets an empty one
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
        /// Who submits a task can neither approve it nor give leave for its calls
        #[arg(long)]
        distinct_approver: bool,
    },
    /// Change how one is worked in
    Set {
        /// Its name or id
        project: String,
        /// Whether another one than who submits a task must approve it, and give leave for its calls
        #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true", required_unless_present = "artifact_quota")]
        distinct_approver: Option<bool>,
        /// Its artifacts may hold at most so many bytes: 500M, 1G, 1073741824
        #[arg(long, value_name = "SIZE", value_parser = input::size)]
        artifact_quota: Option<i64>,
    },
    /// List yours
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show one
    Show {
        /// Its name or id
        project: String,
    },
    /// Archive one: no new work, and what runs loses its authority
    Archive {
        /// Its name or id
        project: String,
    },
    /// Print what its ledger says, in order: what was asked, allowed and decided
    Events(EventsArgs),
    /// Who may act on it
    #[command(subcommand)]
    Member(MemberVerb),
}

/// The verbs of members.
#[derive(Debug, Subcommand)]
pub(crate) enum MemberVerb {
    /// Make an account a member, or change its role
    Add {
        /// The project's name or id
        project: String,
        /// The account's name or id
        account: String,
        /// viewer, operator or owner
        #[arg(long)]
        role: Role,
    },
    /// Take the role away
    Remove {
        /// The project's name or id
        project: String,
        /// The account's name or id
        account: String,
    },
    /// List the members
    List {
        /// The project's name or id
        project: String,
        #[command(flatten)]
        page: PageArgs,
    },
}

/// Runs a verb.
pub(crate) async fn run(verb: ProjectVerb, context: &Context) -> Result<Exit, Failure> {
    let (client, screen) = (context.client()?, &context.screen);
    match verb {
        ProjectVerb::Add { name, workspace, distinct_approver } => {
            let workspace = workspace.as_deref().map(absolute).transpose()?;
            let made =
                client.post(&["projects"], &AddProject { name, workspace, distinct_approver }, None).await?;
            let name = text_at(&made, "name");
            let next = [
                format!("agent-mate grant add --project {name} --connection CONNECTION --tools 'GLOB'"),
                format!("agent-mate task add --project {name} --approve --wait \"...\""),
            ];
            screen.made(&made, &format!("Project {name} is made; you own it."), &next)?;
        }
        ProjectVerb::List { page } => {
            let columns = [
                column("NAME", "name"),
                column("WORKSPACE", "workspace").rank(2),
                column("MADE", "created_at").rank(4),
                column("ARCHIVED", "archived_at").rank(3),
                column("ID", "id"),
            ];
            let empty = "No projects yet. Make one: agent-mate project add NAME --workspace DIR";
            screen.list(&client.get(&["projects"], &page.query(&[])).await?, &columns, empty)?;
        }
        ProjectVerb::Show { project } => {
            let fields = [
                column("name", "name"),
                column("id", "id"),
                column("workspace", "workspace"),
                column("distinct approver", "distinct_approver"),
                column("made", "created_at"),
                column("archived", "archived_at"),
                column("artifact quota", "artifact_quota"),
                column("artifact bytes", "artifact_bytes"),
            ];
            screen.object(&client.get(&["projects", &project], &[]).await?, &fields)?;
        }
        ProjectVerb::Set { project, distinct_approver, artifact_quota } => {
            let wish = SetProject { artifact_quota, distinct_approver };
            let done = client.post(&["projects", &project, "set"], &wish, None).await?;
            let said = format!("Project {project} is set.");
            screen.made(&done, &said, &[])?;
        }
        ProjectVerb::Archive { project } => {
            let done = client.post(&["projects", &project, "archive"], &json!({}), None).await?;
            screen.made(&done, &format!("Project {project} is archived."), &[])?;
        }
        ProjectVerb::Events(args) => project_events::run(args, &client, context).await?,
        ProjectVerb::Member(verb) => member(verb, context).await?,
    }
    Ok(Exit::Done)
}

async fn member(verb: MemberVerb, context: &Context) -> Result<(), Failure> {
    let (client, screen) = (context.client()?, &context.screen);
    match verb {
        MemberVerb::Add { project, account, role } => {
            let done = client
                .post(&["projects", &project, "members"], &SetMember { account: account.clone(), role }, None)
                .await?;
            screen.made(&done, &format!("{account} is {role} of {project}."), &[])
        }
        MemberVerb::Remove { project, account } => {
            let done = client.delete(&["projects", &project, "members", &account]).await?;
            screen.revoked(&done, &format!("{account} is no member of {project} any more."), &[])
        }
        MemberVerb::List { project, page } => {
            let columns = [
                column("ACCOUNT", "account_name"),
                column("ROLE", "role").rank(1),
                column("SINCE", "added_at").rank(5),
                column("ID", "account"),
            ];
            let found = client.get(&["projects", &project, "members"], &page.query(&[])).await?;
            screen.list(&found, &columns, "No members.")
        }
    }
}

/// The coordinator has another working directory.
fn absolute(path: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(path).map_err(|error| Failure::usage(format!("--workspace: {error}")))?;
    path.into_os_string().into_string().map_err(|_| Failure::usage("--workspace: the path is not UTF-8"))
}
