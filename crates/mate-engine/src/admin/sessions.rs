//! Sessions: which conversations there are, and who hosts them.

use super::{Listing, Paging};
use crate::{Engine, EngineError, Principal, Verb, task::view::own_tools};
use mate_model::{
    ProjectId, SessionId,
    records::{Project, Session},
};

/// A session, with the runtime's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSession {
    /// The session.
    pub session: Session,
    /// The runtime's name, also when it was removed.
    pub runtime_name: String,
    /// What is done about the runtime's own tools.
    pub own_tools: Option<String>,
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
                let project = self.project(who, project, Verb::SessionList).await?;
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
        let own_tools = runtime.as_ref().and_then(own_tools);
        let runtime_name = runtime.map_or_else(|| session.runtime.to_string(), |known| known.name);
        let set_aside = self.aside.why(session.id);
        Ok(NamedSession { session, runtime_name, own_tools, set_aside })
    }

    /// A session of a project that the caller may see.
    ///
    /// # Errors
    /// [`EngineError::NotFound`].
    pub async fn session(&self, who: &Principal, id: &str) -> Result<NamedSession, EngineError> {
        let id = id.parse().map_err(|_| EngineError::NotFound)?;
        self.named_session(self.session_of(who, id, Verb::SessionShow).await?).await
    }

    /// A session, for a caller who may do with it what the verb says.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when it does not exist, or not for this caller.
    pub(crate) async fn session_of(
        &self,
        who: &Principal,
        id: SessionId,
        verb: Verb,
    ) -> Result<Session, EngineError> {
        let Some(session) = self.ledger.session(id).await? else { return self.nothing(who).await };
        self.demand(who, session.project, verb).await?;
        Ok(session)
    }
}
