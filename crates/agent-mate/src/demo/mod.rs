//! `agent-mate demo`: a task whose coordinator is killed in the middle of a tool call, and one whose worker and runtime
//! are, told step by step.
//!
//! Nothing is staged: the commands are this program's own, run as a person would run them; the runtime and the tool
//! server are programs of their own that speak the real protocols; the evidence is the tool server's own log.

mod evidence;
mod stage;
mod unknown;

use crate::cli::{Context, DemoArgs, Exit, Failure};
use evidence::Evidence;
use serde_json::Value;
use stage::Stage;
use std::time::Duration;

/// How long any step may take.
const PATIENCE: Duration = Duration::from_secs(60);

const SCRIPT: &str = r#"STUB[[ [
  {"plan":[{"content":"note the start","status":"in_progress"},{"content":"deploy","status":"pending"},{"content":"note the end","status":"pending"}]},
  {"text":"I note the start, deploy, and note the end."},
  {"tool":"shop__note","args":{"text":"deployment starts"}},
  {"tool":"shop__slow","args":{"seconds":4,"key":"deploy-42"}},
  {"tool":"shop__note","args":{"text":"deployment ended"}},
  {"tool":"agent_mate__report","args":{"status":"done","summary":"Deployed, and noted both ends."}},
  {"text":"All three are done."}
] ]]"#;

/// Runs the demonstration.
///
/// # Errors
/// The first step that did not go as promised: then the promise is broken, and the exit code says so.
pub(crate) async fn run(context: &Context, arguments: &DemoArgs) -> Result<Exit, Failure> {
    let say = |line: &str| context.screen.line(line);
    let mut stage = Stage::build()?;
    say(
        "Agent Mate demo: the coordinator is killed in the middle of a tool call; then the worker and its runtime are.",
    )?;
    say(&format!("Everything happens in a throw-away home: {}\n", stage.home().display()))?;

    say("1. Set up: a home, a coordinator, a runtime, a tool server, and the leave to use it")?;
    set_up(&mut stage, context).await?;

    say("\n2. Submit a task: three effects, the second takes 4 seconds")?;
    let task = stage.show(context, &["task", "add", "--project", "default", "--approve", SCRIPT]).await?;
    let task = text(&task, "id")?;
    say(&format!("   the task is {task}"))?;

    say("\n3. Kill the coordinator while the tool server is in the middle of `slow`")?;
    let began = stage.effect("begin", "deploy-42", PATIENCE).await?;
    say(&format!("   {} the tool server's own log: {}", clock(&began), brief(&began)))?;
    let worker = stage.worker(&text(&stage.cli(&["task", "show", &task]).await?, "session")?)?;
    let killed = stage.kill_serve().await?;
    say(&format!("   SIGKILL to the coordinator, process {killed}"))?;
    let gone = stage.cli(&["task", "show", &task]).await.is_err();
    say(&format!(
        "   a command now fails (nobody answers): {}; the session's worker, process {worker}, lives: {}",
        yes(gone),
        yes(stage::is_alive(worker))
    ))?;

    say("\n4. Nobody coordinates. The task goes on:")?;
    for key in ["deploy-42", "deployment ended"] {
        let line = stage.effect("end", key, PATIENCE).await?;
        say(&format!("   {} the tool server's own log: {}", clock(&line), brief(&line)))?;
    }
    say(&format!("   still no coordinator: {}", yes(stage.cli(&["task", "show", &task]).await.is_err())))?;

    say("\n5. Start the coordinator again, and ask")?;
    stage.start_serve().await?;
    stage.show(context, &["task", "wait", &task]).await?;

    say("\n6. Compare what Agent Mate recorded with what the tool server logged")?;
    let evidence = Evidence::gather(&stage, &task).await?;
    evidence.tell(context)?;

    say("\n7. The task's report")?;
    say(&stage.plain(&["task", "report", &task]).await?)?;
    let settled = unknown::play(&stage, context).await?;
    finish(stage, context, arguments, &task).await?;
    if evidence.holds() && gone && settled {
        Ok(Exit::Done)
    } else {
        Err(Failure::internal("the demonstration did not show what it promises"))
    }
}

async fn set_up(stage: &mut Stage, context: &Context) -> Result<(), Failure> {
    stage.show(context, &["init"]).await?;
    stage.start_serve().await?;
    let (runtime, server) = (stage.runtime_command(), stage.server_command());
    let mut add = vec!["runtime", "add", "scripted", "--"];
    add.extend(runtime.iter().map(String::as_str));
    stage.show(context, &add).await?;
    let mut add = vec!["connection", "add", "shop", "--"];
    add.extend(server.iter().map(String::as_str));
    stage.show(context, &add).await?;
    stage
        .show(
            context,
            &["grant", "add", "--project", "default", "--connection", "shop", "--tools", "note,slow"],
        )
        .await?;
    Ok(())
}

async fn finish(stage: Stage, context: &Context, arguments: &DemoArgs, task: &str) -> Result<(), Failure> {
    let say = |line: &str| context.screen.line(line);
    let (place, home) = (stage.place().to_owned(), stage.home().to_owned());
    stage.end().await;
    if arguments.remove {
        std::fs::remove_dir_all(&place)
            .map_err(|error| Failure::internal(format!("{}: {error}", place.display())))?;
        return say("\nThe throw-away home was removed.");
    }
    let program = stage::program();
    say("\nWhere to look (all of it can be thrown away):")?;
    say(&format!("   {}/effects.jsonl    what the tool server did, by its own account", place.display()))?;
    say(&format!("   {}/prompts.jsonl    what the runtime was asked", place.display()))?;
    say(&format!("   {}/sessions/*/      the session's journal and its worker's log", home.display()))?;
    say(&format!("   {program} --home {} serve &", home.display()))?;
    say(&format!("   {program} --home {} task events {task}", home.display()))?;
    say(&format!("   rm -r {}            when you have seen enough", place.display()))
}

fn text(document: &Value, name: &str) -> Result<String, Failure> {
    let text = document.get(name).and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| Failure::internal(format!("the answer has no `{name}`")))
}

const fn yes(it: bool) -> &'static str {
    if it { "yes" } else { "NO" }
}

fn clock(line: &Value) -> String {
    let micros = line.get("at").and_then(Value::as_i64).unwrap_or_default();
    let day = micros.rem_euclid(86_400_000_000);
    let (seconds, millis) = (day / 1_000_000, day % 1_000_000 / 1_000);
    format!("{:02}:{:02}:{:02}.{millis:03}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn brief(line: &Value) -> String {
    let part = |name| line.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{} {} `{}`", part("tool"), part("kind"), part("key"))
}
