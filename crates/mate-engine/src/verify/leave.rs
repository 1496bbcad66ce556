//! Whether a look may be taken: by the project's grants as they stand now.

use super::{
    Looker,
    plan::{Plan, Way},
};
use crate::{
    Engine, EngineError,
    admit::{Asked, Standing, class_of},
};
use mate_model::{
    GrantId, ProjectId,
    limit::Amount,
    words::{ApprovalMode, EffectClass},
};

/// The leave to look, and what it was read from.
#[derive(Debug)]
pub(super) struct Leave {
    /// The grant that allows it.
    pub(super) grant: GrantId,
    /// The authorisation version that was in force before it was read.
    version: i64,
}

impl Engine {
    /// Judges a look; the error says why it is not to be taken. A grant's calls are counted.
    pub(super) async fn leave_to_look(
        &self,
        project: ProjectId,
        plan: &Plan,
        looker: &dyn Looker,
    ) -> Result<Result<Leave, String>, EngineError> {
        let leave = match self.judge_look(project, plan, looker).await? {
            Ok(leave) => leave,
            Err(why) => return Ok(Err(why)),
        };
        let (leave, limited) = leave;
        if let Some(spend) = limited
            && !self.ledger.reserve_call(leave.grant, spend).await?
        {
            return Ok(Err("the grant's calls, or what it may spend, are used up".to_owned()));
        }
        Ok(Ok(leave))
    }

    /// The second read, after the look is on record.
    pub(super) async fn still_allowed(
        &self,
        project: ProjectId,
        plan: &Plan,
        leave: &Leave,
        looker: &dyn Looker,
    ) -> Result<Result<(), String>, EngineError> {
        if self.ledger.authorisation_version().await? == leave.version {
            return Ok(Ok(()));
        }
        Ok(self.judge_look(project, plan, looker).await?.map(|_| ()))
    }

    async fn judge_look(
        &self,
        project: ProjectId,
        plan: &Plan,
        looker: &dyn Looker,
    ) -> Result<Result<(Leave, Option<Amount>), String>, EngineError> {
        let standing = Standing::read(self, project, plan.task).await?;
        let version = standing.version();
        if self.ledger.project(project).await?.is_none_or(|project| project.archived_at.is_some()) {
            return Ok(Err("the project is archived".to_owned()));
        }
        let id = plan.connection.id;
        let (tool, counts) = match &plan.way {
            // The record of a call is no further call: nothing of the grant is used.
            Way::Record { .. } => (plan.tool.as_str(), false),
            Way::Recipe(recipe) => (recipe.ask.as_str(), true),
        };
        // A look only reads, or is refused below.
        let asked =
            Asked { connection: id, tool, says_read_only: true, definition: None, shown: &[], counts };
        let allowed = match standing.permits(&asked, self.clock.now()) {
            Ok(allowed) => allowed,
            Err(barred) => return Ok(Err(format!("{} (`{tool}`)", barred.why))),
        };
        let (grant, connection) = (allowed.grant, allowed.connection);
        if !counts {
            return Ok(Ok((Leave { grant: grant.id, version }, None)));
        }
        match grant.approve {
            ApprovalMode::Never => {}
            ApprovalMode::Once | ApprovalMode::Always => {
                return Ok(Err(format!("the grant of `{tool}` wants a person's leave for each call")));
            }
        }
        let silent = grant.effect.or(connection.settings.effect).is_none();
        let says_read_only = if silent && connection.settings.trust_annotations {
            match looker.says_read_only(id, tool).await {
                Ok(says) => says,
                Err(why) => return Ok(Err(why)),
            }
        } else {
            false
        };
        match class_of(grant, connection, says_read_only) {
            EffectClass::Read => {}
            class @ (EffectClass::Idempotent | EffectClass::Effect) => {
                return Ok(Err(format!(
                    "`{tool}` is of the class `{class}`, and a look may only read: grant it with --effect read"
                )));
            }
        }
        let spend = grant.terms.spend.as_ref().map(|spend| spend.cost.unwrap_or_default());
        let limited = spend.or_else(|| grant.max_calls.map(|_| Amount::default()));
        Ok(Ok((Leave { grant: grant.id, version }, limited)))
    }
}
