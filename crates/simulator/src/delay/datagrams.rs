//! Jitter and losses of UDP, as its receiver sees them.

use tidegate_mechanisms::units::Span;

use crate::applications::DatagramKind;

/// Jitter and loss runs of a UDP flow, or of several.
///
/// ```text
/// D = (R_j − S_j) − (R_i − S_i)        of packets i and j that arrive one after the other
/// J ← J + (|D| − J) / 16               (RFC 3550, section 6.4.1)
/// ```
#[derive(Clone, Copy, Default)]
pub struct DatagramDelays {
    /// One-way delay of the last packet.
    last: Option<Span>,
    /// 16 J, in nanoseconds, as in appendix A.8 of the RFC.
    jitter_16: u64,
    /// Sum of J after each packet, and how many those are.
    jitter_sum_ns: u128,
    samples: u64,
    /// The number that follows that of the last packet.
    next: u64,
    /// How often packets were lost one after the other.
    pub loss_runs: u64,
    /// The most packets that were.
    pub longest_loss_run: u64,
}

impl DatagramDelays {
    /// A packet has arrived; its `number`, if it is known.
    pub fn record(&mut self, one_way: Span, number: Option<u64>) {
        // Probes of admission controls are a stream of their own.
        if let Some((kind, number)) = number.map(DatagramKind::of) {
            if kind != DatagramKind::Stream {
                return;
            }
            // One that was overtaken on another path is no loss, but counts as one.
            if number > self.next {
                self.loss_runs += 1;
                self.longest_loss_run = self.longest_loss_run.max(number - self.next);
            }
            self.next = self.next.max(number + 1);
        }
        if let Some(last) = self.last.replace(one_way) {
            let difference = one_way.as_nanos().abs_diff(last.as_nanos());
            self.jitter_16 = self.jitter_16 + difference - ((self.jitter_16 + 8) >> 4);
            self.jitter_sum_ns += u128::from(self.jitter_16 >> 4);
            self.samples += 1;
        }
    }

    /// The measured time begins: what was counted goes, J and the number stay.
    pub fn reset(&mut self) {
        (self.jitter_sum_ns, self.samples, self.loss_runs, self.longest_loss_run) = (0, 0, 0, 0);
    }

    /// Adds what was counted of another flow.
    pub fn add(&mut self, other: &DatagramDelays) {
        self.jitter_sum_ns += other.jitter_sum_ns;
        self.samples += other.samples;
        self.loss_runs += other.loss_runs;
        self.longest_loss_run = self.longest_loss_run.max(other.longest_loss_run);
    }

    /// Mean of J over packets, seconds.
    pub fn jitter_s(&self) -> f64 {
        match self.samples {
            0 => f64::NAN,
            samples => self.jitter_sum_ns as f64 / samples as f64 * 1e-9,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(delays_ms: &[u64]) -> DatagramDelays {
        let mut own = DatagramDelays::default();
        for (number, ms) in delays_ms.iter().enumerate() {
            own.record(Span::from_millis(*ms), Some(number as u64));
        }
        own
    }

    #[test]
    fn even_packets_have_no_jitter() {
        assert_eq!(of(&[20; 100]).jitter_s(), 0.0);
        assert!(of(&[20]).jitter_s().is_nan());
    }

    /// J of a delay that alternates by 8 ms tends to 8 ms, as 8 (1 − (15/16)ⁿ).
    #[test]
    fn jitter_follows_the_recurrence_of_the_rfc() {
        let delays: Vec<u64> = (0..=400).map(|n| 20 + 8 * (n % 2)).collect();
        let mean_ms =
            (1..=400).map(|n| 8.0 * (1.0 - libm::pow(0.9375, f64::from(n)))).sum::<f64>() / 400.0;
        assert!((of(&delays).jitter_s() * 1e3 - mean_ms).abs() < 1e-4);
    }

    #[test]
    fn losses_in_a_row_are_a_run() {
        let mut own = DatagramDelays::default();
        for number in [0, 1, 4, 5, 7, 6, 12] {
            own.record(Span::from_millis(1), Some(number));
        }
        assert_eq!((own.loss_runs, own.longest_loss_run), (3, 4), "2 and 3, 6, 8 to 11");
        own.reset();
        own.record(Span::from_millis(1), Some(13));
        assert_eq!((own.loss_runs, own.longest_loss_run), (0, 0));
    }
}
