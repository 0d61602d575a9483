//! Rows of a time and a value, below a header with their units.

use tidegate_mechanisms::units::Span;

use super::rows;

/// A quantity of a column: its name, and its units with their size in steps.
pub(super) struct Column {
    pub name: &'static str,
    pub units: &'static [(&'static str, f64)],
    /// Largest value, in steps.
    pub most: f64,
    pub example: &'static str,
}

const TIME: Column = Column {
    name: "time",
    units: &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)],
    // Includes times since 1970.
    most: 1e19,
    example: "time_s",
};

impl Column {
    /// Returns the size of a unit in steps, by a column name such as `time_s`.
    fn unit(&self, head: &str) -> Option<f64> {
        let unit = head.trim().strip_prefix(self.name)?.strip_prefix('_')?;
        self.units.iter().find(|(name, _)| *name == unit).map(|(_, steps)| *steps)
    }

    /// Parses a value. Errors do not quote it: the file may be another one with confidential content.
    fn read(&self, text: &str, unit: f64) -> Result<f64, String> {
        let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
        let Some(value) = value else { return Err(format!("no number for the {}", self.name)) };
        if value < 0.0 {
            return Err(format!("a {} is not negative", self.name));
        }
        if value * unit > self.most {
            return Err(format!("a {} beyond any sense", self.name));
        }
        Ok(value * unit)
    }
}

/// A value from a time on, in nanoseconds and steps.
pub(super) type Row = (u64, u64);

/// Parses rows with times from 0 on, with equal neighbours merged, and their total length.
pub(super) fn read(text: &str, values: &Column) -> Result<(Vec<Row>, Span), Vec<String>> {
    let mut rows = rows(text);
    let head = rows.next().and_then(|(_, row)| row.split_once(','));
    let units = head.and_then(|(time, value)| TIME.unit(time).zip(values.unit(value)));
    let Some((time_unit, value_unit)) = units else {
        return Err(vec![format!(
            "line 1: write a head with the units of both columns, such as {},{}",
            TIME.example, values.example
        )]);
    };
    let (mut errors, mut read) = (Vec::new(), Vec::<Row>::new());
    let (mut start, mut last) = (None, None::<f64>);
    for (number, row) in rows {
        let row = row.split_once(',').ok_or_else(|| "not a time and a value".to_owned());
        let row = row.and_then(|(time, value)| {
            Ok((TIME.read(time, time_unit)?, values.read(value, value_unit)?))
        });
        let row = row.and_then(|(time, value)| {
            let from = (time - *start.get_or_insert(time)).round();
            match last.replace(from).is_some_and(|last| from <= last) {
                true => Err("its time is not after that of the row before".to_owned()),
                false => Ok((from as u64, value.round() as u64)),
            }
        });
        match row {
            Ok(row) => read.push(row),
            Err(message) => errors.push(format!("line {number}: {message}")),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let [.., (last, _)] = read[..] else {
        return Err(vec!["has no rows: write a time and a value in each line".to_owned()]);
    };
    let before = read.len().checked_sub(2).map(|place| read[place].0);
    let holds = before.map_or(1_000_000_000, |before| last - before);
    read.dedup_by_key(|(_, value)| *value);
    Ok((read, Span::from_nanos(last.saturating_add(holds))))
}
