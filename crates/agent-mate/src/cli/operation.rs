//! `agent-mate operation`

use super::{
    Context,
    client::Client,
    exit::{Exit, Failure},
    input,
    list::PageArgs,
    show::{Column, at, column, text_at},
};
use clap::{Args, Subcommand};
use mate_guard::text;
use mate_model::{operation::Verdict, words::BadWord};
use mate_server::wire::ResolveOperation;
use serde_json::{Value, json};

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum OperationVerb {
    /// List operations: a task's in request order, or those of all tasks, the newest task's first
    List {
        /// Of this task only, by its id
        #[arg(long, conflicts_with = "project")]
        task: Option<String>,
        /// Of this project only, by its name or id
        #[arg(long)]
        project: Option<String>,
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
    /// Settle one whose outcome is unknown, with what you found out
    Resolve(ResolveArgs),
    /// Look now whether one whose outcome is unknown has happened, by its connection's recipe
    Verify {
        /// Its id
        operation: String,
    },
}

/// `operation resolve`
#[derive(Args, Debug)]
pub(crate) struct ResolveArgs {
    /// Its id
    operation: String,
    /// What became of it: succeeded, failed (it did not happen), or abandoned (nobody will find out)
    #[arg(long = "as", value_name = "VERDICT", value_parser = verdict)]
    verdict: Verdict,
    #[command(flatten)]
    word: Word,
    /// An agent may make the identical call once more
    #[arg(long)]
    permit_repeat: bool,
}

/// How it is known.
#[derive(Args, Debug)]
pub(crate) struct Word {
    /// How you know: what you looked at, and what it says
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Keep what you looked at: a file, or - for standard input; at most 64 KiB of text
    #[arg(long, value_name = "FILE")]
    pub(crate) proof: Option<String>,
}

fn verdict(text: &str) -> Result<Verdict, BadWord> {
    text.parse()
}

/// Runs a verb.
pub(crate) async fn run(verb: OperationVerb, context: &Context) -> Result<Exit, Failure> {
    let (client, screen) = (context.client()?, &context.screen);
    match verb {
        OperationVerb::List { task, project, state, page } => {
            let of_task = task.is_none().then(|| column("TASK", "task").rank(8));
            let columns = [
                column("ID", "id"),
                column("STATE", "state").rank(1),
                column("CONNECTION", "connection_name").rank(3),
                column("TOOL", "tool").rank(2),
                column("EFFECT", "effect").rank(7),
                column("REQUESTED", "requested_at").rank(5),
                column("DETAIL", "detail").rank(6),
            ];
            let columns: Vec<_> = columns.into_iter().chain(of_task).collect();
            let query =
                [("task", task.as_deref()), ("project", project.as_deref()), ("state", state.as_deref())];
            let found = client.get(&["operations"], &page.query(&query)).await?;
            let empty = match (state.is_some(), task.is_some()) {
                (true, _) => "No operations in this state.",
                (false, true) => "No operations: the task called no tool through the bridge.",
                (false, false) => "No operations yet: no task has called a tool through the bridge.",
            };
            screen.list(&found, &columns, empty)?;
        }
        OperationVerb::Show { operation } => {
            let mut found = client.get(&["operations", &operation], &[]).await?;
            let by = found.get("resolved_by").cloned().unwrap_or_default();
            if let (false, Some(evidence)) =
                (screen.json, found.get_mut("evidence").and_then(Value::as_object_mut))
            {
                evidence.insert("by_name".to_owned(), by);
            }
            screen.object(&found, &FIELDS)?;
        }
        OperationVerb::Verify { operation } => {
            let asked = client.post(&["operations", &operation, "verify"], &json!({}), None).await?;
            let next = [format!("agent-mate operation show {}", text::line(&operation, 100))];
            screen.made(&asked, "The session's worker looks whether it has happened.", &next)?;
        }
        OperationVerb::Resolve(args) => return resolve(args, &client, context).await,
    }
    Ok(Exit::Done)
}

/// An operation's fields as they are shown to people.
pub(super) const FIELDS: [Column; 36] = [
    column("id", "id"),
    column("state", "state"),
    column("detail", "detail"),
    column("connection", "connection_name"),
    column("tool", "tool"),
    column("effect class", "effect"),
    column("task", "task"),
    column("turn", "turn"),
    column("grant", "grant"),
    column("authority", "authority"),
    column("decision", "decision"),
    column("deny reason", "deny_reason"),
    column("evidence", "evidence"),
    column("resolved", "resolved_at"),
    column("proof", "proof"),
    column("one repeat allowed", "permit_repeat"),
    column("to the contrary", "contradiction"),
    column("came", "contradicted_at"),
    column("acknowledged", "acknowledged_at"),
    column("upstream's task", "upstream_task"),
    column("looks taken", "looks"),
    column("last look", "last_look"),
    column("next look", "next_look_at"),
    column("requested", "requested_at"),
    column("admitted", "admitted_at"),
    column("sent", "sent_at"),
    column("answered", "answered_at"),
    column("recorded", "recorded_at"),
    column("duration (us)", "duration_us"),
    column("result bytes", "result_size"),
    column("result type", "result_type"),
    column("artifacts", "artifacts"),
    column("arguments", "arguments"),
    column("digest", "digest"),
    column("trace", "trace"),
    column("runtime's call", "runtime_call"),
];

async fn resolve(args: ResolveArgs, client: &Client, context: &Context) -> Result<Exit, Failure> {
    let wish = ResolveOperation {
        verdict: args.verdict,
        reason: args.word.reason,
        proof: args.word.proof.as_deref().map(|given| input::document(given, "the proof")).transpose()?,
        permit_repeat: args.permit_repeat,
    };
    let found = client.post(&["operations", &args.operation, "resolve"], &wish, None).await?;
    let (state, task) = (text_at(&found, "state"), text_at(&found, "task"));
    if at(&found, "contradicted_at").is_null() || !at(&found, "acknowledged_at").is_null() {
        let next = [format!("agent-mate task show {}", text::line(task, 100))];
        context.screen.made(&found, &format!("Operation {} is {state}.", args.operation), &next)?;
        return Ok(Exit::Done);
    }
    // Nothing was wrong with the command; it did not get what it asked for.
    let said = format!(
        "Operation {} stays {state}: that was known first. What says otherwise is on record and needs a person; \
         resolve it again as what stands, with the reason, to take note of it.",
        args.operation
    );
    let next = [format!("agent-mate operation show {}", text::line(&args.operation, 100))];
    context.screen.made(&found, &said, &next)?;
    Ok(Exit::Refused)
}
