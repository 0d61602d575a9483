//! Mechanisms that declare their own parameters: reading, writing and describing the choice of one.

use serde_json::{Map, Value as Json, json};
use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::bottleneck::{AqmParams, DifferentiationParams};
use tidegate_mechanisms::parameters::{Choice, Kind, Value as Parameter};
use tidegate_mechanisms::registry::{self, DefaultValue};
use tidegate_mechanisms::units::{Bytes, Factor, Memory, Points, QueueLength, Rate, Share, Span};

use crate::document::{Node, Table, Value};
use crate::field::{Field, Reader, read_choice, read_kind};
use crate::file::Profile;
use crate::schema::{self, Definitions};
use crate::value::Integer;

/// A mechanism with its parameters: a table whose `kind` says which other keys it has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chosen<C>(pub C);

/// Largest whole number.
const MAX_COUNT: u64 = 1_000_000;
type Count = Integer<0, MAX_COUNT>;

impl<C: Choice> Field for Chosen<C> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let table = reader.table(node)?;
        let keys = |parameters: &[registry::Parameter]| -> Vec<_> {
            parameters.iter().map(|parameter| parameter.name).collect()
        };
        let all: Vec<_> = C::KINDS.iter().map(|kind| (kind.0, keys(kind.2))).collect();
        if let Some(message) = stands_elsewhere(table, &all) {
            reader.wrong_at("kind", message);
            return None;
        }
        let name = read_kind(table, &all, reader)?;
        let place = C::KINDS.iter().position(|kind| kind.0 == name)?;
        let parameters = C::KINDS[place].2;
        // All are looked at, one by one and together, so that all mistakes are found at once.
        let (mut values, mut unread) = (Vec::new(), Vec::new());
        for parameter in parameters {
            let value = read_parameter(parameter, table, reader).or_else(|| {
                unread.push(parameter.name);
                not_given(parameter, reader.profile)
            });
            values.push(value);
        }
        let choice = C::from_values(place, values.into_iter().collect::<Option<_>>()?);
        for (key, message) in choice.mistakes() {
            // What is said of a value that could not be read may not be so.
            if !unread.iter().any(|name| *name == key || message.contains(name)) {
                reader.wrong_at(key, message);
            }
        }
        Some(Chosen(choice))
    }

    fn write(&self) -> Value {
        let (place, values) = self.0.to_values();
        let (name, _, parameters) = C::KINDS[place];
        let mut table = Table::default();
        table.0.push(("kind".to_owned(), Value::from(name).into()));
        for (parameter, value) in parameters.iter().zip(values) {
            if let Some(value) = write_value(value) {
                table.0.push((parameter.name.to_owned(), value.into()));
            }
        }
        table.into()
    }

    fn schema(definitions: &mut Definitions) -> Json {
        definitions.refer(C::NAME, |definitions| {
            let kinds = C::KINDS.iter().map(|&(name, about, parameters)| {
                let (properties, required) = properties(parameters, definitions);
                schema::kind(name, about, properties, required)
            });
            let kinds: Vec<_> = kinds.collect();
            json!({ "description": schema::describe(C::ABOUT), "oneOf": kinds })
        })
    }
}

/// Where the mechanism belongs that somebody has given here, as FQ-CoDel for an AQM.
fn stands_elsewhere(table: &Table, here: &[(&'static str, Vec<&'static str>)]) -> Option<String> {
    let Value::Text(given) = &table.get("kind")?.value else { return None };
    // None of their names is much longer.
    if given.len() > 64 || here.iter().any(|(name, _)| letters(name) == letters(given)) {
        return None;
    }
    let names = |kinds: &'static [(&str, &str, &[registry::Parameter])]| {
        kinds.iter().map(|kind| kind.0).collect::<Vec<_>>()
    };
    let rooms = [
        ("aqm", "an aqm", names(AqmParams::KINDS)),
        ("differentiation", "a differentiation", names(DifferentiationParams::KINDS)),
        ("scheduler", "a scheduler", names(SchedulerParams::KINDS)),
    ];
    rooms.iter().find_map(|(key, what, names)| {
        let name = names.iter().find(|name| letters(name) == letters(given))?;
        Some(format!("\"{given}\" is {what}; write {key} = {{ kind = \"{name}\" }}"))
    })
}

/// A name as people remember it: fq_codel, FQ-CoDel and fqcodel are one.
fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Properties of a mechanism's parameters, and which of them are required.
pub(crate) fn properties(
    parameters: &[registry::Parameter],
    definitions: &mut Definitions,
) -> (Map<String, Json>, Vec<Json>) {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for parameter in parameters {
        let mut property = kind_schema(kind(parameter), definitions);
        property["description"] = schema::describe(parameter.meaning);
        match parameter.default {
            DefaultValue::Unset => {}
            DefaultValue::Required | DefaultValue::Profile => required.push(parameter.name.into()),
            DefaultValue::ByProfile(_) => {
                let meaning = format!("{} Default: {}.", parameter.meaning, parameter.default);
                property["description"] = schema::describe(&meaning);
            }
            DefaultValue::Value(text) => {
                property["default"] = schema::json(&default_value(kind(parameter), text));
            }
        }
        properties.insert(parameter.name.to_owned(), property);
    }
    (properties, required)
}

fn kind(parameter: &registry::Parameter) -> Kind {
    parameter.kind.expect("a mechanism that declares its parameters says what they are")
}

