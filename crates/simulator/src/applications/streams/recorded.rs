//! Video source that replays frame sizes from a user's file.

use tidegate_scenario::plan::FrameSizes;

use crate::random::Stream;

/// Replay of a file in a loop.
pub struct Recorded {
    sizes: FrameSizes,
    next: usize,
}

impl Recorded {
    /// Returns a replay that begins at a random frame.
    pub fn somewhere(sizes: FrameSizes, random: &mut Stream) -> Self {
        let last = sizes.bytes().len() as u64 - 1;
        Recorded { next: random.up_to(last) as usize, sizes }
    }

    /// Whether the next frame is a full one, coded without reference to others.
    pub fn is_at_full_frame(&self) -> bool {
        self.sizes.is_full(self.next)
    }

    /// Returns the size of the next frame, bytes.
    pub fn next(&mut self) -> f64 {
        let bytes = self.sizes.bytes()[self.next];
        self.next = (self.next + 1) % self.sizes.bytes().len();
        f64::from(bytes)
    }
}
