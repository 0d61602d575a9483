//! Reading and writing of mechanisms' parameters.
//!
//! A table may set some of them ([`Overlay`]); a table of wider scope, and then the profile, supplies the others: a
//! group's options override the scenario's, and those the profile's.

use tidegate_mechanisms::parameters::{
    Alternatives, Form, Kind, ParameterError, ParameterValue as Parameter,
};
use tidegate_mechanisms::registry::{self, DefaultValue};
use tidegate_mechanisms::units::{
    BufferSize, Bytes, Demand, Factor, Memory, OrOff, Points, Probability, QueueLength, Rate,
    RateOrOutage, Share, Span, Spans, Step, TokenRate, Tokens,
};

use crate::document::{Node, Table, Value};
use crate::field::{Field, Reader, read_choice, read_kind};
use crate::misplaced::{belongs_elsewhere, named_elsewhere};
use crate::profile::Profile;
use crate::value::{read_items, read_whole};

/// Parameters of which a table sets some, in the order of their declaration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Overlay(Vec<Entry>);

/// An entry of an overlay.
#[derive(Clone, Debug, PartialEq)]
enum Entry {
    Unset,
    /// Set to an invalid value; the error is recorded.
    Unreadable,
    Value(Parameter),
    Choice(ChoiceOverlay),
    Nested(Overlay),
}

impl Overlay {
    /// Returns an overlay with no parameter set.
    pub fn empty(parameters: &[registry::Parameter]) -> Self {
        Overlay(vec![Entry::Unset; parameters.len()])
    }

    /// Returns an overlay with these values.
    pub fn full(parameters: &[registry::Parameter], values: Vec<Parameter>) -> Self {
        let entry = |(parameter, value): (&registry::Parameter, _)| match (value, parameter.kind) {
            (Parameter::Choice(place, values), Kind::Choice(offer)) => {
                Entry::Choice(ChoiceOverlay::full(&offer, place, values))
            }
            (Parameter::Nested(values), Kind::Nested(form)) => {
                Entry::Nested(Overlay::full(form.parameters, values))
            }
            (Parameter::Unset, _) => Entry::Unset,
            (value, _) => Entry::Value(value),
        };
        Overlay(parameters.iter().zip(values).map(entry).collect())
    }

    /// Reads the parameters of a table; the caller handles other keys.
    pub fn read(parameters: &[registry::Parameter], table: &Table, reader: &mut Reader) -> Self {
        Overlay(parameters.iter().map(|parameter| read(parameter, table, reader)).collect())
    }

    /// Reads a table that may have only these keys.
    pub fn read_table(form: &Form, node: &Node, reader: &mut Reader) -> Option<Self> {
        let table = reader.table(node)?;
        let keys: Vec<_> = form.parameters.iter().map(|parameter| parameter.name).collect();
        reader.known_keys(table, &keys);
        Some(Overlay::read(form.parameters, table, reader))
    }

    /// Whether a parameter is set.
    pub fn sets(&self, parameters: &[registry::Parameter], key: &str) -> bool {
        self.entry(parameters, key).is_some_and(|entry| *entry != Entry::Unset)
    }

    /// Returns the value of a parameter that is no choice, if it is set.
    pub fn value(&self, parameters: &[registry::Parameter], key: &str) -> Option<&Parameter> {
        match self.entry(parameters, key)? {
            Entry::Value(value) => Some(value),
            _ => None,
        }
    }

    fn entry(&self, parameters: &[registry::Parameter], key: &str) -> Option<&Entry> {
        let place = parameters.iter().position(|parameter| parameter.name == key)?;
        self.0.get(place)
    }

    /// Returns these parameters, with those of `base` where they are unset.
    pub fn over(&self, base: &Overlay) -> Self {
        let pair = |pair: (&Entry, &Entry)| match pair {
            (Entry::Unset, base) => base.clone(),
            (Entry::Choice(own), Entry::Choice(base)) => Entry::Choice(own.over(base)),
            (Entry::Nested(own), Entry::Nested(base)) => Entry::Nested(own.over(base)),
            (own, _) => own.clone(),
        };
        Overlay(self.0.iter().zip(&base.0).map(pair).collect())
    }

