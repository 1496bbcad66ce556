//! Where the bytes of contents are: sealed, in files of the home, or in chunks of the shared store.

use crate::{Engine, EngineError, home};
use mate_guard::{
    ContentVault, Whole,
    content::{CHUNK, END, SEAL},
};
use mate_model::ProjectId;
use std::{
    fs::File,
    io::{self, Write},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

/// What the name of an unfinished file ends with.
pub(super) const UNFINISHED: &str = ".part";

/// A content on its way in. Dropped before its end, it leaves bytes that nothing names.
pub(super) struct Draft {
    /// The name under which its bytes are sealed: random, never used twice.
    pub(super) name: String,
    vault: ContentVault,
    hasher: blake3::Hasher,
    size: u64,
    number: u64,
    waiting: Vec<u8>,
    sink: Sink,
}

enum Sink {
    File { file: File, path: PathBuf },
    Shared,
}

impl Engine {
    /// The file of a content in the home.
    pub(super) fn content_file(&self, project: ProjectId, name: &str) -> PathBuf {
        let shelf = name.get(..2).unwrap_or("00");
        self.home.artifacts().join(project.to_string()).join(shelf).join(name)
    }

    /// Begins a content of a project.
    pub(super) async fn begin_content(&self, project: ProjectId) -> Result<Draft, EngineError> {
        let name: String = self.entropy.secret()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        let sink = if self.stores.is_shared() {
            self.ledger.begin_chunks(&name, self.clock.now()).await?;
            Sink::Shared
        } else {
            let path = self.content_file(project, &name);
            let opened = {
                let path = path.clone();
                blocking(move || create(&path)).await
            };
            Sink::File { file: opened?, path }
        };
        let vault = ContentVault::new(&self.key, project);
        let (hasher, waiting) = (blake3::Hasher::new(), Vec::with_capacity(CHUNK));
        Ok(Draft { name, vault, hasher, size: 0, number: 0, waiting, sink })
    }

    /// Takes the next bytes of a content.
    pub(super) async fn write_content(&self, draft: &mut Draft, bytes: &[u8]) -> Result<(), EngineError> {
        draft.hasher.update(bytes);
        draft.size += bytes.len() as u64;
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = (CHUNK - draft.waiting.len()).min(rest.len());
            let (now, later) = rest.split_at(room);
            draft.waiting.extend_from_slice(now);
            rest = later;
            if draft.waiting.len() == CHUNK {
                self.seal_chunk(draft).await?;
            }
        }
        Ok(())
    }

    async fn seal_chunk(&self, draft: &mut Draft) -> Result<(), EngineError> {
        let sealed = draft.vault.seal(&draft.name, draft.number, &draft.waiting, self.entropy.as_ref());
        let sealed = sealed.map_err(|error| EngineError::Internal(error.to_string()))?;
        draft.waiting.clear();
        self.put(draft, sealed).await?;
        draft.number += 1;
        Ok(())
    }

    async fn put(&self, draft: &Draft, sealed: Vec<u8>) -> Result<(), EngineError> {
        match &draft.sink {
            Sink::Shared => {
                let number = i64::try_from(draft.number).unwrap_or(i64::MAX);
                Ok(self.ledger.put_chunk(&draft.name, number, sealed).await?)
            }
            Sink::File { file, .. } => {
                let mut file = file.try_clone().map_err(broken)?;
                blocking(move || file.write_all(&sealed)).await
            }
        }
    }

    /// Ends a content: when this returns, its bytes are durable under its name.
    pub(super) async fn finish_content(&self, mut draft: Draft) -> Result<(String, Whole), EngineError> {
        if !draft.waiting.is_empty() {
            self.seal_chunk(&mut draft).await?;
        }
        let whole = Whole { hash: *draft.hasher.finalize().as_bytes(), size: draft.size };
        let end = draft.vault.seal_end(&draft.name, &whole, self.entropy.as_ref());
        let end = end.map_err(|error| EngineError::Internal(error.to_string()))?;
        self.put(&draft, end).await?;
        if let Sink::File { file, path } = draft.sink {
            blocking(move || finish(&file, &path)).await?;
        }
        mate_fault::point_async!("artifact.content_durable");
        Ok((draft.name, whole))
    }

    /// Opens a content to be read, and sees that it is what it should be.
    pub(super) async fn open_content(
        self: &Arc<Self>,
        project: ProjectId,
        name: &str,
        expected: Whole,
    ) -> Result<ContentReader, EngineError> {
        let vault = ContentVault::new(&self.key, project);
        let chunks = i64::try_from(expected.chunks()).unwrap_or(i64::MAX);
        let (source, end) = if self.stores.is_shared() {
            (Source::Shared(Arc::clone(self)), self.ledger.chunk(name, chunks).await?.unwrap_or_default())
        } else {
            let path = self.content_file(project, name);
            let (file, end) = blocking(move || open(&path, &expected)).await?;
            (Source::File(Arc::new(file)), end)
        };
        let found = vault.open_end(name, &end).map_err(|error| EngineError::Damaged(error.to_string()))?;
        if found != expected {
            return Err(EngineError::Damaged("an artifact's content is not what its record says".to_owned()));
        }
        Ok(ContentReader { vault, name: name.to_owned(), whole: expected, source })
    }

    /// Drops the bytes of a content that nothing names. Bytes that are gone already are no error.
    pub(super) async fn drop_content(&self, project: ProjectId, name: &str) -> Result<(), EngineError> {
        if self.stores.is_shared() {
            return Ok(self.ledger.drop_chunks(name).await?);
        }
        let path = self.content_file(project, name);
        blocking(move || {
            for path in [unfinished(&path), path] {
                match std::fs::remove_file(path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    Ok(()) | Err(_) => {}
                }
            }
            Ok(())
        })
        .await
    }
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(shelf) = path.parent() {
        home::make_private(shelf)?;
    }
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(unfinished(path))
}

