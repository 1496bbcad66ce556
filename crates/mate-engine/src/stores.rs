//! Where journals are: a file in each session's folder, or the shared database.

use crate::{EngineError, Home};
use mate_model::{Epoch, Micros, SessionId};
use mate_store::{
    Database, JOURNAL_SCHEMA, JournalHead, JournalReader, JournalWriter, SqliteDatabase, SqliteOptions,
    Takeover,
};
use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

/// How many journals are kept open for reading.
const OPEN_READERS: usize = 32;

/// Opens journals. Whoever uses them does not know which engine they have.
#[derive(Debug)]
pub struct Stores {
    home: Home,
    shared: Option<Arc<dyn Database>>,
    readers: Mutex<VecDeque<(SessionId, JournalReader)>>,
}

impl Stores {
    /// Journals as files in the home.
    #[must_use]
    pub fn embedded(home: Home) -> Self {
        Self { home, shared: None, readers: Mutex::default() }
    }

    /// Journals in a shared database.
    #[must_use]
    pub fn shared(home: Home, database: Arc<dyn Database>) -> Self {
        Self { home, shared: Some(database), readers: Mutex::default() }
    }

    /// Whether the stores are shared with other hosts.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Makes the journal of a new session, so that one that is missing later is noticed.
    ///
    /// # Errors
    /// The store's.
    pub async fn create_journal(&self, session: SessionId) -> Result<(), EngineError> {
        if self.shared.is_some() {
            return Ok(());
        }
        let database =
            SqliteDatabase::open(&self.home.session(session).journal(), SqliteOptions::JOURNAL).await?;
        database.migrate(&JOURNAL_SCHEMA).await?;
        database.close().await;
        Ok(())
    }

    /// Takes the journal over for the holder of the session's lock.
    ///
    /// # Errors
    /// The store's, or that a worker with a higher epoch was there.
    pub async fn journal_writer(
        &self,
        session: SessionId,
        epoch: Epoch,
        now: Micros,
    ) -> Result<(JournalWriter, Takeover), EngineError> {
        let database: Arc<dyn Database> = match &self.shared {
            Some(shared) => Arc::clone(shared),
            None => match self.open_to_write(session).await {
                Err(EngineError::Damaged(_)) => {
                    self.forget(session);
                    self.set_aside(session, now)?;
                    self.open_to_write(session).await?
                }
                other => other?,
            },
        };
        Ok(JournalWriter::take_over(database, session, epoch, now).await?)
    }

    async fn open_to_write(&self, session: SessionId) -> Result<Arc<dyn Database>, EngineError> {
        let path = self.home.session(session).journal();
        let database = SqliteDatabase::open(&path, SqliteOptions::JOURNAL).await?;
        database.migrate(&JOURNAL_SCHEMA).await?;
        Ok(Arc::new(database))
    }

    /// How a journal stands; none when it is missing, damaged, or was never begun. For the holder of the lock.
    ///
    /// # Errors
    /// The store's.
    pub async fn journal_head(&self, session: SessionId) -> Result<Option<JournalHead>, EngineError> {
        if self.shared.is_none() && !self.home.session(session).journal().exists() {
            self.forget(session);
            return Ok(None);
        }
        match self.read_head(session).await {
            Err(EngineError::Damaged(why)) => {
                tracing::error!(%session, why, "the session's journal cannot be read");
                self.forget(session);
                Ok(None)
            }
            other => other,
        }
    }

    async fn read_head(&self, session: SessionId) -> Result<Option<JournalHead>, EngineError> {
        match &self.shared {
            Some(shared) => Ok(JournalReader::new(Arc::clone(shared), session).head().await?),
            // Opened to be written: an empty file has no tables before that.
            None => Ok(JournalReader::new(self.open_to_write(session).await?, session).head().await?),
        }
    }

    /// Puts a damaged journal aside, for people to look at, so that the session can go on with a new one.
    fn set_aside(&self, session: SessionId, now: Micros) -> Result<(), EngineError> {
        let path = self.home.session(session).journal();
        for part in ["", "-wal", "-shm"] {
            let from = PathBuf::from(format!("{}{part}", path.display()));
            let to = PathBuf::from(format!("{}.damaged-{}{part}", path.display(), now.0));
            if from.exists() {
                std::fs::rename(&from, &to).map_err(|error| {
                    EngineError::Unavailable(format!("{} cannot be put aside: {error}", from.display()))
                })?;
            }
        }
        Ok(())
    }

    /// A journal, to be read beside its writer.
    ///
    /// # Errors
    /// The store's; a missing file is one.
    pub async fn journal_reader(&self, session: SessionId) -> Result<JournalReader, EngineError> {
        if let Some(shared) = &self.shared {
            return Ok(JournalReader::new(Arc::clone(shared), session));
        }
        if let Some(open) = self.take_open(session) {
            return Ok(open);
        }
        let path = self.home.session(session).journal();
        let database = SqliteDatabase::open_to_read(&path, SqliteOptions::JOURNAL).await?;
        let reader = JournalReader::new(Arc::new(database), session);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.push_back((session, reader.clone()));
        if readers.len() > OPEN_READERS {
            readers.pop_front();
        }
        Ok(reader)
    }

    fn forget(&self, session: SessionId) {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).retain(|(open, _)| *open != session);
    }

    fn take_open(&self, session: SessionId) -> Option<JournalReader> {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let place = readers.iter().position(|(open, _)| *open == session)?;
        let entry = readers.remove(place)?;
        let reader = entry.1.clone();
        readers.push_back(entry);
        Some(reader)
    }
}
