//! What work is done with, and by whom: projects and members, connections, grants, runtimes, tokens.

mod connections;
mod grants;
mod projects;
mod runtimes;
mod tokens;

pub use connections::{ConnectionPage, connection, connections};
pub use grants::{GrantPage, Granting, grant, granting, grants};
pub use projects::{ProjectPage, project, projects};
pub use runtimes::runtimes;
pub use tokens::{TokensPage, made, tokens};
