//! AQM-fed congestion policing (AFCP): a policer that charges a customer for each packet with the AQM's signal
//! probability for it, whether the packet is then dropped or not. D. P. Wagner, "Congestion Policing Queues", 2014,
//! section IV-B and figure 5.
//!
//! ```text
//! drain = size · p                p = the AQM's probability for this packet
//! forward to the queue            only if f ≥ drain
//! f ← f − drain                   a: for each forwarded packet
//!                                 b: unless the AQM drops or marks it
//! ```
//!
//! The AQM is unchanged and drops some of the forwarded packets. On average, p adds up to one packet per signal, for
//! any spacing of an AQM's signals.
//!
//! Not specified by the paper: the AQM averages over all arriving packets, including those that the policer drops,
//! since each needs a probability.

use super::token_bucket::bucket_of;
use super::{Aqm, Arrival, Differentiate, Signal, TokenBuckets};
use crate::mechanism::About;
use crate::parameters::ParameterError;
use crate::token_bucket::Credit;
use crate::units::{Bytes, Rate};
use crate::{parameters, words};

parameters! {
    /// AQM-fed congestion policing: each packet costs its size times the AQM's probability, and packets of a customer
    /// with an empty bucket are dropped in front of the queue.
    pub struct AfcpParams {
        /// r: fill rate, the sustained congestion that each customer is entitled to.
        pub fill_rate: Rate = "300 B/s",
        /// d: bucket depth of each customer.
        pub depth: Bytes = "225 kB",
        /// Forwarded packets that are charged.
        pub variant: Charged = "a",
    }
    check bucket_fits;
}

bucket_of! { AfcpParams }

words! {
    /// Forwarded packets that are charged.
    pub enum Charged {
        /// All.
        All = "a",
        /// Packets that the AQM then neither drops nor marks.
        Passed = "b",
    }
}

/// Policers of all customers.
#[derive(Clone, Debug)]
pub struct Afcp {
    charges_signalled: bool,
    buckets: TokenBuckets,
}

impl Differentiate for Afcp {
    type Params = AfcpParams;

    const ABOUT: About = About {
        name: "afcp",
        title: "AQM-fed congestion policing (AFCP)",
        source: "Wagner, Congestion Policing Queues, section IV-B",
        usage: r#"bottleneck.differentiation = { kind = "afcp", variant = "a" }"#,
        file: "bottleneck/afcp.rs",
        text: crate::mechanism::source_text!("afcp.rs"),
    };

    /// Returns policers with full buckets.
    fn new(params: AfcpParams) -> Self {
        let buckets = TokenBuckets::new(params.bucket());
        Afcp { charges_signalled: params.variant == Charged::All, buckets }
    }

    #[inline(never)]
    fn signal(&mut self, aqm: &mut Aqm, arrival: &Arrival, draw: impl FnMut() -> f64) -> Signal {
        let p = aqm.probability(arrival);
        if !self.forwards(arrival, p) {
            return Signal::Policed { may_mark: false };
        }
        let signal = aqm.signal(p, draw);
        self.on_verdict(arrival, p, signal.is_some());
        signal
    }

    fn validate(params: &AfcpParams, packet: Bytes) -> Option<ParameterError> {
        params.bucket().validate(packet)
    }

    fn state_bytes(&self) -> usize {
        self.buckets.state_bytes()
    }
}

impl Afcp {
    /// Whether the policer forwards this packet to the queue, whose AQM signals with probability `p`.
    #[inline]
    pub fn forwards(&mut self, arrival: &Arrival, p: f64) -> bool {
        p <= 0.0 || self.buckets.fill(arrival.user, arrival.now) >= drain(arrival, p)
    }

    /// Charges a packet that was forwarded.
    #[inline]
    pub fn on_verdict(&mut self, arrival: &Arrival, p: f64, signalled: bool) {
        if self.charges_signalled || !signalled {
            self.buckets.charge(arrival, p);
        }
    }
}

/// Returns the charge size · p.
#[inline]
fn drain(arrival: &Arrival, p: f64) -> Credit {
    Credit::of(arrival.len).share(p)
}

#[cfg(test)]
mod tests {
    use super::super::tests::arrival_of;
    use super::*;
    use crate::units::Time;
    use proptest::prelude::*;

    fn afcp(variant: Charged) -> Afcp {
        let (fill_rate, depth) = (Rate::from_bps(8 * 300), Bytes::new(225_000));
        Afcp::new(AfcpParams { fill_rate, depth, variant })
    }

    fn left(afcp: &mut Afcp) -> f64 {
        afcp.buckets.fill(0, Time::ZERO).as_bytes()
    }

    #[test]
    fn a_forwarded_packet_costs_its_size_times_the_probability() {
        let mut afcp = afcp(Charged::All);
        for (p, want) in [(0.0, 225_000.0), (0.1, 224_850.0), (1.0, 223_350.0)] {
            assert!(afcp.forwards(&arrival_of(0, 0), p));
            afcp.on_verdict(&arrival_of(0, 0), p, false);
            assert!((left(&mut afcp) - want).abs() < 1e-6);
        }
    }

    #[test]
    fn variant_b_does_not_charge_what_the_aqm_drops() {
        for (variant, want) in [(Charged::All, 224_850.0), (Charged::Passed, 225_000.0)] {
            let mut afcp = afcp(variant);
            afcp.on_verdict(&arrival_of(0, 0), 0.1, true);
            assert!((left(&mut afcp) - want).abs() < 1e-6);
        }
    }

    /// An empty bucket blocks packets only while the AQM has a positive probability.
    #[test]
    fn an_empty_bucket_stops_packets_only_while_there_is_congestion() {
        let mut afcp = afcp(Charged::All);
        afcp.buckets.drain(0, Time::ZERO, Credit::of(Bytes::new(225_000)));
        assert!(!afcp.forwards(&arrival_of(0, 0), 1e-9));
        assert!(afcp.forwards(&arrival_of(0, 0), 0.0));
        // 1500 B · 0.01 = 15 B have been filled in after 50 ms at 300 B/s.
        assert!(!afcp.forwards(&arrival_of(0, 49), 0.01));
        assert!(afcp.forwards(&arrival_of(0, 50), 0.01));
    }

    proptest! {
        /// At a constant probability, a greedy customer gets the rate that the fill rate pays for: r/p.
        #[test]
        fn in_the_long_run_the_rate_is_the_fill_rate_over_p(p in 0.002..0.5f64) {
            let mut afcp = afcp(Charged::All);
            afcp.buckets.drain(0, Time::ZERO, Credit::of(Bytes::new(225_000)));
            let (mut forwarded, seconds) = (0u64, 60);
            for ms in 0..seconds * 1000 {
                let arrival = arrival_of(0, ms); // 1.5 MB/s, ten times the largest r/p
                if afcp.forwards(&arrival, p) {
                    afcp.on_verdict(&arrival, p, false);
                    forwarded += 1;
                }
            }
            let paid = 300.0 * seconds as f64 / (1500.0 * p);
            prop_assert!((forwarded as f64 - paid).abs() <= 2.0, "{forwarded} for {paid}");
        }
    }
}
