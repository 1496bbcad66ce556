//! What the result of a call is made of: which parts of it are too large, or are no text, and so are kept apart from
//! the record. Reading them changes nothing of what the runtime receives.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Texts longer than this, in bytes, are kept apart.
pub(crate) const LONG: usize = 64 * 1024;
/// The most parts of one result that are kept apart.
pub const MANY: usize = 32;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A part of a result that is kept apart. What it says of itself is untrusted and not redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where it stands in the result.
    pub place: Place,
    /// What it is.
    pub kind: PartKind,
    /// A name that the upstream gave it.
    pub name: Option<String>,
    /// Its address, for a resource.
    pub uri: Option<String>,
    /// The media type that the upstream claims.
    pub media_type: Option<String>,
    /// The size that the upstream claims, of a link.
    pub size: Option<i64>,
}

/// Where a part stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A block of `content`, from 0.
    Block(usize),
    /// `structuredContent`.
    Structured,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A long text, or long structured content.
    Text,
    /// An image.
    Image,
    /// A sound.
    Audio,
    /// A resource that the result holds.
    Resource,
    /// A resource that the result links.
    Link,
}

/// Why the content of a part is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoContent {
    /// What is said to be base64 is none.
    NotBase64,
    /// It is not what a part of its kind holds.
    Malformed,
}

#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(borrow, rename = "structuredContent", default)]
    structured: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(rename = "mimeType", default)]
    media_type: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    uri: Option<String>,
    #[serde(default)]
    size: Option<i64>,
    #[serde(borrow, default)]
    resource: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Resource<'a> {
    #[serde(default)]
    uri: Option<String>,
    #[serde(rename = "mimeType", default)]
    media_type: Option<String>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    blob: Option<&'a RawValue>,
}

/// The parts of a result that are kept apart, [`MANY`] at most, and how many more there are.
#[must_use]
pub fn parts(result: &RawValue) -> (Vec<Part>, usize) {
    let Ok(shape) = serde_json::from_str::<Shape<'_>>(result.get()) else { return (Vec::new(), 0) };
    let mut found = Vec::new();
    for (number, raw) in shape.content.iter().enumerate() {
        found.extend(part(Place::Block(number), raw));
    }
    // Structured content repeats as text what it is; both are kept when both are long.
    if shape.structured.is_some_and(|structured| structured.get().len() > LONG) {
        let (place, kind, media_type) =
            (Place::Structured, PartKind::Text, Some("application/json".to_owned()));
        found.push(Part { place, kind, name: None, uri: None, media_type, size: None });
    }
    let more = found.len().saturating_sub(MANY);
    found.truncate(MANY);
    (found, more)
}

fn part(place: Place, raw: &RawValue) -> Option<Part> {
    let block: Block<'_> = serde_json::from_str(raw.get()).ok()?;
    let of = |kind| Part {
        place,
        kind,
        name: block.name.clone(),
        uri: None,
        media_type: block.media_type.clone(),
        size: None,
    };
    match block.kind.as_ref() {
        "text" if block.text.is_some_and(|text| text.get().len() > LONG) => Some(of(PartKind::Text)),
        "image" => Some(of(PartKind::Image)),
        "audio" => Some(of(PartKind::Audio)),
        "resource" => {
            let resource: Resource<'_> = serde_json::from_str(block.resource?.get()).ok()?;
            Some(Part { uri: resource.uri, media_type: resource.media_type, ..of(PartKind::Resource) })
        }
        "resource_link" => {
            let size = block.size.filter(|size| *size >= 0);
            Some(Part { uri: block.uri.clone(), size, ..of(PartKind::Link) })
        }
        _ => None,
    }
}

