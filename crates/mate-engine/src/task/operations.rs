//! The operations of a task, read from its session's journal.

use super::authority::Givers;
use crate::{
    Engine, EngineError, Principal, Verb,
    admit::detail,
    artifact::ArtifactView,
    resolve::overlay::Seen,
    spill::{held, may_be_held},
};
use mate_model::{
    AccountId, ConnectionId, GrantId, Micros, OperationId, SessionId, TaskId, TurnId,
    operation::{Evidence, OperationState, OperationStateWord, Verdict},
    resolution::Resolution,
    words::{DenyReason, EffectClass},
};
use serde::Serialize;
use serde_json::Value;

/// When what happened to an operation; microseconds UTC.
#[derive(Clone, Debug, Serialize)]
pub struct Times {
    /// Asked for by the runtime.
    pub requested_at: Micros,
    /// Intent decided.
    pub admitted_at: Option<Micros>,
    /// Handed to the upstream's transport.
    pub sent_at: Option<Micros>,
    /// Answered by the upstream.
    pub answered_at: Option<Micros>,
    /// Outcome written.
    pub recorded_at: Option<Micros>,
}

/// What settled an operation that was unknown; empty for all others.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ResolutionView {
    /// When it was settled.
    pub resolved_at: Option<Micros>,
    /// What was looked at.
    pub proof: Option<String>,
    /// Whoever settled it permits one identical call more.
    pub permit_repeat: Option<bool>,
    /// What evidence says that came later and says otherwise.
    pub contradiction: Option<Contrary>,
    /// When that came.
    pub contradicted_at: Option<Micros>,
    /// When a person took note of it.
    pub acknowledged_at: Option<Micros>,
}

/// Evidence to the contrary as it is shown.
#[derive(Clone, Debug, Serialize)]
pub struct Contrary {
    /// What it comes to.
    #[serde(rename = "as")]
    pub verdict: Verdict,
    /// What it is.
    pub evidence: Evidence,
    /// Who took note of it, if somebody did.
    pub acknowledged_by: Option<AccountId>,
    /// What that person says of it.
    pub acknowledgement: Option<String>,
}

impl From<Resolution> for ResolutionView {
    fn from(row: Resolution) -> Self {
        let contradicted_at = row.contradiction.as_ref().map(|contradiction| contradiction.at);
        let (contradiction, acknowledged_at) = match row.contradiction {
            Some(other) => {
                let (by, reason, at) = match other.acknowledgement {
                    Some(said) => (said.by, Some(said.reason), Some(said.at)),
                    None => (None, None, None),
                };
                let contrary = Contrary {
                    verdict: other.verdict,
                    evidence: other.evidence,
                    acknowledged_by: by,
                    acknowledgement: reason,
                };
                (Some(contrary), at)
            }
            None => (None, None),
        };
        Self {
            resolved_at: Some(row.at),
            proof: row.finding.proof,
            permit_repeat: Some(row.finding.permit_repeat),
            contradiction,
            contradicted_at,
            acknowledged_at,
        }
    }
}

/// An operation as it is shown.
#[derive(Clone, Debug, Serialize)]
pub struct OperationView {
    /// Its id.
    pub id: OperationId,
    /// Its state.
    pub state: OperationStateWord,
    /// Its task.
    pub task: TaskId,
    /// Its turn.
    pub turn: TurnId,
    /// Its session.
    pub session: SessionId,
    /// The connection's id.
    pub connection: Option<ConnectionId>,
    /// The connection's name at that time.
    pub connection_name: String,
    /// The upstream's own tool name.
    pub tool: String,
    /// What the call may change.
    pub effect: EffectClass,
    /// The grant that allowed it.
    pub grant: Option<GrantId>,
    /// Which grant or policy decided, and how.
    pub decision: Value,
    /// By whose leave it went out, or why it was refused, in words. Not in lists.
    pub authority: Option<String>,
    /// The name of the person whose leave it needed and had. Not in lists.
    pub allowed_by: Option<String>,
    /// When that leave was given.
    pub allowed_at: Option<Micros>,
    /// The name of the person who settled it, if one did. Not in lists.
    pub resolved_by: Option<String>,
    /// Why it was denied, if it was.
    pub deny_reason: Option<DenyReason>,
    /// The call has an outcome that the journal cannot take at the moment; it is kept beside it.
    pub held: bool,
    /// What there is to say of its state.
    pub detail: Option<String>,
    /// What proves its outcome.
    pub evidence: Option<Evidence>,
    /// The runtime's own id of the call.
    pub runtime_call: Option<String>,
    /// The W3C trace id.
    pub trace: String,
    /// The keyed digest of the arguments.
    pub digest: String,
    /// The arguments' shape.
    pub arguments: Value,
    /// Its times.
    #[serde(flatten)]
    pub times: Times,
    /// From sent to answered, in microseconds.
    pub duration_us: Option<i64>,
    /// The size of the result in bytes.
    pub result_size: Option<i64>,
    /// What the result is made of.
    pub result_type: Option<String>,
    /// What settled it, if it was unknown.
    #[serde(flatten)]
    pub resolution: ResolutionView,
    /// What the upstream calls the task as which it carries the call out, redacted; none when it makes none of it, or
    /// the name is not known. Not in lists.
    pub upstream_task: Option<String>,
    /// How often the upstream was asked whether it has happened; none when it is not to be asked. Not in lists.
    pub looks: Option<i64>,
    /// What the last of these looks came to, in words.
    pub last_look: Option<String>,
    /// When it is looked for next.
    pub next_look_at: Option<Micros>,
    /// What its result left behind, 100 at most. Not in lists.
    pub artifacts: Option<Vec<ArtifactView>>,
}

