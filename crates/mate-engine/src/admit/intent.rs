//! From a request to a permit: judge, commit the intent, read again.

use super::{
    Admission, Admitted, CurrentTurn, Go,
    asking::{AskKey, Judged, Leave},
    decided::Decided,
    deny::next_step,
    replay::{Passage, Way, too_long},
    request::{Imprint, Request, fields_of},
    standing::{Allowed, Asked, Barred, Standing},
    twins::{TwinGuard, TwinKey},
};
use crate::{EngineError, spill::Slot};
use mate_model::{
    ConnectionId, GrantId, Micros, OperationId,
    event::{Draft, EventType},
    operation::{OperationCommand, OperationState, Permit},
    records::{Connection, Grant, Operation},
    words::{DenyReason, EffectClass},
};
use mate_store::Change;
use serde_json::{Value, json};

/// What the replay guard leaves of a call.
pub(super) enum Passed {
    /// It may go out, on this way.
    Free(Way),
    /// It does not, and this is its answer.
    Answered(Admitted),
}

/// What was intended, as it was judged and asked under.
pub(super) struct Intended<'a> {
    pub(super) operation: OperationId,
    pub(super) turn: CurrentTurn,
    pub(super) leave: Leave,
    /// The grant, and what it makes of the call.
    pub(super) terms: (GrantId, EffectClass),
    /// What decided at the first read.
    pub(super) first: &'a Value,
}

impl Admission {
    /// Judges a call. Every refusal is recorded as an operation with its reason.
    pub async fn admit(&self, request: &Request<'_>) -> Admitted {
        match self.try_admit(request).await {
            Ok(admitted) => admitted,
            Err(error) => {
                tracing::warn!(%error, "a call could not be judged or recorded");
                Admitted::Refused(format!(
                    "Agent Mate cannot record calls at the moment ({error}). The call was NOT made. \
                     Try again in a little while, or report that you are blocked."
                ))
            }
        }
    }

    async fn try_admit(&self, request: &Request<'_>) -> Result<Admitted, EngineError> {
        let requested_at = self.now();
        let Some(turn) = self.current() else {
            // Without a turn there is no task to record it under.
            return Ok(Admitted::Refused(
                "No task is running in this session. The call was NOT made.".to_owned(),
            ));
        };
        if !self.has_begun() {
            return self.too_early(request, turn, requested_at).await;
        }
        let standing = match self.look(turn).await? {
            Ok(standing) => standing,
            Err((reason, why)) => return self.deny(request, turn, requested_at, None, reason, &why).await,
        };
        if let Some(why) = self.unnameable(request) {
            return self.deny(request, turn, requested_at, None, DenyReason::UnknownTool, why).await;
        }
        let Some(connection) = request.connection else {
            let why = format!("no tool named `{}` is granted to this task", request.tool);
            return self.deny(request, turn, requested_at, None, DenyReason::UnknownTool, &why).await;
        };
        self.pin_one(&standing, connection, request.tool, request.definition).await?;
        let allowed = match self.judge(&standing, request, connection) {
            Ok(allowed) => allowed,
            Err(barred) => return self.deny_barred(request, turn, requested_at, barred).await,
        };
        let class = class_of(allowed.grant, allowed.connection, request.says_read_only);
        let imprint = self.imprint(request, Some(allowed.connection));
        // As they will stand on record: what is compared later is what is written.
        let key = TwinKey {
            connection: self.clean(request.connection_name),
            tool: self.clean(request.tool),
            digest: imprint.digest.clone(),
        };
        if let Some(state) = request.continues {
            let further =
                self.further_round(request, (turn, requested_at), (&allowed, class), state, &key).await?;
            if let Some(admitted) = further {
                return Ok(admitted);
            }
        }
        if class != EffectClass::Read
            && let Some((operation, open)) = self.open_question(&key, turn)
        {
            let Some(result) = open else {
                let (reason, why) = (DenyReason::MayHaveHappened, too_long(operation));
                return self.deny(request, turn, requested_at, Some(&allowed), reason, &why).await;
            };
            return Ok(Admitted::Asked { operation, result });
        }
        let waits = self.asks.has(&AskKey::Call(key.clone()));
        let leave = if waits { None } else { self.leave(turn, &allowed, request.tool).await? };
        let Some(leave) = leave else {
            let judged = Judged { turn, allowed: &allowed, requested_at, class, key };
            return self.with_leave(request, &judged).await;
        };
        let way = match self.pass(request, turn, requested_at, &allowed, class, &key).await? {
            Passed::Free(way) => way,
            Passed::Answered(answered) => return Ok(answered),
        };
        let _open = self.gate.read().await;
        if self.current() != Some(turn) {
            let why = "the turn is over";
            return self.deny(request, turn, requested_at, Some(&allowed), DenyReason::NoTurn, why).await;
        }
        if request.is_gone() {
            let why = "nobody waits for the answer any more";
            return self.deny(request, turn, requested_at, Some(&allowed), DenyReason::CallerGone, why).await;
        }
        let Some(slot) = self.spill.reserve() else {
            let why = "too many calls of this session are in flight, or their outcomes are not recorded yet";
            let reason = DenyReason::NotRecordable;
            return self.deny(request, turn, requested_at, Some(&allowed), reason, why).await;
        };
        // A clock that was set back would put the call before what is known: nothing new until it is right.
        self.engine.ledger.observe_time(self.now()).await?;
        mate_fault::point_async!("admit.observed");
        if let Err(limited) = self.reserve_limits(request, allowed.grant).await? {
            return self.deny_limited(request, turn, requested_at, &allowed, limited).await;
        }
        mate_fault::point_async!("admit.reserved");
        let trace = self.engine.entropy.uuid().simple().to_string();
        let (call, intended_at) = (key, self.now());
        let operation =
            self.operation(request, turn, requested_at, Some(&allowed), class, imprint, trace.clone());
        if let Err((reason, why)) = self.take_leave_of(&way, operation.id).await? {
            return self.deny(request, turn, requested_at, Some(&allowed), reason, &why).await;
        }
        let Way { twin, repeats, key, settles, .. } = way;
        let mut operation = Operation { repeats, ..operation };
        if let Leave::Permission(id) = leave {
            operation.decision["permission"] = json!(id);
        }
        let decision = operation.decision.clone();
        let (permit, slot) = self.commit_intent(operation, slot).await?;
        let twin = twin.map(TwinGuard::intended);
        mate_fault::point_async!("admit.intended");
        let key = key.unwrap_or(permit.operation());
        let go = Go {
            permit,
            class,
            grant: allowed.grant.id,
            turn,
            call,
            round: 1,
            intended_at,
            twin,
            slot,
            settles,
            key,
            trace,
            leave,
            decision,
        };
        self.second_read(request, go).await
    }

