//! Reading a history: the stores themselves, the effect server's log, and what the runtime says.

use super::history::{Disturbance, Effect, History, Op, Promise, TaskRow, Told, is_classified};
use crate::harness::{World, json_lines, until};
use mate_model::{
    OperationId, ProjectId, SessionId,
    operation::OperationStateWord,
    records::{Operation, Task},
    task::{TaskState, TaskStateWord},
    words::{EvidenceKind, UnknownReason},
};
use mate_store::{
    Database, JournalReader, Ledger, PostgresDatabase, SqliteDatabase, SqliteOptions,
    postgres::PostgresOptions,
};
use serde_json::Value;
use std::{collections::HashMap, sync::Arc};
use tokio::runtime::Runtime;

const PAGE: u32 = 500;

/// The stores of one world, opened beside the program, and what was done to it.
pub(crate) struct Records {
    runtime: Runtime,
    shared: Option<Arc<dyn Database>>,
    ledger: Ledger,
    journals: HashMap<SessionId, JournalReader>,
    project: ProjectId,
    pub(crate) promises: Vec<Promise>,
    pub(crate) disturbances: Vec<Disturbance>,
}

impl Records {
    pub(crate) fn of(world: &World) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("threads");
        let shared = world.database_url().map(|url| {
            let options = PostgresOptions { connections: 2 };
            let opened = runtime.block_on(PostgresDatabase::open(url, options)).expect("opens");
            Arc::new(opened) as Arc<dyn Database>
        });
        let ledger = match &shared {
            Some(shared) => Arc::clone(shared),
            None => runtime.block_on(open(&world.home().join("ledger.db"))),
        };
        Self {
            runtime,
            shared,
            ledger: Ledger::new(ledger),
            journals: HashMap::new(),
            project: world.project.parse().expect("a project"),
            promises: Vec::new(),
            disturbances: Vec::new(),
        }
    }

    /// How a task stands in the ledger.
    pub(crate) fn state_of(&self, task: &str) -> Option<TaskStateWord> {
        let id = task.parse().expect("a task");
        let found = self.runtime.block_on(self.ledger.task(id)).expect("the ledger is read");
        found.map(|task| task.state.word())
    }

    /// Waits until a task has an end or waits for evidence.
    pub(crate) fn until_classified(&self, task: &str) -> TaskStateWord {
        until(&format!("the end of {task}"), || self.state_of(task).filter(|state| is_classified(*state)))
    }

    /// Every task of the project, oldest first.
    pub(crate) fn tasks(&self) -> (Vec<Task>, Vec<String>) {
        let (mut all, mut corrupt, mut before) = (Vec::new(), Vec::new(), None);
        loop {
            let page = self.runtime.block_on(self.ledger.tasks(self.project, None, before, PAGE));
            let page = page.expect("the ledger is read");
            corrupt.extend(page.corrupt.iter().map(ToString::to_string));
            all.extend(page.items);
            match page.next {
                Some(next) => before = Some(next),
                None => break,
            }
        }
        all.reverse();
        (all, corrupt)
    }

    fn journal(&mut self, world: &World, session: SessionId) -> JournalReader {
        let (runtime, shared) = (&self.runtime, &self.shared);
        let reader = self.journals.entry(session).or_insert_with(|| {
            let database = match shared {
                Some(shared) => Arc::clone(shared),
                None => {
                    let file = world.session_folder(&session.to_string()).join("journal.db");
                    runtime.block_on(open(&file))
                }
            };
            JournalReader::new(database, session)
        });
        reader.clone()
    }

    /// A session's operations in request order.
    pub(crate) fn operations(&mut self, world: &World, session: SessionId) -> (Vec<Operation>, Vec<String>) {
        let reader = self.journal(world, session);
        let (mut all, mut corrupt, mut after) = (Vec::new(), Vec::new(), 0);
        loop {
            let page = self.runtime.block_on(reader.operations(None, None, after, PAGE));
            let page = page.expect("the journal is read");
            corrupt.extend(page.corrupt.iter().map(ToString::to_string));
            all.extend(page.items);
            match page.next {
                Some(next) => after = next,
                None => return (all, corrupt),
            }
        }
    }

    /// The operations of a session that have their outcome on record.
    pub(crate) fn settled(&mut self, world: &World, session: &str) -> Vec<String> {
        let session = session.parse().expect("a session");
        let (operations, _) = self.operations(world, session);
        // What waits for a person has no intent yet, and may have it before the kill is done.
        let open = |word| {
            matches!(
                word,
                OperationStateWord::Requested
                    | OperationStateWord::AwaitingApproval
                    | OperationStateWord::InFlight
            )
        };
        let settled = operations.into_iter().filter(|op| !open(op.state.word()));
        settled.map(|op| op.id.to_string()).collect()
    }

    /// Waits until the task has its end, and the journal what settled its operations.
    pub(crate) fn until_settled(&mut self, world: &World, session: &str, task: &str) {
        until(&format!("the settled end of {task}"), || {
            self.state_of(task).filter(|state| is_classified(*state) && *state != TaskStateWord::Unknown)
        });
        let id = session.parse().expect("a session");
        until("the journal's part of it", || {
            let (operations, _) = self.operations(world, id);
            operations.iter().all(|op| op.state.word() != OperationStateWord::Unknown).then_some(())
        });
    }

    /// Everything that is on record, once nothing changes any more.
    pub(crate) fn history(&mut self, world: &World) -> History {
        let (tasks, mut corrupt) = self.tasks();
        let mut sessions: Vec<SessionId> = tasks.iter().map(|task| task.session).collect();
        sessions.sort_unstable();
        sessions.dedup();
        let mut broken_logs = Vec::new();
        let report = self.runtime.block_on(self.ledger.verify_chain(self.project)).expect("read");
        broken_logs.extend(report.broken.map(|broken| format!("the ledger: {broken:?}")));
        let mut operations = Vec::new();
        for session in sessions {
            let (found, bad) = self.operations(world, session);
            operations.extend(found.iter().map(op));
            corrupt.extend(bad);
            let reader = self.journal(world, session);
            let report = self.runtime.block_on(reader.verify_chain()).expect("the journal is read");
            broken_logs.extend(report.broken.map(|broken| format!("{session}: {broken:?}")));
        }
        History {
            operations,
            effects: effects(world),
            tasks: tasks.iter().map(row).collect(),
            told: told(world),
            prompts: world.prompts(),
            acknowledged: self.promises.clone(),
            disturbances: self.disturbances.clone(),
            revocations: Vec::new(),
            broken_logs,
            corrupt,
            living: Vec::new(),
        }
    }
}

