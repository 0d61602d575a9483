//! What the gateway of a site knows of its path: all flows of a user group share it.

use tidegate_mechanisms::units::{Share, Time};

use super::streams::feedback::averaged;

/// The gateway of a site, as far as it remembers anything.
#[derive(Debug, Default)]
pub struct Site {
    price: Option<(f64, Time)>,
}

impl Site {
    /// One of the site's flows was told a price of the path, which has this weight among all that any of them are told.
    pub fn learn(&mut self, price: f64, weight: Share, now: Time) {
        let mean = self.price.map(|(mean, _)| mean);
        self.price = Some((averaged(mean, price, weight.0), now));
    }

    /// The mean price of the path, and when somebody was told of it last; `None` before anybody was.
    pub fn price(&self) -> Option<(f64, Time)> {
        self.price
    }
}
