//! An upstream MCP server on rmcp, so that both ends of a comparison are an implementation that is not ours.

use std::{io::Write, path::PathBuf, time::Duration};

use clap::ValueEnum;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use serde_json::{Map, Value, json};

#[derive(clap::Args)]
pub(crate) struct Args {
    transport: Transport,
    /// Where the HTTP transport listens; port 0 takes any free one and prints it.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: String,
    /// Answers with JSON bodies where it may, instead of event streams.
    #[arg(long)]
    json: bool,
    /// Where `effect` records that it ran.
    #[arg(long)]
    effects: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Transport {
    Http,
    Stdio,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let fixture = Fixture { effects: args.effects };
    match args.transport {
        Transport::Http => crate::listen::serve(&args.listen, args.json, fixture).await,
        Transport::Stdio => {
            fixture.serve(rmcp::transport::stdio()).await?.waiting().await?;
            Ok(())
        }
    }
}

#[derive(Clone)]
struct Fixture {
    effects: Option<PathBuf>,
}

impl Fixture {
    fn note(&self, what: &str, key: &str) -> Result<(), ErrorData> {
        let Some(path) = &self.effects else { return Ok(()) };
        let write = || {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
            file.write_all(format!("{} {what} {key}\n", std::process::id()).as_bytes())
        };
        write().map_err(|error| ErrorData::internal_error(format!("{}: {error}", path.display()), None))
    }

    async fn effect(
        &self,
        key: &str,
        sleep: Duration,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        self.note("effect", key)?;
        tokio::select! {
            () = tokio::time::sleep(sleep) => {}
            () = cx.ct.cancelled() => {
                self.note("cancelled", key)?;
                return Err(ErrorData::internal_error("cancelled", None));
            }
        }
        self.note("done", key)?;
        Ok(text(format!("did {key}")))
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = [
            ("echo", "Gives the text back.", json!({"text": {"type": "string"}}), true),
            (
                "effect",
                "Records the key, then sleeps.",
                json!({"key": {"type": "string"}, "sleep_ms": {"type": "integer"}}),
                false,
            ),
            ("big", "Answers with that many bytes of text.", json!({"bytes": {"type": "integer"}}), true),
            (
                "blob",
                "Answers with about that many bytes of image.",
                json!({"bytes": {"type": "integer"}}),
                true,
            ),
        ];
        let tools: Result<Vec<Tool>, _> = tools.into_iter().map(|(n, d, p, r)| tool(n, d, &p, r)).collect();
        let tools = tools.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = request.arguments.unwrap_or_default();
        let result = match request.name.as_ref() {
            "echo" => text(string(&args, "text")),
            "effect" => {
                let sleep = Duration::from_millis(number(&args, "sleep_ms"));
                self.effect(&string(&args, "key"), sleep, &cx).await?
            }
            "big" => text("x".repeat(size(&args))),
            "blob" => CallToolResult::success(vec![ContentBlock::image(
                "A".repeat(size(&args) / 3 * 4),
                "image/png",
            )]),
            other => return Err(ErrorData::invalid_params(format!("no tool is called {other}"), None)),
        };
        Ok(result.into())
    }
}

fn tool(name: &str, description: &str, properties: &Value, read_only: bool) -> serde_json::Result<Tool> {
    serde_json::from_value(json!({
        "name": name,
        "description": description,
        "annotations": {"readOnlyHint": read_only},
        "inputSchema": {"type": "object", "properties": properties},
    }))
}

fn text(text: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn string(args: &Map<String, Value>, key: &str) -> String {
    args.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn number(args: &Map<String, Value>, key: &str) -> u64 {
    args.get(key).and_then(Value::as_u64).unwrap_or_default()
}

fn size(args: &Map<String, Value>) -> usize {
    usize::try_from(number(args, "bytes")).unwrap_or_default().min(256 << 20)
}
