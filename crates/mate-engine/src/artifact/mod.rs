//! Artifacts: immutable outputs of a project, addressed by what they hold.
//!
//! The order of writes, so that an artifact that the ledger names always has its content: the outcome of a call with
//! the promise of its artifacts, in the journal; the content, sealed and synced; its row in the ledger, against the
//! quota; what became of the promise, in the journal; the artifact in the ledger's index. A crash anywhere leaves a
//! promise, which recovery says was not kept, or a content that nothing names, which is let go after a while.

mod bytes;
mod collect;
mod feed;
mod fetch;
mod keep;
mod left;
mod list;
mod publish;
mod quota;
mod record;
mod remove;

pub use bytes::ContentReader;
pub use fetch::Download;
pub use keep::{Keep, NotKept};
pub use list::ArtifactView;
pub use quota::ArtifactUse;
pub(crate) use quota::MOST as MOST_BYTES;
pub(crate) use record::recorded;

use crate::Engine;
use mate_model::ArtifactId;
use uuid::{Builder, Uuid};

/// The largest artifact, in bytes.
pub const MOST: u64 = 100 << 20;

impl Engine {
    /// An id for a new artifact: all of it is drawn at random.
    #[must_use]
    pub fn artifact_id(&self) -> ArtifactId {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&self.entropy.secret()[..16]);
        ArtifactId::new(Builder::from_random_bytes(bytes).into_uuid())
    }

    /// The id of an artifact that a request makes, which is the same when it is asked again. Without the home's key it
    /// tells nothing and cannot be guessed.
    #[must_use]
    pub fn artifact_id_of(&self, request: Uuid) -> ArtifactId {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&self.key.derive("artifact id", request.as_bytes()).expose()[..16]);
        ArtifactId::new(Builder::from_random_bytes(bytes).into_uuid())
    }
}
