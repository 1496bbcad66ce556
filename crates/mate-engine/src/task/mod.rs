//! What can be asked of tasks, one verb per file.

mod answer;
mod events;
mod find;
mod operations;
mod report;
mod stop;
mod submit;
mod view;

pub use events::{Cursor, EventPage, EventView};
pub use operations::{OperationPage, OperationView, Times};
pub use report::{OperationLine, Report};
pub use submit::Submit;
pub use view::{Activity, TaskPage, TaskView};
