//! A runtime whose agent is a script that stands in the prompt.
//!
//! It speaks the Agent Client Protocol over standard input and output as any runtime does, calls tools
//! through the MCP servers it is given, keeps its sessions under `$HOME`, and has no model. It is
//! written against the wire, without the library that the other side uses.
//!
//! The script is `STUB[[ [step, ...] ]]`; the last one in the prompt counts. See [`script::Step`].

mod again;
mod http;
mod mcp;
mod pipe;
mod play;
mod script;
mod serve;
mod session;
mod talk;
mod told;

use std::{ffi::OsString, process::ExitCode};

use serve::{Load, Options};

const USAGE: &str = "usage: scripted-runtime [--no-http] [--no-load] [--no-list] [--resume] [--load=WAY]; \
                     WAY: well, error, other, empty, late, quit";

/// The hidden subcommand `scripted-runtime [--no-http] [--no-load] [--no-list] [--resume] [--load=WAY]`;
/// ends with its input.
///
/// Environment: `HOME` holds the sessions; each prompt is appended as one line of JSON to the file
/// `SCRIPTED_LOG`, and each tool result that it was told to the file `SCRIPTED_TOLD`.
pub async fn scripted_runtime_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut options = Options { http: true, load: Some(Load::Well), list: true, resume: false };
    for arg in args {
        match arg.to_str() {
            Some("--no-http") => options.http = false,
            Some("--no-load") => options.load = None,
            Some("--no-list") => options.list = false,
            Some("--resume") => options.resume = true,
            Some(other) => match other.strip_prefix("--load=").and_then(Load::named) {
                Some(load) => options.load = Some(load),
                None => return usage(),
            },
            None => return usage(),
        }
    }
    serve::serve(options).await
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}
