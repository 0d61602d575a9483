//! Parameters that are declared with a mechanism: reading, writing and describing their values.

use serde_json::{Map, Value as Json, json};
use tidegate_mechanisms::parameters::{Form, Kind, Offer, Value as Parameter};
use tidegate_mechanisms::registry::{self, DefaultValue};
use tidegate_mechanisms::units::{
    Bytes, Demand, Factor, Memory, OrOff, Points, Probability, QueueLength, Rate, RateOrOutage,
    Share, Span, Spans, Step, TokenRate, Tokens,
};

use crate::document::{Node, Table, Value};
use crate::field::{Field, Reader, read_choice};
use crate::file::Profile;
use crate::given::{Given, GivenChoice};
use crate::rows;
use crate::schema::{self, Definitions};
use crate::value::{read_whole, whole_schema};

/// Properties of a mechanism's parameters, and which of them are required.
pub(crate) fn properties(
    parameters: &[registry::Parameter],
    definitions: &mut Definitions,
) -> (Map<String, Json>, Vec<Json>) {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for parameter in parameters {
        let mut property = kind_schema(parameter.kind, definitions);
        property["description"] = schema::describe(parameter.meaning);
        match parameter.default {
            DefaultValue::Unset | DefaultValue::Nested => {}
            DefaultValue::Required => required.push(parameter.name.into()),
            DefaultValue::ByProfile(_) => {
                let meaning = format!("{} Default: {}.", parameter.meaning, parameter.default);
                property["description"] = schema::describe(&meaning);
            }
            DefaultValue::Value(text) => {
                property["default"] = schema::json(&default_value(parameter.kind, text));
            }
        }
        properties.insert(parameter.name.to_owned(), property);
    }
    (properties, required)
}

/// Properties of options that may all be left open. What they are then, their profile says.
pub(crate) fn option_properties(
    options: &[registry::Parameter],
    definitions: &mut Definitions,
) -> Map<String, Json> {
    let property = |option: &registry::Parameter| {
        let mut property = kind_schema(option.kind, definitions);
        property["description"] = schema::describe(option.meaning);
        (option.name.to_owned(), property)
    };
    options.iter().map(property).collect()
}

/// The mechanisms that can be chosen: each as a table with its kind, and as a name if it needs nothing else.
pub(crate) fn offer_schema(offer: &Offer, definitions: &mut Definitions) -> Json {
    definitions.refer(offer.name, |definitions| {
        let needs =
            |parameter: &registry::Parameter| matches!(parameter.default, DefaultValue::Required);
        let names = offer.kinds.iter().filter(|kind| !kind.2.iter().any(needs));
        let names: Vec<_> = names.map(|kind| kind.0).collect();
        let kinds = offer.kinds.iter().map(|&(name, about, parameters)| {
            let (properties, required) = properties(parameters, definitions);
            schema::kind(name, about, properties, required)
        });
        let mut all: Vec<_> = kinds.collect();
        all.push(json!({ "enum": names }));
        json!({ "description": schema::describe(offer.about), "oneOf": all })
    })
}

/// The schema of one table of a list.
fn form_schema(form: &Form, definitions: &mut Definitions) -> Json {
    definitions.refer(form.name, |definitions| {
        let (properties, required) = properties(form.parameters, definitions);
        schema::object(form.about, properties, required)
    })
}

/// A default as a file has it. A unit test reads all of them.
fn default_value(kind: Kind, text: &'static str) -> Value {
    match kind {
        Kind::Rate
        | Kind::RateOrOutage
        | Kind::Span
        | Kind::Spans
        | Kind::Bytes
        | Kind::QueueLength
        | Kind::OrOff => text.into(),
        Kind::Tokens | Kind::TokenRate => text.into(),
        Kind::Word(_) | Kind::Text | Kind::Choice(_) => text.into(),
        Kind::Probability
        | Kind::Share
        | Kind::Memory
        | Kind::Factor
        | Kind::Step
        | Kind::Demand => Value::Float(text.parse().expect("a number")),
        Kind::Count { .. } => Value::Integer(text.parse().expect("a whole number")),
        Kind::Flag => Value::Bool(text.parse().expect("true or false")),
        Kind::Row(_) | Kind::Tables(_) if text == "[]" => Value::Array(Vec::new()),
        Kind::Points | Kind::Row(_) | Kind::Tables(_) => {
            unreachable!("a list has no other default than an empty one")
        }
        Kind::Nested(_) => unreachable!("its keys have defaults"),
    }
}

