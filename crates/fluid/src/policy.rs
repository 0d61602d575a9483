//! Policies: treatment of groups by a link.

use crate::source::Customer;

/// Treatment of groups by a link.
#[derive(Clone, Copy, Debug)]
pub enum Policy {
    /// All groups get the same signal probability, and no packet is dropped.
    Alike,
    /// Activity-based congestion management.
    Abc(AbcPolicy),
    /// Congestion token buckets, one per customer.
    Afcp(AfcpPolicy),
    /// DualPI2: scalable sources have a queue of their own.
    TwoQueues(TwoQueues),
}

/// ABC (M. Menth, N. Zeitler, "Activity-Based Congestion Management"): a meter at the edge measures each customer's
/// activity A, and writes it into its packets; the link drops with `p^(2^(−γ (A − Ā)))`.
///
/// ```text
/// A' = (X 2^(−A)/R − 1)/I, at least 0       X a customer's rate, R what it is assigned
/// Ā' = (1 − w_A) Σ X (A − Ā)                over what arrives
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AbcPolicy {
    /// Differentiation factor γ.
    pub gamma: f64,
    /// Inertia I, s.
    pub inertia_s: f64,
    /// Weight w_A of the activity average.
    pub activity_weight: f64,
}

impl AbcPolicy {
    /// Returns A', per second; an activity of zero does not decrease.
    pub fn slope(&self, activity: f64, sent_pps: f64, customer: Customer) -> f64 {
        let asked = customer.flows * sent_pps * libm::exp2(-activity) / customer.granted_pps;
        let slope = (asked - 1.0) / self.inertia_s;
        if activity <= 0.0 { slope.max(0.0) } else { slope }
    }

    /// Returns Ā', per second, for arrivals with these activities, in packets/s.
    pub fn mean_slope(&self, arriving: impl Iterator<Item = (f64, f64)>, mean: f64) -> f64 {
        (1.0 - self.activity_weight)
            * arriving.map(|(pps, carried)| pps * (carried - mean)).sum::<f64>()
    }

    /// Returns the drop probability of a packet with this activity, where the queue's is `probability`.
    pub fn met(&self, probability: f64, carried: f64, mean: f64) -> f64 {
        libm::pow(probability, libm::exp2(-self.gamma * (carried - mean)))
    }
}

/// AFCP on average: a customer pays p per packet from a bucket of `depth` tokens that is filled at its granted rate,
/// and forwards only what it can pay for.
#[derive(Clone, Copy, Debug)]
pub struct AfcpPolicy {
    /// Depth of a bucket, tokens.
    pub depth: f64,
}

impl AfcpPolicy {
    /// Returns the change of a bucket at this sending rate, tokens/s.
    pub fn slope(&self, fill: f64, probability: f64, arriving_pps: f64, customer: Customer) -> f64 {
        let slope = customer.granted_pps - probability * customer.flows * arriving_pps;
        match (fill <= 0.0, fill >= self.depth) {
            (true, _) => slope.max(0.0),
            (_, true) => slope.min(0.0),
            _ => slope,
        }
    }

    /// Returns the share of a customer's packets that the bucket pays for.
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

/// Queues of DualPI2 (RFC 9332): that of scalable packets is served first, except for a share of the link while classic
/// ones wait; its own ramp marks when it is long.
#[derive(Clone, Copy, Debug)]
pub struct TwoQueues {
    /// Share of the link for classic packets while both wait.
    pub classic_share: f64,
    /// Delay at which the ramp begins, s.
    pub ramp_start_s: f64,
    /// Delay over which the ramp rises to 1, s.
    pub ramp_range_s: f64,
}

impl TwoQueues {
    /// Returns the departure rate of the scalable queue, packets/s.
    pub fn scalable_pps(&self, queues: [f64; 2], arriving_pps: f64, capacity_pps: f64) -> f64 {
        let [classic, scalable] = queues;
        let most = self.most_pps(classic, capacity_pps);
        if scalable > 0.0 { most } else { arriving_pps.min(most) }
    }

    /// Returns the maximum departure rate of the scalable queue, packets/s.
    pub fn most_pps(&self, classic_queue: f64, capacity_pps: f64) -> f64 {
        let share = if classic_queue > 0.0 { 1.0 - self.classic_share } else { 1.0 };
        share * capacity_pps
    }

    /// Returns the probability of the ramp at a delay.
    pub fn ramp(&self, delay_s: f64) -> f64 {
        ((delay_s - self.ramp_start_s) / self.ramp_range_s).clamp(0.0, 1.0)
    }
}
