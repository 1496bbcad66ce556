//! Every route, asked by everybody: what is allowed and what is refused is what the table of verbs says.
//!
//! A new route is asked too. If its address has a new kind of part, this test says where to add an example of it.

use crate::house::{House, Reply};
use mate_engine::{Needs, Verb};
use mate_model::{
    ApprovalId, ConnectionId, Epoch, OperationId, SessionId, TaskId, TokenId, TurnId,
    approval::ApprovalState,
    event::{Draft, EventType},
    operation::{OperationCommand, OperationState},
    records::{Approval, Operation, Token, Turn},
    words::{ApprovalMode, EffectClass, Role},
};
use mate_server::{Route, table};
use mate_store::Change;
use serde_json::{Value, json};
use uuid::Uuid;

/// One of everything, in the project `default`.
struct Objects {
    house: House,
    project: String,
    task: String,
    session: String,
    operation: String,
    grant: String,
    artifact: String,
}

fn id(value: &Value) -> String {
    value["id"].as_str().expect("an id").to_owned()
}

impl Objects {
    async fn new() -> Self {
        let house = House::new().await;
        let grant = house.furnish().await;
        let made = json!({ "instructions": "work" });
        let task = house.post("/api/v1/projects/default/tasks", made).await.expect(201);
        let session = task["session"].as_str().expect("a session").to_owned();
        let operation = operate(&house, &session, &id(&task)).await;
        let workspace = house.engine.home.session(session.parse().expect("a session")).workspace();
        std::fs::write(workspace.join("file.txt"), "words").expect("written");
        let path = format!("/api/v1/tasks/{}/artifacts", id(&task));
        let artifact = id(&house.post(&path, json!({ "path": "file.txt" })).await.expect(201));
        let project = grant["project"].as_str().expect("a project").to_owned();
        let policy = json!({ "name": "nights", "text": "forbid(principal, action, resource);" });
        house.post("/api/v1/policies", policy).await.expect(201);
        house.post("/api/v1/accounts", json!({ "name": "victim" })).await.expect(201);
        let member = json!({ "account": "victim", "role": "viewer" });
        house.post("/api/v1/projects/default/members", member).await.expect(201);
        Self { project, task: id(&task), session, operation, grant: id(&grant), artifact, house }
    }

    /// An example of what stands in an address.
    fn part(&self, verb: Verb, name: &str, caller: &Caller) -> String {
        match name {
            "project" => self.project.clone(),
            "task" => self.task.clone(),
            "session" => self.session.clone(),
            "operation" | "approval" => self.operation.clone(),
            "grant" => self.grant.clone(),
            "token" => caller.token.clone(),
            "account" if verb == Verb::AccountShow => caller.account.clone(),
            "account" => "victim".to_owned(),
            "runtime" => "plain".to_owned(),
            "connection" => "files".to_owned(),
            "policy" => "nights".to_owned(),
            "artifact" => self.artifact.clone(),
            _ => panic!(
                "`{verb}` has the part {{{name}}} in its address: add an example of it here, and, if it lies in a \
                 project, to `mate_engine::Named`, so that it is judged before the request is looked at"
            ),
        }
    }

    fn address(&self, route: &Route, caller: &Caller) -> String {
        let parts = route.path.split('/').map(|part| {
            match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                Some(name) => self.part(route.verb, name, caller),
                None => part.to_owned(),
            }
        });
        format!("/api/v1{}", parts.collect::<Vec<_>>().join("/"))
    }
}

/// A call in flight, in a journal that nobody hosts.
async fn operate(house: &House, session: &str, task: &str) -> String {
    let engine = &house.engine;
    let session: SessionId = session.parse().expect("a session");
    let task: TaskId = task.parse().expect("a task");
    let now = engine.clock.now();
    let (writer, _) = engine.stores.journal_writer(session, Epoch(1), now).await.expect("a journal");
    let turn = Turn::opened(TurnId::new(engine.entropy.uuid()), 1, task, now);
    let (class, id) = (EffectClass::Effect, OperationId { session, number: 1 });
    let born = OperationState::Requested.decide(class, OperationCommand::Admit, now).expect("a birth");
    let operation = Operation {
        id,
        task,
        turn: turn.id,
        connection: Some(ConnectionId::new(Uuid::from_u128(1))),
        connection_name: "files".to_owned(),
        tool: "get".to_owned(),
        class,
        grant: None,
        decision: json!({}),
        runtime_call: None,
        trace: "00".repeat(16),
        digest: "ab".repeat(32),
        shape: json!({}),
        state: born.to().clone(),
        requested_at: now,
        admitted_at: Some(now),
        sent_at: None,
        answered_at: None,
        recorded_at: None,
        duration_us: None,
        result_size: None,
        result_type: None,
        repeats: None,
        repeat_permitted: false,
    };
    ask_for_leave(house, &operation).await;
    let add = Change::AddOperation { operation: Box::new(operation), transition: born };
    writer.write(vec![Change::OpenTurn(turn), add]).await.expect("written");
    id.to_string()
}

