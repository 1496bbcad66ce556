//! What an address names, and whether the caller may do with it what the address is for.

use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{ApprovalId, OperationId};

/// The kinds of things that lie in a project and are named in addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A project itself.
    Project,
    /// A task.
    Task,
    /// A session.
    Session,
    /// An operation.
    Operation,
    /// An approval.
    Approval,
    /// A grant.
    Grant,
    /// An artifact.
    Artifact,
}

impl Named {
    /// What a variable part of an address with this name is.
    #[must_use]
    pub fn by(part: &str) -> Option<Self> {
        Some(match part {
            "project" => Self::Project,
            "task" => Self::Task,
            "session" => Self::Session,
            "operation" => Self::Operation,
            "approval" => Self::Approval,
            "grant" => Self::Grant,
            "artifact" => Self::Artifact,
            _ => return None,
        })
    }
}

impl Engine {
    /// Demands what a verb needs in the project where something lies. What cannot be an id names nothing that exists.
    ///
    /// # Errors
    /// As [`Engine::demand`].
    pub async fn demand_named(
        &self,
        who: &Principal,
        verb: Verb,
        kind: Named,
        text: &str,
    ) -> Result<(), EngineError> {
        match kind {
            Named::Project => self.project(who, text, verb).await.map(|_| ()),
            Named::Task => match text.parse() {
                Ok(id) => self.task_for(who, id, verb).await.map(|_| ()),
                Err(_) => self.nothing(who).await,
            },
            Named::Session => match text.parse() {
                Ok(id) => self.session_of(who, id, verb).await.map(|_| ()),
                Err(_) => self.nothing(who).await,
            },
            Named::Operation => match text.parse::<OperationId>() {
                Ok(id) => self.session_of(who, id.session, verb).await.map(|_| ()),
                Err(_) => self.nothing(who).await,
            },
            Named::Approval => match text.parse::<ApprovalId>() {
                Ok(id) => self.session_of(who, id.session(), verb).await.map(|_| ()),
                Err(_) => self.nothing(who).await,
            },
            Named::Artifact => match text.parse() {
                Ok(id) => self.artifact_for(who, id, verb).await.map(|_| ()),
                Err(_) => self.nothing(who).await,
            },
            Named::Grant => {
                let grant = match text.parse() {
                    Ok(id) => self.ledger.grant(id).await?,
                    Err(_) => None,
                };
                match grant {
                    Some(grant) => self.demand(who, grant.project, verb).await,
                    None => self.nothing(who).await,
                }
            }
        }
    }
}
