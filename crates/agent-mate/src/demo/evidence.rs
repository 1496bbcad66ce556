//! What Agent Mate recorded, held against what the tool server and the runtime wrote down by themselves.

use super::{brief, stage::Stage, text};
use crate::cli::{Context, Failure};
use serde_json::Value;
use std::collections::BTreeMap;

/// Findings of the comparison.
pub(super) struct Evidence {
    rows: Vec<Row>,
    stray: usize,
    prompts: usize,
    events: BTreeMap<String, (i64, i64)>,
    holes: usize,
}

struct Row {
    operation: String,
    tool: String,
    state: String,
    effects: usize,
    key: String,
}

impl Evidence {
    pub(super) async fn gather(stage: &Stage, task: &str) -> Result<Self, Failure> {
        let effects: Vec<Value> =
            stage.effects().into_iter().filter(|line| line["kind"] == "begin").collect();
        let of = |effect: &Value| effect["meta"]["agent-mate/operation"].as_str().map(str::to_owned);
        let operations = stage.cli(&["operation", "list", "--task", task]).await?;
        let mut rows = Vec::new();
        for operation in operations["items"].as_array().into_iter().flatten() {
            let id = text(operation, "id")?;
            let mine: Vec<&Value> =
                effects.iter().filter(|effect| of(effect).as_ref() == Some(&id)).collect();
            rows.push(Row {
                tool: text(operation, "tool")?,
                state: text(operation, "state")?,
                effects: mine.len(),
                key: mine.first().map(|effect| brief(effect)).unwrap_or_default(),
                operation: id,
            });
        }
        let known = |effect: &Value| of(effect).is_some_and(|id| rows.iter().any(|row| row.operation == id));
        let stray = effects.iter().filter(|effect| !known(effect)).count();
        let (events, holes) = events(stage, task).await?;
        Ok(Self { stray, prompts: stage.prompts().len(), events, holes, rows })
    }

    /// Whether nothing was repeated and nothing is missing.
    pub(super) fn holds(&self) -> bool {
        let once = self.rows.iter().all(|row| row.effects == 1 && row.state == "succeeded");
        self.rows.len() == 3 && once && self.stray == 0 && self.prompts == 1 && self.holes == 0
    }

    pub(super) fn tell(&self, context: &Context) -> Result<(), Failure> {
        let say = |line: String| context.screen.line(&line);
        say(format!("   {:<44} {:<6} {:<11} in the tool server's log", "operation", "tool", "recorded"))?;
        for row in &self.rows {
            say(format!(
                "   {:<44} {:<6} {:<11} {} time{}: {}",
                row.operation,
                row.tool,
                row.state,
                row.effects,
                if row.effects == 1 { "" } else { "S" },
                row.key
            ))?;
        }
        say(format!("   effects that nobody recorded: {}", self.stray))?;
        say(format!("   prompts that the runtime received: {}", self.prompts))?;
        for (log, (count, last)) in &self.events {
            say(format!(
                "   events of the task in the {log}: {count}, up to number {last}; each names the one before it"
            ))?;
        }
        say(format!("   holes or repeats in them: {}", self.holes))?;
        say(if self.holds() {
            "   => the task went on, nothing was repeated, nothing is missing.".to_owned()
        } else {
            "   => THIS IS NOT AS PROMISED.".to_owned()
        })
    }
}

/// Counts the task's events in each log, and the places where one does not follow on the one before.
async fn events(stage: &Stage, task: &str) -> Result<(BTreeMap<String, (i64, i64)>, usize), Failure> {
    let printed = stage.plain(&["--json", "task", "events", task]).await?;
    let mut logs: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    let mut holes = 0;
    for line in printed.lines() {
        let parsed: Value = serde_json::from_str(line)
            .map_err(|error| Failure::internal(format!("an event is no JSON ({error})")))?;
        let page = parsed["items"].as_array().cloned();
        for event in page.unwrap_or_else(|| vec![parsed]) {
            let entry = logs.entry(text(&event, "log")?).or_default();
            holes += usize::from(event["prev"].as_i64().unwrap_or_default() != entry.1);
            *entry = (entry.0 + 1, event["seq"].as_i64().unwrap_or_default());
        }
    }
    Ok((logs, holes))
}
