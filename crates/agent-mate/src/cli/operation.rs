//! `agent-mate operation`

use super::{
    Context,
    exit::{Exit, Failure},
    list::PageArgs,
    show::column,
};
use clap::Subcommand;

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum OperationVerb {
    /// List a task's operations, in request order
    List {
        /// The task's id
        #[arg(long)]
        task: String,
        /// In this state only
        #[arg(long)]
        state: Option<String>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show one: by whose leave, when, how it ended, and what proves it
    Show {
        /// Its id
        operation: String,
    },
}

/// Runs a verb.
pub(crate) async fn run(verb: OperationVerb, context: &Context) -> Result<Exit, Failure> {
    let (client, screen) = (context.client()?, &context.screen);
    match verb {
        OperationVerb::List { task, state, page } => {
            let columns = [
                column("ID", "id"),
                column("STATE", "state"),
                column("CONNECTION", "connection_name"),
                column("TOOL", "tool"),
                column("EFFECT", "effect"),
                column("REQUESTED", "requested_at"),
                column("DETAIL", "detail"),
            ];
            let query = page.query(&[("state", state.as_deref())]);
            let found = client.get(&["tasks", &task, "operations"], &query).await?;
            screen.list(&found, &columns, "No operations: the task called no tool through the bridge.")?;
        }
        OperationVerb::Show { operation } => {
            let fields = [
                column("id", "id"),
                column("state", "state"),
                column("detail", "detail"),
                column("connection", "connection_name"),
                column("tool", "tool"),
                column("effect class", "effect"),
                column("task", "task"),
                column("turn", "turn"),
                column("grant", "grant"),
                column("decision", "decision"),
                column("deny reason", "deny_reason"),
                column("evidence", "evidence"),
                column("requested", "requested_at"),
                column("admitted", "admitted_at"),
                column("sent", "sent_at"),
                column("answered", "answered_at"),
                column("recorded", "recorded_at"),
                column("duration (us)", "duration_us"),
                column("result bytes", "result_size"),
                column("result type", "result_type"),
                column("arguments", "arguments"),
                column("digest", "digest"),
                column("trace", "trace"),
                column("runtime's call", "runtime_call"),
            ];
            screen.object(&client.get(&["operations", &operation], &[]).await?, &fields)?;
        }
    }
    Ok(Exit::Done)
}
