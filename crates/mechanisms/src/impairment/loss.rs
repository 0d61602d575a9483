//! Loss of packets on a wire: with one probability, in bursts (Gilbert and Elliott), or of given packets.
//!
//! E. N. Gilbert, "Capacity of a burst-noise channel", BSTJ 39(5), 1960; E. O. Elliott, BSTJ 42(5), 1963; Linux
//! `net/sched/sch_netem.c`, `loss_gilb_ell`. The wire is in a good or a bad state:
//!
//! ```text
//! good:  to bad with probability p,   and lost with probability 1 − k
//! bad:   to good with probability r,  and lost with probability 1 − h
//! loss rate (p (1 − h) + r (1 − k)) / (p + r),   a bad state lasts for 1/r packets on average
//! ```
//!
//! A packet is lost by the state in which it finds the wire, as in `netem`.

use std::sync::Arc;

pub use super::numbers::PacketNumbers;
use crate::parameters::{
    Alternatives, Choice, Kind, ParameterError, ParameterType, ParameterValue,
};
use crate::units::Probability;
use crate::{choice, parameters};

parameters! {
    /// Losses in bursts: the wire is in a good or in a bad state, which changes from packet to packet (`tc ... netem loss
    /// gemodel`).
    pub struct GilbertElliottParams {
        /// p: probability with which the good state ends, at each packet.
        pub p: Probability,
        /// r: probability with which the bad state ends, at each packet.
        pub r: Probability,
        /// 1 − h: probability that a packet is lost in the bad state.
        pub bad_loss: Probability = "1.0",
        /// 1 − k: probability that a packet is lost in the good state.
        pub good_loss: Probability = "0.0",
    }
    check bad_state_ends;
}

fn bad_state_ends(own: &GilbertElliottParams) -> Vec<ParameterError> {
    let never = own.r.0 == 0.0;
    never
        .then(|| ("r", "must be more than 0, or the bad state never ends".to_owned()))
        .into_iter()
        .collect()
}

parameters! {
    /// Loses given packets.
    pub struct LostPacketsParams {
        /// Numbers of packets in the order in which the link sends them, from 1 on, such as "3, 10-12".
        pub packets: PacketNumbers,
    }
    check can_be_read;
}

fn can_be_read(own: &LostPacketsParams) -> Vec<ParameterError> {
    own.packets.error().map(|error| ("packets", error.clone())).into_iter().collect()
}

choice! {
    /// Which packets are lost on a wire.
    pub enum LossModel as LossModel {
        GilbertElliott(GilbertElliottParams) = "gilbert-elliott";
        Packets(LostPacketsParams) = "packets";
    }
}

/// Losses on a wire, as a file has them: a probability, or a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// Each packet, whatever became of others.
    Random(Probability),
    /// A model with a memory.
    Model(LossModel),
}

impl Loss {
    /// None.
    pub const NONE: Loss = Loss::Random(Probability(0.0));
}

impl ParameterType for Loss {
    const KIND: Kind = Kind::PlainOrTable {
        plain: &Kind::Probability,
        table: &Kind::Choice(Alternatives::of::<LossModel>()),
    };

    fn to_value(&self) -> ParameterValue {
        match self {
            Loss::Random(probability) => ParameterValue::Probability(*probability),
            Loss::Model(model) => {
                let (place, values) = model.to_values();
                ParameterValue::Choice(place, values)
            }
        }
    }

    fn from_value(value: ParameterValue) -> Self {
        match value {
            ParameterValue::Choice(place, values) => {
                Loss::Model(LossModel::from_values(place, values))
            }
            plain => Loss::Random(Probability::from_value(plain)),
        }
    }
}

/// Losses of one wire.
#[derive(Clone, Debug)]
pub enum LossProcess {
    /// With one probability.
    Random(f64),
    /// By a state.
    GilbertElliott {
        /// The parameters.
        params: GilbertElliottParams,
        /// It is in the bad state.
        bad: bool,
    },
    /// By number.
    Packets {
        /// What is lost.
        ranges: Arc<[(u64, u64)]>,
        /// The range that is not over yet.
        next: usize,
        /// Packets so far.
        sent: u64,
    },
}

