//! A resolution: evidence that settles an operation whose outcome was unknown. The first one stands.

use crate::{
    AccountId, Micros, OperationId, ProjectId, TaskId,
    operation::{Evidence, Verdict},
    transition::Refusal,
    words::EvidenceKind,
};
use serde::{Deserialize, Serialize};

/// What new evidence says of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it comes to.
    pub verdict: Verdict,
    /// What it is, in words that are redacted.
    pub evidence: Evidence,
    /// Something to look at: redacted, bounded.
    pub proof: Option<String>,
    /// An identical call may be made once more.
    pub permit_repeat: bool,
}

/// The evidence that settled an operation. It leads: the journal follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// Which operation.
    pub operation: OperationId,
    /// Where it belongs.
    pub project: ProjectId,
    /// Whose operation it is.
    pub task: TaskId,
    /// What was found.
    pub finding: Finding,
    /// When.
    pub at: Micros,
    /// When the journal had it and the task was looked at, if that was done.
    pub applied_at: Option<Micros>,
    /// How often evidence to the contrary came.
    pub contradictions: i64,
    /// The last of it.
    pub contradiction: Option<Contradiction>,
}

/// Evidence that says otherwise than the one that stands. It changes no state; a person looks at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contradiction {
    /// What it comes to.
    pub verdict: Verdict,
    /// What it is.
    pub evidence: Evidence,
    /// When it came.
    pub at: Micros,
    /// Who took note of it, if somebody did.
    pub acknowledgement: Option<Acknowledgement>,
}

/// A person's word on evidence to the contrary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acknowledgement {
    /// Who.
    pub by: Option<AccountId>,
    /// Why the first evidence may stand, or what was done about it.
    pub reason: String,
    /// When.
    pub at: Micros,
}

/// What a finding means beside a resolution that stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// It says what is known.
    Same,
    /// It says otherwise.
    Contrary,
    /// A person says again what stands, and so has seen the evidence to the contrary.
    Acknowledges,
}

impl Finding {
    /// Whether this can settle anything.
    ///
    /// # Errors
    /// [`Refusal::NoEvidence`]: only a person may give an operation up, and what was known at the call's end is no
    /// finding.
    pub const fn check(&self) -> Result<(), Refusal> {
        settles(self.verdict, &self.evidence)
    }
}

/// Whether this evidence can settle what is uncertain.
pub(crate) const fn settles(verdict: Verdict, evidence: &Evidence) -> Result<(), Refusal> {
    match (evidence.kind, verdict) {
        (EvidenceKind::Person, Verdict::Succeeded | Verdict::Failed | Verdict::Abandoned)
        | (
            EvidenceKind::LateAnswer | EvidenceKind::UpstreamRecord | EvidenceKind::Verification,
            Verdict::Succeeded | Verdict::Failed,
        )
        | (EvidenceKind::Repeat, Verdict::Succeeded) => Ok(()),
        (
            EvidenceKind::LateAnswer | EvidenceKind::UpstreamRecord | EvidenceKind::Verification,
            Verdict::Abandoned,
        )
        | (EvidenceKind::Repeat, Verdict::Failed | Verdict::Abandoned)
        | (EvidenceKind::Answer | EvidenceKind::NeverSent | EvidenceKind::ReadOnly, _) => {
            Err(Refusal::NoEvidence)
        }
    }
}

impl Resolution {
    /// Evidence to the contrary that nobody has taken note of.
    #[must_use]
    pub fn open_contradiction(&self) -> Option<&Contradiction> {
        self.contradiction.as_ref().filter(|contradiction| contradiction.acknowledgement.is_none())
    }

    /// What another finding means, now that this one stands.
    #[must_use]
    pub fn weigh(&self, finding: &Finding) -> Weight {
        let told = self.contradiction.as_ref().is_some_and(|known| known.is_told_by(finding));
        if told {
            Weight::Same
        } else if finding.verdict != self.finding.verdict {
            Weight::Contrary
        } else if finding.evidence.kind == EvidenceKind::Person && self.open_contradiction().is_some() {
            Weight::Acknowledges
        } else {
            Weight::Same
        }
    }
}

