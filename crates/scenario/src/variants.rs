//! Variants of a scenario: named sets of keys that replace those of the file.
//!
//! A table with a `kind` chooses a mechanism or a kind of traffic, and replaces the table of the file as a whole. Any other
//! table is looked into, so that each of its keys replaces one key of the file.

use serde_json::{Value as Json, json};

use crate::document::{self, Node, Table, Value, is_name};
use crate::field::{Field, Reader, UnlocatedDiagnostic};
use crate::schema::Definitions;
use crate::{Diagnostic, Found, overrides, read, toml_text};

/// Name of the table.
pub(crate) const KEY: &str = "variants";
/// Maximum number of variants, each of which is read with the whole file.
const MAX_VARIANTS: usize = 100;
/// Maximum number of bytes read for that.
const MAX_READ_BYTES: usize = 50_000_000;

/// Names, each with its keys and their values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variants(Vec<(String, Vec<(String, Value)>)>);

impl Variants {
    /// Returns the names, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Whether a variant changes nothing, so that its name is that of the file as it stands.
    pub fn is_unchanged(&self, name: &str) -> bool {
        self.0.iter().any(|(own, keys)| own == name && keys.is_empty())
    }
}

impl Field for Variants {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let table = reader.table(node)?;
        if table.0.len() > MAX_VARIANTS {
            return reader.error(format!("{} variants; at most {MAX_VARIANTS}", table.0.len()));
        }
        let read = |(name, node): &(String, Node)| {
            reader.within(name, |reader| {
                if !is_name(name) {
                    return reader.error("a name has letters, digits, - and _, at most 64 of them");
                }
                let keys = leaves(reader.table(node)?).into_iter();
                Some((name.clone(), keys.map(|leaf| (leaf.key(), leaf.node.value)).collect()))
            })
        };
        let variants: Vec<Option<_>> = table.0.iter().map(read).collect();
        variants.into_iter().collect::<Option<Vec<_>>>().map(Variants)
    }

    fn write(&self) -> Value {
        let keys = |keys: &Vec<(String, Value)>| {
            Table(keys.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect())
        };
        Table(self.0.iter().map(|(name, own)| (name.clone(), keys(own).into())).collect()).into()
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "object", "additionalProperties": { "type": "object" } })
    }
}

/// A key that a variant replaces.
struct Leaf {
    /// One part alone may be a dotted key of its own, which was in quotes.
    path: Vec<String>,
    node: Node,
}

impl Leaf {
    fn key(&self) -> String {
        match &self.path[..] {
            [key] => key.clone(),
            path => toml_text::dotted(path),
        }
    }

    /// Whether it chooses a scheduler, at which the signals of the file go: before the variant's own come.
    fn chooses_scheduler(&self) -> bool {
        self.path.iter().any(|part| part.ends_with("scheduler"))
    }
}

/// Returns what a variant replaces, schedulers first.
fn leaves(table: &Table) -> Vec<Leaf> {
    fn collect(table: &Table, path: &mut Vec<String>, found: &mut Vec<Leaf>) {
        for (key, node) in &table.0 {
            path.push(key.clone());
            match &node.value {
                Value::Table(inner) if inner.get("kind").is_none() => collect(inner, path, found),
                _ => found.push(Leaf { path: path.clone(), node: node.clone() }),
            }
            path.pop();
        }
    }
    let mut found = Vec::new();
    collect(table, &mut Vec::new(), &mut found);
    found.sort_by_key(|leaf| !leaf.chooses_scheduler());
    found
}

/// Turns a document into that of a variant, or with no name into the file without its variants. Returns what cannot be
/// replaced.
pub(crate) fn choose(document: &mut Table, name: Option<&str>) -> Vec<Diagnostic> {
    let at = document.0.iter().position(|(key, _)| key == KEY);
    let variants = at.map(|at| document.0.remove(at).1.value);
    let Some(name) = name else { return Vec::new() };
    let Some(Value::Table(own)) = variants.as_ref().and_then(|variants| match variants {
        Value::Table(variants) => variants.get(name).map(|node| &node.value),
        _ => None,
    }) else {
        return vec![crate::unplaced(KEY.to_owned(), format!("there is no variant \"{name}\""))];
    };
    leaves(own).iter().filter_map(|leaf| replace(document, leaf).err()).collect()
}

fn replace(document: &mut Table, leaf: &Leaf) -> Result<(), Diagnostic> {
    let key = leaf.key();
    if [KEY, "sweep"].iter().any(|own| overrides::without_word(&key).split('.').next() == Some(own))
    {
        let message = "a variant changes neither variants nor the sweep".to_owned();
        return Err(crate::unplaced(key, message));
    }
    overrides::apply(document, &key, leaf.node.clone())
}

/// Reads each variant, so that no run begins with a misspelling in another one.
pub(crate) fn check(document: &Table, variants: &Variants, file_bytes: usize) -> Result<(), Found> {
    let path = |name: Option<&str>| {
        let keys = std::iter::once(KEY).chain(name).map(str::to_owned);
        keys.collect::<Vec<_>>()
    };
    if variants.0.len().saturating_mul(file_bytes) > MAX_READ_BYTES {
        let message = format!("{} are too many for a file of this size", variants.0.len());
        let error = UnlocatedDiagnostic { path: path(None), message, suggestion: None };
        return Err(vec![error].into());
    }
    let mut errors = Vec::new();
    for name in variants.names() {
        let mut own = document.clone();
        own.0.retain(|(key, _)| key != "sweep");
        let located = |key: &str, message: &str, suggestion: &Option<String>| UnlocatedDiagnostic {
            path: [path(Some(name)), document::split_key(key).unwrap_or_default()].concat(),
            message: message.to_owned(),
            suggestion: suggestion.clone(),
        };
        errors.extend(choose(&mut own, Some(name)).iter().map(|issue| {
            located(overrides::without_word(&issue.key), &issue.message, &issue.suggestion)
        }));
        let found = read(&own).err().into_iter().flat_map(|found| found.errors);
        errors.extend(found.map(|error| {
            let key = toml_text::dotted(&error.path);
            located(&key, &error.message, &error.suggestion)
        }));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors.into()) }
}
