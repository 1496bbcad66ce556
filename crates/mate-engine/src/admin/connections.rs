//! Connections: configured links to upstream MCP servers. Their secrets are sealed and never shown again.

use super::{InFlight, Listing, Paging, check, in_flight::Taken, recipes};
use crate::{Engine, EngineError, Principal, Verb};
use mate_guard::{Place, Secret};
use mate_model::{
    ConnectionId,
    event::EventType,
    records::{Connection, ConnectionSettings, Reach},
    verification::Recipe,
    words::EffectClass,
};
use mate_store::LedgerError;
use serde_json::json;
use std::{collections::BTreeMap, fmt};
use uuid::Uuid;
use zeroize::Zeroizing;

/// The most bytes of one secret.
const SECRET: usize = 64 * 1024;

/// The most secrets, headers or recorded fields of one connection.
const MANY: usize = 100;

/// Headers that the transport sets itself.
const TRANSPORT: [&str; 9] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "content-type",
    "accept",
    "mcp-session-id",
    "mcp-protocol-version",
    "last-event-id",
];

/// What a connection is made of.
pub struct NewConnection {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// Values for environment variables of the upstream's process.
    pub secret_env: BTreeMap<String, Secret>,
    /// Values of headers sent to the upstream.
    pub headers: BTreeMap<String, Secret>,
    /// `TOOL.FIELD`: arguments that are recorded as they are.
    pub allow_fields: Vec<String>,
    /// Its tools appear without its name before them.
    pub bare: bool,
    /// The upstream's annotations decide the effect class where a grant is silent.
    pub trust_annotations: bool,
    /// The effect class where a grant is silent.
    pub effect: Option<EffectClass>,
    /// How calls whose outcome is unknown are looked for.
    pub verify: Vec<Recipe>,
    /// The session's workspace is told to the upstream as its root.
    pub workspace_root: bool,
}

impl fmt::Debug for NewConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewConnection").field("name", &self.name).finish_non_exhaustive()
    }
}

impl NewConnection {
    pub(super) fn check(&self) -> Result<(), EngineError> {
        check::connection_name(&self.name)?;
        match &self.reach {
            Reach::Stdio { command } => {
                check::command(command)?;
                if !self.headers.is_empty() {
                    return Err(EngineError::invalid(
                        "headers",
                        "only a connection with a url sends headers",
                    ));
                }
            }
            Reach::Http { url } => {
                check::url(url)?;
                if !self.secret_env.is_empty() {
                    return Err(EngineError::invalid(
                        "secret_env",
                        "only a connection with a command has a process",
                    ));
                }
            }
        }
        self.check_env()?;
        self.check_headers()?;
        let fields = &self.allow_fields;
        if fields.len() > MANY || !fields.iter().all(|field| check::is_tool_field(field)) {
            return Err(EngineError::invalid(
                "allow_fields",
                "must be at most 100, each TOOL.FIELD, or *.FIELD for every tool",
            ));
        }
        recipes::check(&self.verify, fields)
    }

    fn check_env(&self) -> Result<(), EngineError> {
        let wrong = |why: &str| Err(EngineError::invalid("secret_env", why));
        if self.secret_env.len() > MANY {
            return wrong("has more than 100 variables");
        }
        for (name, value) in &self.secret_env {
            if !check::is_variable(name) {
                return wrong("names must be of A-Z, a-z, 0-9 and `_`, and not begin with a digit");
            }
            if value.expose().len() > SECRET || value.expose().contains(&0) {
                return wrong("a value has a NUL character or more than 64 KiB");
            }
        }
        Ok(())
    }

    fn check_headers(&self) -> Result<(), EngineError> {
        let wrong = |why: &str| Err(EngineError::invalid("headers", why));
        if self.headers.len() > MANY {
            return wrong("has more than 100 headers");
        }
        for (name, value) in &self.headers {
            if !check::is_header(name) {
                return wrong("a name must be an HTTP header's");
            }
            if TRANSPORT.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                return wrong(
                    "headers of the transport (Host, Content-Type, Mcp-Session-Id, ...) are set by Agent Mate",
                );
            }
            let printable = value.expose().iter().all(|b| matches!(b, b' '..=b'~' | b'\t'));
            if value.expose().len() > SECRET || !printable {
                return wrong("a value must be printable ASCII of at most 64 KiB, without a line break");
            }
        }
        Ok(())
    }

    /// The secrets as one JSON object, wiped when dropped; none when there are none.
    pub(super) fn secrets(&self) -> Result<Option<Zeroizing<Vec<u8>>>, EngineError> {
        if self.secret_env.is_empty() && self.headers.is_empty() {
            return Ok(None);
        }
        let mut json = Zeroizing::new(Vec::with_capacity(4 * SECRET));
        json.extend_from_slice(b"{\"env\":");
        put(&mut json, "secret_env", &self.secret_env)?;
        json.extend_from_slice(b",\"headers\":");
        put(&mut json, "headers", &self.headers)?;
        json.push(b'}');
        Ok(Some(json))
    }

    pub(super) fn settings(&self) -> ConnectionSettings {
        ConnectionSettings {
            bare: self.bare,
            trust_annotations: self.trust_annotations,
            effect: self.effect,
            allow_fields: self.allow_fields.clone(),
            secret_env: self.secret_env.keys().cloned().collect(),
            headers: self.headers.keys().cloned().collect(),
            verify: self.verify.clone(),
            workspace_root: self.workspace_root,
        }
    }
}

