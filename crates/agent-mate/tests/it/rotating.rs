//! The key that seals is changed under running work: everything opens as before, and the older key opens nothing.

use crate::harness::{Store, World, id, items, on_both_stores, program, run, until};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

on_both_stores!(
    g09_another_key_opens_everything_and_the_older_one_nothing,
    g12_killed_at_any_moment_a_rotation_loses_nothing,
);

/// Links the effect server so that it starts with the right secret alone.
fn choosy(world: &World, name: &str, secret: &str) {
    let log = world.path("effects.log");
    let program = program();
    let choosy =
        format!("test \"$API_KEY\" = {secret} && exec {program} effect-server --log {}", log.display());
    // By force: the secret stands in its command's words.
    let words = ["--json", "connection", "add", name, "--secret-env", "API_KEY", "--force", "--"];
    let mut add = world.command(&words);
    add.args(["/bin/sh", "-c", &choosy]).env("API_KEY", secret);
    let added = run(add, None);
    assert_eq!(added.code, 0, "{added:?}");
}

fn states(world: &World) -> Vec<(String, String)> {
    let text = |key: &Value, field: &str| key[field].as_str().unwrap_or_default().to_owned();
    items(&world.ok(&["key", "show"])).iter().map(|key| (text(key, "state"), text(key, "id"))).collect()
}

fn words(states: &[(String, String)]) -> Vec<&str> {
    states.iter().map(|(state, _)| state.as_str()).collect()
}

fn digest_of(world: &World, task: &str) -> String {
    let listed = world.ok(&["operation", "list", "--task", task]);
    let shown = world.ok(&["operation", "show", &id(&items(&listed)[0])]);
    let digest = shown["arguments"]["digest"].as_str().or(shown["digest"].as_str());
    digest.unwrap_or_else(|| panic!("no digest in {shown}")).to_owned()
}

fn g09_another_key_opens_everything_and_the_older_one_nothing(store: Store) {
    let mut world = World::empty(store);
    world.scripted("scripted", &[]);
    choosy(&world, "demo", "first-secret-5521");
    // What it was before is sealed as well.
    let mut replaced = world.command(&["--json", "connection", "rotate", "demo", "--secret-env", "API_KEY"]);
    replaced.env("API_KEY", "first-secret-5521");
    assert_eq!(run(replaced, None).code, 0);
    world.grant("demo", "*");
    let steps =
        json!([{"tool": "echo", "args": {"text": "same"}}, {"tool": "big", "args": {"bytes": 70_000}}]);
    let task = world.submit(&steps);
    assert_eq!(world.wait(&id(&task)).1, 0);
    let session = task["session"].as_str().expect("a session").to_owned();
    let kept = until("an artifact", || {
        items(&world.ok(&["artifact", "list", "--project", "default"])).first().map(id)
    });
    let old_file = world.path("old-key");
    fs::copy(world.home().join("key"), &old_file).expect("copied");

    let done = world.ok(&["key", "rotate"]);
    assert_eq!((&done["state"], &done["resealed"]), (&json!("current"), &json!(3)), "{done}");
    let after = states(&world);
    assert_eq!(words(&after), ["older", "current"]);
    let shown = world.ok(&["key", "show"]);
    assert_eq!(
        shown["items"][0]["sealed"],
        json!({"connections": 0, "authorizations": 0, "home_secret": false})
    );
    assert_eq!(
        shown["items"][1]["sealed"],
        json!({"connections": 2, "authorizations": 0, "home_secret": true})
    );
    // The worker that lives, the coordinator that lives: nothing was restarted, and a call is known again.
    let upstream = world.the_process("effect-server").pid;
    let again = id(&world.submit_in(&session, &steps));
    assert_eq!(world.wait(&again).1, 0);
    assert_eq!(digest_of(&world, &id(&task)), digest_of(&world, &again), "digests of a session never change");
    assert_eq!(world.the_process("effect-server").pid, upstream, "the same secrets restart nobody");
    assert_eq!(world.ok(&["connection", "check", "demo"])["state"], "well");
    let got = world.path("got");
    world.ok(&["artifact", "get", &kept, "-o", got.to_str().expect("text")]);
    assert!(fs::metadata(&got).expect("there").len() >= 70_000);

    assert_eq!(world.ok(&["key", "retire"])["retired"], json!([after[0].1]));
    assert_eq!(words(&states(&world)), ["current"]);
    let file = world.home().join("key");
    assert_eq!(fs::metadata(&file).expect("there").len(), 32);
    assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600);
    // The coordinator that lives still has the older key in memory: what it seals now is under the new one.
    choosy(&world, "late", "second-secret-7720");
    assert_eq!(world.ok(&["key", "show"])["items"][0]["sealed"]["connections"], 3);
    world.kill_serve();
    world.start_serve();
    assert_eq!(world.ok(&["connection", "check", "demo"])["state"], "well");
    assert_eq!(world.ok(&["connection", "check", "late"])["state"], "well");
    let log = fs::read_to_string(world.path("serve.log")).unwrap_or_default();
    assert!(!log.contains("former secrets cannot be opened"), "{log}");

    // The older file opens nothing: it is refused at the door, with the way out.
    world.kill_serve();
    let new_file = world.path("new-key");
    fs::rename(&file, &new_file).expect("moved");
    fs::copy(&old_file, &file).expect("copied");
    let refused = world.cli(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "key_missing"), "{refused:?}");
    assert!(format!("{refused:?}").contains(&after[1].1), "it names the key: {refused:?}");
    fs::rename(&new_file, &file).expect("moved");
    world.start_serve();
    assert_eq!(world.ok(&["connection", "check", "demo"])["state"], "well");
}