/// What it is where it is not given; `None` if it has to be.
pub(crate) fn not_given(parameter: &registry::Parameter, profile: Profile) -> Option<Parameter> {
    let text = match &parameter.default {
        DefaultValue::Unset => return Some(Parameter::Unset),
        DefaultValue::Required => return None,
        DefaultValue::ByProfile(defaults) => profile.choose(defaults),
        DefaultValue::Value(text) => text,
        DefaultValue::Nested => {
            let Kind::Nested(form) = parameter.kind else { unreachable!("a table") };
            let values = form.parameters.iter().map(|own| not_given(own, profile));
            return values.collect::<Option<_>>().map(Parameter::Nested);
        }
    };
    let value = default_value(parameter.kind, text);
    read_value(parameter.kind, &value.into(), &mut Reader::following(profile))
}

pub(crate) fn read_value(kind: Kind, node: &Node, reader: &mut Reader) -> Option<Parameter> {
    match kind {
        Kind::Rate => Rate::read(node, reader).map(Parameter::Rate),
        Kind::RateOrOutage => RateOrOutage::read(node, reader).map(Parameter::RateOrOutage),
        Kind::Span => Span::read(node, reader).map(Parameter::Span),
        Kind::Spans => Spans::read(node, reader).map(Parameter::Spans),
        Kind::Bytes => Bytes::read(node, reader).map(Parameter::Bytes),
        Kind::QueueLength => QueueLength::read(node, reader).map(Parameter::QueueLength),
        Kind::Tokens => Tokens::read(node, reader).map(Parameter::Tokens),
        Kind::TokenRate => TokenRate::read(node, reader).map(Parameter::TokenRate),
        Kind::Probability => Probability::read(node, reader).map(Parameter::Probability),
        Kind::Share => Share::read(node, reader).map(Parameter::Share),
        Kind::Memory => Memory::read(node, reader).map(Parameter::Memory),
        Kind::Factor => Factor::read(node, reader).map(Parameter::Factor),
        Kind::Step => Step::read(node, reader).map(Parameter::Step),
        Kind::Demand => Demand::read(node, reader).map(Parameter::Demand),
        Kind::OrOff => OrOff::read(node, reader).map(Parameter::OrOff),
        Kind::Word(words) => {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            read_choice(node, &words, reader).map(Parameter::Word)
        }
        Kind::Count { min, max } => {
            let count = read_whole(node, min.into(), max.into(), reader)?;
            Some(Parameter::Count(u32::try_from(count).expect("not above the bound")))
        }
        Kind::Flag => bool::read(node, reader).map(Parameter::Flag),
        Kind::Text => String::read(node, reader).map(Parameter::Text),
        Kind::Points => Points::read(node, reader).map(Parameter::Points),
        Kind::Choice(offer) => {
            let choice = GivenChoice::read(&offer, node, reader)?;
            let values = choice.values(&offer, reader)?;
            Some(Parameter::Chosen(choice.place, values))
        }
        Kind::Row(offer) => rows::read_row(offer, node, reader),
        Kind::Tables(form) => rows::read_tables(&form, node, reader),
        Kind::Nested(form) => {
            let given = Given::read_table(&form, node, reader)?;
            given.values(form.parameters, form.errors, reader).map(Parameter::Nested)
        }
    }
}

/// `None` if there is nothing to write.
pub(crate) fn write_value(parameter: &registry::Parameter, value: Parameter) -> Option<Value> {
    Some(match (value, parameter.kind) {
        (Parameter::Rate(rate), _) => rate.write(),
        (Parameter::RateOrOutage(rate), _) => rate.write(),
        (Parameter::Span(span), _) => span.write(),
        (Parameter::Spans(spans), _) => spans.write(),
        (Parameter::Bytes(bytes), _) => bytes.write(),
        (Parameter::QueueLength(length), _) => length.write(),
        (Parameter::Tokens(tokens), _) => tokens.write(),
        (Parameter::TokenRate(rate), _) => rate.write(),
        (Parameter::Probability(probability), _) => probability.write(),
        (Parameter::Share(share), _) => share.write(),
        (Parameter::Memory(memory), _) => memory.write(),
        (Parameter::Factor(factor), _) => factor.write(),
        (Parameter::Step(step), _) => step.write(),
        (Parameter::Demand(demand), _) => demand.write(),
        (Parameter::OrOff(time), _) => time.write(),
        (Parameter::Word(word), _) => word.into(),
        (Parameter::Count(count), _) => Value::Integer(count.into()),
        (Parameter::Flag(flag), _) => flag.write(),
        (Parameter::Text(text), _) => text.write(),
        (Parameter::Points(points), _) => points.write(),
        (Parameter::Chosen(place, values), Kind::Choice(offer)) => {
            write_chosen(&offer, place, values)
        }
        (Parameter::Row(all), Kind::Row(offer)) => rows::write_row(&offer, all),
        (Parameter::Tables(all), Kind::Tables(form)) => rows::write_tables(&form, all),
        (Parameter::Nested(values), Kind::Nested(form)) => {
            write_values(form.parameters, values).into()
        }
        (
            Parameter::Chosen(..) | Parameter::Row(_) | Parameter::Tables(_) | Parameter::Nested(_),
            _,
        ) => unreachable!("a value is of its kind"),
        (Parameter::Unset, _) => return None,
    })
}

