use super::*;
use base64::{Engine, engine::general_purpose::*};
use proptest::prelude::*;
use std::sync::LazyLock;

const SECRETS: [&str; 4] = [
    "hunter2hunter2",
    "s3cr3t/\"with\" +odd\\ chars&ü",
    "line one of the secret\nline two of the secret",
    "abc123xyz",
];

fn redactor() -> &'static Redactor {
    static BUILT: LazyLock<Redactor> = LazyLock::new(|| Redactor::new(SECRETS).expect("builds"));
    &BUILT
}

/// Texts of the well-known shapes, with the part that must not be seen.
fn shaped() -> Vec<(String, String)> {
    let long = "Zx9Kq7Lm2Np4Rt6Vw8Yb1Cd3Ef5Gh0JkMnPq";
    let jwt = format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{long}");
    let pem_body: String = (0..40).map(|n| format!("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{n:02}\n")).collect();
    let mut shaped: Vec<_> = [
        jwt,
        "AKIAIOSFODNN7EXAMPLE".into(),
        format!("ghp_{long}"),
        format!("github_pat_{long}"),
        format!("xoxb-123456789012-{long}"),
        format!("sk-proj-{long}"),
        format!("AIza{long}"),
        format!("am_{}", "A".repeat(43)),
    ]
    .into_iter()
    .map(|secret| (secret.clone(), secret))
    .collect();
    shaped.push((format!("Authorization: Bearer {long}"), long.into()));
    shaped.push((format!(r#"{{"authorization": "Basic {long}"}}"#), long.into()));
    shaped.push((format!("MY_API_KEY={long}"), long.into()));
    shaped.push((format!("postgres://ada:{long}@db.example/x"), long.into()));
    shaped.push((format!("https://{long}@git.example/x"), long.into()));
    shaped.push((
        format!("-----BEGIN RSA PRIVATE KEY-----\n{pem_body}-----END RSA PRIVATE KEY-----"),
        pem_body.clone(),
    ));
    shaped.push((format!("-----BEGIN PRIVATE KEY-----\n{pem_body}"), pem_body));
    shaped
}

/// No run of `length` bytes of `secret` is left in `text`.
fn assert_gone(text: &str, secret: &str, length: usize) {
    for run in secret.as_bytes().windows(length.min(secret.len())) {
        let seen = text.as_bytes().windows(run.len()).any(|window| window == run);
        assert!(!seen, "{:?} is left in {text:?}", String::from_utf8_lossy(run));
    }
}

fn streamed<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
    let mut stream = redactor().stream();
    let mut out: String = pieces.into_iter().map(|piece| stream.push(piece)).collect();
    out.push_str(&stream.finish());
    out
}

#[test]
fn g09_known_secrets_are_found_in_every_encoding() {
    for secret in SECRETS {
        let json = serde_json::to_string(secret).expect("writes");
        let percent: String = secret.bytes().map(|b| format!("%{b:02X}")).collect();
        let mut texts = vec![secret.to_owned(), json.clone(), serde_json::to_string(&json).expect("writes")];
        texts.push(hex::encode(secret));
        for before in ["", "x", "xy"] {
            texts.push(STANDARD.encode(format!("{before}{secret}tail")));
            texts.push(URL_SAFE.encode(format!("{before}{secret}")));
        }
        for text in texts {
            let clean = redactor().redact(&format!("before {text} after")).into_owned();
            assert!(clean.contains(REDACTED), "{text}");
            assert!(clean.starts_with("before ") && clean.ends_with(" after"), "{clean}");
            assert_gone(&clean, &text, 12);
        }
        // Encoders differ in what they leave alone; ours is that of form fields and query strings.
        assert!(percent.len() > secret.len());
    }
    let query = redactor().redact("q=s3cr3t%2F%22with%22+%2Bodd%5C+chars%26%C3%BC&x=1").into_owned();
    assert_eq!(query, "q=[redacted]&x=1");
}

/// What encoders make of a secret: each leaves other characters alone, and some wrap or break what they make.
fn encoded(secret: &str) -> Vec<(&'static str, String)> {
    let percent = |keep: &str, upper: bool| -> String {
        let escape = |b: u8| if upper { format!("%{b:02X}") } else { format!("%{b:02x}") };
        let one = |b: u8| {
            let plain = b.is_ascii_alphanumeric() || keep.as_bytes().contains(&b);
            if plain { char::from(b).to_string() } else { escape(b) }
        };
        secret.bytes().map(one).collect()
    };
    let json = |text: &str| {
        let quoted = serde_json::to_string(text).expect("writes");
        quoted[1..quoted.len() - 1].to_owned()
    };
    let ascii = |text: &str, upper: bool| -> String {
        let unit = |u: &u16| if upper { format!("\\u{u:04X}") } else { format!("\\u{u:04x}") };
        text.chars()
            .map(|c| {
                if c.is_ascii() {
                    c.to_string()
                } else {
                    c.encode_utf16(&mut [0; 2]).iter().map(unit).collect()
                }
            })
            .collect()
    };
    let folded = |width: usize, end: &str| {
        let whole = STANDARD.encode(format!("{}{secret}{}", "p".repeat(50), "q".repeat(40)));
        let lines: Vec<_> =
            whole.as_bytes().chunks(width).map(|l| String::from_utf8_lossy(l).into_owned()).collect();
        lines.join(end)
    };
    let once = json(secret);
    let go = once.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e");
    let html = secret
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;");
    vec![
        ("raw", secret.to_owned()),
        ("Python's quote", percent("/-_.~", true)),
        ("encodeURIComponent", percent("-_.!~*'()", true)),
        ("encodeURI", percent("-_.!~*'();/?:@&=+$,#", true)),
        ("encodeURI of it", percent("-_.!~*'();/?:@&=+$,#", true).replace('%', "%25")),
        ("quote_plus", percent("-_.~ ", false).replace(' ', "+")),
        ("WHATWG form", percent("*-._ ", true).replace(' ', "+")),
        ("every byte", secret.bytes().map(|b| format!("%{b:02X}")).collect()),
        ("every byte, small", secret.bytes().map(|b| format!("%{b:02x}")).collect()),
        ("JSON", once.clone()),
        ("JSON, ASCII", ascii(&once, false)),
        ("JSON, ASCII, capitals", ascii(&once, true)),
        ("Go's JSON", go.clone()),
        ("JSON twice", json(&once)),
        ("JSON, ASCII, twice", json(&ascii(&once, false))),
        ("Go's JSON twice", json(&go)),
        ("JSON three times", json(&json(&once))),
        ("PHP's JSON", once.replace('/', "\\/")),
        ("PHP's JSON twice", json(&once.replace('/', "\\/"))),
        ("JSON in an address", percent_all(&once)),
        ("HTML", html),
        ("base64 in an address", percent_all(&STANDARD.encode(secret))),
        ("PHP's JSON of base64", STANDARD.encode(secret).replace('/', "\\/")),
        ("MIME", folded(76, "\r\n")),
        ("PEM", folded(64, "\n")),
        ("PEM in JSON", folded(64, "\\n")),
        ("MIME in JSON twice", folded(76, "\\\\r\\\\n")),
        ("PEM in YAML", folded(64, "\n    ")),
        ("xxd -p", {
            let digits = hex::encode(format!("{}{secret}{}", "p".repeat(20), "q".repeat(20)));
            digits
                .as_bytes()
                .chunks(60)
                .map(|l| String::from_utf8_lossy(l).into_owned())
                .collect::<Vec<_>>()
                .join("\n")
        }),
    ]
}

fn percent_all(text: &str) -> String {
    text.bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

/// What of an encoding must not be seen: for base64 and hexadecimal, what stands for the secret alone.
fn must_go(name: &str, secret: &str, text: &str) -> String {
    match name {
        "MIME" | "PEM" | "PEM in JSON" | "MIME in JSON twice" | "PEM in YAML" => {
            let whole = STANDARD.encode(format!("{}{secret}", "p".repeat(50)));
            whole[68..whole.len() - 4].to_owned()
        }
        "xxd -p" => hex::encode(secret),
        _ => text.to_owned(),
    }
}

const ENCODED: [&str; 5] = [
    "Kx7/ab+9=MARKone_Zq",
    "pa/ss w*rd!(x)&<y>\u{e9}~q-MARK91'",
    "Corr3ct!Horse*Battery%41\\nx",
    "MARKlong/a0h1o2v3c4j5q6x7e8l9s0z1g2n3u4b5i6p7w8d9k0r1y2f3m4t5",
    "\u{1f600}smile/\u{1f511}key",
];

#[test]
fn g09_every_encoder_is_undone_and_no_cut_lets_a_secret_through() {
    let redactor = Redactor::new(ENCODED).expect("builds");
    for secret in ENCODED {
        for (name, text) in encoded(secret) {
            let gone = must_go(name, secret, &text);
            let text = format!("before {text} after");
            let whole = redactor.redact(&text).into_owned();
            let flat =
                |text: &str| text.replace("\\\\r\\\\n", "").replace("\\n", "").replace(['\r', '\n', ' '], "");
            let (seen, gone) = if gone.len() < text.len() - 20 {
                (flat(&whole), flat(&gone))
            } else {
                (whole.clone(), gone)
            };
            assert!(whole.contains(REDACTED), "{name}: {whole}");
            assert_gone(&seen, &gone, 9);
            assert!(redactor.is_in(text.as_bytes()), "{name}");
            let ends: Vec<_> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
            for at in &ends {
                let mut stream = redactor.stream();
                let out = stream.push(&text[..*at]) + &stream.push(&text[*at..]);
                assert_eq!(out + &stream.finish(), whole, "{name} cut at {at}");
            }
            let mut stream = redactor.stream();
            let mut out: String = ends.windows(2).map(|pair| stream.push(&text[pair[0]..pair[1]])).collect();
            out.push_str(&stream.finish());
            assert_eq!(out, whole, "{name} letter by letter");
        }
    }
}

#[test]
fn g09_the_secret_within_a_secret_is_known_by_itself() {
    for (given, within) in [
        ("Bearer Zx9MARKtwoQq-8812-kkw", "Zx9MARKtwoQq-8812-kkw"),
        ("bearer Zx9MARKtwoQq-8812-kkw", "Zx9MARKtwoQq-8812-kkw"),
        ("Token abc12", "abc12"),
        ("ApiKey  Zx9MARK", "Zx9MARK"),
        ("GenieKey 11-22-33-44", "11-22-33-44"),
        ("Token token=\"Zx9MARKtwo\", email=\"a@b.example\"", "Zx9MARKtwo"),
        ("Basic dXNlcjpNQVJLcGFzc1dkNzd4", "user:MARKpassWd77x"),
        ("Basic dXNlcjpNQVJLcGFzc1dkNzd4", "MARKpassWd77x"),
        ("Basic a2V5MTIzNDU2Og==", "key123456"),
        ("postgres://ada:p%40ss%2Fword@db.example/x", "p%40ss%2Fword"),
        ("postgres://ada:p%40ss%2Fword@db.example/x", "p@ss/word"),
        ("https://ghx_0123456789abc@git.example/", "ghx_0123456789abc"),
        ("https://h.example/x?region=eu&access_token=q1w2e3r4t5", "q1w2e3r4t5"),
        ("session=q1w2e3r4t5; theme=darkdarkdark", "q1w2e3r4t5"),
        ("Server=db;Password=q1w2e3r4t5;", "q1w2e3r4t5"),
        (r#"{"type":"service_account","private_key_id":"q1w2e3r4t5"}"#, "q1w2e3r4t5"),
    ] {
        let redactor = Redactor::new([given]).expect("builds");
        assert_eq!(redactor.redact(&format!("said {within}.")), "said [redacted].", "{given}");
        let coded = STANDARD.encode(within);
        if within.len() >= 6 {
            assert_ne!(redactor.redact(&coded), coded, "{given} in base64");
        }
    }
    let redactor = Redactor::new(["session=q1w2e3r4t5; theme=darkdarkdark", "Two words"]).expect("builds");
    assert_eq!(redactor.redact("darkdarkdark words"), "darkdarkdark words");
}

#[test]
fn overlapping_secrets_leave_nothing() {
    let redactor = Redactor::new(["abc123", "123xyz999"]).expect("builds");
    assert_eq!(redactor.redact("-abc123xyz999-"), "-[redacted]-");
    let mut stream = redactor.stream();
    let mut out = stream.push("-abc123x");
    out.push_str(&stream.push("yz999-"));
    out.push_str(&stream.finish());
    assert_eq!(out, "-[redacted]-");
}

#[test]
fn g09_well_known_shapes_are_found() {
    for (text, secret) in shaped() {
        let clean = redactor().redact(&format!("so: {text} . End.")).into_owned();
        assert_gone(&clean, &secret, 8);
        assert!(clean.starts_with("so: ") && clean.ends_with(" End."), "{clean}");
    }
}

#[test]
fn honest_texts_are_left_alone() {
    for text in [
        "",
        "a task-list-with-a-very-long-name-in-it and https://example.com/a@b, ssh://git@host/x",
        "The Authorization: header is required; bearer tokens expire. api_key: none",
        "-----BEGIN CERTIFICATE----- MIIB -----END CERTIFICATE-----",
        "世界 größer \u{1f600} ---- x = y",
    ] {
        assert!(matches!(redactor().redact(text), Cow::Borrowed(_)), "{text}");
        assert_eq!(streamed([text]), text);
        let letters: Vec<_> = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]).collect();
        assert_eq!(streamed(letters), text);
    }
}

/// F-161: a secret cut at every byte over two and three pieces.
#[test]
fn g09_no_cut_lets_a_secret_through() {
    let known = SECRETS.iter().map(|secret| ((*secret).to_owned(), (*secret).to_owned()));
    let encoded = SECRETS.iter().map(|s| STANDARD.encode(s)).map(|e| (e.clone(), e));
    let short = shaped().into_iter().filter(|(text, _)| text.len() < 200);
    for (text, secret) in known.chain(encoded).chain(short) {
        let text = format!("see {text}, then go on");
        let whole = redactor().redact(&text).into_owned();
        assert_gone(&whole, &secret, 8);
        for first in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            assert_eq!(streamed([&text[..first], &text[first..]]), whole, "cut at {first}");
            for second in (first..=text.len()).step_by(7).filter(|at| text.is_char_boundary(*at)) {
                let pieces = [&text[..first], &text[first..second], &text[second..]];
                assert_eq!(streamed(pieces), whole, "cut at {first} and {second}");
            }
        }
    }
}

/// F-163: a private key over 40 lines, with and without its end.
#[test]
fn g09_private_keys_in_pieces_leave_nothing() {
    for (text, secret) in shaped().into_iter().filter(|(text, _)| text.contains("BEGIN")) {
        for size in [1, 7, 64, 65] {
            let pieces: Vec<_> =
                text.as_bytes().chunks(size).map(|c| std::str::from_utf8(c).expect("ASCII")).collect();
            let clean = streamed(std::iter::once("key:\n").chain(pieces));
            assert_eq!(clean, "key:\n[redacted]", "pieces of {size}");
            assert_gone(&clean, &secret, 8);
        }
    }
    let after =
        streamed(["-----BEGIN PRIVATE KEY-----\nMIIEvQ", "IBADAN\n-----END PRIV", "ATE KEY-----\nDone."]);
    assert_eq!(after, "[redacted]\nDone.");
}

#[test]
fn memory_is_bounded_and_an_endless_token_is_hidden() {
    let mut stream = redactor().stream();
    let mut out = stream.push("x sk-");
    for _ in 0..10_000 {
        out.push_str(&stream.push("abcdefghijkl"));
    }
    out.push_str(&stream.push(" and on"));
    out.push_str(&stream.finish());
    assert_eq!(out, "x [redacted] and on");
}

#[test]
fn a_long_secret_is_found_in_pieces() {
    let secret: String = (0..3_000_u32).map(|n| format!("{:x}", n.wrapping_mul(2_654_435_761))).collect();
    let redactor = Redactor::new([&secret]).expect("builds");
    let text = format!("a {secret} b");
    let mut stream = redactor.stream();
    let mut out: String =
        text.as_bytes().chunks(1000).map(|c| stream.push(std::str::from_utf8(c).expect("ASCII"))).collect();
    out.push_str(&stream.finish());
    assert_gone(&out, &secret, 12);
    assert!(out.starts_with("a [redacted]") && out.ends_with(" b"), "{out}");
}

proptest! {
    #[test]
    fn g09_a_stream_says_what_the_whole_says(
        parts in prop::collection::vec((any::<prop::sample::Index>(), "[ -~ü世]{0,8}"), 1..6),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let samples: Vec<String> = SECRETS.iter().map(|s| (*s).to_owned()).chain(shaped().into_iter().map(|(t, _)| t)).collect();
        let mut text: String = parts.iter().map(|(pick, between)| format!("{between} {} ", pick.get(&samples))).collect();
        text.push_str(". End");
        let mut places: Vec<_> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len()))).collect();
        places.extend([0, text.len()]);
        places.sort_unstable();
        let pieces: Vec<_> = places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        let clean = streamed(pieces);
        for secret in SECRETS {
            prop_assert!(!clean.contains(secret));
        }
        prop_assert_eq!(clean, redactor().redact(&text).into_owned());
    }
}

