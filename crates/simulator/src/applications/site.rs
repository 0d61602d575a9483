//! Knowledge of a site's gateway about its path, shared by all flows of a user group.

use tidegate_mechanisms::units::{Share, Time};

use super::streams::feedback::averaged;

/// State of a site's gateway.
#[derive(Debug, Default)]
pub struct Site {
    price: Option<(f64, Time)>,
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
