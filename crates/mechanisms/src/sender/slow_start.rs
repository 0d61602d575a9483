//! How slow start ends before packets are lost.

use super::Ack;
use super::hystart::{HyStart, HyStartParams};
use super::linux_hystart::{LinuxHyStart, LinuxHyStartParams};
use crate::mechanism::About;
use crate::parameters::{Parameters, choices};

/// What watches over slow start.
pub trait WatchSlowStart: Sized {
    /// What can be set.
    type Params: Parameters;

    /// What it is.
    const ABOUT: About;

    /// Before the first ACK.
    fn new(params: &Self::Params) -> Self;

    /// Judges an ACK in slow start, before the window grows.
    fn on_ack(&mut self, ack: &Ack, cwnd: f64) -> SlowStartAction;
}

/// What a detector says about an ACK in slow start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SlowStartAction {
    /// Segments to add to cwnd, where that is not left to the controller.
    pub segments: Option<f64>,
    /// Whether slow start ends here: set ssthresh to cwnd.
    pub exit: bool,
}

/// One line per way to end slow start.
macro_rules! slow_start_exits {
    ($($name:ident($params:ident);)+) => {
        choices! {
            /// What ends slow start before a loss does.
            pub enum SlowStartExit as SlowStartExit in Sender by WatchSlowStart {
                /// Nothing: the first loss ends it.
                Loss = "loss";
                $($name($params);)+
            }
        }

        /// One of them at work, in a box: most connections are past it, or have none.
        #[derive(Clone, Debug)]
        pub enum Detector {
            /// Nothing.
            Off,
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name(Box<$name>),)+
        }

        impl Detector {
            /// A detector for a new connection.
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
