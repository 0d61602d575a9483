//! A run's tables as JSON: `{ TABLE: { COLUMN: [...] } }`. What is no number, such as the mean of nothing, is null.

use serde_json::{Map, Value as Json, json};
use tidegate_scenario::plan::Plan;
use tidegate_simulator::output::schema::Values;
use tidegate_simulator::output::{RunOutput, SCHEMA};

/// All tables that the run has.
pub fn to_json(output: RunOutput, plan: &Plan) -> Json {
    let tables = output.into_tables().into_iter().map(|(schema, values)| {
        let columns = schema.columns.iter().zip(values);
        let columns = columns.map(|(column, values)| (column.name.to_owned(), array(values, plan)));
        (schema.name.to_owned(), columns.collect::<Map<_, _>>().into())
    });
    tables.collect::<Map<_, _>>().into()
}

fn array(values: Values, plan: &Plan) -> Json {
    match values {
        Values::U32(numbers) => numbers.into(),
        Values::U64(numbers) => numbers.into(),
        Values::F64(numbers) => numbers.into(),
        Values::Bool(answers) => answers.into(),
        Values::Text(names) => names.into(),
        Values::Group(groups) => {
            groups.iter().map(|&group| plan.groups[group as usize].name.as_str()).collect()
        }
    }
}

/// Unit and meaning of every column of every table.
pub fn columns() -> Json {
    let tables = SCHEMA.iter().map(|table| {
        let columns = table.columns.iter().map(|column| {
            (
                column.name.to_owned(),
                json!({ "unit": column.unit, "meaning": column.meaning.trim() }),
            )
        });
        (table.name.to_owned(), columns.collect::<Map<_, _>>().into())
    });
    tables.collect::<Map<_, _>>().into()
}