/// The operation's request in the inbox.
async fn ask_for_leave(house: &House, operation: &Operation) {
    let (ledger, now) = (&house.engine.ledger, house.engine.clock.now());
    let task = ledger.task(operation.task).await.expect("read").expect("a task");
    let connection = ledger.connection_by_name("files").await.expect("read");
    let expires_at = now.plus_seconds(600);
    let approval = Approval {
        id: ApprovalId::Call(operation.id),
        project: task.project,
        task: task.id,
        turn: operation.turn,
        mode: ApprovalMode::Always,
        connection: connection.map(|connection| connection.id),
        connection_name: operation.connection_name.clone(),
        tool: operation.tool.clone(),
        class: operation.class,
        digest: operation.digest.clone(),
        shape: json!({}),
        state: ApprovalState::Open { expires: expires_at },
        expires_at,
        answer: None,
        over: None,
        created_at: now,
    };
    let kind = EventType::ApprovalAsked;
    let draft = Draft { kind, task: Some(task.id), turn: None, at: now, data: json!({}) };
    ledger.add_approval(&approval, draft).await.expect("asked");
}

/// Who asks.
struct Caller {
    name: &'static str,
    secret: Option<String>,
    token: String,
    account: String,
    valid: bool,
    admin: bool,
    limited: bool,
    /// In the project.
    role: Option<Role>,
    /// The highest in any project.
    somewhere: Option<Role>,
}

const CALLERS: [&str; 15] = [
    "nobody",
    "stranger",
    "viewer",
    "operator",
    "owner",
    "owner elsewhere",
    "administrator",
    "administrator and owner",
    "owner, as viewer",
    "owner, as operator",
    "owner, for the project",
    "owner, for another project",
    "expired",
    "revoked",
    "disabled",
];

async fn caller(objects: &Objects, name: &'static str) -> Caller {
    let house = &objects.house;
    let mut caller = Caller {
        name,
        secret: None,
        token: TokenId::new(Uuid::nil()).to_string(),
        account: "nobody".to_owned(),
        valid: true,
        admin: false,
        limited: false,
        role: None,
        somewhere: None,
    };
    let mut wish = json!({ "account": "caller" });
    let mut projects = Vec::new();
    match name {
        "nobody" => return Caller { valid: false, ..caller },
        "administrator and owner" => {
            let made = house.post("/api/v1/tokens", json!({})).await.expect(201);
            let (role, account) = (Some(Role::Owner), "owner".to_owned());
            let secret = made["token"].as_str().map(str::to_owned);
            return Caller {
                secret,
                token: id(&made),
                account,
                admin: true,
                role,
                somewhere: role,
                ..caller
            };
        }
        "stranger" => {}
        "administrator" => caller.admin = true,
        "viewer" => projects.push(("default", Role::Viewer)),
        "operator" => projects.push(("default", Role::Operator)),
        "owner elsewhere" => projects.push(("other", Role::Owner)),
        "owner, for another project" => {
            projects.extend([("default", Role::Owner), ("other", Role::Viewer)]);
            wish["project"] = "other".into();
        }
        _ => projects.push(("default", Role::Owner)),
    }
    caller.role = projects.iter().find(|(project, _)| *project == "default").map(|(_, role)| *role);
    caller.somewhere = projects.iter().map(|(_, role)| *role).max();
    match name {
        "owner, as viewer" | "owner, as operator" => {
            let role = if name.ends_with("viewer") { Role::Viewer } else { Role::Operator };
            wish["role"] = role.as_str().into();
            (caller.role, caller.somewhere) = (Some(role), Some(role));
        }
        "owner, for the project" => wish["project"] = "default".into(),
        "owner, for another project" => (caller.role, caller.somewhere) = (None, Some(Role::Viewer)),
        _ => {}
    }
    caller.limited = wish.get("role").is_some() || wish.get("project").is_some();
    house.post("/api/v1/projects", json!({ "name": "other" })).await.expect(201);
    let account = json!({ "name": "caller", "admin": caller.admin });
    caller.account = id(&house.post("/api/v1/accounts", account).await.expect(201));
    for (project, role) in projects {
        let member = json!({ "account": "caller", "role": role });
        house.post(&format!("/api/v1/projects/{project}/members"), member).await.expect(201);
    }
    let made = house.post("/api/v1/tokens", wish).await.expect(201);
    caller.secret = made["token"].as_str().map(str::to_owned);
    caller.token = id(&made);
    lose(house, &mut caller).await;
    caller
}

