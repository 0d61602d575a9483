//! A_avg of several CPUs. Each averages the activity of the packets that it forwards, and with each update of the
//! probability all continue from their mean by packets, by which packets are judged. The simulator's `abc.meters` does the
//! same.

/// What a CPU has seen of a direction, as the map `links` has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Its average, in 2⁻³⁶.
    pub average_q36: u64,
    /// Packets since the last merger.
    pub packets: u64,
}

impl Own {
    /// From the map.
    pub fn from_words([average_q36, packets]: [u64; 2]) -> Own {
        Own { average_q36, packets }
    }
}

/// The mean by packets; `None` if there were none.
pub fn merged(by_cpu: impl IntoIterator<Item = Own> + Clone) -> Option<u64> {
    let packets: u128 = by_cpu.clone().into_iter().map(|own| u128::from(own.packets)).sum();
    let product = |own: Own| u128::from(own.average_q36) * u128::from(own.packets);
    let sum: u128 = by_cpu.into_iter().map(product).sum();
    (packets > 0).then(|| (sum / packets) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn own(average_q36: u64, packets: u64) -> Own {
        Own { average_q36, packets }
    }

    #[test]
    fn the_mean_is_by_packets() {
        assert_eq!(merged([own(4 << 36, 3), own(0, 1), own(9 << 36, 0)]), Some(3 << 36));
        assert_eq!(merged([own(4 << 36, 0)]), None);
        assert_eq!(merged([]), None);
    }

    proptest! {
        #[test]
        fn the_mean_lies_between_the_averages(
            all in prop::collection::vec((0..=40u64 << 36, 1..u64::from(u32::MAX)), 1..300),
        ) {
            let all: Vec<_> = all.into_iter().map(|(average, packets)| own(average, packets)).collect();
            let mean = merged(all.iter().copied()).expect("there are packets");
            let averages = all.iter().map(|own| own.average_q36);
            prop_assert!(averages.clone().min() <= Some(mean) && Some(mean) <= averages.max());
        }
    }
}
