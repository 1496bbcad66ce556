//! Letting go of contents that no artifact holds: what a crash left, and what was removed.

use super::bytes::{UNFINISHED, blocking};
use crate::{Engine, EngineError};
use mate_model::{Micros, ProjectId};
use mate_store::StoredContent;
use std::{
    io,
    path::Path,
    time::{Duration, SystemTime},
};

/// What nobody has touched for so long, nobody is storing any more.
const AGE: Duration = Duration::from_secs(24 * 3600);
/// How many are let go in one look, of each kind.
const AT_ONCE: u32 = 1_000;

impl Engine {
    /// Lets a content go, unless an artifact holds it.
    pub(super) async fn let_go(&self, stored: &StoredContent) -> Result<(), EngineError> {
        if self.ledger.let_go(stored).await? {
            self.drop_content(stored.project, &stored.content).await?;
        }
        Ok(())
    }

    /// Lets go what nothing names: contents without an artifact, and bytes without a content. Bounded; what is left is
    /// for the next look.
    ///
    /// # Errors
    /// The stores'.
    pub async fn collect_artifacts(&self) -> Result<(), EngineError> {
        let age = i64::try_from(AGE.as_micros()).unwrap_or(i64::MAX);
        let before = Micros(self.clock.now().0.saturating_sub(age));
        for stored in self.ledger.unheld_contents(before, AT_ONCE).await? {
            self.let_go(&stored).await?;
        }
        for name in self.ledger.old_drafts(before, AT_ONCE).await? {
            self.ledger.drop_chunks(&name).await?;
        }
        if self.stores.is_shared() {
            return Ok(());
        }
        let folder = self.home.artifacts();
        for (project, name) in blocking(move || old_files(&folder)).await? {
            if !self.ledger.is_content(&name).await? {
                self.drop_content(project, &name).await?;
            }
        }
        Ok(())
    }
}

/// Files of contents that were last written long ago, by project and name.
fn old_files(folder: &Path) -> io::Result<Vec<(ProjectId, String)>> {
    let mut found = Vec::new();
    for project in entries(folder)? {
        let Some(id) = project.file_name().and_then(|name| name.to_str()?.parse().ok()) else { continue };
        for file in
            entries(&project)?.iter().map(|shelf| entries(shelf)).collect::<Result<Vec<_>, _>>()?.concat()
        {
            let written = std::fs::metadata(&file)?.modified()?;
            let old = age_of(written) >= AGE;
            let name = file.file_name().and_then(|name| name.to_str());
            if let Some(name) = name.filter(|_| old && found.len() < AT_ONCE as usize) {
                found.push((id, name.trim_end_matches(UNFINISHED).to_owned()));
            }
        }
    }
    Ok(found)
}

#[expect(
    clippy::disallowed_methods,
    reason = "compared with times of the file system, which are of the same clock"
)]
fn age_of(written: SystemTime) -> Duration {
    SystemTime::now().duration_since(written).unwrap_or_default()
}

fn entries(folder: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed?.map(|entry| Ok(entry?.path())).collect(),
    }
}
