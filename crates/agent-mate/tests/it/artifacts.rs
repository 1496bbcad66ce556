//! What tasks leave behind: kept, counted, handed out safely, and to nobody else.

use crate::harness::{Output, Store, World, id, on_both_stores, run};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
};

mod crashes;
mod files;
mod limits;

/// A picture's first bytes, and some.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAAElFTkSuQmCC";

on_both_stores!(results_that_are_large_or_no_text_are_kept, f93_what_is_handed_out_is_never_run);

impl World {
    /// A task's artifacts, the first recorded first.
    pub(crate) fn artifacts(&self, task: &str) -> Vec<Value> {
        let mut found = crate::harness::items(&self.ok(&["artifact", "list", "--task", task]));
        found.sort_by_key(|one| (one["operation"].to_string(), one["name"].to_string()));
        found
    }

    /// The content of an artifact, by the command line.
    pub(crate) fn content(&self, artifact: &str) -> Vec<u8> {
        let file = self.path(&format!("got-{artifact}"));
        let _ = fs::remove_file(&file);
        self.ok(&["artifact", "get", artifact, "-o", file.to_str().expect("text")]);
        fs::read(file).expect("it was written")
    }

    /// One request over HTTP: the status, the head and the body.
    pub(crate) fn http(&self, path: &str, headers: &str) -> (u16, String, Vec<u8>) {
        let url = &self.serve.as_ref().expect("a coordinator").url;
        let mut stream = TcpStream::connect(url.trim_start_matches("http://")).expect("it listens");
        let token = fs::read_to_string(self.home().join("token")).expect("a token");
        let token = if headers.contains("Authorization") {
            String::new()
        } else {
            format!("Authorization: Bearer {}\r\n", token.trim())
        };
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n{token}{headers}Connection: close\r\n\r\n")
            .expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("answered");
        let end = answer.windows(4).position(|part| part == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
        (status, head, answer[end + 4..].to_vec())
    }

    /// The files that hold sealed contents.
    pub(crate) fn sealed_files(&self) -> Vec<PathBuf> {
        fn all(folder: &std::path::Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.path().is_dir() { all(&entry.path(), found) } else { found.push(entry.path()) }
            }
        }
        let mut found = Vec::new();
        all(&self.home().join("artifacts"), &mut found);
        found
    }
}

