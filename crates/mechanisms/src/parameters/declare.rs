//! Macros that declare parameters, words and choices.

/// Declares an enum of words, each with its meaning.
#[macro_export]
macro_rules! words {
    ($(#[doc = $about:literal])* pub enum $name:ident {
        $( $(#[doc = $meaning:literal])* $variant:ident = $word:literal, )*
    }) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $( $(#[doc = $meaning])* $variant, )* }

        impl $name {
            /// Returns the word as in a scenario file.
            pub const fn word(self) -> &'static str {
                match self { $( $name::$variant => $word ),* }
            }
        }

        impl $crate::parameters::ParameterType for $name {
            const KIND: $crate::parameters::Kind =
                $crate::parameters::Kind::Word(&[$( ($word, concat!($($meaning),*)) ),*]);

            fn to_value(&self) -> $crate::parameters::ParameterValue {
                $crate::parameters::ParameterValue::Word(self.word())
            }

            fn from_value(value: $crate::parameters::ParameterValue) -> Self {
                match value {
                    $( $crate::parameters::ParameterValue::Word($word) => $name::$variant, )*
                    other => panic!("{other:?} is none of the words"),
                }
            }
        }
    };
}

/// Declares a choice: an enum of parameters, each with its name in scenario files. The first variants may have no
/// parameters, with a comment instead.
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $about:literal])*
        pub enum $choice:ident as $what:ident {
            $( $(#[doc = $first_about:literal])+ $first:ident = $first_name:literal; )*
            $( $name:ident($params:ident) = $kind:expr; )+
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $choice {
            $( $(#[doc = $first_about])+ $first, )*
            $(#[doc = concat!("Of [`", stringify!($name), "`].")] $name($params),)+
        }

        impl $crate::parameters::Choice for $choice {
            const NAME: &'static str = stringify!($what);
            const ABOUT: &'static str = concat!($($about, "\n"),*);
            const KINDS: &'static [(
                &'static str,
                &'static str,
                &'static [$crate::parameters::Parameter],
            )] = &[
                $( ($first_name, concat!($($first_about, "\n"),+), &[]), )*
                $((
                    $kind,
                    <$params as $crate::parameters::Parameters>::ABOUT,
                    <$params as $crate::parameters::Parameters>::ALL,
                )),+
            ];

            fn from_values(kind: usize, values: Vec<$crate::parameters::ParameterValue>) -> Self {
                use $crate::parameters::{Choice, Parameters};
                let kind = <Self as Choice>::KINDS[kind].0;
                $(if kind == $first_name {
                    return $choice::$first;
                })*
                $(if kind == $kind {
                    return $choice::$name(<$params as Parameters>::from_values(values));
                })+
                unreachable!("{kind} is one of the kinds")
            }

            fn to_values(&self) -> (usize, Vec<$crate::parameters::ParameterValue>) {
                use $crate::parameters::{Choice, Parameters};
                let (name, values) = match self {
                    $($choice::$first => ($first_name, Vec::new()),)*
                    $($choice::$name(params) => ($kind, Parameters::to_values(params)),)+
                };
                let place = <Self as Choice>::KINDS.iter().position(|kind| kind.0 == name);
                (place.expect("is one of the kinds"), values)
            }

            fn errors(&self) -> Vec<$crate::parameters::ParameterError> {
                match self {
                    $($choice::$first => Vec::new(),)*
                    $($choice::$name(params) => $crate::parameters::Parameters::errors(params),)+
                }
            }
        }
    };
}

/// Declares the choice at a place: a [`choice!`](crate::choice) of mechanisms, each described by its `trait`
/// implementation, and their entries in the registry.
macro_rules! choices {
    (
        $(#[doc = $about:literal])*
        pub enum $choice:ident as $what:ident in $category:ident by $trait:ident {
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

        /// Registry entries of all of them.
        pub const ALL: &[$crate::mechanism::Mechanism] = &[$(
            $crate::mechanism::Mechanism::declared(
                $crate::mechanism::Category::$category,
                <$name as $trait>::ABOUT,
                <$params as $crate::parameters::Parameters>::ALL,
            )
        ),+];
    };
}
pub(crate) use choices;

/// Declares the parameters of a mechanism: a documented struct, whose fields may have a default (as in a scenario file,
/// or one for each profile in braces) or be an `Option`, and a function that returns the errors (none, one or several)
/// of the values together. `retired` lists former keys with their replacements.
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
            const ALL: &'static [$crate::parameters::Parameter] = &[$(
                $crate::parameters::Parameter {
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
            fn from_values(values: Vec<$crate::parameters::ParameterValue>) -> Self {
                let mut values = values.into_iter();
                let mut next = || values.next().expect("a value for each parameter");
                $name { $(
                    $key: <$ty as $crate::parameters::ParameterType>::from_value(next()),
                )* }
            }

            fn to_values(&self) -> Vec<$crate::parameters::ParameterValue> {
                vec![$( $crate::parameters::ParameterType::to_value(&self.$key) ),*]
            }

            #[allow(unused_mut)]
            fn errors(&self) -> Vec<$crate::parameters::ParameterError> {
                let mut errors = Vec::new();
                $( errors.extend($check(self)); )?
                errors
            }
        }
    };
}

/// Returns the default of a parameter; without one it is required, unless it is an `Option`.
#[doc(hidden)]
#[macro_export]
macro_rules! default_value {
    ($ty:ty) => {
        <$ty as $crate::parameters::ParameterType>::WITHOUT_DEFAULT
    };
    ($ty:ty, { linux: $linux:literal, classic: $classic:literal, linux_2_6_29: $old:literal }) => {
        $crate::parameters::DefaultValue::ByProfile($crate::parameters::ByProfile {
            linux: $linux,
            classic: $classic,
            linux_2_6_29: $old,
        })
    };
    ($ty:ty, $default:literal) => {
        $crate::parameters::DefaultValue::Value($default)
    };
}
