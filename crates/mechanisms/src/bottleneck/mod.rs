//! Mechanisms at a bottleneck: a signal (how congested) and a differentiation (whose packets get it).
//!
//! An [`Aqm`] says *how congested* the queue is, as a probability p. A [`Differentiation`] says *whose packet* gets the
//! signal, by turning p into the probability of a given packet. Any differentiation works on any AQM; [`Judge`]
//! combines the two and draws the verdict. The queue decides whether a signal is a mark or a drop.

pub mod abc;
pub mod adaptive_red;
pub mod afcp;
pub mod aicp_a;
pub mod aicp_b;
pub mod aqm;
pub mod cobalt;
pub mod codel;
pub mod csfq;
pub mod differentiation;
mod drop_tail;
pub mod icp;
pub mod pc1;
pub mod pc2;
pub mod pc3;
pub mod pi2;
pub mod pie;
pub mod piecewise_linear;
pub mod red;
pub mod sampled_price;
pub mod sbrm_queue;
pub mod scheduler;
pub mod token_bucket;
pub mod virtual_queue;

pub use abc::{Abc, AbcParams};
pub use adaptive_red::{AdaptiveRed, AdaptiveRedParams};
pub use afcp::{Afcp, AfcpParams, Charged};
pub use aicp_a::{AicpA, AicpAParams, Charge};
pub use aicp_b::{AicpB, AicpBParams};
pub use aqm::{Aqm, AqmParams, ManageQueue};
pub use cobalt::{Cobalt, CobaltParams};
pub use codel::{Codel, CodelParams, CodelRules, CodelState, Head};
pub use csfq::{Csfq, CsfqParams};
pub use differentiation::{Differentiate, Differentiation, DifferentiationParams};
pub use icp::{Icp, IcpCurve, IcpParams};
pub use pc1::{Pc1, Pc1Params};
pub use pc2::{Pc2, Pc2Params};
pub use pc3::{Pc3, Pc3Params};
pub use pie::{Pie, PieDecay, PieParams};
pub use piecewise_linear::{PiecewiseLinear, PiecewiseLinearParams};
pub use red::{Red, RedParams, RedSpacing};
pub use sbrm_queue::{SbrmPrice, SbrmQueue, SbrmQueueParams};
pub use scheduler::Scheduler;
pub use token_bucket::TokenBuckets;
pub use virtual_queue::{VirtualQueue, VirtualQueueParams};

use crate::parameters::ParameterError;
use crate::price::Encoding;
use crate::units::{Bytes, Rate, Span, Time};

/// Link at which a mechanism operates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Capacity of the buffer.
    pub capacity: scheduler::Capacity,
    /// Configured rate of the link.
    pub rate: Rate,
    /// Size of a full packet on the wire, bytes.
    pub packet: Bytes,
    /// Encoding of prices, for mechanisms that have one; a scenario may omit it.
    pub price_encoding: Option<Encoding>,
}

impl Place {
    /// Returns the encoding of prices. Fails with the key and the reason if the scenario omits it.
    fn price_encoding(&self) -> Result<Encoding, ParameterError> {
        let message = "asks a price, and the scenario does not say how prices travel: give e.g. \
                       price_encoding = { kind = \"one-bit\", base = 1.06 }";
        self.price_encoding.ok_or_else(|| ("kind", message.to_owned()))
    }

    /// Returns the transmission time of a full packet on the link.
    pub const fn packet_time(&self) -> Span {
        self.rate.transmission_time(self.packet)
    }
}

/// Moment at which a packet gets a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// On arrival.
    Arrival,
    /// On departure.
    Departure,
    /// On departure, by a mark, for any encoding of prices elsewhere.
    MarkedDeparture,
}

/// Packet that arrives at a queue, and the state of the queue.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Arrival time.
    pub now: Time,
    /// Size of the packet on the wire.
    pub len: Bytes,
    /// Activity carried by the packet; 0 if none.
    pub activity: f32,
    /// Number of the packet's customer, from 0.
    pub user: u32,
    /// Number of waiting packets, without this one and the one in transmission (as in ns-2, ns-3, INET and Linux).
    pub backlog_packets: u32,
    /// Bytes of the waiting packets.
    pub backlog_bytes: u64,
    /// Time since the queue became empty; zero if it is not.
    pub idle: Span,
}

/// Decision of a mechanism on a packet; its effect on the packet is the [`Verdict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Let it pass.
    None,
    /// Signal congestion: mark the packet if it is ECN-capable, else drop it.
    Congestion,
    /// The AQM cannot control the queue (RED with `hard_drop`: the average has reached its upper end). As
    /// [`Signal::Congestion`], but even ECN-capable packets are dropped.
    Forced,
    /// A price for the packet: mark it if it is ECN-capable, and never drop it.
    Price,
    /// The customer's policer has decided on the packet. An AQM-integrated policer may mark as the AQM would; one in
    /// front of the queue drops, ECN-capable packets too.
    Policed {
        /// Whether a mark is sufficient.
        may_mark: bool,
    },
}

/// Reason of a drop at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The buffer was full.
    Full,
    /// Dropped by the AQM.
    Aqm,
    /// Lost on the wire, behind the queue.
    Wire,
    /// Dropped by the customer's policer.
    Policer,
}

/// Outcome of a packet at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet passes.
    Pass,
    /// It is marked.
    Mark,
    /// It is dropped.
    Drop(DropReason),
}

