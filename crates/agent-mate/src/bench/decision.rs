//! A session's decision about a call: grants, pins and policies, with nothing else around it.

use super::{
    below,
    figures::{Times, say},
    hosted::Hosted,
    house::{CONNECTION, House},
    rates::NOWHERE,
};
use anyhow::Result;
use mate_guard::Definition;
use mate_model::{
    AccountId, ConnectionId, GrantId, ProjectId,
    event::{Draft, EventType},
    records::{Grant, Terms},
    words::ApprovalMode,
};
use serde_json::json;
use std::{path::Path, sync::Arc};

/// The grants of the session's project.
const OWN: u64 = 50;

/// Decisions that are timed together: the clock counts whole microseconds.
const AT_ONCE: i64 = 20;

const ROUNDS: u64 = 1_000;

/// A session with [`OWN`] grants in a ledger of `count`.
pub(super) async fn run(folder: &Path, count: u64) -> Result<()> {
    let house = House::build(below(folder, "home"), "", NOWHERE).await?;
    let engine = Arc::clone(house.engine());
    let connection = engine.connection(&house.who, CONNECTION).await?.id;
    let task = house.submit("decisions", None).await?;
    let give = async |project, number: u64| {
        let grant =
            grant(project, connection, house.who.account, GrantId::new(engine.entropy.uuid()), number);
        let at = grant.created_at;
        let draft = Draft { kind: EventType::GrantAdded, task: None, turn: None, at, data: json!({}) };
        engine.ledger.add_grant(&grant, draft).await
    };
    for number in 1..OWN {
        give(task.project, number).await?;
    }
    let mut left = count.saturating_sub(OWN);
    let mut projects = 0;
    while left > 0 {
        projects += 1;
        let name = format!("other-{projects}");
        let project = engine.add_project(&house.who, engine.entropy.uuid(), &name, None, false).await?.id;
        for number in 0..left.min(OWN) {
            give(project, number).await?;
        }
        left = left.saturating_sub(OWN);
    }
    let mut hosted = Hosted::take(&house.home, &task).await?;
    hosted.begin(task.clone()).await?;
    let definition = Arc::new(Definition::of(r#"{"name": "tool"}"#));
    let tools: Vec<String> = (1..OWN).map(|number| format!("tool_{number}_get")).collect();
    let offered = tools.iter().map(|tool| (tool.clone(), Arc::clone(&definition))).collect();
    hosted.desk.saw(connection, offered).await?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        for tool in &tools {
            let began = hosted.clock();
            for _ in 0..AT_ONCE {
                anyhow::ensure!(hosted.desk.lists(CONNECTION, tool, false, &definition), "{tool} is refused");
            }
            // Figures are in microseconds: a thousandth of one decision's time is kept.
            times.push((hosted.clock() - began) * 1_000 / AT_ONCE);
        }
    }
    give(task.project, 0).await?;
    let began = hosted.clock();
    hosted.desk.refresh(task.id).await?;
    let built = hosted.clock() - began;
    let times = Times::of(times);
    say(&json!({
        "part": "decision", "grants": OWN, "in_ledger": count, "decisions": ROUNDS * (OWN - 1) * AT_ONCE.unsigned_abs(),
        "p50_us": times.quantile(0.5), "p99_us": times.quantile(0.99), "read_and_build_us": built,
    }))
}

fn grant(
    project: ProjectId,
    connection: ConnectionId,
    created_by: AccountId,
    id: GrantId,
    number: u64,
) -> Grant {
    Grant {
        id,
        project,
        connection,
        tools: vec![format!("tool_{number}_*")],
        effect: None,
        approve: ApprovalMode::Never,
        expires_at: None,
        max_calls: None,
        used_calls: 0,
        created_by,
        created_at: mate_model::Micros(1),
        revoked_at: None,
        terms: Terms::default(),
    }
}
