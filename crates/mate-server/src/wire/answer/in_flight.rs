//! What was on its way when something was revoked.

use crate::wire::shape;
use serde::Serialize;
use utoipa::ToSchema;

/// The calls that were on their way when something was revoked: they may have happened.
#[derive(Debug, Serialize, ToSchema)]
pub struct InFlight {
    /// Those in projects that you may see.
    pub calls: Vec<CallInFlight>,
    /// How many there are in others.
    pub elsewhere: u64,
}

/// A call that was on its way.
#[derive(Debug, Serialize, ToSchema)]
pub struct CallInFlight {
    /// The operation.
    #[schema(value_type = shape::OperationId)]
    pub id: String,
    /// Its task.
    #[schema(value_type = shape::TaskId)]
    pub task: String,
    /// The connection's name.
    pub connection_name: String,
    /// The tool. Untrusted text.
    pub tool: String,
}
