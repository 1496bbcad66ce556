//! `agent-mate doctor`: what is wrong, and how to put it right.

use super::{
    Context,
    exit::{Exit, Failure},
    show::text_at,
};
use mate_engine::Settings;
use mate_guard::{key_file, text};
use mate_store::{
    Ledger, PostgresDatabase, StoreError,
    postgres::{PostgresOptions, reached_in_clear},
};
use serde_json::{Value, json};
use std::{os::unix::fs::PermissionsExt, path::Path, sync::Arc, time::Duration};

/// One thing that was looked at.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    /// What.
    pub(crate) name: &'static str,
    /// Whether it is well.
    pub(crate) ok: bool,
    /// What was found, or what to do.
    pub(crate) detail: String,
}

impl Check {
    /// It is well.
    pub(crate) fn well(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, ok: true, detail: detail.into() }
    }

    /// It is not.
    pub(crate) fn ill(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, ok: false, detail: detail.into() }
    }
}

/// Looks at the home and the coordinator, and shows that with what the caller looked at already.
///
/// # Errors
/// When standard output does not take it. What is ill makes exit code 4.
pub(crate) async fn doctor(context: &Context, before: Vec<Check>) -> Result<Exit, Failure> {
    let mut checks = before;
    checks.extend(home(context));
    checks.extend(database(context).await);
    let answers = coordinator(context).await;
    if answers.ok {
        checks.extend(sessions(context).await);
    }
    checks.push(answers);
    let well = checks.iter().all(|check| check.ok);
    if context.screen.json {
        let items: Vec<Value> =
            checks.iter().map(|c| json!({"name": c.name, "ok": c.ok, "detail": c.detail})).collect();
        context.screen.document(&json!({"ok": well, "checks": items}))?;
    } else {
        for check in &checks {
            let mark = if check.ok { "ok " } else { "BAD" };
            context.screen.line(&format!(
                "{mark}  {:<12}  {}",
                check.name,
                text::line(&check.detail, 500)
            ))?;
        }
    }
    Ok(if well { Exit::Done } else { Exit::Refused })
}

fn home(context: &Context) -> Vec<Check> {
    let path = context.home.path();
    if !path.is_dir() {
        return vec![Check::ill("home", format!("{} is not there: run `agent-mate init`", path.display()))];
    }
    let mut checks = vec![private("home", path)];
    checks.push(key(context));
    let token = context.home.token();
    if token.exists() {
        checks.push(private("token", &token));
    }
    checks
}

/// How long a database may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// Reaches the database, and looks whether it is set up: how far it is from that, in words.
async fn reach(url: &str) -> Result<&'static str, String> {
    let opened = PostgresDatabase::open(url, PostgresOptions::default());
    let opened = tokio::time::timeout(PATIENCE, opened).await;
    let database = opened
        .map_err(|_| format!("the database does not answer within {} s", PATIENCE.as_secs()))?
        .map_err(|error| error.to_string())?;
    // One without the tables was never used.
    let ledger = Ledger::new(Arc::new(database));
    match tokio::time::timeout(PATIENCE, ledger.accounts(None, 1)).await {
        Ok(Ok(page)) if !page.items.is_empty() => Ok("set up"),
        Ok(Ok(_) | Err(StoreError::Misuse(_))) => Ok("empty: `agent-mate init` sets it up"),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("the database does not answer within {} s", PATIENCE.as_secs())),
    }
}

/// Where the key is, who keeps it, and how it is kept.
fn key(context: &Context) -> Check {
    const NAME: &str = "key";
    let place = crate::opening::key_place(&context.home);
    match (key_file::load(&place), place.mode()) {
        (Ok(ring), Ok(mode)) => {
            let keys = match ring.ids().count() {
                1 => "1 key".to_owned(),
                count => format!("{count} keys"),
            };
            Check::well(NAME, format!("{}: {}, mode {mode:03o}, {keys}", place.path.display(), place.source))
        }
        (Err(error), _) => Check::ill(NAME, error.to_string()),
        (Ok(_), Err(error)) => Check::ill(NAME, format!("{}: {error}", place.path.display())),
    }
}

/// Whether a database is used, and what goes to it in clear.
async fn database(context: &Context) -> Option<Check> {
    const NAME: &str = "database";
    // What is wrong with the settings is told by their own check.
    let url = Settings::read(&context.home.config()).ok()?.store.database?;
    let hosts = match reached_in_clear(&url) {
        Ok(hosts) => hosts,
        Err(error) => return Some(Check::ill(NAME, error.to_string())),
    };
    let place = if hosts.is_empty() {
        "PostgreSQL on this machine".to_owned()
    } else {
        format!(
            "PostgreSQL on {}: reached WITHOUT TLS (also with sslmode=prefer), so use it through a tunnel alone",
            hosts.join(", ")
        )
    };
    Some(match reach(&url).await {
        Ok("set up") => Check::well(NAME, place),
        Ok(not_yet) => Check::ill(NAME, format!("{place}: {not_yet}")),
        Err(error) => Check::ill(NAME, format!("{place}: {error}")),
    })
}

fn private(name: &'static str, path: &Path) -> Check {
    match std::fs::metadata(path) {
        Ok(found) if found.permissions().mode() & 0o077 == 0 => Check::well(name, path.display().to_string()),
        Ok(_) => Check::ill(name, format!("{} is open to others: run `chmod go= {0}`", path.display())),
        Err(error) => Check::ill(name, format!("{} cannot be looked at: {error}", path.display())),
    }
}

async fn coordinator(context: &Context) -> Check {
    const NAME: &str = "coordinator";
    let client = match context.client() {
        Ok(client) => client,
        Err(failure) => return Check::ill(NAME, failure.detail),
    };
    match client.get(&["projects"], &[("limit", "1".to_owned())]).await {
        Ok(page) => {
            let first =
                page.get("items").and_then(|items| items.get(0)).map(|project| text_at(project, "name"));
            Check::well(
                NAME,
                first.map_or_else(|| "answers".to_owned(), |name| format!("answers; first project: {name}")),
            )
        }
        Err(failure) => Check::ill(NAME, failure.detail),
    }
}

/// What the coordinator could not look after; only an administrator is told.
async fn sessions(context: &Context) -> Option<Check> {
    const NAME: &str = "sessions";
    let page = context.client().ok()?.get(&["set-aside"], &[]).await.ok()?;
    let items = page.get("items")?.as_array()?;
    let each = items.iter().map(|item| match text_at(item, "session") {
        "" => text_at(item, "why").to_owned(),
        session => format!("{session}: {}", text_at(item, "why")),
    });
    let told: Vec<String> = each.collect();
    Some(match told.len() {
        0 => Check::well(NAME, "every unfinished session is looked after"),
        count => Check::ill(NAME, format!("{count} set aside, the others go on: {}", told.join("; "))),
    })
}
