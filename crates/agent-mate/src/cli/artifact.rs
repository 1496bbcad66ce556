//! `agent-mate artifact`

use super::{
    Context,
    artifact_get::{self, GetArgs},
    exit::{Exit, Failure},
    list::PageArgs,
    show::{Column, column, text_at},
};
use clap::Subcommand;
use mate_guard::text;
use mate_server::wire::Publish;
use serde_json::json;

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum ArtifactVerb {
    /// List those of a project, or of a task; the latest first
    List {
        /// The project's name or id
        #[arg(long, required_unless_present = "task")]
        project: Option<String>,
        /// Only this task's
        #[arg(long)]
        task: Option<String>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show what is known of one
    Show {
        /// Its id
        artifact: String,
    },
    /// Fetch the content of one
    Get(GetArgs),
    /// Make an artifact of a file in a task's workspace
    Publish {
        /// The task
        #[arg(long)]
        task: String,
        /// The file, relative to the task's workspace
        path: String,
    },
    /// Remove the content of one; that it was there stays on record
    Remove {
        /// Its id
        artifact: String,
    },
}

const FIELDS: [Column; 15] = [
    column("id", "id"),
    column("state", "state"),
    column("name", "name"),
    column("reason", "reason"),
    column("media type", "media_type"),
    column("bytes", "size"),
    column("hash (BLAKE3)", "hash"),
    column("redacted", "redacted"),
    column("origin", "origin"),
    column("source", "source"),
    column("task", "task"),
    column("operation", "operation"),
    column("project", "project"),
    column("recorded", "created_at"),
    column("removed", "removed_at"),
];

/// Runs a verb.
pub(crate) async fn run(verb: ArtifactVerb, context: &Context) -> Result<Exit, Failure> {
    let (client, screen) = (context.client()?, &context.screen);
    match verb {
        ArtifactVerb::List { project, task, page } => {
            let columns = [
                column("ID", "id"),
                column("STATE", "state").rank(3),
                column("NAME", "name").rank(1),
                column("TYPE", "media_type").rank(5),
                column("BYTES", "size").rank(2),
                column("ORIGIN", "origin").rank(6),
                column("RECORDED", "created_at").rank(4),
            ];
            let found = match (&project, &task) {
                (Some(project), task) => {
                    let query = page.query(&[("task", task.as_deref())]);
                    client.get(&["projects", project, "artifacts"], &query).await?
                }
                (None, Some(task)) => client.get(&["tasks", task, "artifacts"], &page.query(&[])).await?,
                (None, None) => return Err(Failure::usage("say --project or --task")),
            };
            screen.list(&found, &columns, "No artifacts: no result was large or other than text.")?;
        }
        ArtifactVerb::Show { artifact } => {
            screen.object(&client.get(&["artifacts", &artifact], &[]).await?, &FIELDS)?;
        }
        ArtifactVerb::Get(args) => return artifact_get::get(&args, &client, context).await,
        ArtifactVerb::Publish { task, path } => {
            let made = client.post(&["tasks", &task, "artifacts"], &Publish { path }, None).await?;
            let id = text::line(text_at(&made, "id"), 100);
            let next = [format!("agent-mate artifact get {id} -o FILE")];
            screen.made(&made, &format!("{id} holds the file as it is now."), &next)?;
        }
        ArtifactVerb::Remove { artifact } => {
            let done = client.post(&["artifacts", &artifact, "remove"], &json!({}), None).await?;
            let said = format!("The content of {} is removed.", text::line(&artifact, 100));
            screen.made(&done, &said, &[])?;
        }
    }
    Ok(Exit::Done)
}