/// Kills the command after so long.
fn cut_off(mut command: Command, after: Duration) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    thread::sleep(after);
    let _ = child.kill();
    let _ = child.wait();
}

fn g12_killed_at_any_moment_a_rotation_loses_nothing(store: Store) {
    let mut world = World::empty(store);
    world.scripted("scripted", &[]);
    choosy(&world, "demo", "steady-secret-90");
    world.grant("demo", "*");
    let ending = AtomicBool::new(false);
    let world_ref = &world;
    let ending_ref = &ending;
    thread::scope(|scope| {
        let load = scope.spawn(move || {
            let mut done = 0_u32;
            while !ending_ref.load(Ordering::SeqCst) {
                let (task, code) =
                    world_ref.carry_out(&json!([{"tool": "note", "args": {"text": format!("note {done}")}}]));
                assert_eq!(code, 0, "{task}");
                let name = format!("made-{done}");
                choosy(world_ref, &name, &format!("secret-{done}-abcd"));
                done += 1;
            }
            done
        });
        // At moments of every kind: the first ones cut the program's start, the last ones come after its end.
        for number in 0..56_u64 {
            let verb = if number % 4 == 3 { "retire" } else { "rotate" };
            cut_off(
                world_ref.command(&["--json", "key", verb]),
                Duration::from_millis(8 + (number * 37) % 190),
            );
        }
        ending_ref.store(true, Ordering::SeqCst);
        let done = load.join().expect("the load went on");
        assert!(done > 0, "there was load");
        assert_eq!(world_ref.count("begin", "note"), done as usize);
    });
    world.ok(&["key", "retire"]);
    world.ok(&["key", "rotate"]);
    world.ok(&["key", "retire"]);
    assert_eq!(words(&states(&world)), ["current"]);
    world.kill_serve();
    world.start_serve();
    for connection in items(&world.ok(&["connection", "list"])) {
        let name = connection["name"].as_str().expect("a name");
        assert_eq!(world.ok(&["connection", "check", name])["state"], "well", "{name}");
    }
    let folder = fs::read_dir(world.home()).expect("the home");
    let drafts = folder.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(".key-"));
    assert!(drafts.count() <= 56, "drafts of killed commands are few");
}

