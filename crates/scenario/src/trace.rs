//! Traces of a link: its rate or its delay over time, as text.
//!
//! Two formats are read. **Mahimahi's** has a line for each opportunity to deliver 1500 bytes, with its time in whole
//! milliseconds, ascending; several lines may have the same time, and the last one is the length of the trace
//! (R. Netravali et al., "Mahimahi: accurate record-and-replay for HTTP", USENIX ATC 2015; `mm-link(1)`). Here the
//! opportunities of a millisecond become a rate: n of them at time t are n · 12 Mb/s in the millisecond that ends at t,
//! and those at 0 belong to the first. **CSV** has a head that names the units, such as `time_s,rate_mbps` or
//! `time_ms,delay_ms`, and rows whose value holds from their time to the next row's. Times count from the first row,
//! and the last row holds for as long as the one before it. In both, `#` begins a comment.

mod csv;
mod delay;
mod rate;

use std::sync::Arc;

pub use delay::DelayTrace;
pub use rate::{RateStep, RateTrace};

use tidegate_mechanisms::units::{NANOS_PER_SEC, Span};

/// Format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// A line for each opportunity to deliver 1500 bytes.
    Mahimahi,
    /// Rows of a time and a value.
    Csv,
}

/// Maximum number of changes in a trace; each takes memory for the lifetime of the network.
pub const MAX_CHANGES: usize = 1_000_000;

/// Maximum number of errors reported individually.
const MAX_ERRORS: usize = 10;

/// Maximum length of a trace, above that of the longest run.
const MAX_LENGTH: Span = Span::from_secs(70_000);

/// Result of parsing a text: changes of a value, or errors with their lines.
#[derive(Debug, PartialEq)]
struct Reading<S> {
    text: String,
    format: TraceFormat,
    steps: Arc<[S]>,
    length: Span,
    errors: Vec<String>,
}

impl<S> Reading<S> {
    fn new(text: &str, format: TraceFormat, read: Result<(Vec<S>, Span), Vec<String>>) -> Self {
        let (steps, length, mut errors) = match read {
            Ok((steps, length)) => (steps, length, Vec::new()),
            Err(errors) => (Vec::new(), Span::ZERO, errors),
        };
        let more = errors.len().saturating_sub(MAX_ERRORS);
        if more > 0 {
            errors.truncate(MAX_ERRORS);
            errors.push(format!("and {more} more lines that are wrong"));
        }
        Reading { text: text.to_owned(), format, steps: steps.into(), length, errors }
    }
}

/// Whether a text is the name of a file with the trace, and not the trace itself, which has at least one line.
pub(crate) fn is_file_name(text: &str) -> bool {
    !text.contains('\n')
}

const UNREAD: &str = "is the name of a file that was not read; from a text, write the trace itself";

/// Returns the non-empty lines with their numbers.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(number, line)| {
        let row = line.split('#').next().unwrap_or_default().trim();
        (!row.is_empty()).then_some((number + 1, row))
    })
}

/// Checks the length of a trace and the number of its changes.
fn checked<S>(steps: Vec<S>, length: Span) -> Result<(Vec<S>, Span), Vec<String>> {
    if length > MAX_LENGTH {
        let hours = length.as_nanos() / (3600 * NANOS_PER_SEC);
        return Err(vec![format!(
            "lasts for more than {hours} h, longer than any run: are the times in the unit that is meant?"
        )]);
    }
    if steps.len() > MAX_CHANGES {
        return Err(vec![format!("changes {} times; at most {MAX_CHANGES}", steps.len())]);
    }
    Ok((steps, length))
}
