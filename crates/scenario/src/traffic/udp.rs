//! UDP with random sizes and intervals.

use tidegate_mechanisms::parameters;
use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{Bytes, Rate, Span};

use super::packet_stream::{PacketStream, Turns, UDP_HEADERS, or_full, time_at};
use super::{TrafficParams, Variation};

parameters! {
    /// UDP packets at random intervals, by default a Poisson process, of one size or of random sizes; always, or by turns
    /// with silence (on and off).
    pub struct Udp {
        /// Mean bits on the wire per second; with on and off, while on.
        pub rate: Rate,
        /// Mean bytes on the wire of what is sent at a time. More than a full packet is sent in several, back to back.
        /// Default: a full packet.
        pub size: Option<Bytes>,
        /// How the size varies.
        pub sizes: Variation = "fixed",
        /// How the intervals vary: exponentially distributed is a Poisson process.
        pub intervals: Variation = "exponential",
        /// Mean duration of on. Default: always on.
        pub on: Option<Span>,
        /// How the duration of on varies.
        pub on_times: Variation = "exponential",
        /// Mean duration of off.
        pub off: Option<Span>,
        /// How the duration of off varies.
        pub off_times: Variation = "exponential",
        /// Packets are ECN-capable, ECT(0). The sender ignores marks.
        pub ecn: bool = "false",
        /// Time during which the flow sends. Default: to the end of the run.
        pub lasts: Option<Span>,
    }
    check can_be_sent;
}

fn can_be_sent(udp: &Udp) -> Vec<ParameterError> {
    let no_time = |span: Option<Span>| span == Some(Span::ZERO);
    let checks = [
        (
            udp.size.is_some_and(|size| size.as_f64() < UDP_HEADERS),
            "size",
            "has at least the headers, 28 B",
        ),
        (udp.on.is_some() && udp.off.is_none(), "off", "is missing: write how long it is silent"),
        (udp.off.is_some() && udp.on.is_none(), "on", "is missing: write how long it sends"),
        (no_time(udp.on), "on", "must not be zero"),
        (no_time(udp.off), "off", "must not be zero; without on and off it sends always"),
    ];
    let failed = checks.into_iter().filter(|(fails, ..)| *fails);
    failed.map(|(_, key, message)| (key, message.to_owned())).collect()
}

impl TrafficParams for Udp {
    fn is_over_tcp(&self) -> bool {
        false
    }

    fn packet_stream(&self, full: Bytes) -> Option<PacketStream> {
        let size = or_full(self.size, full);
        let turns = self.on.zip(self.off).map(|(on, off)| Turns {
            on,
            on_times: self.on_times.clone(),
            off,
            off_times: self.off_times.clone(),
        });
        Some(PacketStream {
            sizes: self.sizes.clone(),
            intervals: self.intervals.clone(),
            turns,
            ecn: self.ecn,
            lasts: self.lasts,
            ..PacketStream::of(size, time_at(size, self.rate))
        })
    }
}
