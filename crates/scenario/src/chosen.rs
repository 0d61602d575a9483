//! The choice of a mechanism that declares its own parameters.

use serde_json::Value as Json;
use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::bottleneck::{AqmParams, DifferentiationParams};
use tidegate_mechanisms::parameters::{Choice, Offer};

use crate::document::{Node, Value};
use crate::field::{Field, Reader};
use crate::file::Profile;
use crate::given::GivenChoice;
use crate::parameter::{offer_schema, write_chosen};
use crate::schema::Definitions;

/// A mechanism with its parameters: a name, or a table whose `kind` says which other keys it has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chosen<C>(pub C);

impl<C: Choice> Field for Chosen<C> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let offer = Offer::of::<C>();
        if let Some(message) = stands_elsewhere(node, &offer) {
            match node.value {
                Value::Table(_) => reader.wrong_at("kind", message),
                _ => drop(reader.wrong::<()>(message)),
            }
            return None;
        }
        let given = GivenChoice::read(&offer, node, reader)?;
        let values = given.values(&offer, reader)?;
        Some(Chosen(C::from_values(given.place, values)))
    }

    fn write(&self) -> Value {
        let (place, values) = self.0.to_values();
        write_chosen(&Offer::of::<C>(), place, values)
    }

    fn schema(definitions: &mut Definitions) -> Json {
        offer_schema(&Offer::of::<C>(), definitions)
    }
}

/// A mechanism of which a part may be open, for whoever comes later: other layers, then the profile.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Preferred<C> {
    given: GivenChoice,
    choice: std::marker::PhantomData<C>,
}

impl<C: Choice> Preferred<C> {
    fn of(given: GivenChoice) -> Self {
        Preferred { given, choice: std::marker::PhantomData }
    }

    /// The mechanism of this name, with nothing given.
    ///
    /// # Panics
    /// If there is none such.
    pub fn named(name: &str) -> Self {
        let place = C::KINDS.iter().position(|kind| kind.0 == name).expect("is one of the kinds");
        Preferred::of(GivenChoice::bare(&Offer::of::<C>(), place))
    }

    /// This, and where it is open and the mechanism is the same, `base`.
    pub fn over(&self, base: &Self) -> Self {
        Preferred::of(self.given.over(&base.given))
    }

    /// With the profile's values for what is still open; notes what is wrong with it.
    pub fn settle(&self, reader: &mut Reader) -> Option<C> {
        let values = self.given.values(&Offer::of::<C>(), reader)?;
        Some(C::from_values(self.given.place, values))
    }

    /// With the profile's values for what is still open, in a file that has been checked.
    pub fn settled(&self, profile: Profile) -> Option<C> {
        self.settle(&mut Reader::following(profile))
    }

    /// As given, in full.
    pub fn full(choice: &C) -> Self {
        let (place, values) = choice.to_values();
        Preferred::of(GivenChoice::full(&Offer::of::<C>(), place, values))
    }
}

impl<C: Choice> Field for Preferred<C> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        GivenChoice::read(&Offer::of::<C>(), node, reader).map(Preferred::of)
    }

    fn write(&self) -> Value {
        self.given.write(&Offer::of::<C>())
    }

    fn schema(definitions: &mut Definitions) -> Json {
        offer_schema(&Offer::of::<C>(), definitions)
    }
}

/// Where the mechanism belongs that somebody has given here, as FQ-CoDel for an AQM.
fn stands_elsewhere(node: &Node, here: &Offer) -> Option<String> {
    let named = match &node.value {
        Value::Table(table) => &table.get("kind")?.value,
        name => name,
    };
    let Value::Text(given) = named else { return None };
    // None of their names is much longer.
    if given.len() > 64 || here.kinds.iter().any(|kind| letters(kind.0) == letters(given)) {
        return None;
    }
    let rooms = [
        ("aqm", "an aqm", AqmParams::KINDS),
        ("differentiation", "a differentiation", DifferentiationParams::KINDS),
        ("scheduler", "a scheduler", SchedulerParams::KINDS),
    ];
    rooms.iter().find_map(|(key, what, kinds)| {
        let (name, _, _) = kinds.iter().find(|kind| letters(kind.0) == letters(given))?;
        Some(format!("\"{given}\" is {what}; write {key} = {{ kind = \"{name}\" }}"))
    })
}

/// A name as people remember it: fq_codel, FQ-CoDel and fqcodel are one.
fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