    /// Returns all values, with defaults where they are unset. Records missing ones, and errors of the values together;
    /// `None` if any is missing.
    pub fn values(
        &self,
        parameters: &[registry::Parameter],
        errors: impl FnOnce(Vec<Parameter>) -> Vec<ParameterError>,
        reader: &mut Reader,
    ) -> Option<Vec<Parameter>> {
        let pairs = parameters.iter().zip(&self.0);
        // All are evaluated, so that all errors are found at once.
        let values: Vec<_> = pairs
            .map(|(parameter, entry)| {
                reader.within(parameter.name, |reader| value(parameter, entry, reader))
            })
            .collect();
        let values = values.into_iter().collect::<Option<Vec<_>>>()?;
        for (key, message) in errors(values.clone()) {
            if !self.is_about_unreadable(parameters, key, &message) {
                reader.error_at(key, message);
            }
        }
        Some(values)
    }

    /// Whether an error concerns a value that could not be read, and may be wrong.
    fn is_about_unreadable(
        &self,
        parameters: &[registry::Parameter],
        key: &str,
        message: &str,
    ) -> bool {
        let mut pairs = parameters.iter().zip(&self.0);
        pairs.any(|(parameter, entry)| {
            *entry == Entry::Unreadable
                && (parameter.name == key || message.contains(parameter.name))
        })
    }

    /// Returns the set parameters as in a file.
    pub fn write(&self, parameters: &[registry::Parameter]) -> Table {
        let entry = |(parameter, entry): (&registry::Parameter, &Entry)| {
            let value = match (entry, parameter.kind) {
                (Entry::Value(value), _) => write_value(parameter, value.clone()),
                (Entry::Choice(choice), Kind::Choice(offer)) => Some(choice.write(&offer)),
                (Entry::Nested(overlay), Kind::Nested(form)) => {
                    Some(overlay.write(form.parameters).into())
                }
                _ => None,
            };
            value.map(|value| (parameter.name.to_owned(), value.into()))
        };
        Table(parameters.iter().zip(&self.0).filter_map(entry).collect())
    }
}

/// One of several mechanisms, with some of its parameters set.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChoiceOverlay {
    /// Index of the mechanism.
    pub place: usize,
    parameters: Overlay,
}

impl ChoiceOverlay {
    /// Returns the mechanism at this index with these values.
    fn full(offer: &Alternatives, place: usize, values: Vec<Parameter>) -> Self {
        ChoiceOverlay { place, parameters: Overlay::full(offer.kinds[place].2, values) }
    }

    /// Reads a mechanism's name, or a table with its `kind` and parameters.
    pub fn read(offer: &Alternatives, node: &Node, reader: &mut Reader) -> Option<Self> {
        let elsewhere = belongs_elsewhere(node, offer).or_else(|| named_elsewhere(node, offer));
        if let Some(message) = elsewhere {
            match node.value {
                Value::Table(_) => reader.error_at("kind", message),
                _ => drop(reader.error::<()>(message)),
            }
            return None;
        }
        let place_of = |name| offer.kinds.iter().position(|kind| kind.0 == name);
        if let Value::Text(_) = node.value {
            let names: Vec<_> = offer.kinds.iter().map(|kind| kind.0).collect();
            let place = place_of(read_choice(node, &names, reader)?)?;
            return Some(ChoiceOverlay { place, parameters: Overlay::empty(offer.kinds[place].2) });
        }
        let table = reader.table(node)?;
        let keys = |parameters: &[registry::Parameter]| parameters.iter().map(|p| p.name).collect();
        let all: Vec<_> = offer.kinds.iter().map(|kind| (kind.0, keys(kind.2))).collect();
        let place = place_of(read_kind(table, &all, reader)?)?;
        Some(ChoiceOverlay {
            place,
            parameters: Overlay::read(offer.kinds[place].2, table, reader),
        })
    }

    /// Returns this overlay, with `base` where it is unset and the mechanism is the same.
    fn over(&self, base: &ChoiceOverlay) -> Self {
        match self.place == base.place {
            true => ChoiceOverlay {
                place: self.place,
                parameters: self.parameters.over(&base.parameters),
            },
            false => self.clone(),
        }
    }

