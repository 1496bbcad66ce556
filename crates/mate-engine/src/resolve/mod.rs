//! Evidence for what is uncertain. All of it goes the same way: into the ledger first, where the first one stands.
//!
//! A person, a late answer of the upstream, a verification and a record fetched again are told apart by their
//! [`Evidence`](mate_model::operation::Evidence) alone. The journal follows ([`Engine::apply_resolutions`]); until it
//! has, every view shows the resolution over it ([`overlay`]).

mod apply;
mod ask;
mod operation;
pub(crate) mod overlay;
mod task;

pub(crate) use apply::Known;
pub use ask::Ask;

use crate::{Engine, EngineError};
use mate_model::{
    Micros, OperationId,
    event::{Draft, EventType},
    operation::OperationState,
    resolution::{Acknowledgement, Contradiction, Finding, Resolution, Weight},
    words::EvidenceKind,
};
use mate_store::{JournalReader, LedgerError};
use serde_json::json;

/// How often evidence is weighed again because other evidence came at that moment.
const TRIES: u32 = 20;

/// What became of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// It settled the operation.
    First(Resolution),
    /// It says what stood already; nothing was written.
    Same(Resolution),
    /// It says otherwise than what stands: recorded beside it, for a person to look at.
    Contrary(Resolution),
    /// A person took note of evidence to the contrary.
    Acknowledged(Resolution),
}

impl Engine {
    /// Takes in evidence for an operation. `reader` reads the journal of its session.
    ///
    /// The finding's texts are redacted already.
    ///
    /// # Errors
    /// [`EngineError::NotFound`], that the operation is not unknown, that this is no evidence, and the stores'.
    pub async fn take_evidence(
        &self,
        reader: &JournalReader,
        operation: OperationId,
        finding: &Finding,
    ) -> Result<Resolved, EngineError> {
        finding.check()?;
        for _ in 0..TRIES {
            if let Some(standing) = self.ledger.resolution(operation).await? {
                match self.weigh(standing, finding).await? {
                    Some(resolved) => return Ok(resolved),
                    None => continue,
                }
            }
            let row = reader.operation(operation).await?.ok_or(EngineError::NotFound)?;
            if !matches!(row.state, OperationState::Unknown { .. }) {
                // A resolution may have reached the journal since it was looked for.
                if self.ledger.resolution(operation).await?.is_some() {
                    continue;
                }
                return Err(not_unknown(&row.state));
            }
            let session = self.ledger.session(operation.session).await?.ok_or(EngineError::NotFound)?;
            let resolution = Resolution {
                operation,
                project: session.project,
                task: row.task,
                finding: finding.clone(),
                at: self.clock.now(),
                applied_at: None,
                contradictions: 0,
                contradiction: None,
            };
            let draft = draft(EventType::OperationResolved, &resolution, finding, resolution.at);
            if self.ledger.add_resolution(&resolution, draft).await? {
                mate_fault::point_async!("resolve.evidence_committed");
                self.settle(row.task).await?;
                return Ok(Resolved::First(resolution));
            }
        }
        Err(busy())
    }

    /// Puts a finding beside a resolution that stands; none when other evidence came at that moment.
    pub(crate) async fn weigh(
        &self,
        standing: Resolution,
        finding: &Finding,
    ) -> Result<Option<Resolved>, EngineError> {
        let now = self.clock.now();
        let (contradiction, kind) = match (standing.weigh(finding), standing.open_contradiction()) {
            (Weight::Acknowledges, Some(open)) => {
                let acknowledgement = Acknowledgement {
                    by: finding.evidence.by,
                    reason: finding.evidence.detail.clone(),
                    at: now,
                };
                let seen = Contradiction { acknowledgement: Some(acknowledgement), ..open.clone() };
                (seen, EventType::OperationAcknowledged)
            }
            (Weight::Same, _) | (Weight::Acknowledges, None) => {
                // Whoever wrote it may have died before the task was looked at.
                self.settle(standing.task).await?;
                return Ok(Some(Resolved::Same(standing)));
            }
            (Weight::Contrary, _) => {
                let (verdict, evidence) = (finding.verdict, finding.evidence.clone());
                let contradiction = Contradiction { verdict, evidence, at: now, acknowledgement: None };
                (contradiction, EventType::OperationContradicted)
            }
        };
        let draft = draft(kind, &standing, finding, now);
        match self.ledger.contradict(&standing, &contradiction, draft).await {
            Ok(()) => {
                let contrary = contradiction.acknowledgement.is_none();
                let resolution = Resolution {
                    contradictions: standing.contradictions + i64::from(contrary),
                    contradiction: Some(contradiction),
                    ..standing
                };
                Ok(Some(if contrary {
                    Resolved::Contrary(resolution)
                } else {
                    Resolved::Acknowledged(resolution)
                }))
            }
            Err(LedgerError::Conflict(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The event that tells of evidence; a proof is named by its size and its hash.
fn draft(kind: EventType, resolution: &Resolution, finding: &Finding, at: Micros) -> Draft {
    let proof = finding.proof.as_deref().map(
        |proof| json!({ "size": proof.len(), "blake3": blake3::hash(proof.as_bytes()).to_hex().as_str() }),
    );
    let data = json!({
        "operation": resolution.operation,
        "as": finding.verdict,
        "stands": resolution.finding.verdict,
        "evidence": finding.evidence.kind,
        "by": finding.evidence.by,
        "reason": finding.evidence.detail,
        "proof": proof,
        "permit_repeat": finding.permit_repeat,
    });
    Draft { kind, task: Some(resolution.task), turn: None, at, data }
}

fn busy() -> EngineError {
    EngineError::Unavailable("other evidence for it comes all the time: try again".to_owned())
}

/// Why an operation that is not unknown cannot be resolved.
pub(crate) fn not_unknown(state: &OperationState) -> EngineError {
    let word = state.word();
    let detail = if word.is_final() {
        let settled = state.evidence().map_or("its record", |evidence| says(evidence.kind));
        format!("it is {word}, by {settled}: only an unknown operation can be resolved")
    } else {
        format!("it is {word}: wait until it has an outcome, or is unknown")
    };
    EngineError::refused("not_unknown", detail)
}

const fn says(kind: EvidenceKind) -> &'static str {
    match kind {
        EvidenceKind::Answer => "the upstream's own answer",
        EvidenceKind::LateAnswer => "the upstream's own answer, late",
        EvidenceKind::NeverSent => "the proof that it was never sent",
        EvidenceKind::ReadOnly => "its class, which only reads",
        EvidenceKind::UpstreamRecord => "the upstream's own record",
        EvidenceKind::Verification => "a verification",
        EvidenceKind::Repeat => "the success of its repeat",
        EvidenceKind::Person => "a person's word",
    }
}
