//! Keeping a content: looked at, redacted where it is text, sealed, and counted against the quota.

use super::{
    MOST,
    feed::{Feed, split_text},
};
use crate::{Engine, EngineError};
use mate_guard::{Redactor, Stream, media};
use mate_model::{ProjectId, records::Content};
use mate_store::{Offered, StoredContent};
use std::{fs::File, sync::Arc};

/// How often a content is stored again because the one that was there was let go at that moment.
const TRIES: u32 = 3;

/// Why a content is not kept. The first word is stable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotKept {
    /// It is larger than any artifact may be.
    #[error("too_large: {size} bytes, and an artifact has at most {most}", most = MOST)]
    TooLarge {
        /// Its length in bytes.
        size: u64,
    },
    /// The project's artifacts would hold more than they may.
    #[error(
        "over_quota: {size} bytes, and the project's artifacts may hold {left} more: remove some, or raise the quota (`agent-mate project set`)"
    )]
    OverQuota {
        /// Its length in bytes.
        size: u64,
        /// What is left, in bytes.
        left: i64,
    },
    /// It is no text, so that a secret cannot be taken out of it.
    #[error("holds_secret: it holds a known secret and is no text that this could be taken out of")]
    HoldsSecret,
    /// A file that changed while it was read.
    #[error("changed: the file changed while it was read: publish it again")]
    Changed,
    /// What was said to be base64 is none.
    #[error("not_base64: it cannot be decoded")]
    NotBase64,
    /// Too much was on its way already.
    #[error("busy: too much was being stored at that moment")]
    Busy,
    /// The worker ended first.
    #[error("interrupted: the session's worker ended before it was stored")]
    Interrupted,
    /// It was let go before the index named it.
    #[error("let_go: the same content was removed at the same moment")]
    LetGo,
    /// The store could not take it.
    #[error("failed: it could not be stored: {0}")]
    Failed(String),
}

