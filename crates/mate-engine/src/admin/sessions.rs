//! Sessions: which conversations there are, and who hosts them.

use super::{Listing, Paging};
use crate::{Engine, EngineError, Principal};
use mate_model::{
    ProjectId,
    records::{Project, Session},
    words::Role,
};

/// A session, with the runtime's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSession {
    /// The session.
    pub session: Session,
    /// The runtime's name, also when it was removed.
    pub runtime_name: String,
    /// Why it cannot be looked after at the moment, if it cannot.
    pub set_aside: Option<String>,
}

impl Engine {
    /// A project's sessions, newest first, or those of all the caller's projects.
    ///
    /// # Errors
    /// Not a viewer; the ledger's.
    pub async fn sessions(
        &self,
        who: &Principal,
        project: Option<&str>,
        page: &Paging,
    ) -> Result<Listing<NamedSession>, EngineError> {
        match project {
            Some(project) => {
                let project = self.project(who, project, Role::Viewer).await?;
                self.sessions_of(project.id, page).await
            }
            None => {
                let fetch = |project: Project, page| async move { self.sessions_of(project.id, &page).await };
                self.across(who, page, fetch).await
            }
        }
    }

    async fn sessions_of(
        &self,
        project: ProjectId,
        page: &Paging,
    ) -> Result<Listing<NamedSession>, EngineError> {
        let list: Listing<Session> =
            self.ledger.sessions(project, page.position()?, page.limit).await?.into();
        let mut items = Vec::with_capacity(list.items.len());
        for session in list.items {
            items.push(self.named_session(session).await?);
        }
        Ok(Listing { items, unreadable: list.unreadable, next: list.next })
    }

    async fn named_session(&self, session: Session) -> Result<NamedSession, EngineError> {
        let runtime = self.ledger.runtime(session.runtime).await?;
        let runtime_name = runtime.map_or_else(|| session.runtime.to_string(), |known| known.name);
        let set_aside = self.aside.why(session.id);
        Ok(NamedSession { session, runtime_name, set_aside })
    }

    /// A session of a project that the caller may see.
    ///
    /// # Errors
    /// [`EngineError::NotFound`].
    pub async fn session(&self, who: &Principal, id: &str) -> Result<NamedSession, EngineError> {
        let id = id.parse().map_err(|_| EngineError::NotFound)?;
        let session = self.ledger.session(id).await?.ok_or(EngineError::NotFound)?;
        self.demand(who, session.project, Role::Viewer).await?;
        self.named_session(session).await
    }
}
