//! From what a client says of a runtime to how it is launched: the room of runtimes knows, through this trait.

use crate::wire::AddRuntime;
use mate_engine::{EngineError, admin::check};
use serde_json::{Value, json};

/// Knows the agent programs and the shape of their registrations.
pub trait Registrar: Send + Sync {
    /// The registration to keep.
    ///
    /// # Errors
    /// [`EngineError::Invalid`] for `preset` or `command`.
    fn registration(&self, wish: &AddRuntime) -> Result<Value, EngineError>;

    /// What is worth knowing of a registration before its first task, in words: a program that is not there.
    fn notices(&self, _registration: &Value) -> Vec<String> {
        Vec::new()
    }

    /// The names of the presets that may be wished for.
    fn presets(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Knows no preset: takes commands as they are.
#[derive(Clone, Copy, Debug)]
pub struct PlainCommands;

impl Registrar for PlainCommands {
    fn registration(&self, wish: &AddRuntime) -> Result<Value, EngineError> {
        if wish.preset.is_some() {
            return Err(EngineError::invalid("preset", "no preset is known here: give the command"));
        }
        let command = wish.command.as_deref().unwrap_or_default();
        check::command(command)?;
        Ok(json!({ "command": command }))
    }
}
