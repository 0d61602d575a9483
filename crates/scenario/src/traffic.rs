//! Traffic: applications of a scenario, each declared in a file of its own.
//!
//! Engines implement them: see the applications of the simulator and the load of the lab.

mod arrival_times;
mod calls;
mod cbr;
mod flow_sizes;
mod frame_sizes;
mod frames;
mod gaming;
mod greedy;
mod on_off;
mod packet_stream;
mod pages;
mod short_flows;
mod transfer;
mod udp;
mod variation;
mod video;
mod video_call;
mod voip;

use tidegate_mechanisms::parameters::Parameters;
use tidegate_mechanisms::units::Bytes;
use tidegate_mechanisms::{choice, words};

pub use arrival_times::ArrivalTimes;
pub use calls::{
    Admission, AdmissionPlace, Calls, Counter, Gateway, MeasuredSum, NonProbing, Probing, Unknown,
};
pub use cbr::{Blind, BlindConex, Cbr, Codec, Reported, ReportedReEcn};
pub use flow_sizes::{CdfSizes, FlowSize, FlowSizes, LognormalSizes, ParetoSizes, SizePoints};
pub use frame_sizes::FrameSizes;
pub use frames::{
    Adaptation, Frames, Increase, MpegModel, Patience, PriceAdaptation, Quality, Updates,
    VideoModel,
};
pub use gaming::{GameSide, Gaming};
pub use greedy::Greedy;
pub use on_off::OnOff;
pub use packet_stream::{PacketStream, Turns};
pub use pages::{Fetching, Pages};
pub use short_flows::{PacketSizes, ShortFlows};
pub use transfer::{PausePlan, Transfer, WritesPlan};
pub use udp::Udp;
pub use variation::{
    GumbelVariation, LognormalVariation, ParetoVariation, UniformVariation, Variation,
    WeibullVariation,
};
pub use video::Video;
pub use video_call::VideoCall;
pub use voip::{Silence, VoiceCodec, Voip};

words! {
    /// Distribution of a time.
    pub enum Distribution {
        /// Always the same.
        Fixed = "fixed",
        /// Exponentially distributed.
        Exponential = "exponential",
    }
}

/// Parameters of an application.
pub trait TrafficParams: Parameters {
    /// Whether it uses TCP, so that TCP options apply; else UDP.
    fn is_over_tcp(&self) -> bool {
        true
    }

    /// Whether it ends by itself, so that a run waits for it.
    fn ends(&self) -> bool {
        false
    }

    /// Returns its packets, if it sends without feedback by a [`PacketStream`]; `full` is a full packet on the wire.
    fn packet_stream(&self, full: Bytes) -> Option<PacketStream> {
        let _ = full;
        None
    }
}

/// Declares the applications, one line each.
macro_rules! applications {
    ($($name:ident = $kind:literal;)+) => {
        choice! {
            /// Traffic of a flow.
            pub enum Traffic as Traffic {
                $($name($name) = $kind;)+
            }
        }

        impl Traffic {
            /// See [`TrafficParams::is_over_tcp`].
            pub fn is_over_tcp(&self) -> bool {
                match self {
                    $(Traffic::$name(own) => own.is_over_tcp(),)+
                }
            }

            /// See [`TrafficParams::ends`].
            pub fn ends(&self) -> bool {
                match self {
                    $(Traffic::$name(own) => own.ends(),)+
                }
            }

            /// See [`TrafficParams::packet_stream`].
            pub fn packet_stream(&self, full: Bytes) -> Option<PacketStream> {
                match self {
                    $(Traffic::$name(own) => own.packet_stream(full),)+
                }
            }
        }
    };
}

applications! {
    Greedy = "greedy";
    Transfer = "transfer";
    Cbr = "cbr";
    OnOff = "on-off";
    ShortFlows = "short-flows";
    Video = "video";
    Frames = "frames";
    Calls = "calls";
    Pages = "pages";
    Udp = "udp";
    Voip = "voip";
    Gaming = "gaming";
    VideoCall = "video-call";
}