/// A page of operations, in request order.
#[derive(Clone, Debug, Serialize)]
pub struct OperationPage {
    /// The operations.
    pub items: Vec<OperationView>,
    /// The number to go on after, if there are more.
    pub next: Option<i64>,
}

impl From<Seen> for OperationView {
    fn from(seen: Seen) -> Self {
        let Seen { operation: row, resolution } = seen;
        let text = detail(&row.state);
        let detail = (!text.is_empty()).then(|| text.to_owned());
        let (deny_reason, evidence) = match &row.state {
            OperationState::Denied { reason, .. } => (Some(*reason), None),
            OperationState::Succeeded { evidence }
            | OperationState::Failed { evidence }
            | OperationState::NotSent { evidence }
            | OperationState::Abandoned { evidence } => (None, Some(evidence.clone())),
            OperationState::Requested
            | OperationState::AwaitingApproval { .. }
            | OperationState::Expired
            | OperationState::Withdrawn
            | OperationState::InFlight
            | OperationState::Unknown { .. } => (None, None),
        };
        Self {
            state: row.state.word(),
            session: row.id.session,
            id: row.id,
            task: row.task,
            turn: row.turn,
            connection: row.connection,
            connection_name: row.connection_name,
            tool: row.tool,
            effect: row.class,
            grant: row.grant,
            decision: row.decision,
            authority: None,
            allowed_by: None,
            allowed_at: None,
            resolved_by: None,
            deny_reason,
            held: false,
            detail,
            evidence,
            runtime_call: row.runtime_call,
            trace: row.trace,
            digest: row.digest,
            arguments: row.shape,
            times: Times {
                requested_at: row.requested_at,
                admitted_at: row.admitted_at,
                sent_at: row.sent_at,
                answered_at: row.answered_at,
                recorded_at: row.recorded_at,
            },
            duration_us: row.duration_us,
            result_size: row.result_size,
            result_type: row.result_type,
            resolution: resolution.map(ResolutionView::from).unwrap_or_default(),
            upstream_task: None,
            looks: None,
            last_look: None,
            next_look_at: None,
            artifacts: None,
        }
    }
}

impl Engine {
    /// A task's operations after the numbered one, in request order.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when the task does not exist, or not for this caller.
    pub async fn task_operations(
        &self,
        who: &Principal,
        task: TaskId,
        state: Option<OperationStateWord>,
        after: i64,
        limit: u32,
    ) -> Result<OperationPage, EngineError> {
        let task = self.task_for(who, task, Verb::OperationList).await?;
        let reader = self.stores.journal_reader(task.session).await?;
        let page = self.seen_operations(&reader, &task, state, after, limit).await?;
        let mut items: Vec<_> = page.items.into_iter().map(OperationView::from).collect();
        self.mark_held(task.session, &mut items);
        Ok(OperationPage { items, next: page.next })
    }

    /// One operation.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when it does not exist, or not for this caller.
    pub async fn operation(&self, who: &Principal, id: OperationId) -> Result<OperationView, EngineError> {
        self.session_of(who, id.session, Verb::OperationShow).await?;
        let reader = self.stores.journal_reader(id.session).await?;
        let row = reader.operation(id).await?;
        let mut view: OperationView = self.see_one(row.ok_or(EngineError::NotFound)?).await?.into();
        view.artifacts = Some(self.artifacts_of(id).await?);
        view.upstream_task = reader.upstream_task(id).await?.map(|task| task.shown);
        self.mark_held(id.session, std::slice::from_mut(&mut view));
        let authority = self.authority_of(&view, &mut Givers::default()).await?;
        view.authority = Some(authority.words);
        (view.allowed_by, view.allowed_at) =
            authority.leave.map_or((None, None), |l| (Some(l.by), Some(l.at)));
        if let Some(by) = view.evidence.as_ref().and_then(|evidence| evidence.by) {
            view.resolved_by = Some(self.name_of(by).await?);
        }
        if let Some(verification) = self.ledger.verification(id).await? {
            (view.looks, view.next_look_at) = (Some(verification.tries), verification.due_at);
            view.last_look = self.ledger.last_look(id).await?;
        }
        Ok(view)
    }

    /// Marks the operations of a session whose outcome is held.
    pub(crate) fn mark_held(&self, session: SessionId, views: &mut [OperationView]) {
        if !views.iter().any(|view| may_be_held(view.state)) {
            return;
        }
        let held = held(&self.home.session(session), &self.key, session);
        for view in views.iter_mut().filter(|view| may_be_held(view.state) && held.contains(&view.id)) {
            view.held = true;
            view.detail = Some("outcome held: the journal cannot be written at the moment".to_owned());
        }
    }
}
