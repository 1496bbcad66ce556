//! Grants: a project's authority to use some tools of a connection.

use super::{Ledger, LedgerError, meta::RAISE_VERSION};
use crate::{
    Row, Statement, StoreError, decode,
    page::Page,
    params::{json, one_more, params},
};
use mate_model::{
    ConnectionId, GrantId, Micros, ProjectId,
    event::Draft,
    limit::{Amount, Spend},
    records::{Grant, Terms},
};

const ADD: &str =
    "INSERT INTO grants (id, project, connection, tools, effect, approve, expires_at, max_calls,
        used_calls, created_by, created_at, revoked_at, needs_permit, rate, max_spend, used_spend, cost, spend_fields)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)";
const BY_ID: &str =
    "SELECT id, project, connection, tools, effect, approve, expires_at, max_calls, used_calls,
        created_by, created_at, revoked_at, needs_permit, rate, max_spend, used_spend, cost, spend_fields FROM grants WHERE id = $1";
const LIST: &str =
    "SELECT id, project, connection, tools, effect, approve, expires_at, max_calls, used_calls,
        created_by, created_at, revoked_at, needs_permit, rate, max_spend, used_spend, cost, spend_fields FROM grants WHERE project = $1 AND id > $2 ORDER BY id LIMIT $3";
const IN_FORCE: &str = "SELECT g.id, g.project, g.connection, g.tools, g.effect, g.approve, g.expires_at,
        g.max_calls, g.used_calls, g.created_by, g.created_at, g.revoked_at, g.needs_permit, g.rate,
        g.max_spend, g.used_spend, g.cost, g.spend_fields
    FROM grants g JOIN connections c ON c.id = g.connection
    WHERE g.project = $1 AND g.revoked_at IS NULL AND c.removed_at IS NULL AND g.id > $2 ORDER BY g.id LIMIT $3";
const PROJECTS: &str = "SELECT DISTINCT project FROM grants WHERE connection = $1 AND revoked_at IS NULL
    ORDER BY project LIMIT $2";
const REVOKE: &str = "UPDATE grants SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
const RESERVE: &str = "UPDATE grants SET used_calls = used_calls + 1, used_spend = used_spend + $2
    WHERE id = $1 AND revoked_at IS NULL AND (max_calls IS NULL OR used_calls < max_calls)
        AND ($2 = 0 OR used_spend <= max_spend - $2)";

fn decode(row: &Row) -> Result<Grant, StoreError> {
    Ok(Grant {
        id: row.parse("id")?,
        project: row.parse("project")?,
        connection: row.parse("connection")?,
        tools: decode::json(row, "tools")?,
        effect: row.opt_parse("effect")?,
        approve: row.parse("approve")?,
        expires_at: decode::opt_micros(row, "expires_at")?,
        max_calls: row.opt_int("max_calls")?,
        used_calls: row.int("used_calls")?,
        created_by: row.parse("created_by")?,
        created_at: decode::micros(row, "created_at")?,
        revoked_at: decode::opt_micros(row, "revoked_at")?,
        terms: Terms {
            needs_permit: row.flag("needs_permit")?,
            rate: row.opt_parse("rate")?,
            spend: spend(row)?,
        },
    })
}

fn spend(row: &Row) -> Result<Option<Spend>, StoreError> {
    let amount = |column: &str, millionths: i64| {
        Amount::of_millionths(millionths).map_err(|why| row.corrupt(column, why.to_string()))
    };
    let Some(max) = row.opt_int("max_spend")? else { return Ok(None) };
    Ok(Some(Spend {
        max: amount("max_spend", max)?,
        used: amount("used_spend", row.int("used_spend")?)?,
        cost: row.opt_int("cost")?.map(|cost| amount("cost", cost)).transpose()?,
        fields: decode::json(row, "spend_fields")?,
    }))
}

impl Ledger {
    /// Projects that something of the connection is granted to.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn granted_to(
        &self,
        connection: ConnectionId,
        limit: u32,
    ) -> Result<Vec<ProjectId>, StoreError> {
        let rows = self.db.fetch(PROJECTS, params![connection, i64::from(limit)]).await?;
        rows.iter().map(|row| row.parse("project")).collect()
    }

    /// Adds a grant.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when project, connection or giver does not exist, and the store's.
    pub async fn add_grant(&self, grant: &Grant, draft: Draft) -> Result<(), LedgerError> {
        let spend = grant.terms.spend.as_ref();
        let values = params![
            grant.id,
            grant.project,
            grant.connection,
            json(&grant.tools)?,
            grant.effect,
            grant.approve,
            grant.expires_at,
            grant.max_calls,
            grant.used_calls,
            grant.created_by,
            grant.created_at,
            grant.revoked_at,
            grant.terms.needs_permit,
            grant.terms.rate.map(|rate| rate.to_string()),
            spend.map(|spend| spend.max.millionths()),
            spend.map_or(0, |spend| spend.used.millionths()),
            spend.and_then(|spend| spend.cost).map(Amount::millionths),
            spend.map(|spend| json(&spend.fields)).transpose()?,
        ];
        let statements = [Statement::one(RAISE_VERSION, Vec::new()), Statement::one(ADD, values)];
        let added = self.commit(grant.project, &[draft], &statements).await;
        added.map(|_| ()).map_err(|refused| refused.adding("grant", "project, connection or account"))
    }

    /// The grant with this id.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn grant(&self, id: GrantId) -> Result<Option<Grant>, StoreError> {
        decode::first(&self.db.fetch(BY_ID, params![id]).await?, decode)
    }

    /// A project's grants by age, revoked ones too.
    ///
    /// # Errors
    /// The store's.
    pub async fn grants(
        &self,
        project: ProjectId,
        after: Option<GrantId>,
        limit: u32,
    ) -> Result<Page<Grant, GrantId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = self.db.fetch(LIST, params![project, after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// A project's grants that are not revoked and whose connection is not removed; the caller judges their ends.
    /// A grant that cannot be read is left out and reported: it grants nothing.
    ///
    /// # Errors
    /// The store's.
    pub async fn live_grants(
        &self,
        project: ProjectId,
        after: Option<GrantId>,
        limit: u32,
    ) -> Result<Page<Grant, GrantId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = self.db.fetch(IN_FORCE, params![project, after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// Revokes a grant of `project`.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when there is none in force, and the store's.
    pub async fn revoke_grant(
        &self,
        project: ProjectId,
        id: GrantId,
        at: Micros,
        draft: Draft,
    ) -> Result<(), LedgerError> {
        let statements = [Statement::one(RAISE_VERSION, Vec::new()), Statement::one(REVOKE, params![id, at])];
        let revoked = self.commit(project, &[draft], &statements).await;
        revoked.map(|_| ()).map_err(|refused| refused.changing("grant"))
    }

    /// Reserves one call of a grant, and what it spends; false when that is not left, or the grant is revoked.
    /// A crash leaves it used.
    ///
    /// # Errors
    /// The store's.
    pub async fn reserve_call(&self, id: GrantId, spend: Amount) -> Result<bool, StoreError> {
        Ok(self.db.execute(Statement::any(RESERVE, params![id, spend.millionths()])).await? == 1)
    }
}
