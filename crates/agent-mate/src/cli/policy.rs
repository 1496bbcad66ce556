//! `agent-mate policy`

use super::{
    Context,
    exit::{Exit, Failure},
    input,
    list::PageArgs,
    show::{Screen, column, text_at},
};
use clap::Subcommand;
use mate_guard::{policy::SCHEMA, text};
use mate_server::wire::{AddPolicy, CheckPolicy, TryPolicy};
use serde_json::{Value, json};

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// Add one: from here on each call is judged by it too
    Add {
        /// Its name
        name: String,
        /// Its statements in Cedar: @FILE, or - for standard input
        #[arg(value_name = "@FILE|-")]
        text: String,
        /// Let it take the place of the one of this name
        #[arg(long)]
        replace: bool,
    },
    /// List those in force
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show one
    Show {
        /// Its name or id
        policy: String,
    },
    /// Remove one: the very next call is judged without it
    Remove {
        /// Its name or id
        policy: String,
    },
    /// Say whether a text could be added, and what is wrong with it where; changes nothing
    Check {
        /// Statements in Cedar: @FILE, or - for standard input
        #[arg(value_name = "@FILE|-")]
        text: String,
    },
    /// Say which grants and policies decided about an operation, and what they would decide now
    Explain {
        /// The operation's id
        operation: String,
    },
    /// Say what would be decided now of a call that nobody has made; changes nothing
    Try {
        /// In this project
        #[arg(long)]
        project: String,
        /// Of this connection
        #[arg(long)]
        connection: String,
        /// The upstream's own name of the tool
        #[arg(long)]
        tool: String,
        /// By a task of this account [default: yours]
        #[arg(long = "as", value_name = "ACCOUNT")]
        account: Option<String>,
        /// In a session of this runtime, where a policy names runtimes
        #[arg(long)]
        runtime: Option<String>,
        /// The upstream says of the tool that it only reads
        #[arg(long)]
        says_read_only: bool,
    },
    /// Print what policies can name, as a Cedar schema
    Schema,
}

/// Runs a verb.
pub(crate) async fn run(verb: PolicyVerb, context: &Context) -> Result<Exit, Failure> {
    let screen = &context.screen;
    if let PolicyVerb::Schema = verb {
        screen.object(&json!({ "schema": SCHEMA }), &[column("schema", "schema")])?;
        return Ok(Exit::Done);
    }
    let client = context.client()?;
    match verb {
        PolicyVerb::Schema => {}
        PolicyVerb::Add { name, text: given, replace } => {
            let wish = AddPolicy { name, text: document(&given)?, replace };
            let made = client.post(&["policies"], &wish, None).await?;
            let name = text_at(&made, "name");
            let next = [format!("agent-mate policy show {name}"), format!("agent-mate policy remove {name}")];
            screen.made(&made, &format!("Policy {name} is in force."), &next)?;
            findings("warning", &made["warnings"], screen)?;
        }
        PolicyVerb::List { page } => {
            let columns = [
                column("NAME", "name"),
                column("TEXT", "text").rank(2),
                column("BY", "created_by").rank(6),
                column("ADDED", "created_at").rank(3),
                column("ID", "id"),
            ];
            let empty = "No policies: grants alone decide. Add one: agent-mate policy add NAME @FILE";
            screen.list(&client.get(&["policies"], &page.query(&[])).await?, &columns, empty)?;
        }
        PolicyVerb::Show { policy } => {
            let fields = [
                column("name", "name"),
                column("id", "id"),
                column("permits", "permits"),
                column("forbids", "forbids"),
                column("faults", "faults"),
                column("warnings", "warnings"),
                column("by", "created_by"),
                column("added", "created_at"),
                column("text", "text"),
            ];
            screen.object(&client.get(&["policies", &policy], &[]).await?, &fields)?;
        }
        PolicyVerb::Remove { policy } => {
            let gone = client.delete(&["policies", &policy]).await?;
            screen.made(&gone, &format!("Policy {policy} is removed."), &[])?;
        }
        PolicyVerb::Check { text: given } => {
            let wish = CheckPolicy { text: document(&given)? };
            return checked(&client.post(&["policies", "check"], &wish, None).await?, screen);
        }
        PolicyVerb::Try { project, connection, tool, account, runtime, says_read_only } => {
            let wish = TryPolicy { connection, tool, account, runtime, says_read_only };
            return tried(
                &client.post(&["projects", &project, "policies", "try"], &wish, None).await?,
                screen,
            );
        }
        PolicyVerb::Explain { operation } => {
            let fields = [
                column("operation", "id"),
                column("connection", "connection_name"),
                column("tool", "tool"),
                column("state", "state"),
                column("denied for", "deny_reason"),
                column("detail", "detail"),
                column("decided by", "recorded"),
                column("permitted now", "now.permitted"),
                column("why", "now.why"),
                column("by", "now.decision"),
            ];
            screen.object(&client.get(&["policies", "explain", &operation], &[]).await?, &fields)?;
        }
    }
    Ok(Exit::Done)
}

/// A policy's text: never an argument, where quotes are lost.
fn document(given: &str) -> Result<String, Failure> {
    match given.strip_prefix('@') {
        Some(file) => input::document(file, "the policy"),
        None if given == "-" => input::document(given, "the policy"),
        None => Err(Failure::usage("say @FILE, or - for standard input")),
    }
}

/// What would be decided; a call that would be refused makes exit code 4.
fn tried(found: &Value, screen: &Screen) -> Result<Exit, Failure> {
    let permitted = found["now"]["permitted"] == true;
    let fields = [
        column("connection", "connection_name"),
        column("tool", "tool"),
        column("task of", "account_name"),
        column("permitted now", "now.permitted"),
        column("why not", "now.why"),
        column("decision", "now.decision"),
        column("grant", "grant"),
        column("effect class", "effect"),
        column("a person is asked", "approve"),
    ];
    screen.object(found, &fields)?;
    if !screen.is_json() {
        screen.line("\nNot judged here: arguments, limits of rate and spending, and a person's answer.")?;
    }
    Ok(if permitted { Exit::Done } else { Exit::Refused })
}

/// What is wrong with a text, one line each; a text that could not be added is a wrong input.
fn checked(report: &Value, screen: &Screen) -> Result<Exit, Failure> {
    let good = report["good"] == true;
    if screen.is_json() {
        screen.document(report)?;
    } else {
        findings("fault", &report["faults"], screen)?;
        findings("warning", &report["warnings"], screen)?;
        if good {
            let (permits, forbids) = (&report["permits"], &report["forbids"]);
            screen.line(&format!("It could be added: {permits} permit, {forbids} forbid."))?;
        }
    }
    Ok(if good { Exit::Done } else { Exit::Usage })
}

fn findings(kind: &str, list: &Value, screen: &Screen) -> Result<(), Failure> {
    if screen.is_json() {
        return Ok(());
    }
    for finding in list.as_array().into_iter().flatten() {
        let (line, column) = (&finding["line"], &finding["column"]);
        let help = finding["help"].as_str().map(|help| format!(" ({help})")).unwrap_or_default();
        let message = text_at(finding, "message");
        screen.line(&text::line(&format!("{line}:{column}: {kind}: {message}{help}"), 700))?;
    }
    Ok(())
}
