//! What was found.

use serde::{Deserialize, Serialize};

/// What is wrong, as a stable word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The program is not there.
    ProgramNotFound,
    /// The program may not be run.
    ProgramNotAllowed,
    /// The program cannot be started for another reason.
    CannotStart,
    /// The program ended before it was greeted.
    ProgramEnded,
    /// Nothing came in time.
    NoAnswer,
    /// What answers is no MCP server.
    NotMcp,
    /// The server refuses the handshake.
    HandshakeRefused,
    /// The server speaks a version of the protocol that Agent Mate does not.
    ProtocolVersion,
    /// The address cannot be used.
    BadAddress,
    /// The host's name is not known.
    HostNotFound,
    /// Nothing listens there.
    ConnectionRefused,
    /// The connection broke off.
    BrokeOff,
    /// The certificate is for another name.
    CertificateName,
    /// Nobody whom this machine trusts vouches for the certificate.
    CertificateIssuer,
    /// The certificate is not valid now.
    CertificateTime,
    /// TLS fails for another reason.
    Tls,
    /// It wants a token, or OAuth.
    NeedsAuthorization,
    /// It does not take the token that it was given.
    TokenRefused,
    /// The token does not allow enough.
    InsufficientScope,
    /// It refuses this caller.
    Forbidden,
    /// There is nothing at this path.
    WrongPath,
    /// It speaks the older transport only.
    SseOnly,
    /// It sends callers elsewhere.
    Redirected,
    /// It is out of order.
    ServerError,
    /// Another status.
    HttpStatus,
    /// The tools cannot be listed.
    CannotList,
    /// It offers no tool.
    NoTools,
    /// It offers more than is taken.
    TooManyTools,
    /// Two tools have one name.
    DuplicateTool,
    /// A tool that cannot be read.
    UnusableTool,
    /// A tool whose arguments cannot be checked; it cannot be called.
    BadSchema,
    /// A tool that is exposed under another name.
    RenamedTool,
}

/// One thing that is wrong or odd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Which.
    pub code: Code,
    /// What was found.
    pub detail: String,
    /// What to do next.
    pub next: String,
}

impl Finding {
    pub(super) fn new(code: Code, detail: impl Into<String>, next: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), next: next.into() }
    }
}

/// A tool as it would be offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbedTool {
    /// The upstream's name of it; grants use this one.
    pub name: String,
    /// The name under which a runtime sees it.
    pub exposed: String,
    /// What the upstream says of it, cut.
    pub description: Option<String>,
    /// Names of its arguments.
    pub arguments: Vec<String>,
    /// Whether the upstream says that it only reads.
    pub says_read_only: bool,
}

/// All that was found out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The version of the protocol that was agreed on.
    pub protocol: Option<String>,
    /// Why the connection cannot be used; `None`: it can.
    pub problem: Option<Finding>,
    /// What is odd and does no harm to the rest.
    pub notices: Vec<Finding>,
    /// The tools.
    pub tools: Vec<ProbedTool>,
    /// The last lines that the upstream wrote beside the protocol.
    pub said: Vec<String>,
}
