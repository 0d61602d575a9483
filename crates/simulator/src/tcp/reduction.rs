//! Window reduction during recovery, from the window at the loss to `ssthresh`.

use tidegate_scenario::plan::ReductionPlan;

/// Progress reported by an ACK during recovery.
#[derive(Clone, Copy, Debug)]
pub struct AckProgress {
    /// Segments newly acknowledged or sacked (RFC 9937: DeliveredData).
    pub delivered: u32,
    /// Segments in the network after this ACK (RFC 6675: pipe).
    pub in_flight: u32,
    /// Whether the cumulative acknowledgement advanced without indicating a further loss.
    pub safe: bool,
}

/// Maximum burst when the window rises again at the end of recovery (ns-2, Agent/TCP/Linux, `tcp_max_burst`).
const MAX_BURST: u32 = 3;

/// State of one reduction.
#[derive(Clone, Copy, Debug)]
pub enum Reduction {
    /// At once (RFC 6675, step 4.2).
    Immediate,
    /// Not at all: the controller models its path, and moves the window itself.
    ByModel,
    /// One segment less on every second ACK, never more than one segment above what is in flight
    /// (Linux until 3.1; M. Mathis et al., "Rate-halving algorithm for TCP congestion control",
    /// 1999). May come down to half of `ssthresh` while the pipe drains.
    RateHalving {
        /// Whether an ACK is counted that has not reduced the window yet.
        odd: bool,
    },
    /// Rate halving down to `ssthresh` or to half of it, depending on the controller, and never below (ns-2,
    /// Agent/TCP/Linux, `next_pkts_in_flight_`, `min_cwnd`).
    ToThreshold {
        /// Whether the minimum is half of `ssthresh`, from which at most three segments leave at once at the end
        /// (`tcp_moderate_cwnd`).
        half: bool,
        /// Segments allowed in flight, if more than `ssthresh`.
        next: u32,
        /// Segments in the network.
        out: u32,
    },
    /// Proportional rate reduction (RFC 9937), relative to the window at the loss, as in Linux; RecoverFS of the RFC is
    /// the data outstanding, which is equal if the window is used.
    ///
    /// ```text
    /// pipe > ssthresh:  sndcnt = ⌈prr_delivered · ssthresh / cwnd⌉ − prr_out
    /// otherwise:        limit  = max(prr_delivered − prr_out, DeliveredData) [+ 1 if safe]
    ///                   sndcnt = min(ssthresh − pipe, limit)
    /// cwnd = pipe + sndcnt
    /// ```
    Prr {
        /// Segments delivered since recovery began.
        delivered: u32,
        /// Segments sent since recovery began.
        sent: u32,
        /// Window at the start of recovery, segments.
        window: u32,
    },
}

impl Reduction {
    /// Starts a reduction from a window of `cwnd` segments; `half` if the controller allows half of `ssthresh`.
    pub fn begin(plan: ReductionPlan, cwnd: f64, half: bool) -> Self {
        match plan {
            ReductionPlan::Immediate => Reduction::Immediate,
            ReductionPlan::RateHalving => Reduction::RateHalving { odd: false },
            ReductionPlan::Ns2Linux => Reduction::ToThreshold { half, next: cwnd as u32, out: 0 },
            ReductionPlan::Prr => {
                Reduction::Prr { delivered: 0, sent: 0, window: (cwnd as u32).max(1) }
            }
        }
    }

    /// Returns the window after an ACK.
    pub fn on_ack(&mut self, cwnd: f64, ssthresh: f64, progress: AckProgress) -> f64 {
        let pipe = f64::from(progress.in_flight);
        match self {
            // It came down as it began, or is the controller's.
            Reduction::Immediate | Reduction::ByModel => cwnd,
            Reduction::RateHalving { odd } => {
                let mut lowered = cwnd;
                if *odd && cwnd > ssthresh / 2.0 {
                    lowered = (cwnd - 1.0).max(1.0);
                }
                *odd = !*odd;
                lowered.min(pipe + 1.0)
            }
            Reduction::ToThreshold { half, next, out } => {
                *out = progress.in_flight;
                *next = (*next).min(*out + 1);
                let least = if *half { libm::floor(ssthresh / 2.0) } else { ssthresh };
                least.max(f64::from(*next))
            }
            // An ACK that delivers nothing allows no transmission.
            Reduction::Prr { .. } if progress.delivered == 0 => cwnd,
            Reduction::Prr { delivered, sent, window } => {
                *delivered += progress.delivered;
                let count = if pipe > ssthresh {
                    let due = f64::from(*delivered) * ssthresh / f64::from(*window);
                    // Rounded up: the cast truncates non-negative values.
                    let down = due as i64 as f64;
                    down + f64::from(u8::from(down < due)) - f64::from(*sent)
                } else {
                    let owed = f64::from(*delivered) - f64::from(*sent);
                    let more = if progress.safe { 1.0 } else { 0.0 };
                    (ssthresh - pipe).min(owed.max(f64::from(progress.delivered)) + more)
                };
                // The first ACK always allows the fast retransmit.
                let least = if *sent == 0 { 1.0 } else { 0.0 };
                pipe + count.max(least)
            }
        }
    }

