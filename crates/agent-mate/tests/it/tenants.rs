//! Two accounts, each with one of everything: neither finds anything of the other.
//!
//! Each route is asked for the other's id and for one that was never given out; answers must be the same to the letter.
//! A new route is asked as well; if its address has a new kind of part, [`Tenant::part`] says what to add.

use crate::harness::{Reply, Request, Store, World, id, on_both_stores, stub};
use mate_engine::{Needs, Verb};
use mate_server::{Route, table};
use serde_json::{Value, json};

/// An account with its project, and one of everything in it.
struct Tenant {
    token: String,
    account: String,
    name: &'static str,
    project: String,
    task: String,
    session: String,
    operation: String,
    grant: String,
    /// Of a call in a task that still runs.
    approval: String,
    artifact: String,
    /// The token's id.
    token_id: String,
    /// The cursor of an event.
    event: String,
}

impl Tenant {
    /// Carries a task out in the project, and notes what there is then.
    fn with(world: &World, name: &'static str, account: &str, token: &Value) -> Self {
        let secret = token["token"].as_str().expect("a secret").to_owned();
        let ask = |method: &str, path: &str, body: &Value, status| {
            world.asked(&secret, method, &format!("/api/v1{path}"), &body.to_string(), status)
        };
        let steps = json!([{"tool": "demo__note", "args": {"text": name}}, {"text": "done"}]);
        let wish = json!({ "instructions": stub(&steps), "approve": true, "runtime": "scripted" });
        let task = id(&ask("POST", &format!("/projects/{name}/tasks"), &wish, 201));
        world.wait_as(&secret, &task);
        let shown = ask("GET", &format!("/tasks/{task}"), &json!(null), 200);
        let operations = ask("GET", &format!("/tasks/{task}/operations"), &json!(null), 200);
        let events = ask("GET", &format!("/tasks/{task}/events"), &json!(null), 200);
        let grants = ask("GET", &format!("/grants?project={name}"), &json!(null), 200);
        let wish = json!({
            "instructions": stub(&json!([{"tool": "demo__echo", "args": {"text": name}}])), "approve": true,
            "runtime": "scripted",
        });
        ask("POST", &format!("/projects/{name}/tasks"), &wish, 201);
        let approval = crate::harness::until("an approval", || {
            let page = ask("GET", &format!("/approvals?project={name}"), &json!(null), 200);
            page["items"][0]["id"].as_str().map(str::to_owned)
        });
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let file = world.session_folder(shown["session"].as_str().expect("text")).join("workspace/file.txt");
        std::fs::write(file, name).expect("written");
        let artifact = json!({ "path": "file.txt" });
        let artifact = id(&ask("POST", &format!("/tasks/{task}/artifacts"), &artifact, 201));
        Self {
            approval,
            artifact,
            account: account.to_owned(),
            name,
            project: text(&shown["project"]),
            session: text(&shown["session"]),
            operation: text(&operations["items"][0]["id"]),
            grant: text(&grants["items"][0]["id"]),
            token_id: id(token),
            event: text(&events["items"][0]["id"]),
            task,
            token: secret,
        }
    }

    /// What stands in an address for something of this tenant's, and for nothing.
    fn part(&self, name: &str) -> (String, String) {
        let own = match name {
            "project" => &self.project,
            "task" => &self.task,
            "session" => &self.session,
            "operation" => &self.operation,
            "approval" => &self.approval,
            "artifact" => &self.artifact,
            "grant" => &self.grant,
            "token" => &self.token_id,
            "account" => &self.account,
            // These belong to the installation.
            "runtime" | "connection" | "policy" => return ("no-such".to_owned(), "nothing-such".to_owned()),
            _ => {
                panic!("{{{name}}} stands in an address: add the tenant's own to `Tenant`, and name it here")
            }
        };
        (own.clone(), nobodys(own))
    }

    fn ids(&self) -> [&str; 8] {
        let Self { project, task, session, operation, grant, approval, artifact, token_id, .. } = self;
        [project, task, session, operation, grant, approval, artifact, token_id]
    }
}

/// An id of the same kind that was never given out.
fn nobodys(id: &str) -> String {
    let (prefix, rest) = id.split_once('_').expect("an id");
    let end = rest.split_once('_').map_or(String::new(), |(_, number)| format!("_{number}"));
    format!("{prefix}_01a228057b7e74f1bf82d6c31d8579fc{end}")
}

