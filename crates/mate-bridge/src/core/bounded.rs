//! Texts of an upstream on their way to who takes the secrets out of them.

/// The longest text that is handed on, in bytes: far more than is ever shown, so that a secret is whole where the text
/// is shown, and can be found.
pub(crate) const MOST: usize = 128 * 1024;

/// The beginning of a text. It is not cut to what is shown here: half a secret is not found any more.
pub(crate) fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST)]
}
