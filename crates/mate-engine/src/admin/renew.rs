//! What is pinned under a grant, and renewing it.

use super::{NamedGrant, Paging, check};
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{
    GrantId, ProjectId,
    event::{Draft, EventType},
    records::Pin,
};
use mate_store::LedgerError;
use serde_json::json;

/// The most pins of a project that are looked at; a tool beyond them is not to be used.
const MAX_PINS: usize = 50_000;
const PAGE: u32 = 1_000;

/// A grant, with what is pinned under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedGrant {
    /// The grant.
    pub named: NamedGrant,
    /// A page of what is pinned, by tool.
    pub pins: Vec<Pin>,
    /// The tool after which the next page starts; none at the end.
    pub next: Option<String>,
}

impl Engine {
    /// The grant with this id, with a page of its pins.
    ///
    /// # Errors
    /// [`EngineError::NotFound`].
    pub async fn pinned_grant(
        &self,
        who: &Principal,
        id: &str,
        page: &Paging,
    ) -> Result<PinnedGrant, EngineError> {
        let named = self.grant(who, id).await?;
        let pins = self.ledger.pins(named.grant.id, page.after.as_deref(), page.limit).await?;
        for corrupt in &pins.corrupt {
            tracing::error!(%corrupt, "a pin cannot be read; its tool is not to be used");
        }
        Ok(PinnedGrant { named, pins: pins.items, next: pins.next })
    }

    /// Renews a grant: each definition that was seen to have changed is pinned as it was last seen, and the grant ends
    /// at `expires`, if that is given.
    ///
    /// # Errors
    /// Not an owner; one that is revoked; [`EngineError::NotFound`]; the ledger's.
    pub async fn renew_grant(
        &self,
        who: &Principal,
        id: &str,
        expires: Option<&str>,
    ) -> Result<NamedGrant, EngineError> {
        let named = self.grant(who, id).await?;
        let grant = &named.grant;
        self.demand(who, grant.project, Verb::GrantRenew).await?;
        let revoked =
            || EngineError::refused("grant_revoked", "the grant is revoked: give a new one with `grant add`");
        if grant.revoked_at.is_some() {
            return Err(revoked());
        }
        let at = self.writing_time().await?;
        let expires = expires.map(|text| check::expires(text, at)).transpose()?;
        let accepted = self.changed_tools_of(grant.id).await?;
        let data = json!({
            "by": who.account, "grant": grant.id, "accepted": accepted, "expires_at_us": expires.or(grant.expires_at),
        });
        let draft = Draft { kind: EventType::GrantRenewed, task: None, turn: None, at, data };
        match self.ledger.renew_grant(grant.project, grant.id, at, expires, draft).await {
            Ok(()) => self.grant(who, id).await,
            Err(LedgerError::NotFound(_)) => Err(revoked()),
            Err(error) => Err(error.into()),
        }
    }

    /// What changed of a grant's tools, for its project's log: at most a page of it.
    async fn changed_tools_of(&self, grant: GrantId) -> Result<Vec<serde_json::Value>, EngineError> {
        let page = self.ledger.pins(grant, None, PAGE).await?;
        let changed = page.items.into_iter().filter_map(|pin| {
            let change = pin.change?;
            let tool = mate_guard::text::line(&pin.tool, 128);
            Some(json!({ "tool": tool, "from": pin.digest, "to": change.digest }))
        });
        Ok(changed.take(100).collect())
    }

    /// All pins under a project's grants in force. One that cannot be read is left out: its tool is not to be used.
    pub(crate) async fn pins_in_force(&self, project: ProjectId) -> Result<Vec<Pin>, EngineError> {
        let mut pins = Vec::new();
        let mut after = None;
        while pins.len() < MAX_PINS {
            let page = self.ledger.live_pins(project, after, PAGE).await?;
            for corrupt in &page.corrupt {
                tracing::error!(%project, %corrupt, "a pin cannot be read; its tool is not to be used");
            }
            pins.extend(page.items);
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        Ok(pins)
    }
}
