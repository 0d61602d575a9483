//! A rate over time.

use std::sync::Arc;

use tidegate_mechanisms::parameters::{Kind, ParameterType, ParameterValue};
use tidegate_mechanisms::units::{Rate, Span, Time};

use super::csv::{self, Column};
use super::{Reading, TraceFormat, UNREAD, checked, is_file_name, rows};

/// Number of bits of an opportunity in Mahimahi's format.
const OPPORTUNITY_BITS: u64 = 1500 * 8;

const RATE: Column = Column {
    name: "rate",
    units: &[("bps", 1.0), ("kbps", 1e3), ("mbps", 1e6), ("gbps", 1e9)],
    most: 1e12,
    example: "rate_mbps",
};

/// A rate from some time on, and the bits that a continuously sending link has sent before.
#[derive(Clone, Debug, PartialEq)]
pub struct RateStep {
    /// Start of the step.
    pub from: Time,
    /// Rate, bits per second; 0 in an outage.
    pub rate_bps: u64,
    /// Bits sent before, in 10⁻⁹ bit.
    pub sent_before: u128,
    /// Sending time before.
    pub sending_before: Span,
}

impl RateStep {
    /// Returns the first step, at the beginning of a run.
    pub const fn first(rate_bps: u64) -> Self {
        RateStep { from: Time::ZERO, rate_bps, sent_before: 0, sending_before: Span::ZERO }
    }

    /// Returns the next step, which begins at `from`.
    pub fn followed_by(&self, from: Time, rate_bps: u64) -> Self {
        let (sent_before, sending_before) = (self.sent_at(from), self.sending_at(from));
        RateStep { from, rate_bps, sent_before, sending_before }
    }

    /// Returns the bits sent up to a time in this step, in 10⁻⁹ bit.
    pub fn sent_at(&self, at: Time) -> u128 {
        let elapsed = u128::from(at.since(self.from).as_nanos());
        self.sent_before + u128::from(self.rate_bps) * elapsed
    }

    /// Returns the sending time up to a time in this step.
    pub fn sending_at(&self, at: Time) -> Span {
        match self.rate_bps {
            0 => self.sending_before,
            _ => self.sending_before + at.since(self.from),
        }
    }
}

/// A rate over time. Copies share the parsed data.
#[derive(Clone, Debug, PartialEq)]
pub struct RateTrace(Arc<Reading<RateStep>>);

impl RateTrace {
    /// Parses a trace in Mahimahi's format, or as CSV.
    pub fn read(text: &str) -> Self {
        let is_csv = rows(text).next().is_some_and(|(_, row)| row.contains(','));
        let format = if is_csv { TraceFormat::Csv } else { TraceFormat::Mahimahi };
        let read = match format {
            _ if is_file_name(text) => Err(vec![UNREAD.to_owned()]),
            TraceFormat::Csv => csv::read(text, &RATE),
            TraceFormat::Mahimahi => opportunities(text),
        };
        let read = read.and_then(|(rows, length)| {
            let steps = cumulated(&rows);
            if steps.iter().all(|step| step.rate_bps == 0) {
                return Err(vec!["its rate is 0 all the time".to_owned()]);
            }
            checked(steps, length)
        });
        RateTrace(Reading::new(text, format, read).into())
    }

    /// Returns the errors, by line.
    pub fn errors(&self) -> &[String] {
        &self.0.errors
    }

    /// Returns the format of the text.
    pub fn format(&self) -> TraceFormat {
        self.0.format
    }

    /// Returns the rates, from time 0 on.
    pub fn steps(&self) -> &Arc<[RateStep]> {
        &self.0.steps
    }

    /// Returns the length of the trace.
    pub fn length(&self) -> Span {
        self.0.length
    }

    /// Returns the bits sent in the whole trace, in 10⁻⁹ bit, and the sending time.
    pub fn whole(&self) -> (u128, Span) {
        let end = Time::ZERO + self.length();
        self.steps()
            .last()
            .map_or((0, Span::ZERO), |last| (last.sent_at(end), last.sending_at(end)))
    }

    /// Returns the mean rate, at least 1 b/s.
    pub fn mean(&self) -> Rate {
        let length = u128::from(self.length().as_nanos().max(1));
        let bps = (self.whole().0 + length / 2) / length;
        Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1))
    }

    /// Returns the maximum rate.
    pub fn highest(&self) -> Rate {
        let bps = self.steps().iter().map(|step| step.rate_bps).max();
        Rate::from_bps(bps.unwrap_or(1))
    }
}

fn cumulated(rows: &[csv::Row]) -> Vec<RateStep> {
    let mut steps = Vec::<RateStep>::with_capacity(rows.len());
    for &(from, rate_bps) in rows {
        let next = match steps.last() {
            None => RateStep::first(rate_bps),
            Some(last) => last.followed_by(Time::from_nanos(from), rate_bps),
        };
        steps.push(next);
    }
    steps
}