impl From<EngineError> for NotKept {
    fn from(error: EngineError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// What is to be kept.
#[derive(Debug)]
pub enum Keep {
    /// Bytes at hand.
    Bytes(Vec<u8>),
    /// An open file of this length.
    File(Arc<File>, u64),
}

impl Engine {
    /// Keeps a content of a project; when this returns it is durable and counted.
    ///
    /// # Errors
    /// [`NotKept`]; what was begun is let go.
    pub async fn keep_content(
        &self,
        project: ProjectId,
        what: Keep,
        redactor: &Redactor,
    ) -> Result<Content, NotKept> {
        let mut feed = match what {
            Keep::Bytes(bytes) => Feed::Memory { bytes, at: 0 },
            Keep::File(file, size) => Feed::of_file(file, size).await?,
        };
        let size = feed.size();
        if size > MOST {
            return Err(NotKept::TooLarge { size });
        }
        let text = feed.is_text().await?;
        for _ in 0..TRIES {
            feed.rewind();
            let (name, content) = self.seal_feed(project, &mut feed, text, redactor).await?;
            let stored = StoredContent { project, hash: content.hash, size: content.size, content: name };
            let offered = self.ledger.offer_content(&stored, self.clock.now()).await;
            mate_fault::point_async!("artifact.content_named");
            match offered.map_err(EngineError::from)? {
                Offered::Taken => return Ok(content),
                Offered::Known => {
                    self.drop_content(project, &stored.content).await?;
                    // Whoever was first at this moment may have let it go again.
                    if self.ledger.content(project, stored.hash).await.map_err(EngineError::from)?.is_some() {
                        return Ok(content);
                    }
                }
                Offered::OverQuota => {
                    self.drop_content(project, &stored.content).await?;
                    return Err(self.over_quota(project, size).await?);
                }
            }
        }
        Err(NotKept::LetGo)
    }

    async fn over_quota(&self, project: ProjectId, size: u64) -> Result<NotKept, NotKept> {
        let room = self.ledger.artifact_room(project).await.map_err(EngineError::from)?;
        Ok(NotKept::OverQuota { size, left: room.left() })
    }

    /// Seals what is fed under a new name; on failure nothing of it stays.
    async fn seal_feed(
        &self,
        project: ProjectId,
        feed: &mut Feed,
        text: bool,
        redactor: &Redactor,
    ) -> Result<(String, Content), NotKept> {
        // What cannot fit is not written first.
        let room = self.ledger.artifact_room(project).await.map_err(EngineError::from)?;
        if i64::try_from(feed.size()).unwrap_or(i64::MAX) > room.quota {
            return Err(NotKept::OverQuota { size: feed.size(), left: room.left() });
        }
        let mut draft = self.begin_content(project).await?;
        let name = draft.name.clone();
        let sealing = async {
            let mut filter = Filter::new(text, redactor);
            let (mut head, mut written) = (Vec::with_capacity(media::LOOKED_AT), 0);
            loop {
                let piece = feed.next().await?;
                let last = piece.is_none();
                let (back, bytes) = tokio::task::spawn_blocking(move || filter.take(piece))
                    .await
                    .map_err(|error| NotKept::Failed(error.to_string()))??;
                filter = back;
                head.extend(bytes.iter().take(media::LOOKED_AT - head.len()));
                written += bytes.len() as u64;
                if written > MOST {
                    return Err(NotKept::TooLarge { size: written });
                }
                self.write_content(&mut draft, &bytes).await?;
                if last {
                    break;
                }
            }
            let (name, whole) = self.finish_content(draft).await?;
            let content = Content {
                hash: whole.hash,
                size: i64::try_from(whole.size).unwrap_or(i64::MAX),
                media_type: media::sniff(&head, text).to_owned(),
                redacted: filter.changed,
            };
            Ok((name, content))
        };
        match sealing.await {
            Ok(sealed) => Ok(sealed),
            Err(why) => {
                if let Err(error) = self.drop_content(project, &name).await {
                    tracing::warn!(%error, "a content that is not kept is left to be collected");
                }
                Err(why)
            }
        }
    }
}

/// Takes secrets out of what passes through it, or stops it.
struct Filter {
    redactor: Redactor,
    /// For text.
    stream: Option<Stream>,
    /// Of text: the beginning of a character. Of bytes: what is looked at again with the next piece.
    tail: Vec<u8>,
    changed: bool,
}

impl Filter {
    fn new(text: bool, redactor: &Redactor) -> Self {
        let stream = text.then(|| redactor.stream());
        Self { redactor: redactor.clone(), stream, tail: Vec::new(), changed: false }
    }

    /// Takes a piece, or the end; gives what can be kept by now.
    fn take(mut self, piece: Option<Vec<u8>>) -> Result<(Self, Vec<u8>), NotKept> {
        let Some(mut stream) = self.stream.take() else { return self.look(piece) };
        let out = match piece {
            Some(piece) => {
                self.tail.extend_from_slice(&piece);
                let text = split_text(&mut self.tail).ok_or(NotKept::Changed)?;
                let out = stream.push(&text);
                self.changed |= stream.has_hidden();
                self.stream = Some(stream);
                out
            }
            None if self.tail.is_empty() => {
                let (rest, hidden) = stream.end();
                self.changed |= hidden;
                rest
            }
            None => return Err(NotKept::Changed),
        };
        Ok((self, out.into_bytes()))
    }

    fn look(mut self, piece: Option<Vec<u8>>) -> Result<(Self, Vec<u8>), NotKept> {
        let Some(piece) = piece else { return Ok((self, Vec::new())) };
        self.tail.extend_from_slice(&piece);
        if self.redactor.is_in(&self.tail) {
            return Err(NotKept::HoldsSecret);
        }
        let seen = self.tail.len().saturating_sub(Redactor::OVERLAP);
        self.tail.drain(..seen);
        Ok((self, piece))
    }
}
