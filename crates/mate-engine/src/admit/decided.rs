//! What decided of a call, as it is recorded.

use mate_guard::policy::{Effect, Verdict};
use mate_model::{GrantId, records::Grant};
use serde_json::{Value, json};

/// The policies that made a decision, and the grant of record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decided {
    by: &'static str,
    effect: &'static str,
    policies: Vec<String>,
    failed: Vec<String>,
    grant: Option<GrantId>,
}

impl Decided {
    /// Something else decided before any policy was asked: the turn, the task's own authority, the request.
    pub(crate) const fn by_admission() -> Self {
        Self { by: "admission", effect: "none", policies: Vec::new(), failed: Vec::new(), grant: None }
    }

    /// No policy says anything of the call: that is a no.
    pub(super) const fn nothing() -> Self {
        Self { by: "policy", effect: "none", policies: Vec::new(), failed: Vec::new(), grant: None }
    }

    pub(super) fn of(verdict: &Verdict, grant: &Grant) -> Self {
        Self {
            by: "policy",
            effect: verdict.effect.as_str(),
            policies: verdict.policies.clone(),
            failed: verdict.failed.clone(),
            grant: Some(grant.id),
        }
    }

    /// A policy that cannot be used at all.
    pub(super) fn unusable(name: &str) -> Self {
        let name = format!("policy:{name}");
        let effect = Effect::Forbid.as_str();
        Self { by: "policy", effect, policies: vec![name.clone()], failed: vec![name], grant: None }
    }

    /// Grants that need a permit permit nothing without one.
    pub(super) fn without_permit(mut self) -> Self {
        self.effect = Effect::Nothing.as_str();
        self.policies.clear();
        self
    }

    /// The same with a grant of record.
    pub(super) fn under(mut self, grant: &Grant) -> Self {
        self.grant = Some(grant.id);
        self
    }

    /// The policies permitted the call, and something else refused it.
    pub(super) fn overruled(mut self) -> Self {
        self.by = "admission";
        self
    }

    /// Why the call is forbidden, for the agent and the record.
    pub(super) fn forbidden(&self) -> String {
        if self.policies.is_empty() {
            return format!("the policies could not be evaluated: {}", self.failed.join("; "));
        }
        let names = self.policies.join(", ");
        if self.failed.is_empty() {
            format!("{names} forbids it")
        } else {
            format!("{names} could not be evaluated, and what may forbid does")
        }
    }

    /// The grant of record.
    pub(super) const fn grant(&self) -> Option<GrantId> {
        self.grant
    }

    /// As it is recorded.
    pub(crate) fn record(&self) -> Value {
        let mut record =
            json!({ "by": self.by, "effect": self.effect, "policies": self.policies, "grant": self.grant });
        if !self.failed.is_empty() {
            record["failed"] = json!(self.failed);
        }
        record
    }

    /// The record of the first read with this of the second one, where it is something else.
    pub(super) fn beside(&self, first: &Value) -> Option<Value> {
        let mine = self.record();
        let same = mine.as_object()?.iter().all(|(name, value)| first.get(name) == Some(value));
        (!same).then(|| {
            let mut both = first.clone();
            both["second_read"] = mine;
            both
        })
    }
}
