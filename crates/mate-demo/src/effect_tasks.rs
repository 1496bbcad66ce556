//! Calls that the effect server carries out as tasks, and its records of them; they survive the server in a file, if it
//! has one.

use crate::{effect::Server, effect_tools};
use mate_model::{Clock, Micros};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::Write as _,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::watch;

/// How long a client is asked to wait between two questions, in milliseconds.
const POLL_MS: u64 = 100;

/// One call's record.
#[derive(Clone, Serialize, Deserialize)]
struct Record {
    status: String,
    created_at: i64,
    updated_at: i64,
    /// What the call answered with: a result, or an error.
    answer: Option<Result<Value, Value>>,
}

/// All records.
pub(crate) struct Tasks {
    file: Option<PathBuf>,
    clock: Arc<dyn Clock>,
    records: Mutex<BTreeMap<String, Record>>,
    running: Mutex<BTreeMap<String, watch::Sender<bool>>>,
    changed: watch::Sender<u64>,
}

fn unknown(id: &str) -> Value {
    json!({ "code": -32602, "message": format!("there is no task {id}") })
}

impl Record {
    fn is_over(&self) -> bool {
        self.status != "working"
    }

    fn shown(&self, id: &str) -> Value {
        let time = |at| jiff::Timestamp::from_microsecond(at).map(|at| at.to_string()).unwrap_or_default();
        json!({
            "taskId": id, "status": self.status, "ttl": null, "pollInterval": POLL_MS,
            "createdAt": time(self.created_at), "lastUpdatedAt": time(self.updated_at),
        })
    }
}

impl Tasks {
    /// The records of the file, if there is one. What was at work when the server before ended was not done.
    pub(crate) fn open(file: Option<PathBuf>, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let text = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        let mut records: BTreeMap<String, Record> = match text {
            Some(text) => serde_json::from_str(&text).map_err(|error| error.to_string())?,
            None => BTreeMap::new(),
        };
        for record in records.values_mut().filter(|record| !record.is_over()) {
            "failed".clone_into(&mut record.status);
            let message = "the server ended before it was done";
            record.answer = Some(Err(json!({ "code": -32000, "message": message })));
        }
        let (records, running, changed) = (Mutex::new(records), Mutex::default(), watch::Sender::new(0));
        Ok(Self { file, clock, records, running, changed })
    }

    fn records<T>(&self, look: impl FnOnce(&mut BTreeMap<String, Record>) -> T) -> T {
        look(&mut self.records.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn running<T>(&self, look: impl FnOnce(&mut BTreeMap<String, watch::Sender<bool>>) -> T) -> T {
        look(&mut self.running.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the records, and has them in the file before anybody hears of it. A record that is lost must not go
    /// unseen: a failure ends the process.
    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Record>, Micros)) {
        let kept = self.records(|records| {
            change(records, self.clock.now());
            let Some(file) = &self.file else { return Ok(()) };
            let draft = file.with_extension("draft");
            let mut written = std::fs::File::create(&draft)?;
            written.write_all(&serde_json::to_vec(records)?)?;
            written.sync_all()?;
            std::fs::rename(draft, file)
        });
        if let Err(error) = kept {
            eprintln!("effect server: its tasks cannot be written: {error}");
            std::process::exit(1);
        }
        self.changed.send_modify(|count| *count += 1);
    }

    /// Answers a method of tasks; none: it is another one.
    pub(crate) async fn answer(&self, method: &str, params: &Value) -> Option<Result<Value, Value>> {
        let id = params["taskId"].as_str().unwrap_or_default();
        Some(match method {
            "tasks/get" => self.shown(id),
            "tasks/result" => self.result(id).await,
            "tasks/cancel" => self.cancel(id).await,
            _ => return None,
        })
    }

    fn shown(&self, id: &str) -> Result<Value, Value> {
        self.records(|records| records.get(id).map(|record| record.shown(id))).ok_or_else(|| unknown(id))
    }

    async fn until_over(&self, id: &str) -> Result<Record, Value> {
        let mut changed = self.changed.subscribe();
        loop {
            changed.borrow_and_update();
            let record = self.records(|records| records.get(id).cloned()).ok_or_else(|| unknown(id))?;
            if record.is_over() || changed.changed().await.is_err() {
                return Ok(record);
            }
        }
    }

    async fn result(&self, id: &str) -> Result<Value, Value> {
        let mut answer = self.until_over(id).await?.answer.unwrap_or_else(|| Err(unknown(id)))?;
        answer["_meta"] = json!({ "io.modelcontextprotocol/related-task": { "taskId": id } });
        Ok(answer)
    }

    async fn cancel(&self, id: &str) -> Result<Value, Value> {
        let Some(running) = self.running(|running| running.get(id).cloned()) else {
            let over =
                json!({ "code": -32602, "message": format!("the task {id} is over, or was never there") });
            return Err(over);
        };
        running.send_replace(true);
        self.until_over(id).await?;
        self.shown(id)
    }
}

/// Begins a call as a task; what the client is told at once.
pub(crate) fn begin(server: &Arc<Server>, request: &Value, params: &Value) -> Value {
    let tasks = &server.tasks;
    let (cancel, cancelled) = watch::channel(false);
    let mut id = String::new();
    tasks.change(|records, now| {
        id = format!("task-{}-{}", now.0, records.len());
        let (status, answer) = ("working".to_owned(), None);
        records.insert(id.clone(), Record { status, created_at: now.0, updated_at: now.0, answer });
    });
    tasks.running(|running| running.insert(id.clone(), cancel));
    let made = json!({ "task": tasks.shown(&id).unwrap_or_default() });
    let (server, request, params) = (Arc::clone(server), request.clone(), params.clone());
    tokio::spawn(async move {
        let answer = effect_tools::call(&server, &request, &params, cancelled).await;
        let status = match &answer {
            None => "cancelled",
            Some(Ok(result)) if result["isError"] != true => "completed",
            Some(Ok(_) | Err(_)) => "failed",
        };
        let aborted = || Err(json!({ "code": -32000, "message": "it was called off" }));
        server.tasks.running(|running| running.remove(&id));
        server.tasks.change(|records, now| {
            if let Some(record) = records.get_mut(&id) {
                status.clone_into(&mut record.status);
                record.updated_at = now.0;
                record.answer = Some(answer.unwrap_or_else(aborted));
            }
        });
    });
    made
}
