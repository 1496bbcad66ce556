//! The yardstick: one upstream client shared by all sessions, names passed through, no policy, no record.

use rmcp::{
    ClientHandler, ErrorData, Peer, RoleClient, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
        ServerConfig,
    },
    service::RequestContext,
    transport::{
        StreamableHttpClientTransport, TokioChildProcess,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The upstream's URL, or `stdio:PROGRAM ARG...` for a child.
    upstream: String,
    /// Where it listens; port 0 takes any free one and prints it.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: String,
    /// Answers with JSON bodies where it may, instead of event streams.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let client = if let Some(command) = args.upstream.strip_prefix("stdio:") {
        let mut words = command.split(' ');
        let mut child = tokio::process::Command::new(words.next().unwrap_or_default());
        child.args(words);
        Client.serve(TokioChildProcess::new(child)?).await?
    } else {
        // Its default would send a call again after a 404.
        let config = StreamableHttpClientTransportConfig::with_uri(args.upstream)
            .reinit_on_expired_session(false)
            .max_concurrent_requests(256);
        Client.serve(StreamableHttpClientTransport::from_config(config)).await?
    };
    crate::listen::serve(&args.listen, args.json, Proxy { upstream: client.peer().clone() }).await
}

struct Client;

impl ClientHandler for Client {}

#[derive(Clone)]
struct Proxy {
    upstream: Peer<RoleClient>,
}

impl ServerHandler for Proxy {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.upstream
            .list_tools(page)
            .await
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // The metadata belongs to the hop that it came over.
        request.meta = None;
        tokio::select! {
            answer = self.upstream.call_tool_once(request) => {
                answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))
            }
            () = cx.ct.cancelled() => Err(ErrorData::internal_error("cancelled by the caller", None)),
        }
    }
}
