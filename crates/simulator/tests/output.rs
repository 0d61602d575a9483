//! Tests of the tables of a run.

use tidegate_simulator::output::schema::{ColumnType, Values};
use tidegate_simulator::output::{RunOutput, SCHEMA};

/// The name of a column includes its unit.
#[test]
fn a_columns_name_has_its_unit() {
    for table in SCHEMA {
        for column in table.columns {
            let named = [("_bps", "bit/s"), ("_s", "s"), ("_bytes", "B"), ("_packets", "packets")]
                .into_iter()
                .find(|(end, _)| column.name.ends_with(end));
            let unit = named.map_or("", |(_, unit)| unit);
            // In a table whose rows are different quantities, another column names the unit.
            let fits =
                column.unit == unit || unit.is_empty() && ["1", "as named"].contains(&column.unit);
            assert!(fits, "{}.{} in {:?}", table.name, column.name, column.unit);
            let number = column.kind == ColumnType::F64;
            assert!(!number || !column.unit.is_empty(), "{} has no unit", column.name);
            assert!(column.meaning.trim().ends_with('.'), "{}: a sentence", column.name);
        }
    }
}

/// The same name has the same unit and type in every table.
#[test]
fn names_keep_their_units_and_types() {
    let columns: Vec<_> = SCHEMA.iter().flat_map(|table| table.columns).collect();
    for column in &columns {
        let other = columns.iter().find(|other| other.name == column.name).expect("itself");
        assert_eq!(other.unit, column.unit, "{}", column.name);
        let whole = [ColumnType::U32, ColumnType::U64];
        let alike = other.kind == column.kind
            || whole.contains(&other.kind) && whole.contains(&column.kind);
        assert!(alike, "{}: {:?} and {:?}", column.name, other.kind, column.kind);
    }
}

#[test]
fn a_run_has_the_tables_of_the_schema() {
    let tables = RunOutput::default().into_tables();
    let always = SCHEMA.iter().filter(|schema| schema.only.is_none());
    assert!(tables.iter().map(|(schema, _)| schema.name).eq(always.map(|schema| schema.name)));
    for (schema, values) in tables {
        assert_eq!(schema.columns.len(), values.len());
        for (column, values) in schema.columns.iter().zip(values) {
            let same = matches!(
                (column.kind, values),
                (ColumnType::U32, Values::U32(_))
                    | (ColumnType::U64, Values::U64(_))
                    | (ColumnType::F64, Values::F64(_))
                    | (ColumnType::Bool, Values::Bool(_))
                    | (ColumnType::Text, Values::Text(_))
                    | (ColumnType::Group, Values::Group(_))
            );
            assert!(same, "{}.{}", schema.name, column.name);
        }
    }
}
