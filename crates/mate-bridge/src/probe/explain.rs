//! Why a program could not be greeted.

use super::{Code, Finding, child::Watched, ear::Ear};
use crate::config::StdioSpec;

/// Programs that fetch and run others, and where they come from.
const FETCHERS: [(&str, &str); 5] = [
    ("npx", "install Node.js with npm, which brings npx"),
    ("node", "install Node.js"),
    ("uvx", "install uv, which brings uvx"),
    ("uv", "install uv"),
    ("docker", "install Docker; mind that sessions reach its socket only where config.toml shows it"),
];

/// The settings themselves are wrong.
pub(super) fn unusable(why: &str) -> Finding {
    if why.contains("certificate") {
        return Finding::new(
            Code::Tls,
            why,
            "install ca-certificates, or set SSL_CERT_FILE for `agent-mate serve`",
        );
    }
    Finding::new(
        Code::BadAddress,
        why,
        "remove the connection and add it again with an address that can be used",
    )
}

/// What is wrong with a program that was not greeted.
pub(super) fn program(spec: &StdioSpec, why: &str, watched: &Watched, ear: &Ear) -> Finding {
    if let Some(refused) = watched.refused() {
        return not_started(&spec.command, &refused);
    }
    if let Some(handshake) = handshake(why) {
        return handshake;
    }
    if let Some(other) = ear.other() {
        return Finding::new(
            Code::NotMcp,
            format!("{} answers with something that is no MCP message: {}", spec.command, shorten(&other)),
            "check that the command starts an MCP server over standard streams, and writes its logs to standard error",
        );
    }
    match watched.ended() {
        // One that was ended because it took too long says nothing by its signal.
        Some(how) if !why.starts_with("it was not ready within") => Finding::new(
            Code::ProgramEnded,
            format!("{} ended before it was greeted ({how}){}", spec.command, last_words(ear)),
            "run the command by hand in an empty folder and see what it misses: a variable (--secret-env), an argument, \
             a package",
        ),
        Some(_) | None => no_answer(&spec.command, why, ear),
    }
}

fn last_words(ear: &Ear) -> String {
    match ear.said().last() {
        Some(line) => format!("; it said last: {}", shorten(line)),
        None => ", and said nothing".to_owned(),
    }
}

fn no_answer(command: &str, why: &str, ear: &Ear) -> Finding {
    Finding::new(
        Code::NoAnswer,
        format!("{command} was started and does not answer: {why}{}", last_words(ear)),
        "check that it is an MCP server over standard streams; if its first start downloads something, try again",
    )
}

/// What an answer to the handshake itself says.
pub(super) fn handshake(why: &str) -> Option<Finding> {
    if why.contains("protocol version") {
        return Some(Finding::new(
            Code::ProtocolVersion,
            why,
            "take a release of the server that speaks a version of MCP that Agent Mate speaks",
        ));
    }
    (why.contains("refused the handshake") || why.contains("initialize result")).then(|| {
        Finding::new(
            Code::HandshakeRefused,
            shorten(why),
            "read what the server says; its own documentation tells what it wants to know at its start",
        )
    })
}

fn not_started(command: &str, refused: &str) -> Finding {
    let program = command.rsplit('/').next().unwrap_or(command);
    let detail = format!("{command} cannot be started: {refused}");
    if refused.contains("there is no program") || refused.contains("os error 2)") {
        let fetched = FETCHERS.iter().find(|(name, _)| *name == program).map(|(_, next)| (*next).to_owned());
        let next = fetched.unwrap_or_else(|| {
            format!("install {program}, or give its full path; what a session hides cannot be started either")
        });
        return Finding::new(Code::ProgramNotFound, detail, next);
    }
    if refused.contains("may not be executed") || refused.contains("os error 13)") {
        let next = format!("let the user of `agent-mate serve` run it: chmod +x {command}");
        return Finding::new(Code::ProgramNotAllowed, detail, next);
    }
    Finding::new(
        Code::CannotStart,
        detail,
        "see `agent-mate doctor` for what this machine offers to sessions",
    )
}

/// Long enough to be understood. Not yet redacted: it is cut again when it is shown.
fn shorten(text: &str) -> String {
    text.chars().take(2_000).collect()
}
