//! A video as its frames' sizes, from a file of somebody's own.

use tidegate_scenario::plan::FrameSizes;

use crate::random::Stream;

/// A video of a file that is being sent, again and again.
pub struct Recorded {
    sizes: FrameSizes,
    next: usize,
}

impl Recorded {
    /// One that begins somewhere in its middle.
    pub fn somewhere(sizes: FrameSizes, random: &mut Stream) -> Self {
        let last = sizes.bytes().len() as u64 - 1;
        Recorded { next: random.up_to(last) as usize, sizes }
    }

    /// Whether the next frame is a full one, which says all of its picture.
    pub fn is_at_full_frame(&self) -> bool {
        self.sizes.is_full(self.next)
    }

    /// Bytes of the next frame.
    pub fn next(&mut self) -> f64 {
        let bytes = self.sizes.bytes()[self.next];
        self.next = (self.next + 1) % self.sizes.bytes().len();
        f64::from(bytes)
    }
}
