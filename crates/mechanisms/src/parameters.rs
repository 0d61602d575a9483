//! What can be set of a mechanism, declared once, beside it.
//!
//! [`parameters!`](crate::parameters) makes a struct of values, and with it what a scenario file needs
//! to read and describe them: the keys, what may stand there, the defaults as a file would have
//! them, and the documentation. A [`Choice`] is one of several mechanisms with its parameters.

use crate::registry::{DefaultValue, Parameter};
use crate::units::{
    Bytes, Demand, Factor, Memory, OrOff, Points, Probability, QueueLength, Rate, Share, Span,
    Step, TokenRate, Tokens, Whole,
};

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Bits per second.
    Rate(Rate),
    /// Time.
    Span(Span),
    /// Size.
    Bytes(Bytes),
    /// Packets, or size.
    QueueLength(QueueLength),
    /// Packets to the thousandth, or size.
    Tokens(Tokens),
    /// Packets per second to the thousandth, or bits per second.
    TokenRate(TokenRate),
    /// From 0 to 1.
    Probability(Probability),
    /// Above 0, at most 1.
    Share(Share),
    /// From 0 to just below 1.
    Memory(Memory),
    /// From 0 to 1000.
    Factor(Factor),
    /// Above 0, at most 1000.
    Step(Step),
    /// Above 0, at most 10⁹.
    Demand(Demand),
    /// Time, or not at all.
    OrOff(OrOff),
    /// One of several words.
    Word(&'static str),
    /// A whole number.
    Count(u32),
    /// Yes or no.
    Flag(bool),
    /// Whatever the mechanism can read.
    Text(String),
    /// Points of a function.
    Points(Points),
    /// One of several mechanisms: its place among them, and a value for each of its parameters.
    Chosen(usize, Vec<Value>),
    /// Several of those, in a row.
    Row(Vec<Value>),
    /// A list of tables: for each, a value for each of its parameters.
    Tables(Vec<Vec<Value>>),
    /// The mechanism does without.
    Unset,
}

/// What may stand for a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Bits per second.
    Rate,
    /// Time.
    Span,
    /// Size.
    Bytes,
    /// Packets, or size.
    QueueLength,
    /// Packets, also parts of one, or size.
    Tokens,
    /// Packets per second, or bits per second.
    TokenRate,
    /// From 0 to 1.
    Probability,
    /// Above 0, at most 1.
    Share,
    /// From 0 to just below 1.
    Memory,
    /// From 0 to 1000.
    Factor,
    /// Above 0, at most 1000.
    Step,
    /// Above 0, at most 10⁹.
    Demand,
    /// Time, or the word `off`.
    OrOff,
    /// One of these words, each with what it means.
    Word(&'static [(&'static str, &'static str)]),
    /// A whole number.
    Count {
        /// Smallest.
        min: u32,
        /// Largest.
        max: u32,
    },
    /// true or false.
    Flag,
    /// A text that the mechanism reads.
    Text,
    /// Points \[queue length in packets, probability\].
    Points,
    /// One of these mechanisms.
    Choice(Offer),
    /// Several of these mechanisms, in a row.
    Row(Offer),
    /// A list of tables, each with these parameters.
    Tables(Form),
}

/// What each table of a list has.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// What it is called in a scenario file's types.
    pub name: &'static str,
    /// What it says.
    pub about: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// What is wrong with the values of one, taken together.
    pub mistakes: fn(Vec<Value>) -> Vec<Mistake>,
}

/// The mechanisms of which one can be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// What it is called in a scenario file's types.
    pub name: &'static str,
    /// What is chosen.
    pub about: &'static str,
    /// Name, explanation and parameters of each.
    pub kinds: &'static [(&'static str, &'static str, &'static [Parameter])],
    /// What is wrong with the values, taken together, of the one in this place.
    pub mistakes: fn(usize, Vec<Value>) -> Vec<Mistake>,
}

impl Offer {
    /// Of this choice.
    pub const fn of<C: Choice>() -> Self {
        Offer {
            name: C::NAME,
            about: C::ABOUT,
            kinds: C::KINDS,
            mistakes: |place, values| C::from_values(place, values).mistakes(),
        }
    }
}

