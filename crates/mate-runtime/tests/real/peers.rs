//! Runtimes that take the protocol lightly, in Python: they answer twice, out of order, to nobody, too late, or never.

use crate::{
    surroundings::until,
    talking::{Stage, drained, stopped},
};
use mate_runtime::{
    acp::{
        AcpError, Activity, Agent, AgentOptions, Diagnostic, Event, Lost, PermissionAnswer,
        PermissionRequest, StopReason, TurnEnd,
    },
    container::{Exit, SignalKind},
};
use std::time::Duration;
use tokio::{sync::mpsc, task::JoinHandle};

crate::cases! {
    answers_that_nobody_waits_for_end_no_turn,
    sloppy_envelopes_are_understood_and_in_doubt_no_success,
    a_request_that_is_given_up_is_withdrawn_and_its_late_answer_ignored,
    a_permission_is_withdrawn_by_the_runtime_and_by_its_end,
    the_end_is_noticed_behind_more_permissions_than_may_be_open,
    a_runtime_that_does_not_read_is_cancelled_in_order_and_ended,
    what_is_nested_too_deeply_costs_one_message,
}

type Turn = JoinHandle<Result<TurnEnd, AcpError>>;

fn prompted(agent: &Agent) -> Turn {
    let agent = agent.clone();
    tokio::spawn(async move { agent.prompt("x").await })
}

async fn permission(events: &mut mpsc::Receiver<Event>) -> PermissionRequest {
    loop {
        if let Event::Permission(request) = events.recv().await.unwrap() {
            return request;
        }
    }
}

/// Permission requests with an id each: `ask(id)`.
const ASK: &str = "def ask(i): say({'jsonrpc':'2.0','id':i,'method':'session/request_permission','params':{'sessionId':'s','toolCall':{'toolCallId':'t'},'options':[{'optionId':'yes','name':'Yes','kind':'allow_once'}]}})\n";

async fn answers_that_nobody_waits_for_end_no_turn() {
    let stage = Stage::new().await;
    // The prompt's id is the third: none of these is an answer to it.
    let body = r"
m=hear()
for i in [1,2,str(m['id']),m['id']+1,-m['id'],m['id']+0.5,0,None,'x'*300,[m['id']],True]:
 say({'jsonrpc':'2.0','id':i,'result':{'stopReason':'max_tokens'}})
line(b'{\xe2\x80\xa8\n')
text('on')
ok(m,{'stopReason':'end_turn'}); ok(m,{'stopReason':'refusal'})
say({'jsonrpc':'2.0','id':m['id'],'error':{'code':-1,'message':'after all not'}})
n=hear()
ok(m,{'stopReason':'refusal'})
ok(n,{'stopReason':'max_tokens'})
time.sleep(60)";
    let (agent, mut events) = stage.odd(body, AgentOptions::default()).await;
    assert_eq!(agent.prompt("x").await.unwrap(), stopped(StopReason::EndTurn));
    assert_eq!(drained(&mut events).0, "on");
    assert_eq!(agent.prompt("y").await.unwrap(), stopped(StopReason::MaxTokens));
}

