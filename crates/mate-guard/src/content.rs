//! Contents at rest: sealed chunk by chunk under the project's own key, so that any part of a large one can be read
//! with little memory.
//!
//! A content has a random name. Each chunk is bound to that name and to its place; the end, written last, is bound to
//! it too and says what the whole is. So neither a chunk nor a content can be moved, exchanged or cut unnoticed.

use crate::{
    secret::Key,
    vault::{Place, Vault, VaultError},
};
use mate_model::{Entropy, ProjectId};

/// How much of a content is sealed at once, in bytes.
pub const CHUNK: usize = 64 * 1024;
/// What a seal adds to a chunk, in bytes.
pub const SEAL: usize = crate::vault::OVERHEAD;
/// The length of a sealed end.
pub const END: usize = 40 + SEAL;

const TABLE: &str = "artifact_contents";
const LAST: &str = "end";

/// What the end of a content says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// BLAKE3 of the content.
    pub hash: [u8; 32],
    /// Its length in bytes.
    pub size: u64,
}

impl Whole {
    /// How many chunks it has.
    #[must_use]
    pub const fn chunks(&self) -> u64 {
        self.size.div_ceil(CHUNK as u64)
    }
}

/// Seals and opens the contents of one project.
#[derive(Clone, Debug)]
pub struct ContentVault(Vault);

impl ContentVault {
    /// Under the key that is derived from the home's for this project.
    #[must_use]
    pub fn new(home: &Key, project: ProjectId) -> Self {
        Self(Vault::new(&home.derive("artifact contents", project.uuid().as_bytes())))
    }

    /// One chunk, sealed.
    ///
    /// # Errors
    /// As [`Vault::seal`].
    pub fn seal(
        &self,
        content: &str,
        number: u64,
        clear: &[u8],
        entropy: &dyn Entropy,
    ) -> Result<Vec<u8>, VaultError> {
        self.0.seal(Place { table: TABLE, id: content, column: &number.to_string() }, clear, entropy)
    }

    /// A sealed chunk, opened.
    ///
    /// # Errors
    /// As [`Vault::open`].
    pub fn open(&self, content: &str, number: u64, sealed: &[u8]) -> Result<Vec<u8>, VaultError> {
        let place = Place { table: TABLE, id: content, column: &number.to_string() };
        self.0.open(place, sealed).map(|clear| clear.expose().to_vec())
    }

    /// The end, sealed.
    ///
    /// # Errors
    /// As [`Vault::seal`].
    pub fn seal_end(
        &self,
        content: &str,
        whole: &Whole,
        entropy: &dyn Entropy,
    ) -> Result<Vec<u8>, VaultError> {
        let mut clear = [0; 40];
        clear[..32].copy_from_slice(&whole.hash);
        clear[32..].copy_from_slice(&whole.size.to_be_bytes());
        self.0.seal(Place { table: TABLE, id: content, column: LAST }, &clear, entropy)
    }

    /// What the sealed end says.
    ///
    /// # Errors
    /// As [`Vault::open`], also when it is no end.
    pub fn open_end(&self, content: &str, sealed: &[u8]) -> Result<Whole, VaultError> {
        let place = Place { table: TABLE, id: content, column: LAST };
        let clear = self.0.open(place, sealed)?;
        let damaged = || VaultError::NotAnEnvelope { place: place.to_string() };
        let (hash, size) = clear.expose().split_first_chunk::<32>().ok_or_else(damaged)?;
        let size = size.try_into().map_err(|_| damaged())?;
        Ok(Whole { hash: *hash, size: u64::from_be_bytes(size) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[derive(Debug)]
    struct Fixed;

    impl Entropy for Fixed {
        fn uuid(&self) -> Uuid {
            Uuid::nil()
        }
        fn secret(&self) -> [u8; 32] {
            [0x24; 32]
        }
    }

    fn vault(project: u128) -> ContentVault {
        ContentVault::new(&Key::new([1; 32]), ProjectId::new(Uuid::from_u128(project)))
    }

    #[test]
    fn g09_a_chunk_opens_in_its_place_of_its_project_only() {
        let sealed = vault(1).seal("a", 3, b"hunter2", &Fixed).expect("seals");
        assert_eq!(sealed.len(), 7 + SEAL);
        assert!(!sealed.windows(7).any(|w| w == b"hunter2"));
        assert_eq!(vault(1).open("a", 3, &sealed).expect("opens"), b"hunter2");
        assert!(vault(1).open("a", 2, &sealed).is_err(), "moved within");
        assert!(vault(1).open("b", 3, &sealed).is_err(), "of another content");
        assert!(vault(2).open("a", 3, &sealed).is_err(), "of another project");
        assert!(vault(1).open_end("a", &sealed).is_err(), "no end");
    }

    #[test]
    fn g09_an_end_says_what_the_whole_is() {
        let whole = Whole { hash: [7; 32], size: 65_537 };
        let sealed = vault(1).seal_end("a", &whole, &Fixed).expect("seals");
        assert_eq!((sealed.len(), whole.chunks()), (END, 2));
        assert_eq!(vault(1).open_end("a", &sealed).expect("opens"), whole);
        assert!(vault(1).open_end("b", &sealed).is_err());
        assert!(vault(1).open("a", 0, &sealed).is_err(), "no chunk");
    }
}
