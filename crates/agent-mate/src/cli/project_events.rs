//! `agent-mate project events`

use super::{
    Context,
    client::Client,
    exit::{Exit, Failure},
    progress::event_line,
    show::{at, moment_of, tell, text_at, utc},
};
use clap::Args;
use mate_guard::text;
use serde_json::Value;
use std::time::Duration;

/// How long the coordinator may be away.
const AWAY: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);

/// Which events.
#[derive(Args, Debug)]
pub(crate) struct EventsArgs {
    /// The project's name or id
    project: String,
    /// Go on as things happen, until interrupted or --timeout is over
    #[arg(long)]
    follow: bool,
    /// Go on after this event; with --follow, `now` leaves out what was before
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// How many at most; without --follow
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
}

/// Prints a page of events, or all that come.
pub(crate) async fn run(args: EventsArgs, client: &Client, context: &Context) -> Result<(), Failure> {
    if !args.follow {
        return page(&args, client, context).await;
    }
    let following = follow(&args.project, args.after, client, context);
    let Some(limit) = context.timeout else { return following.await };
    match tokio::time::timeout(limit, following).await {
        Ok(done) => done,
        Err(_) => {
            let detail = format!("followed for {} s, as --timeout says", limit.as_secs());
            Err(Failure::new(Exit::TimedOut, "timeout", detail))
        }
    }
}

async fn page(args: &EventsArgs, client: &Client, context: &Context) -> Result<(), Failure> {
    let mut query = vec![("limit", args.limit.to_string())];
    query.extend(args.after.iter().map(|after| ("after", after.clone())));
    let page = client.get(&["projects", &args.project, "events"], &query).await?;
    if context.screen.json {
        return context.screen.document(&page);
    }
    for event in page.get("items").and_then(Value::as_array).into_iter().flatten() {
        context.screen.line(&line(event))?;
    }
    let next = text_at(&page, "next");
    if !next.is_empty() {
        context.screen.line(&format!("\nThere is more: add --after {}", text::line(next, 200)))?;
    }
    Ok(())
}

/// An event for people: with its day, since a project's history is long, and its task.
fn line(event: &Value) -> String {
    let day = moment_of(at(event, "at")).map(utc).unwrap_or_default();
    let day = day.split(' ').next().unwrap_or_default();
    let task = match text_at(event, "task") {
        "" => String::new(),
        task => format!("  [{}]", text::line(task, 100)),
    };
    format!("{day} {}{task}", event_line(event))
}

/// Follows across restarts of the coordinator, each event once.
async fn follow(
    project: &str,
    mut cursor: Option<String>,
    client: &Client,
    context: &Context,
) -> Result<(), Failure> {
    let mut away = Duration::ZERO;
    loop {
        match one_stream(project, &mut cursor, &mut away, client, context).await {
            Ok(()) => {}
            Err(failure) if failure.exit == Exit::Unreachable && away < AWAY => {
                if away == Duration::ZERO {
                    tell("The coordinator is away. Trying again ...");
                }
                away += PAUSE;
            }
            Err(failure) => return Err(failure),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// One stream, until it is cut off.
async fn one_stream(
    project: &str,
    cursor: &mut Option<String>,
    away: &mut Duration,
    client: &Client,
    context: &Context,
) -> Result<(), Failure> {
    let mut events = client.events(&["projects", project, "events"], cursor.as_deref()).await?;
    *away = Duration::ZERO;
    while let Some(frames) = events.next().await? {
        for frame in frames {
            match frame.event.as_str() {
                "" => {
                    let event: Value = serde_json::from_str(&frame.data)
                        .map_err(|error| Failure::internal(format!("an event is not JSON: {error}")))?;
                    if context.screen.json {
                        context.screen.document(&event)?;
                    } else {
                        context.screen.line(&line(&event))?;
                    }
                }
                "closed" | "problem" => return Err(Failure::of_told(frame.data.as_bytes())),
                "reset" => tell("The place in the stream is gone; starting from the beginning."),
                // It begins, or the service goes down.
                _ => {}
            }
            if frame.id.is_some() {
                *cursor = frame.id;
            }
        }
    }
    Ok(())
}
