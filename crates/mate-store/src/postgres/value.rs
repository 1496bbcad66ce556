//! Values of the port on the wire.

use crate::Value;
use std::error::Error;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, private::BytesMut, to_sql_checked};

/// A parameter of another type than the statement wants. SQLite would often convert; here it is a defect.
#[derive(Debug, thiserror::Error)]
#[error("{given} where the statement wants {wanted}: cast the parameter or mend the call")]
pub(super) struct WrongType {
    given: &'static str,
    wanted: String,
}

/// Types of columns that [`Value`] can hold.
pub(super) fn is_known(ty: &Type) -> bool {
    [Type::INT8, Type::INT4, Type::INT2, Type::BOOL, Type::TEXT, Type::VARCHAR, Type::NAME, Type::BYTEA]
        .contains(ty)
}

impl ToSql for Value {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(n) if *ty == Type::INT8 => n.to_sql(ty, out),
            Self::Int(n) if *ty == Type::INT4 => i32::try_from(*n)?.to_sql(ty, out),
            Self::Int(n) if *ty == Type::INT2 => i16::try_from(*n)?.to_sql(ty, out),
            Self::Text(text) if [Type::TEXT, Type::VARCHAR].contains(ty) => text.to_sql(ty, out),
            Self::Blob(bytes) if *ty == Type::BYTEA => bytes.to_sql(ty, out),
            Self::Int(_) | Self::Text(_) | Self::Blob(_) => {
                Err(Box::new(WrongType { given: self.kind(), wanted: ty.to_string() }))
            }
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(match *ty {
            Type::INT8 => Self::Int(i64::from_sql(ty, raw)?),
            Type::INT4 => Self::Int(i32::from_sql(ty, raw)?.into()),
            Type::INT2 => Self::Int(i16::from_sql(ty, raw)?.into()),
            Type::BOOL => Self::Int(bool::from_sql(ty, raw)?.into()),
            Type::BYTEA => Self::Blob(raw.to_vec()),
            _ => Self::Text(String::from_sql(ty, raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(ty: &Type) -> bool {
        is_known(ty)
    }
}
