//! `agent-mate`: coordinates approved project work through agent runtimes that exist already.
#![forbid(unsafe_code)]

mod authorizer;
mod bench;
mod check;
mod cli;
mod confinement;
mod containment;
mod credentials;
mod demo;
mod here;
mod key;
mod launch;
mod opening;
mod registrar;
mod serve;
mod service;
mod worker;

use clap::Parser;
use cli::{Cli, Command, Context, Failure, HereCommand, HiddenCommand, Screen, show_failure};
use mate_engine::surroundings::{SystemClock, SystemEntropy};
use mate_runtime::container::KEEPER_COMMAND;
use std::{env, ffi::OsString, path::PathBuf, process::ExitCode, sync::Arc};

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    // The keeper must not have any thread but its first.
    if arguments.next().is_some_and(|first| first == KEEPER_COMMAND) {
        return mate_runtime::container::keeper_main(arguments, &SystemClock::default());
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let runtime = match here::runtime(&cli.command) {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("agent-mate: no threads can be started: {error}");
            return ExitCode::from(1);
        }
    };
    let code = runtime.block_on(Box::pin(dispatch(cli)));
    // A read of standard input cannot be taken back, and must not hold the program.
    runtime.shutdown_background();
    code
}

async fn dispatch(cli: Cli) -> ExitCode {
    // A home of the environment is there for the next command as well.
    let named = cli
        .globals
        .home
        .clone()
        .filter(|home| env::var_os("AGENT_MATE_HOME").as_deref() != Some(home.as_os_str()));
    let screen = Screen::new(cli.globals.json, cli.globals.no_color, Arc::new(SystemClock::default()));
    let screen = screen.naming(named);
    let home = match here::home(cli.globals.home) {
        Ok(home) => home,
        Err(why) => return fail(&screen, &Failure::usage(why)),
    };
    let context = Context { home, screen, timeout: cli.globals.timeout, entropy: Arc::new(SystemEntropy) };
    let done = match cli.command {
        Command::Client(command) => cli::run(*command, &context).await,
        Command::Here(HereCommand::Init(arguments)) if arguments.recover => here::recover(&context).await,
        Command::Here(HereCommand::Init(_)) => here::init(&context).await,
        Command::Here(HereCommand::Serve(arguments)) => here::serve(&context, arguments).await,
        Command::Here(HereCommand::Demo(arguments)) => demo::run(&context, &arguments).await,
        Command::Here(HereCommand::Key(verb)) => key::run(&context, verb).await,
        Command::Here(HereCommand::Doctor) => here::doctor(&context).await,
        Command::Here(HereCommand::Completions { shell }) => cli::completions(shell, &context.screen),
        Command::Hidden(command) => return hidden(command, &context).await,
    };
    match done {
        Ok(exit) => exit.into(),
        Err(failure) => fail(&context.screen, &failure),
    }
}

fn fail(screen: &Screen, failure: &Failure) -> ExitCode {
    show_failure(failure, screen);
    failure.exit.into()
}

async fn hidden(command: HiddenCommand, context: &Context) -> ExitCode {
    match command {
        HiddenCommand::SessionWorker { session, epoch, config, home_id, fence } => {
            here::log_to_stderr("info");
            let home = context.home.clone().configured(config);
            match worker::run(home, home_id, fence, session, mate_model::Epoch(epoch)).await {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    tracing::error!(error = %format!("{error:#}"), "the session's worker ended");
                    ExitCode::from(1)
                }
            }
        }
        HiddenCommand::ConnectionCheck { connection, folder, config, home_id, fence } => {
            here::log_to_stderr("warn");
            let home = context.home.clone().configured(config);
            match check::inside::run(home, home_id, fence, connection, folder).await {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    tracing::error!(error = %format!("{error:#}"), "the connection cannot be looked at");
                    ExitCode::from(1)
                }
            }
        }
        HiddenCommand::Bridge { arguments } => {
            let socket: PathBuf = arguments.first().map(PathBuf::from).unwrap_or_default();
            match mate_engine::SocketPath::of(&socket) {
                Ok(way) => mate_bridge::relay_main(way.path()).await,
                Err(error) => {
                    eprintln!("agent-mate bridge: {}: {error}", socket.display());
                    ExitCode::from(1)
                }
            }
        }
        HiddenCommand::Keeper { arguments } => {
            let _: Vec<OsString> = arguments;
            eprintln!("agent-mate keeper: started by session workers alone");
            ExitCode::from(2)
        }
        HiddenCommand::BenchBridge(arguments) => {
            measured(bench::bridge(context.home.clone(), arguments).await)
        }
        HiddenCommand::BenchStore(arguments) => measured(Box::pin(bench::store(arguments)).await),
        HiddenCommand::BenchStreams(arguments) => measured(Box::pin(bench::streams(arguments)).await),
        HiddenCommand::BenchRuntime { door } => measured(bench::runtime(&door).await),
        HiddenCommand::ScriptedRuntime { arguments } => mate_demo::scripted_runtime_main(arguments).await,
        HiddenCommand::EffectServer { arguments } => {
            let arguments = arguments.into_iter().map(|argument| argument.to_string_lossy().into_owned());
            match mate_demo::EffectOptions::parse(arguments) {
                Ok(options) => mate_demo::effect_server_main(options, Arc::new(SystemClock::default())).await,
                Err(why) => {
                    eprintln!("agent-mate effect-server: {why}");
                    ExitCode::from(2)
                }
            }
        }
    }
}

fn measured(done: anyhow::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("agent-mate: {error:#}");
            ExitCode::from(1)
        }
    }
}
