//! A task's report: what was done, by whose leave, and what is uncertain.

use super::authority::Givers;
use crate::{Engine, EngineError, Principal, TaskView, Verb, admin::Paging, artifact::ArtifactView};
use mate_model::{
    AccountId, GrantId, Micros, OperationId, TaskId, event::EventType, operation::OperationStateWord,
    words::EffectClass,
};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, btree_map::Entry};

/// How many operations a report lists; the counts are of all.
const MAX_LINES: usize = 200;
const PAGE: u32 = 500;
/// How many artifacts a report lists.
const ARTIFACTS: u32 = 100;
/// How many files it lists.
const FILES: usize = 100;

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
    /// When that leave was given.
    pub allowed_at: Option<Micros>,
    /// By whose leave it went out, or why it was refused, in words.
    pub authority: Option<String>,
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
    /// How many files were in the workspace at the end of its last turn, where that was listed.
    pub files_left: Option<u64>,
    /// The first of them, as they were listed: path, size and hash.
    pub files: Vec<Value>,
    /// The artifacts that it left, the latest first; 100 at most.
    pub artifacts: Vec<ArtifactView>,
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
            files_left: None,
            files: Vec::new(),
            artifacts: self.task_artifacts(who, id, &Paging { after: None, limit: ARTIFACTS }).await?.items,
            summary: None,
            last_message: None,
        };
        let (mut after, mut givers) = (0, Givers::default());
        loop {
            let page = self.task_operations(who, id, None, after, PAGE).await?;
            for row in page.items {
                let listed = report.operations.len() < MAX_LINES || row.state == OperationStateWord::Unknown;
                let authority = if listed { Some(self.authority_of(&row, &mut givers).await?) } else { None };
                let (words, leave) = authority.map_or((None, None), |one| (Some(one.words), one.leave));
                let (allowed_by, allowed_at) = leave.map_or((None, None), |l| (Some(l.by), Some(l.at)));
                *report.counts.entry(row.state.as_str()).or_default() += 1;
                let line = OperationLine {
                    id: row.id,
                    tool: format!("{}/{}", row.connection_name, row.tool),
                    effect: row.effect,
                    state: row.state,
                    grant: row.grant,
                    allowed_by,
                    allowed_at,
                    authority: words,
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
            } else if event.kind == EventType::WorkspaceListed {
                report.files_left = event.data.get("total").and_then(Value::as_u64);
                let files = event.data.get("files").and_then(Value::as_array);
                report.files =
                    files.map(|files| files.iter().take(FILES).cloned().collect()).unwrap_or_default();
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
}
