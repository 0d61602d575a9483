//! Single definition of each table: name, type, unit and meaning of its columns.
//!
//! One declaration generates the struct that the engine fills, the columns in Python and in the lab's JSON, and the
//! reference page of results, so that a column is added in one place.

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Index, or small count.
    U32,
    /// Count.
    U64,
    /// Measured number; NaN if there is none.
    F64,
    /// Boolean.
    Bool,
    /// Name of the link.
    Text,
    /// User group: an index in the engine, a name in tables.
    Group,
}

impl ColumnType {
    /// Returns the type's name in Arrow.
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

/// Description of a column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name of the link.
    pub name: &'static str,
    /// Type of its values.
    pub kind: ColumnType,
    /// Unit; `1` for a share, empty for counts, names and indices.
    pub unit: &'static str,
    /// Meaning.
    pub meaning: &'static str,
}

/// Description of a table.
#[derive(Clone, Copy, Debug)]
pub struct TableSchema {
    /// Name of the link.
    pub name: &'static str,
    /// Meaning of a row.
    pub about: &'static str,
    /// Runs that have the table, if not all.
    pub only: Option<&'static str>,
    /// Columns, in order.
    pub columns: &'static [Column],
}

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Values of [`ColumnType::U32`].
    U32(Vec<u32>),
    /// Values of [`ColumnType::U64`].
    U64(Vec<u64>),
    /// Values of [`ColumnType::F64`].
    F64(Vec<f64>),
    /// Values of [`ColumnType::Bool`].
    Bool(Vec<bool>),
    /// Values of [`ColumnType::Text`].
    Text(Vec<String>),
    /// Values of [`ColumnType::Group`], by index.
    Group(Vec<u32>),
}

/// Table filled by the engine.
pub trait Table {
    /// Description of the table.
    const SCHEMA: TableSchema;

    /// Returns the values of its columns, in the order of the schema.
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
