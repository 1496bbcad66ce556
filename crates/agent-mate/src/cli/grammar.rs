//! What can be said on the command line.

use super::{
    account::AccountVerb, approval::ApprovalVerb, artifact::ArtifactVerb, connection::ConnectionVerb,
    grant::GrantVerb, input, open::OpenArgs, operation::OperationVerb, policy::PolicyVerb,
    project::ProjectVerb, runtime::RuntimeVerb, session::SessionVerb, task::TaskVerb, token::TokenVerb,
    top::TopArgs,
};
use crate::bench;
use clap::{Args, Parser, Subcommand};
use std::{ffi::OsString, net::SocketAddr, path::PathBuf, time::Duration};

/// Coordinates approved project work through agent runtimes that exist already.
#[derive(Debug, Parser)]
#[command(name = "agent-mate", version, about, propagate_version = true, subcommand_required = true)]
#[command(arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Accepted anywhere before `--`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Globals {
    /// Print one JSON document (streams: one per line)
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Keep everything in DIR [default: $XDG_DATA_HOME/agent-mate]
    #[arg(long, global = true, value_name = "DIR", env = "AGENT_MATE_HOME")]
    pub(crate) home: Option<PathBuf>,
    /// No colours, also on a terminal
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
    /// Wait at most this long for a task: 90, 90s, 5m, 2h
    #[arg(long, global = true, value_name = "TIME", value_parser = input::duration)]
    pub(crate) timeout: Option<Duration>,
}

/// Every command; the binary runs the first and the last kind, [`super::run`] the others.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Here(HereCommand),
    #[command(flatten)]
    Client(Box<ClientCommand>),
    #[command(flatten)]
    Hidden(HiddenCommand),
}

