//! How long packets take on a link: its rate, which may change on the way.

use tidegate_mechanisms::units::{Bytes, Rate, Span, Time};
use tidegate_scenario::plan::{LinkPlan, RateChangePlan};

/// The rate of a link over time. Times of transmissions never go back.
pub struct Pace {
    rate: Rate,
    /// The rate holds for transmissions that begin before this.
    until: Time,
    /// What comes then, last first.
    changes: Vec<RateChangePlan>,
    /// Transmission time of the length seen last: most packets have one of two.
    cached: (u16, Span),
}

impl Pace {
    /// The pace of a link as planned.
    pub fn new(plan: &LinkPlan) -> Self {
        let changes: Vec<_> = plan.rate_changes.iter().rev().copied().collect();
        let until = changes.last().map_or(Time::NEVER, |change| change.at);
        Pace { rate: plan.rate, until, changes, cached: (0, Span::ZERO) }
    }

    /// How long `len` bytes take from `start` on.
    #[inline(always)]
    pub fn transmission_time(&mut self, len: u16, start: Time) -> Span {
        if start >= self.until {
            self.change(start);
        }
        if self.cached.0 != len {
            self.cached = (len, self.rate.transmission_time(Bytes::new(len.into())));
        }
        self.cached.1
    }

    #[cold]
    fn change(&mut self, start: Time) {
        while let Some(change) = self.changes.pop_if(|change| change.at <= start) {
            self.rate = change.rate;
        }
        self.until = self.changes.last().map_or(Time::NEVER, |change| change.at);
        self.cached = (0, Span::ZERO);
    }
}
