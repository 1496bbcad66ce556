//! `agent-mate runtime`

use super::{
    Context,
    exit::{Exit, Failure},
    input,
    limits::LimitArgs,
    list::PageArgs,
    show::{at, column, plain, text_at},
};
use clap::{Args, Subcommand};
use mate_guard::text;
use mate_runtime::presets;
use mate_server::wire::AddRuntime;
use serde_json::json;

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum RuntimeVerb {
    /// Register an agent program: a preset, or a command that speaks ACP on its standard streams
    Add {
        /// Its name
        name: String,
        /// A program whose way to be launched is known
        #[arg(long, value_name = "PRESET", required_unless_present = "command")]
        preset: Option<String>,
        /// Show its tasks as quiet when nothing was heard of them for so long: 90, 90s, 5m, 2h [default: 60s]
        #[arg(long, value_name = "TIME", value_parser = input::seconds)]
        quiet: Option<u32>,
        /// Ask its tasks to stop so long after their start, unless they say otherwise [default: never]
        #[arg(long, value_name = "TIME", value_parser = input::seconds)]
        deadline: Option<u32>,
        #[command(flatten)]
        limits: LimitArgs,
        #[command(flatten)]
        launch: Box<LaunchArgs>,
        /// The program and its arguments
        #[arg(last = true, value_name = "COMMAND")]
        command: Option<Vec<String>>,
    },
    /// List those that are registered
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show one
    Show {
        /// Its name or id
        runtime: String,
    },
    /// List the programs whose way to be launched is known
    Presets,
    /// Remove one; its sessions keep their history
    Remove {
        /// Its name or id
        runtime: String,
    },
}

/// How the program is launched, where that differs from the preset's.
#[derive(Args, Debug)]
pub(crate) struct LaunchArgs {
    /// An environment variable with a fixed value; no secrets, which are passed on by name
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Pass this variable on from the environment of `agent-mate serve`
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    /// What is done about its own tools (shell, files, web): off, ask or free [default: the preset's, or ask]
    #[arg(long, value_name = "HOW")]
    own_tools: Option<String>,
    /// The mode to put each session into, as the runtime calls it
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// The authentication method to choose at the start, as the runtime calls it
    #[arg(long, value_name = "METHOD")]
    auth_method: Option<String>,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("is NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Runs a verb.
pub(crate) async fn run(verb: RuntimeVerb, context: &Context) -> Result<Exit, Failure> {
    let screen = &context.screen;
    if let RuntimeVerb::Presets = verb {
        let known = presets::PRESETS.iter();
        let items: Vec<_> =
            known.map(|preset| json!({ "name": preset.name, "about": preset.note })).collect();
        let columns = [column("NAME", "name"), column("ABOUT", "about")];
        screen.list(&json!({ "items": items, "next": null }), &columns, "There are none.")?;
        return Ok(Exit::Done);
    }
    let client = context.client()?;
    match verb {
        RuntimeVerb::Presets => {}
        RuntimeVerb::Add { name, preset, quiet, deadline, limits, launch, command } => {
            let wish = AddRuntime {
                name,
                preset,
                command,
                quiet_seconds: quiet,
                deadline_seconds: deadline,
                limits: limits.given(),
                env: launch.env.into_iter().collect(),
                pass_env: launch.pass_env,
                own_tools: launch.own_tools,
                mode: launch.mode,
                auth_method: launch.auth_method,
            };
            let made = client.post(&["runtimes"], &wish, None).await?;
            let name = text_at(&made, "name");
            let next =
                [format!("agent-mate task add --project default --runtime {name} --approve --wait \"...\"")];
            screen.made(&made, &format!("Runtime {name} is registered."), &next)?;
            if !screen.json {
                for notice in at(&made, "notices").as_array().into_iter().flatten() {
                    screen.line(&format!("  mind: {}", text::line(&plain(notice), 500)))?;
                }
            }
        }
        RuntimeVerb::List { page } => {
            let columns = [
                column("NAME", "name"),
                column("PRESET", "preset").rank(3),
                column("COMMAND", "command").rank(2),
                column("ADDED", "created_at").rank(5),
                column("ID", "id"),
            ];
            let empty = "No runtimes yet. Register one: agent-mate runtime add NAME --preset PRESET";
            screen.list(&client.get(&["runtimes"], &page.query(&[])).await?, &columns, empty)?;
        }
        RuntimeVerb::Show { runtime } => {
            let fields = [
                column("name", "name"),
                column("id", "id"),
                column("preset", "preset"),
                column("command", "command"),
                column("launch", "registration"),
                column("own tools", "own_tools"),
                column("quiet after (s)", "quiet_seconds"),
                column("deadline (s)", "deadline_seconds"),
                column("limits", "limits"),
                column("added", "created_at"),
            ];
            screen.object(&client.get(&["runtimes", &runtime], &[]).await?, &fields)?;
        }
        RuntimeVerb::Remove { runtime } => {
            let gone = client.delete(&["runtimes", &runtime]).await?;
            screen.made(&gone, &format!("Runtime {runtime} is removed."), &[])?;
        }
    }
    Ok(Exit::Done)
}
