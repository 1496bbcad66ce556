//! What is certain about a request that got no answer.

use crate::server::{answer, client, exchange, post, request, serve};
use http::Method;
use mate_http::{BodyFault, Failed, Request};
use std::{io::Write, net::TcpListener, sync::mpsc};

#[tokio::test]
async fn a_request_goes_out_as_it_was_made() {
    let (tell, told) = mpsc::channel();
    let url = serve(move |_, mut stream| tell.send(answer(&mut stream).unwrap()).unwrap());
    let client = client(&format!("{url}?y=1"));
    assert_eq!(exchange(&client).await, "ok");
    let asked = told.recv().unwrap();
    let host = url.strip_prefix("http://").unwrap().strip_suffix("/x").unwrap();
    let mut lines: Vec<&str> = asked.split("\r\n").collect();
    lines.sort_unstable();
    let host = format!("host: {host}");
    assert_eq!(lines, ["", "POST /x?y=1 HTTP/1.1", "content-length: 5", "hello", host.as_str()]);
}

#[tokio::test]
async fn g05_a_refused_connection_is_proof_that_nothing_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let failed = post(&client(&url)).await.err().unwrap();
    assert!(matches!(&failed, Failed::NotSent(why) if why.contains("refused")), "{failed}");
    let failed = post(&client("http://nowhere.invalid/")).await.err().unwrap();
    assert!(matches!(failed, Failed::NotSent(_)), "{failed}");
}

#[tokio::test]
async fn what_is_called_off_reaches_nobody() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let url = serve(move |_, mut stream| tell.send(answer(&mut stream)).unwrap());
    let client = client(&url);
    let off = Request::new(Method::POST, client.endpoint().target().clone()).body("hello");
    assert!(matches!(client.send(&off, || false).await, Err(Failed::CalledOff)));
    assert_eq!(told.recv().await.unwrap(), None, "the connection closes without a byte");
}

#[tokio::test]
async fn g04_a_request_that_was_read_is_unknown_and_never_sent_again() {
    let (tell, told) = mpsc::channel();
    let url = serve(move |n, mut stream| {
        // The second request comes over the connection that was kept, and gets nothing.
        answer(&mut stream).unwrap();
        request(&mut stream).unwrap();
        tell.send(n).unwrap();
    });
    let client = client(&url);
    assert_eq!(exchange(&client).await, "ok");
    let failed = post(&client).await.err().unwrap();
    assert!(matches!(failed, Failed::Unknown(_)), "{failed}");
    assert_eq!(told.recv().unwrap(), 0);
    assert!(told.try_recv().is_err(), "nobody asked again");
}

#[tokio::test]
async fn a_body_that_is_cut_or_endless_is_told_apart() {
    let url = serve(|n, mut stream| {
        request(&mut stream).unwrap();
        let length = if n == 0 { 10 } else { 1_000_000 };
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&vec![b'x'; if n == 0 { 5 } else { 1000 }]).ok();
    });
    let client = client(&url);
    let cut = post(&client).await.unwrap().body(100).await;
    assert!(matches!(cut, Err(BodyFault::Broken(_))));
    let long = post(&client).await.unwrap().body(100).await;
    assert!(matches!(long, Err(BodyFault::TooLong(100))));
}

#[tokio::test]
async fn nothing_is_followed() {
    let url = serve(|n, mut stream| {
        assert_eq!(n, 0, "nobody comes again");
        request(&mut stream).unwrap();
        let away = b"HTTP/1.1 307 Away\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(away).unwrap();
        request(&mut stream);
    });
    assert_eq!(post(&client(&url)).await.unwrap().status(), 307);
}
