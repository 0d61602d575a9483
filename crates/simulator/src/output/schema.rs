//! What a table is made of, told once: each column's name, type, unit and meaning.
//!
//! The same lines make the struct that the engine fills, the columns that Python and the lab's JSON get,
//! and the reference page of results. A column is added in one place.

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// A number or an index of something, or a small count.
    U32,
    /// A count.
    U64,
    /// A measured number; NaN where there is none.
    F64,
    /// Yes or no.
    Bool,
    /// A name.
    Text,
    /// A user group: the engine has its index, tables its name.
    Group,
}

impl ColumnType {
    /// Its name, as Arrow has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            ColumnType::U32 => "uint32",
            ColumnType::U64 => "uint64",
            ColumnType::F64 => "double",
            ColumnType::Bool => "bool",
            ColumnType::Text => "string",
            ColumnType::Group => "dictionary",
        }
    }
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnType,
    /// Its unit; `1` for a share, and nothing for counts, names and indices.
    pub unit: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct TableSchema {
    /// Its name.
    pub name: &'static str,
    /// What a row of it is.
    pub about: &'static str,
    /// Of which runs there is one, if not of all.
    pub only: Option<&'static str>,
    /// Its columns, in order.
    pub columns: &'static [Column],
}

/// The content of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// [`ColumnType::U32`].
    U32(Vec<u32>),
    /// [`ColumnType::U64`].
    U64(Vec<u64>),
    /// [`ColumnType::F64`].
    F64(Vec<f64>),
    /// [`ColumnType::Bool`].
    Bool(Vec<bool>),
    /// [`ColumnType::Text`].
    Text(Vec<String>),
    /// [`ColumnType::Group`].
    Group(Vec<u32>),
}

/// A table that the engine fills.
pub trait Table {
    /// What it is made of.
    const SCHEMA: TableSchema;

    /// The content of its columns, in the order of the schema.
    fn into_values(self) -> Vec<Values>;
}

/// Declares tables: a struct with a vector for each column, and its [`TableSchema`].
macro_rules! tables {
    ($(
        $(#[doc = $about:literal])*
        pub struct $table:ident = $name:literal $(only of $only:literal)? {
            $( $(#[doc = $meaning:literal])* $column:ident : $kind:ident $(in $unit:literal)? ; )*
        }
    )*) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $table {
            $( $(#[doc = $meaning])* pub $column: Vec<$crate::output::schema::tables!(@item $kind)>, )*
        }
        impl $crate::output::schema::Table for $table {
            const SCHEMA: $crate::output::schema::TableSchema = $crate::output::schema::TableSchema {
                name: $name,
                about: concat!($($about),*),
                only: $crate::output::schema::tables!(@only $($only)?),
                columns: &[$( $crate::output::schema::Column {
                    name: stringify!($column),
                    kind: $crate::output::schema::ColumnType::$kind,
                    unit: concat!("", $($unit)?),
                    meaning: concat!($($meaning),*),
                } ),*],
            };
            fn into_values(self) -> Vec<$crate::output::schema::Values> {
                vec![$( $crate::output::schema::Values::$kind(self.$column) ),*]
            }
        }
    )*};
    (@item U32) => { u32 };
    (@item U64) => { u64 };
    (@item F64) => { f64 };
    (@item Bool) => { bool };
    (@item Text) => { String };
    (@item Group) => { u32 };
    (@only $only:literal) => { Some($only) };
    (@only) => { None };
}

pub(crate) use tables;
