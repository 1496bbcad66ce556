//! A task's report: what was done, by whose leave, and what is uncertain.

use crate::{Engine, EngineError, Principal, TaskView, Verb};
use mate_model::{
    AccountId, GrantId, OperationId, TaskId, event::EventType, operation::OperationStateWord,
    words::EffectClass,
};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, btree_map::Entry};

/// How many operations a report lists; the counts are of all.
const MAX_LINES: usize = 200;
const PAGE: u32 = 500;

/// One operation in a report.
#[derive(Clone, Debug, Serialize)]
pub struct OperationLine {
    /// Its id.
    pub id: OperationId,
    /// `connection/tool`.
    pub tool: String,
    /// What it may change.
    pub effect: EffectClass,
    /// How it ended.
    pub state: OperationStateWord,
    /// The grant that allowed it.
    pub grant: Option<GrantId>,
    /// The name of the person whose leave it needed and had.
    pub allowed_by: Option<String>,
    /// From sent to answered, in microseconds.
    pub duration_us: Option<i64>,
    /// What there is to say of it.
    pub detail: Option<String>,
}

/// A task's report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The task as it stands.
    pub task: TaskView,
    /// The name of who submitted it.
    pub submitted_by: Option<String>,
    /// The name of who approved it.
    pub approved_by: Option<String>,
    /// The name of who asked it to stop.
    pub stopped_by: Option<String>,
    /// How many operations there are in each state.
    pub counts: BTreeMap<&'static str, u64>,
    /// The first operations, in request order.
    pub operations: Vec<OperationLine>,
    /// How many more there are.
    pub not_listed: u64,
    /// Those whose outcome nobody knows: look at each, and settle it with evidence.
    pub unknown: Vec<OperationLine>,
    /// Those of which later evidence says otherwise than what settled them, and nobody has taken note of it yet.
    pub contradicted: Vec<OperationLine>,
    /// What the agent reported of its work, in its words.
    pub summary: Option<String>,
    /// What the agent said last.
    pub last_message: Option<String>,
}

impl Engine {
    /// Reads a task's report.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when it does not exist, or not for this caller.
    pub async fn report(&self, who: &Principal, id: TaskId) -> Result<Report, EngineError> {
        let task = self.task_for(who, id, Verb::TaskReport).await?;
        let reader = self.stores.journal_reader(task.session).await?;
        let told = self.told_of(id).await?;
        let mut report = Report {
            task: self.full_view(task).await?,
            submitted_by: told.submitted_by,
            approved_by: told.approved_by,
            stopped_by: told.stopped_by,
            counts: BTreeMap::new(),
            operations: Vec::new(),
            not_listed: 0,
            unknown: Vec::new(),
            contradicted: Vec::new(),
            summary: None,
            last_message: None,
        };
        let mut after = 0;
        loop {
            let page = self.task_operations(who, id, None, after, PAGE).await?;
            for row in page.items {
                *report.counts.entry(row.state.as_str()).or_default() += 1;
                let line = OperationLine {
                    id: row.id,
                    tool: format!("{}/{}", row.connection_name, row.tool),
                    effect: row.effect,
                    state: row.state,
                    grant: row.grant,
                    allowed_by: told.leave.get(&leave_of(row.id, &row.decision)).cloned(),
                    duration_us: row.duration_us,
                    detail: row.detail,
                };
                let contrary = row.resolution.contradiction.as_ref();
                if let Some(contrary) = contrary.filter(|_| row.resolution.acknowledged_at.is_none())
                    && report.contradicted.len() < MAX_LINES
                {
                    let detail = Some(format!("{}: {}", contrary.verdict, contrary.evidence.detail));
                    report.contradicted.push(OperationLine { detail, ..line.clone() });
                }
                if row.state == OperationStateWord::Unknown && report.unknown.len() < MAX_LINES {
                    report.unknown.push(line.clone());
                }
                if report.operations.len() < MAX_LINES {
                    report.operations.push(line);
                } else {
                    report.not_listed += 1;
                }
            }
            match page.next {
                Some(next) => after = next,
                None => break,
            }
        }
        for event in reader.tail(Some(id), 200).await?.items {
            let text = |name: &str| event.data.get(name).and_then(|text| text.as_str()).map(str::to_owned);
            if event.kind == EventType::AgentMessage {
                report.last_message = text("text").or(report.last_message);
            } else if event.kind == EventType::AgentReported {
                report.summary = text("summary").or(report.summary);
            }
        }
        Ok(report)
    }

    /// By whose leave: from the ledger's own record of the task.
    async fn told_of(&self, task: TaskId) -> Result<Told, EngineError> {
        let (mut told, mut names, mut after) = (Told::default(), BTreeMap::new(), 0);
        loop {
            let page = self.ledger.events_of_task(task, after, PAGE).await?;
            for event in page.items {
                let text = |name: &str| event.data.get(name).and_then(|text| text.as_str());
                let Some(by) = text("by").and_then(|by| by.parse::<AccountId>().ok()) else { continue };
                let name = match names.entry(by) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => {
                        new.insert(self.ledger.account(by).await?.map(|account| account.name))
                    }
                };
                if event.kind == EventType::TaskSubmitted {
                    told.submitted_by.clone_from(name);
                } else if event.kind == EventType::TaskApproved {
                    told.approved_by.clone_from(name);
                } else if event.kind == EventType::TaskStopRequested
                    || event.kind == EventType::TaskKillRequested
                {
                    told.stopped_by.clone_from(name);
                } else if event.kind == EventType::ApprovalAllowed
                    && let (Some(approval), Some(name)) = (text("approval"), name)
                {
                    told.leave.insert(approval.to_owned(), name.clone());
                }
            }
            match page.next {
                Some(next) => after = next,
                None => return Ok(told),
            }
        }
    }
}

/// Names of people, as the ledger's record of a task has them.
#[derive(Default)]
struct Told {
    submitted_by: Option<String>,
    approved_by: Option<String>,
    stopped_by: Option<String>,
    /// Who gave leave, by approval.
    leave: BTreeMap<String, String>,
}

/// The approval that an operation went out by: its own, or that of its tool's first call.
fn leave_of(operation: OperationId, decision: &Value) -> String {
    let permission = decision.get("permission").and_then(Value::as_str);
    permission.map_or_else(|| operation.to_string(), str::to_owned)
}