/// Takes from a caller what its name says that it has lost.
async fn lose(house: &House, caller: &mut Caller) {
    caller.valid = !["expired", "revoked", "disabled"].contains(&caller.name);
    match caller.name {
        "expired" => {
            let secret = mate_guard::ApiToken::mint(house.engine.entropy.as_ref());
            let now = house.engine.clock.now();
            let token = Token {
                id: TokenId::new(house.engine.entropy.uuid()),
                account: caller.account.parse().expect("an account"),
                hash: *secret.hash().as_bytes(),
                project: None,
                role: None,
                expires_at: Some(now),
                revoked_at: None,
                created_at: now,
                last_used_at: None,
                made_with: None,
            };
            house.engine.ledger.add_token(&token).await.expect("added");
            caller.secret = Some(secret.reveal().to_owned());
        }
        "revoked" => {
            let path = format!("/api/v1/tokens/{}/revoke", caller.token);
            house.post(&path, json!({})).await.expect(200);
        }
        "disabled" => {
            house.post("/api/v1/accounts/caller/disable", json!({})).await.expect(200);
        }
        _ => {}
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Allowed,
    Forbidden,
    Absent,
    NotAuthenticated,
}

/// What the table says.
fn expected(route: &Route, caller: &Caller) -> Answer {
    let is_list = route.method == "GET" && !route.path.contains('{');
    match route.verb.needs() {
        _ if !caller.valid => Answer::NotAuthenticated,
        Needs::Token => Answer::Allowed,
        Needs::WholeToken if caller.limited => Answer::Forbidden,
        Needs::WholeToken => Answer::Allowed,
        Needs::Administrator if caller.admin => Answer::Allowed,
        Needs::Administrator => Answer::Forbidden,
        // A list of what is there for the caller, perhaps of nothing.
        Needs::Somewhere(_) | Needs::Role(_) if is_list => Answer::Allowed,
        Needs::Somewhere(role) if caller.admin || caller.somewhere >= Some(role) => Answer::Allowed,
        Needs::Somewhere(_) => Answer::Absent,
        Needs::Role(needed) => match caller.role {
            None => Answer::Absent,
            Some(role) if role < needed => Answer::Forbidden,
            Some(_) => Answer::Allowed,
        },
    }
}

fn body(verb: Verb) -> Value {
    match verb.as_str() {
        "account.add" | "project.add" => json!({ "name": "fresh" }),
        "runtime.add" => json!({ "name": "fresh", "command": ["true"] }),
        "connection.add" => json!({ "name": "fresh", "url": "http://127.0.0.1:9/" }),
        "grant.add" => json!({ "project": "default", "connection": "files", "tools": ["put"] }),
        "member.set" => json!({ "account": "victim", "role": "operator" }),
        "artifact.publish" => json!({ "path": "file.txt" }),
        "task.add" => json!({ "instructions": "more work" }),
        _ => json!({}),
    }
}

async fn ask(objects: &Objects, route: &Route, caller: &Caller) -> Reply {
    let path = objects.address(route, caller);
    let body = (route.method == "POST").then(|| body(route.verb));
    let secret = caller.secret.as_deref().unwrap_or("am_none");
    objects.house.call_as(secret, route.method, &path, body).await
}

fn answer(reply: &Reply) -> Answer {
    match reply.status.as_u16() {
        401 => Answer::NotAuthenticated,
        403 => Answer::Forbidden,
        404 => Answer::Absent,
        status => {
            assert!(status < 500, "{}", reply.body);
            Answer::Allowed
        }
    }
}

/// What only reads comes first, and what takes the ground away last.
fn rank(route: &Route) -> u8 {
    match (route.method, route.verb) {
        (_, Verb::TokenRevoke) => 4,
        ("DELETE", _) => 3,
        (_, Verb::ProjectArchive | Verb::GrantRevoke | Verb::TaskReject) => 2,
        ("POST", _) => 1,
        _ => 0,
    }
}

#[tokio::test]
async fn g08_every_route_answers_everybody_as_the_table_of_verbs_says() {
    let mut routes = table();
    routes.sort_by_key(rank);
    let mut differences = Vec::new();
    for name in CALLERS {
        let objects = Objects::new().await;
        let caller = caller(&objects, name).await;
        for route in &routes {
            let wanted = expected(route, &caller);
            let reply = ask(&objects, route, &caller).await;
            let got = answer(&reply);
            if got != wanted {
                differences.push(format!(
                    "{name}: {} {}: {got:?}, the table says {wanted:?}: {}",
                    route.method, route.path, reply.body
                ));
            }
            if got == Answer::Allowed
                && caller.role.is_none()
                && route.method == "GET"
                && matches!(route.verb.needs(), Needs::Role(_))
            {
                assert_eq!(reply.body["items"], json!([]), "{name}: {} shows something", route.path);
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn g08_every_verb_with_an_address_has_a_route() {
    let routed: Vec<Verb> = table().iter().map(|route| route.verb).collect();
    let missing: Vec<_> = Verb::ALL.iter().filter(|verb| !routed.contains(verb)).collect();
    assert!(missing.is_empty(), "no route asks for {missing:?}: take the verb away, or add its route");
}