fn results_that_are_large_or_no_text_are_kept(store: Store) {
    let world = World::new(store);
    let content = json!([
        {"type": "text", "text": "short words"},
        {"type": "text", "text": "long ".repeat(20_000)},
        {"type": "image", "data": PICTURE, "mimeType": "text/html"},
        {"type": "resource", "resource": {"uri": "file:///tmp/../etc/page.html", "text": "<html><script>alert(1)</script>", "mimeType": "text/plain"}},
        {"type": "resource_link", "uri": "https://example.org/report.pdf", "name": "report", "mimeType": "application/pdf", "size": 12},
        {"type": "audio", "data": "!not base64!"},
    ]);
    let (task, code) =
        world.carry_out(&json!([{"tool": "demo__give", "args": {"content": content}}, {"text": "done"}]));
    assert_eq!(code, 0, "{task}");
    let task = id(&task);
    let operation = id(&world.operations(&task)[0]);
    let shown = world.ok(&["operation", "show", &operation]);
    assert_eq!(shown["artifacts"].as_array().map(Vec::len), Some(5), "{shown}");
    let found = world.artifacts(&task);
    let of = |name: &str| {
        found.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name} in {found:#?}"))
    };
    let text = of("give-1-1.txt");
    assert_eq!(
        (&text["state"], &text["media_type"], &text["size"]),
        (&json!("kept"), &json!("text/plain"), &json!(100_000))
    );
    assert_eq!(world.content(&id(text)), "long ".repeat(20_000).as_bytes());
    let picture = of("give-1-2.html");
    assert_eq!(picture["media_type"], "image/png", "found by looking, not by what was said");
    let page = of("page.html");
    assert_eq!((&page["media_type"], &page["origin"]), (&json!("text/html"), &json!("resource")));
    let link = of("report");
    assert_eq!(
        (&link["state"], &link["source"]),
        (&json!("referenced"), &json!("https://example.org/report.pdf"))
    );
    let noise = found.iter().find(|one| one["state"] == "not_kept").expect("one that could not be decoded");
    assert!(noise["reason"].as_str().is_some_and(|why| why.starts_with("not_base64")), "{noise}");
    for one in &found {
        assert_eq!((&one["operation"], &one["task"]), (&json!(operation), &json!(task)));
        assert_eq!(world.ok(&["artifact", "show", &id(one)]), *one);
    }
    let events = world.events(&task);
    let recorded: Vec<_> = events.iter().filter(|event| event["type"] == "artifact.recorded").collect();
    assert_eq!(recorded.len(), 5, "{recorded:#?}");
    // What the runtime received is what the tool gave.
    let said = events.iter().filter(|event| event["type"] == "agent.message");
    let said: String = said.filter_map(|event| event["data"]["text"].as_str()).collect();
    assert!(said.contains("short words") && said.contains("long long"), "{said:.200}");
    for file in world.sealed_files() {
        let bytes = fs::read(&file).expect("read");
        assert!(
            !bytes.windows(20).any(|part| part == b"long long long long "),
            "in clear in {}",
            file.display()
        );
    }
    let project = world.ok(&["project", "show", "default"]);
    let kept: i64 =
        found.iter().filter(|one| one["state"] == "kept").filter_map(|one| one["size"].as_i64()).sum();
    assert_eq!(project["artifact_bytes"], kept);
    // The same again is the same content.
    let again =
        json!([{"tool": "demo__give", "args": {"content": [content[1], content[2]]}}, {"text": "done"}]);
    let (task, code) = world.carry_out(&again);
    assert_eq!(code, 0, "{task}");
    assert_eq!(world.artifacts(&id(&task)).len(), 2);
    assert_eq!(world.ok(&["project", "show", "default"])["artifact_bytes"], kept, "counted once");
}

fn f93_what_is_handed_out_is_never_run(store: Store) {
    let world = World::new(store);
    let page = "<!doctype html><script>alert(1)</script>";
    let content = json!([
        {"type": "resource", "resource": {"uri": "x:/a\"; filename=\"evil.html", "text": page}},
        {"type": "text", "text": "0123456789".repeat(20_000)},
    ]);
    let (task, code) =
        world.carry_out(&json!([{"tool": "demo__give", "args": {"content": content}}, {"text": "done"}]));
    assert_eq!(code, 0);
    let found = world.artifacts(&id(&task));
    let (page_id, text_id) = {
        let by = |kind: &str| id(found.iter().find(|one| one["media_type"] == kind).expect(kind));
        (by("text/html"), by("text/plain"))
    };
    let (status, head, body) = world.http(&format!("/api/v1/artifacts/{page_id}/content"), "");
    assert_eq!((status, body.as_slice()), (200, page.as_bytes()), "{head}");
    for line in [
        "content-type: text/plain; charset=utf-8",
        "x-content-type-options: nosniff",
        "content-security-policy: sandbox; default-src 'none'",
        "cache-control: private, no-store",
        "content-disposition: attachment; filename=\"",
    ] {
        assert!(head.contains(line), "{line} in {head}");
    }
    let name = head.lines().find(|line| line.starts_with("content-disposition")).expect("a name");
    assert_eq!(name.matches('"').count(), 2, "the name stays in its quotes: {name}");
    let path = format!("/api/v1/artifacts/{text_id}/content");
    let (status, head, body) = world.http(&path, "Range: bytes=65530-65549\r\n");
    assert_eq!((status, body.as_slice()), (206, &b"01234567890123456789"[..]), "{head}");
    assert!(head.contains("content-range: bytes 65530-65549/200000"), "{head}");
    assert_eq!(world.http(&path, "Range: bytes=200000-\r\n").0, 416);
    assert_eq!(world.http(&path, "Range: bytes=-5\r\n").2, b"56789");
    let hash = found.iter().find(|one| one["media_type"] == "text/plain").expect("it")["hash"].clone();
    let tag = format!("If-None-Match: \"{}\"\r\n", hash.as_str().expect("a hash"));
    assert_eq!(world.http(&path, &tag).0, 304);
    assert_eq!(world.http("/api/v1/artifacts/art_00000000000000000000000000000000/content", "").0, 404);
}