impl Kind {
    /// Its unit, for tables of parameters.
    pub const fn unit(self) -> &'static str {
        match self {
            Kind::Rate => "bit/s",
            Kind::Span => "s",
            Kind::Bytes => "B",
            Kind::QueueLength | Kind::Tokens => "packets or B",
            Kind::TokenRate => "packets/s or bit/s",
            Kind::Probability
            | Kind::Share
            | Kind::Memory
            | Kind::Factor
            | Kind::Step
            | Kind::Count { .. } => "1",
            Kind::Demand => "segments/s",
            Kind::OrOff => "s, or off",
            Kind::Word(_) | Kind::Choice(_) => "word",
            Kind::Row(_) | Kind::Tables(_) => "list",
            Kind::Flag => "true or false",
            Kind::Text => "text",
            Kind::Points => "[packets, probability], …",
        }
    }
}

/// The type of a parameter.
pub trait ParameterType: Clone {
    /// What may stand for it.
    const KIND: Kind;
    /// What it is where neither the file nor the declaration has a value.
    const WITHOUT_DEFAULT: DefaultValue = DefaultValue::Required;

    /// As a value.
    fn to_value(&self) -> Value;

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
            fn to_value(&self) -> Value {
                Value::$kind(self.clone())
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
    Probability => Probability;
    Share => Share;
    Memory => Memory;
    Factor => Factor;
    Step => Step;
    Demand => Demand;
    OrOff => OrOff;
    QueueLength => QueueLength;
    Tokens => Tokens;
    TokenRate => TokenRate;
    bool => Flag;
    String => Text;
    Points => Points;
}

/// Largest whole number where a declaration has no bounds of its own.
const MAX_COUNT: u32 = 1_000_000;

impl ParameterType for u32 {
    const KIND: Kind = Kind::Count { min: 0, max: MAX_COUNT };

    fn to_value(&self) -> Value {
        Value::Count(*self)
    }

    fn from_value(value: Value) -> Self {
        match value {
            Value::Count(count) => count,
            other => panic!("{other:?} is no count"),
        }
    }
}

impl<const MIN: u32, const MAX: u32> ParameterType for Whole<MIN, MAX> {
    const KIND: Kind = Kind::Count { min: MIN, max: MAX };

    fn to_value(&self) -> Value {
        Value::Count(self.0)
    }

    fn from_value(value: Value) -> Self {
        Whole(u32::from_value(value))
    }
}

/// What need not be set.
impl<T: ParameterType> ParameterType for Option<T> {
    const KIND: Kind = T::KIND;
    const WITHOUT_DEFAULT: DefaultValue = DefaultValue::Unset;

    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Unset, T::to_value)
    }

    fn from_value(value: Value) -> Self {
        (value != Value::Unset).then(|| T::from_value(value))
    }
}

/// A mechanism with parameters of its own.
impl<C: Choice> ParameterType for C {
    const KIND: Kind = Kind::Choice(Offer::of::<C>());

    fn to_value(&self) -> Value {
        let (place, values) = self.to_values();
        Value::Chosen(place, values)
    }

    fn from_value(value: Value) -> Self {
        match value {
            Value::Chosen(place, values) => C::from_values(place, values),
            other => panic!("{other:?} is no {}", C::NAME),
        }
    }
}

/// Mechanisms in a row.
impl<C: Choice> ParameterType for Vec<C> {
    const KIND: Kind = Kind::Row(Offer::of::<C>());

    fn to_value(&self) -> Value {
        Value::Row(self.iter().map(C::to_value).collect())
    }

    fn from_value(value: Value) -> Self {
        match value {
            Value::Row(all) => all.into_iter().map(C::from_value).collect(),
            other => panic!("{other:?} is no row"),
        }
    }
}

/// A list of tables that each have these parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables<P>(pub Vec<P>);

impl<P: Parameters> ParameterType for Tables<P> {
    const KIND: Kind = Kind::Tables(Form {
        name: P::TYPE_NAME,
        about: P::ABOUT,
        parameters: P::ALL,
        mistakes: |values| P::from_values(values).mistakes(),
    });

