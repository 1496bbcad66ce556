//! The replay guard: what becomes of a call when equal ones were made before.

use super::{
    Admission, CurrentTurn, Receipt,
    request::Request,
    twins::{TwinGuard, TwinKey},
};
use crate::EngineError;
use mate_model::{
    OperationId,
    event::{Draft, EventType},
    operation::OperationStateWord,
    records::Operation,
    replay::{self, Replay, Uncertain, Unheard},
    words::{DenyReason, EffectClass},
};
use mate_store::{Change, JournalReader};
use serde_json::json;
use std::time::Duration;

/// How long an equal call waits for the one in flight.
const TWIN_WAIT: Duration = Duration::from_secs(120);

/// What the guard says.
#[derive(Debug)]
pub(super) enum Passage {
    /// The call may be made.
    Free(Way),
    /// It is not made.
    Refused(DenyReason, String),
    /// It is not made: the runtime learns what became of the earlier one.
    Told { why: String, receipt: Receipt },
    /// It is not made: the runtime is given the earlier one's result.
    Stored { operation: OperationId, result: String, receipt: Receipt },
    /// It is not made: the upstream has asked a question about the one in flight.
    Asked { operation: OperationId, result: String },
}

/// How a call that may be made goes out.
#[derive(Debug, Default)]
pub(super) struct Way {
    /// The place among equal calls, for the classes that are guarded.
    pub(super) twin: Option<TwinGuard>,
    /// The uncertain operation that it repeats, by leave.
    pub(super) repeats: Option<OperationId>,
    /// A person allowed that repeat, once: the leave is still to be taken.
    pub(super) by_leave: bool,
    /// The idempotency key under which it goes out, where that is an earlier operation's.
    pub(super) key: Option<OperationId>,
    /// The uncertain operations that its success settles: they went out under the same key.
    pub(super) settles: Vec<Operation>,
}

impl Admission {
    /// The rule that a call which may have happened is not made again, and a result that was not heard is not lost.
    pub(super) async fn guard_replay(
        &self,
        request: &Request<'_>,
        turn: CurrentTurn,
        class: EffectClass,
        key: &TwinKey,
    ) -> Result<Passage, EngineError> {
        if class == EffectClass::Read {
            return Ok(Passage::Free(Way::default()));
        }
        let twin = tokio::select! {
            biased;
            twin = tokio::time::timeout(TWIN_WAIT, self.twins.wait(key)) => twin,
            // The one in flight waits for an answer that whoever makes the call again has to give.
            (operation, open) = self.questions.when_open(key, turn) => return Ok(match open {
                Some(result) => Passage::Asked { operation, result },
                None => Passage::Refused(DenyReason::MayHaveHappened, too_long(operation)),
            }),
            () = request.until_gone() => {
                let why = "the caller did not wait for an identical call in flight".to_owned();
                return Ok(Passage::Refused(DenyReason::CallerGone, why));
            }
        };
        let Ok(twin) = twin else {
            let why = "an identical call is still in flight".to_owned();
            return Ok(Passage::Refused(DenyReason::MayHaveHappened, why));
        };
        let found = self.find_equals(request, key).await?;
        Ok(match replay::judge(class, &found.equals) {
            Replay::New => Passage::Free(Way { twin: Some(twin), ..Way::default() }),
            Replay::Repeat { of, same_key } => {
                let by_leave = found.equals.uncertain.is_some_and(|uncertain| uncertain.permitted);
                let settles = match found.uncertain {
                    Some(newest) if same_key => self.engine.under_one_key(&self.reader, newest).await?,
                    Some(_) | None => Vec::new(),
                };
                let key = settles.last().map(|first| first.id);
                Passage::Free(Way { twin: Some(twin), repeats: Some(of), by_leave, key, settles })
            }
            Replay::StoredResult(operation) => Passage::Stored {
                operation,
                result: found.result.unwrap_or_default(),
                receipt: Receipt::of(&self.heard, operation, Some(twin)),
            },
            Replay::HasSucceeded(operation) => Passage::Told {
                why: self.has_succeeded(operation).await?,
                receipt: Receipt::of(&self.heard, operation, Some(twin)),
            },
            Replay::SameCall(operation, state) => {
                let why = same_call(operation, state, found.same.as_ref());
                Passage::Told { why, receipt: Receipt::plain() }
            }
            Replay::MayHaveHappened { operation, repeated } => {
                let again = if repeated { "; the one repeat that was allowed has been made" } else { "" };
                let why = format!(
                    "an identical call ({operation}) may already have happened, and it is not repeated{again}"
                );
                Passage::Refused(DenyReason::MayHaveHappened, why)
            }
        })
    }

