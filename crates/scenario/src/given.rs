//! What a file gives of parameters that are declared elsewhere, layer over layer: a group's own, the
//! scenario's, the profile's.

use tidegate_mechanisms::parameters::{Form, Kind, Offer, ParameterError, Value as Parameter};
use tidegate_mechanisms::registry;

use crate::chosen::stands_elsewhere;
use crate::document::{Node, Table, Value};
use crate::field::{Reader, read_choice, read_kind};
use crate::parameter::{not_given, read_value, write_value};

/// What is given of some parameters, in the order of their declaration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Given(Vec<Entry>);

/// What is given of one.
#[derive(Clone, Debug, PartialEq)]
enum Entry {
    Nothing,
    /// Nothing that can be read, which is on record.
    Unreadable,
    Value(Parameter),
    Choice(GivenChoice),
    Nested(Given),
}

impl Given {
    /// Nothing of so many parameters.
    pub fn nothing(parameters: &[registry::Parameter]) -> Self {
        Given(vec![Entry::Nothing; parameters.len()])
    }

    /// A value for each.
    pub fn full(parameters: &[registry::Parameter], values: Vec<Parameter>) -> Self {
        let entry = |(parameter, value): (&registry::Parameter, _)| match (value, parameter.kind) {
            (Parameter::Chosen(place, values), Kind::Choice(offer)) => {
                Entry::Choice(GivenChoice::full(&offer, place, values))
            }
            (Parameter::Nested(values), Kind::Nested(form)) => {
                Entry::Nested(Given::full(form.parameters, values))
            }
            (Parameter::Unset, _) => Entry::Nothing,
            (value, _) => Entry::Value(value),
        };
        Given(parameters.iter().zip(values).map(entry).collect())
    }

    /// Reads what a table has of them; other keys are the caller's.
    pub fn read(parameters: &[registry::Parameter], table: &Table, reader: &mut Reader) -> Self {
        Given(parameters.iter().map(|parameter| read(parameter, table, reader)).collect())
    }

    /// Reads a table that has no other keys than these.
    pub fn read_table(form: &Form, node: &Node, reader: &mut Reader) -> Option<Self> {
        let table = reader.table(node)?;
        let keys: Vec<_> = form.parameters.iter().map(|parameter| parameter.name).collect();
        reader.known_keys(table, &keys);
        Some(Given::read(form.parameters, table, reader))
    }

    /// Whether anything is given of one.
    pub fn gives(&self, parameters: &[registry::Parameter], key: &str) -> bool {
        self.entry(parameters, key).is_some_and(|entry| *entry != Entry::Nothing)
    }

    /// What is given of one that is no choice.
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

    /// These, and where they are open, those of `base`.
    pub fn over(&self, base: &Given) -> Self {
        let pair = |pair: (&Entry, &Entry)| match pair {
            (Entry::Nothing, base) => base.clone(),
            (Entry::Choice(own), Entry::Choice(base)) => Entry::Choice(own.over(base)),
            (Entry::Nested(own), Entry::Nested(base)) => Entry::Nested(own.over(base)),
            (own, _) => own.clone(),
        };
        Given(self.0.iter().zip(&base.0).map(pair).collect())
    }

    /// A value for each, by default where nothing is given. Notes what is missing, and what is wrong with
    /// the values together; `None` if there is not one for each.
    pub fn values(
        &self,
        parameters: &[registry::Parameter],
        errors: impl FnOnce(Vec<Parameter>) -> Vec<ParameterError>,
        reader: &mut Reader,
    ) -> Option<Vec<Parameter>> {
        let pairs = parameters.iter().zip(&self.0);
        // All are looked at, so that all errors are found at once.
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

    /// What is said of a value that could not be read may not be so.
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

    /// What is given, as the file has it.
    pub fn write(&self, parameters: &[registry::Parameter]) -> Table {
        let entry = |(parameter, entry): (&registry::Parameter, &Entry)| {
            let value = match (entry, parameter.kind) {
                (Entry::Value(value), _) => write_value(parameter, value.clone()),
                (Entry::Choice(choice), Kind::Choice(offer)) => Some(choice.write(&offer)),
                (Entry::Nested(given), Kind::Nested(form)) => {
                    Some(given.write(form.parameters).into())
                }
                _ => None,
            };
            value.map(|value| (parameter.name.to_owned(), value.into()))
        };
        Table(parameters.iter().zip(&self.0).filter_map(entry).collect())
    }
}

/// One of several mechanisms, and what is given of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GivenChoice {
    /// Its place in the offer.
    pub place: usize,
    given: Given,
}