/// A world with the tenants `default`, whose account administers, and `theirs`.
fn two_tenants(store: Store) -> (World, Tenant, Tenant) {
    let world = World::empty(store);
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    world.ok(&["project", "add", "theirs"]);
    let account = id(&world.ok(&["account", "add", "mallory"]));
    world.ok(&["project", "member", "add", "theirs", "mallory", "--role", "owner"]);
    let own = id(&world.ok(&["account", "list"])["items"][0]);
    let theirs = world.ok(&["token", "add", "--account", "mallory"]);
    world.ok(&["project", "member", "remove", "theirs", &own]);
    let secret = theirs["token"].as_str().expect("a secret").to_owned();
    for (project, token) in [("theirs", secret), ("default", world.own_token())] {
        for (tools, approve) in [("note", "never"), ("echo", "always")] {
            let grant =
                json!({ "project": project, "connection": "demo", "tools": [tools], "approve": approve });
            world.asked(&token, "POST", "/api/v1/grants", &grant.to_string(), 201);
        }
    }
    let ours = world.ok(&["token", "add"]);
    let ours = Tenant::with(&world, "default", &own, &ours);
    let theirs = Tenant::with(&world, "theirs", &account, &theirs);
    (world, ours, theirs)
}

impl World {
    fn wait_as(&self, token: &str, task: &str) {
        crate::harness::until("the task's end", || {
            let shown = self.asked(token, "GET", &format!("/api/v1/tasks/{task}"), "", 200);
            (shown["final"] == true).then(|| assert_eq!(shown["state"], "completed", "{shown}"))
        });
    }
}

/// What the prober sees of an address with the other's, and with nobody's.
struct Probe<'a> {
    world: &'a World,
    from: &'a Tenant,
    at: &'a Tenant,
}

impl Probe<'_> {
    fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: Option<&str>) -> Reply {
        self.world.send(&Request { token: &self.from.token, method, target, headers, body })
    }

    /// Asks for both; they must be one answer, and a refusal that says nothing of the other tenant.
    fn same(
        &self,
        method: &str,
        foreign: &str,
        absent: &str,
        headers: &[(&str, &str)],
        body: Option<(&str, &str)>,
    ) {
        let first = self.ask(method, foreign, headers, body.map(|(foreign, _)| foreign));
        let second = self.ask(method, absent, headers, body.map(|(_, absent)| absent));
        assert_eq!(first, second, "{method} {foreign} tells that it is there ({absent})");
        assert!((400..500).contains(&first.status), "{method} {foreign}: {first:?}");
        for id in self.at.ids() {
            assert!(!first.body.contains(id), "{method} {foreign} tells {id}: {first:?}");
        }
    }

    fn route(&self, route: &Route) {
        let (mut foreign, mut absent) = (String::from("/api/v1"), String::from("/api/v1"));
        for part in route.path.split('/').skip(1) {
            let named = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
            let (theirs, nobodys) =
                named.map_or((part.to_owned(), part.to_owned()), |name| self.at.part(name));
            foreign.push_str(&format!("/{theirs}"));
            absent.push_str(&format!("/{nobodys}"));
        }
        let body = (route.method == "POST").then_some(("{}", "{}"));
        self.same(route.method, &foreign, &absent, &[], body);
        if route.method == "GET" {
            self.same("HEAD", &foreign, &absent, &[], None);
            let stream = [("Accept", "text/event-stream"), ("Last-Event-ID", self.at.event.as_str())];
            self.same("GET", &foreign, &absent, &stream, None);
        }
        for method in ["OPTIONS", "PUT", "PATCH", "TRACE"] {
            self.same(method, &foreign, &absent, &[], None);
        }
        for trick in [upper, encoded, slashed, dotted] {
            self.same(route.method, &trick(&foreign), &trick(&absent), &[], body);
        }
    }
}

fn upper(path: &str) -> String {
    path.replacen("/api/v1", "", 1).to_uppercase().replacen('/', "/api/v1/", 1)
}

/// Each character of what is not a word of the interface, percent-encoded.
fn encoded(path: &str) -> String {
    let code = |part: &str| part.bytes().map(|b| format!("%{b:02x}")).collect::<String>();
    let parts = path.split('/').map(|part| if part.contains('_') { code(part) } else { part.to_owned() });
    parts.collect::<Vec<_>>().join("/")
}

fn slashed(path: &str) -> String {
    path.replace('/', "//")
}

fn dotted(path: &str) -> String {
    path.replacen("/api/v1", "/api/v1/%2e%2e/v1/.", 1)
}

fn addressed() -> impl Iterator<Item = Route> {
    table().into_iter().filter(|route| route.path.contains('{'))
}

on_both_stores!(g08_every_route_with_every_id_of_another_account_finds_nothing);

