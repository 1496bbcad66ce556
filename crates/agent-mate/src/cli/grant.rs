//! `agent-mate grant`

use super::{
    Context,
    exit::{Exit, Failure},
    list::PageArgs,
    offered,
    show::{Column, column, text_at},
};
use clap::{Args, Subcommand};
use mate_model::{
    limit::{Amount, Rate},
    words::{ApprovalMode, EffectClass},
};
use mate_server::wire::{AddGrant, RenewGrant};
use serde_json::json;

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum GrantVerb {
    /// Let a project use tools of a connection
    Add(Box<AddArgs>),
    /// List the grants
    List {
        /// Of this project only
        #[arg(long)]
        project: Option<String>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show one: its limits, what is used of them, and the definitions that are pinned under it
    Show {
        /// Its id
        grant: String,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Accept what has changed of its tools' definitions, as `grant show` has it
    Renew {
        /// Its id
        grant: String,
        /// When it ends from now on: 30d, or 2030-01-31T12:00:00Z [default: as before]
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
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
    /// How many calls in a time, for each session: 5/s, 30/min, 100/h
    #[arg(long, value_name = "N/PERIOD")]
    rate: Option<Rate>,
    /// How much may be spent in all, such as 250 or 12.50, in the unit of the argument that says it
    #[arg(long, value_name = "AMOUNT")]
    max_spend: Option<Amount>,
    /// The argument that says what a call spends; *.FIELD for every tool
    #[arg(long, value_name = "TOOL.FIELD", requires = "max_spend")]
    spend_field: Vec<String>,
    /// What each call spends, besides what its arguments say
    #[arg(long, value_name = "AMOUNT", requires = "max_spend")]
    cost: Option<Amount>,
}

/// Runs a verb.
pub(crate) async fn run(verb: GrantVerb, context: &Context) -> Result<Exit, Failure> {
    let (client, screen) = (context.client()?, &context.screen);
    match verb {
        GrantVerb::Add(args) => {
            let (project, connection, tools) =
                (args.project.clone(), args.connection.clone(), args.tools.clone());
            let made = client.post(&["grants"], &request(*args), None).await?;
            let id = text_at(&made, "id");
            let next = [
                format!("agent-mate task add --project {project} --approve --wait \"...\""),
                format!("agent-mate grant revoke {id}"),
            ];
            screen.made(&made, &format!("Grant {id} is given."), &next)?;
            offered::patterns(&client, screen, &connection, &tools).await?;
        }
        GrantVerb::List { project, page } => {
            let columns = [
                column("ID", "id"),
                column("STATE", "state").rank(2),
                column("CONNECTION", "connection_name").rank(2),
                column("TOOLS", "tools").rank(1),
                column("EFFECT", "effect").rank(5),
                column("APPROVE", "approve").rank(3),
                column("USED", "used_calls").rank(6),
                column("OF", "max_calls").rank(6),
                column("ENDS", "expires_at").rank(7),
                column("GIVEN BY", "created_by_name").rank(7),
                column("GIVEN", "created_at").rank(8),
                column("PROJECT", "project_name").rank(4),
            ];
            let query = page.query(&[("project", project.as_deref())]);
            let empty =
                "No grants yet. Give one: agent-mate grant add --project P --connection C --tools 'GLOB'";
            screen.list(&client.get(&["grants"], &query).await?, &columns, empty)?;
        }
        GrantVerb::Show { grant, page } => {
            let shown = client.get(&["grants", &grant], &page.query(&[])).await?;
            screen.object(&shown, &FIELDS)?;
            if !screen.is_json() {
                screen.line("")?;
                screen.list(
                    &shown["pins"],
                    &PINS,
                    "Nothing is pinned yet: its tools were not seen so far.",
                )?;
            }
        }
        GrantVerb::Renew { grant, expires } => {
            let done = client.post(&["grants", &grant, "renew"], &RenewGrant { expires }, None).await?;
            let words = format!(
                "Grant {grant} is renewed: its tools' definitions are pinned as they were last seen."
            );
            screen.made(&done, &words, &[])?;
        }
        GrantVerb::Revoke { grant } => {
            let done = client.post(&["grants", &grant, "revoke"], &json!({}), None).await?;
            screen.revoked(
                &done,
                &format!("Grant {grant} is revoked. What was done under it stays done."),
                &[],
            )?;
        }
    }
    Ok(Exit::Done)
}

const FIELDS: [Column; 20] = [
    column("id", "id"),
    column("state", "state"),
    column("project", "project_name"),
    column("connection", "connection_name"),
    column("tools", "tools"),
    column("effect class", "effect"),
    column("approve", "approve"),
    column("needs a permit", "needs_permit"),
    column("calls used", "used_calls"),
    column("of", "max_calls"),
    column("rate", "rate"),
    column("spent", "used_spend"),
    column("of", "max_spend"),
    column("cost of a call", "cost"),
    column("spend fields", "spend_fields"),
    column("changed tools", "changed_tools"),
    column("given by", "created_by_name"),
    column("given", "created_at"),
    column("ends", "expires_at"),
    column("revoked", "revoked_at"),
];

const PINS: [Column; 6] = [
    column("TOOL", "tool"),
    column("STATE", "state").rank(2),
    column("PINNED", "pinned_at").rank(3),
    column("DIGEST", "digest").rank(6),
    column("CHANGED", "change.changed").rank(2),
    column("SEEN", "change.seen_at").rank(5),
];

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
        rate: args.rate,
        max_spend: args.max_spend,
        cost: args.cost,
        spend_fields: args.spend_field,
    }
}
