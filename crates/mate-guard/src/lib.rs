//! What must not be seen, and who may do what: secrets and tokens, redaction, the recorded shape
//! and digest of arguments, grants and policies, and untrusted text made fit to show.
#![forbid(unsafe_code)]

pub mod canonical;
pub mod content;
pub mod digest;
pub mod grants;
pub mod key_file;
pub mod media;
mod number;
pub mod pins;
pub mod pkce;
pub mod policy;
pub mod redact;
mod redact_forms;
mod redact_parts;
mod redact_shapes;
mod redact_stream;
mod redact_view;
pub mod ring;
pub mod secret;
pub mod shape;
pub use mate_model::text;
pub mod tokens;
pub mod vault;

pub use canonical::{BadJson, Json};
pub use content::{ContentVault, Whole};
pub use digest::{ArgumentDigest, DigestKey};
pub use grants::{Decision, RefusedBy, choose, judge, matches, ranked, refusal};
pub use key_file::{CREDENTIALS_VARIABLE, KEY_FILE_VARIABLE, KeyFileError, KeyPlace, KeySource};
pub use pins::Definition;
pub use redact::{REDACTED, Redactor};
pub use redact_parts::names_secret;
pub use redact_stream::Stream;
pub use ring::{KeyId, KeyRing};
pub use secret::{Key, Secret};
pub use tokens::{ApiToken, BadToken, BrowserCookie, BrowserLink, SessionBearer, TokenHash};
pub use vault::{Place, Vault, VaultError};
