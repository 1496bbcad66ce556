//! `agent-mate top`: what needs somebody, what runs and what waits, as it is now.

mod act;
mod board;
mod frame;
mod keys;
mod live;
mod picture;
mod terminal;
#[cfg(test)]
mod tests;
mod words;

use super::{
    Context,
    exit::{Exit, Failure},
};
use clap::Args;
use picture::{Looker, Picture};
use std::io::IsTerminal;
use words::{With, parts, table};

/// `top`
#[derive(Args, Debug)]
pub(crate) struct TopArgs {
    /// Of this project only, by its name or id
    #[arg(long)]
    project: Option<String>,
    /// Print how everything stands, and end; so it is without a terminal
    #[arg(long)]
    once: bool,
}

/// Shows it: live on a terminal, else once.
pub(crate) async fn run(arguments: TopArgs, context: &Context) -> Result<Exit, Failure> {
    let (client, screen) = (context.client()?, &context.screen);
    let mut looker = Looker::new(&client, arguments.project);
    // Before the terminal is taken: why nothing can be shown is said as every command says it.
    let picture = looker.look(screen.clock.now()).await?;
    if screen.json {
        screen.document(&picture.document(screen.clock.now()))?;
        return Ok(Exit::Done);
    }
    let dumb = std::env::var_os("TERM").is_none_or(|kind| kind.is_empty() || kind == "dumb");
    if arguments.once || !screen.terminal || dumb || !std::io::stdin().is_terminal() {
        once(&picture, context)?;
        return Ok(Exit::Done);
    }
    Box::pin(live::run(picture, looker, &client, context)).await
}

/// The tables, with ids, as other commands print theirs.
fn once(picture: &Picture, context: &Context) -> Result<(), Failure> {
    let screen = &context.screen;
    let with = With { ids: true, projects: picture.of_several() };
    let mut gone = Vec::new();
    let mut first = true;
    for (title, items) in parts(picture).into_iter().filter(|(_, items)| !items.is_empty()) {
        if !std::mem::take(&mut first) {
            screen.line("")?;
        }
        let (lines, dropped) = table(title, items, with, screen.width, screen.clock.now());
        for line in lines {
            screen.line(&line)?;
        }
        gone.extend(dropped);
    }
    if first {
        screen.line("Nothing runs, nothing waits, and nothing needs you.")?;
    }
    if picture.more {
        screen.line("\nThere is more than is shown here: choose one project with --project.")?;
    }
    gone.sort_unstable();
    gone.dedup();
    if !gone.is_empty() {
        screen.line(&format!("\nNot shown at this width: {}. `--json` has everything.", gone.join(", ")))?;
    }
    Ok(())
}
