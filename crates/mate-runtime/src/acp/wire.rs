//! What is sent to a runtime: the protocol's own words, and no other.

use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;

/// The version of the protocol that is spoken.
pub(super) const VERSION: u16 = 1;

/// What a runtime is told.
pub(super) trait Said: Serialize + Sync {
    /// The protocol's name for it.
    const METHOD: &'static str;
}

/// Names the methods of what is said.
macro_rules! said {
    ($($kind:ident => $method:literal;)*) => {
        $(impl Said for $kind<'_> { const METHOD: &'static str = $method; })*
    };
}

said! {
    Initialize => "initialize";
    Authenticate => "authenticate";
    NewSession => "session/new";
    LoadSession => "session/load";
    ResumeSession => "session/resume";
    SetMode => "session/set_mode";
    Prompt => "session/prompt";
    CancelTurn => "session/cancel";
}

/// Introduces this client, which offers neither files nor terminals.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initialize<'a> {
    protocol_version: u16,
    client_capabilities: Value,
    client_info: Named<'a>,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
    version: &'a str,
}

impl<'a> Initialize<'a> {
    pub(super) fn of(name: &'a str, version: &'a str) -> Self {
        let client_capabilities = json!({
            "fs": {"readTextFile": false, "writeTextFile": false},
            "terminal": false,
            "auth": {"terminal": false},
        });
        Self { protocol_version: VERSION, client_capabilities, client_info: Named { name, version } }
    }
}

/// Chooses a way to authenticate.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Authenticate<'a> {
    pub(super) method_id: &'a str,
}

/// Opens a session with the one MCP server that it gets.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewSession<'a> {
    pub(super) cwd: &'a Path,
    pub(super) mcp_servers: [McpServer<'a>; 1],
}

/// Loads an earlier session, whose history is told again.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoadSession<'a> {
    pub(super) session_id: &'a str,
    pub(super) cwd: &'a Path,
    pub(super) mcp_servers: [McpServer<'a>; 1],
}

/// Resumes an earlier session, whose history is not told.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResumeSession<'a> {
    pub(super) session_id: &'a str,
    pub(super) cwd: &'a Path,
    pub(super) mcp_servers: [McpServer<'a>; 1],
}

/// An MCP server, and how it is reached.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum McpServer<'a> {
    /// Over HTTP, named by its type.
    Http { r#type: &'static str, name: &'a str, url: &'a str, headers: [Pair<'a>; 1] },
    /// Over a program's standard streams; the protocol gives this one no type.
    Stdio { name: &'a str, command: &'a Path, args: &'a [String], env: Vec<Pair<'a>> },
}

/// A header or a variable.
#[derive(Serialize)]
pub(super) struct Pair<'a> {
    pub(super) name: &'a str,
    pub(super) value: String,
}

/// Puts a session into a mode.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetMode<'a> {
    pub(super) session_id: &'a str,
    pub(super) mode_id: &'a str,
}

/// Begins a turn.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Prompt<'a> {
    session_id: &'a str,
    prompt: [Text<'a>; 1],
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
}

impl<'a> Prompt<'a> {
    pub(super) fn of(session_id: &'a str, text: &'a str) -> Self {
        Self { session_id, prompt: [Text { r#type: "text", text }] }
    }
}

/// Asks for the end of a turn; a notification.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CancelTurn<'a> {
    pub(super) session_id: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The method and the parameters, as they are written.
    fn said<S: Said>(message: &S) -> String {
        format!("{} {}", S::METHOD, serde_json::to_string(message).unwrap())
    }

    fn stdio() -> McpServer<'static> {
        let env = vec![Pair { name: "A", value: "b".to_owned() }];
        McpServer::Stdio { name: "agent-mate", command: Path::new("/bin/mate"), args: &[], env }
    }

    #[test]
    fn what_is_said_is_the_protocol_to_the_letter() {
        let headers = [Pair { name: "Authorization", value: "Bearer t".to_owned() }];
        let http = McpServer::Http { r#type: "http", name: "m", url: "http://127.0.0.1:1/mcp", headers };
        let cwd = Path::new("/w");
        for (said, expected) in [
            (
                said(&Initialize::of("agent-mate", "0.1.0")),
                r#"initialize {"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false,"auth":{"terminal":false}},"clientInfo":{"name":"agent-mate","version":"0.1.0"}}"#,
            ),
            (said(&Authenticate { method_id: "api-key" }), r#"authenticate {"methodId":"api-key"}"#),
            (
                said(&NewSession { cwd, mcp_servers: [http] }),
                r#"session/new {"cwd":"/w","mcpServers":[{"type":"http","name":"m","url":"http://127.0.0.1:1/mcp","headers":[{"name":"Authorization","value":"Bearer t"}]}]}"#,
            ),
            (
                said(&LoadSession { session_id: "s", cwd, mcp_servers: [stdio()] }),
                r#"session/load {"sessionId":"s","cwd":"/w","mcpServers":[{"name":"agent-mate","command":"/bin/mate","args":[],"env":[{"name":"A","value":"b"}]}]}"#,
            ),
            (
                said(&ResumeSession { session_id: "s", cwd, mcp_servers: [stdio()] }),
                r#"session/resume {"sessionId":"s","cwd":"/w","mcpServers":[{"name":"agent-mate","command":"/bin/mate","args":[],"env":[{"name":"A","value":"b"}]}]}"#,
            ),
            (
                said(&SetMode { session_id: "s", mode_id: "plan" }),
                r#"session/set_mode {"sessionId":"s","modeId":"plan"}"#,
            ),
            (
                said(&Prompt::of("s", "a\u{2028}\n\"")),
                "session/prompt {\"sessionId\":\"s\",\"prompt\":[{\"type\":\"text\",\"text\":\"a\u{2028}\\n\\\"\"}]}",
            ),
            (said(&CancelTurn { session_id: "s" }), r#"session/cancel {"sessionId":"s"}"#),
        ] {
            assert_eq!(said, expected);
        }
    }

    #[test]
    fn a_path_that_is_no_text_cannot_be_said() {
        use std::os::unix::ffi::OsStrExt as _;
        let cwd = Path::new(std::ffi::OsStr::from_bytes(b"/\xff"));
        assert!(serde_json::to_string(&NewSession { cwd, mcp_servers: [stdio()] }).is_err());
    }
}
