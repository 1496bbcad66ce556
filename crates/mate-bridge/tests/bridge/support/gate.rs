//! A gate that admits and writes down what it is told; a clock and ids that only count.

use async_trait::async_trait;
use mate_bridge::{Admission, Answering, Call, Gate, Named, Outcome, Receipt, Settled, Ticket};
use mate_model::{Clock, Entropy, Micros};
use serde_json::value::RawValue;
use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};
use uuid::Uuid;

#[derive(Debug, Default)]
pub(crate) struct Ticks(AtomicU64);

impl Clock for Ticks {
    fn now(&self) -> Micros {
        Micros(1_700_000_000_000_000 + self.monotonic())
    }
    fn monotonic(&self) -> i64 {
        i64::try_from(self.0.fetch_add(1, Ordering::Relaxed)).unwrap()
    }
}

impl Entropy for Ticks {
    fn uuid(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::Relaxed)))
    }
    fn secret(&self) -> [u8; 32] {
        let mut bytes = [7; 32];
        bytes[..8].copy_from_slice(&self.0.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        bytes
    }
}

/// Admits everything that is not in `denied` and keeps a record of all it hears.
#[derive(Default)]
pub(crate) struct Notes {
    next: AtomicU64,
    pub(crate) denied: Mutex<HashSet<String>>,
    pub(crate) unrecordable: Mutex<bool>,
    pub(crate) settled: Mutex<Vec<(String, Settled)>>,
    pub(crate) refused: Mutex<Vec<String>>,
    pub(crate) delivered: Arc<Mutex<Vec<String>>>,
    /// Answers that cannot reach their caller any more.
    pub(crate) undelivered: Arc<AtomicU64>,
    /// Questions of tasks that were answered, with their operations.
    pub(crate) answered: Mutex<Vec<(String, String)>>,
    /// What equal calls are told meanwhile, by operation.
    pub(crate) meanwhile: Mutex<Vec<(String, Option<String>)>>,
    /// No call is taken for a further round.
    pub(crate) knows_no_question: Mutex<bool>,
    /// Why no answer is let out.
    pub(crate) bars: Mutex<Option<String>>,
    pub(crate) upstream_tasks: Mutex<Vec<(String, String)>>,
    pub(crate) late: Mutex<Vec<(String, Outcome)>>,
    pub(crate) reports: Mutex<Vec<String>>,
    pub(crate) diagnostics: Mutex<Vec<String>>,
    pub(crate) call_ids: Mutex<Vec<Option<String>>>,
    pub(crate) continues: Mutex<Vec<Option<String>>>,
    pub(crate) listed: AtomicU64,
    /// What no text that is shown may hold.
    pub(crate) secret: Mutex<Option<String>>,
}

/// Counts when it is dropped unheard.
struct Undelivered {
    count: Arc<AtomicU64>,
    heard: bool,
}

impl Undelivered {
    fn heard(mut self) {
        self.heard = true;
    }
}

impl Drop for Undelivered {
    fn drop(&mut self) {
        self.count.fetch_add(u64::from(!self.heard), Ordering::Relaxed);
    }
}