#[test]
fn g09_what_is_shown_is_cut_after_its_secrets_are_out() {
    const CANARY: &str = "cAnArY0123456789zyxwvutsrqponmlkjihgfedc";
    let redactor = Redactor::new([CANARY]).expect("builds");
    let leaks = |text: &str| (0..=CANARY.len() - 8).any(|at| text.contains(&CANARY[at..at + 8]));
    for cut in [300, 500, 64 * 1024, 128 * 1024] {
        for at in cut - CANARY.len() - 1..=cut + 1 {
            let text = format!("{}{CANARY} end", "- ".repeat(at / 2 + 1).split_at(at).0);
            // Also where the text was cut before, at the bound of whoever hands it on.
            for text in [&text[..], &text[..text.len().min(128 * 1024)]] {
                for most in [300, 500, usize::MAX] {
                    let shown = redactor.shown(text, most);
                    assert!(!leaks(&shown) && shown.chars().count() <= most, "{cut} {at} {most}");
                }
            }
        }
    }
    assert_eq!(redactor.shown("cAnA", 10), "cAnA", "a whole text is told whole");
}

#[test]
fn g09_what_is_learnt_is_hidden_in_every_clone_and_nothing_is_forgotten() {
    let redactor = Redactor::new(["first-secret"]).expect("built");
    let (clone, mut stream) = (redactor.clone(), redactor.stream());
    let mut told = stream.push("a second-sec");
    redactor.learn(["second-secret"]).expect("learnt");
    assert_eq!(clone.redact("first-secret second-secret"), format!("{REDACTED} {REDACTED}"));
    told.push_str(&stream.push("ond second-secret first-secret"));
    told.push_str(&stream.finish());
    assert!(!told.contains("second-secret") && !told.contains("first-secret"), "{told}");
}