async fn sloppy_envelopes_are_understood_and_in_doubt_no_success() {
    let stage = Stage::new().await;
    let body = r"
def turn(**more):
 m=hear(); say({'id':m['id'],**more})
turn(result={'stopReason':'end_turn'},error=None)
turn(jsonrpc='1.0',result=None,error={'code':-32000,'message':'no licence','data':{'why':'expired'}})
turn(jsonrpc='2.0',result={'stopReason':'end_turn'},error={'message':7})
turn(jsonrpc='2.0')
turn(jsonrpc='2.0',error='just words')
turn(method=None,params=None,result={'stopReason':'refusal'},more=[])
m=hear()
say({'method':'session/update','id':None,'params':{'update':{'sessionUpdate':'plan','entries':[]}}})
say({'id':'q','method':'who/knows'})
assert hear()['error']['code']==-32601
ok(m,{'stopReason':'end_turn'})
time.sleep(60)";
    let (agent, mut events) = stage.odd(body, AgentOptions::default()).await;
    let failed = |code: i32, message: &str| TurnEnd::Failed { code, message: message.to_owned() };
    for expected in [
        stopped(StopReason::EndTurn),
        failed(-32000, r#"no licence: {"why":"expired"}"#),
        failed(0, r#"{"message": 7}"#),
        stopped(StopReason::Other("unnamed".to_owned())),
        failed(0, "just words"),
        stopped(StopReason::Refusal),
        stopped(StopReason::EndTurn),
    ] {
        assert_eq!(agent.prompt("x").await.unwrap(), expected);
    }
    let (_, all) = drained(&mut events);
    let [Event::Activity(Activity::Plan { .. }), Event::Diagnostic(Diagnostic::Refused { method })] =
        all.as_slice()
    else {
        panic!("{all:?}")
    };
    assert_eq!(method, "who/knows");
}

async fn a_request_that_is_given_up_is_withdrawn_and_its_late_answer_ignored() {
    let stage = Stage::new().await;
    let body = r"
m=hear(); w=hear()
open('heard','w').write(json.dumps([m['method'],m['id'],w['method'],w['params'],'id' in w]))
ok(m,{})
p=hear(); ok(m,{'stopReason':'refusal'}); ok(p,{'stopReason':'end_turn'})
time.sleep(60)";
    let options = AgentOptions { session_timeout: Duration::from_secs(2), ..AgentOptions::default() };
    let (agent, _events) = stage.odd(body, options).await;
    let silent = agent.set_mode("ask").await.unwrap_err();
    assert!(matches!(silent, AcpError::TimedOut { method: "session/set_mode", seconds: 2 }), "{silent}");
    assert_eq!(agent.prompt("x").await.unwrap(), stopped(StopReason::EndTurn));
    assert_eq!(
        stage.read("heard"),
        r#"["session/set_mode", 3, "$/cancel_request", {"requestId": 3}, false]"#
    );
}

async fn a_permission_is_withdrawn_by_the_runtime_and_by_its_end() {
    let stage = Stage::new().await;
    let body = format!(
        r"{ASK}
m=hear()
ask('a'); ask(2)
say({{'jsonrpc':'2.0','method':'$/cancel_request','params':{{'requestId':'2'}}}})
say({{'jsonrpc':'2.0','method':'$/cancel_request','params':{{}}}})
say({{'jsonrpc':'2.0','method':'$/cancel_request','params':{{'requestId':'a'}}}})
r=hear(); text(json.dumps([r['id'],r['result']['outcome']]))
r=hear(); text(json.dumps([r['id'],r['result']['outcome']]))
ask(3)
hear()
os._exit(4)"
    );
    let (agent, mut events) = stage.odd(&body, AgentOptions::default()).await;
    let turn = prompted(&agent);
    let (first, second) = (permission(&mut events).await, permission(&mut events).await);
    assert_eq!((first.id, second.id), (1, 2));
    until("the first is withdrawn", async || first.answer.is_closed()).await;
    assert!(!second.answer.is_closed(), "the other one was withdrawn with it");
    second.answer.send(PermissionAnswer::Selected("yes".to_owned())).unwrap();
    let third = permission(&mut events).await;
    agent.close_input();
    let end = turn.await.unwrap().unwrap();
    assert!(matches!(end, TurnEnd::Lost(Lost::Exited { exit: Exit::Code(4), .. })), "{end:?}");
    until("nobody waits any more", async || third.answer.is_closed()).await;
}

async fn the_end_is_noticed_behind_more_permissions_than_may_be_open() {
    let stage = Stage::new().await;
    let body = format!("{ASK}\nhear()\nfor i in range(200): ask(i)\ntext('after')\nos._exit(6)");
    let (agent, mut events) = stage.odd(&body, AgentOptions::default()).await;
    let turn = prompted(&agent);
    let mut open = Vec::new();
    let mut rest = String::new();
    // Nobody answers any of them, and the end comes all the same.
    while let Some(event) = tokio::time::timeout(Duration::from_secs(20), events.recv()).await.unwrap() {
        match event {
            Event::Permission(request) => open.push(request),
            Event::Activity(Activity::Message(message)) => rest.push_str(&message.text),
            Event::Activity(_) | Event::Diagnostic(_) => {}
        }
        if rest == "after" {
            break;
        }
    }
    assert_eq!(open.len(), 64, "more are open than may be");
    let end = turn.await.unwrap().unwrap();
    assert!(matches!(end, TurnEnd::Lost(Lost::Exited { exit: Exit::Code(6), .. })), "{end:?}");
    until("all are withdrawn", async || open.iter().all(|request| request.answer.is_closed())).await;
}

async fn a_runtime_that_does_not_read_is_cancelled_in_order_and_ended() {
    let stage = Stage::new().await;
    let process = stage.container.spawn(stage.launch(&["python3", "-c", DEAF])).await.unwrap();
    let id = process.id;
    let (agent, mut events) = Agent::connect(process, AgentOptions::default()).await.unwrap();
    agent.new_session(stage.home.path(), &stage.relay()).await.unwrap();
    // More than a pipe takes: the prompt is half written, and the cancel waits behind it, which comes in the same moment.
    let text = "x".repeat(4 << 20);
    let mut turn = Box::pin(agent.prompt(&text));
    tokio::select! {
        biased;
        end = &mut turn => panic!("{end:?}"),
        () = std::future::ready(()) => {}
    }
    for _ in 0..500 {
        agent.cancel().unwrap();
    }
    std::fs::write(stage.home.path().join("read"), "").unwrap();
    assert_eq!(turn.await.unwrap(), stopped(StopReason::Cancelled));
    drop(drained(&mut events));
    // Whoever is deaf to the end is ended by its owner, and the turn with it.
    std::fs::remove_file(stage.home.path().join("read")).unwrap();
    let turn = prompted(&agent);
    stage.container.signal(id, SignalKind::Kill).await.unwrap();
    let end = turn.await.unwrap().unwrap();
    assert!(matches!(end, TurnEnd::Lost(Lost::Exited { exit: Exit::Signal(9), .. })), "{end:?}");
}

/// Reads nothing of a prompt until it may; then answers it when it was cancelled after it.
const DEAF: &str = r"
import json,sys,time,os
def hear(): return json.loads(sys.stdin.readline())
def ok(m,r): print(json.dumps({'jsonrpc':'2.0','id':m['id'],'result':r}),flush=True)
ok(hear(),{'protocolVersion':1}); ok(hear(),{'sessionId':'s'})
while True:
 while not os.path.exists('read'): time.sleep(0.01)
 m=hear()
 if m['method']=='session/prompt':
  c=hear(); assert c['method']=='session/cancel', c
  ok(m,{'stopReason':'cancelled'})
";

async fn what_is_nested_too_deeply_costs_one_message() {
    let stage = Stage::new().await;
    let body = r#"
deep='['*100000+']'*100000
m=hear()
line('{"jsonrpc":"2.0","method":"session/update","params":{"update":'+deep+'}}')
line('{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":'+deep+'}')
assert hear()['error']['code']==-32602
line('{"jsonrpc":"2.0","id":%d,"result":%s}'%(m['id'],deep))
m=hear(); text('on'); ok(m,{'stopReason':'end_turn'})
time.sleep(60)"#;
    let (agent, mut events) = stage.odd(body, AgentOptions::default()).await;
    let end = agent.prompt("x").await.unwrap();
    assert!(
        matches!(&end, TurnEnd::Failed { code: 0, message } if message.contains("cannot be used")),
        "{end:?}"
    );
    let (_, all) = drained(&mut events);
    assert!(matches!(all.as_slice(), [Event::Diagnostic(Diagnostic::Garbage { lines: 1, .. })]), "{all:?}");
    assert_eq!(agent.prompt("y").await.unwrap(), stopped(StopReason::EndTurn));
    assert_eq!(drained(&mut events).0, "on");
}
