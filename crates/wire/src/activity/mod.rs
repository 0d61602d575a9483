//! The activity that a packet carries from its meter to the bottlenecks (ABC).
//!
//! ```text
//!  0                   1
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    doublings  |  1/256ths     |      unsigned fixed point, network byte order
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! A meter's activity is rounded up to the next step, as M. Menth and N. Zeitler ask in section
//! 5.3.1 of "Activity-Based Congestion Management": a packet never claims less than was measured,
//! and less than one step more. The paper finds a step of 1 fine enough; 1/256 makes rounding
//! vanish beside everything else. The largest value, 255.996, stands for all above: 2²⁵⁵ times a
//! reference rate is no rate.
//!
//! One module per place in a packet where activity can travel: [`ipv4`] and [`ipv6`].

pub mod ipv4;
pub mod ipv6;

/// Length of the option in either header, without padding: type, length, experiment, activity.
const OPTION_LEN: usize = 6;
/// Where in the option the activity begins.
const VALUE_OFFSET: usize = 4;

/// Whether an option is ours, where it has this type.
fn is_activity(option: &[u8], option_type: u8) -> bool {
    option.len() == OPTION_LEN
        && option[0] == option_type
        && option[2..VALUE_OFFSET] == ipv6::EXPERIMENT.to_be_bytes()
}

/// An activity in steps of 1/256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Activity(u16);

impl Activity {
    /// Steps in one doubling of the rate.
    pub const STEPS: f64 = 256.0;
    /// The largest that can be carried.
    pub const MAX: Activity = Activity(u16::MAX);

    /// The smallest that is not less than `activity`. Above [`Activity::MAX`] it is that; negative
    /// numbers and NaN, which no meter measures, become 0.
    pub fn rounding_up(activity: f64) -> Self {
        // A cast saturates at both ends and takes NaN to 0.
        Activity((activity * Self::STEPS).ceil() as u16)
    }

    /// From its bits on the wire.
    pub const fn from_bits(bits: u16) -> Self {
        Activity(bits)
    }

    /// Its bits on the wire.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// log₂ of the factor by which the user exceeds its reference rate. Exact.
    pub fn value(self) -> f32 {
        f32::from(self.0) / Self::STEPS as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_value_survives_the_round_trip() {
        for bits in 0..=u16::MAX {
            let activity = Activity::from_bits(bits);
            assert_eq!(Activity::rounding_up(f64::from(activity.value())), activity);
        }
    }

    #[test]
    fn what_cannot_be_carried_saturates() {
        assert_eq!(Activity::rounding_up(1e9), Activity::MAX);
        assert_eq!(Activity::rounding_up(f64::INFINITY), Activity::MAX);
        assert_eq!(Activity::rounding_up(-1.0), Activity::default());
        assert_eq!(Activity::rounding_up(f64::NAN), Activity::default());
    }

    proptest! {
        #[test]
        fn rounding_goes_up_by_less_than_one_step(activity in 0.0..255.9) {
            let carried = f64::from(Activity::rounding_up(activity).value());
            prop_assert!(carried >= activity && carried < activity + 1.0 / Activity::STEPS);
        }
    }
}
