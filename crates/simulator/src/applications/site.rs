//! What all flows of a user group share: the knowledge of their site's gateway about its path, and the block of transfers
//! that they have in progress.

use tidegate_mechanisms::units::{Share, Span, Time};

use super::streams::feedback::averaged;

/// State of a site's gateway.
#[derive(Debug, Default)]
pub struct Site {
    price: Option<(f64, Time)>,
    /// Transfers with a barrier.
    pub(super) block: Block,
}

/// Progress of a block: the transfers between two barriers.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Start of the first of its transfers.
    start: Option<Time>,
    /// Transfers that have finished.
    finished: usize,
    /// Number of blocks that have ended, the duration of the last, and when the next begins.
    pub ended: u64,
    pub took: Span,
    pub next: Option<Time>,
}

impl Block {
    /// Notes the start of a transfer.
    pub fn begin(&mut self, now: Time) {
        self.start.get_or_insert(now);
    }

    /// Notes the end of a transfer. Returns the duration of the block if it was the last of so many.
    pub fn finish(&mut self, flows: usize, now: Time) -> Option<Span> {
        self.finished += 1;
        if self.finished < flows {
            return None;
        }
        self.finished = 0;
        self.ended += 1;
        self.took = now - self.start.take()?;
        Some(self.took)
    }
}

impl Site {
    /// Takes a price of the path reported to one of the site's flows; `weight` is its weight in the moving average.
    pub fn learn(&mut self, price: f64, weight: Share, now: Time) {
        let mean = self.price.map(|(mean, _)| mean);
        self.price = Some((averaged(mean, price, weight.0), now));
    }

    /// Returns the mean price of the path and the time of the last report; `None` before the first.
    pub fn price(&self) -> Option<(f64, Time)> {
        self.price
    }
}
