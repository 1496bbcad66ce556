//! Verification: the session's worker asks an upstream, for its own record of a call or by the connection's recipe,
//! whether an unknown call has happened. What it proves is evidence like any other ([`Engine::take_evidence`]).
//!
//! A look only reads, and is judged like a call: granted to the project now, written down before it is sent, and
//! judged once more after that. It is never an effect, so that it may be taken again.

mod ask;
mod leave;
mod plan;
mod put_off;
mod want;

use crate::{Engine, EngineError};
use async_trait::async_trait;
use leave::Leave;
use mate_model::{
    ConnectionId, Micros,
    event::{Draft, EventType},
    operation::{Evidence, Verdict},
    record::{Proof, Record},
    records::Session,
    resolution::Finding,
    verification::{Answer, Look, Said, pause_after},
    words::EvidenceKind,
};
use mate_store::{JournalReader, Verification};
use plan::{Plan, Planned, Way};
use serde_json::{Map, Value, json};

/// Asks an upstream. Implemented by the session's worker with its bridge.
#[async_trait]
pub trait Looker: Send + Sync {
    /// Whether the upstream says of its tool that it only reads.
    ///
    /// # Errors
    /// Why that cannot be found out, in words that are redacted.
    async fn says_read_only(&self, connection: ConnectionId, tool: &str) -> Result<bool, String>;

    /// Calls a tool that only reads; bounded. Gives the text of the `result` member.
    ///
    /// # Errors
    /// Why there is no result, in words that are redacted.
    async fn look(
        &self,
        connection: ConnectionId,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<String, String>;

    /// Reads the upstream's own record of a call that it carries out as a task; bounded. `id` is what the upstream
    /// calls the task.
    ///
    /// # Errors
    /// Why there is no record, in words that are redacted.
    async fn record(&self, connection: ConnectionId, id: &str) -> Result<Record, String>;
}

impl Engine {
    /// Takes a look that is due, and takes in what it proves; says what it came to, if there was still something to
    /// look for. One that fails counts as well, and the next one comes in its time.
    ///
    /// # Errors
    /// The stores', when not even that can be written.
    pub async fn verify(
        &self,
        reader: &JournalReader,
        session: &Session,
        look: &Verification,
        looker: &dyn Looker,
    ) -> Result<Option<Look>, EngineError> {
        match self.look(reader, session, look, looker).await {
            Ok(said) => Ok(said),
            Err(error) => self.put_off(session, look, &error).await,
        }
    }

    async fn look(
        &self,
        reader: &JournalReader,
        session: &Session,
        look: &Verification,
        looker: &dyn Looker,
    ) -> Result<Option<Look>, EngineError> {
        self.ledger.observe_time(self.clock.now()).await?;
        let plan = match self.plan(reader, look).await? {
            Planned::Nothing => {
                self.ledger.end_looks(look.operation).await?;
                return Ok(None);
            }
            Planned::Impossible(said) => return self.not_asked(session, look, None, said).await,
            Planned::Ask(plan) => *plan,
        };
        let next = pause_after(look.tries + 1).map(|pause| self.clock.now().plus_seconds(pause));
        let leave = match self.leave_to_look(session.project, &plan, looker).await? {
            Ok(leave) => leave,
            Err(why) => {
                let said = plan.way.said(Look::CannotTell, &format!("not asked: {why}"));
                return self.not_asked(session, look, next, said).await;
            }
        };
        let asked_at = self.clock.now();
        let draft = look_draft(EventType::OperationLookAdmitted, look, &plan, &leave, asked_at);
        if !self.ledger.take_look(session, look, next, draft).await? {
            return Ok(None);
        }
        mate_fault::point_async!("verify.look_admitted");
        let look = Verification { tries: look.tries + 1, due_at: next, ..*look };
        let said = match self.still_allowed(session.project, &plan, &leave, looker).await? {
            Err(why) => plan.way.said(Look::CannotTell, &format!("not asked: {why}")),
            Ok(()) => self.asked(&plan, asked_at, looker).await,
        };
        mate_fault::point_async!("verify.answered");
        self.conclude_look(reader, session, &look, &plan, said).await
    }

