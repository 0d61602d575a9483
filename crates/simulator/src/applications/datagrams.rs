//! Applications that need nothing but datagrams. The same code runs in a simulation and on real sockets: what
//! carries its datagrams is a parameter.

use tidegate_mechanisms::units::{Bytes, Time};
use tidegate_scenario::plan::FlowPlan;

use super::calls::Calls;
use super::frames::Frames;
use super::site::Site;
use super::{Datagram, End, System};
use crate::random::Stream;

/// What carries the datagrams of a flow, at the moment of an event.
pub trait Carrier {
    /// The present. It never goes back.
    fn now(&self) -> Time;

    /// One end sends a datagram of so many bytes on the wire, ECN-capable or not. `number` fits 48 bits.
    fn send_datagram(&mut self, from: End, number: u64, size: Bytes, ecn: bool);

    /// Asks to be woken. There is no cancelling: whoever is woken looks whether it still matters.
    fn wake_at(&mut self, at: Time);

    /// The application's own random numbers: those of [`random_of`].
    fn random(&mut self) -> &mut Stream;

    /// What the gateway of the flow's site knows, which is that of its user group.
    fn site(&mut self) -> &mut Site;
}

/// The random numbers of an application of this name, in the run with this seed.
pub fn random_of(seed: u64, flow: u32, name: &str) -> Stream {
    Stream::new(seed, &format!("flow/{flow}/{name}"))
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
    fn heard(&mut self, at: End, datagram: Datagram, carrier: &mut impl Carrier);

    /// The measured time begins.
    fn measure(&mut self, now: Time);

    /// What it has to tell of itself at the end of the measured time.
    fn tells(&self, now: Time, each: &mut dyn FnMut(&'static str, f64));

    /// What it has at a moment that is sampled.
    fn shows(&self, each: &mut dyn FnMut(&'static str, f64));
}

impl<A: OverDatagrams> super::Application for A {
    const NAME: &'static str = <A as OverDatagrams>::NAME;

    fn of(flow: &FlowPlan) -> Option<Self> {
        <A as OverDatagrams>::of(flow)
    }

    fn listens(&self) -> bool {
        self.listens()
    }

    fn start(&mut self, system: &mut System) {
        self.start(system);
    }

    fn wake(&mut self, system: &mut System) {
        self.wake(system);
    }

    fn heard(&mut self, at: End, datagram: Datagram, system: &mut System) {
        self.heard(at, datagram, system);
    }

    fn measure(&mut self, now: Time) {
        self.measure(now);
    }

    fn tells(&self, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        self.tells(now, each);
    }

    fn shows(&self, each: &mut dyn FnMut(&'static str, f64)) {
        self.shows(each);
    }
}

/// The application of a flow that needs nothing but datagrams, for hosts outside a simulation.
pub enum DatagramApplication {
    /// A film.
    Frames(Box<Frames>),
    /// Calls.
    Calls(Box<Calls>),
}

/// Asks it, whichever it is.
macro_rules! of_either {
    ($application:expr, $own:ident => $answer:expr) => {
        match $application {
            DatagramApplication::Frames($own) => $answer,
            DatagramApplication::Calls($own) => $answer,
        }
    };
}

impl DatagramApplication {
    /// The application of a flow; `None` if the flow's needs more than datagrams.
    pub fn of(flow: &FlowPlan) -> Option<Self> {
        let frames = Frames::of(flow).map(|own| DatagramApplication::Frames(Box::new(own)));
        frames.or_else(|| Some(DatagramApplication::Calls(Box::new(Calls::of(flow)?))))
    }

    /// The random numbers that it has in the run with this seed: the same in a simulation.
    pub fn random(&self, seed: u64, flow: u32) -> Stream {
        let name = match self {
            DatagramApplication::Frames(_) => Frames::NAME,
            DatagramApplication::Calls(_) => Calls::NAME,
        };
        random_of(seed, flow, name)
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

    /// See [`OverDatagrams::heard`].
    pub fn heard(&mut self, at: End, datagram: Datagram, carrier: &mut impl Carrier) {
        of_either!(self, own => own.heard(at, datagram, carrier));
    }

    /// See [`OverDatagrams::measure`].
    pub fn measure(&mut self, now: Time) {
        of_either!(self, own => own.measure(now));
    }

    /// See [`OverDatagrams::tells`].
    pub fn tells(&self, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        of_either!(self, own => own.tells(now, each));
    }

    /// See [`OverDatagrams::shows`].
    pub fn shows(&self, each: &mut dyn FnMut(&'static str, f64)) {
        of_either!(self, own => own.shows(each));
    }
}