impl GivenChoice {
    /// The mechanism in this place, with a value for each parameter.
    fn full(offer: &Offer, place: usize, values: Vec<Parameter>) -> Self {
        GivenChoice { place, given: Given::full(offer.kinds[place].2, values) }
    }

    /// Reads a mechanism's name, or a table whose `kind` it is and which may have its parameters.
    pub fn read(offer: &Offer, node: &Node, reader: &mut Reader) -> Option<Self> {
        if let Some(message) = stands_elsewhere(node, offer) {
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
            return Some(GivenChoice { place, given: Given::nothing(offer.kinds[place].2) });
        }
        let table = reader.table(node)?;
        let keys = |parameters: &[registry::Parameter]| parameters.iter().map(|p| p.name).collect();
        let all: Vec<_> = offer.kinds.iter().map(|kind| (kind.0, keys(kind.2))).collect();
        let place = place_of(read_kind(table, &all, reader)?)?;
        Some(GivenChoice { place, given: Given::read(offer.kinds[place].2, table, reader) })
    }

    /// This, and where it is open and the mechanism is the same, `base`.
    fn over(&self, base: &GivenChoice) -> Self {
        match self.place == base.place {
            true => GivenChoice { place: self.place, given: self.given.over(&base.given) },
            false => self.clone(),
        }
    }

    /// See [`Given::values`].
    pub fn values(&self, offer: &Offer, reader: &mut Reader) -> Option<Vec<Parameter>> {
        let errors = |values| (offer.errors)(self.place, values);
        self.given.values(offer.kinds[self.place].2, errors, reader)
    }

    /// As the file has it: a name alone if nothing else is given.
    fn write(&self, offer: &Offer) -> Value {
        let (name, _, parameters) = offer.kinds[self.place];
        let given = self.given.write(parameters);
        if given.0.is_empty() {
            return name.into();
        }
        let mut table = Table(vec![("kind".to_owned(), Value::from(name).into())]);
        table.0.extend(given.0);
        table.into()
    }
}

fn read(parameter: &registry::Parameter, table: &Table, reader: &mut Reader) -> Entry {
    let Some(node) = table.get(parameter.name) else { return Entry::Nothing };
    let read = reader.within(parameter.name, |reader| match parameter.kind {
        Kind::Choice(offer) => GivenChoice::read(&offer, node, reader).map(Entry::Choice),
        Kind::Nested(form) => Given::read_table(&form, node, reader).map(Entry::Nested),
        kind => read_value(kind, node, reader).map(Entry::Value),
    });
    read.unwrap_or(Entry::Unreadable)
}

fn value(parameter: &registry::Parameter, entry: &Entry, reader: &mut Reader) -> Option<Parameter> {
    match (entry, parameter.kind) {
        (Entry::Value(value), _) => Some(value.clone()),
        (Entry::Choice(choice), Kind::Choice(offer)) => {
            let values = choice.values(&offer, reader)?;
            Some(Parameter::Chosen(choice.place, values))
        }
        (Entry::Nested(given), Kind::Nested(form)) => {
            given.values(form.parameters, form.errors, reader).map(Parameter::Nested)
        }
        (Entry::Unreadable, _) => not_given(parameter, reader.profile),
        _ => not_given(parameter, reader.profile).or_else(|| reader.error("missing")),
    }
}