fn put(
    json: &mut Vec<u8>,
    field: &'static str,
    secrets: &BTreeMap<String, Secret>,
) -> Result<(), EngineError> {
    let texts: Option<BTreeMap<&str, &str>> =
        secrets.iter().map(|(name, value)| Some((name.as_str(), value.expose_text()?))).collect();
    let texts = texts.ok_or_else(|| EngineError::invalid(field, "a value is not UTF-8"))?;
    serde_json::to_writer(json, &texts).map_err(|error| EngineError::Internal(error.to_string()))
}

impl Engine {
    /// Adds a connection. Asked again with the same `id`, it answers with the first one.
    ///
    /// # Errors
    /// A value that is wrong, a name that is taken; not an administrator; the ledger's.
    pub async fn add_connection(
        &self,
        who: &Principal,
        id: Uuid,
        new: NewConnection,
    ) -> Result<Connection, EngineError> {
        self.demand_here(who, Verb::ConnectionAdd).await?;
        new.check()?;
        let id = ConnectionId::new(id);
        let sealed = match new.secrets()? {
            Some(clear) => Some(self.seal_for(id, &clear).await?),
            None => None,
        };
        let connection = Connection {
            id,
            settings: new.settings(),
            name: new.name,
            reach: new.reach,
            sealed,
            created_at: self.writing_time().await?,
            removed_at: None,
        };
        match self.ledger.add_connection(&connection).await {
            Ok(()) => Ok(connection),
            Err(taken @ LedgerError::Taken(_)) => {
                self.ledger.connection(id).await?.ok_or_else(|| taken.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn seal_for(&self, id: ConnectionId, clear: &[u8]) -> Result<Vec<u8>, EngineError> {
        let id = id.to_string();
        let place = Place { table: "connections", id: &id, column: "sealed" };
        self.seal(place, clear).await
    }

    /// The connection with this name or id, without its secrets.
    ///
    /// # Errors
    /// [`EngineError::NotFound`], also for one that was removed, and for who neither administers connections nor
    /// owns a project.
    pub async fn connection(&self, who: &Principal, name_or_id: &str) -> Result<Connection, EngineError> {
        self.demand_here(who, Verb::ConnectionShow).await?;
        let found = match name_or_id.parse() {
            Ok(id) => self.ledger.connection(id).await?,
            Err(_) if check::is_name(name_or_id) => self.ledger.connection_by_name(name_or_id).await?,
            Err(_) => None,
        };
        found
            .filter(|connection| connection.removed_at.is_none())
            .map(without_secrets)
            .ok_or(EngineError::NotFound)
    }

    /// The connections, by age, without their secrets; none for who may not see them.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn connections(
        &self,
        who: &Principal,
        page: &Paging,
    ) -> Result<Listing<Connection>, EngineError> {
        if !self.sees(who, Verb::ConnectionList).await? {
            return Ok(Listing::empty());
        }
        let list: Listing<_> = self.ledger.connections(page.position()?, page.limit).await?.into();
        Ok(list.map(without_secrets))
    }

    /// Removes a connection and its secrets: what was granted of it is refused from here on. Answers
    /// what was removed.
    ///
    /// # Errors
    /// Not an administrator; [`EngineError::NotFound`]; the ledger's.
    pub async fn remove_connection(
        &self,
        who: &Principal,
        name_or_id: &str,
    ) -> Result<(Connection, InFlight), EngineError> {
        self.demand_here(who, Verb::ConnectionRemove).await?;
        let connection = self.connection(who, name_or_id).await?;
        let at = self.cautious_time().await?;
        let projects = self.ledger.granted_to(connection.id, Paging::MOST).await?;
        self.ledger.remove_connection(connection.id, at).await?;
        self.log_change(who, EventType::ConnectionRemoved, &connection.name);
        let data = json!({
            "by": who.account, "connection": connection.id, "connection_name": connection.name,
        });
        let in_flight = self.in_flight(who, &projects, Taken::Connection(connection.id)).await;
        self.tell_projects(projects, EventType::ConnectionRemoved, &data).await;
        Ok((connection, in_flight))
    }
}

fn without_secrets(mut connection: Connection) -> Connection {
    connection.sealed = None;
    connection
}
