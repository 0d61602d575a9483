//! The rate and the delay of a link: constant, or from a trace.

use tidegate_mechanisms::parameters;
use tidegate_mechanisms::parameters::{
    Kind, Nested, ParameterError, ParameterType, ParameterValue, Parameters,
};
use tidegate_mechanisms::units::{Rate, Span};

use crate::trace::{DelayTrace, RateTrace};

parameters! {
    /// A rate that follows a trace. AQM, scheduler and models know its mean.
    pub struct TracedRate {
        /// Name of a file, seen from the scenario's: in Mahimahi's format (a line for each 1500 bytes that can be
        /// delivered, with the time in milliseconds), or a CSV with a head such as time_s,rate_mbps. A rate of 0 is
        /// an outage. Or the trace itself, in several lines.
        pub trace: RateTrace,
        /// Whether it starts over at its end; otherwise its mean stays.
        pub repeat: bool = "true",
    }
    check rate_errors;
}

fn rate_errors(own: &TracedRate) -> Vec<ParameterError> {
    own.trace.errors().iter().map(|error| ("trace", error.clone())).collect()
}

parameters! {
    /// A delay that follows a trace.
    pub struct TracedDelay {
        /// Name of a file, seen from the scenario's: a CSV with a head such as time_s,delay_ms. Or the trace itself, in
        /// several lines.
        pub trace: DelayTrace,
        /// Whether it starts over at its end; otherwise the last delay stays.
        pub repeat: bool = "true",
    }
    check delay_errors;
}

fn delay_errors(own: &TracedDelay) -> Vec<ParameterError> {
    own.trace.errors().iter().map(|error| ("trace", error.clone())).collect()
}

/// Rate of a link.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkRate {
    /// Constant, except for configured changes.
    Constant(Rate),
    /// From a trace.
    Traced(TracedRate),
}

/// Delay of a link.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkDelay {
    /// Constant.
    Constant(Span),
    /// From a trace.
    Traced(TracedDelay),
}

impl LinkRate {
    /// Returns the rate, or the mean of its trace.
    pub fn nominal(&self) -> Rate {
        match self {
            LinkRate::Constant(rate) => *rate,
            LinkRate::Traced(own) => own.trace.mean(),
        }
    }

    /// Returns the trace, if the rate follows one.
    pub fn traced(&self) -> Option<&TracedRate> {
        match self {
            LinkRate::Constant(_) => None,
            LinkRate::Traced(own) => Some(own),
        }
    }
}

impl LinkDelay {
    /// Returns the delay, or the minimum of its trace.
    pub fn nominal(&self) -> Span {
        match self {
            LinkDelay::Constant(delay) => *delay,
            LinkDelay::Traced(own) => own.trace.shortest(),
        }
    }

    /// Returns the trace, if the delay follows one.
    pub fn traced(&self) -> Option<&TracedDelay> {
        match self {
            LinkDelay::Constant(_) => None,
            LinkDelay::Traced(own) => Some(own),
        }
    }
}

/// Declares a plain quantity, or a table with a trace.
macro_rules! plain_or_traced {
    ($name:ident: $plain:ident, $traced:ident) => {
        impl ParameterType for $name {
            const KIND: Kind = Kind::PlainOrTable {
                plain: &<$plain as ParameterType>::KIND,
                table: &<Nested<$traced> as ParameterType>::KIND,
            };

            fn to_value(&self) -> ParameterValue {
                match self {
                    $name::Constant(plain) => plain.to_value(),
                    $name::Traced(own) => ParameterValue::Nested(own.to_values()),
                }
            }

            fn from_value(value: ParameterValue) -> Self {
                match value {
                    ParameterValue::Nested(values) => $name::Traced($traced::from_values(values)),
                    plain => $name::Constant($plain::from_value(plain)),
                }
            }
        }
    };
}

plain_or_traced!(LinkRate: Rate, TracedRate);
plain_or_traced!(LinkDelay: Span, TracedDelay);
