//! What connections were authorised for: sealed, refreshed by one caller at a time, never given to anybody but the upstream.

use crate::{Engine, EngineError, Principal, Verb};
use async_trait::async_trait;
use mate_guard::{Place, Secret};
use mate_model::{ConnectionId, Micros, records::Connection};
use mate_store::{Authorization, AuthorizationState, LedgerError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use zeroize::Zeroizing;

/// How long one caller may take to get new tokens.
const CLAIM: i64 = 45_000_000;
/// New tokens are got so long before the old ones end, in microseconds.
pub const AHEAD: i64 = 30_000_000;
/// And not more often than this.
const OFTEN: i64 = 3_000_000;
/// How long a person may take to say yes.
const ASKED: i64 = 3_600_000_000;

/// What was asked of a person, until the answer comes. Sealed at rest.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// Tells the answer from others.
    pub state: String,
    /// Proves that who asked for the code gets the tokens.
    pub verifier: String,
    /// Where the answer goes.
    pub redirect_uri: String,
    /// The authorisation server names itself in its answers.
    pub says_issuer: bool,
    /// When it was asked.
    pub asked_at: i64,
    /// Of whom, and for what.
    pub party: Party,
}

/// Who gives tokens, to whom, for what.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Party {
    /// The authorisation server.
    pub issuer: String,
    /// Where it gives tokens.
    pub token_endpoint: String,
    /// What we are called there.
    pub client_id: String,
    /// Our secret there, if we have one.
    pub client_secret: Option<String>,
    /// How we prove ourselves there.
    pub client_method: String,
    /// What the tokens are for.
    pub resource: String,
    /// How much was asked for, or allowed.
    pub scope: Option<String>,
}

/// Tokens and where new ones come from. Sealed at rest.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Held {
    /// Who gives them.
    pub party: Party,
    /// What requests show.
    pub access: String,
    /// What new ones are got with.
    pub refresh: Option<String>,
}

impl Held {
    /// What of it must not be seen.
    pub fn secrets(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.access).chain(&self.refresh).chain(&self.party.client_secret)
    }
}

impl Pending {
    /// What of it must not be seen.
    pub fn secrets(&self) -> impl Iterator<Item = &String> {
        [&self.verifier, &self.state].into_iter().chain(&self.party.client_secret)
    }
}

/// A connection's tokens as they stand.
pub enum Standing {
    /// It was never authorised.
    None,
    /// They can be used.
    Held {
        /// Of the tokens.
        version: i64,
        /// The tokens.
        held: Box<Held>,
        /// When the first ends, if that is known.
        expires_at: Option<Micros>,
    },
    /// They are good for nothing any more.
    Lost {
        /// Why.
        why: String,
    },
}

/// Speaks to authorisation servers.
#[async_trait]
pub trait Authorizer: Send + Sync {
    /// Finds out who gives tokens for `url`, and what a person is to be sent to.
    ///
    /// # Errors
    /// Why that cannot be found out.
    async fn begin(&self, url: &str, wish: &Wish) -> Result<(Pending, String), EngineError>;

    /// Gets tokens for the address that the person was sent back to; and for how many seconds they are good.
    ///
    /// # Errors
    /// Why there are none.
    async fn finish(&self, pending: &Pending, redirected: &str) -> Result<(Held, Option<i64>), EngineError>;
}

/// Speaks to nobody.
#[derive(Clone, Copy, Debug)]
pub struct NoAuthorizer;

#[async_trait]
impl Authorizer for NoAuthorizer {
    async fn begin(&self, _url: &str, _wish: &Wish) -> Result<(Pending, String), EngineError> {
        Err(EngineError::refused("not_here", "connections cannot be authorised from here"))
    }

    async fn finish(
        &self,
        _pending: &Pending,
        _redirected: &str,
    ) -> Result<(Held, Option<i64>), EngineError> {
        Err(EngineError::refused("not_here", "connections cannot be authorised from here"))
    }
}

