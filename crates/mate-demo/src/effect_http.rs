//! The effect server over Streamable HTTP: one answer to each POST, and nothing unasked.

use crate::effect::{Server, respond};
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::json;
use std::sync::Arc;
use tokio::{io::AsyncWriteExt as _, net::TcpListener};

/// Serves on an address, which is told on standard output.
pub(crate) async fn serve(server: Arc<Server>, address: &str) -> Result<(), std::io::Error> {
    let listener = TcpListener::bind(address).await?;
    let ready = json!({ "url": format!("http://{}/mcp", listener.local_addr()?) });
    tokio::io::stdout().write_all(format!("{ready}\n").as_bytes()).await?;
    let app = Router::new().route("/mcp", post(take)).with_state(server);
    axum::serve(listener, app).await
}

async fn take(State(server): State<Arc<Server>>, body: Bytes) -> Response {
    let Ok(message) = serde_json::from_slice(&body) else { return StatusCode::BAD_REQUEST.into_response() };
    // A client that hangs up stops nothing.
    let answer = tokio::spawn(async move { respond(&server, message).await }).await;
    match answer {
        Ok(Some(answer)) => {
            ([(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
        }
        Ok(None) => StatusCode::ACCEPTED.into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
