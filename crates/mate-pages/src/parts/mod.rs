//! Small parts that pages are made of.

mod arguments;
mod badge;
pub(crate) mod form;
mod list;
mod moment;

pub(crate) use arguments::arguments;
pub(crate) use badge::{badge, effect, tone};
pub(crate) use list::{empty, facts, more, short, tool};
pub(crate) use moment::{duration, exactly, micros, moment, since};
