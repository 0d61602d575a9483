//! On and off in turn.

use tidegate_mechanisms::parameters;
use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{Rate, Span};

use super::{Application, Distribution};

parameters! {
    /// On and off in turn. While it is on, TCP always has data to send, each time on a connection of its
    /// own; with a rate it is UDP.
    pub struct OnOff {
        /// How long it is on, on average.
        pub on: Span,
        /// How long it is off, on average.
        pub off: Span,
        /// Distribution of both around their means.
        pub distribution: Distribution = "exponential",
        /// UDP in full packets: bits on the wire per second while it is on.
        pub rate: Option<Rate>,
    }
    check takes_time;
}

fn takes_time(times: &OnOff) -> Vec<ParameterError> {
    let times = [("on", times.on), ("off", times.off)];
    let none = times.into_iter().filter(|(_, span)| *span == Span::ZERO);
    none.map(|(key, _)| (key, "must not be zero".to_owned())).collect()
}

impl Application for OnOff {
    fn is_over_tcp(&self) -> bool {
        self.rate.is_none()
    }
}
