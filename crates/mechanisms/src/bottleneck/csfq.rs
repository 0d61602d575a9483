//! CSFQ, core-stateless fair queueing: packets of a customer are dropped at arrival with a probability that increases
//! with the customer's rate above the fair share, so that each gets at most the fair share. I. Stoica, S. Shenker and
//! H. Zhang, "Core-Stateless Fair Queueing", ACM SIGCOMM 1998 and IEEE/ACM ToN 11(1), 2003; the paper's pseudo-code,
//! with its amendment for buffer overflows.
//!
//! In the paper, edge routers measure the rate r of each flow and label its packets with it; core routers keep no flow
//! state, only labels and their own fair share α. Here edge and core are one queue, and rates are measured per
//! customer. With T since its last packet of length l:
//!
//! ```text
//! r ← (1 − e^(−T/K)) l/T + e^(−T/K) r         the label; r + l/K for T = 0
//! p = max(0, 1 − α/r)                          drop probability
//! A, F                                         as r with K_α: rate arriving, rate let through
//! α ← α C/F                                    A ≥ C, once per K_c, at most C
//! α ← the largest label                        A < C for K_c, once per K_c
//! α ← 0.99 α                                   packet lost to a full buffer
//! ```
//!
//! Between two other changes, full buffers reduce α by at most 25 %.
//!
//! A signal is always a drop, since a mark would not reduce a rate. Not specified by the paper: α begins at the link's
//! rate C; a customer's first packet counts as one with T = 0; the packet that ends a period of K_c counts for the
//! largest label of that period. A packet lost to a full buffer counts as forwarded, as in the pseudo-code. All
//! customers have the same weight, and labels are not passed on to the next link, which measures again.

use super::{Arrival, ManageQueue, Place};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::{ParameterError, too_short};
use crate::units::{Bytes, Rate, Span, Time};

parameters! {
    /// Core-stateless fair queueing: packets of customers whose rate exceeds the fair share are
    /// dropped at arrival, the more the higher their rate.
    pub struct CsfqParams {
        /// Time K over which a customer's rate is averaged.
        pub averaging: Span = "100 ms",
        /// Time K_α over which the rates A and F that arrive and pass are averaged.
        pub link_averaging: Span = "200 ms",
        /// Time K_c between two changes of the fair share.
        pub window: Span = "200 ms",
    }
    check takes_time;
}

fn takes_time(params: &CsfqParams) -> Vec<ParameterError> {
    let CsfqParams { averaging, link_averaging, window } = *params;
    too_short(&[("averaging", averaging), ("link_averaging", link_averaging), ("window", window)])
}

/// Number of overflows, at 1 % each, after which α has been reduced by 25 %.
const MOST_OVERFLOWS: u32 = 28;

/// Exponential average of a rate.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    bps: f64,
    last: Option<Time>,
}

impl Average {
    /// Adds `len`, and returns the rate.
    #[inline]
    fn add(&mut self, now: Time, len: Bytes, constant: Span) -> f64 {
        let elapsed = self.last.map_or(Span::ZERO, |last| now - last);
        let (t, k, bits) = (elapsed.as_secs(), constant.as_secs(), len.as_bits() as f64);
        self.last = Some(now);
        self.bps = if elapsed == Span::ZERO {
            self.bps + bits / k
        } else {
            // 1 − e^(−T/K), without cancellation for a short T.
            let fresh = -libm::expm1(-t / k);
            fresh * bits / t + (1.0 - fresh) * self.bps
        };
        self.bps
    }
}

/// State of one CSFQ link.
#[derive(Clone, Debug)]
pub struct Csfq {
    params: CsfqParams,
    /// Link rate C.
    rate: Rate,
    /// Rate r of each customer seen.
    customers: Vec<Average>,
    /// Arrival rate A.
    arriving: Average,
    /// Rate of accepted packets F.
    let_through: Average,
    /// Fair share α, bit/s.
    fair_share: f64,
    congested: bool,
    /// Start of the present period of K_c.
    since: Time,
    largest_label: f64,
    /// Overflows since the last other change of α.
    overflows: u32,
    /// Packet being judged.
    judged: (Time, Bytes, f64),
}

impl ManageQueue for Csfq {
    type Params = CsfqParams;

    const ABOUT: About = About {
        name: "csfq",
        title: "Core-stateless fair queueing (CSFQ)",
        source: "Stoica, Shenker and Zhang, IEEE/ACM ToN 11(1), 2003",
        usage: r#"bottleneck.aqm = { kind = "csfq" }"#,
        file: "bottleneck/csfq.rs",
        text: crate::mechanism::source_text!("csfq.rs"),
    };

    const UNDIFFERENTIATED: Option<&'static str> = Some("csfq distinguishes customers by itself");

    fn new(params: CsfqParams, place: &Place) -> Result<Self, ParameterError> {
        let rate = place.rate;
        Ok(Csfq {
            params,
            rate,
            customers: Vec::new(),
            arriving: Average::default(),
            let_through: Average::default(),
            fair_share: rate.as_bps() as f64,
            congested: false,
            since: Time::ZERO,
            largest_label: 0.0,
            overflows: 0,
            judged: (Time::ZERO, Bytes::ZERO, 0.0),
        })
    }

    #[inline(never)]
    fn probability(&mut self, arrival: &Arrival) -> f64 {
        let Arrival { now, len, user, .. } = *arrival;
        let index = user as usize;
        if index >= self.customers.len() {
            self.customers.resize(index + 1, Average::default());
        }
        let label = self.customers[index].add(now, len, self.params.averaging);
        self.judged = (now, len, label);
        (1.0 - self.fair_share / label).max(0.0)
    }

    /// Updates α.
    #[inline]
    fn on_verdict(&mut self, dropped: bool) {
        let (now, len, label) = self.judged;
        let CsfqParams { link_averaging, window, .. } = self.params;
        let arriving = self.arriving.add(now, len, link_averaging);
        if !dropped {
            self.let_through.add(now, len, link_averaging);
        }
        let capacity = self.rate.as_bps() as f64;
        let congested = arriving >= capacity;
        if congested != self.congested {
            (self.congested, self.since, self.largest_label) = (congested, now, 0.0);
        }
        self.largest_label = self.largest_label.max(label);
        if now.since(self.since) <= window {
            return;
        }
        let share = if congested {
            (self.fair_share * capacity / self.let_through.bps).min(capacity)
        } else {
            self.largest_label
        };
        (self.fair_share, self.since, self.largest_label, self.overflows) = (share, now, 0.0, 0);
    }

    #[inline]
    fn on_overflow(&mut self) {
        if self.overflows < MOST_OVERFLOWS {
            self.overflows += 1;
            self.fair_share *= 0.99;
        }
    }

    /// A mark would not reduce a customer's rate.
    #[inline]
    fn is_forced(&self) -> bool {
        true
    }

    fn state_bytes(&self) -> usize {
        let given = size_of::<CsfqParams>() + size_of::<Rate>();
        let link = size_of::<Self>() - given - size_of::<Vec<Average>>();
        link + self.customers.len() * size_of::<Average>()
    }
}

impl Csfq {
    /// Returns α, bit/s.
    pub fn fair_share_bps(&self) -> f64 {
        self.fair_share
    }
}

#[cfg(test)]
#[path = "csfq_tests.rs"]
mod tests;
