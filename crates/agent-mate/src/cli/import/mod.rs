//! `agent-mate connection import`: what other clients' files say of MCP servers, as connections.
//!
//! The file is read here, on the machine of whoever asks, and each entry is sent as an ordinary `connection add`.

mod entry;
mod fill;
mod jsonc;
mod shape;

use super::{
    Context,
    client::Client,
    exit::{Exit, Failure},
    input,
    show::column,
};
use clap::Args;
use entry::{Read, Reading};
use fill::Values;
use serde_json::{Value, json};

/// The most bytes of a file; some clients keep much else in theirs.
const FILE: u64 = 64 << 20;
/// The most entries of a file.
const ENTRIES: usize = 200;

/// `connection import`
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// A file with `mcpServers` (Claude, Cursor) or `servers` (VS Code), or - for standard input
    file: String,
    /// Only the entry of this name; may be given again
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Put this before each name
    #[arg(long, value_name = "TEXT", default_value = "")]
    prefix: String,
    /// The value of `${input:ID}`: ID (from the environment), ID=@FILE or ID=- (standard input)
    #[arg(long, value_name = "ID[=@FILE|-]")]
    input: Vec<String>,
    /// An argument that is recorded as it is, of each connection that is added; *.FIELD: of every tool
    #[arg(long, value_name = "TOOL.FIELD")]
    allow_field: Vec<String>,
    /// Say what would be made, and make nothing
    #[arg(long)]
    dry_run: bool,
}

/// Reads the file and adds what can be used. Entries that cannot be used are refused one by one.
pub(super) async fn run(args: ImportArgs, context: &Context) -> Result<Exit, Failure> {
    if args.file == "-" && args.input.iter().any(|entry| entry.ends_with("=-")) {
        return Err(Failure::usage("only one of the file and a value can come from standard input"));
    }
    let text = input::document_within(&args.file, "the file", FILE)?;
    let document = jsonc::read(&text).map_err(|why| Failure::usage(format!("{}: {why}", args.file)))?;
    let mut found =
        shape::entries(&document).map_err(|why| Failure::usage(format!("{}: {why}", args.file)))?;
    if let Some(missing) =
        args.only.iter().find(|only| found.entries.iter().all(|entry| entry.name != **only))
    {
        let names: Vec<_> = found.entries.iter().map(|entry| entry.name.as_str()).collect();
        return Err(Failure::usage(format!("the file has no entry {missing}; it has: {}", names.join(", "))));
    }
    if !args.only.is_empty() {
        found.entries.retain(|entry| args.only.contains(&entry.name));
    }
    if found.entries.len() > ENTRIES {
        return Err(Failure::usage(format!("the file has more than {ENTRIES} entries: choose with --only")));
    }
    let values = Values { given: input::secrets(&args.input)?, inputs: found.inputs };
    let reading = Reading::new(&values, &args.prefix)?;
    let client = context.client()?;
    let mut rows = Vec::new();
    for entry in &found.entries {
        rows.push(match reading.read(entry) {
            Ok(mut read) => {
                read.wish.allow_fields.clone_from(&args.allow_field);
                import(&client, &entry.name, read, args.dry_run).await?
            }
            Err(outcome) => outcome.row(&entry.name),
        });
    }
    shown(rows, context)
}

/// One entry: added whole, or not at all.
async fn import(client: &Client, entry: &str, read: Read, dry_run: bool) -> Result<Value, Failure> {
    let mut row = json!({
        "entry": entry,
        "name": read.wish.name,
        "url": read.wish.url,
        "command": read.wish.command,
        "secret_env": read.wish.secret_env.keys().collect::<Vec<_>>(),
        "headers": read.wish.headers.keys().collect::<Vec<_>>(),
        "notes": read.notes,
    });
    let taken =
        "a connection of this name is there already and was left as it is: remove it first, or use --prefix";
    if dry_run {
        let there = client.get(&["connections", &read.wish.name], &[]).await;
        let (state, why) = match there {
            Ok(_) => ("skipped", Some(taken)),
            Err(failure) if failure.exit == Exit::NotFound && failure.code == "not_found" => {
                ("would_add", None)
            }
            Err(failure) => return Err(failure),
        };
        row["state"] = state.into();
        row["why"] = why.into();
        return Ok(row);
    }
    match client.post(&["connections"], &read.wish, None).await {
        Ok(made) => {
            row["id"] = made["id"].clone();
            row["state"] = "added".into();
        }
        Err(failure) if failure.code == "name_taken" => {
            row["state"] = "skipped".into();
            row["why"] = taken.into();
        }
        Err(failure) if failure.exit == Exit::Usage => {
            row["state"] = "refused".into();
            row["why"] = failure.detail.into();
        }
        // Nothing more can be done: not allowed, not reachable.
        Err(failure) => return Err(failure),
    }
    Ok(row)
}

fn shown(rows: Vec<Value>, context: &Context) -> Result<Exit, Failure> {
    let refused = rows.iter().any(|row| row["state"] == "refused");
    let page = json!({ "items": rows, "next": null });
    let columns = [
        column("ENTRY", "entry"),
        column("CONNECTION", "name"),
        column("STATE", "state"),
        column("SECRETS", "secret_env"),
        column("HEADERS", "headers"),
        column("ID", "id"),
    ];
    let screen = &context.screen;
    screen.list(&page, &columns, "The file names no MCP server.")?;
    if !screen.json {
        for row in page["items"].as_array().into_iter().flatten() {
            let notes = row["notes"].as_array().into_iter().flatten().filter_map(Value::as_str);
            for note in row["why"].as_str().into_iter().chain(notes) {
                let entry = row["entry"].as_str().unwrap_or_default();
                screen.line(&mate_guard::text::line(&format!("  {entry}: {note}"), 700))?;
            }
        }
        let added = page["items"].as_array().into_iter().flatten().find(|row| row["state"] == "added");
        if let Some(name) = added.and_then(|row| row["name"].as_str()) {
            let check = screen.step(&format!("agent-mate connection check {name}"));
            let grant =
                format!("agent-mate grant add --project PROJECT --connection {name} --tools 'PATTERN'");
            screen.line(&format!("  next, for each: {check}"))?;
            screen.line(&format!("                  {}", screen.step(&grant)))?;
        }
    }
    Ok(if refused { Exit::Refused } else { Exit::Done })
}