    /// See [`Overlay::values`].
    pub fn values(&self, offer: &Alternatives, reader: &mut Reader) -> Option<Vec<Parameter>> {
        let errors = |values| (offer.errors)(self.place, values);
        self.parameters.values(offer.kinds[self.place].2, errors, reader)
    }

    /// Returns it as in a file: only a name if no parameter is set.
    fn write(&self, offer: &Alternatives) -> Value {
        let (name, _, parameters) = offer.kinds[self.place];
        let set = self.parameters.write(parameters);
        if set.0.is_empty() {
            return name.into();
        }
        let mut table = Table(vec![("kind".to_owned(), Value::from(name).into())]);
        table.0.extend(set.0);
        table.into()
    }
}

fn read(parameter: &registry::Parameter, table: &Table, reader: &mut Reader) -> Entry {
    let Some(node) = table.get(parameter.name) else { return Entry::Unset };
    let read = reader.within(parameter.name, |reader| match parameter.kind {
        Kind::Choice(offer) => ChoiceOverlay::read(&offer, node, reader).map(Entry::Choice),
        Kind::Nested(form) => Overlay::read_table(&form, node, reader).map(Entry::Nested),
        kind => read_value(kind, node, reader).map(Entry::Value),
    });
    read.unwrap_or(Entry::Unreadable)
}

fn value(parameter: &registry::Parameter, entry: &Entry, reader: &mut Reader) -> Option<Parameter> {
    match (entry, parameter.kind) {
        (Entry::Value(value), _) => Some(value.clone()),
        (Entry::Choice(choice), Kind::Choice(offer)) => {
            let values = choice.values(&offer, reader)?;
            Some(Parameter::Choice(choice.place, values))
        }
        (Entry::Nested(overlay), Kind::Nested(form)) => {
            overlay.values(form.parameters, form.errors, reader).map(Parameter::Nested)
        }
        (Entry::Unreadable, _) => default_of(parameter, reader.profile),
        _ => default_of(parameter, reader.profile).or_else(|| reader.error("missing")),
    }
}

/// Parses a default. A unit test covers all of them.
pub(crate) fn default_value(kind: Kind, text: &'static str) -> Value {
    match kind {
        Kind::Rate
        | Kind::RateOrOutage
        | Kind::Span
        | Kind::Spans
        | Kind::Bytes
        | Kind::QueueLength
        | Kind::Buffer
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
        Kind::List(_) | Kind::Tables(_) if text == "[]" => Value::Array(Vec::new()),
        Kind::Points | Kind::List(_) | Kind::Tables(_) => {
            unreachable!("a list has no other default than an empty one")
        }
        Kind::Nested(_) => unreachable!("its keys have defaults"),
        Kind::PlainOrTable { plain, .. } => default_value(*plain, text),
    }
}

/// Returns the default of a parameter; `None` if it is required.
pub(crate) fn default_of(parameter: &registry::Parameter, profile: Profile) -> Option<Parameter> {
    let text = match &parameter.default {
        DefaultValue::Unset => return Some(Parameter::Unset),
        DefaultValue::Required => return None,
        DefaultValue::ByProfile(defaults) => profile.choose(defaults),
        DefaultValue::Value(text) => text,
        DefaultValue::Nested => {
            let Kind::Nested(form) = parameter.kind else { unreachable!("a table") };
            let values = form.parameters.iter().map(|own| default_of(own, profile));
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
        Kind::Buffer => BufferSize::read(node, reader).map(Parameter::Buffer),
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
            let choice = ChoiceOverlay::read(&offer, node, reader)?;
            let values = choice.values(&offer, reader)?;
            Some(Parameter::Choice(choice.place, values))
        }
        Kind::List(offer) => read_list(offer, node, reader),
        Kind::Tables(form) => read_tables(&form, node, reader),
        Kind::Nested(form) => {
            let overlay = Overlay::read_table(&form, node, reader)?;
            overlay.values(form.parameters, form.errors, reader).map(Parameter::Nested)
        }
        Kind::PlainOrTable { plain, table } => {
            let is_table = match &node.value {
                Value::Table(_) => true,
                Value::Text(text) => names_a_kind(*table, text),
                _ => false,
            };
            read_value(if is_table { *table } else { *plain }, node, reader)
        }
    }
}

