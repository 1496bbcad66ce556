//! What there is to ask for one operation.

use crate::{Engine, EngineError};
use jiff::Timestamp;
use mate_model::{
    Micros, TaskId,
    operation::OperationState,
    records::{Connection, Operation},
    verification::{Known, Look, Recipe, Said},
};
use mate_store::{JournalReader, Verification};

/// A question that can be asked.
#[derive(Debug)]
pub(super) struct Plan {
    /// Whom.
    pub(super) connection: Connection,
    /// On whose behalf.
    pub(super) task: TaskId,
    /// The tool that was called.
    pub(super) tool: String,
    /// What.
    pub(super) way: Way,
    /// When the call was given up.
    pub(super) given_up: Micros,
}

/// How it is asked whether a call has happened.
#[derive(Debug)]
pub(super) enum Way {
    /// For the upstream's own record of it.
    Record {
        /// What the upstream calls the task, as it gave it.
        id: String,
        /// The same, as it is shown.
        shown: String,
    },
    /// By the connection's recipe, its placeholders filled.
    Recipe(Box<Recipe>),
}

impl Way {
    /// A verdict, with words for how it was found.
    pub(super) fn said(&self, look: Look, why: &str) -> Said {
        match self {
            Self::Record { shown, .. } => Said { look, why: format!("the upstream's task {shown}: {why}") },
            Self::Recipe(recipe) => recipe.said(look, why),
        }
    }
}

impl Plan {
    /// From when on an answer proves that the call did not happen.
    pub(super) fn counts_from(&self) -> Micros {
        match &self.way {
            Way::Record { .. } => self.given_up,
            Way::Recipe(recipe) => self.given_up.plus_seconds(i64::from(recipe.after_seconds)),
        }
    }
}

/// Whether there is a question.
#[derive(Debug)]
pub(super) enum Planned {
    /// The operation is settled, or there is no way to look for it.
    Nothing,
    /// The way cannot be used for this operation, and never will be.
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
        let way = match self.way(reader, look, &row, &connection).await? {
            Ok(way) => way,
            Err(planned) => return Ok(planned),
        };
        if connection.removed_at.is_some() {
            let said = way.said(Look::CannotTell, "not asked: the connection was removed");
            return Ok(Planned::Impossible(said));
        }
        let given_up =
            [row.recorded_at, row.admitted_at].into_iter().flatten().fold(row.requested_at, Micros::max);
        Ok(Planned::Ask(Box::new(Plan { connection, task: row.task, tool: row.tool, way, given_up })))
    }

    /// How a look asks. Where there are two ways, they take turns, the upstream's own record first.
    async fn way(
        &self,
        reader: &JournalReader,
        look: &Verification,
        row: &Operation,
        connection: &Connection,
    ) -> Result<Result<Way, Planned>, EngineError> {
        let record = match reader.upstream_task(row.id).await? {
            Some(task) => {
                let id = self.open_upstream_task(row.id, &task.sealed)?;
                Some(Way::Record { id, shown: task.shown })
            }
            None => None,
        };
        let recipe = match (recipe_for(connection, &row.tool), &record) {
            (None, None) => return Ok(Err(Planned::Nothing)),
            (Some(recipe), None) => Some(recipe),
            (Some(recipe), Some(_)) => Some(recipe).filter(|_| look.tries % 2 == 1),
            (None, Some(_)) => None,
        };
        let filled = match recipe {
            Some(recipe) => self.filled(reader, row, recipe).await?.map(Some),
            None => Ok(None),
        };
        Ok(match (filled, record) {
            (Ok(Some(recipe)), _) => Ok(Way::Recipe(Box::new(recipe))),
            (Ok(None) | Err(_), Some(record)) => Ok(record),
            (Ok(None), None) => Err(Planned::Nothing),
            (Err(said), None) => Err(Planned::Impossible(said)),
        })
    }

    async fn filled(
        &self,
        reader: &JournalReader,
        row: &Operation,
        recipe: &Recipe,
    ) -> Result<Result<Recipe, Said>, EngineError> {
        let key = self.first_under_key(reader, row).await?.to_string();
        let requested_at = Timestamp::from_microsecond(row.requested_at.0)
            .map_err(|error| EngineError::Internal(error.to_string()))?
            .to_string();
        let known =
            Known { operation: &key, trace: &row.trace, requested_at: &requested_at, shape: &row.shape };
        let said = |why: String| recipe.said(Look::CannotTell, &format!("not asked: {why}"));
        Ok(recipe.fill(&known).map_err(|why| said(why.to_string())))
    }
}