fn g08_every_route_with_every_id_of_another_account_finds_nothing(store: Store) {
    let (world, ours, theirs) = two_tenants(store);
    let before = [snapshot(&world, &ours), snapshot(&world, &theirs)];
    let out = Probe { world: &world, from: &theirs, at: &ours };
    addressed().for_each(|route| out.route(&route));
    // An administrator manages accounts and connections, and sees into no project that it is no member of.
    let back = Probe { world: &world, from: &ours, at: &theirs };
    addressed()
        .filter(|route| matches!(route.verb.needs(), Needs::Role(_)))
        .for_each(|route| back.route(&route));
    for probe in [&out, &back] {
        bodies_and_filters(probe);
        names(probe);
        lists(probe);
    }
    assert_eq!([snapshot(&world, &ours), snapshot(&world, &theirs)], before, "something was changed");
}

/// Ids where a request names them besides its address.
fn bodies_and_filters(probe: &Probe<'_>) {
    let Probe { from, at, .. } = probe;
    let posts = [
        (
            format!("/api/v1/projects/{}/tasks", from.project),
            "session",
            &at.session,
            json!({ "instructions": "x" }),
        ),
        (
            "/api/v1/grants".to_owned(),
            "project",
            &at.project,
            json!({ "connection": "demo", "tools": ["*"] }),
        ),
        ("/api/v1/tokens".to_owned(), "project", &at.project, json!({})),
    ];
    for (path, field, id, body) in &posts {
        let with = |id: &str| {
            let mut body = body.clone();
            body[*field] = id.into();
            body.to_string()
        };
        probe.same("POST", path, path, &[], Some((&with(id), &with(&nobodys(id)))));
    }
    let name =
        |project: &str| json!({ "project": project, "connection": "demo", "tools": ["*"] }).to_string();
    probe.same("POST", "/api/v1/grants", "/api/v1/grants", &[], Some((&name(at.name), &name("nowhere"))));
    for (path, id) in [
        ("/api/v1/grants?project=", &at.project),
        ("/api/v1/sessions?project=", &at.project),
        ("/api/v1/operations?project=", &at.project),
        ("/api/v1/operations?task=", &at.task),
        ("/api/v1/approvals?project=", &at.project),
        ("/api/v1/stream?project=", &at.project),
        ("/api/v1/stream?task=", &at.task),
    ] {
        probe.same("GET", &format!("{path}{id}"), &format!("{path}{}", nobodys(id)), &[], None);
    }
}

fn names(probe: &Probe<'_>) {
    for after in ["", "/members", "/tasks"] {
        let path = |name: &str| format!("/api/v1/projects/{name}{after}");
        probe.same("GET", &path(probe.at.name), &path("nowhere"), &[], None);
    }
    for path in ["/api/v1/grants?project=", "/api/v1/sessions?project=", "/api/v1/operations?project="] {
        let (foreign, absent) = (format!("{path}{}", probe.at.name), format!("{path}nowhere"));
        probe.same("GET", &foreign, &absent, &[], None);
    }
}

/// Lists hold one's own, also when they are asked to go on from a place in the other's.
fn lists(probe: &Probe<'_>) {
    let Probe { from, at, .. } = probe;
    let cursor = |token: &str, path: &str| {
        let page = probe.world.asked(token, "GET", path, "", 200);
        page["next"].as_str().map(str::to_owned)
    };
    for noun in ["projects", "grants", "sessions", "operations", "approvals"] {
        let path = format!("/api/v1/{noun}?limit=1");
        let mut pages = vec![format!("/api/v1/{noun}")];
        pages.extend(cursor(&at.token, &path).map(|next| format!("{path}&cursor={next}")));
        for page in pages {
            let reply = probe.ask("GET", &page, &[], None);
            assert!(reply.status == 200 || reply.status == 400, "{page}: {reply:?}");
            assert!(
                at.ids().iter().all(|id| !reply.body.contains(id)),
                "{page} tells of the other: {reply:?}"
            );
        }
    }
    let own = format!("/api/v1/tasks/{}/events?after={}", from.task, at.event);
    let reply = probe.ask("GET", &own, &[], None);
    assert!(at.ids().iter().all(|id| !reply.body.contains(id)), "{own} tells of the other: {reply:?}");
}

/// What a tenant sees of its own.
fn snapshot(world: &World, tenant: &Tenant) -> Vec<Value> {
    let paths = [
        "/projects",
        "/grants",
        &format!("/projects/{}/members", tenant.name),
        &format!("/tasks/{}", tenant.task),
    ];
    paths.iter().map(|path| world.asked(&tenant.token, "GET", &format!("/api/v1{path}"), "", 200)).collect()
}