impl Signal {
    /// Returns the outcome; `may_mark` if the packet is ECN-capable and the queue marks.
    #[inline]
    pub const fn verdict(self, may_mark: bool) -> Verdict {
        match self {
            Signal::None => Verdict::Pass,
            Signal::Congestion | Signal::Price | Signal::Policed { may_mark: true } if may_mark => {
                Verdict::Mark
            }
            Signal::Price => Verdict::Pass,
            Signal::Congestion | Signal::Forced => Verdict::Drop(DropReason::Aqm),
            Signal::Policed { .. } => Verdict::Drop(DropReason::Policer),
        }
    }

    /// Whether there is a signal.
    #[inline]
    pub const fn is_some(self) -> bool {
        !matches!(self, Signal::None)
    }
}

/// An AQM with a differentiation.
#[derive(Clone, Debug)]
pub struct Judge {
    /// AQM.
    pub aqm: Aqm,
    /// Differentiation.
    pub differentiation: Differentiation,
}

impl Judge {
    /// Judges an arriving packet. Has to be called for every arrival, even if the buffer is full, because averages
    /// include all of them; `draw` returns a random number in [0, 1) and is called once for each open verdict.
    #[inline(always)]
    pub fn signal(&mut self, arrival: &Arrival, draw: impl FnMut() -> f64) -> Signal {
        let Judge { aqm, differentiation } = self;
        differentiation.signal(aqm, arrival, draw)
    }

    /// Handles the loss of the packet just judged, of `len` bytes and customer `user`, because the buffer was full. An
    /// AQM that spaces its signals counts this as one, as in ns-2, and so does a policer that counts signals.
    #[inline]
    pub fn on_overflow(&mut self, user: u32, now: Time, len: Bytes) {
        self.aqm.on_overflow();
        self.differentiation.on_overflow(user, now, len);
    }

    /// Returns the price of the AQM, if it has one.
    #[inline]
    pub fn price(&self) -> Option<f64> {
        self.aqm.price()
    }

    /// Returns the size of the per-packet state of both, bytes.
    pub fn state_bytes(&self) -> usize {
        self.aqm.state_bytes() + self.differentiation.state_bytes()
    }

    /// Returns the average activity of arriving packets, for probes.
    pub fn average_activity(&self) -> Option<f64> {
        self.differentiation.average_activity()
    }

    /// Returns the average queue length of the AQM, in its own unit, for probes.
    pub fn average_backlog(&self) -> Option<f64> {
        self.aqm.average_backlog()
    }
}

/// Draws whether an event of probability `p` happens; uses no random number for 0 and 1.
#[inline]
pub(crate) fn falls(p: f64, mut draw: impl FnMut() -> f64) -> bool {
    p >= 1.0 || (p > 0.0 && draw() < p)
}

#[cfg(test)]
#[path = "policing_tests.rs"]
mod policing_tests;

#[cfg(test)]
mod tests {
    use super::scheduler::tests::place;
    use super::*;

    /// Seeded linear congruential generator (Knuth's MMIX constants), for draws in [0, 1).
    pub(super) struct Lcg(pub(super) u64);

    impl Lcg {
        pub(super) fn draw(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    /// Returns a full packet of a customer that arrives at `ms` milliseconds at an empty queue.
    pub(super) fn arrival_of(user: u32, ms: u64) -> Arrival {
        let now = Time::ZERO + Span::from_millis(ms);
        Arrival { user, now, ..arrival(0, 0.0) }
    }

    /// An arrival that finds `packets` of 1500 B.
    pub(super) fn arrival(packets: u32, activity: f32) -> Arrival {
        Arrival {
            now: Time::ZERO,
            len: Bytes::new(1500),
            activity,
            user: 0,
            backlog_packets: packets,
            backlog_bytes: u64::from(packets) * 1500,
            idle: Span::ZERO,
        }
    }

    fn abc_on_default_function() -> Judge {
        let function = Some("pf-11-17-24-0.01".to_owned());
        let params = PiecewiseLinearParams { function, points: None, count_transmission: false };
        let aqm = Aqm::new(AqmParams::PiecewiseLinear(params), &place(50));
        Judge {
            aqm: aqm.expect("is a function"),
            differentiation: Differentiation::Abc(Abc::new(abc::DEFAULTS)),
        }
    }

    #[test]
    fn no_random_number_is_drawn_where_the_verdict_is_certain() {
        let mut judge = abc_on_default_function();
        let no_draw = || panic!("drew a random number");
        assert_eq!(judge.signal(&arrival(11, 0.0), no_draw), Signal::None);
        assert_eq!(judge.signal(&arrival(24, 0.0), no_draw), Signal::Congestion);
    }

    #[test]
    fn every_arrival_counts_toward_the_average_activity() {
        let mut judge = abc_on_default_function();
        judge.signal(&arrival(0, 1.0), || 0.0); // p = 0
        judge.signal(&arrival(20, 1.0), || 0.0); // 0 < p < 1
        judge.signal(&arrival(30, 1.0), || 0.0); // p = 1
        let want = 1.0 - libm::pow(0.99, 3.0);
        assert!((judge.average_activity().unwrap() - want).abs() < 1e-12);
    }

    /// The tabulated logarithm gives the result of equation (5).
    #[test]
    fn a_packet_of_activity_1_above_the_average_sees_p_to_the_one_eighth() {
        let judge = abc_on_default_function();
        let p = 0.01 + (20.0 - 17.0) / (24.0 - 17.0) * 0.99;
        let a_avg = 0.01 * 2.0; // first packet: 0.99 · 0 + 0.01 · 2
        let want = libm::pow(p, libm::exp2(-3.0 * (2.0 - a_avg)));
        // A draw at the probability is the limit of signals.
        let signal = |draw: f64| judge.clone().signal(&arrival(20, 2.0), || draw);
        assert_eq!(signal(want - 1e-12), Signal::Congestion);
        assert_eq!(signal(want + 1e-12), Signal::None);
    }
}