    /// The replay guard's word on a call: the way on which it may go out, or the answer that it gets.
    pub(super) async fn pass(
        &self,
        request: &Request<'_>,
        turn: CurrentTurn,
        requested_at: Micros,
        allowed: &Allowed<'_>,
        class: EffectClass,
        key: &TwinKey,
    ) -> Result<Passed, EngineError> {
        Ok(Passed::Answered(match self.guard_replay(request, turn, class, key).await? {
            Passage::Free(way) => return Ok(Passed::Free(way)),
            Passage::Refused(reason, why) => {
                self.deny(request, turn, requested_at, Some(allowed), reason, &why).await?
            }
            Passage::Told { why, receipt } => {
                let reason = DenyReason::HasHappened;
                self.deny(request, turn, requested_at, Some(allowed), reason, &why).await?.with(receipt)
            }
            Passage::Stored { operation, result, receipt } => {
                self.redeliver(request, turn, operation).await?;
                Admitted::Stored { operation, result, receipt }
            }
            Passage::Asked { operation, result } => {
                self.ask_again(request, turn, requested_at, (operation, result)).await?
            }
        }))
    }

    /// Takes the one leave to repeat what may have happened, where the way needs one.
    pub(super) async fn take_leave_of(
        &self,
        way: &Way,
        by: OperationId,
    ) -> Result<Result<(), (DenyReason, String)>, EngineError> {
        let Some(of) = way.repeats.filter(|_| way.by_leave) else { return Ok(Ok(())) };
        if self.take_leave(of, by).await? {
            return Ok(Ok(()));
        }
        let why = format!(
            "an identical call ({of}) may already have happened, and it is not repeated; the one repeat that was \
             allowed has been made"
        );
        Ok(Err((DenyReason::MayHaveHappened, why)))
    }

