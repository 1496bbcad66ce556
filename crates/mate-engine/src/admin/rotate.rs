//! Replacing a connection's secrets: from the next process or request on, also in sessions that live.

use super::NewConnection;
use crate::{Engine, EngineError, Principal, Verb};
use mate_guard::Secret;
use mate_model::records::Connection;
use std::collections::BTreeMap;

/// Which secrets are to be replaced, added or removed; the others stay.
#[derive(Debug, Default)]
pub struct Rotation {
    /// Variables of the upstream's process.
    pub secret_env: BTreeMap<String, Secret>,
    /// Headers sent to the upstream.
    pub headers: BTreeMap<String, Secret>,
    /// Names that the connection does not have are added; else they are refused.
    pub add: bool,
    /// Variables or headers that are removed.
    pub remove: Vec<String>,
}

/// A connection whose secrets were changed, and what became of each that was named.
#[derive(Debug)]
pub struct Rotated {
    /// The connection as it is now, without its secrets.
    pub connection: Connection,
    /// Names whose value was replaced.
    pub replaced: Vec<String>,
    /// Names that are new.
    pub added: Vec<String>,
    /// Names that are gone.
    pub removed: Vec<String>,
}

impl Rotation {
    /// Changes the secrets; says which were replaced, added and removed.
    fn apply(self, whole: &mut NewConnection) -> Result<[Vec<String>; 3], EngineError> {
        let (mut replaced, mut added) = (Vec::new(), Vec::new());
        for name in &self.remove {
            let before = whole.secret_env.len() + whole.headers.len();
            whole.secret_env.remove(name);
            whole.headers.retain(|known, _| !known.eq_ignore_ascii_case(name));
            if whole.secret_env.len() + whole.headers.len() == before {
                return Err(EngineError::invalid("remove", unknown(name, whole)));
            }
        }
        for (name, value) in self.secret_env {
            let known = whole.secret_env.contains_key(&name);
            if !known && !self.add {
                return Err(EngineError::invalid("secret_env", unknown(&name, whole)));
            }
            whole.secret_env.insert(name.clone(), value);
            if known { replaced.push(name) } else { added.push(name) }
        }
        for (name, value) in self.headers {
            // Headers are the same in any letters.
            let before = whole.headers.len();
            let known = whole.headers.keys().any(|known| known.eq_ignore_ascii_case(&name));
            if !known && !self.add {
                return Err(EngineError::invalid("headers", unknown(&name, whole)));
            }
            whole.headers.retain(|other, _| !other.eq_ignore_ascii_case(&name));
            let known = whole.headers.len() < before;
            whole.headers.insert(name.clone(), value);
            if known { replaced.push(name) } else { added.push(name) }
        }
        Ok([replaced, added, self.remove])
    }
}

fn unknown(name: &str, whole: &NewConnection) -> String {
    let known: Vec<_> = whole.secret_env.keys().chain(whole.headers.keys()).map(String::as_str).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!(
        "has {name}, and the connection has no secret of this name; it has: {known}. A new one needs `add`"
    )
}

impl Engine {
    /// Replaces the named secrets, adds those that are new where that is wished, and removes others. Raises the
    /// authorisation version.
    ///
    /// # Errors
    /// Nothing to change, a name that is not known, or a value that is wrong; not an administrator;
    /// [`EngineError::NotFound`]; that somebody else changes the connection at the same moment; the ledger's.
    pub async fn rotate_connection(
        &self,
        who: &Principal,
        name_or_id: &str,
        rotation: Rotation,
    ) -> Result<Rotated, EngineError> {
        self.demand_here(who, Verb::ConnectionRotate).await?;
        if rotation.secret_env.is_empty() && rotation.headers.is_empty() && rotation.remove.is_empty() {
            return Err(EngineError::invalid(
                "secret_env",
                "name at least one variable, or a header, to replace or to remove",
            ));
        }
        let before = self.whole_connection(who, name_or_id).await?;
        let mut whole = self.made_of(&before)?;
        let [replaced, added, removed] = rotation.apply(&mut whole)?;
        whole.check()?;
        let sealed = match whole.secrets()? {
            Some(clear) => Some(self.seal_for(before.id, &clear).await?),
            None => None,
        };
        let after = Connection { settings: whole.settings(), sealed, ..before.clone() };
        let connection = self.replace_connection(who, &before, after, &["secrets"]).await?;
        Ok(Rotated { connection, replaced, added, removed })
    }
}
