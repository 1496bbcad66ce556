//! What a connection offers, as far as it can be asked: to tell a person of patterns that match nothing, and of names
//! that two connections give to different tools.

use super::{
    client::Client,
    exit::Failure,
    nearest::nearest,
    show::{Screen, at, text_at},
};
use mate_guard::{matches, text};
use serde_json::Value;

/// A connection's tools; none where they cannot be had: that is no reason to refuse anything.
pub(super) async fn tools(client: &Client, connection: &str) -> Option<Vec<Value>> {
    let page =
        client.get(&["connections", connection, "tools"], &[("limit", "500".to_owned())]).await.ok()?;
    page.get("items").and_then(Value::as_array).cloned()
}

/// Warns of patterns that match no tool of the connection, with the names that may have been meant.
pub(super) async fn patterns(
    client: &Client,
    screen: &Screen,
    connection: &str,
    patterns: &[String],
) -> Result<(), Failure> {
    if screen.is_json() {
        return Ok(());
    }
    let Some(tools) = tools(client, connection).await else { return Ok(()) };
    let names: Vec<_> = tools.iter().map(|tool| text_at(tool, "name")).collect();
    for pattern in patterns.iter().filter(|pattern| !names.iter().any(|name| matches(pattern, name))) {
        warn(
            screen,
            &format!("{pattern} matches no tool that {connection} offers now"),
            &nearest(pattern, &names),
        )?;
    }
    Ok(())
}

/// Warns of recorded fields whose tool or argument is not there.
pub(super) async fn fields(
    client: &Client,
    screen: &Screen,
    connection: &str,
    fields: &[String],
) -> Result<(), Failure> {
    if screen.is_json() || fields.is_empty() {
        return Ok(());
    }
    let Some(tools) = tools(client, connection).await else { return Ok(()) };
    let names: Vec<_> = tools.iter().map(|tool| text_at(tool, "name")).collect();
    for entry in fields {
        let Some((tool, field)) = entry.split_once('.') else { continue };
        let mut known: Vec<_> =
            tools.iter().filter(|known| tool == "*" || text_at(known, "name") == tool).collect();
        if known.is_empty() {
            warn(screen, &format!("{connection} offers no tool {tool} now"), &nearest(tool, &names))?;
            continue;
        }
        let first = field.split('.').next().unwrap_or(field);
        let arguments: Vec<_> = known
            .drain(..)
            .flat_map(|tool| at(tool, "arguments").as_array().into_iter().flatten().filter_map(Value::as_str))
            .collect();
        if !arguments.contains(&first) {
            warn(
                screen,
                &format!("{tool} has no argument {first} that it tells of"),
                &nearest(first, &arguments),
            )?;
        }
    }
    Ok(())
}

/// The names that a connection without a prefix shares with others of its kind: of them a session sees one at most.
pub(super) async fn clashes(client: &Client, bare: &[String]) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for connection in bare {
        for tool in tools(client, connection).await.unwrap_or_default() {
            let name = text_at(&tool, "name").to_owned();
            match found.iter_mut().find(|(known, _)| *known == name) {
                Some((_, of)) => of.push(connection.clone()),
                None => found.push((name, vec![connection.clone()])),
            }
        }
    }
    found.retain(|(_, of)| of.len() > 1);
    found
}

fn warn(screen: &Screen, what: &str, meant: &[&str]) -> Result<(), Failure> {
    let meant =
        if meant.is_empty() { String::new() } else { format!("; did you mean {}?", meant.join(", ")) };
    screen.line(&text::line(&format!("  mind: {what}{meant}"), 500))
}