/// Whether a text names one of several mechanisms that need no keys.
fn names_a_kind(kind: Kind, text: &str) -> bool {
    let Kind::Choice(offer) = kind else { return false };
    offer.kinds.iter().any(|(name, _, parameters)| *name == text && parameters.is_empty())
}

/// Returns the value as in a file; `None` if there is nothing to write.
pub(crate) fn write_value(parameter: &registry::Parameter, value: Parameter) -> Option<Value> {
    write_kind(parameter.kind, value)
}

fn write_kind(kind: Kind, value: Parameter) -> Option<Value> {
    Some(match (value, kind) {
        (
            value @ (Parameter::Nested(_) | Parameter::Choice(..)),
            Kind::PlainOrTable { table, .. },
        ) => {
            return write_kind(*table, value);
        }
        (Parameter::Rate(rate), _) => rate.write(),
        (Parameter::RateOrOutage(rate), _) => rate.write(),
        (Parameter::Span(span), _) => span.write(),
        (Parameter::Spans(spans), _) => spans.write(),
        (Parameter::Bytes(bytes), _) => bytes.write(),
        (Parameter::QueueLength(length), _) => length.write(),
        (Parameter::Buffer(size), _) => size.write(),
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
        (Parameter::Choice(place, values), Kind::Choice(offer)) => {
            write_choice(&offer, place, values)
        }
        (Parameter::List(all), Kind::List(offer)) => write_list(&offer, all),
        (Parameter::Tables(all), Kind::Tables(form)) => write_tables(&form, all),
        (Parameter::Nested(values), Kind::Nested(form)) => {
            write_values(form.parameters, values).into()
        }
        (
            Parameter::Choice(..)
            | Parameter::List(_)
            | Parameter::Tables(_)
            | Parameter::Nested(_),
            _,
        ) => unreachable!("a value is of its kind"),
        (Parameter::Unset, _) => return None,
    })
}

/// Returns a mechanism with all its parameters as in a file.
pub(crate) fn write_choice(offer: &Alternatives, place: usize, values: Vec<Parameter>) -> Value {
    let (name, _, parameters) = offer.kinds[place];
    let mut table = Table(vec![("kind".to_owned(), Value::from(name).into())]);
    table.0.extend(write_values(parameters, values).0);
    table.into()
}

/// Returns a table of all values as in a file.
pub(crate) fn write_values(parameters: &[registry::Parameter], values: Vec<Parameter>) -> Table {
    let entry = |(parameter, value): (&registry::Parameter, _)| {
        let value = write_value(parameter, value)?;
        Some((parameter.name.to_owned(), value.into()))
    };
    Table(parameters.iter().zip(values).filter_map(entry).collect())
}

/// Maximum number of stages at one place.
const MAX_STAGES: usize = 16;

pub(crate) fn read_list(
    offer: Alternatives,
    node: &Node,
    reader: &mut Reader,
) -> Option<Parameter> {
    let Value::Array(items) = &node.value else {
        let kind = node.value.kind();
        let message = format!("expected a list of stages, [{{ kind = \"...\" }}], not {kind}");
        return reader.error(message);
    };
    if items.len() > MAX_STAGES {
        let message = format!("{} stages in one place; at most {MAX_STAGES}", items.len());
        return reader.error(message);
    }
    let read = |node: &Node, reader: &mut Reader| read_value(Kind::Choice(offer), node, reader);
    read_items(items, reader, read).map(Parameter::List)
}

pub(crate) fn write_list(offer: &Alternatives, all: Vec<Parameter>) -> Value {
    let write = |one| match one {
        Parameter::Choice(place, values) => write_choice(offer, place, values).into(),
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
        let overlay = Overlay::read_table(form, node, reader)?;
        overlay.values(form.parameters, form.errors, reader)
    };
    read_items(items, reader, read).map(Parameter::Tables)
}

pub(crate) fn write_tables(form: &Form, all: Vec<Vec<Parameter>>) -> Value {
    let write = |values| Value::from(write_values(form.parameters, values)).into();
    Value::Array(all.into_iter().map(write).collect())
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
