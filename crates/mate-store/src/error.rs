//! Why a store did not do what it was asked, and what the caller should do next.

/// The rule of the schema that a write would have broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// PRIMARY KEY or UNIQUE: it is there already.
    Unique,
    /// FOREIGN KEY: what it names is not there, or is still named by something.
    ForeignKey,
    /// CHECK: the values do not belong together.
    Check,
    /// NOT NULL: a value is missing.
    NotNull,
}

/// A store's refusal or failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// A guarded statement changed another number of rows than expected; the whole script was rolled back.
    #[error(
        "statement {statement} of the script changed {changed} rows instead of {expected}; nothing was written: read the present state and decide again"
    )]
    Guard {
        /// Which statement of the script, from 0.
        statement: usize,
        /// The rows it had to change.
        expected: u64,
        /// The rows it would have changed.
        changed: u64,
    },
    /// The schema refused the write; nothing was written.
    #[error("the schema refuses this ({kind:?}: {detail}); nothing was written")]
    Constraint {
        /// Which kind of rule.
        kind: ConstraintKind,
        /// The engine's name for the rule: differs between the engines, for people only.
        detail: String,
    },
    /// Others held the store for too long; nothing was written.
    #[error("the store is busy ({0}); nothing was written: try again in a moment")]
    Busy(String),
    /// There is no room; nothing was written.
    #[error("no space is left for the store ({0}); nothing was written: free some space and try again")]
    Full(String),
    /// This store can be read only.
    #[error(
        "the store cannot be written ({0}): check its permissions and that its file system is not read-only"
    )]
    ReadOnly(String),
    /// The store cannot be reached, or was lost in the middle.
    #[error("the store is not available ({why}); {}", if *.maybe_committed {
        "the write may have been kept: read before writing again"
    } else {
        "nothing was written: try again when it is back"
    })]
    Unavailable {
        /// What the engine said.
        why: String,
        /// True when the write may have been committed all the same. Such a write was not repeated.
        maybe_committed: bool,
    },
    /// A stored row cannot be what this program wrote.
    #[error("corrupt row in `{table}` (row {row}, column `{column}`): {why}; run `agent-mate doctor`")]
    Corrupt {
        /// The table, as far as it can be told from the query.
        table: String,
        /// The row's first column, or its place in the answer.
        row: String,
        /// The column.
        column: String,
        /// What is wrong with it.
        why: String,
    },
    /// The file or its pages are damaged.
    #[error("the store is damaged ({0}): stop using it, keep a copy, and restore a backup")]
    Damaged(String),
    /// A newer program has changed the schema.
    #[error(
        "the {schema} schema is at {found} and needs a reader of at least {oldest_reader}, this program knows {known}: use a newer agent-mate"
    )]
    SchemaTooNew {
        /// Which schema.
        schema: String,
        /// The highest migration recorded in the store.
        found: u32,
        /// The lowest migration that a reader must know.
        oldest_reader: u32,
        /// The highest migration of this program.
        known: u32,
    },
    /// What the store records of a migration is not what this program has under that number.
    #[error(
        "migration {number} of the {schema} schema differs from the one that was applied ({why}): this program does not belong to this store"
    )]
    SchemaChanged {
        /// Which schema.
        schema: String,
        /// The migration.
        number: u32,
        /// What differs.
        why: String,
    },
    /// A text parameter holds a NUL character, which PostgreSQL cannot store.
    #[error("parameter ${parameter} holds a NUL character: refuse such text where it comes in")]
    NulInText {
        /// Which parameter, from 1.
        parameter: usize,
    },
    /// The answer has more rows than a fetch may bring.
    #[error("the answer has more than {limit} rows: ask page by page")]
    TooManyRows {
        /// The most rows that a fetch brings.
        limit: usize,
    },
    /// The statement itself is wrong; a defect of this program.
    #[error("defect in a statement: {0}")]
    Misuse(String),
    /// Anything else that the engine reported.
    #[error("the store failed: {0}")]
    Other(String),
}

impl StoreError {
    /// True when the write may have been committed although an error is reported.
    #[must_use]
    pub const fn maybe_committed(&self) -> bool {
        matches!(self, Self::Unavailable { maybe_committed: true, .. })
    }

    /// True for a constraint of this kind.
    #[must_use]
    pub fn is_constraint(&self, wanted: ConstraintKind) -> bool {
        matches!(self, Self::Constraint { kind, .. } if *kind == wanted)
    }
}
