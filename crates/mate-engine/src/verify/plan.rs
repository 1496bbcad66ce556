//! What there is to ask for one operation.

use crate::{Engine, EngineError};
use jiff::Timestamp;
use mate_model::{
    Micros,
    operation::OperationState,
    records::Connection,
    verification::{Known, Look, Recipe, Said},
};
use mate_store::{JournalReader, Verification};

/// A question that can be asked.
#[derive(Debug)]
pub(super) struct Plan {
    /// Whom.
    pub(super) connection: Connection,
    /// What: the recipe with its placeholders filled.
    pub(super) recipe: Recipe,
    /// When the call was given up.
    pub(super) given_up: Micros,
}

impl Plan {
    /// From when on an answer proves that the call did not happen.
    pub(super) fn counts_from(&self) -> Micros {
        self.given_up.plus_seconds(i64::from(self.recipe.after_seconds))
    }
}

/// Whether there is a question.
#[derive(Debug)]
pub(super) enum Planned {
    /// The operation is settled, or no recipe looks for it.
    Nothing,
    /// The recipe cannot be used for this operation, and never will be.
    Impossible(Said),
    /// This one.
    Ask(Box<Plan>),
}

/// The recipe that looks for calls of a tool.
pub(super) fn recipe_for<'a>(connection: &'a Connection, tool: &str) -> Option<&'a Recipe> {
    let fits = |recipe: &&Recipe| recipe.tools.iter().any(|glob| mate_guard::matches(glob, tool));
    connection.settings.verify.iter().find(fits)
}

impl Engine {
    pub(super) async fn plan(
        &self,
        reader: &JournalReader,
        look: &Verification,
    ) -> Result<Planned, EngineError> {
        if self.ledger.resolution(look.operation).await?.is_some() {
            return Ok(Planned::Nothing);
        }
        let Some(row) = reader.operation(look.operation).await? else { return Ok(Planned::Nothing) };
        if !matches!(row.state, OperationState::Unknown { .. }) {
            return Ok(Planned::Nothing);
        }
        let Some(id) = row.connection else { return Ok(Planned::Nothing) };
        let Some(connection) = self.ledger.connection(id).await? else { return Ok(Planned::Nothing) };
        let Some(recipe) = recipe_for(&connection, &row.tool) else { return Ok(Planned::Nothing) };
        if connection.removed_at.is_some() {
            return Ok(Planned::Impossible(
                recipe.said(Look::CannotTell, "not asked: the connection was removed"),
            ));
        }
        let key = self.first_under_key(reader, &row).await?.to_string();
        let requested_at = Timestamp::from_microsecond(row.requested_at.0)
            .map_err(|error| EngineError::Internal(error.to_string()))?
            .to_string();
        let known =
            Known { operation: &key, trace: &row.trace, requested_at: &requested_at, shape: &row.shape };
        let recipe = match recipe.fill(&known) {
            Ok(recipe) => recipe,
            Err(why) => {
                let said = recipe.said(Look::CannotTell, &format!("not asked: {why}"));
                return Ok(Planned::Impossible(said));
            }
        };
        let given_up =
            [row.recorded_at, row.admitted_at].into_iter().flatten().fold(row.requested_at, Micros::max);
        Ok(Planned::Ask(Box::new(Plan { connection, recipe, given_up })))
    }
}