    /// A further round of a call: the same operation, with an intent and a second read of its own. None: the call names no
    /// question, and none is open that it could answer: it is a call like any other.
    async fn further_round(
        &self,
        request: &Request<'_>,
        (turn, requested_at): (CurrentTurn, Micros),
        (allowed, class): (&Allowed<'_>, EffectClass),
        state: &str,
        call: &TwinKey,
    ) -> Result<Option<Admitted>, EngineError> {
        let open = self.gate.read().await;
        if self.current() == Some(turn) && !request.is_gone() {
            self.engine.ledger.observe_time(self.now()).await?;
            if let Some(admitted) = self.continue_round(request, state, turn, call.clone()).await? {
                return Ok(Some(admitted));
            }
        }
        drop(open);
        if let Some(before) = self.questions.was_answered(&self.question(state, call), call, turn) {
            let (when, how) = ((turn, requested_at), (allowed, class));
            return self.round_again(request, when, how, call, before).await.map(Some);
        }
        if state == "null" {
            return Ok(None);
        }
        let why = "this answer belongs to no question that is open here";
        self.deny(request, turn, requested_at, Some(allowed), DenyReason::BadArguments, why).await.map(Some)
    }

    /// Judges a call by a standing.
    pub(super) fn judge<'a>(
        &self,
        standing: &'a Standing,
        request: &Request<'_>,
        connection: ConnectionId,
    ) -> Result<Allowed<'a>, Barred> {
        let shown = standing.fields(connection).map_or_else(Vec::new, |fields| request.shown(fields));
        let asked = Asked {
            definition: Some(request.definition),
            connection,
            tool: request.tool,
            says_read_only: request.says_read_only,
            counts: true,
            shown: &shown,
        };
        standing.judge(&asked, self.now())
    }

    /// Records what the second read decided, where that is something else than the first.
    async fn note_second(
        &self,
        operation: OperationId,
        first: &Value,
        second: &Decided,
    ) -> Result<(), EngineError> {
        let Some(decision) = second.beside(first) else { return Ok(()) };
        self.journal.write(vec![Change::Decide { operation, decision }]).await?;
        Ok(())
    }

    /// A fresh look, after an intent is durable: whether what was intended may go out.
    pub(super) async fn read_again(
        &self,
        request: &Request<'_>,
        intended: &Intended<'_>,
    ) -> Result<(), (DenyReason, String)> {
        let Intended { operation, turn, leave, terms: (grant, class), first } = *intended;
        let standing = self.look(turn).await.map_err(not_recordable)??;
        let Some(connection) = request.connection else {
            return Err((DenyReason::UnknownTool, "the tool is gone".to_owned()));
        };
        match self.judge(&standing, request, connection) {
            Ok(allowed) => {
                self.note_second(operation, first, &allowed.decided).await.map_err(not_recordable)?;
                same_terms(&allowed, request, grant, class)?;
                match self.still_has_leave(turn, &allowed, request.tool, leave).await {
                    Ok(stands) => stands,
                    Err(error) => Err((DenyReason::NotRecordable, error.to_string())),
                }
            }
            Err(barred) => {
                if let Err(error) = self.note_second(operation, first, &barred.decided).await {
                    tracing::warn!(%error, "what the second read decided could not be recorded");
                }
                Err((barred.reason, barred.why))
            }
        }
    }

    /// The moment of admission: a fresh look, after the intent is durable.
    pub(super) async fn second_read(&self, request: &Request<'_>, go: Go) -> Result<Admitted, EngineError> {
        let intended = Intended {
            operation: go.operation(),
            turn: go.turn,
            leave: go.leave,
            terms: (go.grant, go.class),
            first: &go.decision,
        };
        let verdict = self.read_again(request, &intended).await;
        let Err((reason, why)) = verdict else {
            mate_fault::point_async!("admit.admitted");
            return Ok(Admitted::Go(Box::new(go)));
        };
        let (operation, first) = (go.operation(), go.round == 1);
        let detail = format!("{reason}: {why}");
        drop(self.settle(go, super::Ended::not_sent(detail)).await?);
        let made = if first {
            "The call was NOT made"
        } else {
            "The answer was NOT sent, and what became of the call is uncertain"
        };
        Ok(Admitted::Refused(format!("{why}. {made} ({operation}). {}", next_step(reason))))
    }

    async fn commit_intent(&self, operation: Operation, slot: Slot) -> Result<(Permit, Slot), EngineError> {
        let now = self.now();
        let transition = OperationState::Requested
            .decide(operation.class, OperationCommand::Admit, now)
            .map_err(EngineError::from)?;
        let event = self.event(
            EventType::OperationAdmitted,
            &operation,
            now,
            json!({ "grant": operation.grant, "repeats": operation.repeats }),
        );
        let (id, class) = (operation.id, operation.class);
        let turn = CurrentTurn { task: operation.task, turn: operation.turn };
        let operation = Operation { state: transition.to().clone(), admitted_at: Some(now), ..operation };
        let add = Change::AddOperation { operation: Box::new(operation), transition };
        let written = match self.journal.write(vec![add, Change::Event(event)]).await {
            Ok(written) => written,
            Err(error) => {
                if error.maybe_committed() {
                    self.never_sent(id, class, turn, slot).await?;
                }
                return Err(error.into());
            }
        };
        let permit = written.permits.into_iter().find(|permit| permit.operation() == id);
        let permit = permit.ok_or_else(|| {
            EngineError::Internal("the journal gave no permit for a committed intent".to_owned())
        })?;
        Ok((permit, slot))
    }

    pub(super) fn imprint(&self, request: &Request<'_>, connection: Option<&Connection>) -> Imprint {
        let fields =
            connection.map(|connection| connection.settings.allow_fields.as_slice()).unwrap_or_default();
        let allowed = fields_of(fields, request.tool);
        Imprint::of(request, &self.digests, &allowed, &self.redactor)
    }

    #[expect(clippy::too_many_arguments, reason = "each is one column of the record")]
    pub(super) fn operation(
        &self,
        request: &Request<'_>,
        turn: CurrentTurn,
        requested_at: Micros,
        allowed: Option<&Allowed<'_>>,
        class: EffectClass,
        imprint: Imprint,
        trace: String,
    ) -> Operation {
        let cut = |text: &str| self.clean(text);
        Operation {
            id: self.next_id(),
            task: turn.task,
            turn: turn.turn,
            connection: request.connection,
            connection_name: cut(request.connection_name),
            tool: cut(request.tool),
            class,
            grant: allowed.map(|allowed| allowed.grant.id),
            decision: allowed.map_or_else(Decided::by_admission, |allowed| allowed.decided.clone()).record(),
            runtime_call: request.runtime_call.map(cut),
            trace,
            digest: imprint.digest,
            shape: imprint.shape,
            state: OperationState::Requested,
            requested_at,
            admitted_at: None,
            sent_at: None,
            answered_at: None,
            recorded_at: None,
            duration_us: None,
            result_size: None,
            result_type: None,
            repeats: None,
            repeat_permitted: false,
        }
    }

    /// Why a call could not be told from another one on record, if it could not: what makes calls equal, and what leave is
    /// bound to, is what is written of them.
    pub(super) fn unnameable(&self, request: &Request<'_>) -> Option<&'static str> {
        let whole = self.is_nameable(request.tool) && self.is_nameable(request.connection_name);
        (!whole).then_some(
            "the tool's name holds a secret, a NUL character, or more than 200 characters: it cannot be recorded as it is",
        )
    }

    /// Whether a name can be recorded as it is.
    pub(super) fn is_nameable(&self, name: &str) -> bool {
        self.clean(name) == name
    }

    /// A text of the runtime's, fit for a column: redacted, bounded, without NUL.
    pub(super) fn clean(&self, text: &str) -> String {
        self.redactor.redact(text).chars().take(200).map(|c| if c == '\0' { '\u{fffd}' } else { c }).collect()
    }

    pub(super) fn event(&self, kind: EventType, operation: &Operation, at: Micros, more: Value) -> Draft {
        let mut data = json!({
            "operation": operation.id,
            "connection": operation.connection_name,
            "tool": operation.tool,
            "effect": operation.class,
        });
        if let (Some(data), Some(more)) = (data.as_object_mut(), more.as_object()) {
            data.extend(more.clone());
        }
        Draft { kind, task: Some(operation.task), turn: Some(operation.turn), at, data }
    }
}

