//! Numbers of packets, as a text has them: `3, 10-12`.

use std::sync::Arc;

use crate::parameters::{Kind, ParameterType, ParameterValue};

/// Ranges of packets' numbers, ascending. Copies share what was read.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketNumbers {
    text: String,
    ranges: Arc<[(u64, u64)]>,
    error: Option<String>,
}

impl PacketNumbers {
    /// Reads numbers and ranges of them, from 1 on, separated by commas.
    pub fn read(text: &str) -> Self {
        let number = |text: &str| text.trim().parse::<u64>().ok().filter(|number| *number > 0);
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            number(first).zip(number(last)).filter(|(first, last)| first <= last)
        };
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        let error = match &ranges {
            None => Some("expected numbers and ranges of packets from 1 on, such as \"3, 10-12\""),
            Some(ranges) if ranges.windows(2).any(|pair| pair[1].0 <= pair[0].1) => {
                Some("numbers must ascend")
            }
            Some(_) => None,
        };
        let (text, error) = (text.to_owned(), error.map(str::to_owned));
        PacketNumbers { text, ranges: ranges.unwrap_or_default().into(), error }
    }

    /// What is wrong with them.
    pub fn error(&self) -> Option<&String> {
        self.error.as_ref()
    }

    /// First and last number of each range.
    pub fn ranges(&self) -> &Arc<[(u64, u64)]> {
        &self.ranges
    }
}

impl ParameterType for PacketNumbers {
    const KIND: Kind = Kind::Text;

    fn to_value(&self) -> ParameterValue {
        ParameterValue::Text(self.text.clone())
    }

    fn from_value(value: ParameterValue) -> Self {
        match value {
            ParameterValue::Text(text) => PacketNumbers::read(&text),
            other => panic!("{other:?} is no text"),
        }
    }
}
