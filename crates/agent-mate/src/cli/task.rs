//! `agent-mate task`

use super::{
    Context,
    client::Client,
    exit::{Exit, Failure},
    input,
    list::PageArgs,
    operation::Word,
    show::{column, text_at},
    task_add::{self, AddArgs},
    task_report,
    task_resume::{self, ResumeArgs},
    task_stop_all, task_watch,
};
use clap::{Args, Subcommand};
use mate_server::wire::{Reject, ResolveTask};
use serde_json::{Value, json};

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskVerb {
    /// Submit work
    Add(Box<AddArgs>),
    /// Approve one: it starts as soon as its session is free
    Approve(OneTask),
    /// Reject one, or withdraw the approval before it starts
    Reject {
        #[command(flatten)]
        one: OneTask,
        /// Why
        #[arg(long)]
        reason: Option<String>,
    },
    /// List tasks, newest first
    List {
        /// Of this project only
        #[arg(long)]
        project: Option<String>,
        /// In this state only
        #[arg(long)]
        state: Option<String>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show one
    Show(OneTask),
    /// Follow one until it ends, with what happens on the way
    Watch(OneTask),
    /// Wait until one ends
    Wait(OneTask),
    /// Ask one to stop, and wait for the proof
    Stop(StopArgs),
    /// As stop, with SIGKILL at once
    Kill(StopArgs),
    /// Go on with one that failed, was stopped or is uncertain: a new task continues it
    Resume(ResumeArgs),
    /// Print what happened, in order
    Events {
        #[command(flatten)]
        one: OneTask,
        /// Go on until the task ends
        #[arg(long)]
        follow: bool,
        /// Go on after this event
        #[arg(long, value_name = "CURSOR")]
        after: Option<String>,
        /// How many at most; without --follow
        #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    /// What was done, by whose leave, and what is uncertain
    Report(OneTask),
    /// Settle what the runtime's own tools, or a lost journal, left uncertain; operations have a `resolve` of their own
    Resolve {
        #[command(flatten)]
        one: OneTask,
        #[command(flatten)]
        word: Word,
    },
}

/// Which task.
#[derive(Args, Debug)]
pub(crate) struct OneTask {
    /// The task's id
    pub(crate) task: String,
}

/// `stop` and `kill`
#[derive(Args, Debug)]
pub(crate) struct StopArgs {
    /// The task's id
    #[arg(required_unless_present = "all")]
    task: Option<String>,
    /// Every task that is at work or waits for its session, of all your projects or of one
    #[arg(long, conflicts_with = "task")]
    all: bool,
    /// With --all: of this project only
    #[arg(long, requires = "all")]
    project: Option<String>,
    /// Return when it was asked, not when it is known
    #[arg(long)]
    no_wait: bool,
}

/// Runs a verb.
pub(crate) async fn run(verb: TaskVerb, context: &Context) -> Result<Exit, Failure> {
    let client = context.client()?;
    match verb {
        TaskVerb::Add(args) => task_add::add(*args, &client, context).await,
        TaskVerb::Approve(one) => {
            let task = client.post(&["tasks", &one.task, "approve"], &json!({}), None).await?;
            let next = [format!("agent-mate task watch {}", one.task)];
            context.screen.made(&task, &format!("Task {} is approved.", one.task), &next)?;
            Ok(Exit::Done)
        }
        TaskVerb::Reject { one, reason } => {
            let task = client.post(&["tasks", &one.task, "reject"], &Reject { reason }, None).await?;
            context.screen.made(&task, &format!("Task {} is rejected.", one.task), &[])?;
            Ok(Exit::Done)
        }
        TaskVerb::List { project, state, page } => {
            list(project, state.as_deref(), &page, &client, context).await
        }
        TaskVerb::Show(one) => {
            context.screen.object(&client.get(&["tasks", &one.task], &[]).await?, &FIELDS)?;
            Ok(Exit::Done)
        }
        TaskVerb::Watch(one) => task_watch::watch(&one.task, &client, context).await,
        TaskVerb::Wait(one) => task_watch::wait(&one.task, &client, context).await,
        TaskVerb::Stop(args) => stop("stop", args, &client, context).await,
        TaskVerb::Kill(args) => stop("kill", args, &client, context).await,
        TaskVerb::Resume(args) => task_resume::resume(args, &client, context).await,
        TaskVerb::Events { one, follow: true, after, limit: _ } => {
            task_watch::events(&one.task, after, &client, context).await
        }
        TaskVerb::Events { one, follow: false, after, limit } => {
            task_watch::page(&one.task, after, limit, &client, context).await
        }
        TaskVerb::Report(one) => task_report::report(&one.task, &client, context).await,
        TaskVerb::Resolve { one, word } => {
            let proof = word.proof.as_deref().map(|given| input::document(given, "the proof")).transpose()?;
            let wish = ResolveTask { reason: word.reason, proof };
            let task = client.post(&["tasks", &one.task, "resolve"], &wish, None).await?;
            let said = format!("Task {} is {}.", one.task, text_at(&task, "state"));
            context.screen.made(&task, &said, &[])?;
            Ok(Exit::Done)
        }
    }
}

/// A task's fields as they are shown to people.
pub(crate) const FIELDS: [super::show::Column; 28] = [
    column("id", "id"),
    column("state", "state"),
    column("activity", "activity"),
    column("quiet since", "quiet_since"),
    column("reason", "reason"),
    column("uncertain", "uncertain"),
    column("unknown calls", "unknown_operations"),
    column("set aside", "set_aside"),
    column("then", "then"),
    column("result", "result"),
    column("report", "report"),
    column("continues", "continues"),
    column("continued by", "continued_by"),
    column("context", "context"),
    column("may use", "permissions"),
    column("not allowed", "approvals_over"),
    column("project", "project"),
    column("session", "session"),
    column("runtime", "runtime_name"),
    column("own tools", "own_tools"),
    column("submitted", "created_at"),
    column("started", "started_at"),
    column("deadline", "deadline_at"),
    column("stop asked", "stop_requested_at"),
    column("asked by", "stop_requested_by"),
    column("ended", "ended_at"),
    column("instructions", "instructions"),
    column("note", "note"),
];

async fn list(
    project: Option<String>,
    state: Option<&str>,
    page: &PageArgs,
    client: &Client,
    context: &Context,
) -> Result<Exit, Failure> {
    let query = page.query(&[("state", state)]);
    let found = match &project {
        Some(project) => client.get(&["projects", project, "tasks"], &query).await?,
        None => of_all_projects(&query, client).await?,
    };
    let mut columns = vec![
        column("ID", "id"),
        column("STATE", "state").rank(1),
        column("ACTIVITY", "activity").rank(5),
        column("RUNTIME", "runtime_name").rank(7),
        column("SUBMITTED", "created_at").rank(4),
        column("ENDED", "ended_at").rank(8),
        column("INSTRUCTIONS", "instructions").rank(2),
    ];
    if project.is_none() {
        columns.insert(3, column("PROJECT", "project_name").rank(6));
    }
    let empty = "No tasks yet. Submit one: agent-mate task add --project P --approve \"...\"";
    context.screen.list(&found, &columns, if state.is_some() { "No tasks in this state." } else { empty })?;
    Ok(Exit::Done)
}

/// The newest tasks of each of the caller's projects; cursors are per project, so there is none here.
pub(super) async fn of_all_projects(query: &[(&str, String)], client: &Client) -> Result<Value, Failure> {
    if query.iter().any(|(name, _)| *name == "cursor") {
        return Err(Failure::usage("--cursor goes on in the list of one project: say which with --project"));
    }
    let projects = client.get(&["projects"], &[("limit", "500".to_owned())]).await?;
    let items = |page: &Value| page.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut tasks = Vec::new();
    for project in items(&projects) {
        for mut task in items(&client.get(&["projects", text_at(&project, "id"), "tasks"], query).await?) {
            task["project_name"] = text_at(&project, "name").into();
            tasks.push(task);
        }
    }
    // Ids of tasks sort by the time of their making.
    tasks.sort_by(|left, right| text_at(right, "id").cmp(text_at(left, "id")));
    let limit = query.iter().find(|(name, _)| *name == "limit").and_then(|(_, limit)| limit.parse().ok());
    tasks.truncate(limit.unwrap_or(100));
    Ok(json!({"items": tasks, "next": null}))
}

async fn stop(how: &str, args: StopArgs, client: &Client, context: &Context) -> Result<Exit, Failure> {
    let Some(id) = args.task else {
        return task_stop_all::stop_all(how, args.project, args.no_wait, client, context).await;
    };
    let task = client.post(&["tasks", &id, how], &json!({}), None).await?;
    if args.no_wait {
        let next = [format!("agent-mate task wait {id}")];
        context.screen.made(&task, &format!("Task {id} was asked to {how}."), &next)?;
        return Ok(Exit::Done);
    }
    let exit = task_watch::wait(&id, client, context).await?;
    // Stopped is what was asked for, and it is proved.
    Ok(if exit == Exit::TaskStopped { Exit::Done } else { exit })
}
