//! Artifacts: immutable outputs of a project, addressed by what they hold.

use crate::{ArtifactId, Micros, OperationId, SessionId, TaskId, words::words};

words!(/// Where an artifact comes from.
ArtifactOrigin, "an origin of artifacts" {
    /// What a tool answered.
    Result = "result",
    /// A resource that a tool's answer held or linked.
    Resource = "resource",
    /// A file of a task's workspace, published by a member.
    Workspace = "workspace",
});

words!(/// How an artifact stands.
ArtifactState, "a state of artifacts" {
    /// It is being stored; only a session's journal knows this state.
    Promised = "promised",
    /// Its content is at hand.
    Kept = "kept",
    /// Its content is not at hand; a reason says why.
    NotKept = "not_kept",
    /// A link to something elsewhere, which nobody followed.
    Referenced = "referenced",
    /// Its content was removed by a member.
    Removed = "removed",
});

/// What is known of a content that is, or was, kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// BLAKE3 of what is kept.
    pub hash: [u8; 32],
    /// Its length in bytes.
    pub size: i64,
    /// Its media type, found by looking at it.
    pub media_type: String,
    /// Secrets were taken out of it before it was kept.
    pub redacted: bool,
}

/// How an artifact stands, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArtifactContent {
    /// It is being stored.
    Promised,
    /// At hand.
    Kept(Content),
    /// Not at hand.
    NotKept {
        /// Why.
        reason: String,
    },
    /// Elsewhere.
    Referenced {
        /// The media type that was claimed.
        media_type: Option<String>,
        /// The size that was claimed, in bytes.
        size: Option<i64>,
    },
    /// Removed by a member.
    Removed {
        /// What it was.
        content: Content,
        /// When.
        at: Micros,
    },
}

impl ArtifactContent {
    /// The word for it.
    #[must_use]
    pub const fn state(&self) -> ArtifactState {
        match self {
            Self::Promised => ArtifactState::Promised,
            Self::Kept(_) => ArtifactState::Kept,
            Self::NotKept { .. } => ArtifactState::NotKept,
            Self::Referenced { .. } => ArtifactState::Referenced,
            Self::Removed { .. } => ArtifactState::Removed,
        }
    }

    /// What is known of the content, if it is or was kept.
    #[must_use]
    pub const fn content(&self) -> Option<&Content> {
        match self {
            Self::Kept(content) | Self::Removed { content, .. } => Some(content),
            Self::Promised | Self::NotKept { .. } | Self::Referenced { .. } => None,
        }
    }
}

/// An artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Its id.
    pub id: ArtifactId,
    /// The session whose task it comes from.
    pub session: SessionId,
    /// The task that it comes from.
    pub task: TaskId,
    /// The operation whose result it is, or was in.
    pub operation: Option<OperationId>,
    /// Where it comes from.
    pub origin: ArtifactOrigin,
    /// A name for people, safe as the name of a file.
    pub name: String,
    /// What it came from: a resource's address or a path beneath the workspace, as it may be shown.
    pub source: Option<String>,
    /// How it stands.
    pub content: ArtifactContent,
    /// When it was first recorded.
    pub created_at: Micros,
}
