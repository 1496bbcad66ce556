//! `agent-mate account`

use super::{
    Context,
    exit::{Exit, Failure},
    list::PageArgs,
    show::{column, text_at},
};
use clap::Subcommand;
use mate_server::wire::AddAccount;
use serde_json::json;

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum AccountVerb {
    /// Make an account
    Add {
        /// Its name
        name: String,
        /// It may manage accounts, connections, runtimes and policies
        #[arg(long)]
        admin: bool,
    },
    /// Disable one: its tokens open nothing from here on, and its tasks may call nothing any more
    Disable {
        /// Its name or id
        account: String,
    },
    /// Enable one again
    Enable {
        /// Its name or id
        account: String,
    },
    /// List the accounts
    List {
        #[command(flatten)]
        page: PageArgs,
    },
}

/// Runs a verb.
pub(crate) async fn run(verb: AccountVerb, context: &Context) -> Result<Exit, Failure> {
    let (client, screen) = (context.client()?, &context.screen);
    match verb {
        AccountVerb::Add { name, admin } => {
            let made = client.post(&["accounts"], &AddAccount { name, admin }, None).await?;
            let name = text_at(&made, "name");
            let next = [
                format!("agent-mate token add --account {name}"),
                format!("agent-mate project member add PROJECT {name} --role operator"),
            ];
            screen.made(&made, &format!("Account {name} is made."), &next)?;
        }
        AccountVerb::Disable { account } => {
            let done = client.post(&["accounts", &account, "disable"], &json!({}), None).await?;
            let said = format!(
                "{account} is disabled. What its tasks did stays done, and their processes go on until stopped."
            );
            screen.revoked(&done, &said, &[format!("agent-mate account enable {account}")])?;
        }
        AccountVerb::Enable { account } => {
            let done = client.post(&["accounts", &account, "enable"], &json!({}), None).await?;
            screen.made(&done, &format!("{account} is enabled again."), &[])?;
        }
        AccountVerb::List { page } => {
            let columns = [
                column("NAME", "name"),
                column("STATE", "state"),
                column("ADMIN", "admin"),
                column("MADE", "created_at"),
                column("DISABLED", "disabled_at"),
                column("ID", "id"),
            ];
            screen.list(&client.get(&["accounts"], &page.query(&[])).await?, &columns, "No accounts.")?;
        }
    }
    Ok(Exit::Done)
}
