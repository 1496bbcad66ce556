//! A runtime that answers twice, out of order, too late, to nobody, or never.

use super::*;
use crate::acp::wire::{CancelTurn, SetMode};
use mate_rpc::Message;
use serde_json::Value;

const QUEUED: usize = 4;

fn pair() -> (Peer, mpsc::Receiver<Outgoing>) {
    let (outgoing, written) = mpsc::channel(QUEUED);
    (Peer::new(outgoing), written)
}

fn mode(mode_id: &str) -> SetMode<'_> {
    SetMode { session_id: "s", mode_id }
}

async fn asked(peer: &Peer, mode_id: &str) -> Call {
    let mut call = peer.begin(&mode(mode_id)).unwrap();
    call.send().await.unwrap();
    call
}

/// What the runtime reads next.
fn read(written: &mut mpsc::Receiver<Outgoing>) -> Option<Value> {
    written.try_recv().ok().map(|outgoing| serde_json::from_str(&outgoing.line).unwrap())
}

fn says(peer: &Peer, text: &str) {
    match Message::read_leniently(text.as_bytes()) {
        Ok(Message::Response(response)) => peer.calls.answered(response),
        other => panic!("{other:?}"),
    }
}

async fn result(mut call: Call) -> String {
    match call.answer().await {
        Ok(Answer::Result(raw)) => raw.get().to_owned(),
        Ok(Answer::Error(fault)) => format!("error {}", fault.0.get()),
        Err(Closed) => "closed".to_owned(),
    }
}

#[tokio::test]
async fn answers_out_of_order_find_who_asked_and_a_second_one_finds_nobody() {
    let (peer, mut written) = pair();
    let (one, two) = (asked(&peer, "one").await, asked(&peer, "two").await);
    let first = read(&mut written).unwrap();
    assert_eq!((&first["id"], &first["method"]), (&1.into(), &"session/set_mode".into()));
    assert_eq!(read(&mut written).unwrap()["params"]["modeId"], "two");
    for text in [
        // Wrong ids: unknown, a string, no integer, negative, null.
        r#"{"jsonrpc":"2.0","id":3,"result":"wrong"}"#,
        r#"{"jsonrpc":"2.0","id":"1","result":"wrong"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"result":"wrong"}"#,
        r#"{"jsonrpc":"2.0","id":-1,"result":"wrong"}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"wrong"}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":"second"}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":"again"}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":"after the error"}"#,
    ] {
        says(&peer, text);
    }
    assert_eq!(result(one).await, r#"error {"code":1}"#);
    assert_eq!(result(two).await, r#""second""#);
    assert!(read(&mut written).is_none(), "what was answered is not withdrawn");
}

#[tokio::test]
async fn a_request_that_is_given_up_is_withdrawn_once_and_its_late_answer_ignored() {
    let (peer, mut written) = pair();
    let call = asked(&peer, "slow").await;
    assert_eq!(read(&mut written).unwrap()["id"], 1);
    drop(call);
    let told = read(&mut written).unwrap();
    assert_eq!((&told["method"], &told["params"]["requestId"]), (&"$/cancel_request".into(), &1.into()));
    assert!(told.get("id").is_none(), "it is a notification");
    says(&peer, r#"{"jsonrpc":"2.0","id":1,"result":"late"}"#);
    // The next one has an id of its own, and is not answered by what was meant for the first.
    let next = asked(&peer, "next").await;
    assert_eq!(read(&mut written).unwrap()["id"], 2);
    says(&peer, r#"{"jsonrpc":"2.0","id":1,"result":"later"}"#);
    says(&peer, r#"{"jsonrpc":"2.0","id":2,"result":"right"}"#);
    assert_eq!(result(next).await, r#""right""#);
    // One that was never sent is nothing to the runtime.
    drop(peer.begin(&mode("unsent")).unwrap());
    assert!(read(&mut written).is_none());
}

#[tokio::test]
async fn who_waits_is_told_of_the_end_and_who_asks_later_too() {
    let (peer, written) = pair();
    let call = asked(&peer, "one").await;
    peer.calls.close();
    assert_eq!(result(call).await, "closed");
    assert_eq!(peer.begin(&mode("two")).err(), Some(NotBegun::Closed));
    says(&peer, r#"{"jsonrpc":"2.0","id":1,"result":"after the end"}"#);
    // Nobody writes any more, while answers may still be read.
    let (peer, gone) = pair();
    drop((written, gone));
    let mut call = peer.begin(&mode("one")).unwrap();
    assert_eq!(call.send().await, Err(Closed));
    assert_eq!(peer.tell(&CancelTurn { session_id: "s" }), Err(Closed));
}

#[tokio::test]
async fn what_waits_is_bounded() {
    let (peer, mut written) = pair();
    let calls: Vec<_> = (0..WAITING).map(|_| peer.begin(&mode("m")).unwrap()).collect();
    assert_eq!(peer.begin(&mode("m")).err(), Some(NotBegun::TooMany));
    drop(calls);
    let call = peer.begin(&mode("m")).unwrap();
    assert_eq!(call.id, WAITING as u64 + 1);
    drop(call);
    // The runtime reads nothing: one cancel waits behind the full queue, however often it is asked for.
    for _ in 0..QUEUED + 50 {
        peer.tell(&CancelTurn { session_id: "s" }).unwrap();
    }
    let mut read = 0;
    while let Ok(Some(outgoing)) =
        tokio::time::timeout(std::time::Duration::from_millis(100), written.recv()).await
    {
        assert_eq!(
            outgoing.line,
            r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#
        );
        read += 1;
    }
    assert_eq!(read, QUEUED + 1);
}
