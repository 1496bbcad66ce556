//! What a content is, found by looking at it: never by what somebody says it is. And as what it may be handed out.

/// How much of the beginning is looked at, in bytes.
pub const LOOKED_AT: usize = 1024;

/// Beginnings by which contents that are no text are known: where they stand, what they are, and the type.
const MAGIC: [(usize, &[u8], &str); 24] = [
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"\0\0\x01\0", "image/x-icon"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "audio/ogg"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"\x7fELF", "application/x-executable"),
    (257, b"ustar", "application/x-tar"),
];

/// Beginnings, in lower case and after white space, of texts that a browser would run or draw.
const ACTIVE: [(&str, &str); 14] = [
    ("<!doctype html", "text/html"),
    ("<html", "text/html"),
    ("<head", "text/html"),
    ("<body", "text/html"),
    ("<script", "text/html"),
    ("<iframe", "text/html"),
    ("<style", "text/html"),
    ("<table", "text/html"),
    ("<div", "text/html"),
    ("<!--", "text/html"),
    ("<svg", "image/svg+xml"),
    ("<?xml", "text/xml"),
    ("<!doctype svg", "image/svg+xml"),
    ("#!", "text/x-script"),
];

/// The type of a content that begins so; `text` says that all of it is text (UTF-8).
#[must_use]
pub fn sniff(head: &[u8], text: bool) -> &'static str {
    if head.is_empty() {
        return "application/x-empty";
    }
    if head.starts_with(b"%PDF-") {
        return "application/pdf";
    }
    if !text {
        let known =
            MAGIC.iter().find(|(at, magic, _)| head.get(*at..).is_some_and(|from| from.starts_with(magic)));
        return known.map_or("application/octet-stream", |(_, _, kind)| kind);
    }
    let begin = String::from_utf8_lossy(&head[..head.len().min(LOOKED_AT)]);
    let begin = begin.trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
    if let Some((_, kind)) = ACTIVE.iter().find(|(start, _)| begin.starts_with(start)) {
        return if *kind == "text/xml" && begin.contains("<svg") { "image/svg+xml" } else { kind };
    }
    if begin.starts_with('{') || begin.starts_with('[') { "application/json" } else { "text/plain" }
}

/// As what a content of this type is handed out. Whatever a browser could run is plain text or bytes.
#[must_use]
pub fn served_as(media_type: &str) -> &'static str {
    match media_type {
        "text/plain" | "text/html" | "text/xml" | "text/x-script" | "image/svg+xml" | "application/json" => {
            "text/plain; charset=utf-8"
        }
        "application/pdf" => "application/pdf",
        // Drawn, but never run.
        "image/png" => "image/png",
        "image/jpeg" => "image/jpeg",
        "image/gif" => "image/gif",
        "image/webp" => "image/webp",
        "audio/wav" => "audio/wav",
        "audio/mpeg" => "audio/mpeg",
        "audio/flac" => "audio/flac",
        "audio/ogg" => "audio/ogg",
        _ => "application/octet-stream",
    }
}

/// Whether a content of this type is text.
#[must_use]
pub fn is_text(media_type: &str) -> bool {
    served_as(media_type).starts_with("text/")
}

/// What the name of a file of this type ends with.
#[must_use]
pub fn ending(media_type: &str) -> &'static str {
    match media_type {
        "text/plain" | "text/x-script" => "txt",
        "text/html" => "html",
        "text/xml" => "xml",
        "image/svg+xml" => "svg",
        "application/json" => "json",
        "application/pdf" => "pdf",
        "application/zip" => "zip",
        "application/gzip" => "gz",
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "audio/wav" => "wav",
        "audio/mpeg" => "mp3",
        "audio/flac" => "flac",
        "audio/ogg" => "ogg",
        "video/mp4" => "mp4",
        _ => "bin",
    }
}

/// The longest name, in bytes.
const LONGEST: usize = 120;

