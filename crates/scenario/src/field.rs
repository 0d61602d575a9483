//! Interface of fields in a scenario file: reading, writing, description.
//!
//! The sections of the file are declared once, by the macro of [`crate::declare`], with doc comments as descriptions.
//! Reader, writer and JSON Schema are all generated from that declaration, so they agree.

use serde_json::{Value as Json, json};
use tidegate_mechanisms::units::{
    BufferSize, Bytes, QueueLength, Rate, RateOrOutage, Span, TokenRate, Tokens,
};

use crate::document::{Node, Table, Value};
use crate::issue::{MAX_ERRORS, nearest};
use crate::misplaced::same_name;
use crate::profile::Profile;
use crate::quantity::{self, PACKETS, Quantity, SIZE, parse_queue_length};
use crate::schema::Definitions;

/// A value of a scenario file.
pub(crate) trait Field: Sized {
    /// Reads the value; records the errors if it returns `None`.
    fn read(node: &Node, reader: &mut Reader) -> Option<Self>;
    fn write(&self) -> Value;
    fn schema(definitions: &mut Definitions) -> Json;
}

/// Error at a path in the document.
#[derive(Debug)]
pub(crate) struct UnlocatedDiagnostic {
    pub path: Vec<String>,
    pub message: String,
    pub suggestion: Option<String>,
}

/// State of reading: current path, and the errors found so far.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    path: Vec<String>,
    pub errors: Vec<UnlocatedDiagnostic>,
    /// Profile that sets the options not given.
    pub profile: Profile,
    /// Number of errors beyond those shown.
    pub omitted: usize,
}

impl Reader {
    pub fn following(profile: Profile) -> Self {
        Reader { profile, ..Reader::default() }
    }
    /// Whether the limit of shown errors is reached, so that further ones are only counted.
    pub fn is_full(&self) -> bool {
        self.errors.len() == MAX_ERRORS
    }
    /// Records an error in the value being read.
    pub fn error<T>(&mut self, message: impl Into<String>) -> Option<T> {
        self.error_near(message, None)
    }
    pub fn error_near<T>(&mut self, message: impl Into<String>, near: Option<String>) -> Option<T> {
        if self.is_full() {
            self.omitted += 1;
            return None;
        }
        let (path, message) = (self.path.clone(), message.into());
        self.errors.push(UnlocatedDiagnostic { path, message, suggestion: near });
        None
    }
    /// Records an error in an entry of the table being read.
    pub fn error_at(&mut self, key: &str, message: impl Into<String>) {
        self.within(key, |reader| reader.error::<()>(message));
    }
    pub fn within<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(key.to_owned());
        let value = read(self);
        self.path.pop();
        value
    }
    /// Reads below a path of several keys.
    pub fn nested(&mut self, path: &[&str], read: impl FnOnce(&mut Self)) {
        let depth = self.path.len();
        self.path.extend(path.iter().map(|key| (*key).to_owned()));
        read(self);
        self.path.truncate(depth);
    }
    /// Returns the value as a table, or records an error.
    pub fn table<'a>(&mut self, node: &'a Node) -> Option<&'a Table> {
        match &node.value {
            Value::Table(table) => Some(table),
            other => self.error(format!("expected a table, not {}", other.kind())),
        }
    }
    /// Returns the value as a text, or records an error.
    pub fn text<'a>(&mut self, node: &'a Node, expected: &str) -> Option<&'a str> {
        match &node.value {
            Value::Text(text) => Some(text),
            other => self.error(format!("expected {expected}, not {}", other.kind())),
        }
    }
    /// Records errors for keys that are not in `known`; for retired keys it names the replacement.
    pub fn keys(&mut self, table: &Table, known: &[&str], retired: &[(&str, &str)]) {
        for (key, today) in retired.iter().filter(|(key, _)| table.get(key).is_some()) {
            self.error_at(key, format!("is no key any more; write {today}"));
        }
        let is_today = |(key, _): &&(String, Node)| retired.iter().all(|(old, _)| old != key);
        let today = Table(table.0.iter().filter(is_today).cloned().collect());
        self.known_keys(&today, known);
    }
    /// Records errors for keys that are not in `known`.
    pub fn known_keys(&mut self, table: &Table, known: &[&str]) {
        for (key, _) in table.0.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
            if self.is_full() {
                // The search for the nearest name costs more than everything else here.
                self.omitted += 1;
                continue;
            }
            let near = nearest(key, known.iter().copied()).map(str::to_owned);
            let keys = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let message = format!("unknown key; valid keys here: {keys}");
            self.within(key, |reader| reader.error_near::<()>(message, near));
        }
    }
    pub fn required<T: Field>(&mut self, table: &Table, key: &str) -> Option<T> {
        match table.get(key) {
            Some(node) => self.within(key, |reader| T::read(node, reader)),
            None => self.within(key, |reader| reader.error("missing")),
        }
    }
    pub fn optional<T: Field>(&mut self, table: &Table, key: &str) -> Option<T> {
        table.get(key).and_then(|node| self.within(key, |reader| T::read(node, reader)))
    }
}

