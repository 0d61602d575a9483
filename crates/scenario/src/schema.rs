//! Parts of the JSON Schema of scenario files.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::document::Value;

/// Schemas referred to by name.
#[derive(Default)]
pub(crate) struct Definitions(BTreeMap<String, Json>);

impl Definitions {
    /// Returns a reference to the schema called `name`, which is created on first use.
    pub fn refer(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Json) -> Json {
        if !self.0.contains_key(name) {
            // Placeholder, in case the schema refers to itself.
            self.0.insert(name.to_owned(), Json::Null);
            let schema = make(self);
            self.0.insert(name.to_owned(), schema);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// Returns all of them by name.
    pub fn all(&self) -> Json {
        json!(self.0)
    }
}

#[cfg(test)]
impl Definitions {
    pub fn get(&self, name: &str) -> &Json {
        &self.0[name]
    }
}

/// Returns an object with exactly these properties.
pub(crate) fn object(doc: &str, properties: Map<String, Json>, required: Vec<Json>) -> Json {
    let mut object = json!({
        "type": "object",
        "description": describe(doc),
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        object["required"] = Json::Array(required);
    }
    object
}

/// Returns an object of one kind among several.
pub(crate) fn kind(
    kind: &str,
    doc: &str,
    mut properties: Map<String, Json>,
    mut required: Vec<Json>,
) -> Json {
    properties.insert("kind".to_owned(), json!({ "const": kind }));
    required.insert(0, "kind".into());
    object(doc, properties, required)
}

/// Returns the text of doc comments, without indentation and line breaks.
pub(crate) fn describe(doc: &str) -> Json {
    let lines: Vec<_> = doc.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" ").into()
}

/// Returns a value of a file as JSON.
pub(crate) fn json(value: &Value) -> Json {
    match value {
        Value::Bool(value) => json!(value),
        Value::Integer(n) => i64::try_from(*n).map_or_else(|_| json!(*n as f64), |n| json!(n)),
        Value::Float(x) => json!(x),
        Value::Text(text) | Value::Other(text) => json!(text),
        Value::Array(items) => items.iter().map(|item| json(&item.value)).collect(),
        Value::Table(table) => {
            let entries = table.0.iter().map(|(key, node)| (key.clone(), json(&node.value)));
            Json::Object(entries.collect())
        }
    }
}
