//! Whatever is killed: an artifact that is named has its content, and a promise that was not kept says so.

use super::PICTURE;
use crate::harness::{Store, World, id, on_both_stores, until};
use serde_json::json;

on_both_stores!(g12_a_named_artifact_has_its_content_whatever_is_killed);

#[cfg(feature = "faults")]
fn g12_a_named_artifact_has_its_content_whatever_is_killed(store: Store) {
    use std::fs;
    let world = World::new(store);
    let faults = world.path("faults");
    fs::create_dir_all(&faults).expect("made");
    for (number, point) in [
        "settle.committed",
        "artifact.content_durable",
        "artifact.content_named",
        "artifact.settled",
        "artifact.indexed",
    ]
    .iter()
    .enumerate()
    {
        fs::write(faults.join(point), "session-worker 1").expect("armed");
        let content = json!([{"type": "image", "data": PICTURE}, {"type": "text", "text": format!("{number}").repeat(70_000)}]);
        let task =
            world.submit(&json!([{"tool": "demo__give", "args": {"content": content}}, {"text": "done"}]));
        let session = task["session"].as_str().expect("a session").to_owned();
        until(point, || {
            let hit = format!("{point}.hit.");
            fs::read_dir(&faults)
                .ok()?
                .flatten()
                .any(|entry| entry.file_name().to_string_lossy().starts_with(&hit))
                .then_some(())
        });
        world.worker(&session).kill();
        world.wait(&id(&task));
        let found = until("what became of both", || {
            let found = world.artifacts(&id(&task));
            (found.len() == 2).then_some(found)
        });
        for one in &found {
            match one["state"].as_str() {
                Some("kept") => {
                    assert_eq!(world.content(&id(one)).len() as i64, one["size"].as_i64().expect("a size"))
                }
                Some("not_kept") => {
                    let why = one["reason"].as_str().unwrap_or_default();
                    assert!(why.starts_with("interrupted"), "{point}: {one}");
                }
                _ => panic!("{point}: {one}"),
            }
        }
        let kept = found.iter().filter(|one| one["state"] == "kept").count();
        let at_least = usize::from(matches!(*point, "artifact.settled" | "artifact.indexed"));
        assert!(kept >= at_least, "{point}: {found:#?}");
        assert!(*point != "settle.committed" || kept == 0, "{found:#?}");
    }
}

#[cfg(not(feature = "faults"))]
fn g12_a_named_artifact_has_its_content_whatever_is_killed(_: Store) {}
