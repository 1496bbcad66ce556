//! Changing what is set on a connection: from the next call on, also in sessions that live.

use super::NewConnection;
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{event::EventType, records::Connection, verification::Recipe, words::EffectClass};
use mate_store::LedgerError;
use serde_json::json;

/// What is to be changed; what is not named stays.
#[derive(Clone, Debug, Default)]
pub struct ConnectionChange {
    /// `TOOL.FIELD`, or `*.FIELD`: arguments that are recorded as they are from now on.
    pub add_fields: Vec<String>,
    /// Those that are not any more.
    pub remove_fields: Vec<String>,
    /// The effect class where a grant is silent; inner `None`: none.
    pub effect: Option<Option<EffectClass>>,
    /// Whether the upstream's annotations decide it.
    pub trust_annotations: Option<bool>,
    /// Whether the upstream is told the session's workspace as its root, from its next start or session on.
    pub workspace_root: Option<bool>,
    /// Recipes, in place of those that are there.
    pub verify: Option<Vec<Recipe>>,
}

impl ConnectionChange {
    /// What it names.
    fn named(&self) -> Vec<&'static str> {
        let named = [
            ("allow_fields", !self.add_fields.is_empty() || !self.remove_fields.is_empty()),
            ("effect", self.effect.is_some()),
            ("trust_annotations", self.trust_annotations.is_some()),
            ("workspace_root", self.workspace_root.is_some()),
            ("verify", self.verify.is_some()),
        ];
        named.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect()
    }

    fn apply(self, whole: &mut NewConnection) -> Result<(), EngineError> {
        let fields = &mut whole.allow_fields;
        for field in &self.remove_fields {
            let before = fields.len();
            fields.retain(|known| known != field);
            if fields.len() == before {
                let known = if fields.is_empty() { "none".to_owned() } else { fields.join(", ") };
                let why = format!("has {field}, which is not recorded; recorded are: {known}");
                return Err(EngineError::invalid("remove_fields", why));
            }
        }
        for field in self.add_fields {
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        whole.effect = self.effect.unwrap_or(whole.effect);
        whole.trust_annotations = self.trust_annotations.unwrap_or(whole.trust_annotations);
        whole.workspace_root = self.workspace_root.unwrap_or(whole.workspace_root);
        if let Some(verify) = self.verify {
            whole.verify = verify;
        }
        Ok(())
    }
}

impl Engine {
    /// Changes what is set on a connection, and raises the authorisation version: the next call is judged by it.
    ///
    /// # Errors
    /// Nothing to change, or a value that is wrong; not an administrator; [`EngineError::NotFound`]; that somebody else
    /// changes it at the same moment; the ledger's.
    pub async fn set_connection(
        &self,
        who: &Principal,
        name_or_id: &str,
        change: ConnectionChange,
    ) -> Result<Connection, EngineError> {
        self.demand_here(who, Verb::ConnectionSet).await?;
        let changed = change.named();
        if changed.is_empty() {
            return Err(EngineError::invalid("add_fields", "name at least one setting to change"));
        }
        let before = self.whole_connection(who, name_or_id).await?;
        let mut whole = self.made_of(&before)?;
        change.apply(&mut whole)?;
        whole.check()?;
        let after = Connection { settings: whole.settings(), ..before.clone() };
        self.replace_connection(who, &before, after, &changed).await
    }

    /// The connection with its secrets, sealed.
    pub(super) async fn whole_connection(
        &self,
        who: &Principal,
        name_or_id: &str,
    ) -> Result<Connection, EngineError> {
        let found = self.connection(who, name_or_id).await?;
        self.ledger.connection(found.id).await?.ok_or(EngineError::NotFound)
    }

    /// What a connection is made of.
    pub(super) fn made_of(&self, connection: &Connection) -> Result<NewConnection, EngineError> {
        let (opened, settings) = (self.open_secrets(connection)?, connection.settings.clone());
        Ok(NewConnection {
            name: connection.name.clone(),
            reach: connection.reach.clone(),
            secret_env: opened.env.into_iter().collect(),
            headers: opened.headers.into_iter().collect(),
            allow_fields: settings.allow_fields,
            bare: settings.bare,
            trust_annotations: settings.trust_annotations,
            effect: settings.effect,
            verify: settings.verify,
            workspace_root: settings.workspace_root,
        })
    }

    /// Writes a changed connection in place of `before`, and tells the projects that were granted of it.
    pub(super) async fn replace_connection(
        &self,
        who: &Principal,
        before: &Connection,
        after: Connection,
        changed: &[&str],
    ) -> Result<Connection, EngineError> {
        match self.ledger.change_connection(&after, before).await {
            Ok(()) => {}
            Err(LedgerError::NotFound(_)) => {
                return Err(EngineError::refused(
                    "changed_meanwhile",
                    "somebody else changed the connection at the same moment: look again, then repeat",
                ));
            }
            Err(error) => return Err(error.into()),
        }
        self.log_change(who, EventType::ConnectionChanged, &after.name);
        let data = json!({
            "by": who.account, "connection": after.id, "connection_name": after.name, "changed": changed,
        });
        // It holds already; a project that cannot be told of it is logged.
        match self.ledger.granted_to(after.id, super::Paging::MOST).await {
            Ok(projects) => self.tell_projects(projects, EventType::ConnectionChanged, &data).await,
            Err(error) => tracing::warn!(%error, "the projects of a changed connection could not be told"),
        }
        Ok(Connection { sealed: None, ..after })
    }
}
