//! `agent-mate open`

use super::{
    Context,
    exit::{Exit, Failure},
    show::text_at,
};
use clap::Args;
use serde_json::json;
use std::{
    env,
    io::{IsTerminal, stdout},
    process::{Command, Stdio},
};

/// `open`
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct OpenArgs {
    /// Only print the link
    #[arg(long)]
    print: bool,
}

/// Makes a link that signs one browser in, once, and opens it where there is a screen.
pub(crate) async fn run(arguments: OpenArgs, context: &Context) -> Result<Exit, Failure> {
    let (client, screen) = (context.client()?, &context.screen);
    let made = client.post(&["browser", "links"], &json!({}), None).await?;
    let url = match env::var("AGENT_MATE_URL") {
        Ok(base) if !base.is_empty() => format!("{}{}", base.trim_end_matches('/'), text_at(&made, "path")),
        Ok(_) | Err(_) => text_at(&made, "url").to_owned(),
    };
    if screen.json {
        screen.document(&json!({ "url": url, "expires_at": made["expires_at"] }))?;
        return Ok(Exit::Done);
    }
    screen.line(&url)?;
    let shown = !arguments.print && stdout().is_terminal() && opened(&url);
    screen.line(if shown {
        "It opens in your browser, and signs that in. The link is good for a minute, and once."
    } else {
        "Open it in a browser: it signs that in. The link is good for a minute, and once."
    })?;
    Ok(Exit::Done)
}

/// Whether there is a screen, and something that opens a link on it.
fn opened(url: &str) -> bool {
    let screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some());
    let quiet = || Stdio::null();
    screen && Command::new("xdg-open").arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn().is_ok()
}