    async fn asked(&self, plan: &Plan, asked_at: Micros, looker: &dyn Looker) -> Said {
        let recipe = match &plan.way {
            Way::Record { id, .. } => {
                let (look, why) = match looker.record(plan.connection.id, id).await {
                    Err(why) => (Look::CannotTell, format!("no record: {why}")),
                    Ok(record) => weigh(&record),
                };
                return plan.way.said(look, &why);
            }
            Way::Recipe(recipe) => recipe,
        };
        match looker.look(plan.connection.id, &recipe.ask, &recipe.arguments).await {
            Err(why) => recipe.said(Look::CannotTell, &format!("no answer: {why}")),
            Ok(result) => match Answer::read(&result) {
                Err(why) => recipe.said(Look::CannotTell, &why.to_string()),
                Ok(answer) => recipe.weigh(&answer, asked_at.since(plan.given_up) / 1_000_000),
            },
        }
    }

    async fn conclude_look(
        &self,
        reader: &JournalReader,
        session: &Session,
        look: &Verification,
        plan: &Plan,
        said: Said,
    ) -> Result<Option<Look>, EngineError> {
        let now = self.clock.now();
        let (verdict, next) = match said.look {
            // Due until the evidence is in: whoever writes this may die before that.
            Look::Happened => (Some(Verdict::Succeeded), Some(Some(now))),
            Look::DidNotHappen | Look::Failed => (Some(Verdict::Failed), Some(Some(now))),
            Look::TooEarly => (None, look.due_at.map(|_| Some(plan.counts_from()))),
            Look::CannotTell | Look::Working => (None, None),
        };
        let draft = verified(look, &said, look.tries, now);
        self.ledger.note_look(session, look, next, draft).await?;
        mate_fault::point_async!("verify.recorded");
        if let Some(verdict) = verdict {
            let kind = match plan.way {
                Way::Record { .. } => EvidenceKind::UpstreamRecord,
                Way::Recipe(_) => EvidenceKind::Verification,
            };
            let evidence = Evidence::of(kind, said.why);
            let finding = Finding { verdict, evidence, proof: None, permit_repeat: false };
            self.take_evidence(reader, look.operation, &finding).await?;
            self.ledger.end_looks(look.operation).await?;
        }
        Ok(Some(said.look))
    }

    /// Writes that nothing was asked, and why. It counts as a look.
    async fn not_asked(
        &self,
        session: &Session,
        look: &Verification,
        next: Option<Micros>,
        said: Said,
    ) -> Result<Option<Look>, EngineError> {
        let draft = verified(look, &said, look.tries + 1, self.clock.now());
        let taken = self.ledger.take_look(session, look, next, draft).await?;
        Ok(taken.then_some(said.look))
    }
}

/// What a record says of its call.
fn weigh(record: &Record) -> (Look, String) {
    let status = record.status;
    match record.proves() {
        Proof::Succeeded => (Look::Happened, format!("it says {status}, with its result")),
        Proof::Failed => (Look::Failed, format!("it says {status}")),
        Proof::NotYet => (Look::Working, format!("it says {status}")),
        Proof::Nothing => {
            (Look::CannotTell, format!("it says {status}, and there is no result that goes with it"))
        }
    }
}

fn look_draft(kind: EventType, look: &Verification, plan: &Plan, leave: &Leave, at: Micros) -> Draft {
    let data = match &plan.way {
        Way::Record { shown, .. } => json!({
            "operation": look.operation,
            "try": look.tries + 1,
            "connection": plan.connection.name,
            "upstream_task": shown,
            "grant": leave.grant,
        }),
        Way::Recipe(recipe) => json!({
            "operation": look.operation,
            "try": look.tries + 1,
            "connection": plan.connection.name,
            "tool": recipe.ask,
            "arguments": recipe.arguments,
            "grant": leave.grant,
        }),
    };
    Draft { kind, task: Some(look.task), turn: None, at, data }
}

fn verified(look: &Verification, said: &Said, number: i64, at: Micros) -> Draft {
    let data =
        json!({ "operation": look.operation, "try": number, "verdict": said.look, "detail": said.why });
    Draft { kind: EventType::OperationVerified, task: Some(look.task), turn: None, at, data }
}