/// Commands that work on the home itself.
#[derive(Debug, Subcommand)]
pub(crate) enum HereCommand {
    /// Set up a home: its key, a first account, project and token
    Init(InitArgs),
    /// Run the coordinator
    Serve(ServeArgs),
    /// Show in a throw-away home that work survives its coordinator
    Demo(DemoArgs),
    /// Look for what is wrong, and say how to put it right
    Doctor,
    /// The keys that seal this home's secrets
    #[command(subcommand)]
    Key(KeyVerb),
    /// Print the completion script for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

/// `init`
#[derive(Args, Clone, Debug)]
pub(crate) struct InitArgs {
    /// Give the first administrator a token again, where none is left that lasts
    #[arg(long)]
    pub(crate) recover: bool,
}

/// `key`
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum KeyVerb {
    /// Show where the key is, and what is sealed under which
    Show,
    /// Seal everything under a new key; the older one stays in the file until it is retired
    Rotate {
        /// Put the new key into the file, and do not use it yet: the next rotation takes it
        #[arg(long, conflicts_with = "to")]
        prepare: bool,
        /// Write the keys and a new one to this file, and do not use it yet: for a key that cannot be written here
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
    /// Let the older keys go: backups made under them are readable with a copy of the older file alone
    Retire {
        /// Write the keys that are left to this file: for a key that cannot be written here
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
}

/// `serve`
#[derive(Args, Clone, Debug)]
pub(crate) struct ServeArgs {
    /// Listen here, besides the socket in the home [default: from config.toml, 127.0.0.1:7717]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<SocketAddr>,
}

/// `demo`
#[derive(Args, Clone, Debug)]
pub(crate) struct DemoArgs {
    /// Remove the throw-away home at the end, instead of leaving it to be looked at
    #[arg(long)]
    pub(crate) remove: bool,
}

/// Commands that speak to the coordinator.
#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// Open the dashboard in a browser, signed in
    Open(OpenArgs),
    /// What needs you, what runs and what waits, live
    Top(TopArgs),
    /// Agent programs that exist already, and how to launch them
    #[command(subcommand)]
    Runtime(RuntimeVerb),
    /// What work belongs together, and who may act on it
    #[command(subcommand)]
    Project(ProjectVerb),
    /// Links to upstream MCP servers, with their secrets
    #[command(subcommand)]
    Connection(ConnectionVerb),
    /// A project's authority to use tools of a connection
    #[command(subcommand)]
    Grant(GrantVerb),
    /// What the administrators forbid and permit, in Cedar
    #[command(subcommand)]
    Policy(PolicyVerb),
    /// Work: submit it, approve it, follow it, stop it
    #[command(subcommand)]
    Task(TaskVerb),
    /// Conversations with runtimes
    #[command(subcommand)]
    Session(SessionVerb),
    /// Single actions on the outside world
    #[command(subcommand)]
    Operation(OperationVerb),
    /// What waits for a person's leave
    #[command(subcommand)]
    Approval(ApprovalVerb),
    /// Outputs of tasks: large or binary results, and published files
    #[command(subcommand)]
    Artifact(ArtifactVerb),
    /// Who may use this installation
    #[command(subcommand)]
    Account(AccountVerb),
    /// Bearer tokens for the HTTP interface
    #[command(subcommand)]
    Token(TokenVerb),
}

/// What is shown of the program: all but what it calls itself for.
#[derive(Debug, Parser)]
#[command(name = "agent-mate", version, about)]
pub(crate) struct Shown {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: ShownCommand,
}

/// The commands that people type.
#[derive(Debug, Subcommand)]
enum ShownCommand {
    #[command(flatten)]
    Here(HereCommand),
    #[command(flatten)]
    Client(Box<ClientCommand>),
}

/// What this binary calls itself for.
#[derive(Debug, Subcommand)]
pub(crate) enum HiddenCommand {
    /// Host one session
    #[command(hide = true)]
    SessionWorker {
        /// The session
        session: mate_model::SessionId,
        /// The epoch under which its lock was taken
        #[arg(long)]
        epoch: i64,
        /// The settings file that its coordinator has read
        #[arg(long)]
        config: PathBuf,
        /// The folder that its coordinator has opened as the home
        #[arg(long)]
        home_id: mate_engine::HomeId,
        /// What the settings said of the fence when its coordinator read them
        #[arg(long)]
        fence: mate_engine::settings::FenceSettings,
    },
    /// Look at one connection
    #[command(hide = true)]
    ConnectionCheck {
        /// Which
        connection: mate_model::ConnectionId,
        /// The folder for its container
        #[arg(long)]
        folder: PathBuf,
        /// The settings file that its coordinator has read
        #[arg(long)]
        config: PathBuf,
        /// The folder that its coordinator has opened as the home
        #[arg(long)]
        home_id: mate_engine::HomeId,
        /// What the settings said of the fence when its coordinator read them
        #[arg(long)]
        fence: mate_engine::settings::FenceSettings,
    },
    /// Relay MCP from standard streams to the session's bridge
    #[command(hide = true)]
    Bridge {
        /// Passed on
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Hold a session's container of processes
    #[command(hide = true)]
    Keeper {
        /// Passed on
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// A scripted agent runtime, for the demo and tests
    #[command(hide = true)]
    ScriptedRuntime {
        /// Passed on
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// An MCP server with effects, for the demo and tests
    #[command(hide = true)]
    EffectServer {
        /// Passed on
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Real sessions in front of an upstream, for benchmarks
    #[command(hide = true)]
    BenchBridge(bench::BridgeArgs),
    /// Measure the stores and what stands on them
    #[command(hide = true)]
    BenchStore(bench::StoreArgs),
    /// Measure many clients on one busy task
    #[command(hide = true)]
    BenchStreams(bench::StreamsArgs),
    /// The runtime of those sessions
    #[command(hide = true)]
    BenchRuntime {
        /// The benchmark's socket
        door: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_grammar_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_flags_stand_anywhere_before_the_dashes() {
        for line in [
            "agent-mate --json --home /h task list --project p",
            "agent-mate task --json list --home /h --project p",
            "agent-mate task list --project p --home /h --json --timeout 5m --no-color",
        ] {
            let cli = Cli::try_parse_from(line.split(' ')).expect(line);
            assert!(cli.globals.json && cli.globals.home.as_deref() == Some("/h".as_ref()), "{line}");
        }
        let line = "agent-mate runtime add r -- /bin/agent --json --home x";
        let cli = Cli::try_parse_from(line.split(' ')).expect(line);
        assert!(!cli.globals.json);
    }

    #[test]
    fn what_cannot_be_said() {
        for line in [
            "agent-mate",
            "agent-mate tasks",
            "agent-mate task add --project p",
            "agent-mate task add --project p --queue --no-queue text",
            "agent-mate connection add c",
            "agent-mate connection add c --url http://x -- cmd",
            "agent-mate grant add --project p --connection c",
            "agent-mate grant add --project p --connection c --tools a --effect none",
            "agent-mate task wait t --timeout soon",
            "agent-mate task show",
        ] {
            let error = Cli::try_parse_from(line.split(' ')).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn hidden_commands_are_not_shown() {
        let help = Cli::command().render_long_help().to_string();
        for hidden in
            ["session-worker", "connection-check", "keeper", "scripted-runtime", "effect-server", "bench-"]
        {
            assert!(!help.contains(hidden), "{hidden}");
            for shell in [clap_complete::Shell::Bash, clap_complete::Shell::Zsh, clap_complete::Shell::Fish] {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Shown::command(), "agent-mate", &mut script);
                let script = String::from_utf8_lossy(&script);
                assert!(script.contains("approve"), "{shell}");
                assert!(!script.contains(hidden), "{hidden} in {shell}");
            }
        }
    }
}
