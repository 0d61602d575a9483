//! A video call: one direction of its picture.

use tidegate_mechanisms::parameters;
use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{Bytes, Factor, Rate, Span};

use super::packet_stream::PacketStream;
use super::variation::WeibullVariation;
use super::{TrafficParams, Variation};

parameters! {
    /// One direction of a video call's picture over RTP and UDP: frames at equal intervals, each sent at once in as many
    /// packets as it needs. Frame sizes have the Weibull distribution of IEEE 802.11-14/0571r12, "11ax evaluation
    /// methodology", table 5. Its rate does not adapt.
    pub struct VideoCall {
        /// Mean bits on the wire per second.
        pub rate: Rate = "2 Mb/s",
        /// Time between two frames.
        pub frame_interval: Span = "33.333 ms",
        /// Packets are ECN-capable, ECT(0). The sender ignores marks.
        pub ecn: bool = "false",
        /// Time during which the flow sends. Default: to the end of the run.
        pub lasts: Option<Span>,
    }
    check has_frames;
}

/// Minimum mean size of a frame, bytes.
const SMALLEST_FRAME: f64 = 100.0;

fn has_frames(own: &VideoCall) -> Vec<ParameterError> {
    if own.frame_interval == Span::ZERO {
        return vec![("frame_interval", "must be longer than 0 s".to_owned())];
    }
    let bytes = own.frame_bytes();
    let message =
        || format!("a frame would have {bytes:.0} B on average; it needs {SMALLEST_FRAME}");
    (bytes < SMALLEST_FRAME).then(|| ("rate", message())).into_iter().collect()
}

/// Shape k of the frame sizes: their coefficient of variation is 1.25.
const SHAPE: Factor = Factor(0.8099);

impl VideoCall {
    fn frame_bytes(&self) -> f64 {
        self.rate.as_bps() as f64 / 8.0 * self.frame_interval.as_secs()
    }
}

impl TrafficParams for VideoCall {
    fn is_over_tcp(&self) -> bool {
        false
    }

    fn packet_stream(&self, _full: Bytes) -> Option<PacketStream> {
        Some(PacketStream {
            sizes: Variation::Weibull(WeibullVariation { shape: SHAPE }),
            ecn: self.ecn,
            lasts: self.lasts,
            ..PacketStream::of(self.frame_bytes(), self.frame_interval)
        })
    }
}
