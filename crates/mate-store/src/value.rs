//! What a parameter or a column can hold: the types that both engines have.

use crate::error::StoreError;

/// One parameter or one column of a row.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// BIGINT.
    Int(i64),
    /// TEXT, without NUL characters (PostgreSQL cannot hold them).
    Text(String),
    /// BYTEA or BLOB.
    Blob(Vec<u8>),
}

impl Value {
    /// The value in few words, fit for an error message: never more than 80 characters, never bytes.
    #[must_use]
    pub fn brief(&self) -> String {
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Int(n) => n.to_string(),
            Self::Text(text) if text.chars().count() <= 80 => text.clone(),
            Self::Text(text) => format!("a text of {} bytes", text.len()),
            Self::Blob(bytes) => format!("{} bytes", bytes.len()),
        }
    }

    /// The SQL type, as error messages name it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Int(_) => "an integer",
            Self::Text(_) => "text",
            Self::Blob(_) => "bytes",
        }
    }
}

/// Shows sizes and not contents: parameters may be secrets.
impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Null => f.write_str("Null"),
            Self::Int(n) => write!(f, "Int({n})"),
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Blob(bytes) => write!(f, "Blob({} bytes)", bytes.len()),
        }
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Self {
        Self::Int(n)
    }
}

impl From<u32> for Value {
    fn from(n: u32) -> Self {
        Self::Int(n.into())
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Self {
        Self::Int(yes.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Blob(bytes.to_vec())
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Blob(bytes)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Refuses what one of the engines could not hold, before either is asked.
pub(crate) fn check_params(params: &[Value]) -> Result<(), StoreError> {
    for (index, value) in params.iter().enumerate() {
        if let Value::Text(text) = value
            && text.contains('\0')
        {
            return Err(StoreError::NulInText { parameter: index + 1 });
        }
    }
    Ok(())
}