#[test]
fn g08_an_idempotency_key_gives_nothing_of_anothers() {
    let (world, ours, theirs) = two_tenants(Store::Sqlite);
    let path = format!("/api/v1/projects/{}/tasks", ours.project);
    let grant = json!({ "project": "default", "connection": "demo", "tools": ["echo"] }).to_string();
    let key = [("Idempotency-Key", "same")];
    let post = |token: &str, target: &str, body: &str| {
        world.send(&Request { token, method: "POST", target, headers: &key, body: Some(body) })
    };
    let task = json!({ "instructions": "x" }).to_string();
    assert_eq!(post(&ours.token, &path, &task).status, 201);
    assert_eq!(post(&ours.token, "/api/v1/grants", &grant).status, 201);
    // Another account, and a token of the same one that is good for another project only.
    world.ok(&["project", "add", "third"]);
    let limited = world.ok(&["token", "add", "--project", "third"]);
    for token in [theirs.token.as_str(), limited["token"].as_str().expect("a secret")] {
        for (target, body) in [(path.as_str(), &task), ("/api/v1/grants", &grant)] {
            let reply = post(token, target, body);
            assert_eq!(reply.status, 404, "{target}: {reply:?}");
            // Nor whether the key was used, which another body would tell.
            let other = if target == path { body.replace('x', "y") } else { body.replace("echo", "note") };
            assert_eq!(post(token, target, &other).status, 404, "{target}");
        }
    }
    assert_eq!(post(&ours.token, "/api/v1/grants", &grant).status, 201, "the first one has its answer still");
}

/// Who makes a token can read it, so none is made for an account that may do more than who asks.
#[test]
fn g08_an_administrator_makes_himself_no_way_into_a_project() {
    let (world, ours, theirs) = two_tenants(Store::Sqlite);
    let add = |words: &[&str]| world.cli(&[&["token", "add", "--account", "mallory"], words].concat());
    for words in [&[][..], &["--role", "viewer"]] {
        let refused = add(words);
        assert_eq!((refused.code, refused.error_code().as_str()), (4, "reaches_further"), "{refused:?}");
    }
    assert_eq!(add(&["--project", "theirs"]).code, 3, "it is not there for who is no member");
    // Where both are members, a token that can do no more.
    world.ok(&["project", "member", "add", "default", "mallory", "--role", "viewer"]);
    assert_eq!(add(&["--project", "default"]).code, 0);
    // Mallory's own hands can.
    let body = Some("{}");
    let request =
        Request { token: &theirs.token, method: "POST", target: "/api/v1/tokens", headers: &[], body };
    assert_eq!(world.send(&request).status, 201);
    drop(ours);
}

#[test]
fn f095_nothing_is_open_to_loopback_without_a_token() {
    let world = World::empty(Store::Sqlite);
    let fill = |path: &str| path.replace(['{', '}'], "");
    for route in table() {
        let target = format!("/api/v1{}", fill(route.path));
        let body = (route.method == "POST").then_some("{}");
        for headers in [&[][..], &[("Authorization", "Basic b3duZXI6")], &[("X-Forwarded-For", "127.0.0.1")]]
        {
            let reply =
                world.send(&Request { token: "", method: route.method, target: &target, headers, body });
            assert_eq!(reply.status, 401, "{} {target} {headers:?}: {reply:?}", route.method);
        }
    }
    assert!(table().iter().any(|route| route.verb == Verb::TaskShow));
}

#[test]
fn f091_no_path_leads_out() {
    let world = World::empty(Store::Sqlite);
    let token = world.own_token();
    for target in [
        "/..%2f..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/../../../../etc/passwd",
        "//etc/passwd",
        "/api/v1/../../token",
        "/api/v1/%2e%2e/%2e%2e/token",
        "/api/v1/tasks/..%2f..%2faccounts",
        "/api/v1/tasks/%2e%2e/accounts",
        "/api/v1/projects/default%2ftasks",
        "/api/v1/projects/default%5c..%5ctasks",
        "/api/v1/projects/DEFAULT",
        "/API/V1/projects",
        "/api/v1//projects",
        "/api/v1/projects/",
        "/api/v1/projects/default%00",
        "/api/v1/projects/default%ff",
        "/.%2e/token",
    ] {
        let reply = world.send(&Request { token: &token, method: "GET", target, headers: &[], body: None });
        assert_eq!(reply.status, 404, "{target}: {reply:?}");
        assert!(!reply.body.contains("root:") && !reply.body.contains(&token), "{target}: {reply:?}");
    }
}