    async fn find_equals(&self, request: &Request<'_>, key: &TwinKey) -> Result<Found, EngineError> {
        let call = request.runtime_call.map(|id| self.clean(id));
        let TwinKey { connection, tool, digest } = key;
        let equals = self.reader.equals(connection, tool, digest, call.as_deref()).await?;
        let mut found = Found { same: equals.same, uncertain: equals.uncertain, ..Found::default() };
        if let Some(operation) = equals.unheard.into_iter().find(|operation| !self.heard.has(*operation)) {
            found.result = self.kept(operation).await?;
            found.equals.unheard = Some(Unheard { operation, kept: found.result.is_some() });
        }
        for earlier in &self.earlier {
            let before = earlier.equals(connection, tool, digest, call.as_deref()).await?;
            if found.uncertain.is_none() {
                found.uncertain = before.uncertain;
            }
            if found.same.is_none() {
                found.same = before.same;
            }
            if found.equals.unheard.is_none() {
                // Its result is sealed for that session: that it has succeeded is what can be told.
                let unheard = before.unheard.into_iter().find(|operation| !self.heard.has(*operation));
                found.equals.unheard = unheard.map(|operation| Unheard { operation, kept: false });
            }
        }
        if let Some(operation) = &found.uncertain {
            found.equals.uncertain = Some(Uncertain {
                operation: operation.id,
                permitted: operation.repeat_permitted,
                is_repeat: operation.repeats.is_some(),
                repeated: self.is_repeated(operation.id).await?,
            });
        }
        found.equals.same = found.same.as_ref().map(|same| (same.id, same.state.word()));
        Ok(found)
    }

    /// This session's journal, and those of the sessions that it goes on from.
    pub(super) fn journals(&self) -> impl Iterator<Item = &JournalReader> {
        std::iter::once(&self.reader).chain(&self.earlier)
    }

    /// Takes the one leave to repeat `of`: in the ledger, since another session may go on from the same one. A repeat
    /// that was proved never to have been sent gives it back.
    pub(super) async fn take_leave(&self, of: OperationId, by: OperationId) -> Result<bool, EngineError> {
        let Some(taken) = self.engine.ledger.leave_to_repeat(of).await? else { return Ok(false) };
        if let Some(taken) = taken {
            let taken = self.engine.operation_of(&self.reader, taken).await?;
            if taken.is_none_or(|taken| !was_never_sent(taken.state.word())) {
                return Ok(false);
            }
        }
        Ok(self.engine.ledger.take_leave_to_repeat(of, by, taken).await?)
    }

    /// Records that a result is given to the runtime which it had not heard of.
    pub(super) async fn redeliver(
        &self,
        request: &Request<'_>,
        turn: CurrentTurn,
        operation: OperationId,
    ) -> Result<(), EngineError> {
        let data =
            json!({ "operation": operation, "runtime_call": request.runtime_call.map(|id| self.clean(id)) });
        let (kind, at) = (EventType::OperationRedelivered, self.now());
        let event = Draft { kind, task: Some(turn.task), turn: Some(turn.turn), at, data };
        self.journal.write(vec![Change::Event(event)]).await?;
        Ok(())
    }

    async fn is_repeated(&self, operation: OperationId) -> Result<bool, EngineError> {
        for journal in self.journals() {
            if journal.repeat_of(operation).await?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn has_succeeded(&self, operation: OperationId) -> Result<String, EngineError> {
        let row = self.engine.operation_of(&self.reader, operation).await?;
        let how = row.as_ref().map_or("", |row| super::detail(&row.state)).to_owned();
        Ok(format!("an identical call ({operation}) has succeeded ({how}), and its result is not at hand"))
    }
}

/// Of a call that equals one whose question, or task, is too long to be kept.
pub(super) fn too_long(operation: OperationId) -> String {
    format!(
        "an identical call ({operation}) is in flight, and what its server has said meanwhile is too long to be told again"
    )
}

/// Whether a repeat in this state is proved not to have been sent.
const fn was_never_sent(state: OperationStateWord) -> bool {
    match state {
        OperationStateWord::NotSent
        | OperationStateWord::Denied
        | OperationStateWord::Expired
        | OperationStateWord::Withdrawn => true,
        OperationStateWord::Requested
        | OperationStateWord::AwaitingApproval
        | OperationStateWord::InFlight
        | OperationStateWord::Succeeded
        | OperationStateWord::Failed
        | OperationStateWord::Unknown
        | OperationStateWord::Abandoned => false,
    }
}

/// What is on record.
#[derive(Default)]
struct Found {
    equals: replay::Equals,
    uncertain: Option<Operation>,
    same: Option<Operation>,
    result: Option<String>,
}

fn same_call(operation: OperationId, state: OperationStateWord, row: Option<&Operation>) -> String {
    let how = row.map_or("", |row| super::detail(&row.state));
    format!("this call was made before under the same id ({operation}): it has {state} ({how})")
}
