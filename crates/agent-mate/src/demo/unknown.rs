//! The second act: the worker and the runtime are killed in the middle of a call. What nobody can know is named, looked
//! up where it can be known, and settled.

use super::{PATIENCE, brief, clock, stage::Stage, text};
use crate::cli::{Context, Failure};
use serde_json::Value;
use std::fs;

const SCRIPT: &str = r#"STUB[[ [
  {"text":"I send the invoice."},
  {"tool":"shop__slow","args":{"seconds":30,"key":"invoice-7"}},
  {"text":"It is sent."}
] ]]"#;
const KEY: &str = "invoice-7";
/// What `task wait` ends with when something of the task is uncertain.
const UNKNOWN: i32 = 6;

/// Plays it; says whether everything was as promised.
pub(super) async fn play(stage: &Stage, context: &Context) -> Result<bool, Failure> {
    let say = |line: &str| context.screen.line(line);
    say("\n8. Now the worst: the session's worker and its runtime are killed in the middle of a call")?;
    let task = stage.show(context, &["task", "add", "--project", "default", "--approve", SCRIPT]).await?;
    let task = text(&task, "id")?;
    let began = stage.effect("begin", KEY, PATIENCE).await?;
    say(&format!("   {} the tool server's own log: {}", clock(&began), brief(&began)))?;
    let session = text(&stage.cli(&["task", "show", &task]).await?, "session")?;
    let (worker, runtime) = (stage.worker(&session)?, stage.runtime(&session).await?);
    Stage::kill(runtime)?;
    Stage::kill(worker)?;
    say(&format!("   SIGKILL to the worker, process {worker}, and to the runtime, process {runtime}"))?;
    let ended = stage.show_ending(context, &["task", "wait", &task], UNKNOWN).await?;
    let operations = stage.cli(&["operation", "list", "--task", &task, "--state", "unknown"]).await?;
    let operation = &operations["items"][0];
    let id = text(operation, "id")?;
    say(&format!("   the task is {}, because of one call:", text(&ended, "state")?))?;
    say(&format!(
        "   {id} {} {}: {}",
        text(operation, "tool")?,
        text(operation, "state")?,
        text(operation, "detail")?
    ))?;
    say("   It is not made again, and nobody guesses: only the other side can tell what came of it.")?;

    say("\n9. Look there, and settle it with what is found")?;
    let found: Vec<Value> = stage.effects().into_iter().filter(|line| line["key"] == KEY).collect();
    let file = stage.place().join("found.txt");
    let lines: String = found.iter().map(|line| format!("{line}\n")).collect();
    fs::write(&file, &lines).map_err(|error| Failure::internal(error.to_string()))?;
    let file = file.display().to_string();
    say(&format!("   $ grep {KEY} effects.jsonl > found.txt"))?;
    for line in &found {
        say(&format!("   {} the tool server's own log: {}", clock(line), brief(line)))?;
    }
    let kinds = |kind: &str| found.iter().filter(|line| line["kind"] == kind).count();
    let broken_off = (kinds("begin"), kinds("end")) == (1, 0);
    let (verdict, reason) = if broken_off {
        ("failed", "the tool server's log has its beginning, once, and no end: it was broken off")
    } else {
        ("succeeded", "the tool server's log has its end")
    };
    let words = ["operation", "resolve", &id, "--as", verdict, "--reason", reason, "--proof", &file];
    let settled = stage.show(context, &words).await?;
    let shown = stage.show(context, &["task", "show", &task]).await?;
    say(&format!(
        "   the call is {}, on a person's word, with the proof beside it",
        text(&settled, "state")?
    ))?;
    say(&format!(
        "   the task took its end by itself: {}, {}",
        text(&shown, "state")?,
        text(&shown, "reason")?
    ))?;
    let holds = broken_off
        && operations["items"].as_array().is_some_and(|items| items.len() == 1)
        && settled["state"] == "failed"
        && settled["proof"] == lines.as_str()
        && shown["final"] == true
        && stage.prompts().len() == 2;
    say(if holds {
        "   => found by name, settled by evidence, never repeated."
    } else {
        "   => THIS IS NOT AS PROMISED."
    })?;
    Ok(holds)
}
