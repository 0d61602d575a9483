//! Whom a link tells apart, and what each then meets.

use crate::source::Customer;

/// How a link treats the groups that pass it.
#[derive(Clone, Copy, Debug)]
pub enum Policy {
    /// All meet its probability, and are told of it; nobody is dropped.
    Alike,
    /// Activity-based congestion management.
    Abc(AbcPolicy),
    /// Buckets of congestion, one a customer.
    Afcp(AfcpPolicy),
    /// DualPI2: scalable sources have a queue of their own.
    TwoQueues(TwoQueues),
}

/// ABC (M. Menth, N. Zeitler, "Activity-Based Congestion Management"): a meter at the edge knows each customer's
/// activity A, and writes it into its packets; the link drops with `p^(2^(−γ (A − Ā)))`.
///
/// ```text
/// A' = (X 2^(−A)/R − 1)/I, at least 0       X a customer's rate, R what it is assigned
/// Ā' = (1 − w_A) Σ X (A − Ā)                over what arrives
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AbcPolicy {
    /// γ.
    pub gamma: f64,
    /// I, in seconds.
    pub inertia_s: f64,
    /// w_A.
    pub activity_weight: f64,
}

impl AbcPolicy {
    /// A', per second; an activity of zero does not fall.
    pub fn slope(&self, activity: f64, sent_pps: f64, customer: Customer) -> f64 {
        let asked = customer.flows * sent_pps * libm::exp2(-activity) / customer.granted_pps;
        let slope = (asked - 1.0) / self.inertia_s;
        if activity <= 0.0 { slope.max(0.0) } else { slope }
    }

    /// Ā', per second, for what arrives with these activities, in packets/s.
    pub fn mean_slope(&self, arriving: impl Iterator<Item = (f64, f64)>, mean: f64) -> f64 {
        (1.0 - self.activity_weight)
            * arriving.map(|(pps, carried)| pps * (carried - mean)).sum::<f64>()
    }

    /// Probability that a packet with this activity is dropped, where the queue says `probability`.
    pub fn met(&self, probability: f64, carried: f64, mean: f64) -> f64 {
        libm::pow(probability, libm::exp2(-self.gamma * (carried - mean)))
    }
}

/// AFCP in the mean: a customer pays p a packet from a bucket of `depth` tokens that fills with what it is
/// granted, and gets no more through than it pays for.
#[derive(Clone, Copy, Debug)]
pub struct AfcpPolicy {
    /// Tokens that a bucket holds.
    pub depth: f64,
}

impl AfcpPolicy {
    /// How a bucket changes, tokens/s, while it sends so much, in packets/s.
    pub fn slope(&self, fill: f64, probability: f64, arriving_pps: f64, customer: Customer) -> f64 {
        let slope = customer.granted_pps - probability * customer.flows * arriving_pps;
        match (fill <= 0.0, fill >= self.depth) {
            (true, _) => slope.max(0.0),
            (_, true) => slope.min(0.0),
            _ => slope,
        }
    }

    /// Share of a customer's packets that the bucket pays for.
    pub fn forwarded(
        &self,
        fill: f64,
        probability: f64,
        arriving_pps: f64,
        customer: Customer,
    ) -> f64 {
        let costs = probability * customer.flows * arriving_pps;
        if fill > 0.0 || costs <= customer.granted_pps { 1.0 } else { customer.granted_pps / costs }
    }
}

/// DualPI2's queues (RFC 9332): that of scalable packets is served first, but for a share of the link while
/// classic ones wait; its own ramp marks where it is long.
#[derive(Clone, Copy, Debug)]
pub struct TwoQueues {
    /// Of the link, for classic packets while both wait.
    pub classic_share: f64,
    /// Delay at which the ramp begins, in seconds.
    pub ramp_start_s: f64,
    /// Delay over which it rises to 1, in seconds.
    pub ramp_range_s: f64,
}

impl TwoQueues {
    /// What leaves the scalable queue, in packets/s.
    pub fn scalable_pps(&self, queues: [f64; 2], arriving_pps: f64, capacity_pps: f64) -> f64 {
        let [classic, scalable] = queues;
        let most = self.most_pps(classic, capacity_pps);
        if scalable > 0.0 { most } else { arriving_pps.min(most) }
    }

    /// The most that may leave it.
    pub fn most_pps(&self, classic_queue: f64, capacity_pps: f64) -> f64 {
        let share = if classic_queue > 0.0 { 1.0 - self.classic_share } else { 1.0 };
        share * capacity_pps
    }

    /// Probability of the ramp at a delay.
    pub fn ramp(&self, delay_s: f64) -> f64 {
        ((delay_s - self.ramp_start_s) / self.ramp_range_s).clamp(0.0, 1.0)
    }
}