fn finish(file: &File, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    std::fs::rename(unfinished(path), path)?;
    // The folders may be new.
    path.ancestors().skip(1).take(4).try_for_each(home::sync_folder)
}

fn open(path: &Path, expected: &Whole) -> io::Result<(File, Vec<u8>)> {
    let file = File::open(path)?;
    let sealed = expected.size + expected.chunks() * SEAL as u64;
    let mut end = vec![0; END];
    if file.metadata()?.len() != sealed + END as u64 {
        return Err(io::Error::other("it is not as long as its record says"));
    }
    file.read_exact_at(&mut end, sealed)?;
    Ok((file, end))
}

/// Runs file work where it blocks nobody.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, EngineError> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other).and_then(|done| done).map_err(broken)
}

fn broken(error: io::Error) -> EngineError {
    use io::ErrorKind::{NotFound, Other, UnexpectedEof};
    if matches!(error.kind(), NotFound | UnexpectedEof | Other) {
        EngineError::Damaged(format!("the content of an artifact cannot be read: {error}"))
    } else {
        EngineError::Unavailable(format!("the content of an artifact: {error}"))
    }
}

/// An open content. Reading needs memory for one chunk.
pub struct ContentReader {
    vault: ContentVault,
    name: String,
    whole: Whole,
    source: Source,
}

enum Source {
    File(Arc<File>),
    Shared(Arc<Engine>),
}

impl std::fmt::Debug for ContentReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContentReader").field("whole", &self.whole).finish_non_exhaustive()
    }
}

impl ContentReader {
    /// Its length in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.whole.size
    }

    /// The bytes from `from` to the end of their chunk; none at the end.
    ///
    /// # Errors
    /// [`EngineError::Damaged`] when they are not what was sealed, and the store's.
    pub async fn read(&self, from: u64) -> Result<Option<Vec<u8>>, EngineError> {
        if from >= self.whole.size {
            return Ok(None);
        }
        let number = from / CHUNK as u64;
        let begin = number * CHUNK as u64;
        let length = usize::try_from((self.whole.size - begin).min(CHUNK as u64)).unwrap_or(CHUNK);
        let sealed = match &self.source {
            Source::Shared(engine) => {
                let place = i64::try_from(number).unwrap_or(i64::MAX);
                engine.ledger.chunk(&self.name, place).await?.unwrap_or_default()
            }
            Source::File(file) => {
                let (file, at) = (Arc::clone(file), number * (CHUNK + SEAL) as u64);
                blocking(move || {
                    let mut sealed = vec![0; length + SEAL];
                    file.read_exact_at(&mut sealed, at)?;
                    Ok(sealed)
                })
                .await?
            }
        };
        let opened = self.vault.open(&self.name, number, &sealed);
        let mut clear = opened.map_err(|error| EngineError::Damaged(error.to_string()))?;
        let skipped = usize::try_from(from - begin).unwrap_or(usize::MAX).min(clear.len());
        clear.drain(..skipped);
        Ok(Some(clear))
    }
}
