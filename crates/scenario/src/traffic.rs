//! Traffic: applications of a scenario, each declared in a file of its own.
//!
//! Engines implement them: see the applications of the simulator and the load of the lab.

mod calls;
mod cbr;
mod frame_sizes;
mod frames;
mod greedy;
mod on_off;
mod pages;
mod short_flows;
mod transfer;
mod video;

use tidegate_mechanisms::parameters::Parameters;
use tidegate_mechanisms::{choice, words};

pub use calls::{
    Admission, AdmissionPlace, Calls, Counter, Gateway, MeasuredSum, NonProbing, Probing, Unknown,
};
pub use cbr::{Blind, BlindConex, BlindReEcn, Cbr, Codec};
pub use frame_sizes::FrameSizes;
pub use frames::{
    Adaptation, Frames, Increase, MpegModel, Patience, PriceAdaptation, Quality, Updates,
    VideoModel,
};
pub use greedy::Greedy;
pub use on_off::OnOff;
pub use pages::{Fetching, Pages};
pub use short_flows::ShortFlows;
pub use transfer::{PausePlan, Transfer, WritesPlan};
pub use video::Video;

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
}
