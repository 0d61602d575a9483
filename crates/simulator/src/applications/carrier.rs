//! What applications that need nothing but datagrams stand on. The same code runs in a simulation and on real sockets:
//! what carries its datagrams is a parameter.

use tidegate_mechanisms::units::{Bytes, Time};
use tidegate_scenario::plan::FlowPlan;

use super::site::Site;
use super::{Datagram, End};
use crate::random::Stream;
use crate::stop::Excess;

/// What carries the datagrams of a flow, at the moment of an event.
pub trait Carrier {
    /// The present. It never goes back.
    fn now(&self) -> Time;

    /// One end sends a datagram of so many bytes on the wire, ECN-capable or not. `number` fits 48 bits.
    fn send_datagram(&mut self, from: End, number: u64, size: Bytes, ecn: bool);

    /// Asks to be woken. There is no cancelling: whoever is woken looks whether it still matters.
    fn wake_at(&mut self, at: Time);

    /// The application's own random numbers: those of its flow under its name.
    fn random(&mut self) -> &mut Stream;

    /// What the gateway of the flow's site knows, which is that of its user group.
    fn site(&mut self) -> &mut Site;

    /// There is no room for what the application would hold. A simulation stops, which does not come back; on real sockets
    /// time passes instead.
    fn run_out(&mut self, excess: Excess) {
        let _ = excess;
    }
}

/// An application that sends and hears datagrams, as [`Application`](super::Application) has it.
pub trait OverDatagrams: Sized {
    /// Its name in the names of random streams.
    const NAME: &'static str;

    /// The application of a flow; `None` if the flow's is another.
    fn of(flow: &FlowPlan) -> Option<Self>;

    /// Whether it acts on what arrives.
    fn listens(&self) -> bool;

    /// The flow starts.
    fn start(&mut self, carrier: &mut impl Carrier);

    /// A moment that it asked to be woken at has come.
    fn wake(&mut self, carrier: &mut impl Carrier);

    /// A datagram has arrived at one end; told if it listens.
    fn on_datagram(&mut self, at: End, datagram: Datagram, carrier: &mut impl Carrier);

    /// The measured time begins.
    fn measure(&mut self, now: Time);

    /// What it has to tell of itself at the end of the measured time.
    fn metrics(&self, now: Time, each: &mut dyn FnMut(&'static str, f64));

    /// What it has at a moment that is sampled.
    fn shows(&self, each: &mut dyn FnMut(&'static str, f64));
}