pub(super) fn other_grant(asked: GrantId, now: GrantId) -> String {
    format!("the call was judged under the grant {asked}, and {now} covers it now")
}

/// Whether the grant that a call was judged or asked under still covers it, and makes the same of it: limits are reserved,
/// and crashes classified, by the grant and class of record.
pub(super) fn same_terms(
    allowed: &Allowed<'_>,
    request: &Request<'_>,
    grant: GrantId,
    class: EffectClass,
) -> Result<(), (DenyReason, String)> {
    if allowed.grant.id != grant {
        return Err((DenyReason::GrantChanged, other_grant(grant, allowed.grant.id)));
    }
    if class_of(allowed.grant, allowed.connection, request.says_read_only) != class {
        let why = "what the call may change is taken for something else now".to_owned();
        return Err((DenyReason::GrantChanged, why));
    }
    Ok(())
}

fn not_recordable(error: EngineError) -> (DenyReason, String) {
    (DenyReason::NotRecordable, error.to_string())
}

/// The grant's word, else the connection's, else the upstream's annotation if it is trusted, else an effect.
pub(crate) fn class_of(grant: &Grant, connection: &Connection, says_read_only: bool) -> EffectClass {
    let settings = &connection.settings;
    grant.effect.or(settings.effect).unwrap_or(if settings.trust_annotations && says_read_only {
        EffectClass::Read
    } else {
        EffectClass::Effect
    })
}
