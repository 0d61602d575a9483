//! Activity (ABC), carried in a packet from its meter to the bottlenecks.
//!
//! ```text
//!  0                   1
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    doublings  |  1/256ths     |      unsigned fixed point, network byte order
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! A meter's activity is rounded up to the next step, as M. Menth and N. Zeitler require in section 5.3.1 of
//! "Activity-Based Congestion Management": the value in a packet is never below the measured one, and exceeds it by
//! less than one step. The paper considers a step of 1 sufficient; with 1/256 the rounding error is negligible. The
//! largest value, 255.996, stands for all larger ones: a rate of 2²⁵⁵ times the reference rate does not occur.
//!
//! There is one module per location in a packet: [`ipv4`] and [`ipv6`].

pub mod ipv4;
pub mod ipv6;

/// Length of the option in either header without padding, bytes: type, length, experiment, activity.
const OPTION_LEN: usize = 6;
/// Offset of the activity in the option.
const VALUE_OFFSET: usize = 4;

/// Whether an option of this type carries activity.
fn is_activity(option: &[u8], option_type: u8) -> bool {
    option.len() == OPTION_LEN
        && option[0] == option_type
        && option[2..VALUE_OFFSET] == ipv6::EXPERIMENT.to_be_bytes()
}

/// Activity in steps of 1/256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Activity(u16);

impl Activity {
    /// Number of steps in one doubling of the rate.
    pub const STEPS: f64 = 256.0;
    /// Largest value.
    pub const MAX: Activity = Activity(u16::MAX);

    /// Returns the smallest value that is not less than `activity`, at most [`Activity::MAX`]. Negative numbers and
    /// NaN, which no meter measures, become 0.
    pub fn rounding_up(activity: f64) -> Self {
        // A cast saturates at both ends and converts NaN to 0.
        Activity((activity * Self::STEPS).ceil() as u16)
    }

    /// Creates an activity from its bits on the wire.
    pub const fn from_bits(bits: u16) -> Self {
        Activity(bits)
    }

    /// Returns the bits on the wire.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Returns log₂ of the factor by which the user exceeds its reference rate. Exact.
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
