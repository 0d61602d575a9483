//! What can be set of a mechanism, declared once, beside it.
//!
//! [`parameters!`](crate::parameters) makes a struct of values, and with it what a scenario file needs
//! to read and describe them: the keys, what may stand there, the defaults as a file would have
//! them, and the documentation. A [`Choice`] is one of several mechanisms with its parameters.

use crate::registry::Parameter;
use crate::units::{Bytes, Factor, Memory, Rate, Share, Span};

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
    /// From 0 to just below 1.
    Memory(Memory),
    /// From 0 to 1000.
    Factor(Factor),
    /// One of several words.
    Word(&'static str),
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
    /// From 0 to just below 1.
    Memory,
    /// From 0 to 1000.
    Factor,
    /// One of these words, each with what it means.
    Word(&'static [(&'static str, &'static str)]),
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
            Kind::Share | Kind::Memory | Kind::Factor | Kind::Count => "1",
            Kind::Word(_) => "word",
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
    Memory => Memory;
    Factor => Factor;
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

/// Declares a choice of words, each with what it means.
#[macro_export]
macro_rules! words {
    ($(#[doc = $about:literal])* pub enum $name:ident {
        $( $(#[doc = $meaning:literal])* $variant:ident = $word:literal, )*
    }) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $( $(#[doc = $meaning])* $variant, )* }

        impl $crate::parameters::ParameterType for $name {
            const KIND: $crate::parameters::Kind =
                $crate::parameters::Kind::Word(&[$( ($word, concat!($($meaning),*)) ),*]);

            fn to_value(self) -> $crate::parameters::Value {
                $crate::parameters::Value::Word(match self { $( $name::$variant => $word ),* })
            }

            fn from_value(value: $crate::parameters::Value) -> Self {
                match value {
                    $( $crate::parameters::Value::Word($word) => $name::$variant, )*
                    other => panic!("{other:?} is none of the words"),
                }
            }
        }
    };
}

/// Declares what can be chosen in a place: an enum of parameters that is a [`Choice`]. The first
/// kind has no parameters; each of the others is described by its mechanism, as `trait`.
macro_rules! choices {
    (
        $(#[doc = $about:literal])*
        pub enum $choice:ident as $room:ident by $trait:ident {
            $(#[doc = $first_about:literal])* $first:ident = $first_name:literal;
            $( $name:ident($params:ident); )+
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum $choice {
            $(#[doc = $first_about])* $first,
            $(#[doc = concat!("Of [`", stringify!($name), "`].")] $name($params),)+
        }

        impl $crate::parameters::Choice for $choice {
            const NAME: &'static str = stringify!($room);
            const ABOUT: &'static str = concat!($($about, "\n"),*);
            const KINDS: &'static [(&'static str, &'static str, &'static [Parameter])] = &[
                ($first_name, concat!($($first_about, "\n"),*), &[]),
                $((
                    <$name as $trait>::ABOUT.name,
                    <$params as $crate::parameters::Parameters>::ABOUT,
                    <$params as $crate::parameters::Parameters>::ALL,
                )),+
            ];

            fn from_values(kind: usize, values: &[$crate::parameters::Value]) -> Self {
                use $crate::parameters::Parameters;
                let kind = Self::KINDS[kind].0;
                $(if kind == <$name as $trait>::ABOUT.name {
                    return $choice::$name($params::from_values(values));
                })+
                $choice::$first
            }

            fn to_values(&self) -> (usize, Vec<$crate::parameters::Value>) {
                use $crate::parameters::Parameters;
                let (name, values) = match self {
                    $choice::$first => ($first_name, Vec::new()),
                    $($choice::$name(params) => {
                        (<$name as $trait>::ABOUT.name, params.to_values())
                    })+
                };
                let place = Self::KINDS.iter().position(|kind| kind.0 == name);
                (place.expect("is one of the kinds"), values)
            }

            fn mistake(&self) -> Option<$crate::parameters::Mistake> {
                match self {
                    $choice::$first => None,
                    $($choice::$name(params) => $crate::parameters::Parameters::mistake(params),)+
                }
            }
        }

        /// What the registry says of all of them.
        pub const ALL: &[$crate::registry::Mechanism] = &[$(
            $crate::registry::Mechanism::declared(
                $crate::registry::Room::$room,
                <$name as $trait>::ABOUT,
                <$params as $crate::parameters::Parameters>::ALL,
            )
        ),+];
    };
}
pub(crate) use choices;

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
