//! x
use crate::cli::{Context, DemoArgs, Exit, Failure};
pub(crate) async fn run(_context: &Context, _arguments: &DemoArgs) -> Result<Exit, Failure> {
    Err(Failure::internal("not yet"))
}
