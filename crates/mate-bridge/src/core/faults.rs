//! Errors that MCP gives a code of its own.

use super::{Fault, Object, raw};
use serde_json::{Value, json};

/// The codes that the new era adds, and the one that it gave up.
pub(crate) const HEADER_MISMATCH: i64 = -32020;
pub(crate) const MISSING_CAPABILITY: i64 = -32021;
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
pub(crate) const NO_METHOD: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;
const NO_RESOURCE: i64 = -32002;

fn with(code: i64, message: &str, data: &Value) -> Fault {
    Fault(raw(&json!({ "code": code, "message": message, "data": data })))
}

/// The code of an error; 0 when it has none that can be read.
pub(crate) fn code(fault: &Fault) -> i64 {
    #[derive(serde::Deserialize)]
    struct Code {
        code: i64,
    }
    serde_json::from_str::<Code>(fault.0.get()).map_or(0, |read| read.code)
}

/// The headers of a request do not say what its body says (2026-07-28).
pub(crate) fn header_mismatch(message: &str) -> Fault {
    Fault(raw(&json!({ "code": HEADER_MISMATCH, "message": message })))
}

/// A version of the protocol that is not spoken here (2026-07-28).
pub(crate) fn unsupported_version(requested: &str, supported: &[&str]) -> Fault {
    let requested: String = requested.chars().take(80).collect();
    let data = json!({ "supported": supported, "requested": requested });
    with(UNSUPPORTED_VERSION, "this version of the protocol is not spoken here", &data)
}

/// The request does not say that its sender has an extension which it needs (2026-07-28).
pub(crate) fn missing_extension(name: &str) -> Fault {
    let data = json!({ "requiredCapabilities": { "extensions": { name: {} } } });
    with(MISSING_CAPABILITY, &format!("the request must declare the extension {name}"), &data)
}

/// A resource that nobody here has.
pub(crate) fn no_resource(uri: &str) -> Fault {
    let uri: String = uri.chars().take(2048).collect();
    with(INVALID_PARAMS, "no granted connection has this resource", &json!({ "uri": uri }))
}

/// An error as the new era wants it, which has no code of its own for a resource that is not there.
pub(crate) fn in_new_era(fault: Fault) -> Fault {
    if code(&fault) != NO_RESOURCE {
        return fault;
    }
    let Ok(mut object) = Object::parse(&fault.0) else { return fault };
    object.set("code", raw(&INVALID_PARAMS));
    Fault(object.to_raw())
}