/// What is wanted of an authorisation.
#[derive(Clone, Default)]
pub struct Wish {
    /// Where the person is to be sent back: a loopback address of whoever asks.
    pub redirect_uri: String,
    /// How much; what the server asks for if absent.
    pub scope: Option<String>,
    /// What we are called at the authorisation server; we make ourselves known if absent.
    pub client_id: Option<String>,
    /// Our secret there.
    pub client_secret: Option<String>,
}

impl Engine {
    /// Asks for an authorisation of a connection: where a person is to be sent.
    ///
    /// # Errors
    /// A connection without an address; not an administrator; [`EngineError::NotFound`]; the authorizer's; the ledger's.
    pub async fn ask_authorization(
        &self,
        who: &Principal,
        name_or_id: &str,
        authorizer: &dyn Authorizer,
        wish: &Wish,
    ) -> Result<(Connection, String), EngineError> {
        self.demand_here(who, Verb::ConnectionAuthorize).await?;
        let connection = self.connection(who, name_or_id).await?;
        let mate_model::records::Reach::Http { url } = &connection.reach else {
            return Err(EngineError::refused(
                "no_address",
                "only a connection with a url is authorised so; a program gets its secrets with --secret-env",
            ));
        };
        let (pending, address) = authorizer.begin(url, wish).await?;
        let sealed = self.seal_json(connection.id, "pending", &pending).await?;
        self.ledger.ask_authorization(connection.id, &sealed).await?;
        Ok((connection, address))
    }

    /// The person was sent back: gets the tokens and keeps them.
    ///
    /// # Errors
    /// That nothing was asked, or not this; not an administrator; the authorizer's; the ledger's.
    pub async fn finish_authorization(
        &self,
        who: &Principal,
        name_or_id: &str,
        authorizer: &dyn Authorizer,
        redirected: &str,
    ) -> Result<(Connection, Held, Option<Micros>), EngineError> {
        self.demand_here(who, Verb::ConnectionAuthorize).await?;
        let connection = self.connection(who, name_or_id).await?;
        let found = self.ledger.authorization(connection.id).await?;
        let sealed = found.and_then(|found| found.pending).ok_or_else(not_asked)?;
        let pending: Pending = self.open_json(connection.id, "pending", &sealed)?;
        if self.clock.now().0.saturating_sub(pending.asked_at) > ASKED {
            return Err(not_asked());
        }
        let (held, expires_in) = authorizer.finish(&pending, redirected).await?;
        let expires_at = expires_in.map(|seconds| end(self.clock.now(), seconds));
        let kept = self.seal_json(connection.id, "sealed", &held).await?;
        match self.ledger.give_authorization(connection.id, &sealed, &kept, expires_at).await {
            Ok(()) => {}
            // What was asked may have been sealed anew meanwhile: the code is used up, so the tokens must not be lost.
            Err(LedgerError::NotFound(_)) => {
                let again = self.ledger.authorization(connection.id).await?.and_then(|found| found.pending);
                let again = again.ok_or_else(not_asked)?;
                let asked: Pending = self.open_json(connection.id, "pending", &again)?;
                if asked.state != pending.state {
                    return Err(not_asked());
                }
                let kept = self.seal_json(connection.id, "sealed", &held).await?;
                self.ledger.give_authorization(connection.id, &again, &kept, expires_at).await?;
            }
            Err(error) => return Err(error.into()),
        }
        Ok((connection, held, expires_at))
    }

    /// A connection's tokens, for who gives them to the upstream and to nobody else.
    ///
    /// # Errors
    /// The ledger's; that they cannot be opened.
    pub async fn access_tokens(&self, connection: ConnectionId) -> Result<Standing, EngineError> {
        let Some(found) = self.ledger.authorization(connection).await? else { return Ok(Standing::None) };
        let Authorization { version, state, sealed, expires_at, why, .. } = found;
        match (state, sealed) {
            (AuthorizationState::Asked, _) | (_, None) => Ok(Standing::None),
            (AuthorizationState::Lost, _) => Ok(Standing::Lost { why: why.unwrap_or_default() }),
            (AuthorizationState::Authorized, Some(sealed)) => {
                let held = Box::new(self.open_json(connection, "sealed", &sealed)?);
                Ok(Standing::Held { version, held, expires_at })
            }
        }
    }