#[test]
fn a_key_of_the_systems_credential_store_is_rotated_by_hand() {
    let mut world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    choosy(&world, "demo", "first-secret-5521");
    world.kill_serve();
    let folder = world.path("credentials");
    let credential = folder.join("agent-mate-key");
    fs::create_dir(&folder).expect("made");
    fs::rename(world.home().join("key"), &credential).expect("moved");
    let close = |mode| fs::set_permissions(&credential, PermissionsExt::from_mode(mode)).expect("set");
    close(0o440);
    let folder_text = folder.to_str().expect("text").to_owned();
    let env = [("CREDENTIALS_DIRECTORY", folder_text.as_str())];
    world.start_serve_with(&env);
    assert_eq!(world.ok(&["connection", "check", "demo"])["state"], "well");
    let with = |words: &[&str]| {
        let mut command = world.command(&["--json"]);
        command.args(words).env("CREDENTIALS_DIRECTORY", &folder_text);
        run(command, None)
    };
    let doctor = with(&["doctor"]).json();
    let check = items_of(&doctor, "key");
    assert!(check.contains("a credential of the service manager") && check.contains("mode 440"), "{check}");
    assert_eq!(with(&["key", "show"]).json()["source"], "credential");
    let refused = with(&["key", "rotate"]);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "key_read_only"), "{refused:?}");
    assert!(refused.stderr.contains("--to FILE") || refused.stdout.contains("--to FILE"), "{refused:?}");
    let out = world.path("ring");
    let out_text = out.to_str().expect("text");
    let prepared = with(&["key", "rotate", "--to", out_text]).json();
    assert_eq!(prepared["state"], "prepared");
    assert_eq!(fs::metadata(&out).expect("there").permissions().mode() & 0o777, 0o600);
    assert_eq!(with(&["key", "rotate", "--to", out_text]).code, 4, "nothing is overwritten");
    // Put in place by whoever keeps credentials; the coordinator that lives needs no restart to read it.
    install(&out, &credential);
    let done = with(&["key", "rotate"]).json();
    assert_eq!((&done["state"], &done["id"]), (&json!("current"), &prepared["id"]), "{done}");
    assert_eq!(world.ok(&["connection", "check", "demo"])["state"], "well");
    let retired = with(&["key", "retire"]).json();
    assert!(retired["still_in_file"].as_str().expect("told").contains("--to FILE"), "{retired}");
    let less = world.path("less");
    with(&["key", "retire", "--to", less.to_str().expect("text")]).json();
    assert_eq!(fs::metadata(&less).expect("there").len(), 32);
    install(&less, &credential);
    assert_eq!(world.ok(&["connection", "check", "demo"])["state"], "well");
    close(0o444);
    let open = with(&["key", "show"]);
    assert!(open.code != 0 && format!("{open:?}").contains("chmod 600"), "{open:?}");
}

fn install(from: &Path, to: &Path) {
    fs::set_permissions(from, PermissionsExt::from_mode(0o440)).expect("set");
    fs::rename(from, to).expect("moved");
}

fn items_of(doctor: &Value, name: &str) -> String {
    let checks = doctor["checks"].as_array().expect("checks");
    let found = checks.iter().find(|check| check["name"] == name).expect("the check");
    found["detail"].as_str().expect("text").to_owned()
}

#[test]
fn a_key_that_is_prepared_on_every_host_is_taken_by_the_next_rotation() {
    let world = World::empty(Store::Sqlite);
    let prepared = world.ok(&["key", "rotate", "--prepare"]);
    assert_eq!(prepared["state"], "prepared");
    assert_eq!(world.ok(&["key", "rotate", "--prepare"])["id"], prepared["id"], "one is enough");
    assert_eq!(words(&states(&world)), ["current", "prepared"]);
    world.ok(&["key", "retire"]);
    assert_eq!(words(&states(&world)), ["current", "prepared"], "what is prepared stays");
    assert_eq!(world.ok(&["key", "rotate"])["id"], prepared["id"]);
    // Another file than the home's own.
    let elsewhere = world.path("elsewhere");
    fs::copy(world.home().join("key"), &elsewhere).expect("copied");
    let with = |words: &[&str]| {
        let mut command = world.command(&["--json"]);
        command.args(words).env("AGENT_MATE_KEY_FILE", &elsewhere);
        run(command, None)
    };
    let shown = with(&["key", "show"]).json();
    assert_eq!((&shown["source"], &shown["mode"]), (&json!("variable"), &json!("0600")));
    let rotated = with(&["key", "rotate"]).json();
    assert_eq!(rotated["state"], "current");
    // The host that has the file of before says what it misses.
    let behind = world.cli(&["key", "show"]);
    assert_eq!((behind.code, behind.error_code().as_str()), (4, "key_missing"));
    assert!(format!("{behind:?}").contains(rotated["id"].as_str().expect("an id")));
}
