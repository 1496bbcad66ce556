//! Sessions: which conversations there are, and who hosts them.

use super::{Listing, Paging};
use crate::{Engine, EngineError, Principal};
use mate_model::{records::Session, words::Role};

impl Engine {
    /// A project's sessions, by age.
    ///
    /// # Errors
    /// Not a viewer; the ledger's.
    pub async fn sessions(
        &self,
        who: &Principal,
        project: &str,
        page: &Paging,
    ) -> Result<Listing<Session>, EngineError> {
        let project = self.project(who, project, Role::Viewer).await?;
        Ok(self.ledger.sessions(project.id, page.position()?, page.limit).await?.into())
    }

    /// A session of a project that the caller may see.
    ///
    /// # Errors
    /// [`EngineError::NotFound`].
    pub async fn session(&self, who: &Principal, id: &str) -> Result<Session, EngineError> {
        let id = id.parse().map_err(|_| EngineError::NotFound)?;
        let session = self.ledger.session(id).await?.ok_or(EngineError::NotFound)?;
        self.demand(who, session.project, Role::Viewer).await?;
        Ok(session)
    }
}