/// A mechanism with all its parameters.
pub(crate) fn write_chosen(offer: &Offer, place: usize, values: Vec<Parameter>) -> Value {
    let (name, _, parameters) = offer.kinds[place];
    let mut table = Table(vec![("kind".to_owned(), Value::from(name).into())]);
    table.0.extend(write_values(parameters, values).0);
    table.into()
}

/// A table of all that is set.
pub(crate) fn write_values(parameters: &[registry::Parameter], values: Vec<Parameter>) -> Table {
    let entry = |(parameter, value): (&registry::Parameter, _)| {
        let value = write_value(parameter, value)?;
        Some((parameter.name.to_owned(), value.into()))
    };
    Table(parameters.iter().zip(values).filter_map(entry).collect())
}

pub(crate) fn kind_schema(kind: Kind, definitions: &mut Definitions) -> Json {
    match kind {
        Kind::Rate => Rate::schema(definitions),
        Kind::RateOrOutage => RateOrOutage::schema(definitions),
        Kind::Span => Span::schema(definitions),
        Kind::Spans => Spans::schema(definitions),
        Kind::Bytes => Bytes::schema(definitions),
        Kind::QueueLength => QueueLength::schema(definitions),
        Kind::Tokens => Tokens::schema(definitions),
        Kind::TokenRate => TokenRate::schema(definitions),
        Kind::Probability => Probability::schema(definitions),
        Kind::Share => Share::schema(definitions),
        Kind::Memory => Memory::schema(definitions),
        Kind::Factor => Factor::schema(definitions),
        Kind::Step => Step::schema(definitions),
        Kind::Demand => Demand::schema(definitions),
        Kind::OrOff => OrOff::schema(definitions),
        Kind::Word(words) => {
            let word = |(word, about): &(&str, &str)| json!({ "const": word, "description": schema::describe(about) });
            json!({ "oneOf": words.iter().map(word).collect::<Vec<_>>() })
        }
        Kind::Count { min, max } => whole_schema(min.into(), max.into()),
        Kind::Flag => bool::schema(definitions),
        Kind::Text => String::schema(definitions),
        Kind::Points => Points::schema(definitions),
        Kind::Choice(offer) => offer_schema(&offer, definitions),
        Kind::Row(offer) => rows::schema(&offer_schema(&offer, definitions)),
        Kind::Tables(form) => rows::schema(&form_schema(&form, definitions)),
        Kind::Nested(form) => definitions.refer(form.name, |definitions| {
            let properties = option_properties(form.parameters, definitions);
            schema::object(form.about, properties, Vec::new())
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{TcpPlan, TcpQuirks};
    use tidegate_mechanisms::parameters::Parameters;
    use tidegate_mechanisms::registry::ALL;

    #[test]
    fn all_defaults_can_be_read() {
        let declared = ALL.iter().flat_map(|mechanism| {
            mechanism.parameters.iter().map(move |parameter| (mechanism.name, parameter))
        });
        let options = TcpPlan::ALL.iter().chain(TcpQuirks::ALL).map(|option| ("tcp", option));
        let mut read = 0;
        for (name, parameter) in declared.chain(options) {
            let texts = match parameter.default {
                DefaultValue::Value(text) => vec![text],
                DefaultValue::ByProfile(defaults) => defaults.all().to_vec(),
                _ => continue,
            };
            for text in texts {
                let (kind, mut reader) = (parameter.kind, Reader::default());
                let got = read_value(kind, &default_value(kind, text).into(), &mut reader);
                assert!(got.is_some(), "{name}.{}: {:?}", parameter.name, reader.errors);
                read += 1;
            }
        }
        assert!(read > 100, "{read} defaults");
    }
}
