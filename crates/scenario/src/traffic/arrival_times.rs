//! Times of arrivals, as CSV: a line for each, with its time in seconds.

use std::sync::Arc;

use tidegate_mechanisms::parameters::{Kind, ParameterType, ParameterValue};
use tidegate_mechanisms::units::Span;

/// Maximum number of arrivals in a file.
const MAX_ARRIVALS: usize = 10_000_000;
/// Maximum time, above that of the longest run.
const MAX_S: f64 = 70_000.0;

/// Times of arrivals, ascending. Copies share the data.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrivalTimes(Arc<Listed>);

#[derive(Debug, PartialEq)]
struct Listed {
    text: String,
    times: Vec<Span>,
    error: Option<String>,
}

impl ArrivalTimes {
    /// Reads a time in seconds in each line; `#` begins a comment, and the first line may be the head `time_s`.
    pub fn read(text: &str) -> Self {
        let (times, error) = match read_times(text) {
            Ok(times) => (times, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        ArrivalTimes(Arc::new(Listed { text: text.to_owned(), times, error }))
    }

    /// Returns the times, ascending.
    pub fn times(&self) -> &[Span] {
        &self.0.times
    }

    /// Returns what is wrong with the text.
    pub fn error(&self) -> Option<&str> {
        self.0.error.as_deref()
    }
}

/// An invalid time is not quoted: the file may be a different one, with private contents.
fn read_times(text: &str) -> Result<Vec<Span>, String> {
    if !text.contains('\n') {
        let message = "is the name of a file that was not read; from a text, write the times, in several lines";
        return Err(message.to_owned());
    }
    let mut times: Vec<Span> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let row = line.split('#').next().unwrap_or_default().trim();
        if row.is_empty() || times.is_empty() && row == "time_s" {
            continue;
        }
        let at = |message: &str| format!("line {}: {message}", number + 1);
        let Ok(time_s) = row.parse::<f64>() else {
            return Err(at("no time: write an arrival's time in seconds, such as 0.25"));
        };
        if !(0.0..=MAX_S).contains(&time_s) {
            return Err(at("a time is not negative, and at most 70000 s"));
        }
        let time = Span::from_secs_f64(time_s);
        if times.last().is_some_and(|last| time < *last) {
            return Err(at("times ascend"));
        }
        if times.len() == MAX_ARRIVALS {
            return Err(format!("has more than {MAX_ARRIVALS} arrivals"));
        }
        times.push(time);
    }
    if times.is_empty() {
        return Err("has no arrivals: write a time in seconds in each line".to_owned());
    }
    Ok(times)
}

impl ParameterType for ArrivalTimes {
    const KIND: Kind = Kind::Text;

    fn to_value(&self) -> ParameterValue {
        ParameterValue::Text(self.0.text.clone())
    }

    fn from_value(value: ParameterValue) -> Self {
        match value {
            ParameterValue::Text(text) => ArrivalTimes::read(&text),
            other => panic!("{other:?} is no text"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_an_arrival() {
        let arrivals = ArrivalTimes::read("time_s\n0\n0.25 # two at once\n0.25\n\n3e0\n");
        assert_eq!(arrivals.error(), None);
        let ms = [0, 250, 250, 3000].map(Span::from_millis);
        assert_eq!(arrivals.times(), ms);
    }

    #[test]
    fn times_that_are_none_are_reported_with_their_line() {
        for (text, error) in [
            ("a.csv", "is the name of a file that was not read"),
            ("time_s\n", "has no arrivals"),
            ("1\nsoon\n", "line 2: no time"),
            ("1\n-1\n", "line 2: a time is not negative"),
            ("1\n0.5\n", "line 2: times ascend"),
        ] {
            let got = ArrivalTimes::read(text).error().expect("an error").to_owned();
            assert!(got.starts_with(error), "{text:?}: {got}");
        }
    }
}