impl Contradiction {
    /// Whether a finding is this one again: a person's by its words, a machine's by its kind.
    fn is_told_by(&self, finding: &Finding) -> bool {
        let (known, given) = (&self.evidence, &finding.evidence);
        self.verdict == finding.verdict
            && (known.kind, known.by) == (given.kind, given.by)
            && (given.kind != EvidenceKind::Person || known.detail == given.detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionId;
    use uuid::Uuid;

    const WHO: AccountId = AccountId::new(Uuid::from_u128(1));

    fn finding(verdict: Verdict, kind: EvidenceKind, detail: &str) -> Finding {
        let by = (kind == EvidenceKind::Person).then_some(WHO);
        let evidence = Evidence { kind, by, detail: detail.to_owned() };
        Finding { verdict, evidence, proof: None, permit_repeat: false }
    }

    fn standing(contradiction: Option<Contradiction>) -> Resolution {
        Resolution {
            operation: OperationId { session: SessionId::new(Uuid::from_u128(2)), number: 1 },
            project: ProjectId::new(Uuid::from_u128(3)),
            task: TaskId::new(Uuid::from_u128(4)),
            finding: finding(Verdict::Failed, EvidenceKind::Person, "I looked"),
            at: Micros(1),
            applied_at: None,
            contradictions: i64::from(contradiction.is_some()),
            contradiction,
        }
    }

    fn contrary(acknowledged: bool) -> Contradiction {
        let late = finding(Verdict::Succeeded, EvidenceKind::LateAnswer, "late");
        let acknowledgement = acknowledged.then(|| Acknowledgement {
            by: Some(WHO),
            reason: "known".to_owned(),
            at: Micros(3),
        });
        Contradiction { verdict: late.verdict, evidence: late.evidence, at: Micros(2), acknowledgement }
    }

    #[test]
    fn g05_the_first_evidence_stands_and_what_says_otherwise_is_told_apart() {
        let late = finding(Verdict::Succeeded, EvidenceKind::LateAnswer, "late, told again");
        let person = finding(Verdict::Failed, EvidenceKind::Person, "still not there");
        let other = finding(Verdict::Succeeded, EvidenceKind::Person, "it is there");
        let alone = standing(None);
        assert_eq!(alone.weigh(&person), Weight::Same);
        assert_eq!(alone.weigh(&late), Weight::Contrary);
        assert_eq!(alone.weigh(&other), Weight::Contrary);
        let open = standing(Some(contrary(false)));
        assert_eq!(open.weigh(&late), Weight::Same, "the same evidence again is no news");
        assert_eq!(open.weigh(&person), Weight::Acknowledges);
        assert_eq!(open.weigh(&other), Weight::Contrary, "only the word that stands takes note of another");
        let closed = standing(Some(contrary(true)));
        assert_eq!(closed.weigh(&late), Weight::Same, "it was taken note of");
        assert_eq!(closed.weigh(&person), Weight::Same);
        assert_eq!(closed.weigh(&other), Weight::Contrary);
    }

    #[test]
    fn g05_only_a_person_gives_an_operation_up() {
        for kind in EvidenceKind::ALL {
            let person = *kind == EvidenceKind::Person;
            assert_eq!(finding(Verdict::Abandoned, *kind, "").check().is_ok(), person, "{kind}");
            let no_finding = matches!(
                kind,
                EvidenceKind::Answer
                    | EvidenceKind::NeverSent
                    | EvidenceKind::ReadOnly
                    | EvidenceKind::Repeat
            );
            assert_eq!(finding(Verdict::Failed, *kind, "").check().is_err(), no_finding, "{kind}");
        }
    }
}
