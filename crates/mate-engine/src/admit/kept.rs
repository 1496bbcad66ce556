//! Results kept whole, sealed under the session's key, until the runtime has heard of them.

use super::Admission;
use crate::EngineError;
use mate_guard::Place;
use mate_model::{OperationId, words::EffectClass};
use mate_store::Change;

/// The longest result that is kept, in bytes. Of a longer one only the success is on record.
pub const KEEP: usize = 256 << 10;

const TABLE: &str = "kept_results";
const COLUMN: &str = "sealed";

impl Admission {
    /// What is written with a success, so that a crash before the runtime hears of it loses nothing.
    pub(super) fn keep(
        &self,
        operation: OperationId,
        class: EffectClass,
        result: Option<&str>,
    ) -> Result<Option<Change>, EngineError> {
        if class == EffectClass::Read {
            return Ok(None);
        }
        let short = result.filter(|result| result.len() <= KEEP);
        let sealed = short.map(|result| self.seal(operation, result)).transpose()?;
        Ok(Some(Change::KeepResult { operation, sealed }))
    }

    fn seal(&self, operation: OperationId, result: &str) -> Result<Vec<u8>, EngineError> {
        let id = operation.to_string();
        let place = Place { table: TABLE, id: &id, column: COLUMN };
        let sealed = self.vault.seal(place, result.as_bytes(), self.engine.entropy.as_ref());
        sealed.map_err(|error| EngineError::Internal(error.to_string()))
    }

    /// The kept result of an operation; none when there is none at hand.
    pub(super) async fn kept(&self, operation: OperationId) -> Result<Option<String>, EngineError> {
        let Some(Some(sealed)) = self.reader.kept_result(operation).await? else { return Ok(None) };
        let id = operation.to_string();
        let place = Place { table: TABLE, id: &id, column: COLUMN };
        match self.vault.open(place, &sealed) {
            Ok(clear) => Ok(clear.expose_text().map(str::to_owned)),
            Err(error) => {
                tracing::error!(%operation, %error, "a kept result cannot be read");
                Ok(None)
            }
        }
    }
}
