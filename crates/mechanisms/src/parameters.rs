//! What can be set of a mechanism, declared once, beside it.
//!
//! [`parameters!`](crate::parameters) makes a struct of values, and with it what a scenario file needs
//! to read and describe them: the keys, what may stand there, the defaults as a file would have
//! them, and the documentation. A [`Choice`] is one of several mechanisms with its parameters.

use crate::registry::Parameter;
use crate::units::{Bytes, Rate, Share, Span};

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Bits per second.
    Rate(Rate),
    /// Time.
    Span(Span),
    /// Size.
    Bytes(Bytes),
    /// Above 0, at most 1.
    Share(Share),
    /// A whole number.
    Count(u32),
    /// Yes or no.
    Flag(bool),
}

/// What may stand for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bits per second.
    Rate,
    /// Time.
    Span,
    /// Size.
    Bytes,
    /// Above 0, at most 1.
    Share,
    /// A whole number from 0.
    Count,
    /// true or false.
    Flag,
}

impl Kind {
    /// Its unit, for tables of parameters.
    pub const fn unit(self) -> &'static str {
        match self {
            Kind::Rate => "bit/s",
            Kind::Span => "s",
            Kind::Bytes => "B",
            Kind::Share | Kind::Count => "1",
            Kind::Flag => "true or false",
        }
    }
}

/// The type of a parameter.
pub trait ParameterType: Copy {
    /// What may stand for it.
    const KIND: Kind;

    /// As a value.
    fn to_value(self) -> Value;

    /// From a value of its kind.
    ///
    /// # Panics
    /// If the value is of another kind.
    fn from_value(value: Value) -> Self;
}

macro_rules! parameter_types {
    ($($ty:ty => $kind:ident;)*) => { $(
        impl ParameterType for $ty {
            const KIND: Kind = Kind::$kind;
            fn to_value(self) -> Value {
                Value::$kind(self)
            }
            fn from_value(value: Value) -> Self {
                match value {
                    Value::$kind(value) => value,
                    other => panic!("{other:?} is no {}", stringify!($kind)),
                }
            }
        }
    )* };
}

parameter_types! {
    Rate => Rate;
    Span => Span;
    Bytes => Bytes;
    Share => Share;
    u32 => Count;
    bool => Flag;
}

/// What is wrong with parameters that are well-formed one by one: the key, and why.
pub type Mistake = (&'static str, String);

/// The parameters of a mechanism.
pub trait Parameters: Copy {
    /// What the mechanism does, for whoever sets it.
    const ABOUT: &'static str;
    /// What can be set.
    const ALL: &'static [Parameter];

    /// From a value for each.
    fn from_values(values: &[Value]) -> Self;

    /// A value for each.
    fn to_values(&self) -> Vec<Value>;

    /// What is wrong with the values together.
    fn mistake(&self) -> Option<Mistake>;
}

/// One of several mechanisms, with its parameters.
pub trait Choice: Copy {
    /// What it is called in a scenario file's types.
    const NAME: &'static str;
    /// What is chosen.
    const ABOUT: &'static str;
    /// Name, explanation and parameters of all mechanisms.
    const KINDS: &'static [(&'static str, &'static str, &'static [Parameter])];

    /// The mechanism with this place in [`Choice::KINDS`], with a value for each parameter.
    fn from_values(kind: usize, values: &[Value]) -> Self;

    /// The mechanism's place, and a value for each parameter.
    fn to_values(&self) -> (usize, Vec<Value>);

    /// What is wrong with the values together.
    fn mistake(&self) -> Option<Mistake>;
}

/// Declares the parameters of a mechanism: a documented struct, whose fields may have a default (as
/// a scenario file would write it), and a function that finds mistakes in the values together.
#[macro_export]
macro_rules! parameters {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident {
            $( $(#[doc = $meaning:literal])* pub $key:ident: $ty:ty $(= $default:literal)?, )*
        }
        $(check $check:path;)?
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name {
            $( $(#[doc = $meaning])* pub $key: $ty, )*
        }

        impl $crate::parameters::Parameters for $name {
            const ABOUT: &'static str = concat!($($about, "\n"),*);
            const ALL: &'static [$crate::registry::Parameter] = &[$(
                $crate::registry::Parameter {
                    name: stringify!($key),
                    default: $crate::parameters::default_value!($($default)?),
                    unit: <$ty as $crate::parameters::ParameterType>::KIND.unit(),
                    meaning: concat!($($meaning),*),
                    kind: Some(<$ty as $crate::parameters::ParameterType>::KIND),
                }
            ),*];

            #[allow(unused_variables, unused_mut)]
            fn from_values(values: &[$crate::parameters::Value]) -> Self {
                let mut values = values.iter();
                let mut next = || *values.next().expect("a value for each parameter");
                $name { $(
                    $key: <$ty as $crate::parameters::ParameterType>::from_value(next()),
                )* }
            }

            fn to_values(&self) -> Vec<$crate::parameters::Value> {
                vec![$( $crate::parameters::ParameterType::to_value(self.$key) ),*]
            }

            fn mistake(&self) -> Option<$crate::parameters::Mistake> {
                $( if let Some(mistake) = $check(self) {
                    return Some(mistake);
                } )?
                None
            }
        }
    };
}

/// The default of a parameter; without one it has to be set.
macro_rules! default_value {
    () => {
        $crate::registry::DefaultValue::Required
    };
    ($default:literal) => {
        $crate::registry::DefaultValue::Value($default)
    };
}
pub(crate) use default_value;
