//! Options of which some may be unset, with defaults from the scenario, then from the profile.

use std::marker::PhantomData;

use serde_json::Value as Json;
use tidegate_mechanisms::parameters::{ParameterValue as Parameter, Parameters};

use crate::document::{Node, Value};
use crate::field::{Field, Reader};
use crate::parameter::Overlay;
use crate::parameter_schema::option_properties;
use crate::profile::Profile;
use crate::schema::{self, Definitions};

/// Options that one table may override of another.
pub(crate) trait OverlayOptions: Parameters {
    /// Name in the schema.
    const NAME: &'static str;

    /// Returns the preset named by one of the options: a profile, and the options that differ from it.
    fn preset(set: &Overlay) -> Option<(Profile, Overlay)> {
        let _ = set;
        None
    }
}

/// Options of one table, each set or not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TypedOverlay<P> {
    values: Overlay,
    options: PhantomData<P>,
}

impl<P: OverlayOptions> TypedOverlay<P> {
    fn of(values: Overlay) -> Self {
        TypedOverlay { values, options: PhantomData }
    }

    /// Returns an overlay without options.
    pub fn empty() -> Self {
        TypedOverlay::of(Overlay::empty(P::ALL))
    }

    /// Returns an overlay with every option set.
    pub fn full(options: &P) -> Self {
        TypedOverlay::of(Overlay::full(P::ALL, options.to_values()))
    }

    /// Returns these options, with `base` where they are unset; only these if they name a preset.
    pub fn over(&self, base: &Self) -> Self {
        match P::preset(&self.values) {
            Some(_) => self.clone(),
            None => TypedOverlay::of(self.values.over(&base.values)),
        }
    }

    /// Returns all options, with the values of the preset, or else of the profile, where they are unset. Records
    /// errors.
    pub fn resolve(&self, reader: &mut Reader) -> Option<P> {
        let errors = |values| P::from_values(values).errors();
        let Some((profile, preset)) = P::preset(&self.values) else {
            return self.values.values(P::ALL, errors, reader).map(P::from_values);
        };
        let outer = std::mem::replace(&mut reader.profile, profile);
        let values = self.values.over(&preset).values(P::ALL, errors, reader);
        reader.profile = outer;
        values.map(P::from_values)
    }

    /// Returns all options, for options that have been checked.
    pub fn resolved(&self, profile: Profile) -> Option<P> {
        self.resolve(&mut Reader::following(profile))
    }

    /// Whether an option is set.
    pub fn sets(&self, key: &str) -> bool {
        self.values.sets(P::ALL, key)
    }

    /// Returns the value of an option that is no choice.
    pub fn value(&self, key: &str) -> Option<&Parameter> {
        self.values.value(P::ALL, key)
    }

    /// Whether an option is set to false.
    pub fn switches_off(&self, key: &str) -> bool {
        self.value(key) == Some(&Parameter::Flag(false))
    }
}

impl<P: OverlayOptions> Field for TypedOverlay<P> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let table = reader.table(node)?;
        let keys: Vec<_> = P::ALL.iter().map(|parameter| parameter.name).collect();
        reader.keys(table, &keys, P::RETIRED);
        Some(TypedOverlay::of(Overlay::read(P::ALL, table, reader)))
    }

    fn write(&self) -> Value {
        self.values.write(P::ALL).into()
    }

    fn schema(definitions: &mut Definitions) -> Json {
        definitions.refer(P::NAME, |definitions| {
            let properties = option_properties(P::ALL, definitions);
            schema::object(P::ABOUT, properties, Vec::new())
        })
    }
}
