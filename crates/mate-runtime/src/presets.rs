//! How well-known agent programs are launched. A preset is only a registration to start from: every value
//! of it can be given otherwise.

use crate::registration::{OwnTools, Registration};
use mate_model::containment::Limits;

/// A known agent program.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What a person must know of it.
    pub note: &'static str,
    command: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
    pass_env: &'static [&'static str],
    mode: Option<&'static str>,
    own_tools: OwnTools,
    shows_headers: bool,
}

/// Every preset, by name.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "claude",
        note: "Claude Code through its ACP adapter (npm: @agentclientprotocol/claude-agent-acp, Node 22 or later)",
        command: &["claude-agent-acp"],
        env: &[
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("ENABLE_TOOL_SEARCH", "false"),
        ],
        pass_env: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_MODEL",
            "CLAUDE_CONFIG_DIR",
        ],
        mode: Some("default"),
        own_tools: OwnTools::Ask,
        // Its adapter hands the list of servers to an inner process, where arguments can be read.
        shows_headers: true,
    },
    Preset {
        name: "codex",
        note: "Codex through its ACP adapter (npm: @agentclientprotocol/codex-acp)",
        command: &["codex-acp"],
        env: &[],
        pass_env: &["OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_HOME", "CODEX_PATH"],
        // In its default mode a model, and not the client, approves.
        mode: Some("workspace-write"),
        own_tools: OwnTools::Ask,
        shows_headers: false,
    },
    Preset {
        name: "gemini",
        note: "Gemini CLI (npm: @google/gemini-cli)",
        command: &["gemini", "--experimental-acp"],
        env: &[],
        pass_env: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_GEMINI_BASE_URL"],
        mode: None,
        own_tools: OwnTools::Ask,
        shows_headers: false,
    },
    Preset {
        name: "goose",
        note: "Goose",
        command: &["goose", "acp"],
        env: &[("GOOSE_MODE", "approve")],
        pass_env: &["GOOSE_PROVIDER", "GOOSE_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"],
        mode: None,
        own_tools: OwnTools::Ask,
        shows_headers: false,
    },
    Preset {
        name: "opencode",
        note: "OpenCode (npm: opencode-ai)",
        command: &["opencode", "acp"],
        env: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
        pass_env: &["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_CONFIG"],
        mode: None,
        own_tools: OwnTools::Ask,
        shows_headers: false,
    },
    Preset {
        name: "qwen",
        note: "Qwen Code (npm: @qwen-code/qwen-code)",
        command: &["qwen", "--experimental-acp"],
        env: &[],
        pass_env: &["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "DASHSCOPE_API_KEY"],
        mode: None,
        own_tools: OwnTools::Ask,
        shows_headers: false,
    },
];

/// The preset with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// The names of all presets.
#[must_use]
pub fn names() -> Vec<&'static str> {
    PRESETS.iter().map(|preset| preset.name).collect()
}

impl Preset {
    /// The registration that it stands for.
    #[must_use]
    pub fn registration(&self) -> Registration {
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Registration {
            preset: Some(self.name.to_owned()),
            command: own(self.command),
            env: self.env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            pass_env: own(self.pass_env),
            auth_method: None,
            mode: self.mode.map(str::to_owned),
            own_tools: self.own_tools,
            shows_headers: self.shows_headers,
            limits: Limits::default(),
        }
    }
}
