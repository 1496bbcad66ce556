//! Connections that are authorised with OAuth, against a real authorisation server and a server that takes its tokens alone.

use crate::{
    canary::{all_files, dump, forms},
    harness::{Store, World, id, json_lines, on_both_stores},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

on_both_stores!(
    real_oauth_server_is_asked_and_its_tokens_are_refreshed_once,
    real_oauth_g09_tokens_are_in_no_output,
);

fn kit(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kit").join(file)
}

/// Both servers.
struct Servers {
    process: Child,
    url: String,
    log: PathBuf,
}

impl Servers {
    fn start(world: &World, seconds: u32) -> Self {
        let done = Command::new("bash")
            .arg(kit("runtimes/install.sh"))
            .args(["oidc", "node22"])
            .output()
            .expect("bash");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/agents");
        let agents = std::env::var_os("ACP_AGENTS").map_or_else(usual, PathBuf::from);
        let log = world.path("oauth.log");
        let mut command = Command::new("node");
        command.arg(kit("upstreams/oauth.mjs")).arg(&log).arg(seconds.to_string()).env("KIT", agents);
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("node");
        let mut lines = BufReader::new(process.stdout.take().expect("piped")).lines();
        let ready = lines.find_map(|line| serde_json::from_str::<Value>(&line.expect("read")).ok());
        thread::spawn(move || lines.for_each(drop));
        let url = ready.expect("ready")["listening"].as_str().expect("an address").to_owned();
        Self { process, url, log }
    }

    fn count(&self, wanted: impl Fn(&Value) -> bool) -> usize {
        json_lines(&self.log).iter().filter(|line| wanted(line)).count()
    }

    fn refreshes(&self) -> usize {
        self.count(|line| line["grant"] == "refresh_token" && line["status"] == 200)
    }

    fn calls(&self) -> usize {
        self.count(|line| line["kind"] == "call")
    }

    fn control(&self, wish: &Value) {
        let authority = self.url.trim_start_matches("http://").split('/').next().expect("a host");
        let mut stream = TcpStream::connect(authority).expect("connected");
        let body = wish.to_string();
        write!(stream, "POST /control HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            .expect("sent");
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).expect("answered");
        assert!(answer.contains("200"), "{answer}");
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What `connection authorize` came to, with a person who says yes, or no.
fn authorize(world: &World, words: &[&str], answer: &[&str]) -> (i32, Value) {
    let mut command = world.command(&["--json", "connection", "authorize", "notes"]);
    let mut asking =
        command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let mut said = BufReader::new(asking.stderr.take().expect("piped")).lines();
    let url = said.find_map(|line| line.ok().filter(|line| line.starts_with("http")));
    if let Some(url) = url {
        let person =
            Command::new("python3").arg("-B").arg(kit("upstreams/consent.py")).arg(url).args(answer).output();
        let person = person.expect("python3");
        assert!(person.status.success(), "{}", String::from_utf8_lossy(&person.stderr));
    }
    let done = asking.wait_with_output().expect("ended");
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    let document = serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error} in {told}"));
    (done.status.code().unwrap_or(-1), document)
}

fn linked(world: &World, servers: &Servers) {
    world.scripted("scripted", &[]);
    world.ok(&["connection", "add", "notes", "--url", &servers.url]);
    let found = world.ok_code(&["connection", "check", "notes"], 4);
    assert_eq!(found["code"], "needs_authorization");
    world.grant("notes", "*");
}

fn holds_any(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        let bytes = if path.is_file() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
        (path.is_dir() && holds_any(&path, text))
            || bytes.windows(text.len()).any(|part| part == text.as_bytes())
    })
}

fn real_oauth_server_is_asked_and_its_tokens_are_refreshed_once(store: Store) {
    let world = World::empty(store);
    // Shorter than the time before its end at which a token is replaced: each request wants a new one.
    let servers = Servers::start(&world, 33);
    linked(&world, &servers);
    let (code, done) = authorize(&world, &[], &[]);
    assert_eq!((code, &done["state"]), (0, &json!("authorized")), "{done}");
    assert_eq!(done["refreshes"], true);
    assert_eq!(world.ok(&["connection", "check", "notes"])["state"], "well");
    let (task, code) = world.carry_out(&json!([{"tool": "note", "args": {"text": "x"}}]));
    assert_eq!((code, servers.calls()), (0, 1), "{task}");
    assert_eq!(servers.refreshes(), 0, "the first token is still good");
    // Two sessions at once want a new token: it is got once, and both go on.
    thread::sleep(std::time::Duration::from_secs(4));
    let tasks: Vec<_> =
        (0..2).map(|_| world.submit(&json!([{"tool": "note", "args": {"text": "y"}}]))).collect();
    for task in &tasks {
        assert_eq!(world.wait(&id(task)).1, 0);
    }
    assert_eq!((servers.calls(), servers.refreshes()), (3, 1));
    assert!(!holds_any(&world.home(), "Bearer "), "no token is written down");
}

