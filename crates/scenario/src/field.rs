//! What a field of a scenario file must be able to do: be read, be written, be described.
//!
//! The sections of the file are declared once, by the macros below, in the words of their doc
//! comments. Reader, writer and JSON Schema all come from that declaration, so they agree.

use serde_json::{Value as Json, json};
use tidegate_mechanisms::units::{Bytes, Rate, Span};

use crate::document::{Node, Table, Value};
use crate::issue::nearest;
use crate::quantity::{PACKETS, Quantity, QueueLength, SIZE};
use crate::schema::Definitions;

/// A value that can stand in a file.
pub(crate) trait Field: Sized {
    /// Reads the value; tells the reader what is wrong with it, if it returns `None`.
    fn read(node: &Node, reader: &mut Reader) -> Option<Self>;
    fn write(&self) -> Value;
    fn schema(definitions: &mut Definitions) -> Json;
}

/// A mistake, at a path in the document.
#[derive(Debug)]
pub(crate) struct Mistake {
    pub path: Vec<String>,
    pub message: String,
    pub suggestion: Option<String>,
}

/// Where reading is, and the mistakes found so far.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    path: Vec<String>,
    pub mistakes: Vec<Mistake>,
}

impl Reader {
    /// Notes a mistake in the value being read.
    pub fn wrong<T>(&mut self, message: impl Into<String>) -> Option<T> {
        self.wrong_near(message, None)
    }
    pub fn wrong_near<T>(&mut self, message: impl Into<String>, near: Option<String>) -> Option<T> {
        let (path, message) = (self.path.clone(), message.into());
        self.mistakes.push(Mistake { path, message, suggestion: near });
        None
    }
    /// Notes a mistake in an entry of the table being read.
    pub fn wrong_at(&mut self, key: &str, message: impl Into<String>) {
        self.within(key, |reader| reader.wrong::<()>(message));
    }
    pub fn within<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(key.to_owned());
        let value = read(self);
        self.path.pop();
        value
    }
    /// The value as a table, or a mistake.
    pub fn table<'a>(&mut self, node: &'a Node) -> Option<&'a Table> {
        match &node.value {
            Value::Table(table) => Some(table),
            other => self.wrong(format!("expected a table, not {}", other.kind())),
        }
    }
    /// The value as a text, or a mistake.
    pub fn text<'a>(&mut self, node: &'a Node, expected: &str) -> Option<&'a str> {
        match &node.value {
            Value::Text(text) => Some(text),
            other => self.wrong(format!("expected {expected}, not {}", other.kind())),
        }
    }
    /// Refuses keys that are not in `known`.
    pub fn known_keys(&mut self, table: &Table, known: &[&str]) {
        for (key, _) in table.0.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
            let near = nearest(key, known.iter().copied()).map(str::to_owned);
            let keys = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let message = format!("unknown key; valid keys here: {keys}");
            self.within(key, |reader| reader.wrong_near::<()>(message, near));
        }
    }
    pub fn required<T: Field>(&mut self, table: &Table, key: &str) -> Option<T> {
        match table.get(key) {
            Some(node) => self.within(key, |reader| T::read(node, reader)),
            None => self.within(key, |reader| reader.wrong("missing")),
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
    const KEYS: &'static [&'static str];
    /// Reads all known keys of `table`; unknown ones are the caller's.
    fn read_table(table: &Table, reader: &mut Reader) -> Option<Self>;
    fn write_table(&self) -> Table;
    /// Properties, and which of them are required.
    fn properties(definitions: &mut Definitions) -> (serde_json::Map<String, Json>, Vec<Json>);
}

