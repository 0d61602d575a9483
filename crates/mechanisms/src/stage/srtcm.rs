//! Single rate three color marker (srTCM): one rate, and two bursts. RFC 2697, with what happens to each
//! colour.
//!
//! ```text
//! Tc ← Tc + CIR Δt up to CBS; what it has no room for goes to Te, up to EBS       both full at first
//! L ≤ Tc            green     Tc ← Tc − L
//! else L ≤ Te       yellow    Te ← Te − L
//! else              red
//! ```
//!
//! with L the packet's size on the wire, headers included. A red packet is dropped, unless set otherwise; a yellow one
//! passes, gets CE, becomes lower effort (RFC 8622), or is dropped. In color-aware mode a packet that an earlier stage
//! made lower effort is yellow already: it is never green.

use super::by_user::ByUser;
use super::conex_policer::Buckets;
use super::three_colours::{Colour, ColourAction, Counts, Fill, Pair};
use super::{Capabilities, Passage, Passing, Stage};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::ParameterError;
use crate::units::{Bytes, Rate, Time};

parameters! {
    /// Single rate three color marker: green up to a committed burst, yellow up to an excess burst, else red.
    pub struct SrtcmParams {
        /// CIR: committed information rate, headers included.
        pub rate: Rate,
        /// CBS: committed burst size.
        pub burst: Bytes = "100 kB",
        /// EBS: excess burst size; 0 B for none.
        pub excess_burst: Bytes = "100 kB",
        /// What happens to yellow packets.
        pub yellow: ColourAction = "pass",
        /// What happens to red packets.
        pub red: ColourAction = "drop",
        /// Whether a packet that an earlier stage made lower effort is at least yellow: color-aware mode.
        pub color_aware: bool = "false",
        /// Owner of a bucket.
        pub buckets: Buckets = "by-user",
    }
    check SrtcmParams::errors;
}

impl SrtcmParams {
    fn errors(&self) -> Vec<ParameterError> {
        let none = self.burst == Bytes::ZERO;
        none.then(|| ("burst", "0 B would pass nothing".to_owned())).into_iter().collect()
    }

    fn depths(&self) -> [(&'static str, Bytes); 2] {
        [("burst", self.burst), ("excess_burst", self.excess_burst)]
    }

    /// What the committed bucket has no room for goes into the excess bucket.
    fn fill(&self, account: &mut Pair, now: Time) {
        let more = Fill::in_time(self.rate, now.since(account.last));
        account.last = account.last.max(now);
        let [committed, excess] = &mut account.fills;
        let rest = committed.add(more, Fill::of(self.burst));
        excess.add(rest, Fill::of(self.excess_burst));
    }
}

/// State of one marker.
#[derive(Clone, Debug)]
pub struct Srtcm {
    params: SrtcmParams,
    accounts: ByUser<Pair>,
    counts: Counts,
}

impl Stage for Srtcm {
    type Params = SrtcmParams;

    const ABOUT: About = About {
        name: "srtcm",
        title: "Single rate three color marker (srTCM)",
        source: "RFC 2697",
        usage: r#"users.NAME.ingress = [{ kind = "srtcm", rate = "15 Mb/s", burst = "75 kB", excess_burst = "150 kB" }]"#,
        file: "stage/srtcm.rs",
        text: crate::mechanism::source_text!("srtcm.rs"),
    };

    const CAPABILITIES: Capabilities =
        Capabilities { writes_header: true, has_levels: true, ..Capabilities::NONE };

    fn new(params: SrtcmParams) -> Self {
        Srtcm { params, accounts: ByUser::new(), counts: Counts::new() }
    }

    fn validate(params: &SrtcmParams, packet: Bytes) -> Option<ParameterError> {
        let small =
            params.depths().into_iter().find(|(_, depth)| *depth != Bytes::ZERO && *depth < packet);
        small.map(|(key, depth)| {
            (key, format!("{} B do not hold a packet, of {} B", depth.get(), packet.get()))
        })
    }

    fn deprioritises(params: &SrtcmParams) -> bool {
        [params.yellow, params.red].contains(&ColourAction::Deprioritise)
    }

    fn pass(&mut self, packet: &mut Passing, _draw: impl FnMut() -> f64) -> Passage {
        let actions = [self.params.yellow, self.params.red];
        let colour = self.colour(packet);
        self.counts.treat(packet, colour, actions)
    }

    fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        self.counts.each(each);
    }

    fn state_bytes(&self) -> usize {
        self.accounts.state_bytes()
    }

    fn levels(&self, user: u32, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        if let Some(account) = self.accounts.get(self.params.buckets.account_of(user)) {
            let mut account = *account;
            self.params.fill(&mut account, now);
            each("fill_bytes", account.fills[0].as_bytes());
        }
    }
}

impl Srtcm {
    /// Returns the colour of a packet, and takes its size from the bucket that has it.
    fn colour(&mut self, packet: &Passing) -> Colour {
        let (params, now, size) = (&self.params, packet.now, Fill::of(packet.len));
        let full = || Pair { fills: params.depths().map(|(_, depth)| Fill::of(depth)), last: now };
        let account = self.accounts.of(params.buckets.account_of(packet.user), full);
        params.fill(account, now);
        let is_yellow = params.color_aware && packet.lower_effort;
        let buckets = account.fills.iter_mut().zip([Colour::Green, Colour::Yellow]);
        for (fill, colour) in buckets.skip(is_yellow.into()) {
            if fill.holds(size) {
                fill.take(size);
                return colour;
            }
        }
        Colour::Red
    }
}

#[cfg(test)]
mod tests {
    use super::super::Ecn;
    use super::*;
    use crate::units::Span;

    /// Returns the colours of packets of 1500 B at these times in ms: green, yellow, red.
    fn colours(marker: &mut Srtcm, at_ms: impl IntoIterator<Item = u64>) -> [usize; 3] {
        let mut counts = [0; 3];
        for ms in at_ms {
            let now = Time::ZERO + Span::from_millis(ms);
            counts[marker.colour(&Passing { now, ..Passing::of_user(0) }) as usize] += 1;
        }
        counts
    }

    fn marker() -> Srtcm {
        Srtcm::new(SrtcmParams {
            rate: Rate::mbps(12),
            burst: Bytes::new(15_000),
            excess_burst: Bytes::new(6_000),
            yellow: ColourAction::Pass,
            red: ColourAction::Drop,
            color_aware: false,
            buckets: Buckets::ByUser,
        })
    }

    /// RFC 2697, section 3, by hand: 10 and 4 packets at once; a packet is committed each millisecond; after a pause the
    /// committed bucket fills first.
    #[test]
    fn packets_are_green_then_yellow_then_red() {
        let mut marker = marker();
        assert_eq!(colours(&mut marker, [0; 20]), [10, 4, 6]);
        assert_eq!(colours(&mut marker, (1..=50).flat_map(|ms| [ms; 2])), [50, 0, 50]);
        assert_eq!(colours(&mut marker, [62; 20]), [10, 2, 8]);
    }

    /// RFC 2697, section 3: a yellow packet takes from the excess bucket alone.
    #[test]
    fn a_packet_of_lower_effort_is_never_green_in_color_aware_mode() {
        let lower = Passing { lower_effort: true, ..Passing::of_user(0) };
        let mut marker = marker();
        marker.params.color_aware = true;
        let colours: Vec<_> = (0..5).map(|_| marker.colour(&lower)).collect();
        assert_eq!(colours, [[Colour::Yellow; 4].as_slice(), &[Colour::Red]].concat());
        assert_eq!(marker.colour(&Passing::of_user(0)), Colour::Green);
    }

    #[test]
    fn red_packets_are_dropped_and_yellow_ones_may_be_marked() {
        let mut marker = marker();
        marker.params.yellow = ColourAction::Mark;
        let mut fates = Vec::new();
        for _ in 0..15 {
            let mut packet = Passing { ecn: Ecn::Ect0, ..Passing::of_user(0) };
            fates.push((marker.pass(&mut packet, || 0.0), packet.ecn));
        }
        assert_eq!(fates[9], (Passage::On, Ecn::Ect0));
        assert_eq!(fates[10], (Passage::On, Ecn::Ce));
        assert_eq!(fates[14].0, Passage::Drop("red"));
        let mut counts = Vec::new();
        Stage::counts(&marker, &mut |_, name, count| counts.push((name, count)));
        assert_eq!(counts[0], ("green_packets", 10));
        assert_eq!(counts[5], ("red_bytes", 1_500));
    }
}
