//! Bearer tokens: 256 random bits behind a recognisable prefix, stored only as a hash.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use mate_model::Entropy;
use sha2::{Digest, Sha256};
use std::fmt;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// A text that is not a token of the wanted kind. Does not repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a token: expected `{prefix}` and 43 characters of base64url; look for a cut or a line break in it"
)]
pub struct BadToken {
    /// The prefix that such a token starts with.
    pub prefix: &'static str,
}

/// What is kept of a token: its SHA-256. Compared in constant time.
#[derive(Clone, Copy, Eq)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// A stored hash.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// For storing and looking up.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl PartialEq for TokenHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(..)")
    }
}

fn mint(prefix: &str, entropy: &dyn Entropy) -> Zeroizing<String> {
    let bytes = Zeroizing::new(entropy.secret());
    let mut text = Zeroizing::new(String::with_capacity(prefix.len() + 43));
    text.push_str(prefix);
    URL_SAFE_NO_PAD.encode_string(&bytes[..], &mut text);
    text
}

fn check(prefix: &'static str, text: &str) -> Result<Zeroizing<String>, BadToken> {
    let bad = BadToken { prefix };
    let body = text.strip_prefix(prefix).ok_or(bad)?;
    // Decoding, and not a look at the alphabet, so that each token has one spelling.
    let bytes = Zeroizing::new(URL_SAFE_NO_PAD.decode(body).map_err(|_| bad)?);
    if bytes.len() == 32 { Ok(Zeroizing::new(text.to_owned())) } else { Err(bad) }
}

macro_rules! token {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(Zeroizing<String>);

        impl $name {
            /// What such a token starts with.
            pub const PREFIX: &'static str = $prefix;

            /// A fresh token.
            #[must_use]
            pub fn mint(entropy: &dyn Entropy) -> Self {
                Self(mint(Self::PREFIX, entropy))
            }

            /// Reads a token as somebody presents it.
            ///
            /// # Errors
            /// [`BadToken`] when it has not the prefix, the length or the alphabet.
            pub fn parse(text: &str) -> Result<Self, BadToken> {
                check(Self::PREFIX, text).map(Self)
            }

            /// The token itself; to hand it over once.
            #[must_use]
            pub fn reveal(&self) -> &str {
                &self.0
            }

            /// What may be stored of it.
            #[must_use]
            pub fn hash(&self) -> TokenHash {
                TokenHash(Sha256::digest(self.0.as_bytes()).into())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!($prefix, "[redacted]"))
            }
        }
    };
}

token!(/// What a person or a service shows to the HTTP interface.
    ApiToken, "am_");
token!(/// What a session's runtime shows to the bridge: good for that session only, and while it lives.
    SessionBearer, "ams_");
token!(/// What a browser holds that is signed in, in a cookie.
    BrowserCookie, "amb_");
token!(/// What signs one browser in, once.
    BrowserLink, "aml_");

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed(u8);

    impl Entropy for Fixed {
        fn uuid(&self) -> uuid::Uuid {
            uuid::Uuid::nil()
        }
        fn secret(&self) -> [u8; 32] {
            [self.0; 32]
        }
    }

    #[test]
    fn a_token_reads_back_and_hashes_alike() {
        let token = ApiToken::mint(&Fixed(0xff));
        assert_eq!(token.reveal(), "am___________________________________________8");
        let read = ApiToken::parse(token.reveal()).expect("own token");
        assert_eq!(read.hash(), token.hash());
        assert_ne!(ApiToken::mint(&Fixed(1)).hash(), token.hash());
    }

    #[test]
    fn what_is_not_quite_a_token_is_refused_and_not_repeated() {
        let good = ApiToken::mint(&Fixed(3));
        let session = SessionBearer::mint(&Fixed(3));
        let cut = &good.reveal()[..good.reveal().len() - 1];
        let other_spelling = format!("{cut}N");
        for bad in ["", "am_", cut, &other_spelling, session.reveal(), &format!("{} ", good.reveal())] {
            let error = ApiToken::parse(bad).expect_err(bad);
            assert!(bad.len() < 4 || !error.to_string().contains(bad));
        }
        assert!(SessionBearer::parse(good.reveal()).is_err());
    }

    #[test]
    fn g09_tokens_never_print() {
        let token = ApiToken::mint(&Fixed(9));
        assert_eq!(format!("{token:?} {:?}", token.hash()), "am_[redacted] TokenHash(..)");
    }
}
