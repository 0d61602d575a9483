//! What a file gives of the parameters of a mechanism, layer over layer: a user's own, the scenario's, the
//! profile's. Parameters are declared with the mechanism, and read, written and described by that.

use tidegate_mechanisms::parameters::{Kind, Offer, Value as Parameter};
use tidegate_mechanisms::registry;

use crate::document::{Node, Table, Value};
use crate::field::{Reader, read_choice, read_kind};
use crate::parameter::{kind, not_given, read_value, write_value};

/// One of several mechanisms, and what is given of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GivenChoice {
    /// Its place in the offer.
    pub place: usize,
    given: Vec<Entry>,
}

/// What is given of a parameter.
#[derive(Clone, Debug, PartialEq)]
enum Entry {
    Nothing,
    /// Nothing that can be read, which is on record.
    Unreadable,
    Value(Parameter),
    Choice(GivenChoice),
}

impl GivenChoice {
    /// The mechanism in this place, with nothing given.
    pub fn bare(offer: &Offer, place: usize) -> Self {
        GivenChoice { place, given: vec![Entry::Nothing; offer.kinds[place].2.len()] }
    }

    /// The mechanism in this place, with a value for each parameter.
    pub fn full(offer: &Offer, place: usize, values: Vec<Parameter>) -> Self {
        let entry = |(parameter, value)| match (value, kind(parameter)) {
            (Parameter::Chosen(place, values), Kind::Choice(offer)) => {
                Entry::Choice(GivenChoice::full(&offer, place, values))
            }
            (value, _) => Entry::Value(value),
        };
        let given = offer.kinds[place].2.iter().zip(values).map(entry).collect();
        GivenChoice { place, given }
    }

    /// Reads a mechanism's name, or a table whose `kind` it is and which may have its parameters.
    pub fn read(offer: &Offer, node: &Node, reader: &mut Reader) -> Option<Self> {
        let place_of = |name| offer.kinds.iter().position(|kind| kind.0 == name);
        if let Value::Text(_) = node.value {
            let names: Vec<_> = offer.kinds.iter().map(|kind| kind.0).collect();
            let name = read_choice(node, &names, reader)?;
            return Some(GivenChoice::bare(offer, place_of(name)?));
        }
        let table = reader.table(node)?;
        let keys = |parameters: &[registry::Parameter]| parameters.iter().map(|p| p.name).collect();
        let all: Vec<_> = offer.kinds.iter().map(|kind| (kind.0, keys(kind.2))).collect();
        let name = read_kind(table, &all, reader)?;
        let place = place_of(name)?;
        let given = offer.kinds[place].2.iter().map(|parameter| read(parameter, table, reader));
        Some(GivenChoice { place, given: given.collect() })
    }

    /// These parameters and, where they are open and the mechanism is the same, those of `base`.
    pub fn over(&self, base: &GivenChoice) -> Self {
        if self.place != base.place {
            return self.clone();
        }
        let pairs = self.given.iter().zip(&base.given);
        let given = pairs.map(|pair| match pair {
            (Entry::Nothing, base) => base.clone(),
            (Entry::Choice(own), Entry::Choice(base)) => Entry::Choice(own.over(base)),
            (own, _) => own.clone(),
        });
        GivenChoice { place: self.place, given: given.collect() }
    }

    /// A value for each parameter, with defaults where nothing is given. Notes what is missing, and what
    /// is wrong with the values together; `None` if there is not one for each.
    pub fn values(&self, offer: &Offer, reader: &mut Reader) -> Option<Vec<Parameter>> {
        let parameters = offer.kinds[self.place].2;
        let pairs = parameters.iter().zip(&self.given);
        // All are looked at, so that all mistakes are found at once.
        let values: Vec<_> = pairs
            .map(|(parameter, entry)| {
                reader.within(parameter.name, |reader| value(parameter, entry, reader))
            })
            .collect();
        let values = values.into_iter().collect::<Option<Vec<_>>>()?;
        for (key, message) in (offer.mistakes)(self.place, values.clone()) {
            if !self.is_about_unreadable(parameters, key, &message) {
                reader.wrong_at(key, message);
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
        let mut pairs = parameters.iter().zip(&self.given);
        pairs.any(|(parameter, entry)| {
            *entry == Entry::Unreadable
                && (parameter.name == key || message.contains(parameter.name))
        })
    }

    /// As the file has it: a name alone if nothing else is given.
    pub fn write(&self, offer: &Offer) -> Value {
        let (name, _, parameters) = offer.kinds[self.place];
        let mut table = Table(vec![("kind".to_owned(), Value::from(name).into())]);
        for (parameter, entry) in parameters.iter().zip(&self.given) {
            let value = match (entry, kind(parameter)) {
                (Entry::Value(value), _) => write_value(parameter, value.clone()),
                (Entry::Choice(choice), Kind::Choice(offer)) => Some(choice.write(&offer)),
                _ => None,
            };
            table.0.extend(value.map(|value| (parameter.name.to_owned(), value.into())));
        }
        if table.0.len() == 1 { name.into() } else { table.into() }
    }
}

fn read(parameter: &registry::Parameter, table: &Table, reader: &mut Reader) -> Entry {
    let Some(node) = table.get(parameter.name) else { return Entry::Nothing };
    let read = reader.within(parameter.name, |reader| match kind(parameter) {
        Kind::Choice(offer) => GivenChoice::read(&offer, node, reader).map(Entry::Choice),
        kind => read_value(kind, node, reader).map(Entry::Value),
    });
    read.unwrap_or(Entry::Unreadable)
}

fn value(parameter: &registry::Parameter, entry: &Entry, reader: &mut Reader) -> Option<Parameter> {
    match (entry, kind(parameter)) {
        (Entry::Value(value), _) => Some(value.clone()),
        (Entry::Choice(choice), Kind::Choice(offer)) => {
            let values = choice.values(&offer, reader)?;
            Some(Parameter::Chosen(choice.place, values))
        }
        (Entry::Unreadable, _) => not_given(parameter, reader.profile),
        _ => not_given(parameter, reader.profile).or_else(|| reader.wrong("missing")),
    }
}
