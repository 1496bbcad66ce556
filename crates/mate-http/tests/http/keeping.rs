//! Connections that wait for the next request.

use crate::server::{OK, PATIENCE, answer, client, exchange, post, request, serve};
use std::{io::Write, sync::mpsc, thread};

#[tokio::test]
async fn a_connection_is_used_again() {
    let (tell, told) = mpsc::channel();
    let url = serve(move |n, mut stream| {
        while answer(&mut stream).is_some() {
            tell.send(n).unwrap();
        }
    });
    let client = client(&url);
    for _ in 0..20 {
        assert_eq!(exchange(&client).await, "ok");
    }
    let used: Vec<_> = (0..20).map(|_| told.recv_timeout(PATIENCE).unwrap()).collect();
    assert_eq!(used, [0; 20]);
}

#[tokio::test]
async fn g05_a_kept_connection_that_the_server_closed_does_not_make_the_next_request_unknown() {
    for reset in [false, true] {
        let (closed, wait) = mpsc::channel();
        let (go, may_close) = mpsc::channel::<()>();
        let url = serve(move |_, mut stream| {
            answer(&mut stream).unwrap();
            may_close.recv().unwrap();
            if reset {
                rustix::net::sockopt::set_socket_linger(&stream, Some(std::time::Duration::ZERO)).unwrap();
            }
            drop(stream);
            closed.send(()).unwrap();
        });
        let client = client(&url);
        for n in 0..10 {
            assert_eq!(exchange(&client).await, "ok", "request {n}, reset: {reset}");
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            // The connection is idle now, and the runtime does not hear of its end: this thread stands still.
            go.send(()).unwrap();
            wait.recv_timeout(PATIENCE).unwrap();
        }
    }
}

#[tokio::test]
async fn an_answer_that_says_close_or_is_left_unread_takes_its_connection_along() {
    let url = serve(|n, mut stream| {
        request(&mut stream).unwrap();
        let head = if n == 0 { "connection: close" } else { "x: y" };
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n{head}\r\n\r\nno.");
        stream.write_all(&head.as_bytes()[..head.len() - n.min(1)]).unwrap();
        assert!(request(&mut stream).is_none(), "connection {n} is used once");
    });
    let client = client(&url);
    assert_eq!(exchange(&client).await, "no.");
    drop(post(&client).await.unwrap());
    assert_eq!(post(&client).await.unwrap().status(), 200);
}

#[tokio::test]
async fn an_answer_that_is_finished_early_gives_its_connection_back_when_it_ends() {
    let (tell, told) = mpsc::channel();
    let (go, may_end) = mpsc::channel::<()>();
    let url = serve(move |n, mut stream| {
        request(&mut stream).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n").unwrap();
        may_end.recv().unwrap();
        stream.write_all(b"0\r\n\r\n").unwrap();
        answer(&mut stream).unwrap();
        tell.send(n).unwrap();
    });
    let client = client(&url);
    let mut response = post(&client).await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "ok");
    go.send(()).unwrap();
    response.finish().await;
    assert_eq!(exchange(&client).await, "ok");
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), 0);
}

#[tokio::test]
async fn what_was_open_before_trouble_is_not_used_after_it() {
    let (tell, told) = mpsc::channel();
    let url = serve(move |n, mut stream| {
        let tell = tell.clone();
        thread::spawn(move || {
            while request(&mut stream).is_some() {
                tell.send(n).unwrap();
                stream.write_all(OK).unwrap();
            }
        });
    });
    let client = client(&url);
    assert_eq!(exchange(&client).await, "ok");
    let out = post(&client).await.unwrap();
    client.forget();
    out.body(10).await.unwrap();
    assert_eq!(exchange(&client).await, "ok");
    assert_eq!(exchange(&client).await, "ok");
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [0, 0, 1, 1]);
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_a_while() {
    let (tell, told) = tokio::sync::oneshot::channel();
    let mut tell = Some(tell);
    let url = serve(move |_, mut stream| {
        answer(&mut stream).unwrap();
        assert!(request(&mut stream).is_none());
        tell.take().unwrap().send(()).unwrap();
    });
    let client = client(&url);
    assert_eq!(exchange(&client).await, "ok");
    tokio::time::timeout(PATIENCE, told).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_socket_in_the_file_system_is_as_good() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for _ in 0..2 {
            let mut text = Vec::new();
            while !text.ends_with(b"hello") {
                let mut byte = [0];
                std::io::Read::read_exact(&mut stream, &mut byte).unwrap();
                text.push(byte[0]);
            }
            stream.write_all(OK).unwrap();
        }
    });
    let endpoint = mate_http::Endpoint::unix(path);
    let client = mate_http::Client::new(endpoint, &mate_http::Trust::Machine).unwrap();
    assert_eq!(exchange(&client).await, "ok");
    assert_eq!(exchange(&client).await, "ok");
}
