//! Lists of what is declared elsewhere: mechanisms in a row, and tables that all have the same keys.

use serde_json::{Value as Json, json};
use tidegate_mechanisms::parameters::{Form, Kind, Offer, Value as Parameter};

use crate::document::{Node, Value};
use crate::field::Reader;
use crate::given::Given;
use crate::parameter::{read_value, write_chosen, write_values};
use crate::value::read_items;

/// So many mechanisms may stand in a row.
const MOST_IN_A_ROW: usize = 16;

pub(crate) fn read_row(offer: Offer, node: &Node, reader: &mut Reader) -> Option<Parameter> {
    let Value::Array(items) = &node.value else {
        let kind = node.value.kind();
        let message = format!("expected a list of stages, [{{ kind = \"...\" }}], not {kind}");
        return reader.error(message);
    };
    if items.len() > MOST_IN_A_ROW {
        let message = format!("{} stages in one place; at most {MOST_IN_A_ROW}", items.len());
        return reader.error(message);
    }
    let read = |node: &Node, reader: &mut Reader| read_value(Kind::Choice(offer), node, reader);
    read_items(items, reader, read).map(Parameter::Row)
}

pub(crate) fn write_row(offer: &Offer, all: Vec<Parameter>) -> Value {
    let write = |one| match one {
        Parameter::Chosen(place, values) => write_chosen(offer, place, values).into(),
        other => unreachable!("{other:?} is no mechanism"),
    };
    Value::Array(all.into_iter().map(write).collect())
}

pub(crate) fn read_tables(form: &Form, node: &Node, reader: &mut Reader) -> Option<Parameter> {
    let keys: Vec<_> = form.parameters.iter().map(|parameter| parameter.name).collect();
    let Value::Array(items) = &node.value else {
        let (keys, kind) = (keys.join(", "), node.value.kind());
        return reader.error(format!("expected a list of {{ {keys} }} tables, not {kind}"));
    };
    let read = |node: &Node, reader: &mut Reader| {
        let given = Given::read_table(form, node, reader)?;
        given.values(form.parameters, form.errors, reader)
    };
    read_items(items, reader, read).map(Parameter::Tables)
}

pub(crate) fn write_tables(form: &Form, all: Vec<Vec<Parameter>>) -> Value {
    let write = |values| Value::from(write_values(form.parameters, values)).into();
    Value::Array(all.into_iter().map(write).collect())
}

pub(crate) fn schema(items: &Json) -> Json {
    json!({ "type": "array", "items": items })
}
