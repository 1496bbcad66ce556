//! Tool arguments against the tool's own input schema, before anything else is decided.

use super::bounded;
use serde_json::{Value, value::RawValue};

/// A compiled input schema. References to other documents are never fetched.
pub(crate) struct Schema(jsonschema::Validator);

/// How many complaints a refusal names.
const NAMED: usize = 5;

impl Schema {
    /// Compiles; the error says why the schema cannot be used.
    pub(crate) fn compile(raw: &RawValue) -> Result<Self, String> {
        let value: Value = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
        if !value.is_object() {
            return Err("it is not an object".into());
        }
        jsonschema::options()
            .should_validate_formats(false)
            .with_retriever(NoFetch)
            .build(&value)
            .map(Self)
            .map_err(|e| shorten(&e.to_string()))
    }

    /// The complaints about `arguments`, in words that an agent can act on.
    pub(crate) fn check(&self, arguments: &Value) -> Result<(), String> {
        let complaints: Vec<String> = self
            .0
            .iter_errors(arguments)
            .take(NAMED)
            .map(|e| {
                let path = e.instance_path().to_string();
                let at = if path.is_empty() { "arguments".to_owned() } else { format!("arguments{path}") };
                format!("{at}: {}", shorten(&e.to_string()))
            })
            .collect();
        if complaints.is_empty() { Ok(()) } else { Err(complaints.join("; ")) }
    }
}

fn shorten(text: &str) -> String {
    bounded(text).to_owned()
}

struct NoFetch;

impl jsonschema::Retrieve for NoFetch {
    fn retrieve(
        &self,
        uri: &jsonschema::Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("it refers to another document ({uri}), which is not fetched").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compile(schema: &Value) -> Result<Schema, String> {
        Schema::compile(&super::super::raw(schema))
    }

    #[test]
    fn arguments_are_judged_by_the_draft_that_the_schema_names() {
        let tuple = json!({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"t": {"items": [{"type": "string"}]}}});
        assert!(compile(&tuple).unwrap().check(&json!({"t": [1]})).is_err());
        let modern = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"s": {"type": "string"}}, "properties": {"t": {"prefixItems": [{"$ref": "#/$defs/s"}]}}});
        let error = compile(&modern).unwrap().check(&json!({"t": [1]})).unwrap_err();
        assert!(error.contains("arguments/t/0"), "{error}");
    }

    #[test]
    fn a_schema_elsewhere_is_never_fetched() {
        for target in ["http://127.0.0.1:9/x.json", "file:///etc/hostname"] {
            assert!(compile(&json!({"$ref": target})).is_err());
        }
    }
}
