//! Proof keys for code exchange (RFC 7636), by SHA-256.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use mate_model::Entropy;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// A fresh word that cannot be guessed, of letters, digits, `-` and `_`: 256 bits.
#[must_use]
pub fn word(entropy: &dyn Entropy) -> Zeroizing<String> {
    Zeroizing::new(URL_SAFE_NO_PAD.encode(Zeroizing::new(entropy.secret())))
}

/// What may be told beforehand of a verifier.
#[must_use]
pub fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7636, appendix B.
    #[test]
    fn the_challenge_of_the_standard() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
