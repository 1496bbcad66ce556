//! `agent-mate session`

use super::{
    Context,
    exit::{Exit, Failure},
    list::PageArgs,
    session_ended,
    show::{column, text_at},
};
use clap::Subcommand;
use serde_json::json;

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
    /// Close one that has nothing to do: everything that runs in it ends, and it takes no further tasks
    Close {
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
                column("STATE", "state").rank(1),
                column("RUNTIME", "runtime_name").rank(2),
                column("WORKSPACE", "workspace").rank(5),
                column("MADE", "created_at").rank(4),
            ];
            let query = page.query(&[("project", project.as_deref())]);
            let empty = "No sessions yet. A task makes one: agent-mate task add --project P \"...\"";
            screen.list(&client.get(&["sessions"], &query).await?, &columns, empty)?;
        }
        SessionVerb::Close { session } => {
            let closed = client.post(&["sessions", &session, "close"], &json!({}), None).await?;
            let said = match text_at(&closed, "state") {
                "closed" => "The session is closed, and nothing of it runs any more.",
                _ => "The session's worker was asked to end, and still lives: look again with session show.",
            };
            screen.made(&closed, said, &[])?;
        }
        SessionVerb::Show { session } => {
            let fields = [
                column("id", "id"),
                column("state", "state"),
                column("set aside", "set_aside"),
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
