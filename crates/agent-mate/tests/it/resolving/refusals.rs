//! What is refused, and what it is told.

use super::{killed_in_a_call, resolve};
use crate::harness::{Store, World, id, run};
use serde_json::json;

#[test]
fn g05_what_has_proof_cannot_be_resolved() {
    let world = World::new(Store::Sqlite);
    let (task, code) = world.carry_out(&json!([{"tool": "demo__note", "args": {"text": "x"}}]));
    assert_eq!(code, 0);
    let operation = id(&world.operations(&id(&task))[0]);
    let refused = world.cli(&resolve(&operation, "failed", "I do not believe it"));
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "not_unknown"));
    assert!(refused.stdout.contains("succeeded, by the upstream's own answer"), "{refused:?}");
    let running = world.submit(&json!([super::slow("x", 30)]));
    world.until_begun("slow", 1);
    let operation = id(&world.operations(&id(&running))[0]);
    let refused = world.cli(&resolve(&operation, "failed", "I cannot wait"));
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "not_unknown"));
    let refused = world.cli(&["task", "resolve", &id(&running), "--reason", "I cannot wait"]);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "not_unknown"));
    assert_eq!(world.operation_states(&id(&running)), ["slow:in_flight"]);
}

#[test]
fn g08_and_bad_input_of_a_resolution_changes_nothing() {
    let world = World::new(Store::Sqlite);
    let (task, operation, _) = killed_in_a_call(&world);
    let code = |words: &[&str]| world.cli(words).code;
    assert_eq!(code(&resolve(&operation, "failed", " ")), 2, "no reason");
    assert_eq!(code(&resolve(&operation, "denied", "x")), 2, "no verdict");
    assert_eq!(code(&["operation", "resolve", &operation, "--as", "failed"]), 2);
    let mut words = resolve(&operation, "failed", "x");
    words.extend(["--proof", "/nonexistent"]);
    assert_eq!(code(&words), 2);
    let large = world.path("large.txt");
    std::fs::write(&large, "x".repeat(70_000)).expect("written");
    words.pop();
    words.push(large.to_str().expect("text"));
    assert_eq!(code(&words), 2);
    // Nobody's, another one's, nonsense: not told apart.
    let unknown = format!("{}9", operation);
    for odd in [unknown.as_str(), "op_x", "tsk_1"] {
        let refused = world.cli(&resolve(odd, "failed", "x"));
        assert_eq!((refused.code, refused.error_code().as_str()), (3, "not_found"), "{odd}");
    }
    let project = world.ok(&["project", "add", "other"]);
    let stranger = world.ok(&["token", "add", "--project", &id(&project)]);
    let viewer = world.ok(&["token", "add", "--project", "default", "--role", "viewer"]);
    for (token, error) in [(&stranger, "not_found"), (&viewer, "not_allowed")] {
        for words in [resolve(&operation, "failed", "x"), vec!["task", "resolve", &task, "--reason", "x"]] {
            let mut all = vec!["--json"];
            all.extend(words);
            let mut command = world.command(&all);
            command.env("AGENT_MATE_TOKEN", token["token"].as_str().expect("a secret"));
            let refused = run(command, None);
            assert_eq!((refused.code, refused.error_code().as_str()), (3, error));
        }
    }
    assert_eq!(world.operation_states(&task), ["slow:unknown"]);
    assert_eq!(super::count(&world, &task, "ledger", "operation.resolved"), 0);
}

#[test]
fn g09_a_resolution_keeps_no_secret() {
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    let log = world.path("effects.log");
    let mut add = world.command(&[
        "connection",
        "add",
        "demo",
        "--secret-env",
        "DEMO_KEY",
        "--",
        crate::harness::program(),
        "effect-server",
        "--log",
        log.to_str().expect("text"),
    ]);
    add.env("DEMO_KEY", "correct-horse-battery");
    assert_eq!(run(add, None).code, 0);
    world.grant("demo", "*");
    let (task, operation, _) = killed_in_a_call(&world);
    let proof = world.path("proof.txt");
    std::fs::write(&proof, "GET /x key=correct-horse-battery 200").expect("written");
    let mut words = resolve(&operation, "succeeded", "seen with correct-horse-battery");
    words.extend(["--proof", proof.to_str().expect("text")]);
    let seen = world.ok(&words);
    assert_eq!(seen["proof"], "GET /x key=[redacted] 200");
    assert_eq!(seen["detail"], "seen with [redacted]");
    let all = format!("{:?} {}", world.events(&task), world.ok(&["task", "report", &task]));
    assert!(!all.contains("correct-horse"), "{all}");
    for file in ["ledger.db", "ledger.db-wal"] {
        let bytes = std::fs::read(world.home().join(file)).unwrap_or_default();
        assert!(!bytes.windows(13).any(|part| part == b"correct-horse"), "{file}");
    }
}