/// However soon the server's tokens end, a call is made with what came, and the server is not asked again and again.
#[test]
fn real_oauth_tokens_that_end_at_once_are_used() {
    let world = World::empty(Store::Sqlite);
    let servers = Servers::start(&world, 8);
    linked(&world, &servers);
    assert_eq!(authorize(&world, &[], &[]).0, 0);
    let steps: Vec<Value> =
        (0..6).map(|n| json!({"tool": "note", "args": {"text": n.to_string()}})).collect();
    thread::sleep(std::time::Duration::from_secs(5));
    let (task, code) = world.carry_out(&json!(steps));
    assert_eq!((code, servers.calls()), (0, 6), "{task}");
    assert!((1..=3).contains(&servers.refreshes()), "{} refreshes", servers.refreshes());
}

#[test]
fn real_oauth_refusals_leave_nothing_behind() {
    let world = World::empty(Store::Sqlite);
    let servers = Servers::start(&world, 3600);
    linked(&world, &servers);
    let (code, no) = authorize(&world, &[], &["no"]);
    assert_eq!((code, &no["error"]["code"]), (4, &json!("access_denied")), "{no}");
    assert_eq!(world.ok_code(&["connection", "check", "notes"], 4)["code"], "needs_authorization");
    world.upstream("demo", &[]);
    let program = world.cli(&["connection", "authorize", "demo"]);
    assert_eq!((program.code, program.error_code().as_str()), (4, "no_address"));
    let wrong =
        world.cli(&["connection", "authorize", "notes", "--client-id", "https://somewhere.invalid/client"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    let secret = world.path("secret");
    fs::write(&secret, "known-secret-of-the-client\n").expect("written");
    let secret = format!("@{}", secret.display());
    let (code, done) = authorize(&world, &["--client-id", "known", "--client-secret", &secret], &[]);
    assert_eq!((code, &done["state"]), (0, &json!("authorized")), "{done}");
    assert_eq!(world.ok(&["connection", "check", "notes"])["state"], "well");
}

/// A call that is refused for its token is as uncertain as any refused call, and is never sent again by itself.
#[test]
fn g04_a_call_whose_token_is_refused_is_not_repeated() {
    let world = World::empty(Store::Sqlite);
    let servers = Servers::start(&world, 3600);
    linked(&world, &servers);
    assert_eq!(authorize(&world, &[], &[]).0, 0);
    let (first, code) = world.carry_out(&json!([{"tool": "note", "args": {"text": "x"}}]));
    assert_eq!(code, 0, "{first}");
    servers.control(&json!({"deny": 1}));
    let session = first["session"].as_str().expect("a session");
    let task = world.submit_in(
        session,
        &json!([
            {"tool": "note", "args": {"text": "refused"}},
            {"tool": "note", "args": {"text": "next"}},
        ]),
    );
    assert_eq!(world.wait(&id(&task)).1, 6);
    assert_eq!(world.operation_states(&id(&task)), ["note:unknown", "note:succeeded"]);
    assert_eq!(servers.count(|line| line["kind"] == "call" && line["text"] == "refused"), 0);
    assert_eq!((servers.calls(), servers.refreshes()), (2, 1), "the next call got a new token");
}

/// Whatever the authorisation server has issued: in no file, row, answer, log or argument, also where the tool server tells its
/// callers' tokens in results and errors.
fn real_oauth_g09_tokens_are_in_no_output(store: Store) {
    let mut world = World::empty(store);
    let servers = Servers::start(&world, 33);
    linked(&world, &servers);
    assert_eq!(authorize(&world, &[], &[]).0, 0);
    let mut outputs: Vec<(String, Vec<u8>)> = Vec::new();
    for pause in [0, 4] {
        thread::sleep(std::time::Duration::from_secs(pause));
        let steps: Vec<Value> =
            ["tell", "fail", "x"].map(|text| json!({"tool": "note", "args": {"text": text}})).to_vec();
        let (task, _) = world.carry_out(&json!(steps));
        let task = id(&task);
        for words in [
            &["task", "events", &task, "--limit", "500"][..],
            &["task", "report", &task],
            &["operation", "list", "--task", &task],
            &["connection", "show", "notes"],
        ] {
            outputs.push((format!("answer: {words:?}"), world.ok(words).to_string().into_bytes()));
        }
    }
    let told = String::from_utf8_lossy(&outputs[0].1).into_owned();
    assert!(told.contains("noted by [redacted]") && told.contains("no room for [redacted]"), "{told:.3000}");
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        outputs.push((format!("arguments of {:?}", entry.file_name()), arguments));
    }
    outputs.extend(world.database_url().map(|url| ("the database".to_owned(), dump(url))));
    world.kill_serve();
    let mut files = vec![world.path("serve.log")];
    all_files(&world.home(), &mut files);
    outputs.extend(
        files.iter().map(|path| (format!("file {}", path.display()), fs::read(path).unwrap_or_default())),
    );
    let issued: Vec<String> = json_lines(&servers.log)
        .iter()
        .flat_map(|line| line["issued"].as_array().cloned().unwrap_or_default())
        .map(|token| token.as_str().expect("text").to_owned())
        .collect();
    assert!(issued.len() >= 4, "tokens were issued and refreshed: {}", issued.len());
    for token in issued {
        for form in forms(&token) {
            let found = outputs
                .iter()
                .find(|(_, bytes)| bytes.windows(form.len()).any(|part| part == form.as_bytes()));
            assert_eq!(found.map(|(name, _)| name), None, "{form} stands there");
        }
    }
}
