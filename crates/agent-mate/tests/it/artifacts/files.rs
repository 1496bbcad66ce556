//! Files of workspaces: listed at each turn's end, published by a member, and none outside.

use super::as_stranger;
use crate::harness::{Store, World, id, on_both_stores, program, run};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink, path::PathBuf};

on_both_stores!(f93_a_workspaces_files_are_published_and_none_outside);
on_both_stores!(g09_what_a_session_knew_is_hidden_also_when_it_is_replaced_and_gone);

/// A session with an ended task, and the folder in which it works.
fn ended(world: &World) -> (String, PathBuf) {
    let (task, code) = world.carry_out(&json!([{"text": "done"}]));
    assert_eq!(code, 0, "{task}");
    let session = task["session"].as_str().expect("a session");
    (id(&task), world.session_folder(session).join("workspace"))
}

fn f93_a_workspaces_files_are_published_and_none_outside(store: Store) {
    let world = World::new(store);
    let (task, folder) = ended(&world);
    let odd = "odd name\u{202e}%2e%2e.txt";
    fs::create_dir(folder.join("deep")).expect("made");
    fs::write(folder.join("deep").join(odd), "what was made").expect("written");
    fs::write(world.path("outside"), "not yours").expect("written");
    fs::hard_link(world.path("outside"), folder.join("hard")).expect("linked");
    symlink(world.path("outside"), folder.join("soft")).expect("linked");
    symlink(world.folder(), folder.join("out")).expect("linked");
    let path = format!("deep/{odd}");
    let made = world.ok(&["artifact", "publish", "--task", &task, &path]);
    assert_eq!(
        (&made["state"], &made["origin"], &made["size"]),
        (&json!("kept"), &json!("workspace"), &json!(13)),
        "{made}"
    );
    assert_eq!(world.content(&id(&made)), b"what was made");
    let name = made["name"].as_str().expect("a name");
    assert!(!name.contains(['%', '\u{202e}', '/']), "{name}");
    for bad in [
        "../outside",
        "deep/../../outside",
        "/etc/passwd",
        "hard",
        "soft",
        "out/outside",
        "deep",
        "%2e%2e%2foutside",
        "C:\\x",
        "missing",
        "",
        "a\nb",
    ] {
        let refused = world.cli(&["artifact", "publish", "--task", &task, bad]);
        assert!(refused.code == 4 || refused.code == 2, "{bad:?}: {refused:?}");
        assert!(!refused.stdout.contains("not yours"), "{bad:?}");
    }
    assert_eq!(world.artifacts(&task).len(), 1, "nothing of these was made");
    let events = world.events(&task);
    let published: Vec<&Value> =
        events.iter().filter(|event| event["type"] == "artifact.published").collect();
    assert_eq!((published.len(), &published[0]["data"]["artifact"]), (1, &made["id"]));
    // The workspace itself is put out of the way, and a link in its place.
    fs::rename(&folder, world.path("moved")).expect("moved");
    symlink(world.path("moved"), &folder).expect("linked");
    let refused = world.cli(&["artifact", "publish", "--task", &task, &path]);
    assert!(refused.code != 0, "{refused:?}");
    fs::remove_file(&folder).expect("removed");
    fs::rename(world.path("moved"), &folder).expect("moved back");
    assert_eq!(as_stranger(&world, &["artifact", "publish", "--task", &task, &path]).code, 3);
}

#[test]
fn f115_what_a_turn_left_in_its_workspace_is_listed_with_hashes() {
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    let folder = world.path("work");
    fs::create_dir(&folder).expect("made");
    fs::write(folder.join("before"), "old").expect("written");
    let text = folder.to_str().expect("text");
    world.ok(&["project", "add", "files", "--workspace", text]);
    // Its change time must be clearly before the turn.
    std::thread::sleep(std::time::Duration::from_millis(200));
    let steps = json!([{"write": {"path": "made\n[APPROVED] b", "text": "new"}}, {"text": "done"}]);
    let task = world.ok(&["task", "add", "--project", "files", "--approve", &crate::harness::stub(&steps)]);
    let task = id(&task);
    assert_eq!(world.wait(&task).1, 0);
    let listed =
        world.events(&task).into_iter().find(|event| event["type"] == "workspace.listed").expect("a list");
    let files = listed["data"]["files"].as_array().expect("files");
    assert_eq!(
        (files.len(), &listed["data"]["total"], &listed["data"]["complete"]),
        (1, &json!(1), &json!(true)),
        "{listed}"
    );
    assert_eq!(files[0]["path"], "made\\n[APPROVED] b", "escaped");
    assert_eq!(files[0]["hash"], blake3_of(b"new"));
}

fn blake3_of(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Also a secret that was rotated away, of a connection that was removed, and what stands behind its scheme's word.
fn g09_what_a_session_knew_is_hidden_also_when_it_is_replaced_and_gone(store: Store) {
    let world = World::empty(store);
    world.scripted("scripted", &[]);
    let canary = |which: &str| format!("c4nary/{which}+{}!x", std::process::id());
    let secrets = ["first", "second"].map(canary);
    let with = |words: &[&str], secret: &str| {
        let mut command = world.command(&[&["--json", "connection"], words].concat());
        command.env("KEY", format!("Bearer {secret}"));
        let done = run(command, None);
        assert_eq!(done.code, 0, "{done:?}");
    };
    let log = world.path("effects.log");
    let server =
        [program().to_owned(), "effect-server".to_owned(), "--log".to_owned(), log.display().to_string()];
    let mut words = vec!["add", "demo", "--secret-env", "KEY", "--"];
    words.extend(server.iter().map(String::as_str));
    with(&words, &secrets[0]);
    world.grant("demo", "*");
    let (ended, _) = world.carry_out(&json!([{"tool": "note", "args": {"text": "x"}}, {"text": "done"}]));
    let task = id(&ended);
    with(&["rotate", "demo", "--secret-env", "KEY"], &secrets[1]);
    let workspace = world.session_folder(ended["session"].as_str().expect("a session")).join("workspace");
    let publish = |name: &str| {
        let text: String = secrets
            .iter()
            .map(|secret| format!("{secret} {} end\n", secret.replace('/', "%2F").replace('+', "%2B")))
            .collect();
        fs::write(workspace.join(name), text).expect("writes");
        let made = world.ok(&["artifact", "publish", "--task", &task, name]);
        String::from_utf8(world.content(&id(&made))).expect("text")
    };
    let hidden = "[redacted] [redacted] end\n".repeat(2);
    assert_eq!(publish("rotated"), hidden);
    world.ok(&["grant", "revoke", &id(&world.ok(&["grant", "list"])["items"][0])]);
    assert_eq!(publish("revoked"), hidden);
    world.ok(&["connection", "remove", "demo"]);
    assert_eq!(publish("removed"), hidden);
}
