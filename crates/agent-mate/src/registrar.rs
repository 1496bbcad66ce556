//! From what a client says of a runtime to its registration, with the presets of the runtime room.

use mate_engine::{EngineError, admin::check};
use mate_guard::Redactor;
use mate_runtime::registration::Registration;
use mate_server::{Registrar, wire::AddRuntime};
use serde_json::Value;

/// Knows the presets.
#[derive(Debug)]
pub(crate) struct Presets;

impl Registrar for Presets {
    fn presets(&self) -> Vec<String> {
        mate_runtime::presets::names().into_iter().map(str::to_owned).collect()
    }

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
        let mut registration = registration;
        set(&mut registration, wish)?;
        let limits = wish.limits.unwrap_or(registration.limits);
        check::limits(limits)?;
        let registration = Registration { limits, ..registration };
        check::command(&registration.command)?;
        serde_json::to_value(registration).map_err(|error| EngineError::Internal(error.to_string()))
    }

    fn notices(&self, registration: &Value) -> Vec<String> {
        let Ok(known) = serde_json::from_value::<Registration>(registration.clone()) else {
            return Vec::new();
        };
        if known.is_there() {
            return Vec::new();
        }
        let program = known.command.first().map(String::as_str).unwrap_or_default();
        let preset = known.preset.as_deref().and_then(mate_runtime::presets::find);
        let from = preset.map_or_else(String::new, |preset| format!("; install it first: {}", preset.note));
        vec![format!("there is no program {program} where `agent-mate serve` looks for programs{from}")]
    }
}

/// The most variables of a runtime.
const VARIABLES: usize = 100;
/// The longest name of a mode or a method, in bytes.
const NAME: usize = 200;

/// What is wished for besides the preset's.
fn set(registration: &mut Registration, wish: &AddRuntime) -> Result<(), EngineError> {
    for (field, names) in
        [("env", wish.env.keys().collect::<Vec<_>>()), ("pass_env", wish.pass_env.iter().collect())]
    {
        if names.len() > VARIABLES {
            return Err(EngineError::invalid(field, "has more than 100 variables"));
        }
        if let Some(wrong) = names.iter().find(|name| !check::is_variable(name)) {
            let why = format!("{wrong:?} is no name of a variable: A-Z, a-z, 0-9 and `_`, no digit first");
            return Err(EngineError::invalid(field, why));
        }
    }
    let shapes = Redactor::new([""; 0]).map_err(|error| EngineError::Internal(error.to_string()))?;
    for (name, value) in &wish.env {
        if value.contains('\0') {
            return Err(EngineError::invalid("env", format!("{name} has a NUL character")));
        }
        if shapes.redact(value) != value.as_str() {
            let why = format!(
                "{name} looks like a secret, and registrations are kept in clear: set it for `agent-mate serve` and pass \
                 it on by name (pass_env)"
            );
            return Err(EngineError::invalid("env", why));
        }
    }
    registration.env.extend(wish.env.clone());
    for name in &wish.pass_env {
        if !registration.pass_env.contains(name) {
            registration.pass_env.push(name.clone());
        }
    }
    if let Some(own_tools) = &wish.own_tools {
        registration.own_tools = serde_json::from_value(Value::from(own_tools.as_str()))
            .map_err(|_| EngineError::invalid("own_tools", "must be off, ask or free"))?;
    }
    for (field, given, kept) in [
        ("mode", &wish.mode, &mut registration.mode),
        ("auth_method", &wish.auth_method, &mut registration.auth_method),
    ] {
        let Some(given) = given else { continue };
        if given.is_empty() || given.len() > NAME || given.chars().any(char::is_control) {
            return Err(EngineError::invalid(field, "must have 1 to 200 bytes, without control characters"));
        }
        *kept = Some(given.clone());
    }
    Ok(())
}
