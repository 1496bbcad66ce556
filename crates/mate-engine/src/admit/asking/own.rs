//! Tools of the runtime's own that it asks for: a person answers, as for a call.

use super::{AskKey, Entered, Phase, Waiting};
use crate::{EngineError, admit::Admission};
use mate_guard::Json;
use mate_model::{
    ApprovalId,
    approval::ApprovalState,
    records::Approval,
    words::{ApprovalMode, EffectClass, OnApproval},
};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

/// A tool of the runtime's own, as it describes what it wants to do. Redacted and bounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCall {
    /// What it calls it.
    pub title: String,
    /// Its own word for what kind of work it is.
    pub kind: Option<String>,
    /// The exact request as the runtime sent it; only its digest is kept.
    pub request: String,
}

/// What is said to a runtime that asked for leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnVerdict {
    /// Leave is given.
    Allowed,
    /// Leave is refused.
    Refused,
    /// The turn ends, or the runtime does not wait any more.
    Cancelled,
}

/// What a runtime is answered that asked for leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnAnswer {
    /// Yes, no, or that nobody can say any more.
    pub verdict: OwnVerdict,
    /// The approval, where a person was asked.
    pub approval: Option<ApprovalId>,
    /// Why, in words.
    pub why: String,
}

impl OwnAnswer {
    fn no(approval: Option<ApprovalId>, why: impl Into<String>) -> Self {
        Self { verdict: OwnVerdict::Refused, approval, why: why.into() }
    }

    fn cancelled(approval: ApprovalId, why: impl Into<String>) -> Self {
        Self { verdict: OwnVerdict::Cancelled, approval: Some(approval), why: why.into() }
    }
}

impl Admission {
    /// Asks a person whether the runtime may use a tool of its own, and waits for the answer. `gone` resolves when the
    /// runtime does not wait any more. What cannot be asked is refused.
    pub async fn ask_own(&self, own: &OwnCall, gone: impl Future<Output = ()>) -> OwnAnswer {
        match self.try_ask_own(own, gone).await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::warn!(%error, "a person could not be asked");
                OwnAnswer::no(None, format!("a person could not be asked: {error}"))
            }
        }
    }

    async fn try_ask_own(
        &self,
        own: &OwnCall,
        gone: impl Future<Output = ()>,
    ) -> Result<OwnAnswer, EngineError> {
        let open = self.gate.read().await;
        let Some(turn) = self.current() else { return Ok(OwnAnswer::no(None, "no task is running")) };
        if !self.has_begun() {
            return Ok(OwnAnswer::no(None, "the task has not begun: its prompt was not sent yet"));
        }
        let task = self.engine.ledger.task(turn.task).await?.ok_or(EngineError::NotFound)?;
        if task.policy.on_approval == OnApproval::Deny {
            let why = "the runtime's own tools need a person, and this task is not to wait for anybody";
            return Ok(OwnAnswer::no(None, why));
        }
        if let Err((_, why)) = self.look(turn).await? {
            return Ok(OwnAnswer::no(None, why));
        }
        self.engine.ledger.observe_time(self.now()).await?;
        let epoch = u64::try_from(self.journal.epoch().0).unwrap_or(u64::MAX);
        let number = self.next_own.fetch_add(1, Ordering::Relaxed);
        let id = ApprovalId::OwnTool { session: self.session, epoch, number };
        let key = AskKey::Own(id);
        let Entered::First(place) = self.asks.enter(&key) else {
            return Ok(OwnAnswer::no(None, "too many requests of this session wait for a person"));
        };
        let expires = self.expiry();
        let approval = Approval {
            id,
            project: self.project,
            task: turn.task,
            turn: turn.turn,
            mode: ApprovalMode::Always,
            connection: None,
            connection_name: String::new(),
            tool: self.clean(&own.title),
            class: EffectClass::Effect,
            digest: Json::parse(&own.request)
                .map_or_else(|_| String::new(), |json| self.digests.digest(&json).to_string()),
            shape: shape(own.kind.as_deref().map(|kind| self.clean(kind))),
            state: ApprovalState::Open { expires },
            expires_at: expires,
            answer: None,
            over: None,
            created_at: self.now(),
        };
        self.put_in_inbox(&approval).await?;
        let mut phase = place.open(Waiting { approval, call: None });
        drop(open);
        tokio::pin!(gone);
        loop {
            let now = phase.borrow_and_update().clone();
            match now {
                Phase::Allowed(_) => {
                    let answer = self.use_own(&key, id).await;
                    self.asks.done(&key);
                    return answer;
                }
                Phase::Over(_) => return self.own_end(id).await,
                Phase::Asking | Phase::Open(_) | Phase::Taken(_) | Phase::Again => {}
            }
            tokio::select! {
                changed = phase.changed() => if changed.is_err() && !matches!(*phase.borrow(), Phase::Over(_)) {
                    return Ok(OwnAnswer::cancelled(id, "nobody waits for it any more"));
                },
                () = &mut gone => {
                    drop(self.asks.take_any(&key));
                    self.withdraw_in_inbox(id, "the runtime does not wait for it any more").await;
                    return Ok(OwnAnswer::cancelled(id, "the runtime did not wait for the answer"));
                }
            }
        }
    }

    /// How a request ended that was not allowed.
    async fn own_end(&self, id: ApprovalId) -> Result<OwnAnswer, EngineError> {
        let row = self.engine.ledger.approval(id).await?.ok_or(EngineError::NotFound)?;
        Ok(match row.state {
            ApprovalState::Denied { reason, .. } if reason.is_empty() => {
                OwnAnswer::no(Some(id), "a person refused it")
            }
            ApprovalState::Denied { reason, .. } => {
                OwnAnswer::no(Some(id), format!("a person refused it: {reason}"))
            }
            ApprovalState::Expired => OwnAnswer::no(Some(id), "nobody answered in time"),
            ApprovalState::Withdrawn => OwnAnswer::cancelled(id, "it was withdrawn"),
            ApprovalState::Open { .. } | ApprovalState::Allowed { .. } | ApprovalState::Used { .. } => {
                OwnAnswer::no(Some(id), format!("its approval is {}", row.state.word()))
            }
        })
    }

    async fn use_own(&self, key: &AskKey, id: ApprovalId) -> Result<OwnAnswer, EngineError> {
        let _open = self.gate.read().await;
        let Some(waiting) = self.asks.take(key, id) else {
            return Ok(OwnAnswer::cancelled(id, "it was withdrawn at this moment"));
        };
        let turn = crate::admit::CurrentTurn { task: waiting.approval.task, turn: waiting.approval.turn };
        let refused = match self.current() == Some(turn) {
            false => Some("the turn is over".to_owned()),
            true => match self.look(turn).await? {
                Err((_, why)) => Some(why),
                Ok(standing) => standing.may_act(self.now()).err().map(|(_, why)| why),
            },
        };
        if let Some(why) = refused {
            self.withdraw_in_inbox(id, &why).await;
            return Ok(OwnAnswer::no(Some(id), why));
        }
        let row = self.engine.ledger.approval(id).await?.ok_or(EngineError::NotFound)?;
        if !self.use_up(&row).await? {
            return Ok(OwnAnswer::no(Some(id), format!("its approval is {} now", row.state.word())));
        }
        Ok(OwnAnswer {
            verdict: OwnVerdict::Allowed,
            approval: Some(id),
            why: "a person gave leave".to_owned(),
        })
    }
}

fn shape(kind: Option<String>) -> Value {
    kind.map_or_else(|| json!({}), |kind| json!({ "kind": kind }))
}
