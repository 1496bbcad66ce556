//! `agent-mate task add`

use super::{
    Context,
    client::Client,
    exit::{Exit, Failure},
    input,
    show::text_at,
    task_watch,
};
use clap::Args;
use mate_model::{
    SessionId,
    records::TaskPolicy,
    words::{OnApproval, OnInterruption},
};
use mate_server::wire::AddTask;

/// What `task add` takes.
#[derive(Args, Debug)]
pub(crate) struct AddArgs {
    /// The project's name or id
    #[arg(long)]
    project: String,
    /// Which runtime, by name or id; not needed when there is just one
    #[arg(long)]
    runtime: Option<String>,
    /// Go on in this session
    #[arg(long)]
    session: Option<SessionId>,
    /// Approve it at once
    #[arg(long)]
    approve: bool,
    /// Wait when the session is busy [default]
    #[arg(long, conflicts_with = "no_queue")]
    queue: bool,
    /// Refuse when the session is busy
    #[arg(long)]
    no_queue: bool,
    /// The same key again gives the first answer
    #[arg(long, value_name = "K")]
    key: Option<String>,
    /// Fail the task when the agent reports no result
    #[arg(long)]
    require_report: bool,
    /// When its runtime is lost in the middle of it and nothing is uncertain: wait for `task resume`, or go on
    #[arg(long, value_name = "hold|resume", default_value = "hold")]
    on_interruption: OnInterruption,
    /// How many times it may go on by itself
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(TaskPolicy::MOST_RESUMES)))]
    max_resumes: u32,
    /// When a call needs a person's leave: wait for it, or refuse the call at once
    #[arg(long, value_name = "park|deny", default_value = "park")]
    on_approval: OnApproval,
    /// Show it as quiet when nothing was heard of it for so long: 90, 90s, 5m, 2h [default: the runtime's, else 60s]
    #[arg(long, value_name = "TIME", value_parser = input::seconds)]
    quiet: Option<u32>,
    /// Ask it to stop so long after its start; 0: never [default: the runtime's, else never]
    #[arg(long, value_name = "TIME", value_parser = input::seconds)]
    deadline: Option<u32>,
    /// Follow it until it ends
    #[arg(long)]
    wait: bool,
    /// What the agent is to do: the text, @FILE, or - for standard input
    #[arg(value_name = "TEXT|@FILE|-", allow_hyphen_values = true)]
    text: String,
}

/// Submits a task; with `--wait`, ends as the task does.
pub(crate) async fn add(args: AddArgs, client: &Client, context: &Context) -> Result<Exit, Failure> {
    if args.wait && !args.approve {
        super::show::tell("The task waits for somebody's approval; --approve gives it at once.");
    }
    let request = AddTask {
        instructions: input::text(&args.text)?,
        runtime: args.runtime,
        session: args.session,
        approve: args.approve,
        queue: !args.no_queue,
        policy: TaskPolicy {
            require_report: args.require_report,
            on_interruption: args.on_interruption,
            max_resumes: args.max_resumes,
            on_approval: args.on_approval,
            quiet_seconds: args.quiet,
            deadline_seconds: args.deadline,
        },
    };
    let task = client.post(&["projects", &args.project, "tasks"], &request, args.key.as_deref()).await?;
    let id = text_at(&task, "id");
    if args.wait {
        return task_watch::watch_or_wait(id, client, context).await;
    }
    let approve = (text_at(&task, "state") == "proposed").then(|| format!("agent-mate task approve {id}"));
    let next: Vec<_> = approve.into_iter().chain([format!("agent-mate task watch {id}")]).collect();
    context.screen.made(&task, &format!("Task {id} is {}.", text_at(&task, "state")), &next)?;
    Ok(Exit::Done)
}
