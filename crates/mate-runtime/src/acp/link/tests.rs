//! Lines as OpenCode 1.18, Claude's adapter 0.101 and Codex's adapter 2.6 send them, and lines as nobody should.

use super::*;
use crate::acp::{
    AcpError, Activity, AgentInfo, Message, PermissionAnswer, Role, StopReason, ToolCall, Usage, Via,
    peer::Peer, session,
};
use mate_rpc::{Answer, Response};
use proptest::prelude::*;
use std::collections::VecDeque;
use tokio::io::DuplexStream;

/// A reader over a stream in memory.
struct Stage {
    runtime: DuplexStream,
    events: mpsc::Receiver<Item>,
    written: mpsc::Receiver<Outgoing>,
    exit: watch::Sender<Option<Exit>>,
    cancels: watch::Sender<u64>,
    _peer: Peer,
    link: Arc<Link>,
}

impl Stage {
    fn new(limit: usize) -> Self {
        let (items, events) = mpsc::channel(1_000);
        let (outgoing, written) = mpsc::channel(200);
        let (exit, exited) = watch::channel(None);
        let (cancels, cancelled) = watch::channel(0);
        let (runtime, stdout) = tokio::io::duplex(100);
        let link = Arc::new(Link::new(exited));
        link.complained.send_replace(true);
        let peer = Peer::new(outgoing.clone());
        let desk = Desk::new(items.clone(), outgoing, cancelled);
        let reader = Reader { link: Arc::clone(&link), items, desk, calls: peer.calls(), garbage: 0 };
        tokio::spawn(reader.run(stdout, limit));
        Self { runtime, events, written, exit, cancels, _peer: peer, link }
    }

    async fn says(&mut self, line: &str) {
        self.runtime.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn event(&mut self) -> Event {
        match self.events.recv().await {
            Some(Item::Event(event)) => event,
            Some(Item::Barrier(_)) | None => panic!("no event"),
        }
    }

    async fn activity(&mut self) -> Activity {
        match self.event().await {
            Event::Activity(activity) => activity,
            other @ (Event::Permission(_) | Event::Diagnostic(_)) => panic!("{other:?}"),
        }
    }

    async fn permission(&mut self) -> crate::acp::PermissionRequest {
        match self.event().await {
            Event::Permission(request) => request,
            other @ (Event::Activity(_) | Event::Diagnostic(_)) => panic!("{other:?}"),
        }
    }

    async fn written(&mut self) -> String {
        self.written.recv().await.unwrap().line
    }

    /// What is told until the end of the output.
    async fn rest(mut self) -> Vec<Event> {
        self.exit.send_replace(Some(Exit::Code(0)));
        drop(self.runtime);
        let mut rest = Vec::new();
        while let Some(item) = self.events.recv().await {
            if let Item::Event(event) = item {
                rest.push(event);
            }
        }
        rest
    }
}

fn tool(
    id: &str,
    title: Option<&str>,
    name: Option<&str>,
    kind: Option<&str>,
    status: Option<&str>,
) -> ToolCall {
    let own = |word: Option<&str>| word.map(str::to_owned);
    ToolCall {
        id: id.to_owned(),
        title: own(title),
        name: own(name),
        kind: own(kind),
        status: own(status),
        ..ToolCall::default()
    }
}

/// Without the size, which is the line's.
fn unsized_(activity: Activity) -> Activity {
    match activity {
        Activity::ToolCall(call) => Activity::ToolCall(ToolCall { size: 0, ..call }),
        Activity::ToolUpdate(call) => Activity::ToolUpdate(ToolCall { size: 0, ..call }),
        Activity::Other { kind, .. } => Activity::Other { kind, size: 0 },
        same @ (Activity::Message(_)
        | Activity::Plan { .. }
        | Activity::Usage(_)
        | Activity::Mode { .. }
        | Activity::Commands { .. }) => same,
    }
}

fn other(kind: &str) -> Activity {
    Activity::Other { kind: kind.to_owned(), size: 0 }
}

fn said(text: &str) -> Activity {
    Activity::Message(Message { role: Role::Agent, text: text.to_owned() })
}

async fn heard(lines: &[(&str, Activity)]) {
    let mut stage = Stage::new(1 << 20);
    for (line, expected) in lines {
        stage.says(line).await;
        assert_eq!(unsized_(stage.activity().await), *expected, "{line}");
    }
}

#[tokio::test]
async fn opencode_is_understood() {
    let call = |title, kind, status| tool("call_b51b", title, None, kind, Some(status));
    let usage = Usage {
        context_used: Some(10),
        context_size: Some(200_000),
        cost: Some("0 USD".to_owned()),
        ..Usage::default()
    };
    heard(&[
        (
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ses_dd1c","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"init","description":"guided AGENTS.md setup"},{"name":"review","description":"review changes [commit|branch|pr], defaults to uncommitted"}]}}}"#,
            Activity::Commands { names: vec!["init".to_owned(), "review".to_owned()] },
        ),
        (
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ses_dd1c","update":{"sessionUpdate":"tool_call","toolCallId":"call_b51b","title":"probe_note","kind":"other","status":"pending","locations":[],"rawInput":{}}}}"#,
            Activity::ToolCall(call(Some("probe_note"), Some("other"), "pending")),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ses_dd1c","update":{"sessionUpdate":"tool_call_update","toolCallId":"call_b51b","status":"completed","content":[{"type":"content","content":{"type":"text","text":"noted: hello"}}],"rawOutput":{"output":"noted: hello","metadata":{"truncated":false}}}}}"#,
            Activity::ToolUpdate(call(None, None, "completed")),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ses_dd1c","update":{"sessionUpdate":"agent_message_chunk","messageId":"msg_22e3","content":{"type":"text","text":"All done, friend."}}}}"#,
            said("All done, friend."),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ses_dd1c","update":{"sessionUpdate":"usage_update","used":10,"size":200000,"cost":{"amount":0,"currency":"USD"}}}}"#,
            Activity::Usage(usage),
        ),
    ])
    .await;
}

