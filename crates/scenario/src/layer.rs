//! Options of which a part may be open, for whoever comes later: the scenario's, then the profile's.

use std::marker::PhantomData;

use serde_json::Value as Json;
use tidegate_mechanisms::parameters::{Parameters, Value as Parameter};

use crate::document::{Node, Value};
use crate::field::{Field, Reader};
use crate::file::Profile;
use crate::given::Given;
use crate::parameter::option_properties;
use crate::schema::{self, Definitions};

/// Options that come in layers.
pub(crate) trait Layered: Parameters {
    /// What they are called in the schema.
    const NAME: &'static str;

    /// What a name among what is given stands for: a profile, and what is given over that.
    fn preset(given: &Given) -> Option<(Profile, Given)> {
        let _ = given;
        None
    }
}

/// One layer of options.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layer<P> {
    given: Given,
    options: PhantomData<P>,
}

impl<P: Layered> Layer<P> {
    fn of(given: Given) -> Self {
        Layer { given, options: PhantomData }
    }

    /// Everything is open.
    pub fn nothing() -> Self {
        Layer::of(Given::nothing(P::ALL))
    }

    /// Nothing is open.
    pub fn full(options: &P) -> Self {
        Layer::of(Given::full(P::ALL, options.to_values()))
    }

    /// This, and where it is open, `base`; this alone if it begins anew, with a preset.
    pub fn over(&self, base: &Self) -> Self {
        match P::preset(&self.given) {
            Some(_) => self.clone(),
            None => Layer::of(self.given.over(&base.given)),
        }
    }

    /// With the values of its preset, or else the profile, for what is still open; notes what is wrong with it.
    pub fn settle(&self, reader: &mut Reader) -> Option<P> {
        let errors = |values| P::from_values(values).errors();
        let Some((profile, preset)) = P::preset(&self.given) else {
            return self.given.values(P::ALL, errors, reader).map(P::from_values);
        };
        let outer = std::mem::replace(&mut reader.profile, profile);
        let values = self.given.over(&preset).values(P::ALL, errors, reader);
        reader.profile = outer;
        values.map(P::from_values)
    }

    /// The same, of what has been checked. Errors in it have been told.
    pub fn settled(&self, profile: Profile) -> Option<P> {
        self.settle(&mut Reader::following(profile))
    }

    /// Whether this layer has something to say of an option.
    pub fn gives(&self, key: &str) -> bool {
        self.given.gives(P::ALL, key)
    }

    /// What this layer says of an option that is no choice.
    pub fn value(&self, key: &str) -> Option<&Parameter> {
        self.given.value(P::ALL, key)
    }

    /// Whether this layer switches an option off.
    pub fn denies(&self, key: &str) -> bool {
        self.value(key) == Some(&Parameter::Flag(false))
    }
}

impl<P: Layered> Field for Layer<P> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let table = reader.table(node)?;
        let keys: Vec<_> = P::ALL.iter().map(|parameter| parameter.name).collect();
        reader.keys(table, &keys, P::RETIRED);
        Some(Layer::of(Given::read(P::ALL, table, reader)))
    }

    fn write(&self) -> Value {
        self.given.write(P::ALL).into()
    }

    fn schema(definitions: &mut Definitions) -> Json {
        definitions.refer(P::NAME, |definitions| {
            let properties = option_properties(P::ALL, definitions);
            schema::object(P::ABOUT, properties, Vec::new())
        })
    }
}
