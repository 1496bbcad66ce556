//! What a person can do from `top`, each after a question.

use super::{
    picture::{Item, Why},
    words::{subject, what},
};
use crate::cli::{client::Client, exit::Failure, show::text_at};
use mate_guard::text;
use mate_model::approval::Decision;
use mate_server::wire::{AnswerApproval, Reject};
use serde_json::json;

/// How much of a request a question repeats, in characters.
const WORDS: usize = 400;

/// Something to do, to what its id says: not to what is chosen by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Give leave to one request.
    Allow(String),
    /// Refuse one, with a reason that the agent is told.
    Deny(String, Option<String>),
    /// Approve a task.
    Approve(String),
    /// Reject a task, with a reason.
    Reject(String, Option<String>),
    /// Ask a task to stop.
    Stop(String),
}

impl Act {
    /// What a letter means for a line, and the question before it; or why it means nothing.
    pub(super) fn of(letter: char, item: &Item) -> Result<(Self, String), &'static str> {
        let id = item.id().to_owned();
        let about = text::line(&what(item), WORDS);
        match (letter, item.why) {
            ('a', Why::Approval) => {
                let more = if text_at(&item.value, "approve") == "once" {
                    "and with it this tool for the rest of the task"
                } else {
                    "for this one call"
                };
                Ok((Self::Allow(id), format!("Allow {about}, {more}?")))
            }
            ('d', Why::Approval) => {
                let about = text::line(&subject(&item.value), WORDS);
                Ok((Self::Deny(id, None), format!("Deny {about}? A reason, which the agent is told:")))
            }
            ('a', Why::Proposed) => Ok((Self::Approve(id), format!("Approve the task: {about}?"))),
            ('d', Why::Proposed) => {
                Ok((Self::Reject(id, None), format!("Reject the task: {about}? A reason:")))
            }
            ('s', Why::Running | Why::Waiting | Why::Approval | Why::SetAside) => {
                let task = item.task().to_owned();
                let words = format!("Ask {} to stop?", text::line(&task, WORDS));
                Ok((Self::Stop(task), words))
            }
            ('s', _) => Err("Nothing of it runs."),
            _ => Err("It waits for nobody's approval."),
        }
    }

    /// Whether a reason may be given.
    pub(super) const fn takes_reason(&self) -> bool {
        matches!(self, Self::Deny(..) | Self::Reject(..))
    }

    /// The same, with the reason that was given, if one was.
    pub(super) fn because(self, reason: &str) -> Self {
        let reason = (!reason.is_empty()).then(|| reason.to_owned());
        match self {
            Self::Deny(id, _) => Self::Deny(id, reason),
            Self::Reject(id, _) => Self::Reject(id, reason),
            same @ (Self::Allow(_) | Self::Approve(_) | Self::Stop(_)) => same,
        }
    }

    /// Does it; what to say of it.
    pub(super) async fn carry_out(self, client: &Client) -> Result<&'static str, Failure> {
        match self {
            Self::Allow(id) => {
                let wish = AnswerApproval { decision: Decision::Allow, reason: None };
                client.post(&["approvals", &id], &wish, None).await?;
                Ok("Allowed.")
            }
            Self::Deny(id, reason) => {
                let wish = AnswerApproval { decision: Decision::Deny, reason };
                client.post(&["approvals", &id], &wish, None).await?;
                Ok("Refused; the agent is told.")
            }
            Self::Approve(id) => {
                client.post(&["tasks", &id, "approve"], &json!({}), None).await?;
                Ok("Approved: it starts as soon as its session is free.")
            }
            Self::Reject(id, reason) => {
                client.post(&["tasks", &id, "reject"], &Reject { reason }, None).await?;
                Ok("Rejected.")
            }
            Self::Stop(id) => {
                client.post(&["tasks", &id, "stop"], &json!({}), None).await?;
                Ok("It was asked to stop; it has stopped once that is proved.")
            }
        }
    }
}
