//! How asking for authority fails.

/// Why there is no answer that can be used. The words may be an upstream's: untrusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The server's own refusal, by a word of the standard.
    #[error("{issuer} refuses: {error}{}", .description.as_ref().map(|text| format!(" ({text})")).unwrap_or_default())]
    Refused {
        /// Who.
        issuer: String,
        /// The word: `invalid_grant`, `access_denied`, ...
        error: String,
        /// What it adds.
        description: Option<String>,
    },
    /// Nothing was sent.
    #[error("{0}")]
    NotSent(String),
    /// It was sent, and no usable answer came: what it asked for may have been done.
    #[error("{0}")]
    Unknown(String),
    /// Something does not fit the standard, or what was asked for.
    #[error("{0}")]
    Unfit(String),
}

impl Fault {
    /// Whether what was sent may have been taken.
    #[must_use]
    pub const fn may_have_been_taken(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }

    pub(super) fn unfit(why: impl Into<String>) -> Self {
        Self::Unfit(why.into())
    }
}
