//! `agent-mate task resume`

use super::{
    Context,
    client::Client,
    exit::{Exit, Failure},
    input,
    show::text_at,
    task::OneTask,
    task_watch,
};
use clap::Args;
use mate_guard::text;
use mate_server::wire::Resume;

/// What `task resume` takes.
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    one: OneTask,
    /// In a new session of the same runtime and workspace, without the conversation so far
    #[arg(long)]
    fresh: bool,
    /// Refuse when the session is busy, instead of waiting for it
    #[arg(long)]
    no_queue: bool,
    /// The same key again gives the first answer
    #[arg(long, value_name = "K")]
    key: Option<String>,
    /// Follow the new task until it ends
    #[arg(long)]
    wait: bool,
    /// What the agent is to do now: the text, @FILE, or - for standard input [default: what it was asked before]
    #[arg(value_name = "TEXT|@FILE|-", allow_hyphen_values = true)]
    text: Option<String>,
}

/// Continues a task by a new one; with `--wait`, ends as that does.
pub(crate) async fn resume(args: ResumeArgs, client: &Client, context: &Context) -> Result<Exit, Failure> {
    let request = Resume {
        fresh: args.fresh,
        instructions: args.text.as_deref().map(input::text).transpose()?,
        queue: !args.no_queue,
    };
    let old = args.one.task;
    let task = client.post(&["tasks", &old, "resume"], &request, args.key.as_deref()).await?;
    let id = text_at(&task, "id");
    if args.wait {
        return task_watch::watch_or_wait(id, client, context).await;
    }
    let said = format!("Task {} continues {}.", text::line(id, 100), text::line(&old, 100));
    context.screen.made(&task, &said, &[format!("agent-mate task watch {id}")])?;
    Ok(Exit::Done)
}
