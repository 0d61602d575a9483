//! Applications over datagrams, for hosts outside a simulation.

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::{FlowPlan, Plan};

use super::calls::Calls;
use super::carrier::{Carrier, OverDatagrams};
use super::frames::Frames;
use super::{Datagram, End};
use crate::random::Stream;

/// Application of a flow that needs only datagrams.
pub enum DatagramApplication {
    /// A video.
    Frames(Box<Frames>),
    /// Calls.
    Calls(Box<Calls>),
}

/// Dispatches to the variant.
macro_rules! of_either {
    ($application:expr, $own:ident => $answer:expr) => {
        match $application {
            DatagramApplication::Frames($own) => $answer,
            DatagramApplication::Calls($own) => $answer,
        }
    };
}

impl DatagramApplication {
    /// Returns the application of a flow; `None` if it needs more than datagrams.
    pub fn of(flow: &FlowPlan) -> Option<Self> {
        let frames = Frames::of(flow).map(|own| DatagramApplication::Frames(Box::new(own)));
        frames.or_else(|| Some(DatagramApplication::Calls(Box::new(Calls::of(flow)?))))
    }

    /// Returns its random stream in the run with this seed, the same as in a simulation.
    pub fn random(&self, seed: u64, plan: &Plan, flow: usize) -> Stream {
        let name = match self {
            DatagramApplication::Frames(_) => Frames::NAME,
            DatagramApplication::Calls(_) => Calls::NAME,
        };
        Stream::of_flow(seed, plan, flow, name)
    }

    /// See [`OverDatagrams::listens`].
    pub fn listens(&self) -> bool {
        of_either!(self, own => own.listens())
    }

    /// See [`OverDatagrams::start`].
    pub fn start(&mut self, carrier: &mut impl Carrier) {
        of_either!(self, own => own.start(carrier));
    }

    /// See [`OverDatagrams::wake`].
    pub fn wake(&mut self, carrier: &mut impl Carrier) {
        of_either!(self, own => own.wake(carrier));
    }

    /// See [`OverDatagrams::on_datagram`].
    pub fn on_datagram(&mut self, at: End, datagram: Datagram, carrier: &mut impl Carrier) {
        of_either!(self, own => own.on_datagram(at, datagram, carrier));
    }

    /// See [`OverDatagrams::measure`].
    pub fn measure(&mut self, now: Time) {
        of_either!(self, own => own.measure(now));
    }

    /// See [`OverDatagrams::metrics`].
    pub fn metrics(&self, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        of_either!(self, own => own.metrics(now, each));
    }

    /// See [`OverDatagrams::shows`].
    pub fn shows(&self, each: &mut dyn FnMut(&'static str, f64)) {
        of_either!(self, own => own.shows(each));
    }
}
