//! Two rate three color marker (trTCM): a committed and a peak rate, each with a burst. RFC 2698, with what
//! happens to each colour.
//!
//! ```text
//! Tc ← Tc + CIR Δt up to CBS,   Tp ← Tp + PIR Δt up to PBS       both full at first
//! L > Tp            red
//! else L > Tc       yellow    Tp ← Tp − L
//! else              green     Tp ← Tp − L,  Tc ← Tc − L
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
    /// Two rate three color marker: green up to a committed rate, yellow up to a peak rate, else red.
    pub struct TrtcmParams {
        /// CIR: committed information rate, headers included.
        pub rate: Rate,
        /// CBS: committed burst size.
        pub burst: Bytes = "100 kB",
        /// PIR: peak information rate.
        pub peak_rate: Rate,
        /// PBS: peak burst size.
        pub peak_burst: Bytes = "100 kB",
        /// What happens to yellow packets.
        pub yellow: ColourAction = "pass",
        /// What happens to red packets.
        pub red: ColourAction = "drop",
        /// Whether a packet that an earlier stage made lower effort is at least yellow: color-aware mode.
        pub color_aware: bool = "false",
        /// Owner of a bucket.
        pub buckets: Buckets = "by-user",
    }
    check TrtcmParams::errors;
}

impl TrtcmParams {
    fn errors(&self) -> Vec<ParameterError> {
        let mut errors = Vec::new();
        for (key, depth) in self.depths() {
            if depth == Bytes::ZERO {
                errors.push((key, "0 B would pass nothing".to_owned()));
            }
        }
        if self.peak_rate < self.rate {
            errors.push(("peak_rate", "is below rate".to_owned()));
        }
        errors
    }

    fn depths(&self) -> [(&'static str, Bytes); 2] {
        [("burst", self.burst), ("peak_burst", self.peak_burst)]
    }

    fn fill(&self, account: &mut Pair, now: Time) {
        let elapsed = now.since(account.last);
        account.last = account.last.max(now);
        let rates = [self.rate, self.peak_rate];
        for ((fill, rate), (_, depth)) in account.fills.iter_mut().zip(rates).zip(self.depths()) {
            fill.add(Fill::in_time(rate, elapsed), Fill::of(depth));
        }
    }
}

/// State of one marker.
#[derive(Clone, Debug)]
pub struct Trtcm {
    params: TrtcmParams,
    accounts: ByUser<Pair>,
    counts: Counts,
}

impl Stage for Trtcm {
    type Params = TrtcmParams;

    const ABOUT: About = About {
        name: "trtcm",
        title: "Two rate three color marker (trTCM)",
        source: "RFC 2698",
        usage: r#"users.NAME.ingress = [{ kind = "trtcm", rate = "10 Mb/s", peak_rate = "20 Mb/s" }]"#,
        file: "stage/trtcm.rs",
        text: crate::mechanism::source_text!("trtcm.rs"),
    };

    const CAPABILITIES: Capabilities =
        Capabilities { writes_header: true, has_levels: true, ..Capabilities::NONE };

    fn new(params: TrtcmParams) -> Self {
        Trtcm { params, accounts: ByUser::new(), counts: Counts::new() }
    }

    fn validate(params: &TrtcmParams, packet: Bytes) -> Option<ParameterError> {
        let small =
            params.depths().into_iter().find(|(_, depth)| *depth != Bytes::ZERO && *depth < packet);
        small.map(|(key, depth)| {
            (key, format!("{} B do not hold a packet, of {} B", depth.get(), packet.get()))
        })
    }

    fn deprioritises(params: &TrtcmParams) -> bool {
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

impl Trtcm {
    /// Returns the colour of a packet, and takes its size from the buckets.
    fn colour(&mut self, packet: &Passing) -> Colour {
        let (params, now, size) = (&self.params, packet.now, Fill::of(packet.len));
        let full = || Pair { fills: params.depths().map(|(_, depth)| Fill::of(depth)), last: now };
        let account = self.accounts.of(params.buckets.account_of(packet.user), full);
        params.fill(account, now);
        let [committed, peak] = &mut account.fills;
        if !peak.holds(size) {
            return Colour::Red;
        }
        peak.take(size);
        if (params.color_aware && packet.lower_effort) || !committed.holds(size) {
            return Colour::Yellow;
        }
        committed.take(size);
        Colour::Green
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    fn marker() -> Trtcm {
        Trtcm::new(TrtcmParams {
            rate: Rate::mbps(12),
            burst: Bytes::new(6_000),
            peak_rate: Rate::mbps(24),
            peak_burst: Bytes::new(15_000),
            yellow: ColourAction::Pass,
            red: ColourAction::Drop,
            color_aware: false,
            buckets: Buckets::ByUser,
        })
    }

    /// RFC 2698, section 3, by hand: 4 packets at once are green and 6 more below the peak burst yellow; then 12 Mb/s green
    /// and 12 Mb/s yellow of 36 Mb/s.
    #[test]
    fn packets_are_green_up_to_the_rate_and_yellow_up_to_the_peak_rate() {
        let mut marker = marker();
        let mut colours = |at_ms: &mut dyn Iterator<Item = u64>| {
            let mut counts = [0; 3];
            for ms in at_ms {
                let now = Time::ZERO + Span::from_millis(ms);
                counts[marker.colour(&Passing { now, ..Passing::of_user(0) }) as usize] += 1;
            }
            counts
        };
        assert_eq!(colours(&mut [0; 20].into_iter()), [4, 6, 10]);
        assert_eq!(colours(&mut (1..=50).flat_map(|ms| [ms; 3])), [50, 50, 50]);
    }
    /// RFC 2698, section 3: a yellow packet takes from the peak bucket alone.
    #[test]
    fn a_packet_of_lower_effort_is_never_green_in_color_aware_mode() {
        let lower = Passing { lower_effort: true, ..Passing::of_user(0) };
        let mut marker = marker();
        marker.params.color_aware = true;
        let colours: Vec<_> = (0..6).map(|_| marker.colour(&lower)).collect();
        assert_eq!(colours, [Colour::Yellow; 6]);
        let colours: Vec<_> = (0..5).map(|_| marker.colour(&Passing::of_user(0))).collect();
        assert_eq!(colours, [[Colour::Green; 4].as_slice(), &[Colour::Red]].concat());
    }
}
