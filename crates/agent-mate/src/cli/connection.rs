//! `agent-mate connection`

use super::{
    Context,
    authorize::{self, AuthorizeArgs},
    client::Client,
    exit::{Exit, Failure},
    import::{self, ImportArgs},
    input,
    list::PageArgs,
    offered,
    show::{at, column, plain, text_at},
};
use clap::{Args, Subcommand};
use mate_engine::admin::check::open_words;
use mate_guard::text;
use mate_model::{verification::Recipe, words::EffectClass};
use mate_server::wire::{AddConnection, RotateConnection, SecretText, SetConnection};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum ConnectionVerb {
    /// Link an upstream MCP server: an address, or a command that speaks MCP on its standard streams
    Add(Box<AddArgs>),
    /// Add what other clients' files name: Claude, Cursor, VS Code
    Import(ImportArgs),
    /// List those that are there
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show one; of its secrets only the names
    Show {
        /// Its name or id
        connection: String,
    },
    /// Change what is set on one; the next call is judged by it, also in sessions that live
    Set(Box<SetArgs>),
    /// Replace secrets; sessions that live use the new ones from their next process or request on
    Rotate {
        /// Its name or id
        connection: String,
        /// A variable for the command: VAR (from the environment), VAR=@FILE or VAR=- (standard input)
        #[arg(long, value_name = "VAR[=@FILE|-]")]
        secret_env: Vec<String>,
        /// A header for the address, read the same way
        #[arg(long, value_name = "NAME[=@FILE|-]")]
        header: Vec<String>,
        /// Add those that it does not have; else they are refused
        #[arg(long)]
        add: bool,
        /// Remove a variable or a header, by its name
        #[arg(long, value_name = "NAME")]
        remove: Vec<String>,
    },
    /// Authorise one with OAuth: prints an address where a person says yes
    Authorize(AuthorizeArgs),
    /// Connect as a session would, and say what is wrong
    Check {
        /// Its name or id
        #[arg(required_unless_present = "all")]
        connection: Option<String>,
        /// Each that is there
        #[arg(long, conflicts_with = "connection")]
        all: bool,
    },
    /// Connect, and list the tools that it offers
    Tools {
        /// Its name or id
        connection: String,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Remove one, with its secrets
    Remove {
        /// Its name or id
        connection: String,
    },
}

/// `connection add`
#[derive(Args, Debug)]
pub(crate) struct AddArgs {
    /// Its name; the prefix of its tools
    name: String,
    /// The address of the server
    #[arg(long, value_name = "URL", required_unless_present = "command", conflicts_with = "command")]
    url: Option<String>,
    /// A variable for the command: VAR (from the environment), VAR=@FILE or VAR=- (standard input)
    #[arg(long, value_name = "VAR[=@FILE|-]")]
    secret_env: Vec<String>,
    /// A header for the address, read the same way
    #[arg(long, value_name = "NAME[=@FILE|-]")]
    header: Vec<String>,
    /// An argument that is recorded as it is, and shown to who approves; *.FIELD: of every tool
    #[arg(long, value_name = "TOOL.FIELD")]
    allow_field: Vec<String>,
    /// Expose its tools without its name before them
    #[arg(long)]
    bare: bool,
    /// Let its own annotations decide the effect class where a grant is silent
    #[arg(long)]
    trust_annotations: bool,
    /// The effect class where a grant is silent: read, idempotent or effect
    #[arg(long)]
    effect: Option<EffectClass>,
    /// How calls whose outcome is unknown are looked for: a JSON file with a list of recipes, or - for standard input
    #[arg(long, value_name = "FILE")]
    verify: Option<String>,
    /// Tell the server the session's workspace as its root (MCP roots); some servers then use it in place of folders among
    /// their arguments
    #[arg(long)]
    workspace_root: bool,
    /// Add it although words of the command look like a credential; they are kept in clear, and other programs see them
    #[arg(long)]
    force: bool,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Option<Vec<String>>,
}

/// `connection set`
#[derive(Args, Debug)]
pub(crate) struct SetArgs {
    /// Its name or id
    connection: String,
    /// An argument that is recorded as it is from now on, and shown to who approves; *.FIELD: of every tool
    #[arg(long, value_name = "TOOL.FIELD")]
    allow_field: Vec<String>,
    /// One that is not any more
    #[arg(long, value_name = "TOOL.FIELD")]
    forget_field: Vec<String>,
    /// The effect class where a grant is silent: read, idempotent or effect
    #[arg(long, conflicts_with = "unset_effect")]
    effect: Option<EffectClass>,
    /// No effect class where a grant is silent
    #[arg(long)]
    unset_effect: bool,
    /// Whether its own annotations decide the effect class where a grant is silent
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    trust_annotations: Option<bool>,
    /// Whether it is told the session's workspace as its root, from its next start on
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    workspace_root: Option<bool>,
    /// Recipes in place of those that are there: a JSON file with a list, or - for standard input
    #[arg(long, value_name = "FILE")]
    verify: Option<String>,
}

/// Runs a verb.
pub(crate) async fn run(verb: ConnectionVerb, context: &Context) -> Result<Exit, Failure> {
    let (client, screen) = (context.client()?, &context.screen);
    match verb {
        ConnectionVerb::Add(args) => {
            let made = client.post(&["connections"], &request(*args)?, None).await?;
            let name = text_at(&made, "name");
            let next = [format!("agent-mate grant add --project PROJECT --connection {name} --tools '*'")];
            screen.made(&made, &format!("Connection {name} is linked. No project may use it yet."), &next)?;
        }
        ConnectionVerb::Import(args) => return import::run(args, context).await,
        ConnectionVerb::List { page } => {
            let columns = [
                column("NAME", "name"),
                column("URL", "url").rank(3),
                column("COMMAND", "command").rank(2),
                column("SECRETS", "secret_env").rank(5),
                column("HEADERS", "headers").rank(6),
                column("ID", "id"),
            ];
            let empty = "No connections yet. Link one: agent-mate connection add NAME -- COMMAND ARG...";
            screen.list(&client.get(&["connections"], &page.query(&[])).await?, &columns, empty)?;
        }
        ConnectionVerb::Show { connection } => {
            let fields = [
                column("name", "name"),
                column("id", "id"),
                column("url", "url"),
                column("command", "command"),
                column("secrets", "secret_env"),
                column("headers", "headers"),
                column("recorded fields", "allow_fields"),
                column("effect class", "effect"),
                column("bare", "bare"),
                column("trusted", "trust_annotations"),
                column("recipes", "verify"),
                column("workspace as root", "workspace_root"),
                column("added", "created_at"),
            ];
            screen.object(&client.get(&["connections", &connection], &[]).await?, &fields)?;
        }
        ConnectionVerb::Set(args) => {
            let fields = args.allow_field.clone();
            let wish = SetConnection {
                add_fields: args.allow_field,
                remove_fields: args.forget_field,
                effect: args.effect,
                unset_effect: args.unset_effect,
                trust_annotations: args.trust_annotations,
                workspace_root: args.workspace_root,
                verify: args.verify.as_deref().map(recipes).transpose()?,
            };
            let connection = args.connection;
            let done = client.post(&["connections", &connection, "set"], &wish, None).await?;
            let next = [format!("agent-mate connection show {connection}")];
            screen.made(
                &done,
                &format!("Connection {connection} is changed, from the next call on."),
                &next,
            )?;
            offered::fields(&client, screen, &connection, &fields).await?;
        }
        ConnectionVerb::Rotate { connection, secret_env, header, add, remove } => {
            let (secret_env, headers) = both(&secret_env, &header)?;
            let wish = RotateConnection { secret_env, headers, add, remove };
            let done = client.post(&["connections", &connection, "rotate"], &wish, None).await?;
            let next = [format!("agent-mate connection check {connection}")];
            let told = [("replaced", "replaced"), ("added", "added"), ("removed", "removed")]
                .map(|(word, field)| (word, plain(at(&done, field))));
            let told: Vec<_> = told
                .iter()
                .filter(|(_, names)| !names.is_empty())
                .map(|(word, names)| format!("{word}: {names}"))
                .collect();
            screen.made(&done, &format!("Secrets of {connection} {}.", told.join("; ")), &next)?;
        }
        ConnectionVerb::Authorize(args) => return authorize::run(args, context).await,
        ConnectionVerb::Check { connection, .. } => return check_some(connection, &client, context).await,
        ConnectionVerb::Tools { connection, page } => {
            let columns = [
                column("TOOL", "name"),
                column("SEEN AS", "exposed").rank(6),
                column("READS ONLY", "says_read_only").rank(3),
                column("ARGUMENTS", "arguments").rank(4),
                column("DESCRIPTION", "description").rank(2),
            ];
            let tools = client.get(&["connections", &connection, "tools"], &page.query(&[])).await?;
            screen.list(&tools, &columns, "It offers no tools.")?;
        }
        ConnectionVerb::Remove { connection } => {
            let gone = client.delete(&["connections", &connection]).await?;
            screen.revoked(&gone, &format!("Connection {connection} is removed."), &[])?;
        }
    }
    Ok(Exit::Done)
}

/// Looks at one connection, or at all; the worst of them decides the exit code. Names that clash are told too.
async fn check_some(one: Option<String>, client: &Client, context: &Context) -> Result<Exit, Failure> {
    let page = client.get(&["connections"], &[("limit", "500".to_owned())]).await?;
    let all = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let name = |connection: &Value| text_at(connection, "name").to_owned();
    let chosen = match &one {
        Some(one) => vec![one.clone()],
        None => all.iter().map(name).collect(),
    };
    let (mut exit, mut reports) = (Exit::Done, Vec::new());
    for connection in &chosen {
        let found = client.post(&["connections", connection, "check"], &json!({}), None).await?;
        if text_at(&found, "state") != "well" {
            exit = Exit::Refused;
        }
        reports.push(found);
    }
    let bare: Vec<_> = all.iter().filter(|one| one["bare"] == true).map(name).collect();
    let concerned = reports.iter().any(|report| bare.iter().any(|bare| bare == text_at(report, "name")));
    let clashes =
        if concerned && bare.len() > 1 { offered::clashes(client, &bare).await } else { Vec::new() };
    let screen = &context.screen;
    if screen.is_json() {
        let told: Vec<_> =
            clashes.iter().map(|(tool, of)| json!({ "tool": tool, "connections": of })).collect();
        let document = match (one, reports.pop()) {
            (Some(_), Some(mut report)) => {
                if !told.is_empty() {
                    report["clashes"] = told.into();
                }
                report
            }
            (_, last) => {
                reports.extend(last);
                json!({ "items": reports, "next": null, "clashes": told })
            }
        };
        screen.document(&document)?;
        return Ok(exit);
    }
    for report in &reports {
        check(report, context)?;
    }
    if reports.is_empty() {
        screen.line("There are no connections.")?;
    }
    for (tool, of) in &clashes {
        let said = format!(
            "  mind: {} all offer {tool} without a prefix; a session sees one of them at most",
            of.join(", ")
        );
        screen.line(&text::line(&said, 500))?;
    }
    Ok(exit)
}

/// What a look has found, in words.
fn check(found: &Value, context: &Context) -> Result<(), Failure> {
    let well = text_at(found, "state") == "well";
    let screen = &context.screen;
    let name = text_at(found, "name");
    if well {
        let (tools, protocol) = (plain(at(found, "tools")), text_at(found, "protocol"));
        screen.line(&text::line(&format!("{name} is well: {tools} tools, MCP {protocol}."), 300))?;
    } else {
        screen.line(&text::line(&format!("{name} cannot be used ({})", text_at(found, "code")), 300))?;
        tell(found.get("problem"), context)?;
    }
    for notice in at(found, "notices").as_array().into_iter().flatten() {
        tell(Some(notice), context)?;
    }
    let said = at(found, "said").as_array().map(Vec::as_slice).unwrap_or_default();
    if !well && !said.is_empty() {
        screen.line("  what it said last:")?;
        for line in said {
            screen.line(&format!("    {}", text::line(&plain(line), 500)))?;
        }
    }
    Ok(())
}

fn tell(finding: Option<&Value>, context: &Context) -> Result<(), Failure> {
    let Some(finding) = finding else { return Ok(()) };
    context.screen.line(&format!("  {}", text::line(text_at(finding, "detail"), 700)))?;
    context.screen.line(&format!("    next: {}", text::line(text_at(finding, "next"), 500)))
}

fn request(args: AddArgs) -> Result<AddConnection, Failure> {
    let (secret_env, headers) = both(&args.secret_env, &args.header)?;
    if let Some(words) = args.command.as_deref().filter(|_| !args.force)
        && let Err(why) = open_words(words)
    {
        return Err(Failure::usage(format!("words of the command {why}; --force adds it as it is")));
    }
    Ok(AddConnection {
        name: args.name,
        url: args.url,
        command: args.command,
        secret_env,
        headers,
        allow_fields: args.allow_field,
        bare: args.bare,
        trust_annotations: args.trust_annotations,
        effect: args.effect,
        verify: args.verify.as_deref().map(recipes).transpose()?.unwrap_or_default(),
        workspace_root: args.workspace_root,
    })
}

type Secrets = BTreeMap<String, SecretText>;

/// The variables and the headers.
fn both(env: &[String], headers: &[String]) -> Result<(Secrets, Secrets), Failure> {
    let from_stdin = env.iter().chain(headers).filter(|entry| entry.ends_with("=-")).count();
    if from_stdin > 1 {
        return Err(Failure::usage("only one secret can come from standard input"));
    }
    Ok((input::secrets(env)?, input::secrets(headers)?))
}

fn recipes(given: &str) -> Result<Vec<Recipe>, Failure> {
    serde_json::from_str(&input::document(given, "the recipes")?)
        .map_err(|error| Failure::usage(format!("--verify: {error}")))
}