#[tokio::test]
async fn claudes_adapter_is_understood() {
    let call =
        |title, status| tool("toolu_1ef8", title, Some("mcp__probe__note"), title.map(|_| "other"), status);
    heard(&[
        (
            r#"{"jsonrpc":"2.0","method":"_auth/status_update","params":{"authStatus":{"kind":"api_key","label":"Anthropic API key","detail":"ANTHROPIC_API_KEY"}}}"#,
            other("_auth/status_update"),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"5afc","update":{"_meta":{"claudeCode":{"toolName":"mcp__probe__note"}},"toolCallId":"toolu_1ef8","sessionUpdate":"tool_call","name":"mcp__probe__note","rawInput":{},"status":"pending","title":"mcp__probe__note","kind":"other","content":[]}}}"#,
            Activity::ToolCall(call(Some("mcp__probe__note"), Some("pending"))),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"5afc","update":{"_meta":{"claudeCode":{"toolResponse":[{"type":"text","text":"noted: hello"}],"toolName":"mcp__probe__note"}},"toolCallId":"toolu_1ef8","sessionUpdate":"tool_call_update"}}}"#,
            Activity::ToolUpdate(call(None, None)),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"5afc","update":{"sessionUpdate":"session_info_update","title":"do it","updatedAt":"2026-11-30T20:44:54.654Z"}}}"#,
            other("session_info_update"),
        ),
    ])
    .await;
}

#[tokio::test]
async fn codexs_adapter_is_understood() {
    heard(&[
        (
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"01a2","update":{"sessionUpdate":"config_option_update","configOptions":[{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"workspace-write","options":[{"value":"read-only","name":"Read-only"}]}]}}}"#,
            other("config_option_update"),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"01a2","update":{"sessionUpdate":"tool_call","toolCallId":"call_ef3f","kind":"execute","title":"mcp.probe.note","status":"in_progress","rawInput":{"server":"probe","tool":"note","arguments":{"text":"hello"}},"_meta":{"is_mcp_tool_call":true}}}}"#,
            Activity::ToolCall(tool("call_ef3f", Some("mcp.probe.note"), Some("probe-note"), Some("execute"), Some("in_progress"))),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"01a2","update":{"sessionUpdate":"tool_call_update","toolCallId":"call_ef3f","status":"completed","rawOutput":{"result":{"content":[{"type":"text","text":"noted: hello"}],"structuredContent":null,"_meta":null},"error":null}}}}"#,
            Activity::ToolUpdate(tool("call_ef3f", None, None, None, Some("completed"))),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"01a2","update":{"sessionUpdate":"usage_update","used":15,"size":258400}}}"#,
            Activity::Usage(Usage { context_used: Some(15), context_size: Some(258_400), ..Usage::default() }),
        ),
    ])
    .await;
}

