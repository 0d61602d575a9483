//! Detection of the end of slow start before a loss.

use super::Ack;
use super::hystart::{HyStart, HyStartParams};
use super::linux_hystart::{LinuxHyStart, LinuxHyStartParams};
use crate::mechanism::About;
use crate::parameters::{Parameters, choices};

/// Detector of the end of slow start.
pub trait WatchSlowStart: Sized {
    /// Parameters.
    type Params: Parameters;

    /// Description for the registry.
    const ABOUT: About;

    /// Returns the detector before the first ACK.
    fn new(params: &Self::Params) -> Self;

    /// Evaluates an ACK in slow start, before the window grows.
    fn on_ack(&mut self, ack: &Ack, cwnd: f64) -> SlowStartAction;
}

/// Action of a detector on an ACK in slow start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SlowStartAction {
    /// Segments to add to cwnd; `None` leaves that to the controller.
    pub segments: Option<f64>,
    /// Whether slow start ends here: set ssthresh to cwnd.
    pub exit: bool,
}

/// Declares the detectors, one line each.
macro_rules! slow_start_exits {
    ($($name:ident($params:ident);)+) => {
        choices! {
            /// Condition that ends slow start before a loss does.
            pub enum SlowStartExit as SlowStartExit in Sender by WatchSlowStart {
                /// Nothing: the first loss ends it.
                Loss = "loss";
                $($name($params);)+
            }
        }

        /// Detector in use, boxed: most connections have left slow start, or use none.
        #[derive(Clone, Debug)]
        pub enum Detector {
            /// No detector.
            Off,
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name(Box<$name>),)+
        }

        impl Detector {
            /// Returns the detector of a new connection.
            pub fn new(exit: &SlowStartExit) -> Self {
                match exit {
                    SlowStartExit::Loss => Detector::Off,
                    $(SlowStartExit::$name(params) => Detector::$name(Box::new($name::new(params))),)+
                }
            }

            /// See [`WatchSlowStart::on_ack`].
            #[inline]
            pub fn on_ack(&mut self, ack: &Ack, cwnd: f64) -> SlowStartAction {
                match self {
                    Detector::Off => SlowStartAction::default(),
                    $(Detector::$name(own) => own.on_ack(ack, cwnd),)+
                }
            }
        }
    };
}

slow_start_exits! {
    HyStart(HyStartParams);
    LinuxHyStart(LinuxHyStartParams);
}
