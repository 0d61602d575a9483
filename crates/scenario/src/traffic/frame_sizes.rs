//! Frame sizes of a user's video, as CSV: a line per frame, with its bytes and optionally its kind.

use std::sync::Arc;

use tidegate_mechanisms::parameters::{Kind, ParameterType, ParameterValue};

/// Maximum frame in a UDP datagram over IPv4 with the RTP header, bytes.
pub const LARGEST_FRAME_BYTES: u32 = 65_495;
/// Distance of full frames if kinds are not given.
const GROUP: usize = 12;
/// Maximum number of errors reported separately.
const MAX_ERRORS: usize = 10;

/// Frame sizes of a user's video. Copies share the data.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameSizes(Arc<Trace>);

#[derive(Debug, Default, PartialEq)]
struct Trace {
    text: String,
    bytes: Vec<u32>,
    is_full: Vec<bool>,
    errors: Vec<String>,
}

impl FrameSizes {
    /// Reads lines such as `5120` or `5120,I`; `#` begins a comment, and the first line may be the header `bytes` or
    /// `bytes,kind`.
    pub fn read(text: &str) -> Self {
        let mut trace = Trace { text: text.to_owned(), ..Trace::default() };
        for (number, line) in text.lines().enumerate() {
            let row = line.split('#').next().unwrap_or_default();
            let is_head = trace.bytes.is_empty() && row.trim_start().starts_with("bytes");
            if !row.trim().is_empty() && !is_head {
                trace.read_list(number + 1, row);
            }
        }
        if trace.bytes.is_empty() && trace.errors.is_empty() {
            trace.errors.push("has no rows: write a frame's bytes in each line".to_owned());
        }
        let more = trace.errors.len().saturating_sub(MAX_ERRORS);
        if more > 0 {
            trace.errors.truncate(MAX_ERRORS);
            trace.errors.push(format!("and {more} more lines that are no frames"));
        }
        FrameSizes(Arc::new(trace))
    }

    /// Returns the size of each frame without headers, bytes.
    pub fn bytes(&self) -> &[u32] {
        &self.0.bytes
    }

    /// Whether a frame is coded without reference to others.
    pub fn is_full(&self, frame: usize) -> bool {
        self.0.is_full[frame]
    }

    /// Returns the mean size, bytes.
    pub fn mean(&self) -> f64 {
        let sum: f64 = self.bytes().iter().map(|&bytes| f64::from(bytes)).sum();
        sum / self.bytes().len() as f64
    }

    /// Returns the errors, each with its line.
    pub fn errors(&self) -> &[String] {
        &self.0.errors
    }
}

impl Trace {
    fn read_list(&mut self, line: usize, row: &str) {
        let (size, kind) = row.split_once(',').map_or((row, None), |(a, b)| (a, Some(b)));
        let column = |text: &str, start: usize| start + text.len() - text.trim_start().len() + 1;
        let size_at = format!("line {line}, column {}", column(size, 0));
        let bytes = match read_size(size.trim()) {
            Ok(bytes) => bytes,
            Err(why) => return self.errors.push(format!("{size_at}: {why}")),
        };
        let is_full = match kind.map(str::trim) {
            None => self.bytes.len().is_multiple_of(GROUP),
            Some("I") => true,
            Some("P" | "B") => false,
            Some(_) => {
                let at = column(kind.unwrap_or_default(), size.len() + 1);
                let what = "no kind of frame: write I, P or B";
                return self.errors.push(format!("line {line}, column {at}: {what}"));
            }
        };
        self.bytes.push(bytes);
        self.is_full.push(is_full);
    }
}

/// An invalid size is not quoted: the file may be a different one, with private contents.
fn read_size(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Err(_) => Err("no size: write a frame's bytes, such as 5120".to_owned()),
        Ok(bytes) if bytes < 0 => Err("a size is not negative".to_owned()),
        Ok(bytes) if bytes > i64::from(LARGEST_FRAME_BYTES) => Err(format!(
            "does not go into a datagram of 64 KiB, which has room for {LARGEST_FRAME_BYTES} B"
        )),
        Ok(bytes) => Ok(bytes as u32),
    }
}

impl ParameterType for FrameSizes {
    const KIND: Kind = Kind::Text;

    fn to_value(&self) -> ParameterValue {
        ParameterValue::Text(self.0.text.clone())
    }

    fn from_value(value: ParameterValue) -> Self {
        match value {
            ParameterValue::Text(text) => FrameSizes::read(&text),
            other => panic!("{other:?} is no text"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_a_line_with_its_bytes() {
        let trace = FrameSizes::read("bytes,kind\n5120,I\n# a scene\n 800 , P\n\n0,B");
        assert_eq!(trace.errors(), [""; 0]);
        assert_eq!(trace.bytes(), [5120, 800, 0]);
        assert_eq!([0, 1, 2].map(|frame| trace.is_full(frame)), [true, false, false]);
        assert!((trace.mean() - 5920.0 / 3.0).abs() < 1e-9);
        let plain = FrameSizes::read(&"10\n".repeat(25));
        let full: Vec<usize> = (0..25).filter(|&frame| plain.is_full(frame)).collect();
        assert_eq!(full, [0, 12, 24]);
    }

    #[test]
    fn an_invalid_frame_is_reported_with_its_line_and_column() {
        let trace = FrameSizes::read("10\n  ten\n-5\n70000,I\n12, Q\n12,I");
        assert_eq!(
            trace.errors(),
            [
                "line 2, column 3: no size: write a frame's bytes, such as 5120",
                "line 3, column 1: a size is not negative",
                "line 4, column 1: does not go into a datagram of 64 KiB, which has room for 65495 B",
                "line 5, column 5: no kind of frame: write I, P or B",
            ]
        );
        for nothing in ["", "bytes\n", "# nobody\n\n"] {
            let errors = FrameSizes::read(nothing);
            assert_eq!(errors.errors(), ["has no rows: write a frame's bytes in each line"]);
        }
        let many = FrameSizes::read(&"x\n".repeat(13));
        assert_eq!(many.errors().len(), 11);
        assert_eq!(many.errors()[10], "and 3 more lines that are no frames");
    }
}