/// A name that is safe as a file's on any machine: the last part of what was given, without anything that could leave a
/// folder, hide, deceive or mean something to a shell, a browser or a file system.
#[must_use]
pub fn file_name(given: &str, otherwise: &str) -> String {
    let last = given.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or_default();
    let kept: String = crate::text::line(last, LONGEST)
        .chars()
        .map(|c| if c.is_alphanumeric() || "-_.+ ()[]@,=".contains(c) { c } else { '_' })
        .collect();
    let mut name = kept.trim_matches(['.', ' ']).to_owned();
    while name.len() > LONGEST {
        // Its ending stays.
        let at = name.char_indices().nth(name.chars().count() / 2).map_or(0, |(at, _)| at);
        name.remove(at);
    }
    let stem = name.split('.').next().unwrap_or_default().to_ascii_uppercase();
    let device = matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL")
        || (stem.len() == 4
            && (stem.starts_with("COM") || stem.starts_with("LPT"))
            && stem.ends_with(|c: char| c.is_ascii_digit()));
    match name.as_str() {
        "" => otherwise.to_owned(),
        _ if device || name.starts_with('-') => format!("_{name}"),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f93_a_name_leads_nowhere() {
        for (given, safe) in [
            ("report.pdf", "report.pdf"),
            ("../../etc/passwd", "passwd"),
            ("..", "artifact"),
            ("...", "artifact"),
            ("", "artifact"),
            ("/", "artifact"),
            ("%2e%2e%2fetc%2fpasswd", "_2e_2e_2fetc_2fpasswd"),
            ("C:\\Windows\\system.ini", "system.ini"),
            ("C:evil", "C_evil"),
            ("a\0b", "a_u_0_b"),
            ("a\n[APPROVED] b", "a_n[APPROVED] b"),
            ("\u{1b}[2Jx", "_u_1b_[2Jx"),
            ("gpj.\u{202e}exe", "gpj._u_202e_exe"),
            (".bashrc", "bashrc"),
            ("-rf", "_-rf"),
            ("nul.txt", "_nul.txt"),
            ("COM1", "_COM1"),
            ("x\"; filename=y", "x__ filename=y"),
            ("Übung 3.txt", "Übung 3.txt"),
        ] {
            assert_eq!(file_name(given, "artifact"), safe, "{given:?}");
        }
        let long = file_name(&format!("{}.tar.gz", "ß".repeat(500)), "artifact");
        assert!(long.len() <= LONGEST, "{long}");
    }

    #[test]
    fn the_type_is_what_is_there_and_not_what_is_said() {
        for (head, text, kind) in [
            (&b"\x89PNG\r\n\x1a\n..."[..], false, "image/png"),
            (b"%PDF-1.7", true, "application/pdf"),
            (b"\xef\xbb\xbf  <!DOCTYPE HTML><script>", true, "text/html"),
            (b"\n<SVG onload=alert(1)>", true, "image/svg+xml"),
            (b"<?xml version='1.0'?><svg xmlns=", true, "image/svg+xml"),
            (b"<?xml version='1.0'?><a/>", true, "text/xml"),
            (b"#!/bin/sh\n", true, "text/x-script"),
            (b"{\"a\":1}", true, "application/json"),
            (b"plain words", true, "text/plain"),
            (b"GIF89a/*", true, "text/plain"),
            (b"\0\x01\x02", false, "application/octet-stream"),
            (b"", true, "application/x-empty"),
        ] {
            assert_eq!(sniff(head, text), kind, "{head:?}");
        }
    }

    #[test]
    fn nothing_that_runs_is_handed_out_as_such() {
        for active in
            ["text/html", "image/svg+xml", "text/xml", "text/x-script", "text/javascript", "odd/type"]
        {
            let served = served_as(active);
            assert!(served.starts_with("text/plain") || served == "application/octet-stream", "{active}");
        }
    }
}
