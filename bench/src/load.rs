//! Many sessions that call one tool as fast as they get answers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    figures::Figures,
    rpc::{Session, Target},
};

#[derive(clap::Args)]
pub(crate) struct Args {
    url: String,
    /// The name of an environment variable that holds the bearer token.
    #[arg(long)]
    bearer_env: Option<String>,
    #[command(flatten)]
    work: Work,
    #[arg(long, default_value_t = 1)]
    sessions: usize,
}

/// What is called, and how often.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Work {
    #[arg(long, default_value = "echo")]
    pub(crate) tool: String,
    #[arg(long, default_value = r#"{"text":"hello"}"#)]
    pub(crate) arguments: String,
    /// Calls that count, over all sessions together.
    #[arg(long, default_value_t = 2000)]
    pub(crate) calls: u64,
    /// Calls before those, to fill caches and pools.
    #[arg(long, default_value_t = 200)]
    pub(crate) warmup: u64,
}

impl Work {
    /// Short texts, given back.
    pub(crate) fn echo(calls: u64, warmup: u64) -> Self {
        Self { tool: "echo".to_owned(), arguments: r#"{"text":"hello"}"#.to_owned(), calls, warmup }
    }
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let bearer = args.bearer_env.map(std::env::var).transpose()?;
    let target = Target { url: args.url, bearer };
    let figures = measure(&vec![target; args.sessions.max(1)], &args.work).await?;
    println!("{}", json!({"sessions": args.sessions, "figures": figures}));
    Ok(())
}

/// One session for each target, all at once.
pub(crate) async fn measure(targets: &[Target], work: &Work) -> anyhow::Result<Figures> {
    let arguments: Value = serde_json::from_str(&work.arguments)?;
    let mut sessions = Vec::new();
    for target in targets {
        sessions.push(Arc::new(Session::open(target).await?));
    }
    drive(&sessions, work.warmup, &work.tool, &arguments).await?;
    let began = Instant::now();
    let (latencies, errors) = drive(&sessions, work.calls, &work.tool, &arguments).await?;
    Ok(Figures::new(latencies, &errors, began.elapsed()))
}

type Outcome = (Vec<Duration>, Vec<String>);

async fn drive(
    sessions: &[Arc<Session>],
    calls: u64,
    tool: &str,
    arguments: &Value,
) -> anyhow::Result<Outcome> {
    let taken = Arc::new(AtomicU64::new(0));
    let mut callers = tokio::task::JoinSet::new();
    for session in sessions {
        let (session, taken) = (Arc::clone(session), Arc::clone(&taken));
        let (tool, arguments) = (tool.to_owned(), arguments.clone());
        callers.spawn(async move {
            let (mut latencies, mut errors) = (Vec::new(), Vec::new());
            loop {
                let call = taken.fetch_add(1, Ordering::Relaxed);
                if call >= calls {
                    return (latencies, errors);
                }
                let began = Instant::now();
                match session.call(call + 1, &tool, &arguments).await {
                    Ok(()) => latencies.push(began.elapsed()),
                    Err(error) => errors.push(format!("{error:#}")),
                }
            }
        });
    }
    let (mut latencies, mut errors) = (Vec::new(), Vec::new());
    while let Some(caller) = callers.join_next().await {
        let (some, failed) = caller?;
        latencies.extend(some);
        errors.extend(failed);
    }
    Ok((latencies, errors))
}
