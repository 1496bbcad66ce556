//! What can be asked of tasks, one verb per file.

mod answer;
mod authority;
mod chain;
mod events;
mod find;
mod go_on;
mod operations;
mod operations_across;
mod recent;
mod report;
mod resume;
mod stop;
mod submit;
pub(crate) mod view;

pub(crate) use chain::Chain;
pub use chain::Conversation;
pub use events::{Cursor, EventPage, EventView};
pub use operations::{Contrary, OperationPage, OperationView, ResolutionView, Times};
pub use recent::Recent;
pub use report::{OperationLine, Report};
pub use resume::Resume;
pub use submit::Submit;
pub use view::{Activity, TaskPage, TaskView};