/// The content of a part.
///
/// # Errors
/// [`NoContent`].
pub fn content(result: &RawValue, place: Place) -> Result<Vec<u8>, NoContent> {
    let malformed = |_| NoContent::Malformed;
    let shape: Shape<'_> = serde_json::from_str(result.get()).map_err(malformed)?;
    let number = match place {
        Place::Structured => {
            let structured = shape.structured.ok_or(NoContent::Malformed)?;
            return Ok(structured.get().as_bytes().to_vec());
        }
        Place::Block(number) => number,
    };
    let raw = shape.content.get(number).ok_or(NoContent::Malformed)?;
    let block: Block<'_> = serde_json::from_str(raw.get()).map_err(malformed)?;
    if let Some(resource) = block.resource {
        let resource: Resource<'_> = serde_json::from_str(resource.get()).map_err(malformed)?;
        return match (resource.text, resource.blob) {
            (Some(text), None) => text_of(text),
            (_, Some(blob)) => bytes_of(blob),
            (None, None) => Err(NoContent::Malformed),
        };
    }
    match (block.data, block.text) {
        (Some(data), _) => bytes_of(data),
        (None, Some(text)) => text_of(text),
        (None, None) => Err(NoContent::Malformed),
    }
}

fn text_of(raw: &RawValue) -> Result<Vec<u8>, NoContent> {
    serde_json::from_str::<String>(raw.get()).map(String::into_bytes).map_err(|_| NoContent::Malformed)
}

fn bytes_of(raw: &RawValue) -> Result<Vec<u8>, NoContent> {
    let text: Cow<'_, str> = serde_json::from_str(raw.get()).map_err(|_| NoContent::Malformed)?;
    let lines = text.bytes().any(|byte| byte.is_ascii_whitespace());
    let text = if lines { text.split_ascii_whitespace().collect::<String>().into() } else { text };
    BASE64.decode(text.as_bytes()).map_err(|_| NoContent::NotBase64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn raw(value: &serde_json::Value) -> Box<RawValue> {
        serde_json::value::to_raw_value(value).unwrap()
    }

    #[test]
    fn what_is_large_or_no_text_is_kept_apart() {
        let long = "x".repeat(LONG + 1);
        let result = raw(&json!({
            "content": [
                {"type": "text", "text": "short"},
                {"type": "text", "text": long},
                {"type": "image", "data": "AAEC", "mimeType": "image/png"},
                {"type": "audio", "data": "!!"},
                {"type": "resource", "resource": {"uri": "file:///a/b.txt", "text": "words"}},
                {"type": "resource", "resource": {"uri": "x:y", "blob": "AA EC\n", "mimeType": "a/b"}},
                {"type": "resource_link", "uri": "https://host/c", "name": "c", "size": 5},
                {"type": "brand_new", "data": "AAEC"},
                7,
            ],
            "structuredContent": {"long": long},
        }));
        let (found, more) = parts(&result);
        let kinds: Vec<_> = found.iter().map(|part| part.kind).collect();
        use PartKind::{Audio, Image, Link, Resource, Text};
        assert_eq!(kinds, [Text, Image, Audio, Resource, Resource, Link, Text]);
        assert_eq!(more, 0);
        let of = |number: usize| content(&result, found[number].place);
        assert_eq!(of(0).unwrap().len(), LONG + 1);
        assert_eq!(of(1).unwrap(), [0, 1, 2]);
        assert_eq!(of(2), Err(NoContent::NotBase64));
        assert_eq!(of(3).unwrap(), b"words");
        assert_eq!(of(4).unwrap(), [0, 1, 2]);
        assert_eq!((found[5].uri.as_deref(), found[5].size), (Some("https://host/c"), Some(5)));
        assert!(of(6).unwrap().starts_with(b"{\"long\""));
    }

    #[test]
    fn odd_results_have_few_parts_or_none() {
        for odd in [json!(null), json!([]), json!({"content": 7}), json!({"content": [{"type": "resource"}]})]
        {
            assert_eq!(parts(&raw(&odd)), (Vec::new(), 0), "{odd}");
        }
        let many: Vec<_> = (0..MANY + 5).map(|_| json!({"type": "image", "data": ""})).collect();
        let (found, more) = parts(&raw(&json!({"content": many})));
        assert_eq!((found.len(), more), (MANY, 5));
    }
}
