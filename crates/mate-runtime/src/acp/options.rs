//! What the owner of a connection chooses, and what it learns.

use super::{AcpError, link::OnStderr, parse, wire};
use serde_json::Value;
use std::{fmt, time::Duration};

/// How a runtime is spoken to.
#[derive(Clone)]
pub struct AgentOptions {
    /// The name this client gives itself.
    pub client_name: String,
    /// Its version.
    pub client_version: String,
    /// The authentication method to choose, if the runtime wants one.
    pub auth_method: Option<String>,
    /// How long the runtime may take to introduce itself.
    pub initialize_timeout: Duration,
    /// How long it may take to open, load or resume a session, or to authenticate.
    pub session_timeout: Duration,
    /// How long one line of its output may be, in bytes.
    pub max_line: usize,
    /// How many events wait for the owner; a runtime that is faster waits, too.
    pub events: usize,
    /// Reads each line of its standard error; not redacted.
    pub on_stderr: Option<OnStderr>,
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self {
            client_name: "agent-mate".to_owned(),
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
            auth_method: None,
            initialize_timeout: Duration::from_secs(60),
            session_timeout: Duration::from_secs(120),
            max_line: 16 << 20,
            events: 256,
            on_stderr: None,
        }
    }
}

impl fmt::Debug for AgentOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentOptions")
            .field("auth_method", &self.auth_method)
            .field("initialize_timeout", &self.initialize_timeout)
            .field("session_timeout", &self.session_timeout)
            .field("max_line", &self.max_line)
            .finish_non_exhaustive()
    }
}

/// How a runtime introduced itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentInfo {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Whether it takes MCP servers over HTTP.
    pub mcp_http: bool,
    /// Whether it can load an earlier session, and tell its history again.
    pub load: bool,
    /// Whether it can resume an earlier session without telling its history.
    pub resume: bool,
    /// The authentication methods that it offers.
    pub auth_methods: Vec<String>,
}

impl AgentInfo {
    /// What the answer to `initialize` says. What a runtime does not say it does not offer.
    ///
    /// # Errors
    /// When it speaks another version.
    pub(super) fn read(answer: &Value) -> Result<Self, AcpError> {
        let version = &answer["protocolVersion"];
        if *version != wire::VERSION {
            return Err(AcpError::Version { version: parse::cut(&version.to_string(), 40) });
        }
        let abilities = &answer["agentCapabilities"];
        let resume = &abilities["sessionCapabilities"]["resume"];
        Ok(Self {
            name: parse::short(&answer["agentInfo"]["name"]),
            version: parse::short(&answer["agentInfo"]["version"]),
            mcp_http: abilities["mcpCapabilities"]["http"] == true,
            load: abilities["loadSession"] == true,
            resume: resume.is_object() || *resume == true,
            auth_methods: parse::list(&answer["authMethods"])
                .filter_map(|method| parse::short(&method["id"]))
                .collect(),
        })
    }
}
