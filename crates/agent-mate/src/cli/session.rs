//! `agent-mate session`

use super::{
    Context,
    exit::{Exit, Failure},
    list::PageArgs,
    session_ended,
    show::column,
};
use clap::Subcommand;

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionVerb {
    /// List the sessions
    List {
        /// Of this project only
        #[arg(long)]
        project: Option<String>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show one
    Show {
        /// Its id
        session: String,
    },
    /// State that nothing a session ran lives any more, where the machine itself cannot prove it
    ConfirmEnded {
        /// Its id
        session: String,
        /// How you know
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

/// Runs a verb.
pub(crate) async fn run(verb: SessionVerb, context: &Context) -> Result<Exit, Failure> {
    let screen = &context.screen;
    if let SessionVerb::ConfirmEnded { session, reason } = verb {
        return session_ended::confirm(&session, reason, context);
    }
    let client = context.client()?;
    match verb {
        SessionVerb::ConfirmEnded { .. } => {}
        SessionVerb::List { project, page } => {
            let columns = [
                column("ID", "id"),
                column("STATE", "state"),
                column("RUNTIME", "runtime_name"),
                column("WORKSPACE", "workspace"),
                column("MADE", "created_at"),
            ];
            let query = page.query(&[("project", project.as_deref())]);
            let empty = "No sessions yet. A task makes one: agent-mate task add --project P \"...\"";
            screen.list(&client.get(&["sessions"], &query).await?, &columns, empty)?;
        }
        SessionVerb::Show { session } => {
            let fields = [
                column("id", "id"),
                column("state", "state"),
                column("project", "project"),
                column("runtime", "runtime_name"),
                column("own tools", "own_tools"),
                column("workspace", "workspace"),
                column("containment", "containment"),
                column("epoch", "epoch"),
                column("made", "created_at"),
            ];
            screen.object(&client.get(&["sessions", &session], &[]).await?, &fields)?;
        }
    }
    Ok(Exit::Done)
}
