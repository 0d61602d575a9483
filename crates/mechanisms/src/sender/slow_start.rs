//! How slow start ends before packets are lost.

use super::{Ack, HyStart, LinuxHyStart};

/// What watches over slow start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlowStartExit {
    /// Nothing: the first loss ends it.
    #[default]
    Loss,
    /// HyStart++ (RFC 9406), over the first slow start of a connection.
    Rfc9406,
    /// Linux's HyStart, over every slow start from nothing.
    Linux,
}

/// One of them at work.
#[derive(Clone, Debug)]
pub enum Detector {
    /// Nothing.
    Off,
    /// HyStart++.
    Rfc9406(HyStart),
    /// Linux's HyStart.
    Linux(LinuxHyStart),
}

/// What a detector says about an ACK in slow start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Opinion {
    /// Segments to add to cwnd, where that is not left to the controller.
    pub segments: Option<f64>,
    /// Whether slow start ends here: set ssthresh to cwnd.
    pub exit: bool,
}

impl Detector {
    /// A detector for a new connection.
    pub fn new(exit: SlowStartExit) -> Self {
        match exit {
            SlowStartExit::Loss => Detector::Off,
            SlowStartExit::Rfc9406 => Detector::Rfc9406(HyStart::default()),
            SlowStartExit::Linux => Detector::Linux(LinuxHyStart::default()),
        }
    }

    /// Judges an ACK in slow start, before the window grows.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack, cwnd: f64) -> Opinion {
        match self {
            Detector::Off => Opinion::default(),
            Detector::Rfc9406(hystart) => {
                let growth = hystart.on_ack(ack);
                Opinion { segments: Some(growth.segments), exit: growth.exit }
            }
            Detector::Linux(hystart) => Opinion { segments: None, exit: hystart.on_ack(ack, cwnd) },
        }
    }
}
