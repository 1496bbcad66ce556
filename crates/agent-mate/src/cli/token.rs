//! `agent-mate token`

use super::{
    Context,
    exit::{Exit, Failure},
    list::PageArgs,
    show::{column, text_at},
};
use clap::Subcommand;
use mate_model::words::Role;
use mate_server::wire::{AddToken, RevokeToken};

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenVerb {
    /// Make a token; it is shown once
    Add {
        /// Whose it is [default: yours]
        #[arg(long)]
        account: Option<String>,
        /// Good for this project only
        #[arg(long)]
        project: Option<String>,
        /// At most this role: viewer, operator or owner
        #[arg(long)]
        role: Option<Role>,
        /// When it ends: 30d, or 2030-01-31T12:00:00Z
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// List the tokens, without their secrets
    List {
        /// Whose; for administrators [default: yours]
        #[arg(long)]
        account: Option<String>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// End one; the tasks submitted with it lose their authority
    Revoke {
        /// Its id
        token: String,
        /// Also the tokens that were made with it, with those, and so on
        #[arg(long)]
        with_children: bool,
    },
}

/// Runs a verb.
pub(crate) async fn run(verb: TokenVerb, context: &Context) -> Result<Exit, Failure> {
    let (client, screen) = (context.client()?, &context.screen);
    match verb {
        TokenVerb::Add { account, project, role, expires } => {
            let made = client.post(&["tokens"], &AddToken { account, project, role, expires }, None).await?;
            let secret = text_at(&made, "token");
            let next = [
                "keep it now: it is not shown again".to_owned(),
                "use it as AGENT_MATE_TOKEN, with the coordinator's address as AGENT_MATE_URL".to_owned(),
            ];
            screen.made(&made, &format!("{}  {secret}", text_at(&made, "id")), &next)?;
        }
        TokenVerb::List { account, page } => {
            let columns = [
                column("ID", "id"),
                column("STATE", "state").rank(1),
                column("PROJECT", "project").rank(6),
                column("ROLE", "role").rank(2),
                column("MADE", "created_at").rank(4),
                column("USED", "last_used_at").rank(3),
                column("ENDS", "expires_at").rank(3),
                column("ACCOUNT", "account").rank(7),
                column("MADE WITH", "made_with").rank(8),
            ];
            screen.list(
                &client.get(&["tokens"], &page.query(&[("account", account.as_deref())])).await?,
                &columns,
                "No tokens.",
            )?;
        }
        TokenVerb::Revoke { token, with_children } => {
            let done =
                client.post(&["tokens", &token, "revoke"], &RevokeToken { with_children }, None).await?;
            let also = done["also_revoked"].as_array().map_or(0, Vec::len);
            let also = if also == 0 { String::new() } else { format!(", and {also} that were made with it") };
            screen.revoked(&done, &format!("Token {token} is revoked{also}."), &[])?;
        }
    }
    Ok(Exit::Done)
}
