//! What a bridge is made of: connections, limits, and how a child process is started.

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use mate_model::ConnectionId;
use std::{fmt, path::PathBuf, sync::Arc, time::Duration};
use tokio::io::{AsyncRead, AsyncWrite};

/// A configured link to one upstream.
#[derive(Debug, Clone)]
pub struct ConnectionSpec {
    /// Its id in the ledger.
    pub id: ConnectionId,
    /// Its name; the prefix of its tools. `agent_mate` is refused.
    pub name: String,
    /// Expose its tools and prompts as `<name>__<tool>`; false: under their own names.
    pub prefixed: bool,
    /// The session's workspace is told to it as its root; false: it hears that there are no roots.
    pub roots: bool,
    /// How it is reached.
    pub transport: Transport,
    /// The longest that one call may take; `None`: [`Limits::call`].
    pub call_timeout: Option<Duration>,
    /// The longest from start to a finished handshake; `None`: [`Limits::start`].
    pub start_timeout: Option<Duration>,
}

/// How an upstream is reached.
#[derive(Debug, Clone)]
pub enum Transport {
    /// A child process that speaks over its standard streams.
    Stdio(StdioSpec),
    /// Streamable HTTP.
    Http(HttpSpec),
}

/// What a connection is given at the moment, where that may change while a session lives. Asked for each process and
/// each request.
#[async_trait]
pub trait Credentials: Send + Sync + 'static {
    /// Variables for a child, or headers for a request.
    ///
    /// # Errors
    /// Why there are none, in words: then nothing is started or sent.
    async fn current(&self) -> Result<Vec<(String, String)>, String>;

    /// An upstream has refused a request for what it was given (401).
    async fn refused(&self);

    /// Whether it is something else now than what was last given.
    async fn changed(&self) -> bool;
}

/// A child process. Environment values are secret and never printed.
#[derive(Clone)]
pub struct StdioSpec {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Added to whatever environment the spawner gives.
    pub env: Vec<(String, String)>,
    /// Its working directory; `None`: the spawner's choice.
    pub cwd: Option<PathBuf>,
    /// Variables that may change, in place of `env`.
    pub live: Option<Arc<dyn Credentials>>,
}

impl fmt::Debug for StdioSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("StdioSpec")
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("env", &names)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// A Streamable HTTP endpoint. Header values are secret and never printed.
#[derive(Clone)]
pub struct HttpSpec {
    /// The endpoint, `http` or `https`.
    pub url: String,
    /// Sent with every request.
    pub headers: Vec<(String, String)>,
    /// Headers that may change, besides `headers`.
    pub live: Option<Arc<dyn Credentials>>,
}

impl fmt::Debug for HttpSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("HttpSpec").field("headers", &names).finish_non_exhaustive()
    }
}

/// Starts upstream children inside the session's container.
#[async_trait]
pub trait Spawner: Send + Sync + 'static {
    /// Starts one child with pipes as standard streams.
    ///
    /// # Errors
    /// Why it could not be started, in words.
    async fn spawn(&self, connection: &str, spec: &StdioSpec) -> Result<Child, String>;
}

/// A started child.
pub struct Child {
    /// Its standard input.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its standard output.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// Its standard error, if it is to be read here.
    pub stderr: Option<Box<dyn AsyncRead + Send + Unpin>>,
    /// Resolves when it has ended, with how.
    pub exit: BoxFuture<'static, String>,
    /// Ends it. Called at most once; must not block.
    pub end: Box<dyn FnOnce() + Send>,
}

/// Bounds. The defaults suit a session on one machine.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The largest message in either direction, in bytes.
    pub message: usize,
    /// The deepest nesting that is passed on to the runtime.
    pub depth: usize,
    /// Calls in flight at one upstream; a call beyond is not sent.
    pub in_flight: usize,
    /// The longest that a call may take.
    pub call: Duration,
    /// The longest for a read such as a list or a resource.
    pub read: Duration,
    /// The longest from start to a finished handshake.
    pub start: Duration,
    /// How long the runtime's `initialize` waits for upstreams to say what they can.
    pub greet: Duration,
    /// How long a list waits for slow upstreams before it goes without them.
    pub list: Duration,
    /// Tools, resources, templates and prompts taken from one upstream, of each kind.
    pub items: usize,
    /// Bytes of all items of one kind of one upstream.
    pub items_bytes: usize,
    /// Items on one page to the runtime.
    pub page: usize,
    /// The longest exposed name. Runtimes add up to 17 characters, and model APIs stop at 64.
    pub name: usize,
    /// After this long without an answer a POST becomes a stream with keep-alive comments.
    pub quiet: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: 32 << 20,
            depth: 512,
            in_flight: 64,
            call: Duration::from_secs(600),
            read: Duration::from_secs(60),
            start: Duration::from_secs(60),
            greet: Duration::from_secs(5),
            list: Duration::from_secs(15),
            items: 1000,
            items_bytes: 16 << 20,
            page: 500,
            name: 47,
            quiet: Duration::from_secs(5),
        }
    }
}
