//! Runtimes: agent programs that exist already, and how to launch them.

use super::{Listing, Paging, check};
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{RuntimeId, records::Runtime};
use mate_store::LedgerError;
use serde_json::Value;
use uuid::Uuid;

/// The most bytes of a registration, as JSON.
const REGISTRATION: usize = 64 * 1024;

/// How long a runtime's tasks may take when they say nothing of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patience {
    /// Without activity for so many seconds a task is shown as quiet.
    pub quiet_seconds: Option<u32>,
    /// So many seconds after its start a task is asked to stop; 0: never.
    pub deadline_seconds: Option<u32>,
}

impl Engine {
    /// Adds a runtime. Whoever calls has checked that the room of runtimes understands `registration`.
    /// Asked again with the same `id`, it answers with the first one.
    ///
    /// # Errors
    /// A name that is wrong or taken; not an administrator; the ledger's.
    pub async fn add_runtime(
        &self,
        who: &Principal,
        id: Uuid,
        name: &str,
        registration: Value,
        patience: Patience,
    ) -> Result<Runtime, EngineError> {
        self.demand_here(who, Verb::RuntimeAdd).await?;
        check::name("name", name)?;
        if registration.to_string().len() > REGISTRATION {
            return Err(EngineError::invalid("command", "is too long: put it into a script"));
        }
        check::quiet("quiet_seconds", patience.quiet_seconds)?;
        check::deadline("deadline_seconds", patience.deadline_seconds)?;
        let at = self.writing_time().await?;
        let runtime = Runtime {
            id: RuntimeId::new(id),
            name: name.to_owned(),
            registration,
            quiet_seconds: patience.quiet_seconds,
            deadline_seconds: patience.deadline_seconds,
            created_at: at,
            removed_at: None,
        };
        match self.ledger.add_runtime(&runtime).await {
            Ok(()) => Ok(runtime),
            Err(taken @ LedgerError::Taken(_)) => {
                self.ledger.runtime(runtime.id).await?.ok_or_else(|| taken.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The runtime with this name or id; its launch is for administrators to see.
    ///
    /// # Errors
    /// [`EngineError::NotFound`], also for one that was removed, and for who has no project.
    pub async fn runtime(&self, who: &Principal, name_or_id: &str) -> Result<Runtime, EngineError> {
        self.demand_here(who, Verb::RuntimeShow).await?;
        let found = match name_or_id.parse() {
            Ok(id) => self.ledger.runtime(id).await?,
            Err(_) if check::is_name(name_or_id) => self.ledger.runtime_by_name(name_or_id).await?,
            Err(_) => None,
        };
        found
            .filter(|runtime| runtime.removed_at.is_none())
            .map(|found| shown(who, found))
            .ok_or(EngineError::NotFound)
    }

    /// The runtimes, by age; none for who has no project.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn runtimes(&self, who: &Principal, page: &Paging) -> Result<Listing<Runtime>, EngineError> {
        if !self.sees(who, Verb::RuntimeList).await? {
            return Ok(Listing::empty());
        }
        let list: Listing<_> = self.ledger.runtimes(page.position()?, page.limit).await?.into();
        Ok(list.map(|runtime| shown(who, runtime)))
    }

    /// Removes a runtime: no new session takes it. Answers what was removed.
    ///
    /// # Errors
    /// Not an administrator; [`EngineError::NotFound`]; the ledger's.
    pub async fn remove_runtime(&self, who: &Principal, name_or_id: &str) -> Result<Runtime, EngineError> {
        self.demand_here(who, Verb::RuntimeRemove).await?;
        let runtime = self.runtime(who, name_or_id).await?;
        self.ledger.remove_runtime(runtime.id, self.cautious_time().await?).await?;
        Ok(runtime)
    }
}

fn shown(who: &Principal, mut runtime: Runtime) -> Runtime {
    if !who.admin {
        runtime.registration = Value::Null;
    }
    runtime
}