/// Parses opportunities into rates per millisecond.
fn opportunities(text: &str) -> Result<(Vec<csv::Row>, Span), Vec<String>> {
    let (mut errors, mut counts) = (Vec::new(), Vec::<(u64, u64)>::new());
    for (number, row) in rows(text) {
        let wrong = match row.parse::<u64>() {
            Err(_) => {
                "no time: write a whole number of milliseconds, or a CSV with a head such as \
                       time_s,rate_mbps"
            }
            Ok(at) if at > u64::MAX / 1_000_000 => "a time beyond any sense",
            Ok(at) => match counts.last_mut() {
                Some((last, count)) if *last == at => {
                    *count += 1;
                    continue;
                }
                Some((last, _)) if *last > at => "its time is before that of the line before",
                _ => {
                    counts.push((at, 1));
                    continue;
                }
            },
        };
        errors.push(format!("line {number}: {wrong}"));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    match counts[..] {
        [] => {
            let message = "has no lines: write the time of each opportunity to deliver 1500 bytes, in milliseconds";
            return Err(vec![message.to_owned()]);
        }
        [(0, _)] => return Err(vec!["its last time, which is its length, is 0 ms".to_owned()]),
        [(0, first), (1, _), ..] => {
            counts[1].1 += first;
            counts.remove(0);
        }
        [(0, _), ..] => counts[0].0 = 1,
        _ => {}
    }
    let mut rates = Vec::<(u64, u64)>::new();
    let mut push = |ms: u64, rate: u64| {
        if rates.last().is_none_or(|(_, last)| *last != rate) {
            rates.push((ms * 1_000_000, rate));
        }
    };
    let mut ended = 0;
    for &(at, count) in &counts {
        if at - 1 > ended {
            push(ended, 0);
        }
        push(at - 1, count.saturating_mul(OPPORTUNITY_BITS * 1000));
        ended = at;
    }
    Ok((rates, Span::from_millis(ended)))
}

impl ParameterType for RateTrace {
    const KIND: Kind = Kind::Text;

    fn to_value(&self) -> ParameterValue {
        ParameterValue::Text(self.0.text.clone())
    }

    fn from_value(value: ParameterValue) -> Self {
        match value {
            ParameterValue::Text(text) => RateTrace::read(&text),
            other => panic!("{other:?} is no text"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(trace: &RateTrace) -> Vec<(u64, u64)> {
        assert_eq!(trace.errors(), [""; 0]);
        let step = |step: &RateStep| (step.from.as_nanos() / 1_000, step.rate_bps / 1_000);
        trace.steps().iter().map(step).collect()
    }

    #[test]
    fn opportunities_of_a_millisecond_are_its_rate() {
        let trace = RateTrace::read("0\n1\n1\n4\n5\n# a pause\n9\n9\n");
        assert_eq!(trace.format(), TraceFormat::Mahimahi);
        let want = [(0, 36_000), (1_000, 0), (3_000, 12_000), (5_000, 0), (8_000, 24_000)];
        assert_eq!(steps(&trace), want);
        assert_eq!(trace.length(), Span::from_millis(9));
        assert_eq!(trace.whole(), (7 * 12_000 * 1_000_000_000, Span::from_millis(4)));
        assert_eq!(trace.mean().as_bps(), 9_333_333);
        assert_eq!(steps(&RateTrace::read("0\n2\n")), [(0, 12_000)]);
    }

    #[test]
    fn a_row_holds_until_the_next_and_the_last_as_long_as_the_one_before() {
        let trace =
            RateTrace::read("time_s,rate_mbps\n1500000000.5,8\n1500000001.5,8\n1500000003.5,0.5\n");
        assert_eq!(steps(&trace), [(0, 8_000), (3_000_000, 500)]);
        assert_eq!(trace.length(), Span::from_secs(5));
        assert_eq!(trace.mean().as_bps(), 5_000_000);
        let one = RateTrace::read("time_ms,rate_kbps\n0,64\n");
        assert_eq!((steps(&one), one.length()), (vec![(0, 64)], Span::from_secs(1)));
    }

    #[test]
    fn an_invalid_trace_is_reported_with_its_lines() {
        let errors = |text: &str| RateTrace::read(text).errors().join("; ");
        assert_eq!(
            errors("5\nx\n3\n"),
            "line 2: no time: write a whole number of milliseconds, or a CSV with a head \
            such as time_s,rate_mbps; line 3: its time is before that of the line before"
        );
        assert!(errors("\n").starts_with("has no lines"));
        assert!(errors("0\n0\n").contains("0 ms"));
        assert!(errors("trace.down").contains("was not read"));
        assert!(errors("9999999999999\n").contains("longer than any run"));
        assert!(errors("time,rate\n0,1\n").contains("such as time_s,rate_mbps"));
        let rows = "time_s,rate_mbps\n0,1\n0,2\n1,-1\n2,x\n3\n4,1e30\n";
        assert_eq!(
            errors(rows),
            "line 3: its time is not after that of the row before; line 4: a rate is not negative; \
            line 5: no number for the rate; line 6: not a time and a value; line 7: a rate beyond any sense"
        );
        assert!(errors("time_s,rate_mbps\n").starts_with("has no rows"));
        assert!(errors("time_s,rate_mbps\n0,0\n1,0\n").contains("0 all the time"));
        assert_eq!(RateTrace::read(&"x\n".repeat(13)).errors().len(), 11);
    }
}
