//! From what a client says of a runtime to its registration, with the presets of the runtime room.

use mate_engine::EngineError;
use mate_runtime::registration::Registration;
use mate_server::{Registrar, wire::AddRuntime};
use serde_json::Value;

/// Knows the presets.
#[derive(Debug)]
pub(crate) struct Presets;

impl Registrar for Presets {
    fn registration(&self, wish: &AddRuntime) -> Result<Value, EngineError> {
        let command = wish.command.clone().unwrap_or_default();
        let registration = match &wish.preset {
            Some(preset) => {
                let preset = mate_runtime::presets::find(preset).ok_or_else(|| {
                    EngineError::invalid(
                        "preset",
                        format!("no such preset; one of: {}", mate_runtime::presets::names().join(", ")),
                    )
                })?;
                let preset = preset.registration();
                if command.is_empty() { preset } else { Registration { command, ..preset } }
            }
            None => Registration::of_command(command),
        };
        let limits = wish.limits.unwrap_or(registration.limits);
        mate_engine::admin::check::limits(limits)?;
        let registration = Registration { limits, ..registration };
        mate_engine::admin::check::command(&registration.command)?;
        serde_json::to_value(registration).map_err(|error| EngineError::Internal(error.to_string()))
    }
}
