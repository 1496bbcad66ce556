//! Reading the stores themselves, beside the program: do the chains of both logs hold?

use super::World;
use mate_model::{ProjectId, SessionId};
use mate_store::{
    Database, JournalReader, Ledger, PostgresDatabase, SqliteDatabase, SqliteOptions,
    postgres::PostgresOptions,
};
use std::sync::Arc;

impl World {
    /// Walks along the chains of the project's ledger and of one session's journal.
    pub(crate) fn assert_chains_hold(&self, session: &str) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        runtime.expect("threads").block_on(async {
            let session: SessionId = session.parse().expect("a session");
            let project: ProjectId = self.project.parse().expect("a project");
            let (ledger, journal) = match self.database_url() {
                Some(url) => {
                    let shared =
                        PostgresDatabase::open(url, PostgresOptions::default()).await.expect("opens");
                    let shared: Arc<dyn Database> = Arc::new(shared);
                    (Arc::clone(&shared), shared)
                }
                None => {
                    let journal = self.session_folder(&session.to_string()).join("journal.db");
                    (open(&self.home().join("ledger.db")).await, open(&journal).await)
                }
            };
            let report = Ledger::new(ledger).verify_chain(project).await.expect("the ledger is read");
            assert!(report.broken.is_none() && report.good > 0, "the ledger's chain: {report:?}");
            let report =
                JournalReader::new(journal, session).verify_chain().await.expect("the journal is read");
            assert!(report.broken.is_none() && report.good > 0, "the journal's chain: {report:?}");
        });
    }
}

async fn open(path: &std::path::Path) -> Arc<dyn Database> {
    Arc::new(SqliteDatabase::open_to_read(path, SqliteOptions::JOURNAL).await.expect("opens"))
}
