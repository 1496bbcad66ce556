//! A throw-away Agent Mate for each test: a home, a coordinator, commands, and what they left behind.

mod chain;
mod command;
mod http;
mod processes;
mod record;
mod serve;
mod terminal;
mod wait;
mod watchdog;
mod world;

pub(crate) use command::{Output, program, run};
pub(crate) use http::{Reply, Request};
pub(crate) use processes::Process;
pub(crate) use record::{items, json_lines};
pub(crate) use serve::Serve;
pub(crate) use wait::{until, while_true};
pub(crate) use world::{Store, World, id, stub};

/// Makes of each function two tests: one for each kind of store.
macro_rules! on_both_stores {
    ($($name:ident),+ $(,)?) => { $(
        mod $name {
            use crate::harness::Store;
            #[test]
            fn sqlite() { super::$name(Store::Sqlite); }
            #[test]
            fn postgres() { super::$name(Store::Postgres); }
        }
    )+ };
}
pub(crate) use on_both_stores;