#[async_trait]
impl Gate for Notes {
    fn granted(&self, _: &str, tool: &str, _: &Arc<RawValue>) -> bool {
        !self.denied.lock().unwrap().contains(tool)
    }
    fn connection_granted(&self, connection: &str) -> bool {
        !self.denied.lock().unwrap().contains(connection)
    }
    async fn admit(&self, call: &Call) -> Admission {
        self.call_ids.lock().unwrap().push(call.runtime_call_id.clone());
        let continues = call.continues.as_ref().map(|state| state.get().to_owned());
        let further = continues.is_some();
        self.continues.lock().unwrap().push(continues);
        if further && *self.knows_no_question.lock().unwrap() {
            let text = "this answer belongs to no question that is open here".to_owned();
            return Admission::Refuse { text, receipt: Receipt::none() };
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        call.progress.say("admitted");
        Admission::Send(Ticket {
            operation: format!("op_{number}"),
            idempotency_key: format!("key_{number}"),
            traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(),
            payload: Box::new(number),
        })
    }
    async fn refused(&self, call: &Call, why: &str) -> Option<String> {
        self.refused.lock().unwrap().push(format!("{}: {why}", call.tool));
        None
    }
    async fn settle(&self, ticket: Ticket, settled: Settled) -> Result<Receipt, String> {
        assert!(ticket.payload.downcast::<u64>().is_ok(), "the gate gets its own payload back");
        if *self.unrecordable.lock().unwrap() {
            return Err("the disk is full".into());
        }
        self.settled.lock().unwrap().push((ticket.operation.clone(), settled));
        let delivered = Arc::clone(&self.delivered);
        let undelivered = Undelivered { count: Arc::clone(&self.undelivered), heard: false };
        Ok(Receipt::new(move || {
            undelivered.heard();
            delivered.lock().unwrap().push(ticket.operation);
        }))
    }
    async fn upstream_task(&self, operation: &str, id: &str) -> Result<Named, String> {
        let mut known = self.upstream_tasks.lock().unwrap();
        if known.iter().any(|(other, known)| known == id && other != operation) {
            return Ok(Named::AnotherCalls);
        }
        known.push((operation.into(), id.into()));
        Ok(Named::Noted)
    }
    fn is_call(&self, _: &str, call: &Call) -> bool {
        // The record's comparison is the engine's; here every call has these arguments.
        call.arguments.get() == r#"{"a":1}"#
    }
    fn meanwhile(&self, operation: &str, result: Option<&RawValue>) {
        let told = (operation.to_owned(), result.map(|result| result.get().to_owned()));
        self.meanwhile.lock().unwrap().push(told);
    }
    async fn answer(&self, operation: &str, _: &Call, keys: &[String]) -> Answering {
        if let Some(why) = self.bars.lock().unwrap().clone() {
            return Answering::Refuse { text: why };
        }
        let mut all = self.answered.lock().unwrap();
        let before = |key: &String| all.iter().any(|(of, known)| of == operation && known == key);
        let fresh: Vec<String> = keys.iter().filter(|key| !before(key)).cloned().collect();
        if fresh.is_empty() && !keys.is_empty() {
            return Answering::Before;
        }
        all.extend(fresh.iter().map(|key| (operation.to_owned(), key.clone())));
        let ticket = Ticket {
            operation: operation.into(),
            idempotency_key: operation.into(),
            traceparent: String::new(),
            payload: Box::new(()),
        };
        Answering::Send { ticket, keys: fresh }
    }
    async fn late(&self, operation: &str, outcome: Outcome) {
        self.late.lock().unwrap().push((operation.into(), outcome));
    }
    async fn report(&self, arguments: &RawValue) -> Result<String, String> {
        self.reports.lock().unwrap().push(arguments.get().into());
        Ok("Noted.".into())
    }
    fn listed(&self) {
        self.listed.fetch_add(1, Ordering::Relaxed);
    }
    fn shown(&self, text: &str, characters: usize) -> String {
        let text = match &*self.secret.lock().unwrap() {
            Some(secret) => text.replace(secret, "[redacted]"),
            None => text.to_owned(),
        };
        text.chars().take(characters).collect()
    }
    fn diagnostic(&self, connection: Option<&str>, text: &str) {
        self.diagnostics.lock().unwrap().push(format!("{}: {text}", connection.unwrap_or("-")));
    }
}

impl Notes {
    /// The outcomes so far, in words: `answered`, `error`, `rpc_error`, `not_sent`, `unknown`.
    pub(crate) fn outcomes(&self) -> Vec<&'static str> {
        self.settled
            .lock()
            .unwrap()
            .iter()
            .map(|(_, settled)| match settled.outcome {
                Outcome::Answered { is_error: false, .. } => "answered",
                Outcome::Answered { is_error: true, .. } => "error",
                Outcome::InputRequired { .. } => "input_required",
                Outcome::RpcError { .. } => "rpc_error",
                Outcome::NotSent { .. } => "not_sent",
                Outcome::Unknown { .. } => "unknown",
            })
            .collect()
    }
}
