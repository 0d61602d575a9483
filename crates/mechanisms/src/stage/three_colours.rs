//! Three colours: what happens to packets of each, and their counts; shared by srTCM and trTCM.

use super::Ecn;
use super::Passage;
use super::by_user::ByUser;
use super::passing::Passing;
use crate::units::{Bytes, NANOS_PER_SEC, Rate, Span, Time};
use crate::words;

words! {
    /// What a policer does with a packet of a colour.
    pub enum ColourAction {
        /// It passes.
        Pass = "pass",
        /// It gets CE if it is ECN-capable, and passes.
        Mark = "mark",
        /// It becomes lower effort (RFC 8622), and passes.
        Deprioritise = "deprioritise",
        /// It is dropped.
        Drop = "drop",
    }
}

/// Colour of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    Green,
    Yellow,
    Red,
}

/// Tokens of a bucket, in bits times nanoseconds per second: a rate adds a whole number of them each nanosecond.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fill(u128);

impl Fill {
    pub(super) fn of(bytes: Bytes) -> Self {
        Fill(u128::from(bytes.as_bits()) * u128::from(NANOS_PER_SEC))
    }

    /// Adds what a rate gives in a time, up to a depth. Returns what is above it.
    pub(super) fn add(&mut self, more: Fill, depth: Fill) -> Fill {
        let all = self.0 + more.0;
        self.0 = all.min(depth.0);
        Fill(all - self.0)
    }

    pub(super) fn in_time(rate: Rate, time: Span) -> Self {
        Fill(u128::from(rate.as_bps()) * u128::from(time.as_nanos()))
    }

    pub(super) fn holds(&self, size: Fill) -> bool {
        self.0 >= size.0
    }

    pub(super) fn take(&mut self, size: Fill) {
        self.0 -= size.0;
    }

    pub(super) fn as_bytes(&self) -> f64 {
        self.0 as f64 / 8e9
    }
}

/// Two buckets of a user.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) fills: [Fill; 2],
    pub(super) last: Time,
}

/// Packets and bytes of each colour, by user.
#[derive(Clone, Debug)]
pub(super) struct Counts(ByUser<[u64; 6]>);

const NAMES: [&str; 6] =
    ["green_packets", "green_bytes", "yellow_packets", "yellow_bytes", "red_packets", "red_bytes"];

impl Counts {
    pub(super) fn new() -> Self {
        Counts(ByUser::new())
    }

    /// Counts a packet, and does with it what is set for yellow and red ones.
    pub(super) fn treat(
        &mut self,
        packet: &mut Passing,
        colour: Colour,
        [yellow, red]: [ColourAction; 2],
    ) -> Passage {
        let counts = self.0.of(packet.user, Default::default);
        let place = 2 * colour as usize;
        counts[place] += 1;
        counts[place + 1] += packet.len.get();
        let (action, reason) = match colour {
            Colour::Green => (ColourAction::Pass, ""),
            Colour::Yellow => (yellow, "yellow"),
            Colour::Red => (red, "red"),
        };
        match action {
            ColourAction::Drop => return Passage::Drop(reason),
            ColourAction::Mark if matches!(packet.ecn, Ecn::Ect0 | Ecn::Ect1) => {
                packet.ecn = Ecn::Ce
            }
            ColourAction::Deprioritise => packet.lower_effort = true,
            ColourAction::Mark | ColourAction::Pass => {}
        }
        Passage::On
    }

    pub(super) fn each(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        for (user, counts) in self.0.iter() {
            NAMES.iter().zip(counts).for_each(|(name, count)| each(user, name, *count));
        }
    }
}
