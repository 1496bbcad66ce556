//! Replacing a connection's secrets: from the next process or request on, also in sessions that live.

use super::NewConnection;
use crate::{Engine, EngineError, Principal, Verb};
use mate_guard::Secret;
use mate_model::records::Connection;
use mate_store::LedgerError;
use std::collections::BTreeMap;

impl Engine {
    /// Replaces the named secrets and adds those that are new; the others stay. Raises the authorisation version.
    ///
    /// # Errors
    /// Nothing to replace, or a value that is wrong; not an administrator; [`EngineError::NotFound`]; that somebody else
    /// replaces others at the same moment; the ledger's.
    pub async fn rotate_connection(
        &self,
        who: &Principal,
        name_or_id: &str,
        secret_env: BTreeMap<String, Secret>,
        headers: BTreeMap<String, Secret>,
    ) -> Result<Connection, EngineError> {
        self.demand_here(who, Verb::ConnectionRotate).await?;
        if secret_env.is_empty() && headers.is_empty() {
            return Err(EngineError::invalid(
                "secret_env",
                "name at least one variable, or a header, to replace",
            ));
        }
        let found = self.connection(who, name_or_id).await?;
        let before = self.ledger.connection(found.id).await?.ok_or(EngineError::NotFound)?;
        let opened = self.open_secrets(&before)?;
        let mut whole = NewConnection {
            name: before.name.clone(),
            reach: before.reach.clone(),
            secret_env: opened.env.into_iter().collect(),
            headers: opened.headers.into_iter().collect(),
            allow_fields: before.settings.allow_fields.clone(),
            bare: before.settings.bare,
            trust_annotations: before.settings.trust_annotations,
            effect: before.settings.effect,
            verify: before.settings.verify.clone(),
        };
        whole.secret_env.extend(secret_env);
        for (name, value) in headers {
            // Headers are the same in any letters.
            whole.headers.retain(|other, _| !other.eq_ignore_ascii_case(&name));
            whole.headers.insert(name, value);
        }
        whole.check()?;
        let sealed = whole.secrets()?.map(|clear| self.seal_for(before.id, &clear)).transpose()?;
        let after = Connection { settings: whole.settings(), sealed, ..before.clone() };
        match self.ledger.reseal_connection(&after, before.sealed.as_deref()).await {
            Ok(()) => Ok(Connection { sealed: None, ..after }),
            Err(LedgerError::NotFound(_)) => Err(EngineError::refused(
                "changed_meanwhile",
                "somebody else changed the connection at the same moment: look again, then repeat",
            )),
            Err(error) => Err(error.into()),
        }
    }
}
