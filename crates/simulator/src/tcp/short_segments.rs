//! Partial segments. They are few: the last of a connection, and of each pushed write. Both ends therefore count
//! segments, and list the bytes that partial ones lack.

/// Partial segments, ascending, and the bytes that each lacks. Connections without any pay one pointer.
#[derive(Clone, Debug, Default)]
pub struct ShortSegments {
    #[allow(clippy::box_collection)]
    list: Option<Box<Vec<(u64, u16)>>>,
}

impl ShortSegments {
    /// Adds a segment with `missing_bytes` less than a full one, unless it is known.
    #[cold]
    pub fn note(&mut self, segment: u64, missing_bytes: u16) {
        let list = self.list.get_or_insert_default();
        let place = list.partition_point(|&(known, _)| known < segment);
        if list.get(place).is_none_or(|&(known, _)| known != segment) {
            list.insert(place, (segment, missing_bytes));
        }
    }

    /// Whether all segments are full.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.as_ref().is_none_or(|list| list.is_empty())
    }

    /// Iterates over all partial segments.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (u64, u16)> {
        self.list.iter().flat_map(|list| list.iter().copied())
    }

    /// Returns the number of bytes that a segment lacks to a full one.
    #[inline]
    pub fn missing_bytes(&self, segment: u64) -> u16 {
        let Some(list) = &self.list else { return 0 };
        let found = list.iter().find(|(known, _)| *known == segment);
        found.map_or(0, |(_, missing)| *missing)
    }

    /// Removes the segments below `end`. Returns the total of bytes that they lacked.
    #[cold]
    pub fn release(&mut self, end: u64) -> u64 {
        let Some(list) = &mut self.list else { return 0 };
        let below = list.partition_point(|&(segment, _)| segment < end);
        list.drain(..below).map(|(_, missing)| u64::from(missing)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_counted_once_and_in_order() {
        let mut short = ShortSegments::default();
        for (segment, missing) in [(9, 100), (4, 1_000), (9, 100), (6, 10)] {
            short.note(segment, missing);
        }
        assert_eq!([4, 5, 9].map(|segment| short.missing_bytes(segment)), [1_000, 0, 100]);
        assert_eq!([4, 7, 7, 20].map(|end| short.release(end)), [0, 1_010, 0, 100]);
    }
}
