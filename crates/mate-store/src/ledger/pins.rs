//! Pins: the definition of each tool under each grant, as it was first seen after the grant was given.

use super::{Ledger, LedgerError, error::Refused, meta::RAISE_VERSION};
use crate::{
    Row, Statement, StoreError, decode,
    page::Page,
    params::{json, one_more, params},
};
use mate_model::{
    GrantId, Micros, ProjectId,
    event::Draft,
    records::{Pin, PinChange},
};

/// How many are written by one script.
const IN_ONE_SCRIPT: usize = 500;

const ADD: &str = "INSERT INTO grant_pins (grant_id, tool, digest, fields, pinned_at)
    VALUES ($1, $2, $3, $4, $5) ON CONFLICT (grant_id, tool) DO NOTHING";
const IN_FORCE: &str =
    "SELECT p.grant_id, p.tool, p.digest, p.fields, p.pinned_at, p.changed_digest, p.changed_fields,
        p.changed_at
    FROM grant_pins p JOIN grants g ON g.id = p.grant_id
    WHERE g.project = $1 AND g.revoked_at IS NULL AND (p.grant_id > $2 OR (p.grant_id = $2 AND p.tool > $3))
    ORDER BY p.grant_id, p.tool LIMIT $4";
const OF_GRANT: &str =
    "SELECT grant_id, tool, digest, fields, pinned_at, changed_digest, changed_fields, changed_at
    FROM grant_pins WHERE grant_id = $1 AND tool > $2 ORDER BY tool LIMIT $3";
const CHANGED: &str =
    "SELECT count(*) AS changed FROM grant_pins WHERE grant_id = $1 AND changed_at IS NOT NULL";
const NOTE: &str = "UPDATE grant_pins SET changed_digest = $3, changed_fields = $4, changed_at = $5
    WHERE grant_id = $1 AND tool = $2 AND digest <> $3 AND (changed_digest IS NULL OR changed_digest <> $3)";
const FORGET: &str = "UPDATE grant_pins SET changed_digest = NULL, changed_fields = NULL, changed_at = NULL
    WHERE grant_id = $1 AND tool = $2 AND digest = $3 AND changed_digest IS NOT NULL";
const RENEW: &str =
    "UPDATE grants SET expires_at = COALESCE($2, expires_at) WHERE id = $1 AND revoked_at IS NULL";
const ACCEPT: &str = "UPDATE grant_pins SET digest = changed_digest, fields = changed_fields, pinned_at = $2,
        changed_digest = NULL, changed_fields = NULL, changed_at = NULL
    WHERE grant_id = $1 AND changed_digest IS NOT NULL";

fn decode(row: &Row) -> Result<Pin, StoreError> {
    let change = match (row.opt_text("changed_digest")?, decode::opt_micros(row, "changed_at")?) {
        (Some(digest), Some(seen_at)) => Some(PinChange {
            digest: digest.to_owned(),
            fields: decode::json(row, "changed_fields")?,
            seen_at,
        }),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return Err(row.corrupt("changed_at", "half a change of the definition"));
        }
    };
    Ok(Pin {
        grant: row.parse("grant_id")?,
        tool: row.text("tool")?.to_owned(),
        digest: row.text("digest")?.to_owned(),
        fields: decode::json(row, "fields")?,
        pinned_at: decode::micros(row, "pinned_at")?,
        change,
    })
}

impl Ledger {
    /// Pins definitions. One that is pinned already stays: whoever was first is right.
    ///
    /// # Errors
    /// The store's; part of them may then be pinned.
    pub async fn add_pins(&self, pins: &[Pin]) -> Result<(), LedgerError> {
        for chunk in pins.chunks(IN_ONE_SCRIPT) {
            let mut statements = Vec::with_capacity(chunk.len());
            for pin in chunk {
                let values = params![
                    pin.grant,
                    pin.tool.as_str(),
                    pin.digest.as_str(),
                    json(&pin.fields)?,
                    pin.pinned_at
                ];
                statements.push(Statement::any(ADD, values));
            }
            self.write(statements).await.map_err(|refused| refused.adding("pin", "grant"))?;
        }
        Ok(())
    }

    /// The pins under a project's grants that are not revoked, by grant and tool, after `after`.
    ///
    /// # Errors
    /// The store's.
    pub async fn live_pins(
        &self,
        project: ProjectId,
        after: Option<(GrantId, String)>,
        limit: u32,
    ) -> Result<Page<Pin, (GrantId, String)>, StoreError> {
        let (grant, tool) = after.map_or_else(Default::default, |(grant, tool)| (grant.to_string(), tool));
        let rows = self.db.fetch(IN_FORCE, params![project, grant, tool, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| Ok((row.parse("grant_id")?, row.text("tool")?.to_owned())))
    }

    /// The pins under a grant, by tool, after `after`.
    ///
    /// # Errors
    /// The store's.
    pub async fn pins(
        &self,
        grant: GrantId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<Pin, String>, StoreError> {
        let rows = self.db.fetch(OF_GRANT, params![grant, after.unwrap_or(""), one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.text("tool").map(str::to_owned))
    }

    /// How many tools of a grant were seen with another definition than the pinned one.
    ///
    /// # Errors
    /// The store's.
    pub async fn changed_tools(&self, grant: GrantId) -> Result<i64, StoreError> {
        let rows = self.db.fetch(CHANGED, params![grant]).await?;
        rows.first().map_or(Ok(0), |row| row.int("changed"))
    }

    /// Notes that a tool was seen with another definition than the pinned one, with the event that says so; false when
    /// that is noted already, or is the pinned one meanwhile.
    ///
    /// # Errors
    /// The store's.
    pub async fn note_change(
        &self,
        project: ProjectId,
        (grant, tool): (GrantId, &str),
        change: &PinChange,
        draft: Draft,
    ) -> Result<bool, LedgerError> {
        let values = params![grant, tool, change.digest.as_str(), json(&change.fields)?, change.seen_at];
        // Every session looks again: what it took for the tool's definition is not to be used.
        let statements = [Statement::one(NOTE, values), Statement::one(RAISE_VERSION, Vec::new())];
        match self.commit(project, &[draft], &statements).await {
            Ok(_) => Ok(true),
            Err(Refused::Guard(_)) => Ok(false),
            Err(refused) => Err(refused.moving("pin")),
        }
    }

    /// A tool was seen with its pinned definition again: what had been noted is over.
    ///
    /// # Errors
    /// The store's.
    pub async fn forget_change(&self, grant: GrantId, tool: &str, digest: &str) -> Result<(), StoreError> {
        self.db.execute(Statement::any(FORGET, params![grant, tool, digest])).await.map(|_| ())
    }

    /// Renews a grant of `project`: each definition that was noted as changed is pinned as it was noted, and the grant
    /// ends at `expires`, if that is given.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when there is none in force, and the store's.
    pub async fn renew_grant(
        &self,
        project: ProjectId,
        id: GrantId,
        at: Micros,
        expires: Option<Micros>,
        draft: Draft,
    ) -> Result<(), LedgerError> {
        let statements = [
            Statement::one(RAISE_VERSION, Vec::new()),
            Statement::one(RENEW, params![id, expires]),
            Statement::any(ACCEPT, params![id, at]),
        ];
        let renewed = self.commit(project, &[draft], &statements).await;
        renewed.map(|_| ()).map_err(|refused| refused.changing("grant"))
    }
}
