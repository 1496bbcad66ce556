//! What goes on when a point is reached.

use crate::harness::{Store, stub};
use mate_fault::{Point, Process};
use serde_json::{Value, json};

/// How a point is brought about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scene {
    /// A home is set up.
    Init,
    /// The key that seals is changed, and the older one retired.
    Keys,
    /// A task is submitted in a new session.
    Submit,
    /// A proposed task is approved.
    Approve,
    /// A task that lost its runtime is resumed.
    Resume,
    /// A task does some of everything, to its end.
    Work,
    /// A call of a task waits for a person, who gives leave.
    Leave,
    /// A call of a task is carried out as a task by its upstream.
    AsTask,
    /// The upstream asks in the middle of a call, and the runtime answers.
    Ask,
    /// A call of a task leaves an artifact behind.
    Artifact,
    /// A task that would never end is asked to stop.
    Stop,
    /// The runtime is killed in the middle of a call.
    Lost,
    /// The worker is killed in the middle of a call.
    Recover,
    /// The worker is killed between the end of a container and its proof.
    RecoverProof,
    /// No worker can start.
    GiveUp,
    /// The worker is killed in the middle of a call, and a person says what became of it.
    Resolve,
    /// The worker is killed with an answer in its hands, and a recipe finds out what became of the call.
    Verify,
    /// The journal cannot be written when an answer comes.
    Hold,
    /// The same, and then it can be again.
    TakeIn,
    /// The same, when the worker is dead.
    RecoverHeld,
}

/// A point with its scene, and which reach of whom is meant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) point: &'static str,
    pub(super) scene: Scene,
    pub(super) role: &'static str,
    pub(super) number: u64,
}

impl Plan {
    pub(super) fn of(point: &Point) -> Self {
        let role = match point.process {
            Process::Init => "init",
            Process::Serve => "serve",
            Process::Worker => "session-worker",
            Process::Keeper | Process::Inner => "keeper",
            Process::Key => "key",
        };
        let (part, _) = point.name.split_once('.').expect("a name has two parts");
        let scene = match (part, point.name) {
            ("init" | "migrate", _) => Scene::Init,
            ("key", _) => Scene::Keys,
            ("submit", _) => Scene::Submit,
            ("request", _) => Scene::Approve,
            ("leave", _) => Scene::Leave,
            ("answer", _) => Scene::Ask,
            ("resume", _) => Scene::Resume,
            ("stop", _) => Scene::Stop,
            ("artifact", _) => Scene::Artifact,
            (_, "bridge.task_made" | "bridge.task_noted") => Scene::AsTask,
            (_, "recover.proved") => Scene::RecoverProof,
            ("recover", _) => Scene::Recover,
            ("give_up", _) => Scene::GiveUp,
            ("resolve", _) => Scene::Resolve,
            ("verify", _) => Scene::Verify,
            (_, "spill.held") => Scene::Hold,
            (_, "spill.taken_in") => Scene::TakeIn,
            (_, "spill.recovered") => Scene::RecoverHeld,
            (_, "turn.settled" | "turn.buried" | "turn.proved") => Scene::Lost,
            _ => Scene::Work,
        };
        // In the middle of a session; the sweeps meet the others.
        let number = if part == "sqlite" || part == "postgres" { 9 } else { 1 };
        Self { point: point.name, scene, role, number }
    }
}

/// Whether a point can be reached with this kind of store at all.
pub(super) fn occurs(point: &str, store: Store) -> bool {
    match store {
        Store::Sqlite => !point.starts_with("postgres.") && point != "migrate.table_made",
        Store::Postgres => !point.starts_with("sqlite."),
    }
}

fn note(name: &str) -> Value {
    json!({"tool": "demo__note", "args": {"text": name}})
}

impl Scene {
    /// The point at which the worker is held first, so that the scene can be set.
    pub(super) const fn held_before(self) -> Option<&'static str> {
        match self {
            Self::RecoverProof => Some("turn.buried"),
            Self::Verify | Self::Hold | Self::TakeIn | Self::RecoverHeld => Some("bridge.answer_read"),
            Self::Init
            | Self::Keys
            | Self::Submit
            | Self::Approve
            | Self::Resume
            | Self::Work
            | Self::Leave
            | Self::AsTask
            | Self::Ask
            | Self::Artifact
            | Self::Stop
            | Self::Lost
            | Self::Recover
            | Self::GiveUp
            | Self::Resolve => None,
        }
    }

    /// The instructions; `name` makes each call of each run a different one.
    pub(super) fn instructions(self, name: &str) -> String {
        let named = |what: &str| format!("{what} {name}");
        let steps = match self {
            Self::Init
            | Self::Keys
            | Self::Submit
            | Self::Approve
            | Self::Resume
            | Self::Work
            | Self::GiveUp => json!([
                {"tool": "demo__nothing", "args": {}, "unlisted": true},
                note(&named("first")),
                {"tool": "demo__echo", "args": {"text": named("echo")}},
                {"tools": [
                    {"tool": "demo__slow", "args": {"seconds": 0.1, "key": named("slow")}},
                    note(&named("second")),
                ]},
                {"tool": "demo__fail", "args": {"text": named("fail")}},
                {"tool": "agent_mate__report", "args": {"status": "done", "summary": named("all")}},
                {"text": "done"},
            ]),
            // The one tool of the scene that asks.
            Self::Leave => json!([
                note(&named("first")),
                {"tool": "demo__slow", "args": {"seconds": 0.1, "key": named("slow")}},
                {"text": "done"},
            ]),
            Self::AsTask => json!([
                note(&named("first")),
                {"tool": "demo__job", "args": {"seconds": 0.2, "key": named("job")}},
                {"text": "done"},
            ]),
            Self::Ask => json!([
                note(&named("first")),
                {"tool": "demo__confirm", "args": {"text": named("sure")}},
                {"text": "done"},
            ]),
            Self::Artifact => json!([
                note(&named("first")),
                {"tool": "demo__big", "args": {"bytes": 70_000}},
                {"text": "done"},
            ]),
            Self::Stop => json!([note(&named("first")), {"text": "waiting"}, {"hang": true}]),
            Self::Lost => json!([
                note(&named("first")),
                {"tool": "demo__slow", "args": {"seconds": 0.8, "key": named("slow")}},
            ]),
            Self::Verify | Self::Hold | Self::TakeIn | Self::RecoverHeld => {
                json!([note(&named("first")), {"text": "done"}])
            }
            Self::Recover | Self::Resolve => json!([
                note(&named("first")),
                {"tool": "demo__slow", "args": {"seconds": 60, "key": named("slow")}},
            ]),
            Self::RecoverProof => json!([note(&named("first")), {"text": "gone", "exit": 3}]),
        };
        stub(&steps)
    }
}

/// A task that loses its runtime.
pub(super) fn cut_short(name: &str) -> String {
    stub(&json!([note(&format!("before {name}")), {"text": "gone", "exit": 3}]))
}

/// What shows that a session can be used again.
pub(super) fn encore(name: &str) -> String {
    stub(&json!([note(&format!("encore {name}")), {"text": "done"}]))
}