async fn open(path: &std::path::Path) -> Arc<dyn Database> {
    let opened = SqliteDatabase::open_to_read(path, SqliteOptions::JOURNAL).await;
    Arc::new(opened.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

fn op(operation: &Operation) -> Op {
    Op {
        id: OperationId::to_string(&operation.id),
        task: operation.task.to_string(),
        tool: operation.tool.clone(),
        class: operation.class,
        state: operation.state.word(),
        intended_at: operation.admitted_at.map(|at| at.0),
        recorded_at: operation
            .recorded_at
            .filter(|_| operation.state.word() == OperationStateWord::Unknown)
            .map(|at| at.0),
        has_result: operation.result_size.is_some() || operation.answered_at.is_some(),
        resolved: operation.state.evidence().is_some_and(|evidence| {
            matches!(evidence.kind, EvidenceKind::Person | EvidenceKind::Verification)
        }),
    }
}

fn row(task: &Task) -> TaskRow {
    let own_activity = match &task.state {
        TaskState::Unknown { reason, .. } => *reason == UnknownReason::OwnActivity,
        TaskState::Proposed
        | TaskState::Accepted { .. }
        | TaskState::Running { .. }
        | TaskState::StopRequested { .. }
        | TaskState::Ended { .. }
        | TaskState::Rejected { .. } => false,
    };
    TaskRow {
        id: task.id.to_string(),
        state: task.state.word(),
        instructions: task.instructions.clone(),
        own_activity,
    }
}

fn effects(world: &World) -> Vec<Effect> {
    let lines = world.effects();
    let calls = lines.iter().filter(|line| line["kind"] == "begin" || line["kind"] == "end");
    // A look whether a call has happened changes nothing, and belongs to no operation.
    calls
        .filter(|line| line["tool"] != "was_done")
        .map(|line| Effect {
            begin: line["kind"] == "begin",
            operation: text(&line["meta"]["agent-mate/operation"]),
            tool: text(&line["tool"]),
            arguments: canonical(&line["arguments"]),
            at: line["at"].as_i64().unwrap_or_default(),
        })
        .collect()
}

fn told(world: &World) -> Vec<Told> {
    let lines = json_lines(&world.path("told.log"));
    lines
        .iter()
        .map(|line| Told {
            tool: text(&line["tool"]),
            arguments: canonical(&line["args"]),
            ok: line["ok"] == true,
        })
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The same text for the same arguments, in whatever order they come.
fn canonical(arguments: &Value) -> String {
    let mut members: Vec<String> =
        arguments.as_object().into_iter().flatten().map(|(name, value)| format!("{name}={value}")).collect();
    members.sort_unstable();
    members.join(",")
}