impl<S: Section> Field for S {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let table = reader.table(node)?;
        reader.known_keys(table, S::KEYS);
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

/// Declares a table of the file: each entry is `required`, `optional` or has a `default`.
///
/// An entry that cannot be read counts as absent from then on, so that the rest of the table is
/// still checked; its mistake is on record, and nothing is built from a file with mistakes.
macro_rules! section {
    ($(#[doc = $doc:literal])* pub struct $name:ident {
        $( $(#[doc = $about:literal])* $mode:ident $key:ident : $ty:ty $(= $default:expr)? ; )*
    } $(check $check:path;)?) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $name {
            $( $(#[doc = $about])* pub $key: $crate::field::entry_type!($mode $ty), )*
        }
        #[allow(unused_variables, unused_mut)]
        impl $crate::field::Section for $name {
            const NAME: &'static str = stringify!($name);
            const DOC: &'static str = concat!($($doc, "\n"),*);
            const KEYS: &'static [&'static str] = &[$(stringify!($key)),*];
            fn read_table(
                table: &$crate::document::Table,
                reader: &mut $crate::field::Reader,
            ) -> Option<Self> {
                $( let $key = $crate::field::read_entry!(
                    $mode $ty, table, reader, stringify!($key) $(, $default)?); )*
                let section = $name { $($key: $key?),* };
                $( $check(&section, reader); )?
                Some(section)
            }
            fn write_table(&self) -> $crate::document::Table {
                let mut table = $crate::document::Table::default();
                $( $crate::field::write_entry!($mode self.$key, table, stringify!($key)); )*
                table
            }
            fn properties(definitions: &mut $crate::schema::Definitions)
                -> (serde_json::Map<String, serde_json::Value>, Vec<serde_json::Value>) {
                let mut properties = serde_json::Map::new();
                let mut required = Vec::new();
                $(
                    let mut property = <$ty as $crate::field::Field>::schema(definitions);
                    property["description"] =
                        $crate::schema::describe(concat!($($about, "\n"),*));
                    $( property["default"] = $crate::schema::json(
                        &<$ty as $crate::field::Field>::write(&$default)); )?
                    $crate::field::require_entry!($mode required, stringify!($key));
                    properties.insert(stringify!($key).to_owned(), property);
                )*
                (properties, required)
            }
        }
    };
}

macro_rules! entry_type {
    (optional $ty:ty) => { Option<$ty> };
    ($mode:ident $ty:ty) => { $ty };
}

macro_rules! read_entry {
    (required $ty:ty, $table:ident, $reader:ident, $key:expr) => {
        $reader.required::<$ty>($table, $key)
    };
    (optional $ty:ty, $table:ident, $reader:ident, $key:expr) => {
        Some($reader.optional::<$ty>($table, $key))
    };
    (default $ty:ty, $table:ident, $reader:ident, $key:expr, $default:expr) => {
        Some($reader.optional::<$ty>($table, $key).unwrap_or_else(|| $default))
    };
}

macro_rules! write_entry {
    (optional $value:expr, $table:ident, $key:expr) => {
        if let Some(value) = &$value {
            $table.0.push(($key.to_owned(), $crate::field::Field::write(value).into()));
        }
    };
    ($mode:ident $value:expr, $table:ident, $key:expr) => {
        $table.0.push(($key.to_owned(), $crate::field::Field::write(&$value).into()));
    };
}

macro_rules! require_entry {
    (required $required:ident, $key:expr) => {
        $required.push($key.into());
    };
    ($mode:ident $required:ident, $key:expr) => {};
}

/// Declares a table whose `kind` says which other keys it has.
macro_rules! kinds {
    ($(#[doc = $doc:literal])* pub enum $name:ident {
        $( $variant:ident = $kind:literal, )*
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) enum $name { $( $variant($variant) ),* }
        impl $crate::field::Field for $name {
            fn read(node: &$crate::document::Node, reader: &mut $crate::field::Reader)
                -> Option<Self> {
                use $crate::field::Section;
                let table = reader.table(node)?;
                let all = [$( ($kind, $variant::KEYS) ),*];
                match $crate::field::read_kind(table, &all, reader)? {
                    $( $kind => $variant::read_table(table, reader).map($name::$variant), )*
                    _ => None,
                }
            }
            fn write(&self) -> $crate::document::Value {
                use $crate::field::Section;
                let (kind, section) = match self {
                    $( $name::$variant(section) => ($kind, section.write_table()), )*
                };
                let mut table = $crate::document::Table::default();
                table.0.push(("kind".to_owned(), $crate::document::Value::from(kind).into()));
                table.0.extend(section.0);
                table.into()
            }
            fn schema(definitions: &mut $crate::schema::Definitions) -> serde_json::Value {
                use $crate::field::Section;
                definitions.refer(stringify!($name), |definitions| {
                    let kinds = vec![$( {
                        let (properties, required) = $variant::properties(definitions);
                        $crate::schema::kind($kind, $variant::DOC, properties, required)
                    } ),*];
                    serde_json::json!({
                        "description": $crate::schema::describe(concat!($($doc, "\n"),*)),
                        "oneOf": kinds,
                    })
                })
            }
        }
    };
}

/// The kind of a table, one of `all`; refuses keys that this kind does not have.
pub(crate) fn read_kind(
    table: &Table,
    all: &[(&'static str, &'static [&'static str])],
    reader: &mut Reader,
) -> Option<&'static str> {
    let names: Vec<_> = all.iter().map(|(kind, _)| *kind).collect();
    let Some(node) = table.get("kind") else {
        reader.wrong_at("kind", format!("missing; one of {}", names.join(", ")));
        return None;
    };
    let kind = reader.within("kind", |reader| read_choice(node, &names, reader))?;
    let mut known = vec!["kind"];
    // An override of the kind leaves the other kind's keys standing in the file: not a mistake.
    let overridden = node.at.is_none();
    let allowed = all.iter().filter(|(name, _)| overridden || *name == kind);
    known.extend(allowed.flat_map(|(_, keys)| keys.iter()));
    reader.known_keys(table, &known);
    Some(kind)
}

/// Declares a choice of words.
macro_rules! choice {
    ($(#[doc = $doc:literal])* pub enum $name:ident {
        $( $(#[doc = $about:literal])* $variant:ident = $word:literal, )*
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $( $(#[doc = $about])* $variant ),* }
        impl $name {
            pub const ALL: &'static [(&'static str, $name)] = &[$( ($word, $name::$variant) ),*];
        }
        impl $crate::field::Field for $name {
            fn read(node: &$crate::document::Node, reader: &mut $crate::field::Reader)
                -> Option<Self> {
                let words: Vec<_> = Self::ALL.iter().map(|(word, _)| *word).collect();
                let word = $crate::field::read_choice(node, &words, reader)?;
                Self::ALL.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
            }
            fn write(&self) -> $crate::document::Value {
                match self { $( $name::$variant => $word.into() ),* }
            }
            fn schema(definitions: &mut $crate::schema::Definitions) -> serde_json::Value {
                definitions.refer(stringify!($name), |_| serde_json::json!({
                    "description": $crate::schema::describe(concat!($($doc, "\n"),*)),
                    "oneOf": [$( {
                        "const": $word,
                        "description": $crate::schema::describe(concat!($($about, "\n"),*)),
                    } ),*],
                }))
            }
        }
    };
}

pub(crate) use {choice, entry_type, kinds, read_entry, require_entry, section, write_entry};

/// One of `words`, or a mistake that lists them.
pub(crate) fn read_choice(
    node: &Node,
    words: &[&'static str],
    reader: &mut Reader,
) -> Option<&'static str> {
    let list = words.join(", ");
    let given = reader.text(node, &format!("one of {list}"))?;
    let found = words.iter().find(|word| **word == given).copied();
    found.or_else(|| {
        let near = nearest(given, words.iter().copied()).map(str::to_owned);
        reader.wrong_near(format!("\"{given}\" is none of {list}"), near)
    })
}

impl Field for bool {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.value {
            Value::Bool(value) => Some(*value),
            other => reader.wrong(format!("expected true or false, not {}", other.kind())),
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
/// Reads and writes quantities as text; `Field` is implemented by type below.
trait QuantityField: Quantity {
    fn read_quantity(node: &Node, reader: &mut Reader) -> Option<Self> {
        let expected =
            format!("a {} with a unit, e.g. \"{}\"", Self::DIMENSION.name, Self::DIMENSION.example);
        let text = reader.text(node, &expected)?;
        match Self::DIMENSION.parse(text) {
            Ok(steps) => Some(Self::from_steps(steps)),
            Err((message, near)) => reader.wrong_near(message, near),
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
quantity_fields!(Rate Span Bytes);

impl Field for QueueLength {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let text =
            reader.text(node, "a queue length with a unit, e.g. \"50 packets\" or \"75 kB\"")?;
        match QueueLength::parse(text) {
            Ok(length) => Some(length),
            Err((message, near)) => reader.wrong_near(message, near),
        }
    }
    fn write(&self) -> Value {
        Value::Text(QueueLength::write(*self))
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
