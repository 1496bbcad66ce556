//! How one agent program is launched: what `runtime add` keeps, and nothing that is not named there.

use crate::container::Launch;
use mate_model::containment::Limits;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, env, io, os::unix::fs::PermissionsExt, path::Path};

/// What is done about the runtime's own tools (shell, files, web), which do not go through the bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnTools {
    /// They are switched off as far as the runtime can do that; where it asks, it is refused.
    Off,
    /// The runtime asks before it uses one.
    #[default]
    Ask,
    /// The runtime may use them; their effects are shown and not guaranteed.
    Free,
}

/// A registered agent program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Registration {
    /// The preset it was made from.
    pub preset: Option<String>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Environment variables with fixed values. No secrets: those are passed on by name.
    pub env: BTreeMap<String, String>,
    /// Environment variables passed on from whoever runs Agent Mate, where they are set there.
    pub pass_env: Vec<String>,
    /// The authentication method to choose at the start.
    pub auth_method: Option<String>,
    /// The mode to put each session into.
    pub mode: Option<String>,
    /// What is done about its own tools.
    pub own_tools: OwnTools,
    /// It would show the bridge's bearer in process arguments, so it gets the stdio relay.
    pub shows_headers: bool,
    /// What the processes of one of its sessions may use together.
    pub limits: Limits,
}

/// Passed on to every runtime where they are set: without them nothing finds its files or its language.
const BASE: [&str; 6] = ["HOME", "PATH", "LANG", "LC_ALL", "TZ", "USER"];

impl Registration {
    /// A plain command.
    #[must_use]
    pub fn of_command(command: Vec<String>) -> Self {
        Self { command, ..Self::default() }
    }

    /// The environment every process of the session gets: built from nothing.
    #[must_use]
    pub fn base_env(&self) -> Vec<(String, String)> {
        let mut names = BTreeMap::new();
        for name in BASE {
            if let Ok(value) = env::var(name) {
                names.insert(name.to_owned(), value);
            }
        }
        names.entry("PATH".to_owned()).or_insert_with(|| "/usr/local/bin:/usr/bin:/bin".to_owned());
        names.entry("LANG".to_owned()).or_insert_with(|| "C.UTF-8".to_owned());
        names.insert("TERM".to_owned(), "dumb".to_owned());
        names.insert("NO_COLOR".to_owned(), "1".to_owned());
        names.into_iter().collect()
    }

    /// How to start it in `cwd`.
    ///
    /// # Errors
    /// That there is no command.
    pub fn launch(&self, cwd: &Path) -> io::Result<Launch> {
        if self.command.is_empty() {
            return Err(io::Error::other("the runtime has no command: register it again"));
        }
        let mut env: BTreeMap<String, String> = self.base_env().into_iter().collect();
        for name in &self.pass_env {
            if let Ok(value) = env::var(name) {
                env.insert(name.clone(), value);
            }
        }
        env.extend(self.env.clone());
        Ok(Launch { argv: self.command.clone(), env: env.into_iter().collect(), cwd: cwd.to_owned() })
    }

    /// Whether its program is where a session would look for it, as far as this process sees.
    #[must_use]
    pub fn is_there(&self) -> bool {
        let Some(program) = self.command.first() else { return false };
        let is_program = |path: &Path| {
            path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        };
        if program.contains('/') {
            // One that is relative to the workspace is looked for when there is one.
            return !program.starts_with('/') || is_program(Path::new(program));
        }
        let path =
            self.env.get("PATH").cloned().or_else(|| {
                self.base_env().into_iter().find(|(name, _)| name == "PATH").map(|(_, value)| value)
            });
        env::split_paths(&path.unwrap_or_default()).any(|folder| is_program(&folder.join(program)))
    }

    /// The values that are passed on by name: what must never be written down.
    #[must_use]
    pub fn passed_values(&self) -> Vec<String> {
        let values = self.pass_env.iter().filter_map(|name| env::var(name).ok());
        values.filter(|value| value.len() >= 8).collect()
    }
}
