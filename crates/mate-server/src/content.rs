//! An artifact's content on its way out: never run, never guessed at, never kept by anybody in between; with the memory
//! of a few chunks, however large it is and however slow its reader.

use crate::problem::Problem;
use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use mate_engine::artifact::{ArtifactView, ContentReader, Download};
use mate_guard::media;
use std::{io, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// How long a reader may take for one chunk before it is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What part of a content is wanted: the first byte, and the one behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    from: u64,
    to: u64,
}

/// The answer with all of the content, or with the part that was asked for.
pub(crate) fn respond(found: Download, asked: &HeaderMap, place: OwnedSemaphorePermit) -> Response {
    let Download { artifact, reader } = found;
    let (size, tag) = (reader.size(), format!("\"{}\"", artifact.hash.as_deref().unwrap_or_default()));
    let mut response = match wanted(asked, size, &tag) {
        Wanted::Nothing => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            set(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{size}"));
            response
        }
        Wanted::Same => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        }
        Wanted::All => whole(reader, Part { from: 0, to: size }, place),
        Wanted::Some(part) => {
            let mut response = whole(reader, part, place);
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            let range = format!("bytes {}-{}/{size}", part.from, part.to - 1);
            set(response.headers_mut(), header::CONTENT_RANGE, &range);
            response
        }
    };
    safe(response.headers_mut(), &artifact, &tag);
    response
}

fn whole(reader: ContentReader, part: Part, place: OwnedSemaphorePermit) -> Response {
    let mut response = Response::new(flow(reader, part, place));
    set(response.headers_mut(), header::CONTENT_LENGTH, &(part.to - part.from).to_string());
    response
}

/// Reads chunk by chunk; a reader that takes nothing for a while is given up, so that it holds no place.
fn flow(reader: ContentReader, part: Part, place: OwnedSemaphorePermit) -> Body {
    let (give, take) = mpsc::channel::<io::Result<Bytes>>(1);
    tokio::spawn(async move {
        let _place = place;
        let mut at = part.from;
        while at < part.to {
            let chunk = match reader.read(at).await {
                Ok(Some(mut bytes)) => {
                    bytes.truncate(usize::try_from(part.to - at).unwrap_or(usize::MAX));
                    at += bytes.len() as u64;
                    Ok(Bytes::from(bytes))
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::error!(%error, "a download broke off");
                    at = part.to;
                    Err(io::Error::other("the content cannot be read"))
                }
            };
            if !matches!(tokio::time::timeout(PATIENCE, give.send(chunk)).await, Ok(Ok(()))) {
                return;
            }
        }
    });
    Body::from_stream(stream::unfold(take, async |mut take| Some((take.recv().await?, take))))
}

fn safe(headers: &mut HeaderMap, artifact: &ArtifactView, tag: &str) {
    let kind = media::served_as(artifact.media_type.as_deref().unwrap_or_default());
    set(headers, header::CONTENT_TYPE, kind);
    set(headers, header::CONTENT_DISPOSITION, &disposition(&artifact.name));
    set(headers, header::ETAG, tag);
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'; frame-ancestors 'none'"),
        (header::CACHE_CONTROL, "private, no-store"),
        (header::ACCEPT_RANGES, "bytes"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// RFC 6266: a plain name for old clients, and the whole one in UTF-8 (RFC 8187).
fn disposition(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.() ".contains(c) { c } else { '_' })
        .collect();
    let mut whole = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            whole.push(char::from(byte));
        } else {
            whole.push_str(&format!("%{byte:02X}"));
        }
    }
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{whole}")
}

#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    All,
    Some(Part),
    Nothing,
    Same,
}

/// What is wanted. Several ranges at once are answered with all of it, as the protocol allows.
fn wanted(asked: &HeaderMap, size: u64, tag: &str) -> Wanted {
    let text = |name: HeaderName| asked.get(name).and_then(|value| value.to_str().ok());
    if text(header::IF_NONE_MATCH).is_some_and(|tags| tags.split(',').any(|one| one.trim() == tag)) {
        return Wanted::Same;
    }
    if text(header::IF_RANGE).is_some_and(|known| known != tag) {
        return Wanted::All;
    }
    let Some(range) = text(header::RANGE).and_then(|range| range.strip_prefix("bytes=")) else {
        return Wanted::All;
    };
    let Some((from, to)) = range.trim().split_once('-').filter(|_| !range.contains(',')) else {
        return Wanted::All;
    };
    let part = match (from.parse::<u64>(), to.parse::<u64>()) {
        (Ok(from), Ok(to)) if from <= to => Part { from, to: to.saturating_add(1).min(size) },
        (Ok(from), Err(_)) if to.is_empty() => Part { from, to: size },
        (Err(_), Ok(last)) if from.is_empty() => Part { from: size.saturating_sub(last), to: size },
        (_, _) => return Wanted::All,
    };
    if part.from < part.to { Wanted::Some(part) } else { Wanted::Nothing }
}

pub(crate) fn too_many() -> Problem {
    Problem::too_many(
        "too_many_downloads",
        "Too many downloads are under way",
        "try again when one of them has ended",
        5,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn ranges_are_what_the_protocol_says() {
        let part = |from, to| Wanted::Some(Part { from, to });
        for (range, answer) in [
            ("bytes=0-0", part(0, 1)),
            ("bytes=2-", part(2, 10)),
            ("bytes=-3", part(7, 10)),
            ("bytes=-99", part(0, 10)),
            ("bytes=5-99", part(5, 10)),
            ("bytes=0-18446744073709551615", part(0, 10)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=5-2", Wanted::All),
            ("bytes=0-1,3-4", Wanted::All),
            ("bytes=a-b", Wanted::All),
            ("bytes=-", Wanted::All),
            ("lines=1-2", Wanted::All),
        ] {
            assert_eq!(wanted(&with(header::RANGE, range), 10, "\"t\""), answer, "{range}");
        }
        let mut old = with(header::RANGE, "bytes=1-2");
        old.insert(header::IF_RANGE, HeaderValue::from_static("\"other\""));
        assert_eq!(wanted(&old, 10, "\"t\""), Wanted::All);
        assert_eq!(wanted(&with(header::IF_NONE_MATCH, "\"t\""), 10, "\"t\""), Wanted::Same);
        assert_eq!(wanted(&with(header::RANGE, "bytes=0-"), 0, "\"t\""), Wanted::Nothing);
    }

    #[test]
    fn f93_a_name_cannot_leave_its_header() {
        assert_eq!(
            disposition("a\"; x=\r\nSet-Cookie: b"),
            "attachment; filename=\"a__ x___Set-Cookie_ b\"; filename*=UTF-8''a%22%3B%20x%3D%0D%0ASet-Cookie%3A%20b"
        );
        assert_eq!(disposition("Ü.txt"), "attachment; filename=\"_.txt\"; filename*=UTF-8''%C3%9C.txt");
    }
}