/// Each of them numbers its requests from 0, and withdraws an open one when the turn is cancelled.
#[tokio::test]
async fn permissions_are_asked_and_answered_as_the_adapters_do() {
    let mut stage = Stage::new(1 << 20);
    let opencode = r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"ses_dd1c","toolCall":{"toolCallId":"call_b51b","title":"probe_note","kind":"other","status":"pending","locations":[],"rawInput":{}},"options":[{"optionId":"once","kind":"allow_once","name":"Allow once"},{"optionId":"always","kind":"allow_always","name":"Always allow"},{"optionId":"reject","kind":"reject_once","name":"Reject"}]}}"#;
    let codex = r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"01a2","toolCall":{"toolCallId":"call_ef3f","kind":"execute","status":"pending"},"_meta":{"is_mcp_tool_approval":true},"options":[{"optionId":"allow_once","name":"Allow","kind":"allow_once"},{"optionId":"cancel","name":"Cancel","kind":"reject_once"}]}}"#;
    stage.says(opencode).await;
    let asked = stage.permission().await;
    assert_eq!((asked.id, asked.tool.title.as_deref()), (1, Some("probe_note")));
    assert_eq!(asked.option(true).unwrap().id, "once");
    assert_eq!(asked.option(false).unwrap().id, "reject");
    asked.answer.send(PermissionAnswer::Selected("once".to_owned())).unwrap();
    let selected =
        r#"{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"once"}}}"#;
    assert_eq!(stage.written().await, selected);
    let cancelled = r#"{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}"#;
    // Withdrawn; the answer that is given all the same goes nowhere.
    stage.says(codex).await;
    let asked = stage.permission().await;
    stage.says(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}"#).await;
    assert_eq!(stage.written().await, cancelled);
    assert!(asked.answer.send(PermissionAnswer::Selected("allow_once".to_owned())).is_err());
    // A cancel of the turn ends what is open, and not what is asked later.
    stage.says(codex).await;
    let asked = stage.permission().await;
    stage.cancels.send_modify(|count| *count += 1);
    assert_eq!(stage.written().await, cancelled);
    assert!(asked.answer.is_closed());
    stage.says(codex).await;
    let asked = stage.permission().await;
    // An option that was not offered is no leave.
    asked.answer.send(PermissionAnswer::Selected("allow_always".to_owned())).unwrap();
    assert_eq!(stage.written().await, cancelled);
    for (method, id) in
        [("fs/read_text_file", "7"), ("terminal/create", "\"t\""), ("elicitation/create", "-1")]
    {
        stage
            .says(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"path":"/etc/passwd"}}}}"#
            ))
            .await;
        let refused = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"Agent Mate does not serve the method `{method}`"}}}}"#
        );
        assert_eq!(stage.written().await, refused);
        let told = stage.event().await;
        assert!(
            matches!(&told, Event::Diagnostic(Diagnostic::Refused { method: told }) if told == method),
            "{told:?}"
        );
    }
}

#[tokio::test]
async fn what_is_open_ends_with_the_output_and_nothing_is_asked_after_it() {
    let mut stage = Stage::new(1 << 20);
    let ask = r#"{"id":"x","method":"session/request_permission","params":{"options":[]}}"#;
    stage.says(ask).await;
    let mut answer = stage.permission().await.answer;
    // Its owner is still there, and nobody cancels anything.
    stage.exit.send_replace(Some(Exit::Code(0)));
    drop(stage.runtime);
    timeout(Duration::from_secs(20), answer.closed()).await.unwrap();
    assert!(stage.events.recv().await.is_none());
    assert!(matches!(stage.link.lost.borrow().as_ref(), Some(Lost::Exited { exit: Exit::Code(0), .. })));
    drop(stage.cancels);
}

