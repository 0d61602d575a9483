//! Tables of the file with nested tables: groups of users, overlays of options, lists, words beside quantities.

use std::ops::Deref;

use serde_json::{Map, Value as Json};

use crate::document::{Table, Value};
use crate::field::{Field, Reader, Section};
use crate::schema::{self, Definitions};

/// Declares a table of the file in the form of [`parameters!`](tidegate_mechanisms::parameters): entries with a
/// default, as a file would write it, or of type `Option` are optional. Entries of `parameters!` are quantities,
/// numbers, words and mechanisms, which an engine's plan can contain and any crate can declare; here each value is a
/// [`Field`] of this crate.
///
/// An invalid entry counts as absent, so that the rest of the table is still checked; its error is recorded, and
/// nothing is built from a file with errors.
macro_rules! section {
    ($(#[doc = $doc:literal])* pub struct $name:ident {
        $( $(#[doc = $about:literal])* pub $key:ident: $ty:ty $(= $default:literal)?, )*
    } $(check $check:path;)?) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $name { $( $(#[doc = $about])* pub $key: $ty, )* }

        impl $name {
            const KEYS: [$crate::declare::Key; [$(stringify!($key)),*].len()] = [$(
                $crate::declare::Key {
                    name: stringify!($key),
                    about: concat!($($about, "\n"),*),
                    default: &[$($default)?],
                }
            ),*];
        }

        impl $crate::field::Section for $name {
            const NAME: &'static str = stringify!($name);
            const DOC: &'static str = concat!($($doc, "\n"),*);
            fn keys() -> Vec<&'static str> {
                let [$($key),*] = &Self::KEYS;
                [$( <$ty as $crate::declare::Keyed>::names($key) ),*].concat()
            }
            fn read_table(
                table: &$crate::document::Table,
                reader: &mut $crate::field::Reader,
            ) -> Option<Self> {
                let [$($key),*] = &Self::KEYS;
                $( let $key = $crate::declare::Keyed::read_in(table, $key, reader); )*
                let section = $name { $($key: $key?),* };
                $( $check(&section, reader); )?
                Some(section)
            }
            fn write_table(&self) -> $crate::document::Table {
                let [$($key),*] = &Self::KEYS;
                let mut table = $crate::document::Table::default();
                $( $crate::declare::Keyed::write_in(&self.$key, &mut table, $key); )*
                table
            }
            fn properties(
                definitions: &mut $crate::schema::Definitions,
            ) -> $crate::declare::Properties {
                let [$($key),*] = &Self::KEYS;
                let mut all = $crate::declare::Properties::default();
                $( <$ty as $crate::declare::Keyed>::describe_in(&mut all, $key, definitions); )*
                all
            }
        }
    };
}
pub(crate) use section;

/// Declaration of a key.
pub(crate) struct Key {
    pub name: &'static str,
    pub about: &'static str,
    /// Default as in a file, or empty.
    pub default: &'static [&'static str],
}

/// Schema properties of a table's keys, and the required keys.
pub(crate) type Properties = (Map<String, Json>, Vec<Json>);

/// Type of an entry in a section.
pub(crate) trait Keyed: Sized {
    /// Returns the keys that it uses.
    fn names(key: &Key) -> Vec<&'static str> {
        vec![key.name]
    }
    fn read_in(table: &Table, key: &Key, reader: &mut Reader) -> Option<Self>;
    fn write_in(&self, table: &mut Table, key: &Key);
    fn describe_in(all: &mut Properties, key: &Key, definitions: &mut Definitions);
}

/// Required, unless there is a default.
impl<T: Field> Keyed for T {
    fn read_in(table: &Table, key: &Key, reader: &mut Reader) -> Option<Self> {
        match key.default {
            [] => reader.required(table, key.name),
            [text, ..] => reader.optional(table, key.name).or_else(|| Some(read_default(text))),
        }
    }
    fn write_in(&self, table: &mut Table, key: &Key) {
        table.0.push((key.name.to_owned(), self.write().into()));
    }
    fn describe_in(all: &mut Properties, key: &Key, definitions: &mut Definitions) {
        Option::<T>::describe_in(all, key, definitions);
        match key.default {
            [] => all.1.push(key.name.into()),
            [text, ..] => {
                all.0[key.name]["default"] = schema::json(&read_default::<T>(text).write());
            }
        }
    }
}

/// Optional.
impl<T: Field> Keyed for Option<T> {
    fn read_in(table: &Table, key: &Key, reader: &mut Reader) -> Option<Self> {
        Some(reader.optional(table, key.name))
    }
    fn write_in(&self, table: &mut Table, key: &Key) {
        if let Some(value) = self {
            value.write_in(table, key);
        }
    }
    fn describe_in(all: &mut Properties, key: &Key, definitions: &mut Definitions) {
        let mut property = T::schema(definitions);
        property["description"] = schema::describe(key.about);
        all.0.insert(key.name.to_owned(), property);
    }
}

/// A table whose keys belong to the enclosing table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flatten<T>(pub T);

impl<T> Deref for Flatten<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Section> Keyed for Flatten<T> {
    fn names(_: &Key) -> Vec<&'static str> {
        T::keys()
    }
    fn read_in(table: &Table, _: &Key, reader: &mut Reader) -> Option<Self> {
        T::read_table(table, reader).map(Flatten)
    }
    fn write_in(&self, table: &mut Table, _: &Key) {
        table.0.extend(self.write_table().0);
    }
    fn describe_in(all: &mut Properties, _: &Key, definitions: &mut Definitions) {
        let (properties, required) = T::properties(definitions);
        all.0.extend(properties);
        all.1.extend(required);
    }
}

/// Reads a default. The schema contains all of them, so that invalid defaults are found.
fn read_default<T: Field>(text: &'static str) -> T {
    let value = match text {
        "[]" => Value::Array(Vec::new()),
        "true" | "false" => Value::Bool(text == "true"),
        _ => text.parse().map_or_else(|_| text.into(), Value::Integer),
    };
    T::read(&value.into(), &mut Reader::default()).expect("a default can be read")
}
