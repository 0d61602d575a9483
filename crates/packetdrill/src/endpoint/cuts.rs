//! Division of a byte stream into segments: the simulator numbers segments, packets number bytes.

/// Ends of the segments, ascending, in bytes from the start of the stream.
#[derive(Clone, Debug, Default)]
pub struct Cuts {
    ends: Vec<u64>,
}

/// Error: a script divides a stream at other bytes when it retransmits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resegmented;

impl Cuts {
    /// Returns the number of segments.
    pub fn count(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Returns the end of the last segment.
    pub fn end(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Returns the end of the first `segments` segments, or of all if there are fewer.
    pub fn end_of(&self, segments: u64) -> u64 {
        match usize::try_from(segments).ok().and_then(|n| n.checked_sub(1)) {
            None => 0,
            Some(last) => self.ends.get(last).copied().unwrap_or(self.end()),
        }
    }

    /// Returns the length of a segment, bytes.
    pub fn len_of(&self, segment: u64) -> u64 {
        self.end_of(segment + 1) - self.end_of(segment)
    }

    /// Returns the number of segments that end at or before `byte`.
    pub fn whole_by(&self, byte: u64) -> u64 {
        self.ends.partition_point(|end| *end <= byte) as u64
    }

    /// Returns the range of segments that lie completely within the bytes `start..end`.
    pub fn within(&self, start: u64, end: u64) -> (u64, u64) {
        let first =
            if start == 0 { 0 } else { self.ends.partition_point(|end| *end < start) as u64 + 1 };
        (first, self.whole_by(end))
    }

    /// Appends a segment of `bytes` bytes.
    pub fn push(&mut self, bytes: u64) {
        self.ends.push(self.end() + bytes);
    }

    /// Returns the range of segments that consists of the bytes `start..end`. Missing bytes before them are divided
    /// into segments of the same length.
    ///
    /// # Errors
    ///
    /// Fails if the bytes do not begin and end at segment boundaries.
    pub fn covering(&mut self, start: u64, end: u64) -> Result<(u64, u64), Resegmented> {
        let step = end.saturating_sub(start).max(1);
        // A gap of more segments than this is a sequence number of another connection.
        if start.saturating_sub(self.end()) / step > 100_000 {
            return Err(Resegmented);
        }
        while self.end() < start {
            self.push(step.min(start - self.end()));
        }
        if self.end() < end {
            self.push(end - self.end());
        }
        let (first, last) = (self.whole_by(start), self.whole_by(end));
        let fits = self.end_of(first) == start && self.end_of(last) == end;
        if fits { Ok((first, last)) } else { Err(Resegmented) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(lens: &[u64]) -> Cuts {
        let mut cuts = Cuts::default();
        lens.iter().for_each(|len| cuts.push(*len));
        cuts
    }

    #[test]
    fn a_block_covers_the_segments_that_lie_in_it_as_a_whole() {
        let cuts = cuts(&[1000, 1000, 500]);
        for ((start, end), segments) in [
            ((0, 1000), (0, 1)),
            ((1000, 2500), (1, 3)),
            ((1, 2500), (1, 3)),
            ((1999, 2499), (2, 2)),
            ((2499, 2500), (3, 3)),
        ] {
            assert_eq!(cuts.within(start, end), segments, "{start}..{end}");
        }
        assert_eq!(cuts.whole_by(1999), 1);
    }

    #[test]
    fn what_is_missing_before_a_segment_is_cut_as_that_one() {
        let mut cuts = Cuts::default();
        assert_eq!(cuts.covering(2500, 3500), Ok((3, 4)));
        assert_eq!(cuts.covering(0, 1000), Ok((0, 1)));
        assert_eq!(cuts.covering(1000, 2500), Ok((1, 3)), "both pieces at once");
        assert_eq!(cuts.covering(500, 1500), Err(Resegmented));
        assert_eq!(cuts.covering(u64::MAX - 9, u64::MAX), Err(Resegmented));
    }
}
