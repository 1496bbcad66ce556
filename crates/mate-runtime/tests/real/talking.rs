//! A runtime in a container, spoken to over its protocol: the scripted one, and odd ones in Python.

use crate::{
    mcp_server::McpServer,
    surroundings::{container, launch, until},
};
use mate_runtime::{
    acp::{
        AcpError, Activity, Agent, AgentOptions, Diagnostic, Event, HttpEndpoint, Lost, McpEndpoints,
        Message, PermissionAnswer, Role, StdioEndpoint, StopReason, TurnEnd, Via,
    },
    container::{Container, Exit, Launch, SignalKind},
};
use std::{path::Path, time::Duration};
use tempfile::TempDir;
use tokio::sync::mpsc;

crate::cases! {
    a_turn_calls_a_tool_over_the_relay,
    a_turn_calls_tools_over_http_with_the_bearer,
    g02_a_second_prompt_is_refused_while_one_runs,
    a_cancel_ends_the_turn_and_withdraws_permissions,
    a_permission_is_answered_by_its_owner,
    f41_a_cancel_that_is_ignored_is_followed_by_a_kill,
    f105_a_vanished_runtime_is_lost_and_never_a_success,
    f119_the_next_prompt_is_accepted_after_a_failure,
    every_stop_reason_arrives,
    a_session_is_loaded_with_its_history,
    f113_odd_output_harms_nothing,
    f111_a_long_line_arrives_and_an_endless_one_ends_it,
    a_slow_owner_slows_the_runtime_down,
    requests_that_were_not_offered_are_refused,
    silent_and_strange_runtimes_are_given_up,
    closing_the_input_ends_the_runtime,
    activity_comes_in_order_and_before_the_end,
}

pub(crate) struct Stage {
    pub(crate) home: TempDir,
    pub(crate) container: Container,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let container = container(home.path()).await;
        Self { home, container }
    }

    pub(crate) fn launch(&self, argv: &[&str]) -> Launch {
        let mut launch = launch(self.home.path(), argv);
        let path = |name: &str| self.home.path().join(name).to_str().unwrap().to_owned();
        launch.env.push(("HOME".to_owned(), path("")));
        launch.env.push(("SCRIPTED_LOG".to_owned(), path("prompts")));
        launch
    }

    async fn connect(&self, argv: &[&str]) -> Result<(Agent, mpsc::Receiver<Event>), AcpError> {
        self.connect_with(argv, AgentOptions::default()).await
    }

    async fn connect_with(
        &self,
        argv: &[&str],
        options: AgentOptions,
    ) -> Result<(Agent, mpsc::Receiver<Event>), AcpError> {
        let process = self.container.spawn(self.launch(argv)).await.unwrap();
        Agent::connect(process, options).await
    }

    /// The scripted runtime with a session whose tools are the effect server's.
    pub(crate) async fn scripted(&self) -> (Agent, mpsc::Receiver<Event>) {
        let exe = exe();
        let (agent, events) = self.connect(&[&exe, "scripted-runtime"]).await.unwrap();
        let start = agent.new_session(self.home.path(), &self.relay()).await.unwrap();
        assert_eq!(start.via, Via::Stdio);
        (agent, events)
    }

    pub(crate) fn relay(&self) -> McpEndpoints {
        let log = self.home.path().join("effects").to_str().unwrap().to_owned();
        let args = ["effect-server", "--log", &log].map(str::to_owned).to_vec();
        let stdio = StdioEndpoint { command: exe().into(), args, env: Vec::new() };
        McpEndpoints { name: "mate".to_owned(), http: None, stdio: Some(stdio) }
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.home.path().join(name)).unwrap_or_default()
    }

    /// A runtime in Python: `say(object)` writes a message, `hear()` reads one; it has been introduced.
    fn python(&self, body: &str) -> Vec<String> {
        let code = format!(
            "import json,sys,time,os\n\
             def line(t): sys.stdout.buffer.write(t if isinstance(t,bytes) else t.encode()+b'\\n'); sys.stdout.flush()\n\
             def say(o): line(json.dumps(o))\n\
             def hear(): return json.loads(sys.stdin.readline() or 'null')\n\
             def ok(m,r): say({{'jsonrpc':'2.0','id':m['id'],'result':r}})\n\
             def update(u): say({{'jsonrpc':'2.0','method':'session/update','params':{{'sessionId':'s','update':u}}}})\n\
             def text(t): update({{'sessionUpdate':'agent_message_chunk','content':{{'type':'text','text':t}}}})\n\
             def start():\n ok(hear(),{{'protocolVersion':1,'agentCapabilities':{{}}}})\n ok(hear(),{{'sessionId':'s'}})\n\
             {body}\n"
        );
        ["python3", "-c", &code].map(str::to_owned).to_vec()
    }

    pub(crate) async fn odd(&self, body: &str, options: AgentOptions) -> (Agent, mpsc::Receiver<Event>) {
        let argv = self.python(&format!("start()\n{body}"));
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        let (agent, events) = self.connect_with(&argv, options).await.unwrap();
        agent.new_session(self.home.path(), &self.relay()).await.unwrap();
        (agent, events)
    }
}