/// A table with fixed keys.
pub(crate) trait Section: Sized {
    const NAME: &'static str;
    const DOC: &'static str;
    /// Returns the keys in the order of their declaration.
    fn keys() -> Vec<&'static str>;
    /// Reads all known keys of `table`; the caller handles unknown ones.
    fn read_table(table: &Table, reader: &mut Reader) -> Option<Self>;
    fn write_table(&self) -> Table;
    /// Returns the schema properties, and the required keys.
    fn properties(definitions: &mut Definitions) -> (serde_json::Map<String, Json>, Vec<Json>);
}

impl<S: Section> Field for S {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let table = reader.table(node)?;
        reader.known_keys(table, &S::keys());
        S::read_table(table, reader)
    }
    fn write(&self) -> Value {
        self.write_table().into()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        definitions.refer(S::NAME, |definitions| {
            let (properties, required) = S::properties(definitions);
            crate::schema::object(S::DOC, properties, required)
        })
    }
}

/// Reads the kind of a table, one of `all`; records errors for keys that this kind does not have.
pub(crate) fn read_kind(
    table: &Table,
    all: &[(&'static str, Vec<&'static str>)],
    reader: &mut Reader,
) -> Option<&'static str> {
    let names: Vec<_> = all.iter().map(|(kind, _)| *kind).collect();
    let Some(node) = table.get("kind") else {
        reader.error_at("kind", format!("missing; one of {}", names.join(", ")));
        return None;
    };
    let kind = reader.within("kind", |reader| read_choice(node, &names, reader))?;
    let mut known = vec!["kind"];
    // After an override of the kind, keys of the previous kind in the file are no error.
    let was = |name: &str| node.replaced.iter().any(|before| before == name);
    let allowed = all.iter().filter(|(name, _)| *name == kind || was(name));
    for key in allowed.flat_map(|(_, keys)| keys) {
        if !known.contains(key) {
            known.push(key);
        }
    }
    reader.known_keys(table, &known);
    Some(kind)
}

/// Reads one of `words`, or records an error that lists them.
pub(crate) fn read_choice(
    node: &Node,
    words: &[&'static str],
    reader: &mut Reader,
) -> Option<&'static str> {
    let list = words.join(", ");
    let given = reader.text(node, &format!("one of {list}"))?;
    let found = words.iter().find(|word| **word == given).copied();
    let found = found.or_else(|| same_name(given, words.iter().copied()));
    found.or_else(|| {
        let near = nearest(given, words.iter().copied()).map(str::to_owned);
        reader.error_near(format!("\"{given}\" is none of {list}"), near)
    })
}

impl Field for bool {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.value {
            Value::Bool(value) => Some(*value),
            other => reader.error(format!("expected true or false, not {}", other.kind())),
        }
    }
    fn write(&self) -> Value {
        Value::Bool(*self)
    }
    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "boolean" })
    }
}

impl Field for String {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        reader.text(node, "a text").map(str::to_owned)
    }
    fn write(&self) -> Value {
        self.as_str().into()
    }
    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "string" })
    }
}

