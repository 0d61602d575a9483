//! On/off traffic.

use tidegate_mechanisms::parameters;
use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{Rate, Span};

use super::{TrafficParams, Variation};

parameters! {
    /// Alternates between on and off. While on, TCP always has data to send, on a new connection each time;
    /// with a rate it is UDP instead.
    pub struct OnOff {
        /// Mean duration of on.
        pub on: Span,
        /// Mean duration of off.
        pub off: Span,
        /// Distribution of both durations.
        pub distribution: Variation = "exponential",
        /// Sends UDP in packets of full size: bits on the wire per second while on.
        pub rate: Option<Rate>,
    }
    check takes_time;
}

fn takes_time(times: &OnOff) -> Vec<ParameterError> {
    let times = [("on", times.on), ("off", times.off)];
    let none = times.into_iter().filter(|(_, span)| *span == Span::ZERO);
    none.map(|(key, _)| (key, "must not be zero".to_owned())).collect()
}

impl TrafficParams for OnOff {
    fn is_over_tcp(&self) -> bool {
        self.rate.is_none()
    }
}
