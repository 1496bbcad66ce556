//! What connections are given, as it stands in the ledger at the moment: rotated secrets and refreshed tokens reach
//! sessions that live.

use anyhow::{Context, Result};
use async_trait::async_trait;
use mate_bridge::{Credentials, oauth};
use mate_engine::{
    Engine,
    oauth::{AHEAD, Held, Standing},
};
use mate_guard::{Redactor, Secret};
use mate_model::{ConnectionId, records::Connection, records::Reach};
use std::{sync::Arc, time::Duration};
use tokio::sync::Mutex;

/// How often, and how far apart, a request looks whether somebody else has got new tokens: 40 s together.
const TURN: u32 = 400;
const LOOK: Duration = Duration::from_millis(100);
/// How often new tokens are offered to the ledger: they cannot be got a second time.
const KEEPS: u32 = 20;

/// One connection's.
pub(crate) struct LiveCredentials {
    engine: Arc<Engine>,
    redactor: Redactor,
    id: ConnectionId,
    name: String,
    remote: bool,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// What was given last, as it is sealed.
    given: Option<Option<Vec<u8>>>,
    opened: Vec<(String, String)>,
    /// The version of the tokens that were given last, and of those that the upstream did not take.
    shown: Option<i64>,
    refused: Option<i64>,
}

impl LiveCredentials {
    /// Those of `connection`; whatever they become is hidden by `redactor`.
    pub(crate) fn of(engine: &Arc<Engine>, redactor: &Redactor, connection: &Connection) -> Arc<Self> {
        Arc::new(Self {
            engine: Arc::clone(engine),
            redactor: redactor.clone(),
            id: connection.id,
            name: connection.name.clone(),
            remote: matches!(connection.reach, Reach::Http { .. }),
            known: Mutex::default(),
        })
    }

    async fn now(&self) -> Result<Connection> {
        let found = self.engine.ledger.connection(self.id).await?;
        found.filter(|found| found.removed_at.is_none()).context("the connection was removed")
    }

    /// The secrets of the connection, as they are given to the upstream; the redactor knows them from now on.
    async fn opened(&self, connection: &Connection) -> Result<Vec<(String, String)>> {
        let opened = self.engine.open_secrets(connection)?;
        self.redactor.learn(self.engine.known_secrets(connection).await?)?;
        let pairs = if self.remote { opened.headers } else { opened.env };
        pairs.into_iter().map(text).collect()
    }

    async fn give(&self) -> Result<Vec<(String, String)>> {
        let connection = self.now().await?;
        let mut known = self.known.lock().await;
        if known.given.as_ref() != Some(&connection.sealed) {
            known.opened = self.opened(&connection).await?;
            known.given = Some(connection.sealed);
        }
        let mut given = known.opened.clone();
        let refused = known.refused;
        drop(known);
        if self.remote
            && let Some((version, token)) = self.token(refused).await?
        {
            given.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
            given.push(("Authorization".to_owned(), format!("Bearer {token}")));
            self.known.lock().await.shown = Some(version);
        }
        Ok(given)
    }

    /// A token that is good, as far as is known: a new one where the old one is about to end or was not taken.
    async fn token(&self, refused: Option<i64>) -> Result<Option<(i64, String)>> {
        let mut looks = TURN;
        // Tokens that were got just now are used as they are, however soon they end: to ask again would get no better ones.
        let (mut fresh, mut awaited) = (false, None);
        loop {
            let (version, held, expires_at) = match self.engine.access_tokens(self.id).await? {
                Standing::None => return Ok(None),
                Standing::Lost { why } => {
                    anyhow::bail!(
                        "its authorisation is lost ({why}): an administrator runs `agent-mate connection authorize {}`",
                        self.name
                    )
                }
                Standing::Held { version, held, expires_at } => (version, held, expires_at),
            };
            self.redactor.learn(held.secrets())?;
            // What somebody else got meanwhile is as new.
            fresh |= awaited.is_some_and(|before| before != version);
            let now = self.engine.clock.now().0;
            let ends = expires_at.is_some_and(|at| at.0 - AHEAD <= now);
            if fresh || (!ends && refused != Some(version)) || held.refresh.is_none() {
                return Ok(Some((version, held.access)));
            }
            if self.engine.claim_refresh(self.id, version).await? {
                // In a task of its own: what was asked for is kept, also when nobody waits for it any more.
                let (engine, redactor, id) = (Arc::clone(&self.engine), self.redactor.clone(), self.id);
                tokio::spawn(async move { refresh(&engine, &redactor, id, version, *held).await }).await??;
                fresh = true;
            } else {
                anyhow::ensure!(looks > 0, "others take too long to get a new token for it");
                looks -= 1;
                awaited = Some(version);
                tokio::time::sleep(LOOK).await;
            }
        }
    }
}

/// Gets new tokens and keeps them. The claim is this one's.
async fn refresh(
    engine: &Engine,
    redactor: &Redactor,
    id: ConnectionId,
    version: i64,
    held: Held,
) -> Result<()> {
    let client = oauth::Client {
        id: held.party.client_id.clone(),
        secret: held.party.client_secret.clone(),
        method: held.party.client_method.clone(),
    };
    let old = held.refresh.clone().unwrap_or_default();
    let got = oauth::refresh(&held.party.token_endpoint, &client, &old, &held.party.resource).await;
    let tokens = match got {
        Ok(tokens) => tokens,
        Err(oauth::Fault::Refused { error, .. }) if error == "invalid_grant" => {
            let why = "the authorisation server takes its refresh token no more";
            engine.ledger.lose_authorization(id, version, why).await?;
            return Ok(());
        }
        Err(fault) => {
            engine.ledger.leave_refresh(id, version).await?;
            let fault = redactor.shown(&fault.to_string(), 300);
            anyhow::bail!("no new token could be got for it: {fault}");
        }
    };
    let mut held = held;
    held.access = tokens.access;
    held.refresh = tokens.refresh.or(held.refresh);
    held.party.scope = tokens.scope.or(held.party.scope);
    redactor.learn(held.secrets())?;
    for _ in 1..KEEPS {
        match engine.keep_refreshed(id, version, &held, tokens.expires_in).await {
            Ok(_) => return Ok(()),
            Err(error) => {
                tracing::error!(%error, connection = %id, "new tokens cannot be kept yet; trying again");
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    }
    engine.keep_refreshed(id, version, &held, tokens.expires_in).await?;
    Ok(())
}

fn text((name, value): (String, Secret)) -> Result<(String, String)> {
    let value = value.expose_text().map(str::to_owned);
    value.map(|value| (name.clone(), value)).with_context(|| format!("{name} is not text"))
}

#[async_trait]
impl Credentials for LiveCredentials {
    async fn current(&self) -> Result<Vec<(String, String)>, String> {
        self.give().await.map_err(|error| format!("{error:#}"))
    }

    async fn refused(&self) {
        let mut known = self.known.lock().await;
        known.refused = known.shown;
    }

    async fn changed(&self) -> bool {
        let Ok(connection) = self.now().await else { return false };
        let mut known = self.known.lock().await;
        if known.given.as_ref().is_none_or(|given| *given == connection.sealed) {
            return false;
        }
        // The same secrets under another key are the same secrets.
        let same = self.opened(&connection).await.is_ok_and(|opened| opened == known.opened);
        if same {
            known.given = Some(connection.sealed);
        }
        !same
    }
}