/// A default as a file has it. A unit test reads all of them.
fn default_value(kind: Kind, text: &'static str) -> Value {
    match kind {
        Kind::Rate | Kind::Span | Kind::Bytes | Kind::QueueLength => text.into(),
        Kind::Word(_) | Kind::Text => text.into(),
        Kind::Share | Kind::Memory | Kind::Factor => Value::Float(text.parse().expect("a number")),
        Kind::Count => Value::Integer(text.parse().expect("a whole number")),
        Kind::Flag => Value::Bool(text.parse().expect("true or false")),
        Kind::Points => unreachable!("a list has no default in one word"),
    }
}

fn read_parameter(
    parameter: &registry::Parameter,
    table: &Table,
    reader: &mut Reader,
) -> Option<Parameter> {
    reader.within(parameter.name, |reader| match table.get(parameter.name) {
        Some(node) => read_value(kind(parameter), node, reader),
        None => not_given(parameter, reader.profile).or_else(|| reader.wrong("missing")),
    })
}

/// What it is where it is not given; `None` if it has to be.
fn not_given(parameter: &registry::Parameter, profile: Profile) -> Option<Parameter> {
    let text = match &parameter.default {
        DefaultValue::Unset => return Some(Parameter::Unset),
        DefaultValue::Required | DefaultValue::Profile => return None,
        DefaultValue::ByProfile(defaults) => profile.choose(defaults),
        DefaultValue::Value(text) => text,
    };
    let value = default_value(kind(parameter), text);
    read_value(kind(parameter), &value.into(), &mut Reader::default())
}

fn read_value(kind: Kind, node: &Node, reader: &mut Reader) -> Option<Parameter> {
    match kind {
        Kind::Rate => Rate::read(node, reader).map(Parameter::Rate),
        Kind::Span => Span::read(node, reader).map(Parameter::Span),
        Kind::Bytes => Bytes::read(node, reader).map(Parameter::Bytes),
        Kind::QueueLength => QueueLength::read(node, reader).map(Parameter::QueueLength),
        Kind::Share => Share::read(node, reader).map(Parameter::Share),
        Kind::Memory => Memory::read(node, reader).map(Parameter::Memory),
        Kind::Factor => Factor::read(node, reader).map(Parameter::Factor),
        Kind::Word(words) => {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            read_choice(node, &words, reader).map(Parameter::Word)
        }
        Kind::Count => Count::read(node, reader).map(|count| Parameter::Count(count.0 as u32)),
        Kind::Flag => bool::read(node, reader).map(Parameter::Flag),
        Kind::Text => String::read(node, reader).map(Parameter::Text),
        Kind::Points => Points::read(node, reader).map(Parameter::Points),
    }
}

/// `None` if there is nothing to write.
fn write_value(value: Parameter) -> Option<Value> {
    Some(match value {
        Parameter::Rate(rate) => rate.write(),
        Parameter::Span(span) => span.write(),
        Parameter::Bytes(bytes) => bytes.write(),
        Parameter::QueueLength(length) => length.write(),
        Parameter::Share(share) => share.write(),
        Parameter::Memory(memory) => memory.write(),
        Parameter::Factor(factor) => factor.write(),
        Parameter::Word(word) => word.into(),
        Parameter::Count(count) => Integer::<0, MAX_COUNT>(count.into()).write(),
        Parameter::Flag(flag) => flag.write(),
        Parameter::Text(text) => text.write(),
        Parameter::Points(points) => points.write(),
        Parameter::Unset => return None,
    })
}

fn kind_schema(kind: Kind, definitions: &mut Definitions) -> Json {
    match kind {
        Kind::Rate => Rate::schema(definitions),
        Kind::Span => Span::schema(definitions),
        Kind::Bytes => Bytes::schema(definitions),
        Kind::QueueLength => QueueLength::schema(definitions),
        Kind::Share => Share::schema(definitions),
        Kind::Memory => Memory::schema(definitions),
        Kind::Factor => Factor::schema(definitions),
        Kind::Word(words) => {
            let word = |(word, about): &(&str, &str)| json!({ "const": word, "description": schema::describe(about) });
            json!({ "oneOf": words.iter().map(word).collect::<Vec<_>>() })
        }
        Kind::Count => Count::schema(definitions),
        Kind::Flag => bool::schema(definitions),
        Kind::Text => String::schema(definitions),
        Kind::Points => Points::schema(definitions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_mechanisms::registry::ALL;

    #[test]
    fn all_defaults_can_be_read() {
        let declared = ALL.iter().flat_map(|mechanism| {
            let own = mechanism.parameters.iter().filter(|parameter| parameter.kind.is_some());
            own.map(move |parameter| (mechanism.name, parameter))
        });
        let mut read = 0;
        for (name, parameter) in declared {
            let texts = match parameter.default {
                DefaultValue::Value(text) => vec![text],
                DefaultValue::ByProfile(defaults) => defaults.all().to_vec(),
                _ => continue,
            };
            for text in texts {
                let (kind, mut reader) = (kind(parameter), Reader::default());
                let got = read_value(kind, &default_value(kind, text).into(), &mut reader);
                assert!(got.is_some(), "{name}.{}: {:?}", parameter.name, reader.mistakes);
                read += 1;
            }
        }
        assert!(read > 3, "{read} defaults");
    }
}