#[test]
fn get_writes_no_file_twice_and_no_bytes_to_nobody() {
    let world = World::new(Store::Sqlite);
    let content = json!([{"type": "image", "data": PICTURE}]);
    let (task, _) =
        world.carry_out(&json!([{"tool": "demo__give", "args": {"content": content}}, {"text": "done"}]));
    let artifact = id(&world.artifacts(&id(&task))[0]);
    let file = world.path("there");
    fs::write(&file, "mine").expect("written");
    let into = file.to_str().expect("text").to_owned();
    let refused = world.cli(&["artifact", "get", &artifact, "-o", &into]);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "file_exists"), "{refused:?}");
    assert_eq!(fs::read(&file).expect("read"), b"mine");
    world.ok(&["artifact", "get", &artifact, "-o", &into, "--force"]);
    assert!(fs::read(&file).expect("read").starts_with(b"\x89PNG"));
    let whole = run(world.command(&["artifact", "get", &artifact]), None);
    assert!(whole.code == 0 && whole.stdout.contains("PNG"), "into a pipe it goes as it is: {whole:?}");
    let named = world.ok(&["artifact", "get", &artifact, "--own-name"]);
    assert!(world.user().join(named["file"].as_str().expect("a name")).exists(), "{named}");
    assert_eq!(world.cli(&["artifact", "get", &artifact]).code, 2, "--json needs a file");
}

/// The members of other projects, and limited tokens of this one.
fn as_stranger(world: &World, words: &[&str]) -> Output {
    let mut command = world.command(&[&["--json"], words].concat());
    command.env("AGENT_MATE_TOKEN", stranger(world));
    run(command, None)
}

fn stranger(world: &World) -> String {
    let file = world.path("stranger");
    if let Ok(token) = fs::read_to_string(&file) {
        return token;
    }
    world.ok(&["project", "add", "other"]);
    let made = world.ok(&["token", "add", "--project", "other"]);
    let token = made["token"].as_str().expect("a token").to_owned();
    fs::write(&file, &token).expect("written");
    token
}

#[test]
fn g08_another_projects_artifact_does_not_exist() {
    let world = World::new(Store::Sqlite);
    let content = json!([{"type": "image", "data": PICTURE}]);
    let (task, _) =
        world.carry_out(&json!([{"tool": "demo__give", "args": {"content": content}}, {"text": "done"}]));
    let task = id(&task);
    let artifact = id(&world.artifacts(&task)[0]);
    let absent = "art_0123456789abcdef0123456789abcdef";
    let file = world.path("stolen");
    let into = file.to_str().expect("text");
    for words in [
        &["artifact", "show", "ID"][..],
        &["artifact", "get", "ID", "-o", into],
        &["artifact", "remove", "ID"],
    ] {
        let with = |id: &str| -> Vec<String> {
            words.iter().map(|word| if *word == "ID" { id.to_owned() } else { (*word).to_owned() }).collect()
        };
        let told = |id: &str| {
            let words = with(id);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let output = as_stranger(&world, &words);
            (output.code, output.stdout, output.stderr)
        };
        let (theirs, nobodys) = (told(&artifact), told(absent));
        assert_eq!(theirs, nobodys, "{words:?}");
        assert_eq!(theirs.0, 3);
    }
    assert!(!file.exists());
    for words in [
        &["artifact", "list", "--project", "default"][..],
        &["artifact", "list", "--task", &task],
        &["artifact", "publish", "--task", &task, "x"],
    ] {
        assert_eq!(as_stranger(&world, words).code, 3, "{words:?}");
    }
    let token = format!("Authorization: Bearer {}\r\n", stranger(&world));
    let theirs = world.http(&format!("/api/v1/artifacts/{artifact}/content"), &token);
    let nobodys = world.http(&format!("/api/v1/artifacts/{absent}/content"), &token);
    assert_eq!((theirs.0, theirs.2), (nobodys.0, nobodys.2));
}
