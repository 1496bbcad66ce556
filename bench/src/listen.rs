//! How the small servers here listen: loopback, no Nagle delay, first line `{"listening": URL}`, gone at end of input.

use anyhow::Context;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use tokio::io::{AsyncReadExt, stdin};

/// Serves `handler` at `/mcp` until standard input closes, so that nothing outlives who started it.
pub(crate) async fn serve<H>(listen: &str, json: bool, handler: H) -> anyhow::Result<()>
where
    H: rmcp::ServerHandler + Clone,
{
    let config = StreamableHttpServerConfig::default().with_json_response(json);
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        LocalSessionManager::default().into(),
        config,
    );
    let listener =
        tokio::net::TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
    println!("{}", serde_json::json!({"listening": format!("http://{}/mcp", listener.local_addr()?)}));
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        // Without this each small answer waits 40 ms for an acknowledgement.
        let _ = stream.set_nodelay(true);
    });
    let app = axum::Router::new().nest_service("/mcp", service);
    tokio::select! {
        ended = async { axum::serve(listener, app).await } => Ok(ended?),
        () = end_of_input() => Ok(()),
    }
}

async fn end_of_input() {
    let mut buffer = [0_u8; 64];
    let mut input = stdin();
    while matches!(input.read(&mut buffer).await, Ok(n) if n > 0) {}
}
