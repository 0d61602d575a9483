//! A delay over time.

use std::sync::Arc;

use tidegate_mechanisms::parameters::{Kind, ParameterType, ParameterValue};
use tidegate_mechanisms::units::{Span, Time};

use super::csv::{self, Column};
use super::{Reading, TraceFormat, UNREAD, checked, is_file_name};

const DELAY: Column = Column {
    name: "delay",
    units: &[("s", 1e9), ("ms", 1e6), ("us", 1e3)],
    most: 3600e9,
    example: "delay_ms",
};

/// A delay over time. Copies share the parsed data.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayTrace(Arc<Reading<(Time, Span)>>);

impl DelayTrace {
    /// Parses a CSV such as `time_s,delay_ms`.
    pub fn read(text: &str) -> Self {
        let read = match is_file_name(text) {
            true => Err(vec![UNREAD.to_owned()]),
            false => csv::read(text, &DELAY),
        };
        let read = read.and_then(|(rows, length)| {
            let step =
                |(from, delay): (u64, u64)| (Time::from_nanos(from), Span::from_nanos(delay));
            checked(rows.into_iter().map(step).collect(), length)
        });
        DelayTrace(Reading::new(text, TraceFormat::Csv, read).into())
    }

    /// Returns the errors, by line.
    pub fn errors(&self) -> &[String] {
        &self.0.errors
    }

    /// Returns the delays, from time 0 on.
    pub fn steps(&self) -> &Arc<[(Time, Span)]> {
        &self.0.steps
    }

    /// Returns the length of the trace.
    pub fn length(&self) -> Span {
        self.0.length
    }

    /// Returns the minimum delay.
    pub fn shortest(&self) -> Span {
        self.steps().iter().map(|(_, delay)| *delay).min().unwrap_or(Span::ZERO)
    }
}

impl ParameterType for DelayTrace {
    const KIND: Kind = Kind::Text;

    fn to_value(&self) -> ParameterValue {
        ParameterValue::Text(self.0.text.clone())
    }

    fn from_value(value: ParameterValue) -> Self {
        match value {
            ParameterValue::Text(text) => DelayTrace::read(&text),
            other => panic!("{other:?} is no text"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_holds_until_the_next_row() {
        let trace = DelayTrace::read("time_s,delay_ms # a handover\n0,20\n15,35.5\n30,20\n");
        assert_eq!(trace.errors(), [""; 0]);
        let ms =
            |&(from, delay): &(Time, Span)| (from.as_nanos() / 1_000_000, delay.as_nanos() / 1_000);
        let steps: Vec<_> = trace.steps().iter().map(ms).collect();
        assert_eq!(steps, [(0, 20_000), (15_000, 35_500), (30_000, 20_000)]);
        assert_eq!(
            (trace.length(), trace.shortest()),
            (Span::from_secs(45), Span::from_millis(20))
        );
    }

    #[test]
    fn a_rate_is_no_delay() {
        let errors = |text: &str| DelayTrace::read(text).errors().join("; ");
        assert!(errors("1\n2\n").contains("such as time_s,delay_ms"));
        assert!(errors("time_s,rate_mbps\n0,1\n").contains("such as time_s,delay_ms"));
        assert!(errors("time_s,delay_s\n0,4000\n").contains("beyond any sense"));
        assert!(errors("handovers.csv").contains("was not read"));
    }
}
