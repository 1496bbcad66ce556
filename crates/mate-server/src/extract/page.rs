//! The parameters that every list takes.

use crate::{cursor, problem::Problem, wire::shape};
use mate_engine::admin::Paging;
use serde::Deserialize;
use std::{fmt::Display, str::FromStr};
use utoipa::IntoParams;

/// `?cursor=&limit=`
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageQuery {
    /// The `next` of the page before: go on after it.
    #[param(value_type = Option<shape::Cursor>, inline)]
    pub(crate) cursor: Option<String>,
    /// How many items at most; 100 if absent.
    #[param(minimum = 1, maximum = 500)]
    pub(crate) limit: Option<u32>,
}

impl PageQuery {
    /// The page of the list `name` that is wanted.
    pub(crate) fn page(&self, name: &str) -> Result<Paging, Problem> {
        paging(name, self.cursor.as_deref(), self.limit)
    }
}

/// The page of the list `name` that is wanted.
pub(crate) fn paging(name: &str, given: Option<&str>, wanted: Option<u32>) -> Result<Paging, Problem> {
    let after = given.map(|text| cursor::decode(name, text, "cursor")).transpose()?;
    Ok(Paging { after, limit: limit(wanted)? })
}

/// How many items a page may have.
pub(crate) fn limit(wanted: Option<u32>) -> Result<u32, Problem> {
    match wanted.unwrap_or(Paging::USUAL) {
        limit @ 1..=Paging::MOST => Ok(limit),
        _ => Err(Problem::parameter("limit", format!("must be 1 to {}", Paging::MOST))),
    }
}

/// A parameter that is one of a set of words.
pub(crate) fn word<T: FromStr<Err: Display>>(
    field: &'static str,
    text: Option<&str>,
) -> Result<Option<T>, Problem> {
    text.map(str::parse).transpose().map_err(|why: T::Err| Problem::parameter(field, why.to_string()))
}
