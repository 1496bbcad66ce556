//! What a prompt says, and its intent.

use super::{Worker, live::Live};
use anyhow::{Result, anyhow};
use mate_model::{
    event::EventType,
    records::{Task, Turn},
    turn::{PromptPermit, TurnCommand},
};
use mate_store::Change;
use serde_json::{Value, json};

/// The text of a prompt.
pub(super) struct Text {
    /// As it is sent.
    pub(super) whole: String,
    /// The recovery note that it begins with, and what it says, for the record.
    note: Option<(String, Value)>,
}

impl Worker {
    /// What the agent is told: the instructions, after what is on record of the work that the task continues.
    pub(super) async fn text_of(&self, task: &Task) -> Result<Text> {
        let Some(note) = self.engine.recovery_note(task).await? else {
            return Ok(Text { whole: task.instructions.clone(), note: None });
        };
        let text = self.redactor.redact(&note.text).into_owned();
        let whole = format!("{text}\n\n{}", task.instructions);
        Ok(Text { whole, note: Some((text, note.facts)) })
    }

    /// The prompt's intent: durable before a byte of it is sent, with the note that it begins with.
    pub(super) async fn intend_prompt(
        &self,
        turn: Turn,
        text: &Text,
        live: &Option<Live>,
    ) -> Result<(Turn, PromptPermit)> {
        let live = live.as_ref().ok_or_else(|| anyhow!("no runtime to prompt"))?;
        let transition = turn.state.decide(TurnCommand::Prompt, self.engine.clock.now())?;
        let state = transition.to().clone();
        let mut changes = vec![
            Change::SetContext {
                turn: turn.id,
                context: live.context,
                conversation: live.conversation.clone(),
                note: text.note.as_ref().map(|(note, _)| note.clone()),
            },
            Change::MoveTurn { turn: turn.id, transition, report: None, evidence: None },
        ];
        if let Some((_, facts)) = &text.note {
            changes.push(Change::Event(self.recorder.draft(EventType::TurnNoted, facts.clone())));
        }
        let prompted = json!({ "size": text.whole.len(), "context": live.context });
        changes.push(Change::Event(self.recorder.draft(EventType::TurnPrompted, prompted)));
        let written = self.recorder.write(changes).await?;
        let permit =
            written.prompt.ok_or_else(|| anyhow!("the journal gave no permit for a committed prompt"))?;
        Ok((Turn { state, ..turn }, permit))
    }
}