    /// Claims the right to get new tokens; false while somebody else has it.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn claim_refresh(&self, connection: ConnectionId, version: i64) -> Result<bool, EngineError> {
        let now = self.clock.now();
        Ok(self.ledger.claim_refresh(connection, version, Micros(now.0 + CLAIM), now).await?)
    }

    /// Keeps new tokens; `expires_in` in seconds.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn keep_refreshed(
        &self,
        connection: ConnectionId,
        version: i64,
        held: &Held,
        expires_in: Option<i64>,
    ) -> Result<bool, EngineError> {
        // A failure is tried again by who calls, and sealed anew: the key may have been retired in between.
        let sealed = self.seal_json(connection, "sealed", held).await?;
        let expires_at = expires_in.map(|seconds| end(self.clock.now(), seconds));
        Ok(self.ledger.keep_refreshed(connection, version, &sealed, expires_at).await?)
    }

    /// What must not be seen of a connection's authorisation: tokens, also those that are lost, our secret, and what proves a
    /// question that is not answered.
    pub(crate) async fn authorization_secrets(
        &self,
        connection: ConnectionId,
    ) -> Result<Vec<Secret>, EngineError> {
        let mut secrets = Vec::new();
        let Some(found) = self.ledger.authorization(connection).await? else { return Ok(secrets) };
        if let Some(sealed) = found.sealed {
            let held: Held = self.open_json(connection, "sealed", &sealed)?;
            secrets.extend(held.secrets().cloned().map(Secret::from));
        }
        if let Some(sealed) = found.pending {
            let pending: Pending = self.open_json(connection, "pending", &sealed)?;
            secrets.extend(pending.secrets().cloned().map(Secret::from));
        }
        Ok(secrets)
    }

    async fn seal_json(
        &self,
        connection: ConnectionId,
        column: &str,
        value: &(impl Serialize + Sync),
    ) -> Result<Vec<u8>, EngineError> {
        let internal = |why: String| EngineError::Internal(why);
        let clear = Zeroizing::new(serde_json::to_vec(value).map_err(|error| internal(error.to_string()))?);
        let id = connection.to_string();
        let place = Place { table: "authorizations", id: &id, column };
        self.seal(place, &clear).await
    }

    fn open_json<T: DeserializeOwned>(
        &self,
        connection: ConnectionId,
        column: &str,
        sealed: &[u8],
    ) -> Result<T, EngineError> {
        let id = connection.to_string();
        let place = Place { table: "authorizations", id: &id, column };
        let clear = self.unseal(place, sealed).map_err(|error| EngineError::Internal(error.to_string()))?;
        serde_json::from_slice(clear.expose())
            .map_err(|_| EngineError::Internal(format!("the authorisation of {id} is not what was sealed")))
    }
}

/// When a token that is good for so many seconds is taken to end. One that ends sooner than new ones are got ahead
/// ([`AHEAD`]) counts as about to end at half its time, and none sooner than in 3 seconds: whatever a server says, it is
/// not asked more often than that.
fn end(now: Micros, seconds: i64) -> Micros {
    let micros = seconds.saturating_mul(1_000_000);
    let use_for = if micros > AHEAD { micros - AHEAD } else { micros / 2 };
    Micros(now.0.saturating_add(AHEAD.saturating_add(use_for.max(OFTEN))))
}

fn not_asked() -> EngineError {
    EngineError::refused(
        "not_asked",
        "nothing waits for this answer: begin again with `connection authorize`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_ends_at_once_is_used_for_a_while() {
        let ahead = |seconds| end(Micros(0), seconds).0 - AHEAD;
        assert_eq!([3600, 60, 33, 20, 0].map(ahead), [3_570_000_000, 30_000_000, OFTEN, 10_000_000, OFTEN]);
        assert!(end(Micros(1), i64::MAX).0 == i64::MAX);
    }
}