impl LossProcess {
    /// Before the first packet; `None` where nothing is ever lost.
    pub fn new(loss: &Loss) -> Option<Self> {
        match loss {
            Loss::Random(Probability(probability)) => {
                (*probability > 0.0).then_some(LossProcess::Random(*probability))
            }
            Loss::Model(LossModel::GilbertElliott(params)) => {
                Some(LossProcess::GilbertElliott { params: params.clone(), bad: false })
            }
            Loss::Model(LossModel::Packets(own)) => {
                let ranges = Arc::clone(own.packets.ranges());
                Some(LossProcess::Packets { ranges, next: 0, sent: 0 })
            }
        }
    }

    /// Whether the next packet is lost. `draw` gives a random number in [0, 1).
    #[inline]
    pub fn loses(&mut self, mut draw: impl FnMut() -> f64) -> bool {
        match self {
            LossProcess::Random(probability) => draw() < *probability,
            LossProcess::GilbertElliott { params, bad } => {
                let (ends, loss) = match *bad {
                    true => (params.r.0, params.bad_loss.0),
                    false => (params.p.0, params.good_loss.0),
                };
                *bad ^= draw() < ends;
                draw() < loss
            }
            LossProcess::Packets { ranges, next, sent } => {
                *sent += 1;
                *next += usize::from(ranges.get(*next).is_some_and(|(_, last)| last < sent));
                ranges.get(*next).is_some_and(|(first, _)| first <= sent)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers below one another, the same each time (Weyl's sequence, scrambled).
    fn draws() -> impl FnMut() -> f64 {
        let mut state = 1u64;
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    fn lost(loss: &Loss, packets: usize) -> Vec<bool> {
        let (mut process, mut draw) = (LossProcess::new(loss).expect("loses some"), draws());
        (0..packets).map(|_| process.loses(&mut draw)).collect()
    }

    /// Gilbert 1960: the loss rate is p (1 − h) / (p + r) with k = 1, and where h is 0 too, bursts have 1/r packets.
    #[test]
    fn bursts_have_the_length_and_share_of_gilberts_model() {
        for (bad_loss, rate) in [(1.0, 0.01 / 0.26), (0.5, 0.005 / 0.26)] {
            let [p, r, bad_loss, good_loss] = [0.01, 0.25, bad_loss, 0.0].map(Probability);
            let params = GilbertElliottParams { p, r, bad_loss, good_loss };
            let lost = lost(&Loss::Model(LossModel::GilbertElliott(params)), 4_000_000);
            let all = lost.iter().filter(|lost| **lost).count() as f64;
            assert!((all / 4e6 / rate - 1.0).abs() < 0.03, "{all} lost");
            let bursts = lost.windows(2).filter(|pair| pair[1] && !pair[0]).count() as f64;
            if bad_loss.0 == 1.0 {
                assert!((all / bursts - 4.0).abs() < 0.1, "{} packets a burst", all / bursts);
            }
        }
    }

    #[test]
    fn losses_of_both_states_add_up() {
        let [p, r, bad_loss, good_loss] = [0.1, 0.3, 0.8, 0.02].map(Probability);
        let params = GilbertElliottParams { p, r, bad_loss, good_loss };
        let lost = lost(&Loss::Model(LossModel::GilbertElliott(params)), 1_000_000);
        let share = lost.iter().filter(|lost| **lost).count() as f64 / 1e6;
        let want = (0.1 * 0.8 + 0.3 * 0.02) / 0.4;
        assert!((share - want).abs() < 0.003, "{share}, expected {want}");
    }

    #[test]
    fn given_packets_are_lost_and_no_others() {
        let own = LostPacketsParams { packets: PacketNumbers::read("2, 4-6,9") };
        assert_eq!(can_be_read(&own), []);
        let lost = lost(&Loss::Model(LossModel::Packets(own)), 12);
        let numbers: Vec<_> = (1..).zip(lost).filter(|(_, lost)| *lost).map(|(n, _)| n).collect();
        assert_eq!(numbers, [2, 4, 5, 6, 9]);
    }

    #[test]
    fn what_is_no_list_is_an_error() {
        for wrong in ["", "0", "3-2", "5,5", "7,2-3", "one", "1,,2", "-3"] {
            let own = LostPacketsParams { packets: PacketNumbers::read(wrong) };
            assert_eq!(can_be_read(&own).len(), 1, "{wrong:?}");
        }
    }
}
