//! The macros that declare the sections of the file: a struct, its reader, its writer and its JSON
//! Schema, all from one list of keys with their doc comments.

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
            $( $(#[doc = $about])* pub $key: $crate::declare::entry_type!($mode $ty), )*
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
                $( let $key = $crate::declare::read_entry!(
                    $mode $ty, table, reader, stringify!($key) $(, $default)?); )*
                let section = $name { $($key: $key?),* };
                $( $check(&section, reader); )?
                Some(section)
            }
            fn write_table(&self) -> $crate::document::Table {
                let mut table = $crate::document::Table::default();
                $( $crate::declare::write_entry!($mode self.$key, table, stringify!($key)); )*
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
                    $crate::declare::require_entry!($mode required, stringify!($key));
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
                let all = [$( ($kind, $variant::KEYS.to_vec()) ),*];
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