    /// Counts a segment sent.
    #[inline]
    pub fn on_sent(&mut self) {
        match self {
            Reduction::Prr { sent, .. } => *sent += 1,
            Reduction::ToThreshold { next, out, .. } => {
                *out += 1;
                *next = (*next).min((*out - 1).max(1));
            }
            Reduction::Immediate | Reduction::ByModel | Reduction::RateHalving { .. } => {}
        }
    }

    /// Returns the window at the end of recovery, with `in_flight` segments in the network.
    pub fn finish(&self, cwnd: f64, ssthresh: f64, in_flight: u32) -> f64 {
        match self {
            Reduction::ToThreshold { half: true, .. } if cwnd < ssthresh => {
                ssthresh.min(f64::from(in_flight + MAX_BURST))
            }
            Reduction::Immediate | Reduction::ByModel => cwnd,
            Reduction::RateHalving { .. } => cwnd.min(ssthresh),
            Reduction::ToThreshold { .. } | Reduction::Prr { .. } => ssthresh,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in the example of RFC 9937 (RFC 6937, figure 1): one loss out of 20, ssthresh 10.
    #[test]
    fn prr_sends_in_proportion_to_what_is_delivered() {
        let mut prr = Reduction::begin(ReductionPlan::Prr, 20.0, false);
        let (mut pipe, mut sent) = (19, Vec::new());
        for _ in 0..18 {
            pipe -= 1;
            let progress = AckProgress { delivered: 1, in_flight: pipe, safe: false };
            let room = prr.on_ack(20.0, 10.0, progress) as u32 - pipe;
            for _ in 0..room {
                prr.on_sent();
                pipe += 1;
            }
            sent.push(room);
        }
        assert_eq!(sent[..16], [1, 0].repeat(8), "one for two, while more than 10 are in flight");
        assert_eq!(sent[16..], [0, 1], "then one for one, to keep 10 in flight");
        assert_eq!(pipe, 10);
    }

    #[test]
    fn rate_halving_takes_a_segment_on_every_second_ack() {
        let mut reduction = Reduction::begin(ReductionPlan::RateHalving, 20.0, false);
        let mut cwnd = 20.0;
        for _ in 0..10 {
            let progress = AckProgress { delivered: 1, in_flight: 30, safe: true };
            cwnd = reduction.on_ack(cwnd, 10.0, progress);
        }
        assert_eq!(cwnd, 15.0);
        assert_eq!(reduction.finish(cwnd, 10.0, 9), 10.0);
    }

    /// Ten segments, sent as ACKs allow: one on every second ACK, until 7 are in flight.
    #[test]
    fn down_to_the_threshold_a_segment_leaves_on_every_second_ack() {
        let mut reduction = Reduction::begin(ReductionPlan::Ns2Linux, 10.0, false);
        let (mut pipe, mut sent) = (10, Vec::new());
        for _ in 0..10 {
            pipe -= 1;
            let progress = AckProgress { delivered: 1, in_flight: pipe, safe: true };
            let room = reduction.on_ack(10.0, 7.0, progress) as u32 - pipe;
            for _ in 0..room {
                reduction.on_sent();
                pipe += 1;
            }
            sent.push(room);
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 1, 1, 1]);
        assert_eq!((pipe, reduction.finish(8.0, 7.0, 9)), (7, 7.0));
    }

    /// One ACK reports six losses: five segments are in flight, and the window of Reno falls to half of its threshold
    /// of 7.
    #[test]
    fn down_to_half_of_the_threshold_and_back_up_by_three() {
        for (half, window, end) in [(false, 7.0, 7.0), (true, 3.0, 5.0)] {
            let mut reduction = Reduction::begin(ReductionPlan::Ns2Linux, 14.0, half);
            let mut cwnd = 14.0;
            for in_flight in [5, 4, 3, 2] {
                let progress = AckProgress { delivered: 1, in_flight, safe: false };
                cwnd = reduction.on_ack(cwnd, 7.0, progress);
            }
            assert_eq!((cwnd, reduction.finish(cwnd, 7.0, 2)), (window, end));
        }
    }

    #[test]
    fn rate_halving_never_opens_a_burst() {
        let mut reduction = Reduction::begin(ReductionPlan::RateHalving, 20.0, false);
        let progress = AckProgress { delivered: 9, in_flight: 4, safe: true };
        assert_eq!(reduction.on_ack(20.0, 10.0, progress), 5.0);
    }
}