#[test]
fn their_introductions_are_read() {
    let read = |answer: &str| AgentInfo::read(&serde_json::from_str(answer).unwrap());
    let info = |name: &str, version: &str, auth: &[&str]| AgentInfo {
        name: Some(name.to_owned()),
        version: Some(version.to_owned()),
        mcp_http: true,
        load: true,
        resume: true,
        auth_methods: auth.iter().map(|method| (*method).to_owned()).collect(),
    };
    let opencode = r#"{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"mcpCapabilities":{"http":true,"sse":true},"promptCapabilities":{"embeddedContext":true,"image":true},"sessionCapabilities":{"close":{},"fork":{},"list":{},"resume":{}}},"authMethods":[{"description":"Run `opencode auth login` in the terminal","name":"Login with opencode","id":"opencode-login"}],"agentInfo":{"name":"OpenCode","version":"1.18.33"}}"#;
    assert_eq!(read(opencode).unwrap(), info("OpenCode", "1.18.33", &["opencode-login"]));
    let claude = r#"{"protocolVersion":1,"agentCapabilities":{"_meta":{"claudeCode":{"promptQueueing":true},"authStatus":{}},"promptCapabilities":{"image":true},"mcpCapabilities":{"http":true,"sse":true},"auth":{"logout":{}},"providers":{},"loadSession":true,"sessionCapabilities":{"additionalDirectories":{},"close":{},"resume":{},"systemPrompt":{"mode":{"override":{}}}}},"agentInfo":{"name":"@agentclientprotocol/claude-agent-acp","title":"Claude Agent","version":"0.101.0"},"authMethods":[],"_meta":{"steering":{"supported":true}}}"#;
    assert_eq!(read(claude).unwrap(), info("@agentclientprotocol/claude-agent-acp", "0.101.0", &[]));
    let codex = r#"{"protocolVersion":1,"agentInfo":{"name":"@agentclientprotocol/codex-acp","title":"Codex","version":"2.6.0"},"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{},"subagents":{}},"mcpCapabilities":{"acp":false,"http":true,"sse":false}},"authMethods":[{"id":"api-key","name":"API Key","_meta":{"api-key":{"provider":"openai"}}},{"id":"chat-gpt","name":"ChatGPT"}]}"#;
    assert_eq!(
        read(codex).unwrap(),
        info("@agentclientprotocol/codex-acp", "2.6.0", &["api-key", "chat-gpt"])
    );
    assert_eq!(read(r#"{"protocolVersion":1}"#).unwrap(), AgentInfo::default());
    for version in ["2", "0", "\"1\"", "null", "{}"] {
        let other = read(&format!(r#"{{"protocolVersion":{version}}}"#)).unwrap_err();
        assert!(matches!(&other, AcpError::Version { version: told } if told == version), "{other}");
    }
}

#[test]
fn their_answers_are_read() {
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let claude = r#"{"sessionId":"5afc","modes":{"currentModeId":"default","availableModes":[{"id":"default","name":"Manual","description":"Always ask before making changes"},{"id":"plan","name":"Plan"}]},"configOptions":[{"id":"mode","type":"select","currentValue":"default"}]}"#;
    let start = session::start("5afc".to_owned(), Via::Http, &value(claude));
    assert_eq!(
        (start.mode.as_deref(), start.modes),
        (Some("default"), vec!["default".to_owned(), "plan".to_owned()])
    );
    let opencode = r#"{"sessionId":"ses_dd1c","configOptions":[{"id":"model","name":"Model","category":"model","type":"select","currentValue":"stub/stub-model","options":[]}]}"#;
    let start = session::start("ses_dd1c".to_owned(), Via::Stdio, &value(opencode));
    assert_eq!((start.mode, start.modes), (None, Vec::new()));
    for (answer, reason, total) in [
        (
            r#"{"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":5,"totalTokens":15},"_meta":{}}"#,
            StopReason::EndTurn,
            15,
        ),
        (
            r#"{"stopReason":"cancelled","usage":{"totalTokens":15,"inputTokens":10,"cachedReadTokens":0,"outputTokens":5,"thoughtTokens":0},"_meta":{"quota":{}}}"#,
            StopReason::Cancelled,
            15,
        ),
    ] {
        let (found, usage) = parse::turn(&value(answer)).unwrap();
        assert_eq!((found, usage.unwrap().total_tokens), (reason, Some(total)));
    }
    for (answer, words) in [
        (
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error: OpenCode service failure","data":{"service":"session"}}}"#,
            r#"the runtime refused session/load: Internal error: OpenCode service failure: {"service":"session"} (-32603)"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"Resource not found","data":{"sessionId":"no-such-session"}}}"#,
            r#"the runtime refused session/load: Resource not found: {"sessionId":"no-such-session"} (-32002)"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error","data":{"details":"no rollout found"}}}"#,
            r#"the runtime refused session/load: Internal error: {"details":"no rollout found"} (-32603)"#,
        ),
        (
            r#"{"id":2,"error":{"code":99999999999,"message":"far out"}}"#,
            "the runtime refused session/load: far out (0)",
        ),
    ] {
        let Ok(mate_rpc::Message::Response(Response { answer: Answer::Error(fault), .. })) =
            mate_rpc::Message::read_leniently(answer.as_bytes())
        else {
            panic!("{answer}")
        };
        assert_eq!(AcpError::refused("session/load", &fault).to_string(), words);
    }
}

/// What may stand between two messages, and what is told of it.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"  \r\n".to_vec()),
        Just("\u{feff}\n".as_bytes().to_vec()),
        Just(b"npm warn deprecated\n".to_vec()),
        Just(b"\xff\xfe\x00\n".to_vec()),
        Just(b"{\"jsonrpc\":\"2.0\",\"id\":4242,\"result\":{}}\n".to_vec()),
        Just(b"{\"jsonrpc\":\"2.0\",\"method\":\"$/whatever\"}\n".to_vec()),
        Just("[\u{2028}]\n".as_bytes().to_vec()),
    ]
}

/// A chunk of text as a runtime may write it: its line, and the text that it is.
fn chunk() -> impl Strategy<Value = (Vec<u8>, String)> {
    let piece = prop_oneof![
        Just(("\\ud83d\\ude00".to_owned(), "😀".to_owned())),
        Just(("\\ud83d-".to_owned(), "\u{fffd}-".to_owned())),
        Just(("\\udc00x".to_owned(), "\u{fffd}x".to_owned())),
        Just(("\u{2028}\u{2029}\u{85}".to_owned(), "\u{2028}\u{2029}\u{85}".to_owned())),
        Just(("\\r\\n".to_owned(), "\r\n".to_owned())),
        Just(("\\\\ud800".to_owned(), "\\ud800".to_owned())),
        Just(("\u{feff}".to_owned(), "\u{feff}".to_owned())),
        "[a-zß]{1,9}".prop_map(|text| (text.clone(), text)),
    ];
    (prop::collection::vec(piece, 1..6), any::<bool>(), any::<bool>()).prop_map(|(pieces, bom, cr)| {
        let (written, meant): (Vec<_>, Vec<_>) = pieces.into_iter().unzip();
        let mut line = if bom { "\u{feff}".as_bytes().to_vec() } else { Vec::new() };
        line.extend_from_slice(
            format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{}"}}}}}}}}"#,
                written.concat()
            )
            .as_bytes(),
        );
        line.extend_from_slice(if cr { b"\r\n" } else { b"\n" });
        (line, meant.concat())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However the output is cut into pieces, and whatever stands between: each message arrives once, in order.
    #[test]
    fn f113_each_message_arrives_however_it_is_written(
        parts in prop::collection::vec((prop::collection::vec(noise(), 0..3), chunk()), 1..8),
        cuts in prop::collection::vec(1_usize..90, 0..40),
    ) {
        let mut output = VecDeque::new();
        let mut expected = Vec::new();
        for (between, (line, text)) in parts {
            output.extend(between.concat());
            output.extend(line);
            expected.push(said(&text));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let rest = runtime.block_on(async {
            let mut stage = Stage::new(1 << 20);
            let mut cuts = cuts.into_iter().cycle();
            while !output.is_empty() {
                let size = cuts.next().unwrap_or(1_000).min(output.len());
                let piece: Vec<u8> = output.drain(..size).collect();
                stage.runtime.write_all(&piece).await.unwrap();
                tokio::task::yield_now().await;
            }
            stage.rest().await
        });
        let found: Vec<_> = rest.into_iter().filter_map(|event| match event {
            Event::Activity(activity) => Some(activity),
            Event::Permission(_) | Event::Diagnostic(_) => None,
        }).collect();
        prop_assert_eq!(found, expected);
    }
}
