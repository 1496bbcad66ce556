//! `agent-mate approval`

use super::{
    Context,
    exit::{Exit, Failure},
    list::PageArgs,
    show::{Column, at, column, text_at},
};
use clap::Subcommand;
use mate_guard::text;
use mate_model::approval::Decision;
use mate_server::wire::AnswerApproval;
use serde_json::{Value, json};

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalVerb {
    /// List what waits for a person's answer, the oldest first
    List {
        /// Of this project only, by its name or id
        #[arg(long)]
        project: Option<String>,
        /// Also those that were answered, or are over
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show one: the exact request, and what was answered
    Show {
        /// Its id
        approval: String,
    },
    /// Give leave to one exact request
    Allow {
        /// Its id
        approval: String,
    },
    /// Refuse one; the agent is told
    Deny {
        /// Its id
        approval: String,
        /// Why; the agent is told
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Take leave back: an answer that was not used, or the leave for the rest of a task
    Revoke {
        /// Its id
        approval: String,
    },
}

/// An approval's fields as they are shown to people.
pub(super) const FIELDS: [Column; 21] = [
    column("id", "id"),
    column("state", "state"),
    column("for", "kind"),
    column("connection", "connection_name"),
    column("tool", "tool"),
    column("effect class", "effect"),
    column("asked", "approve"),
    column("arguments", "arguments"),
    column("digest", "digest"),
    column("task", "task"),
    column("submitted by", "proposer_name"),
    column("project", "project"),
    column("session", "session"),
    column("turn", "turn"),
    column("since", "requested_at"),
    column("ends", "expires_at"),
    column("used", "used_at"),
    column("over", "over_at"),
    column("because", "over_why"),
    column("answer", "receipt"),
    column("permission", "permission"),
];

/// Runs a verb.
pub(crate) async fn run(verb: ApprovalVerb, context: &Context) -> Result<Exit, Failure> {
    let (client, screen) = (context.client()?, &context.screen);
    match verb {
        ApprovalVerb::List { project, all, page } => {
            let mut columns = vec![
                column("ID", "id"),
                column("STATE", "state").rank(1),
                column("CONNECTION", "connection_name").rank(3),
                column("TOOL", "tool").rank(2),
                column("ARGUMENTS", "arguments").rank(4),
                column("TASK", "task").rank(8),
                column("SINCE", "requested_at").rank(5),
                column("ENDS", "expires_at").rank(6),
            ];
            if all {
                columns.push(column("OUTCOME", "outcome").rank(2));
            } else {
                columns.remove(1);
            }
            let mut query = page.query(&[("project", project.as_deref())]);
            if all {
                query.push(("all", "true".to_owned()));
            }
            let empty = if all { "Nothing was ever asked." } else { "Nothing waits for an answer." };
            let mut found = client.get(&["approvals"], &query).await?;
            if !screen.json {
                found["items"].as_array_mut().into_iter().flatten().for_each(tell_outcome);
            }
            screen.list(&found, &columns, empty)?;
        }
        ApprovalVerb::Show { approval } => {
            let found = client.get(&["approvals", &approval], &[]).await?;
            screen.object(&found, &FIELDS)?;
            if let (false, Some(field)) = (screen.json, not_kept(&found)) {
                let (connection, tool) = (text_at(&found, "connection_name"), text_at(&found, "tool"));
                screen.line("")?;
                screen.line("Of arguments only names, types and sizes are kept. To see a value next time (an administrator):")?;
                let step = format!("agent-mate connection set {connection} --allow-field '{tool}.{field}'");
                screen.line(&format!("  next: {}", text::line(&screen.step(&step), 500)))?;
            }
        }
        ApprovalVerb::Allow { approval } => answer(&approval, Decision::Allow, None, context).await?,
        ApprovalVerb::Deny { approval, reason } => {
            answer(&approval, Decision::Deny, reason, context).await?;
        }
        ApprovalVerb::Revoke { approval } => {
            let done = client.post(&["approvals", &approval, "revoke"], &json!({}), None).await?;
            let said = "Leave is taken back. What was let out under it is not undone.";
            screen.made(&done, said, &[])?;
        }
    }
    Ok(Exit::Done)
}

/// Who answered, or why nobody is waited for any more.
fn tell_outcome(approval: &mut Value) {
    let outcome = match approval.get("receipt").filter(|receipt| !receipt.is_null()) {
        Some(receipt) => {
            let said = if text_at(receipt, "decision") == "allow" { "allowed" } else { "denied" };
            let over = text_at(approval, "over_why");
            let over = if over.is_empty() { String::new() } else { format!("; {over}") };
            Some(format!("{said} by {}{over}", text_at(receipt, "by_name")))
        }
        None => Some(text_at(approval, "over_why").to_owned()).filter(|why| !why.is_empty()),
    };
    if let Some(outcome) = outcome {
        approval["outcome"] = outcome.into();
    }
}

/// The first argument of a connection's tool whose value is not kept.
fn not_kept(approval: &Value) -> Option<&str> {
    if text_at(approval, "connection_name").is_empty() {
        return None;
    }
    let fields = at(approval, "arguments.fields").as_array()?;
    let hidden = fields
        .iter()
        .find(|field| field.get("value").is_none() && field.get("type").is_some_and(|is| is != "object"));
    hidden.map(|field| text_at(field, "name")).filter(|name| !name.is_empty())
}

async fn answer(
    approval: &str,
    decision: Decision,
    reason: Option<String>,
    context: &Context,
) -> Result<(), Failure> {
    let wish = AnswerApproval { decision, reason };
    let done = context.client()?.post(&["approvals", approval], &wish, None).await?;
    let said = match (decision, text_at(&done, "approve")) {
        (Decision::Deny, _) => "Refused; the agent is told.",
        (Decision::Allow, "once") => "Allowed, and with it this tool for the rest of the task.",
        (Decision::Allow, _) => "Allowed, for this one call.",
    };
    let task = text::line(text_at(&done, "task"), 100);
    let mut next = vec![format!("agent-mate task watch {task}")];
    if decision == Decision::Allow {
        next.push(format!("agent-mate approval revoke {}", text::line(approval, 100)));
    }
    context.screen.made(&done, said, &next)
}
