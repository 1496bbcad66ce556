//! How fast secrets are taken out of texts: prints MB/s for prose, JSON, base64 and pieces of a stream.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a measurement, for people")]

use mate_guard::{Redactor, redact::TooManySecrets};
use std::{hint::black_box, time::Instant};

fn main() -> Result<(), TooManySecrets> {
    let secrets: Vec<String> =
        (0..12_u32).map(|n| format!("s3cr3t/{n}+{:x} of many", n.wrapping_mul(2_654_435_761))).collect();
    let redactor = Redactor::new(&secrets)?;
    let prose = "The quick brown fox jumps over the lazy dog, 100% sure & quite often.\n".repeat(15_000);
    let json =
        r#"{"name":"C:\\temp\\x","text":"one \"two\"\nthree \u00e9 https://a.example/x%20y?z=1&w=2"}, "#
            .repeat(12_000);
    let base64 = format!(
        "{}\n",
        "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAxMjM0NTY3"
            .get(..76)
            .unwrap_or_default()
    )
    .repeat(13_000);
    for (name, text) in [("prose", &prose), ("json", &json), ("base64", &base64)] {
        let begun = Instant::now();
        for _ in 0..5 {
            black_box(redactor.redact(black_box(text)));
        }
        let whole = begun.elapsed();
        let begun = Instant::now();
        let mut stream = redactor.stream();
        for piece in text.as_bytes().chunks(64) {
            black_box(stream.push(&String::from_utf8_lossy(piece)));
        }
        let pieces = begun.elapsed();
        let begun = Instant::now();
        black_box(redactor.is_in(black_box(text.as_bytes())));
        let looked = begun.elapsed();
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let rate = |bytes: usize, time: std::time::Duration| bytes as f64 / 1e6 / time.as_secs_f64();
        println!(
            "{name}: whole {:.1} MB/s, in pieces of 64 bytes {:.2} MB/s, looked for {:.0} MB/s",
            rate(5 * text.len(), whole),
            rate(text.len(), pieces),
            rate(text.len(), looked)
        );
    }
    Ok(())
}
