//! Parts of requests and answers that belong to the model, as the description of the interface shows them.

use super::shape;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// What a task wants beyond its instructions.
#[derive(Debug, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Wishes {
    /// The agent must report its result with `agent_mate__report`.
    #[schema(default = false, required = false)]
    pub require_report: bool,
    /// What happens when the runtime is lost in the middle of it, and nothing is uncertain; `hold` if absent.
    #[schema(value_type = shape::OnInterruption, required = false)]
    pub on_interruption: String,
    /// How many times it and what continues it may go on by themselves; 1 if absent.
    #[schema(minimum = 1, maximum = 10, required = false)]
    pub max_resumes: u32,
    /// What happens to a call that needs a person's leave; `park` if absent.
    #[schema(value_type = shape::OnApproval, required = false)]
    pub on_approval: String,
    /// Without activity for so many seconds it is shown as quiet. Absent: as its runtime says.
    #[schema(minimum = 1, maximum = 31_622_400)]
    pub quiet_seconds: Option<u32>,
    /// So many seconds after its start it is asked to stop; 0: never. Absent: as its runtime says.
    #[schema(minimum = 0, maximum = 31_622_400)]
    pub deadline_seconds: Option<u32>,
}

/// What the processes of one session may use together; no limit where nothing is said.
#[derive(Debug, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Memory, in bytes: 16 MiB to 1 PiB.
    #[schema(minimum = 16_777_216, maximum = 1_125_899_906_842_624_u64)]
    pub memory: Option<u64>,
    /// How many processes.
    #[schema(minimum = 4, maximum = 1_000_000)]
    pub processes: Option<u64>,
    /// Processor time, in percent of one processor.
    #[schema(minimum = 1, maximum = 100_000)]
    pub cpu: Option<u64>,
}

/// How certain tools of a connection are verified: whether a call whose outcome is unknown has happened.
#[derive(Debug, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VerificationRecipe {
    /// Patterns of the tools whose calls it verifies; of several recipes the first one that fits is used.
    #[schema(value_type = Vec<shape::Pattern>, min_items = 1, max_items = 100)]
    pub tools: Vec<String>,
    /// The tool of the same connection that is asked; its effect class must be `read`.
    pub ask: String,
    /// Its arguments. Strings may hold `{operation}`, `{trace}`, `{requested_at}` and `{field.NAME}`.
    #[schema(value_type = Object, required = false)]
    pub arguments: Map<String, Value>,
    /// What the answer must say, all of it, for the call to have happened.
    #[schema(required = false)]
    pub happened: Vec<Condition>,
    /// What the answer must say, all of it, for the call not to have happened.
    #[schema(required = false)]
    pub did_not_happen: Vec<Condition>,
    /// How long after the call was given up an answer proves that it did not happen, in seconds; 30 if absent.
    #[schema(required = false)]
    pub after_seconds: u32,
    /// What is looked at, in words, for whoever reads the evidence.
    pub about: Option<String>,
}

/// One condition on an answer. Exactly one of the four tests is given.
#[derive(Debug, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// A JSON pointer into the structured content, or into the text where that is JSON; none: the text itself.
    pub at: Option<String>,
    /// The value is this one. Strings may hold placeholders.
    pub equals: Option<Value>,
    /// The text holds this one, or the list has it as an item. May hold placeholders.
    pub contains: Option<String>,
    /// There is a value there, or none.
    pub exists: Option<bool>,
    /// The list has so many items.
    pub count: Option<CountBounds>,
}

/// How many items a list has; at least one bound is given.
#[derive(Debug, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CountBounds {
    /// So many or more.
    pub at_least: Option<u64>,
    /// So many or fewer.
    pub at_most: Option<u64>,
}
