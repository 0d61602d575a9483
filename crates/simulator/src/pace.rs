//! How long packets take on a link: its rate, which may change on the way.

use tidegate_mechanisms::units::{Bytes, Rate, Span, Time};
use tidegate_scenario::plan::{LinkPlan, RateChangePlan};

/// The rate of a link over time. Times of transmissions never go back.
pub struct Pace {
    rate: Rate,
    /// The rate holds for transmissions that begin before this.
    until: Time,
    /// What comes then, if anything; apart, because links should stay small.
    changes: Option<Box<Changes>>,
    /// Transmission time of the length seen last: most packets have one of two.
    cached: (u16, Span),
}

/// Rates to come, last first.
struct Changes(Vec<RateChangePlan>);

impl Changes {
    fn next(&self) -> Time {
        self.0.last().map_or(Time::NEVER, |change| change.at)
    }
}

impl Pace {
    /// The pace of a link as planned.
    pub fn new(plan: &LinkPlan) -> Self {
        let mut pace =
            Pace { rate: plan.rate, until: Time::NEVER, changes: None, cached: (0, Span::ZERO) };
        if !plan.rate_changes.is_empty() {
            let changes = Changes(plan.rate_changes.iter().rev().copied().collect());
            pace.until = changes.next();
            pace.changes = Some(Box::new(changes));
        }
        pace
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
        let changes = self.changes.as_mut().expect("there is a next change");
        while let Some(change) = changes.0.pop_if(|change| change.at <= start) {
            self.rate = change.rate;
        }
        self.until = changes.next();
        self.cached = (0, Span::ZERO);
    }
}
