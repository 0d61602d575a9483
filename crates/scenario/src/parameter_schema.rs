//! Schema of mechanisms' parameters.

use serde_json::{Map, Value as Json, json};
use tidegate_mechanisms::parameters::{Alternatives, Form, Kind};
use tidegate_mechanisms::registry::{self, DefaultValue};
use tidegate_mechanisms::units::{
    BufferSize, Bytes, Demand, Factor, Memory, OrOff, Points, Probability, QueueLength, Rate,
    RateOrOutage, Share, Span, Spans, Step, TokenRate, Tokens,
};

use crate::field::Field;
use crate::parameter::default_value;
use crate::schema::{self, Definitions};
use crate::value::whole_schema;

/// Returns the properties of a mechanism's parameters, and the required ones.
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

/// Returns the properties of options that are all optional, with defaults by their profile.
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

/// Returns the schema of a choice of mechanisms: each as a table with its kind, and as a name if it has no required
/// parameters.
pub(crate) fn offer_schema(offer: &Alternatives, definitions: &mut Definitions) -> Json {
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

/// Returns the schema of one table of a list.
fn form_schema(form: &Form, definitions: &mut Definitions) -> Json {
    definitions.refer(form.name, |definitions| {
        let (properties, required) = properties(form.parameters, definitions);
        schema::object(form.about, properties, required)
    })
}

pub(crate) fn kind_schema(kind: Kind, definitions: &mut Definitions) -> Json {
    match kind {
        Kind::Rate => Rate::schema(definitions),
        Kind::RateOrOutage => RateOrOutage::schema(definitions),
        Kind::Span => Span::schema(definitions),
        Kind::Spans => Spans::schema(definitions),
        Kind::Bytes => Bytes::schema(definitions),
        Kind::QueueLength => QueueLength::schema(definitions),
        Kind::Buffer => BufferSize::schema(definitions),
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
        Kind::List(offer) => list_schema(&offer_schema(&offer, definitions)),
        Kind::Tables(form) => list_schema(&form_schema(&form, definitions)),
        Kind::PlainOrTable { plain, table } => {
            let table = match table {
                // What has no default is required here.
                Kind::Nested(form) => form_schema(form, definitions),
                table => kind_schema(*table, definitions),
            };
            json!({ "anyOf": [kind_schema(*plain, definitions), table] })
        }
        Kind::Nested(form) => definitions.refer(form.name, |definitions| {
            let properties = option_properties(form.parameters, definitions);
            schema::object(form.about, properties, Vec::new())
        }),
    }
}

fn list_schema(items: &Json) -> Json {
    json!({ "type": "array", "items": items })
}