    fn to_value(&self) -> Value {
        Value::Tables(self.0.iter().map(P::to_values).collect())
    }

    fn from_value(value: Value) -> Self {
        match value {
            Value::Tables(all) => Tables(all.into_iter().map(P::from_values).collect()),
            other => panic!("{other:?} is no list of tables"),
        }
    }
}

/// What is wrong with parameters that are well-formed one by one: the key, and why.
pub type Mistake = (&'static str, String);

/// The times among these that are zero, where that makes no sense.
pub(crate) fn too_short(times: &[(&'static str, Span)]) -> Vec<Mistake> {
    let zero = times.iter().filter(|(_, time)| *time == Span::ZERO);
    zero.map(|(key, _)| (*key, "must be longer than 0 s".to_owned())).collect()
}

/// The parameters of a mechanism.
pub trait Parameters: Clone {
    /// What they are called in code.
    const TYPE_NAME: &'static str;
    /// What the mechanism does, for whoever sets it.
    const ABOUT: &'static str;
    /// What can be set.
    const ALL: &'static [Parameter];
    /// Keys that there once were, and what to write today.
    const RETIRED: &'static [(&'static str, &'static str)];

    /// From a value for each.
    fn from_values(values: Vec<Value>) -> Self;

    /// A value for each.
    fn to_values(&self) -> Vec<Value>;

    /// What is wrong with the values together.
    fn mistakes(&self) -> Vec<Mistake>;
}

/// One of several mechanisms, with its parameters.
pub trait Choice: Clone {
    /// What it is called in a scenario file's types.
    const NAME: &'static str;
    /// What is chosen.
    const ABOUT: &'static str;
    /// Name, explanation and parameters of all mechanisms.
    const KINDS: &'static [(&'static str, &'static str, &'static [Parameter])];

    /// The mechanism with this place in [`Choice::KINDS`], with a value for each parameter.
    fn from_values(kind: usize, values: Vec<Value>) -> Self;

    /// The mechanism's place, and a value for each parameter.
    fn to_values(&self) -> (usize, Vec<Value>);

    /// What is wrong with the values together.
    fn mistakes(&self) -> Vec<Mistake>;
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

        impl $name {
            /// As a scenario file has it.
            pub const fn word(self) -> &'static str {
                match self { $( $name::$variant => $word ),* }
            }
        }

        impl $crate::parameters::ParameterType for $name {
            const KIND: $crate::parameters::Kind =
                $crate::parameters::Kind::Word(&[$( ($word, concat!($($meaning),*)) ),*]);

            fn to_value(&self) -> $crate::parameters::Value {
                $crate::parameters::Value::Word(self.word())
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

/// Declares a choice: an enum of parameters, each with its name in scenario files. The first may be one
/// without parameters, with a comment instead.
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $about:literal])*
        pub enum $choice:ident as $what:ident {
            $( $(#[doc = $first_about:literal])+ $first:ident = $first_name:literal; )?
            $( $name:ident($params:ident) = $kind:expr; )+
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $choice {
            $( $(#[doc = $first_about])+ $first, )?
            $(#[doc = concat!("Of [`", stringify!($name), "`].")] $name($params),)+
        }

        impl $crate::parameters::Choice for $choice {
            const NAME: &'static str = stringify!($what);
            const ABOUT: &'static str = concat!($($about, "\n"),*);
            const KINDS: &'static [(
                &'static str,
                &'static str,
                &'static [$crate::registry::Parameter],
            )] = &[
                $( ($first_name, concat!($($first_about, "\n"),+), &[]), )?
                $((
                    $kind,
                    <$params as $crate::parameters::Parameters>::ABOUT,
                    <$params as $crate::parameters::Parameters>::ALL,
                )),+
            ];

            fn from_values(kind: usize, values: Vec<$crate::parameters::Value>) -> Self {
                use $crate::parameters::{Choice, Parameters};
                let kind = <Self as Choice>::KINDS[kind].0;
                $(if kind == $first_name {
                    return $choice::$first;
                })?
                $(if kind == $kind {
                    return $choice::$name(<$params as Parameters>::from_values(values));
                })+
                unreachable!("{kind} is one of the kinds")
            }

            fn to_values(&self) -> (usize, Vec<$crate::parameters::Value>) {
                use $crate::parameters::{Choice, Parameters};
                let (name, values) = match self {
                    $($choice::$first => ($first_name, Vec::new()),)?
                    $($choice::$name(params) => ($kind, Parameters::to_values(params)),)+
                };
                let place = <Self as Choice>::KINDS.iter().position(|kind| kind.0 == name);
                (place.expect("is one of the kinds"), values)
            }

            fn mistakes(&self) -> Vec<$crate::parameters::Mistake> {
                match self {
                    $($choice::$first => Vec::new(),)?
                    $($choice::$name(params) => $crate::parameters::Parameters::mistakes(params),)+
                }
            }
        }
    };
}

/// Declares what can be chosen in a place: a [`choice!`](crate::choice) of mechanisms, each described by
/// itself, as `trait`, and their entries in the registry.
macro_rules! choices {
    (
        $(#[doc = $about:literal])*
        pub enum $choice:ident as $what:ident in $room:ident by $trait:ident {
            $( $(#[doc = $first_about:literal])+ $first:ident = $first_name:literal; )?
            $( $name:ident($params:ident); )+
        }
    ) => {
        $crate::choice! {
            $(#[doc = $about])*
            pub enum $choice as $what {
                $( $(#[doc = $first_about])+ $first = $first_name; )?
                $( $name($params) = <$name as $trait>::ABOUT.name; )+
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
/// a scenario file would write it, or one for each profile in braces) or be an `Option`, and a function that finds mistakes (none, one or
/// several) in the values together. What is `retired` says of keys of before what to write today.
#[macro_export]
macro_rules! parameters {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident {
            $( $(#[doc = $meaning:literal])* pub $key:ident: $ty:ty $(= $default:tt)?, )*
        }
        $(check $check:path;)?
        $(retired { $($old:ident: $today:literal,)* })?
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $( $(#[doc = $meaning])* pub $key: $ty, )*
        }

        impl $crate::parameters::Parameters for $name {
            const TYPE_NAME: &'static str = stringify!($name);
            const ABOUT: &'static str = concat!($($about, "\n"),*);
            const ALL: &'static [$crate::registry::Parameter] = &[$(
                $crate::registry::Parameter {
                    name: stringify!($key),
                    default: $crate::default_value!($ty $(, $default)?),
                    unit: <$ty as $crate::parameters::ParameterType>::KIND.unit(),
                    meaning: concat!($($meaning),*),
                    kind: <$ty as $crate::parameters::ParameterType>::KIND,
                }
            ),*];
            const RETIRED: &'static [(&'static str, &'static str)] =
                &[$( $((stringify!($old), $today)),* )?];

            #[allow(unused_variables, unused_mut)]
            fn from_values(values: Vec<$crate::parameters::Value>) -> Self {
                let mut values = values.into_iter();
                let mut next = || values.next().expect("a value for each parameter");
                $name { $(
                    $key: <$ty as $crate::parameters::ParameterType>::from_value(next()),
                )* }
            }

            fn to_values(&self) -> Vec<$crate::parameters::Value> {
                vec![$( $crate::parameters::ParameterType::to_value(&self.$key) ),*]
            }

            #[allow(unused_mut)]
            fn mistakes(&self) -> Vec<$crate::parameters::Mistake> {
                let mut mistakes = Vec::new();
                $( mistakes.extend($check(self)); )?
                mistakes
            }
        }
    };
}

/// The default of a parameter; without one it has to be set, unless it is an `Option`.
#[doc(hidden)]
#[macro_export]
macro_rules! default_value {
    ($ty:ty) => {
        <$ty as $crate::parameters::ParameterType>::WITHOUT_DEFAULT
    };
    ($ty:ty, { linux: $linux:literal, classic: $classic:literal, linux_2_6_29: $old:literal }) => {
        $crate::registry::DefaultValue::ByProfile($crate::registry::ByProfile {
            linux: $linux,
            classic: $classic,
            linux_2_6_29: $old,
        })
    };
    ($ty:ty, $default:literal) => {
        $crate::registry::DefaultValue::Value($default)
    };
}
