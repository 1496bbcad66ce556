//! The command line: what can be said, and how answers are shown. Noun, then verb.

mod account;
mod address;
mod approval;
mod artifact;
mod artifact_get;
mod authorize;
mod client;
mod connection;
mod doctor;
mod exit;
mod follow;
mod grammar;
mod grant;
mod import;
mod input;
mod layout;
mod limits;
mod list;
mod nearest;
mod offered;
mod open;
mod operation;
mod policy;
mod progress;
mod project;
mod project_events;
mod runtime;
mod session;
mod session_ended;
mod show;
mod sse;
mod task;
mod task_add;
mod task_report;
mod task_resume;
mod task_stop_all;
mod task_watch;
mod token;
mod top;
mod words;

pub(crate) use doctor::{Check, doctor};
pub(crate) use exit::{Exit, Failure};
use grammar::Shown;
pub(crate) use grammar::{
    Cli, ClientCommand, Command, DemoArgs, HereCommand, HiddenCommand, KeyVerb, ServeArgs,
};
pub(crate) use show::{Screen, show_failure};

use clap::CommandFactory;
use client::Client;
use mate_engine::Home;
use mate_model::Entropy;
use std::{sync::Arc, time::Duration};

/// What every command needs.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// Where Agent Mate keeps its things.
    pub(crate) home: Home,
    /// Where to write.
    pub(crate) screen: Screen,
    /// How long a command may wait for a task.
    pub(crate) timeout: Option<Duration>,
    /// Idempotency keys.
    pub(crate) entropy: Arc<dyn Entropy>,
}

impl Context {
    /// A connection to the coordinator.
    fn client(&self) -> Result<Client, Failure> {
        Client::connect(&self.home, Arc::clone(&self.entropy))
    }
}

/// Runs a command that speaks to the coordinator.
///
/// # Errors
/// Why it was not done, with the exit code.
pub(crate) async fn run(command: ClientCommand, context: &Context) -> Result<Exit, Failure> {
    match command {
        ClientCommand::Open(arguments) => open::run(arguments, context).await,
        ClientCommand::Top(arguments) => top::run(arguments, context).await,
        ClientCommand::Runtime(verb) => runtime::run(verb, context).await,
        ClientCommand::Project(verb) => project::run(verb, context).await,
        ClientCommand::Connection(verb) => connection::run(verb, context).await,
        ClientCommand::Grant(verb) => grant::run(verb, context).await,
        ClientCommand::Task(verb) => task::run(verb, context).await,
        ClientCommand::Session(verb) => session::run(verb, context).await,
        ClientCommand::Operation(verb) => operation::run(verb, context).await,
        ClientCommand::Approval(verb) => approval::run(verb, context).await,
        ClientCommand::Policy(verb) => policy::run(verb, context).await,
        ClientCommand::Artifact(verb) => artifact::run(verb, context).await,
        ClientCommand::Account(verb) => account::run(verb, context).await,
        ClientCommand::Token(verb) => token::run(verb, context).await,
    }
}

/// The completion script for a shell.
///
/// # Errors
/// When standard output does not take it.
pub(crate) fn completions(shell: clap_complete::Shell, screen: &Screen) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Shown::command(), "agent-mate", &mut script);
    screen.raw(&script)?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests;
