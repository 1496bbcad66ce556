//! What the replay guard asks: calls with the same connection, tool and arguments as one that is asked for.

use super::{
    JournalReader,
    operation_row::{decode, number},
    operations::{ONE, REPEAT, call_key},
};
use crate::{StoreError, decode as read, params::params};
use mate_model::{OperationId, records::Operation};

/// The newest of each kind, by number; each by an index of its own, so that it does not grow with history.
pub(super) const NUMBERS: &str = "SELECT
    (SELECT MAX(o.number) FROM operations o
        WHERE o.session = $1 AND o.call_key = $2 AND o.state IN ('unknown', 'abandoned')) AS uncertain,
    (SELECT MAX(k.number) FROM kept_results k WHERE k.session = $1 AND k.call_key = $2) AS unheard,
    (SELECT MAX(o.number) FROM operations o
        WHERE o.session = $1 AND o.call_key = $2 AND o.runtime_call = $3 AND o.state IN ('succeeded', 'failed')) AS same";
const UNHEARD: &str = "SELECT number FROM kept_results WHERE session = $1 AND call_key = $2
    ORDER BY number DESC LIMIT 64";
const KEPT: &str = "SELECT number, sealed FROM kept_results WHERE session = $1 AND number = $2
    AND call_key = (SELECT o.call_key FROM operations o WHERE o.session = $1 AND o.number = $2)";

/// Operations equal to a call: same connection, tool and argument digest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Equals {
    /// The newest that may have happened: `unknown` or `abandoned`.
    pub uncertain: Option<Operation>,
    /// Successes that the runtime has not heard of, newest first; at most 64.
    pub unheard: Vec<OperationId>,
    /// The newest with an outcome that has the call's own id, too.
    pub same: Option<Operation>,
}

impl JournalReader {
    /// The operations equal to a call, however many others there were since. Does not grow with history.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`]: a call that cannot be compared must not be sent.
    pub async fn equals(
        &self,
        connection: &str,
        tool: &str,
        digest: &str,
        runtime_call: Option<&str>,
    ) -> Result<Equals, StoreError> {
        let call = call_key(connection, tool, digest).to_vec();
        let values = params![self.key.clone(), call.clone(), runtime_call];
        let rows = self.db.glance(NUMBERS, values).await?;
        let mut equals = Equals::default();
        let Some(row) = rows.first() else { return Ok(equals) };
        if let Some(number) = row.opt_int("uncertain")? {
            equals.uncertain = self.numbered(number).await?;
        }
        if let Some(number) = row.opt_int("same")? {
            equals.same = self.numbered(number).await?;
        }
        if row.opt_int("unheard")?.is_some() {
            let rows = self.db.fetch(UNHEARD, params![self.key.clone(), call]).await?;
            for row in &rows {
                equals.unheard.push(OperationId { session: self.session, number: row.number("number")? });
            }
        }
        Ok(equals)
    }

    async fn numbered(&self, number: i64) -> Result<Option<Operation>, StoreError> {
        read::first(&self.db.fetch(ONE, params![self.key.clone(), number]).await?, decode)
    }

    /// The operation that used the leave to repeat `id`, which may be of another session; none when nobody did.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn repeat_of(&self, id: OperationId) -> Result<Option<Operation>, StoreError> {
        read::first(&self.db.fetch(REPEAT, params![self.key.clone(), id.to_string()]).await?, decode)
    }

    /// The kept result of a success that the runtime has not heard of, sealed: none when it has heard of it, and none
    /// within when there is no result at hand.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Misuse`] for an operation of another session.
    pub async fn kept_result(&self, id: OperationId) -> Result<Option<Option<Vec<u8>>>, StoreError> {
        let values = params![self.key.clone(), number(self.session, id)?];
        let sealed = |row: &crate::Row| row.opt_blob("sealed").map(|bytes| bytes.map(<[u8]>::to_vec));
        read::first(&self.db.fetch(KEPT, values).await?, sealed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, JOURNAL_SCHEMA, SqliteDatabase, SqliteOptions, Value};

    /// Without its numbers the planner walks through the whole session: slow, and slower with each operation.
    #[tokio::test]
    async fn g11_equal_calls_are_found_without_walking_through_history() {
        let folder = tempfile::tempdir().unwrap();
        let db =
            SqliteDatabase::open(&folder.path().join("journal.db"), SqliteOptions::JOURNAL).await.unwrap();
        db.migrate(&JOURNAL_SCHEMA).await.unwrap();
        for (sql, indexes) in [
            (
                NUMBERS,
                &[
                    "INDEX operations_uncertain (session=? AND call_key=?)",
                    "PRIMARY KEY (session=? AND call_key=?)",
                    "INDEX operations_runtime_call (session=? AND call_key=? AND runtime_call=?)",
                ][..],
            ),
            (UNHEARD, &["PRIMARY KEY (session=? AND call_key=?)"][..]),
            (KEPT, &["PRIMARY KEY (session=? AND call_key=? AND number=?)"][..]),
            (REPEAT, &["INDEX operations_repeats (session=? AND repeats=?)"][..]),
        ] {
            let explain: &'static str = Box::leak(format!("EXPLAIN QUERY PLAN {sql}").into_boxed_str());
            let values = (1..=5).filter(|n| sql.contains(&format!("${n}"))).map(|_| Value::Null).collect();
            let plan = db.fetch(explain, values).await.unwrap();
            let steps: Vec<_> = plan.iter().map(|row| row.text("detail").unwrap()).collect();
            for index in indexes {
                assert!(steps.iter().any(|step| step.ends_with(index)), "{sql}\n{steps:?}");
            }
        }
    }
}
