//! `agent-mate grant`

use super::{
    Context,
    exit::{Exit, Failure},
    list::PageArgs,
    show::{column, text_at},
};
use clap::{Args, Subcommand};
use mate_model::words::{ApprovalMode, EffectClass};
use mate_server::wire::AddGrant;
use serde_json::json;

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum GrantVerb {
    /// Let a project use tools of a connection
    Add(AddArgs),
    /// List the grants
    List {
        /// Of this project only
        #[arg(long)]
        project: Option<String>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// End one: the very next call is judged without it
    Revoke {
        /// Its id
        grant: String,
    },
}

/// `grant add`
#[derive(Args, Debug)]
pub(crate) struct AddArgs {
    /// The project's name or id
    #[arg(long)]
    project: String,
    /// The connection's name or id
    #[arg(long)]
    connection: String,
    /// The upstream's own tool names: * stands for anything, ? for one character
    #[arg(long, value_name = "GLOB", value_delimiter = ',', required = true)]
    tools: Vec<String>,
    /// What these tools do: read, idempotent or effect
    #[arg(long)]
    effect: Option<EffectClass>,
    /// When a person is asked: never, once (per task and tool) or always
    #[arg(long)]
    approve: Option<ApprovalMode>,
    /// When it ends: 30d, or 2030-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    /// How many calls it is good for
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    max_calls: Option<i64>,
    /// Permit nothing by itself: an administrator's policy must permit the call as well
    #[arg(long)]
    needs_permit: bool,
}

/// Runs a verb.
pub(crate) async fn run(verb: GrantVerb, context: &Context) -> Result<Exit, Failure> {
    let (client, screen) = (context.client()?, &context.screen);
    match verb {
        GrantVerb::Add(args) => {
            let project = args.project.clone();
            let made = client.post(&["grants"], &request(args), None).await?;
            let id = text_at(&made, "id");
            let next = [
                format!("agent-mate task add --project {project} --approve --wait \"...\""),
                format!("agent-mate grant revoke {id}"),
            ];
            screen.made(&made, &format!("Grant {id} is given."), &next)?;
        }
        GrantVerb::List { project, page } => {
            let columns = [
                column("ID", "id"),
                column("STATE", "state"),
                column("CONNECTION", "connection_name"),
                column("TOOLS", "tools"),
                column("EFFECT", "effect"),
                column("APPROVE", "approve"),
                column("USED", "used_calls"),
                column("OF", "max_calls"),
                column("ENDS", "expires_at"),
                column("PROJECT", "project"),
            ];
            let query = page.query(&[("project", project.as_deref())]);
            let empty =
                "No grants yet. Give one: agent-mate grant add --project P --connection C --tools 'GLOB'";
            screen.list(&client.get(&["grants"], &query).await?, &columns, empty)?;
        }
        GrantVerb::Revoke { grant } => {
            let done = client.post(&["grants", &grant, "revoke"], &json!({}), None).await?;
            screen.made(
                &done,
                &format!("Grant {grant} is revoked. What was done under it stays done."),
                &[],
            )?;
        }
    }
    Ok(Exit::Done)
}

fn request(args: AddArgs) -> AddGrant {
    AddGrant {
        project: args.project,
        connection: args.connection,
        tools: args.tools,
        effect: args.effect,
        approve: args.approve,
        expires: args.expires,
        max_calls: args.max_calls,
        needs_permit: args.needs_permit,
    }
}
