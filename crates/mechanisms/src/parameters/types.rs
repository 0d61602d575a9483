//! Types of parameters.

use core::ops::Deref;

use super::{Alternatives, Choice, DefaultValue, Form, Kind, ParameterValue, Parameters};
use crate::units::{
    BufferSize, Bytes, Demand, Factor, Memory, OrOff, Points, Probability, QueueLength, Rate,
    RateOrOutage, Share, Span, Spans, Step, TokenRate, Tokens, Whole,
};

/// Type of a parameter.
pub trait ParameterType: Clone {
    /// Kind in a scenario file.
    const KIND: Kind;
    /// Default if the declaration has none.
    const WITHOUT_DEFAULT: DefaultValue = DefaultValue::Required;

    /// Converts to a value.
    fn to_value(&self) -> ParameterValue;

    /// Converts from a value of its kind.
    ///
    /// # Panics
    ///
    /// If the value is of another kind.
    fn from_value(value: ParameterValue) -> Self;
}

macro_rules! parameter_types {
    ($($ty:ty => $kind:ident;)*) => { $(
        impl ParameterType for $ty {
            const KIND: Kind = Kind::$kind;
            fn to_value(&self) -> ParameterValue {
                ParameterValue::$kind(self.clone())
            }
            fn from_value(value: ParameterValue) -> Self {
                match value {
                    ParameterValue::$kind(value) => value,
                    other => panic!("{other:?} is no {}", stringify!($kind)),
                }
            }
        }
    )* };
}

parameter_types! {
    Rate => Rate;
    RateOrOutage => RateOrOutage;
    Span => Span;
    Spans => Spans;
    Bytes => Bytes;
    Probability => Probability;
    Share => Share;
    Memory => Memory;
    Factor => Factor;
    Step => Step;
    Demand => Demand;
    OrOff => OrOff;
    QueueLength => QueueLength;
    BufferSize => Buffer;
    Tokens => Tokens;
    TokenRate => TokenRate;
    bool => Flag;
    String => Text;
    Points => Points;
}

/// Maximum of integers whose declaration has no bounds.
const MAX_COUNT: u32 = 1_000_000;

impl ParameterType for u32 {
    const KIND: Kind = Kind::Count { min: 0, max: MAX_COUNT };

    fn to_value(&self) -> ParameterValue {
        ParameterValue::Count(*self)
    }

    fn from_value(value: ParameterValue) -> Self {
        match value {
            ParameterValue::Count(count) => count,
            other => panic!("{other:?} is no count"),
        }
    }
}

impl<const MIN: u32, const MAX: u32> ParameterType for Whole<MIN, MAX> {
    const KIND: Kind = Kind::Count { min: MIN, max: MAX };

    fn to_value(&self) -> ParameterValue {
        ParameterValue::Count(self.0)
    }

    fn from_value(value: ParameterValue) -> Self {
        Whole(u32::from_value(value))
    }
}

/// Optional parameter.
impl<T: ParameterType> ParameterType for Option<T> {
    const KIND: Kind = T::KIND;
    const WITHOUT_DEFAULT: DefaultValue = DefaultValue::Unset;

    fn to_value(&self) -> ParameterValue {
        self.as_ref().map_or(ParameterValue::Unset, T::to_value)
    }

    fn from_value(value: ParameterValue) -> Self {
        (value != ParameterValue::Unset).then(|| T::from_value(value))
    }
}

/// Mechanism with its own parameters.
impl<C: Choice> ParameterType for C {
    const KIND: Kind = Kind::Choice(Alternatives::of::<C>());

    fn to_value(&self) -> ParameterValue {
        let (place, values) = self.to_values();
        ParameterValue::Choice(place, values)
    }

    fn from_value(value: ParameterValue) -> Self {
        match value {
            ParameterValue::Choice(place, values) => C::from_values(place, values),
            other => panic!("{other:?} is no {}", C::NAME),
        }
    }
}

/// Several mechanisms, in order.
impl<C: Choice> ParameterType for Vec<C> {
    const KIND: Kind = Kind::List(Alternatives::of::<C>());

    fn to_value(&self) -> ParameterValue {
        ParameterValue::List(self.iter().map(C::to_value).collect())
    }

    fn from_value(value: ParameterValue) -> Self {
        match value {
            ParameterValue::List(all) => all.into_iter().map(C::from_value).collect(),
            other => panic!("{other:?} is no row"),
        }
    }
}

/// List of tables with these parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables<P>(pub Vec<P>);

const fn form<P: Parameters>() -> Form {
    Form {
        name: P::TYPE_NAME,
        about: P::ABOUT,
        parameters: P::ALL,
        errors: |values| P::from_values(values).errors(),
    }
}

impl<P: Parameters> ParameterType for Tables<P> {
    const KIND: Kind = Kind::Tables(form::<P>());

    fn to_value(&self) -> ParameterValue {
        ParameterValue::Tables(self.0.iter().map(P::to_values).collect())
    }

    fn from_value(value: ParameterValue) -> Self {
        match value {
            ParameterValue::Tables(all) => Tables(all.into_iter().map(P::from_values).collect()),
            other => panic!("{other:?} is no list of tables"),
        }
    }
}

/// Nested table of parameters, all of which have defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Nested<P>(pub P);

impl<P> Deref for Nested<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.0
    }
}

impl<P: Parameters> ParameterType for Nested<P> {
    const KIND: Kind = Kind::Nested(form::<P>());
    const WITHOUT_DEFAULT: DefaultValue = DefaultValue::Nested;

    fn to_value(&self) -> ParameterValue {
        ParameterValue::Nested(self.0.to_values())
    }

    fn from_value(value: ParameterValue) -> Self {
        match value {
            ParameterValue::Nested(values) => Nested(P::from_values(values)),
            other => panic!("{other:?} is no table"),
        }
    }
}
