//! What a POST asks, for its idempotency key: the route, and the key if the client gave one.

use crate::problem::Problem;
use axum::extract::FromRequestParts;
use http::{HeaderName, request::Parts};
use mate_engine::Principal;
use mate_model::Micros;
use mate_store::IdempotencyKey;
use uuid::Uuid;

const HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// The longest key.
const LONGEST: usize = 255;

/// A route, and the key if the client gave one.
#[derive(Debug)]
pub(crate) struct Ask {
    route: String,
    key: Option<String>,
}

impl Ask {
    /// The key with all that it is scoped to: account, the project that the token is limited to, route and body. A token for
    /// one project learns nothing of what others of its account have asked elsewhere.
    pub(crate) fn keyed(&self, who: &Principal, body: &[u8]) -> Option<IdempotencyKey> {
        let key = self.key.clone()?;
        let account = who.account;
        let route = match who.only_project {
            Some(project) => format!("{} in {project}", self.route),
            None => self.route.clone(),
        };
        Some(IdempotencyKey { account, route, key, body_digest: *blake3::hash(body).as_bytes() })
    }
}

/// The id of what a keyed request makes: the same each time, so that a request that is repeated after a crash
/// finds what the first one made. As other ids, it sorts by the time of its making: when the key was claimed.
pub(crate) fn id_for(key: &IdempotencyKey, claimed_at: Micros) -> Uuid {
    let mut hasher = blake3::Hasher::new_derive_key("agent-mate idempotent id 1");
    for part in
        [key.account.to_string().as_bytes(), key.route.as_bytes(), key.key.as_bytes(), &key.body_digest]
    {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut bytes = [0; 10];
    hasher.finalize_xof().fill(&mut bytes);
    let millis = u64::try_from(claimed_at.0 / 1_000).unwrap_or_default();
    uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid()
}

impl<S: Send + Sync> FromRequestParts<S> for Ask {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let route = format!("{} {}", parts.method, parts.uri.path());
        let mut given = parts.headers.get_all(HEADER).iter();
        let Some(value) = given.next() else { return Ok(Self { route, key: None }) };
        let key = value
            .to_str()
            .ok()
            .filter(|key| (1..=LONGEST).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic()));
        match (key, given.next()) {
            (Some(key), None) => Ok(Self { route, key: Some(key.to_owned()) }),
            (Some(_) | None, _) => Err(Problem::parameter(
                "Idempotency-Key",
                "must be one header of 1 to 255 printable ASCII characters without spaces",
            )),
        }
    }
}
