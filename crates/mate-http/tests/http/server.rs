//! A server in a thread of its own: it goes on while the client's runtime stands still.

use http::Method;
use mate_http::{Client, Endpoint, Failed, Request, Response, Trust};
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

pub(crate) const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Serves each connection, in order, with what `serve` does; the address.
pub(crate) fn serve(mut serve: impl FnMut(usize, TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    thread::spawn(move || {
        for (n, stream) in listener.incoming().enumerate() {
            let stream = stream.unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            serve(n, stream);
        }
    });
    url
}

/// Reads a request with its body (`hello`, or none); `None` when the client has closed.
pub(crate) fn request(stream: &mut TcpStream) -> Option<String> {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        text.push(byte[0]);
    }
    let mut text = String::from_utf8(text).unwrap();
    if text.starts_with("POST") {
        let mut body = [0; 5];
        stream.read_exact(&mut body).ok()?;
        text.push_str(std::str::from_utf8(&body).unwrap());
    }
    Some(text)
}

/// Answers one request with `ok`.
pub(crate) fn answer(stream: &mut TcpStream) -> Option<String> {
    let asked = request(stream)?;
    stream.write_all(OK).ok()?;
    Some(asked)
}

pub(crate) fn client(url: &str) -> Client {
    Client::new(Endpoint::parse(url).unwrap(), &Trust::Machine).unwrap()
}

pub(crate) async fn post(client: &Client) -> Result<Response, Failed> {
    let request = Request::new(Method::POST, client.endpoint().target().clone()).body("hello");
    tokio::time::timeout(PATIENCE, client.send(&request, || true)).await.unwrap()
}

/// Posts, and reads the answer to its end.
pub(crate) async fn exchange(client: &Client) -> String {
    String::from_utf8(post(client).await.unwrap().body(100).await.unwrap()).unwrap()
}