fn exe() -> String {
    std::env::current_exe().unwrap().to_str().unwrap().to_owned()
}

pub(crate) fn stopped(reason: StopReason) -> TurnEnd {
    TurnEnd::Stopped { reason, usage: None }
}

fn script(steps: &str) -> String {
    format!("Please do this: STUB[[ [{steps}] ]]")
}

/// Drains what is in the queue: the texts of a role joined, and everything.
pub(crate) fn drained(events: &mut mpsc::Receiver<Event>) -> (String, Vec<Event>) {
    let mut all = Vec::new();
    let mut text = String::new();
    while let Ok(event) = events.try_recv() {
        if let Event::Activity(Activity::Message(Message { role: Role::Agent, text: more })) = &event {
            text.push_str(more);
        }
        all.push(event);
    }
    (text, all)
}

async fn a_turn_calls_a_tool_over_the_relay() {
    let stage = Stage::new().await;
    let (agent, mut events) = stage.scripted().await;
    assert_eq!(agent.info().name.as_deref(), Some("scripted"));
    let prompt = script(r#"{"tool":"note","args":{"text":"hällo"}},{"text":"done","chunks":2}"#);
    assert_eq!(agent.prompt(&prompt).await.unwrap(), stopped(StopReason::EndTurn));
    let (text, all) = drained(&mut events);
    assert!(text.contains("note: noted: hällo") && text.ends_with("done"), "{text}");
    let statuses: Vec<_> = all
        .iter()
        .filter_map(|event| match event {
            Event::Activity(Activity::ToolCall(call) | Activity::ToolUpdate(call)) => call.status.as_deref(),
            Event::Activity(_) | Event::Permission(_) | Event::Diagnostic(_) => None,
        })
        .collect();
    assert_eq!(statuses, ["in_progress", "completed"]);
    assert!(stage.read("effects").contains("hällo"));
    assert_eq!(agent.prompt("no script here").await.unwrap(), stopped(StopReason::EndTurn));
    assert!(drained(&mut events).0.contains("no script"));
    // The prompts arrived one for one.
    let heard: Vec<String> = stage.read("prompts").lines().map(str::to_owned).collect();
    assert_eq!(heard.len(), 2);
    assert!(heard[0].contains("hällo") && heard[1].contains("no script here"));
}

async fn a_turn_calls_tools_over_http_with_the_bearer() {
    let stage = Stage::new().await;
    let server = McpServer::start().await;
    let exe = exe();
    let (agent, mut events) = stage.connect(&[&exe, "scripted-runtime"]).await.unwrap();
    let mut ways = stage.relay();
    ways.http = Some(HttpEndpoint { url: server.url(), bearer: "s3cret-token".to_owned() });
    assert!(!format!("{ways:?}").contains("s3cret"));
    assert_eq!(agent.new_session(stage.home.path(), &ways).await.unwrap().via, Via::Http);
    let prompt = script(
        r#"{"tools":[{"tool":"echo","args":{"n":1}},{"tool":"stream","args":{"n":2}},{"tool":"missing"}]}"#,
    );
    assert_eq!(agent.prompt(&prompt).await.unwrap(), stopped(StopReason::EndTurn));
    let (text, _) = drained(&mut events);
    assert!(text.contains(r#"echo: {"n":1}"#) && text.contains(r#"stream: {"n":2}"#), "{text}");
    assert!(text.contains("there is no tool missing"), "{text}");
    let heard = server.heard();
    assert!(heard.iter().all(|head| head.contains("authorization: bearer s3cret-token")), "{heard:?}");
    let (agent, _events) = stage.connect(&[&exe, "scripted-runtime", "--no-http"]).await.unwrap();
    assert_eq!(agent.new_session(stage.home.path(), &ways).await.unwrap().via, Via::Stdio);
    ways.stdio = None;
    let (agent, _events) = stage.connect(&[&exe, "scripted-runtime", "--no-http"]).await.unwrap();
    assert!(matches!(agent.new_session(stage.home.path(), &ways).await, Err(AcpError::NoWay)));
}

async fn g02_a_second_prompt_is_refused_while_one_runs() {
    let stage = Stage::new().await;
    let (agent, mut events) = stage.scripted().await;
    let (first, prompt) = (agent.clone(), script(r#"{"text":"begun"},{"hang":true}"#));
    // The future is dropped, and still the turn is not over.
    let turn = tokio::spawn(async move { first.prompt(&prompt).await });
    let begun = events.recv().await;
    assert!(matches!(begun, Some(Event::Activity(Activity::Message(_)))), "{begun:?}");
    turn.abort();
    assert!(turn.await.unwrap_err().is_cancelled());
    assert!(matches!(agent.prompt("second").await, Err(AcpError::Busy)));
    assert!(matches!(
        agent.new_session(stage.home.path(), &stage.relay()).await,
        Err(AcpError::SecondSession)
    ));
    agent.cancel().unwrap();
    until("the turn is over", async || !matches!(agent.prompt("third").await, Err(AcpError::Busy))).await;
    let heard = stage.read("prompts");
    assert!(!heard.contains("second") && heard.contains("third"), "{heard}");
}

async fn a_cancel_ends_the_turn_and_withdraws_permissions() {
    let stage = Stage::new().await;
    let (agent, mut events) = stage.scripted().await;
    let (asking, prompt) = (agent.clone(), script(r#"{"permission":"rm"},{"text":"never"}"#));
    let turn = tokio::spawn(async move { asking.prompt(&prompt).await });
    let request = loop {
        if let Event::Permission(request) = events.recv().await.unwrap() {
            break request;
        }
    };
    agent.cancel().unwrap();
    assert_eq!(turn.await.unwrap().unwrap(), stopped(StopReason::Cancelled));
    until("it is withdrawn", async || request.answer.is_closed()).await;
    let (slow, prompt) =
        (agent.clone(), script(r#"{"tool":"slow","args":{"seconds":60,"key":"k"}},{"text":"never"}"#));
    let turn = tokio::spawn(async move { slow.prompt(&prompt).await });
    until("the tool runs", async || stage.read("effects").contains("\"k\"")).await;
    agent.cancel().unwrap();
    assert_eq!(turn.await.unwrap().unwrap(), stopped(StopReason::Cancelled));
    assert!(!drained(&mut events).0.contains("never"));
}

async fn a_permission_is_answered_by_its_owner() {
    let stage = Stage::new().await;
    let (agent, mut events) = stage.scripted().await;
    for (answer, expected) in [
        (Some(PermissionAnswer::Selected("yes".to_owned())), "permission for rm: yes"),
        (Some(PermissionAnswer::Selected("made up".to_owned())), "permission for rm: cancelled"),
        (Some(PermissionAnswer::Cancelled), "permission for rm: cancelled"),
        (None, "permission for rm: cancelled"),
    ] {
        let asking = agent.clone();
        let turn = tokio::spawn(async move { asking.prompt(&script(r#"{"permission":"rm"}"#)).await });
        loop {
            let Event::Permission(request) = events.recv().await.unwrap() else { continue };
            assert_eq!(request.tool.title.as_deref(), Some("rm"));
            assert_eq!(request.option(true).unwrap().id, "yes");
            assert_eq!(request.option(false).unwrap().id, "no");
            if let Some(answer) = answer {
                request.answer.send(answer).unwrap();
            }
            break;
        }
        assert_eq!(turn.await.unwrap().unwrap(), stopped(StopReason::EndTurn));
        let (text, _) = drained(&mut events);
        assert!(text.contains(expected), "{text}");
    }
}

async fn f41_a_cancel_that_is_ignored_is_followed_by_a_kill() {
    let stage = Stage::new().await;
    let process = stage.container.spawn(stage.launch(&[&exe(), "scripted-runtime"])).await.unwrap();
    let id = process.id;
    let (agent, mut events) = Agent::connect(process, AgentOptions::default()).await.unwrap();
    agent.new_session(stage.home.path(), &stage.relay()).await.unwrap();
    let deaf = agent.clone();
    let steps = r#"{"ignore_cancel":true,"text":"deaf"},{"hang":true}"#;
    let turn = tokio::spawn(async move { deaf.prompt(&script(steps)).await });
    events.recv().await.unwrap();
    agent.cancel().unwrap();
    stage.container.signal(id, SignalKind::Kill).await.unwrap();
    let end = turn.await.unwrap().unwrap();
    assert!(matches!(end, TurnEnd::Lost(Lost::Exited { exit: Exit::Signal(9), .. })), "{end:?}");
    assert!(agent.cancel().is_err());
}

async fn f105_a_vanished_runtime_is_lost_and_never_a_success() {
    let stage = Stage::new().await;
    for (steps, exit) in [
        (r#"{"text":"half"},{"exit":0}"#, Exit::Code(0)),
        (r#"{"stderr":"out of luck","exit":3}"#, Exit::Code(3)),
        (r#"{"crash":true}"#, Exit::Signal(6)),
    ] {
        let (agent, mut events) = stage.scripted().await;
        let end = agent.prompt(&script(steps)).await.unwrap();
        assert!(matches!(&end, TurnEnd::Lost(Lost::Exited { exit: found, .. }) if *found == exit), "{end:?}");
        if exit == Exit::Code(3) {
            assert!(agent.gone().await.to_string().contains("out of luck"));
        }
        // Nothing hangs afterwards, and the queue ends.
        let after = agent.prompt("again").await.unwrap();
        assert!(matches!(after, TurnEnd::Lost(_)), "{after:?}");
        drop(agent);
        while events.recv().await.is_some() {}
    }
    // Its output may be held open by a child that lives on.
    let body = "hear()\nif os.fork()==0: time.sleep(60)\nos._exit(5)";
    let (agent, _events) = stage.odd(body, AgentOptions::default()).await;
    let end = agent.prompt("x").await.unwrap();
    assert!(matches!(end, TurnEnd::Lost(Lost::Exited { exit: Exit::Code(5), .. })), "{end:?}");
    let (agent, _events) = stage.odd("hear()\nos.close(1)\ntime.sleep(60)", AgentOptions::default()).await;
    let end = agent.prompt("x").await.unwrap();
    assert!(matches!(end, TurnEnd::Lost(Lost::Silent { .. })), "{end:?}");
}

async fn f119_the_next_prompt_is_accepted_after_a_failure() {
    let stage = Stage::new().await;
    let (agent, _events) = stage.scripted().await;
    let end = agent.prompt(&script(r#"{"error":"the model is unwell"}"#)).await.unwrap();
    assert_eq!(end, TurnEnd::Failed { code: -32603, message: "the model is unwell".to_owned() });
    assert_eq!(agent.prompt(&script(r#"{"text":"x"}"#)).await.unwrap(), stopped(StopReason::EndTurn));
    let end = agent.prompt("STUB[[ broken").await.unwrap();
    assert!(matches!(end, TurnEnd::Failed { .. }), "{end:?}");
}

async fn every_stop_reason_arrives() {
    let stage = Stage::new().await;
    let (agent, _events) = stage.scripted().await;
    for (word, reason) in [
        ("end_turn", StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens),
        ("max_turn_requests", StopReason::MaxTurnRequests),
        ("refusal", StopReason::Refusal),
        ("cancelled", StopReason::Cancelled),
        ("bored", StopReason::Other("bored".to_owned())),
    ] {
        let end = agent.prompt(&script(&format!(r#"{{"stop":"{word}"}}"#))).await.unwrap();
        assert_eq!(end, stopped(reason));
    }
    agent.set_mode("auto").await.unwrap();
    let refused = agent.set_mode("made up").await.unwrap_err();
    assert!(matches!(refused, AcpError::Refused { code: -32602, .. }), "{refused}");
}

async fn a_session_is_loaded_with_its_history() {
    let stage = Stage::new().await;
    let exe = exe();
    let (agent, events) = stage.connect(&[&exe, "scripted-runtime"]).await.unwrap();
    let start = agent.new_session(stage.home.path(), &stage.relay()).await.unwrap();
    assert_eq!((start.mode.as_deref(), start.modes.len()), (Some("ask"), 2));
    agent.prompt(&script(r#"{"text":"remember me"}"#)).await.unwrap();
    drop((agent, events));
    let (agent, mut events) = stage.connect(&[&exe, "scripted-runtime"]).await.unwrap();
    let loaded = agent.load_session(&start.id, stage.home.path(), &stage.relay()).await.unwrap();
    assert_eq!(loaded.id, start.id);
    let (text, all) = drained(&mut events);
    assert!(text.contains("remember me"), "{all:?}");
    assert_eq!(agent.prompt(&script(r#"{"text":"on"}"#)).await.unwrap(), stopped(StopReason::EndTurn));
    let (agent, _events) = stage.connect(&[&exe, "scripted-runtime"]).await.unwrap();
    let unknown = agent.load_session("scripted-999", stage.home.path(), &stage.relay()).await;
    assert!(matches!(unknown, Err(AcpError::Refused { .. })), "{unknown:?}");
    let traversal = agent.load_session("../../etc/passwd", stage.home.path(), &stage.relay()).await;
    assert!(matches!(traversal, Err(AcpError::Refused { .. })));
    let resumed = agent.resume_session(&start.id, stage.home.path(), &stage.relay()).await;
    assert!(matches!(resumed, Err(AcpError::NotOffered { .. })));
    let (agent, _events) = stage.connect(&[&exe, "scripted-runtime", "--no-load"]).await.unwrap();
    let loaded = agent.load_session(&start.id, stage.home.path(), &stage.relay()).await;
    assert!(matches!(loaded, Err(AcpError::NotOffered { .. })));
}

async fn f113_odd_output_harms_nothing() {
    let stage = Stage::new().await;
    let body = r#"
m=hear()
for i in range(9): line('npm warn garbage %d \x1b[31m' % i)
line(b'\xff\xfe\n'); line('[]'); line('{}'); line('17'); line('')
line(b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\\ud83d bom"}}}}\r\n')
text('a\u2028b\u2029c\u0085d\r\ne\0f\ufeff 👩‍👩‍👧')
update({'sessionUpdate':'from_the_future','deep':[[[{'x':None}]]]})
update({'sessionUpdate':'tool_call_update','toolCallId':'t','status':'completed','unknown':1,'content':[{'type':'hologram'}]})
update(None)
say({'jsonrpc':'2.0','method':'_vendor/hello','params':{'a':1}})
say({'jsonrpc':'2.0','id':'never-asked','result':{}})
say({'jsonrpc':'2.0','id':999,'result':{},'error':{'code':1,'message':'x'}})
ok(m,{'stopReason':'end_turn','usage':{'totalTokens':5},'extra':True})
m=hear()
text('still here')
ok(m,{'stopReason':'end_turn'})
time.sleep(60)"#;
    let (agent, mut events) = stage.odd(body, AgentOptions::default()).await;
    let end = agent.prompt("x").await.unwrap();
    assert!(
        matches!(&end, TurnEnd::Stopped { reason: StopReason::EndTurn, usage: Some(usage) } if usage.total_tokens == Some(5)),
        "{end:?}"
    );
    let (text, all) = drained(&mut events);
    assert!(text.contains("\u{fffd} bom"), "{text:?}");
    assert!(text.contains("a\u{2028}b\u{2029}c\u{85}d\r\ne\0f\u{feff} 👩‍👩‍👧"), "{text:?}");
    let kinds: Vec<_> = all
        .iter()
        .filter_map(|event| match event {
            Event::Activity(Activity::Other { kind, .. }) => Some(kind.as_str()),
            Event::Activity(_) | Event::Permission(_) | Event::Diagnostic(_) => None,
        })
        .collect();
    assert_eq!(kinds, ["from_the_future", "unnamed", "_vendor/hello"]);
    let garbage = all.iter().filter_map(|event| match event {
        Event::Diagnostic(Diagnostic::Garbage { lines, .. }) => Some(*lines),
        Event::Diagnostic(_) | Event::Activity(_) | Event::Permission(_) => None,
    });
    assert_eq!(garbage.collect::<Vec<_>>(), [1, 2, 4, 8]);
    assert_eq!(agent.prompt("y").await.unwrap(), stopped(StopReason::EndTurn));
    assert_eq!(drained(&mut events).0, "still here");
}

async fn f111_a_long_line_arrives_and_an_endless_one_ends_it() {
    let stage = Stage::new().await;
    let body = "m=hear()\ntext('ß'*5_000_000)\nok(m,{'stopReason':'end_turn'})\nhear()\nwhile True: line(b'x'*65536)";
    let (agent, mut events) =
        stage.odd(body, AgentOptions { max_line: 64 << 20, ..AgentOptions::default() }).await;
    let counter = tokio::spawn(async move {
        let mut characters = 0;
        while let Some(event) = events.recv().await {
            if let Event::Activity(Activity::Message(message)) = event {
                characters += message.text.chars().count();
            }
        }
        characters
    });
    assert_eq!(agent.prompt("x").await.unwrap(), stopped(StopReason::EndTurn));
    let end = agent.prompt("y").await.unwrap();
    assert_eq!(end, TurnEnd::Lost(Lost::TooLong { limit: 64 << 20 }));
    drop(agent);
    assert_eq!(counter.await.unwrap(), 5_000_000);
}

async fn a_slow_owner_slows_the_runtime_down() {
    let stage = Stage::new().await;
    let body = "m=hear()\nfor i in range(5000):\n update({'sessionUpdate':'plan','entries':[{'content':str(i)}]})\n open('sent','w').write(str(i))\nok(m,{'stopReason':'end_turn'})\ntime.sleep(60)";
    let (agent, mut events) = stage.odd(body, AgentOptions { events: 16, ..AgentOptions::default() }).await;
    let turn = tokio::spawn(async move { agent.prompt("x").await });
    // It stands still long before the end, since nobody drains the queue.
    let mut before = String::new();
    until("it stands still", async || {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let now = stage.read("sent");
        let still = !now.is_empty() && now == before;
        before = now;
        still
    })
    .await;
    assert!(before.parse::<u32>().unwrap() < 3_000, "{before} updates are held in memory");
    let mut count = 0;
    while let Some(event) = events.recv().await {
        assert!(matches!(event, Event::Activity(Activity::Plan { .. })));
        count += 1;
        if count == 5_000 {
            break;
        }
    }
    assert_eq!(turn.await.unwrap().unwrap(), stopped(StopReason::EndTurn));
}

async fn requests_that_were_not_offered_are_refused() {
    let stage = Stage::new().await;
    let body = "m=hear()\nfor i,n in enumerate(['fs/read_text_file','terminal/create','who/knows']):\n say({'jsonrpc':'2.0','id':'r%d'%i,'method':n,'params':{'path':'/etc/passwd'}})\n text(str(hear()['error']['code'])+' ')\nok(m,{'stopReason':'end_turn'})\ntime.sleep(60)";
    let (agent, mut events) = stage.odd(body, AgentOptions::default()).await;
    assert_eq!(agent.prompt("x").await.unwrap(), stopped(StopReason::EndTurn));
    let (text, all) = drained(&mut events);
    assert_eq!(text, "-32601 -32601 -32601 ");
    let refused = all.iter().filter(|event| matches!(event, Event::Diagnostic(Diagnostic::Refused { .. })));
    assert_eq!(refused.count(), 3);
}

async fn silent_and_strange_runtimes_are_given_up() {
    let stage = Stage::new().await;
    let quick = || AgentOptions { initialize_timeout: Duration::from_millis(300), ..AgentOptions::default() };
    let silent = stage.connect_with(&["sleep", "60"], quick()).await.unwrap_err();
    assert!(matches!(silent, AcpError::TimedOut { method: "initialize", .. }), "{silent}");
    let gone = stage.connect(&["sh", "-c", "echo no licence >&2; exit 4"]).await.unwrap_err();
    assert!(matches!(gone, AcpError::Lost(Lost::Exited { exit: Exit::Code(4), .. })), "{gone}");
    assert!(gone.to_string().contains("no licence"), "{gone}");
    let argv = stage.python("ok(hear(),{'protocolVersion':7})\ntime.sleep(60)");
    let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
    let other = stage.connect(&argv).await.unwrap_err();
    assert!(other.to_string().contains("protocol version 7"), "{other}");
    let argv = stage.python("ok(hear(),{'protocolVersion':1})\nok(hear(),{})\ntime.sleep(60)");
    let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
    let (agent, _events) = stage.connect(&argv).await.unwrap();
    assert!(matches!(agent.prompt("x").await, Err(AcpError::NoSession)));
    let nameless = agent.new_session(Path::new("/"), &stage.relay()).await.unwrap_err();
    assert!(matches!(nameless, AcpError::Unusable { .. }), "{nameless}");
}

async fn closing_the_input_ends_the_runtime() {
    let stage = Stage::new().await;
    let (agent, _events) = stage.scripted().await;
    agent.close_input();
    let lost = agent.gone().await;
    assert!(matches!(lost, Lost::Exited { exit: Exit::Code(0), .. }), "{lost:?}");
}

async fn activity_comes_in_order_and_before_the_end() {
    let stage = Stage::new().await;
    let (agent, mut events) = stage.scripted().await;
    let steps = r#"{"thought":"hm"},{"plan":["one",{"content":"two","status":"completed","priority":"high"}]},{"raw":{"sessionUpdate":"usage_update","used":7,"size":9,"cost":{"amount":0.5,"currency":"EUR"}}},{"text":"abcdef","chunks":6,"gap_ms":1}"#;
    agent.prompt(&script(steps)).await.unwrap();
    let (_, all) = drained(&mut events);
    let [thought, plan, usage, text] = all.as_slice() else { panic!("{all:?}") };
    assert!(
        matches!(thought, Event::Activity(Activity::Message(m)) if m.role == Role::Thought && m.text == "hm")
    );
    assert!(matches!(plan, Event::Activity(Activity::Plan { entries }) if entries[1].status == "completed"));
    assert!(
        matches!(usage, Event::Activity(Activity::Usage(u)) if u.cost.as_deref() == Some("0.5 EUR") && u.context_used == Some(7))
    );
    assert!(matches!(text, Event::Activity(Activity::Message(m)) if m.text == "abcdef"));
}
