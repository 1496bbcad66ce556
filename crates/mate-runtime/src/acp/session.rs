//! Opening a session with a runtime.

use super::{
    AcpError,
    wire::{McpServer, Pair},
};
use serde_json::Value;
use std::{fmt, path::PathBuf};

/// The ways to the one MCP server that a session gets.
#[derive(Clone, Debug)]
pub struct McpEndpoints {
    /// The server's name, as the runtime shows it in front of the tools.
    pub name: String,
    /// Over loopback HTTP. Leave out for a runtime that would show the bearer in process arguments.
    pub http: Option<HttpEndpoint>,
    /// Over a relay that the runtime starts.
    pub stdio: Option<StdioEndpoint>,
}

/// A way over HTTP.
#[derive(Clone)]
pub struct HttpEndpoint {
    /// The whole address.
    pub url: String,
    /// The token of this session.
    pub bearer: String,
}

impl fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEndpoint").field("url", &self.url).finish_non_exhaustive()
    }
}

/// A way over a program's standard input and output. Holds no secret: arguments can be seen.
#[derive(Clone, Debug)]
pub struct StdioEndpoint {
    /// The program, absolute.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment beside the runtime's.
    pub env: Vec<(String, String)>,
}

/// Which way was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// HTTP.
    Http,
    /// The relay.
    Stdio,
}

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStart {
    /// The runtime's own id of it, to be kept for a later load.
    pub id: String,
    /// Which way it reaches its tools.
    pub via: Via,
    /// The mode it is in.
    pub mode: Option<String>,
    /// The modes it offers.
    pub modes: Vec<String>,
}

impl McpEndpoints {
    /// HTTP if the runtime takes it and it is offered, else the relay.
    pub(super) fn choose(&self, takes_http: bool) -> Result<(McpServer<'_>, Via), AcpError> {
        if let Some(http) = self.http.as_ref().filter(|_| takes_http) {
            let headers = [Pair { name: "Authorization", value: format!("Bearer {}", http.bearer) }];
            let server = McpServer::Http { r#type: "http", name: &self.name, url: &http.url, headers };
            return Ok((server, Via::Http));
        }
        let relay = self.stdio.as_ref().ok_or(AcpError::NoWay)?;
        let env = relay.env.iter().map(|(name, value)| Pair { name, value: value.clone() }).collect();
        let server = McpServer::Stdio { name: &self.name, command: &relay.command, args: &relay.args, env };
        Ok((server, Via::Stdio))
    }
}

/// What the answer to a new, load or resume request says of the modes.
pub(super) fn start(id: String, via: Via, answer: &Value) -> SessionStart {
    let modes = &answer["modes"];
    SessionStart {
        id,
        via,
        mode: super::parse::short(&modes["currentModeId"]),
        modes: super::parse::list(&modes["availableModes"])
            .filter_map(|mode| super::parse::short(&mode["id"]))
            .collect(),
    }
}
