//! The stylesheet, the script and the icon. Each is served under a name with its hash, and may be kept for ever.

use std::sync::LazyLock;

/// One asset.
#[derive(Debug)]
pub struct Asset {
    /// Its name beneath `/assets/`, with its hash.
    pub name: String,
    /// Its media type.
    pub kind: &'static str,
    /// Its content.
    pub content: &'static str,
}

impl Asset {
    fn new(stem: &str, ending: &str, kind: &'static str, content: &'static str) -> Self {
        let hash = blake3::hash(content.as_bytes()).to_hex();
        Self { name: format!("{stem}-{}.{ending}", &hash[..16]), kind, content }
    }

    /// Its address.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/assets/{}", self.name)
    }
}

/// How pages look.
pub static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("style", "css", "text/css; charset=utf-8", include_str!("assets/style.css")));
/// What keeps pages live.
pub static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("script", "js", "text/javascript; charset=utf-8", include_str!("assets/script.js"))
});
/// The icon.
pub static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon", "svg", "image/svg+xml", include_str!("assets/icon.svg")));

/// The asset of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Asset> {
    [&*STYLE, &*SCRIPT, &*ICON].into_iter().find(|asset| asset.name == name)
}
