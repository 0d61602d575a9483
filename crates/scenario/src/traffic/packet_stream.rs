//! Packets that a source sends over UDP without feedback: the parts from which the kinds of such traffic are made.

use tidegate_mechanisms::units::{Bytes, Rate, Span};

use super::{Codec, Variation};

/// Packets of random sizes at random intervals, always or by turns with silence.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketStream {
    /// Mean bits on the wire of what is sent at a time; more than a full packet is sent in several.
    pub mean_bits: f64,
    /// How that varies.
    pub sizes: Variation,
    /// Mean time from one to the next.
    pub interval: Span,
    /// How that varies.
    pub intervals: Variation,
    /// Turns of sending and silence; `None` to send always.
    pub turns: Option<Turns>,
    /// Packets are ECN-capable, ECT(0).
    pub ecn: bool,
    /// Time during which the flow sends; `None` for the whole run.
    pub lasts: Option<Span>,
    /// Codec, of a call for which the E-model has parameters.
    pub codec: Option<Codec>,
}

/// Turns of sending and silence.
#[derive(Clone, Debug, PartialEq)]
pub struct Turns {
    /// Mean duration of sending.
    pub on: Span,
    /// How that varies.
    pub on_times: Variation,
    /// Mean duration of silence.
    pub off: Span,
    /// How that varies.
    pub off_times: Variation,
}

impl PacketStream {
    /// Always sends packets of this mean size at this mean interval.
    pub(super) fn of(mean: f64, interval: Span) -> Self {
        PacketStream {
            mean_bits: 8.0 * mean,
            sizes: Variation::Fixed,
            interval,
            intervals: Variation::Fixed,
            turns: None,
            ecn: false,
            lasts: None,
            codec: None,
        }
    }

    /// Returns the mean rate over sending and silence, bit/s.
    pub fn mean_bps(&self) -> f64 {
        let on = self
            .turns
            .as_ref()
            .map_or(1.0, |turns| turns.on.as_secs() / (turns.on.as_secs() + turns.off.as_secs()));
        on * self.mean_bits / self.interval.as_secs()
    }
}

/// Headers of IPv4 and UDP, bytes.
pub(super) const UDP_HEADERS: f64 = 28.0;
/// Headers of IPv4, UDP and RTP, bytes.
pub(super) const RTP_HEADERS: f64 = 40.0;

/// Returns the time that a size takes at a rate.
pub(super) fn time_at(size: f64, rate: Rate) -> Span {
    Span::from_secs_f64(8.0 * size / rate.as_bps() as f64)
}

/// Returns the mean size of packets, or that of a full one.
pub(super) fn or_full(size: Option<Bytes>, full: Bytes) -> f64 {
    size.unwrap_or(full).as_f64()
}
