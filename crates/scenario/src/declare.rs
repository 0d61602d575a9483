//! The macros that declare the sections of the file: a struct, its reader, its writer and its JSON
//! Schema, all from one list of keys with their doc comments.

/// Declares a table of the file that is put together of others: each entry is `required`, `optional` or has
/// a `default`, and of `parts` the keys stand among its own. Tables of nothing but quantities, numbers, words
/// and mechanisms are [`parameters!`](tidegate_mechanisms::parameters), which are read by
/// [`crate::table`].
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
            fn keys() -> Vec<&'static str> {
                [$( $crate::declare::keys_of!($mode $ty, stringify!($key)) ),*].concat()
            }
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
                $( $crate::declare::describe_entry!(
                    $mode $ty, definitions, properties, required,
                    stringify!($key), concat!($($about, "\n"),*) $(, $default)?); )*
                (properties, required)
            }
        }
    };
}

macro_rules! entry_type {
    (optional $ty:ty) => { Option<$ty> };
    ($mode:ident $ty:ty) => { $ty };
}

macro_rules! keys_of {
    (parts $ty:ty, $key:expr) => {
        <$ty as $crate::field::Section>::keys()
    };
    ($mode:ident $ty:ty, $key:expr) => {
        vec![$key]
    };
}

macro_rules! read_entry {
    (parts $ty:ty, $table:ident, $reader:ident, $key:expr) => {
        <$ty as $crate::field::Section>::read_table($table, $reader)
    };
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
    (parts $value:expr, $table:ident, $key:expr) => {
        $table.0.extend($crate::field::Section::write_table(&$value).0);
    };
    (optional $value:expr, $table:ident, $key:expr) => {
        if let Some(value) = &$value {
            $table.0.push(($key.to_owned(), $crate::field::Field::write(value).into()));
        }
    };
    ($mode:ident $value:expr, $table:ident, $key:expr) => {
        $table.0.push(($key.to_owned(), $crate::field::Field::write(&$value).into()));
    };
}

macro_rules! describe_entry {
    (parts $ty:ty, $definitions:ident, $properties:ident, $required:ident, $key:expr, $about:expr) => {
        let (properties, required) = <$ty as $crate::field::Section>::properties($definitions);
        $properties.extend(properties);
        $required.extend(required);
    };
    (
        $mode:ident $ty:ty, $definitions:ident, $properties:ident, $required:ident,
        $key:expr, $about:expr $(, $default:expr)?
    ) => {
        let mut property = <$ty as $crate::field::Field>::schema($definitions);
        property["description"] = $crate::schema::describe($about);
        $( property["default"] =
            $crate::schema::json(&<$ty as $crate::field::Field>::write(&$default)); )?
        $crate::declare::require_entry!($mode $required, $key);
        $properties.insert($key.to_owned(), property);
    };
}

macro_rules! require_entry {
    (required $required:ident, $key:expr) => {
        $required.push($key.into());
    };
    ($mode:ident $required:ident, $key:expr) => {};
}

pub(crate) use {
    describe_entry, entry_type, keys_of, read_entry, require_entry, section, write_entry,
};