impl<Q: Quantity> QuantityField for Q {}
/// Reads and writes quantities as text; `Field` is implemented for each type below.
trait QuantityField: Quantity {
    fn read_quantity(node: &Node, reader: &mut Reader) -> Option<Self> {
        let expected =
            format!("a {} with a unit, e.g. \"{}\"", Self::DIMENSION.name, Self::DIMENSION.example);
        let text = reader.text(node, &expected)?;
        match Self::DIMENSION.parse(text) {
            Ok(steps) => Some(Self::from_steps(steps)),
            Err((message, near)) => reader.error_near(message, near),
        }
    }
    fn quantity_schema(definitions: &mut Definitions, name: &str) -> Json {
        definitions.refer(name, |_| {
            let dimension = &Self::DIMENSION;
            json!({
                "type": "string",
                "pattern": dimension.pattern(),
                "examples": [dimension.example],
            })
        })
    }
}

macro_rules! quantity_fields {
    ($($ty:ident)*) => { $(
        impl Field for $ty {
            fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
                Self::read_quantity(node, reader)
            }
            fn write(&self) -> Value {
                Value::Text(Self::DIMENSION.write(self.steps()))
            }
            fn schema(definitions: &mut Definitions) -> Json {
                Self::quantity_schema(definitions, stringify!($ty))
            }
        }
    )* };
}
quantity_fields!(Rate RateOrOutage Span Bytes);

impl Field for QueueLength {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let text =
            reader.text(node, "a queue length with a unit, e.g. \"50 packets\" or \"75 kB\"")?;
        match parse_queue_length(text) {
            Ok(length) => Some(length),
            Err((message, near)) => reader.error_near(message, near),
        }
    }
    fn write(&self) -> Value {
        Value::Text(self.to_string())
    }
    fn schema(definitions: &mut Definitions) -> Json {
        definitions.refer("QueueLength", |_| {
            json!({
                "type": "string",
                "pattern": format!("^[0-9]+ *packets?$|{}", SIZE.pattern()),
                "examples": [PACKETS.example, "75 kB"],
            })
        })
    }
}

impl Field for BufferSize {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let text = reader.text(
            node,
            "a buffer with a unit, e.g. \"50 packets\", \"75 kB\", \"50 ms\" or \"1 BDP\"",
        )?;
        match quantity::parse_buffer(text) {
            Ok(size) => Some(size),
            Err((message, near)) => reader.error_near(message, near),
        }
    }
    fn write(&self) -> Value {
        Value::Text(quantity::write_buffer(*self))
    }
    fn schema(definitions: &mut Definitions) -> Json {
        definitions.refer("Buffer", |_| {
            json!({
                "type": "string",
                "pattern": quantity::buffer_pattern(),
                "examples": [PACKETS.example, "75 kB", "50 ms", "1 BDP"],
            })
        })
    }
}

impl Field for Tokens {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let text = reader.text(node, "an amount with a unit, e.g. \"45 packets\" or \"64 kB\"")?;
        match quantity::parse_token_amount(text) {
            Ok(tokens) => Some(tokens),
            Err((message, near)) => reader.error_near(message, near),
        }
    }
    fn write(&self) -> Value {
        Value::Text(quantity::write_token_amount(*self))
    }
    fn schema(definitions: &mut Definitions) -> Json {
        token_schema(definitions, "Tokens", 0, ["45 packets", "64 kB"])
    }
}

impl Field for TokenRate {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let text =
            reader.text(node, "a rate with a unit, e.g. \"45 packets/s\" or \"540 kb/s\"")?;
        match quantity::parse_token_rate(text) {
            Ok(rate) => Some(rate),
            Err((message, near)) => reader.error_near(message, near),
        }
    }
    fn write(&self) -> Value {
        Value::Text(quantity::write_token_rate(*self))
    }
    fn schema(definitions: &mut Definitions) -> Json {
        token_schema(definitions, "TokenRate", 1, ["45 packets/s", "540 kb/s"])
    }
}

fn token_schema(
    definitions: &mut Definitions,
    name: &'static str,
    which: usize,
    examples: [&str; 2],
) -> Json {
    definitions.refer(name, |_| {
        let pattern = &quantity::token_patterns()[which];
        json!({ "type": "string", "pattern": pattern, "examples": examples })
    })
}
