//! What flows carry: an application for each, with a part at the sender and a part at the receiver.
//!
//! TCP takes a stream of bytes from it, over as many connections at once as it likes; UDP takes datagrams.
//! Events come in, and what an application wants done it asks of the [`System`] it runs on.

mod calls;
mod carried;
mod carrier;
mod cbr;
pub mod datagrams;
#[cfg(test)]
mod exchange;
mod frames;
mod greedy;
mod on_off;
mod pages;
mod short_flows;
pub mod site;
mod streams;
mod system;
mod transfer;
mod video;

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::FlowPlan;

pub use carrier::Carrier;
#[cfg(test)]
pub use exchange::{Exchange, Log};
pub use streams::feedback::path_price;
pub use system::{FlowRecord, Route, System, TransferRecord, add};

pub use crate::connections::{ConnectionId, End};

/// An application of one flow. What it does not care about it need not answer.
pub trait Application: Sized {
    /// Its name in the names of random streams.
    const NAME: &'static str;
    /// Whether it opens a connection while packets of another may be under way. What comes late may then find
    /// its connection gone, or not yet, which has to be decided when it arrives.
    const OVERLAPS: bool = false;

    /// The application of a flow; `None` if the flow's is another.
    fn of(flow: &FlowPlan) -> Option<Self>;

    /// Whether it acts on what arrives. What nobody acts on may be delivered ahead of time.
    fn listens(&self) -> bool {
        false
    }

    /// The flow starts.
    fn start(&mut self, system: &mut System);

    /// A moment that it asked to be woken at has come.
    fn wake(&mut self, _system: &mut System) {}

    /// So many bytes more have arrived in order at one end of a connection; told if it listens.
    fn arrived(&mut self, _at: End, _id: ConnectionId, _bytes: u64, _system: &mut System) {}

    /// Everything that one end of a connection was handed so far has been acknowledged.
    fn acknowledged(&mut self, _at: End, _id: ConnectionId, _system: &mut System) {}

    /// Everything that there was to send over a connection has been acknowledged: it is closed.
    fn closed(&mut self, _id: ConnectionId, _system: &mut System) {}

    /// A datagram has arrived at one end; told if it listens.
    fn on_datagram(&mut self, _at: End, _datagram: Datagram, _system: &mut System) {}

    /// The measured time begins: counts that are told at its end begin again.
    fn measure(&mut self, _now: Time) {}

    /// Whether a run waits for it to come to an end.
    fn is_awaited(&self) -> bool {
        false
    }

    /// Its transfers that are under way.
    fn unfinished(&self) -> Vec<TransferRecord> {
        Vec::new()
    }

    /// What it has to tell of itself at the end of the measured time: what, and how much of it.
    fn metrics(&self, _now: Time, _each: &mut dyn FnMut(&'static str, f64)) {}

    /// What it has at a moment that is sampled: what, and how much of it.
    fn shows(&self, _each: &mut dyn FnMut(&'static str, f64)) {}
}

/// A datagram that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    /// What its sender gave it as its number.
    pub number: u64,
    /// It has been marked.
    pub marked: bool,
}

/// What happens to an application: one for each of its methods.
#[derive(Clone, Copy, Debug)]
pub enum ApplicationEvent {
    /// See [`Application::start`].
    Start,
    /// See [`Application::wake`].
    Wake,
    /// See [`Application::arrived`].
    Arrived(End, ConnectionId, u64),
    /// See [`Application::acknowledged`].
    Acknowledged(End, ConnectionId),
    /// See [`Application::closed`].
    Closed(ConnectionId),
    /// See [`Application::on_datagram`].
    Received(End, Datagram),
}

impl ApplicationEvent {
    fn notify(self, application: &mut impl Application, system: &mut System) {
        match self {
            ApplicationEvent::Start => application.start(system),
            ApplicationEvent::Wake => application.wake(system),
            ApplicationEvent::Arrived(at, id, bytes) => application.arrived(at, id, bytes, system),
            ApplicationEvent::Acknowledged(at, id) => application.acknowledged(at, id, system),
            ApplicationEvent::Closed(id) => application.closed(id, system),
            ApplicationEvent::Received(at, datagram) => {
                application.on_datagram(at, datagram, system)
            }
        }
    }
}

/// Makes an enum of the applications, so that no event pays for the choice with an indirect call.
macro_rules! applications {
    ($( $(#[$attribute:meta])* $file:ident :: $name:ident; )+) => {
        /// The application of a flow, whichever it is.
        pub enum AnyApplication {
            $( $(#[$attribute])* #[doc = stringify!($name)] $name(Box<$file::$name>), )+
        }

        impl AnyApplication {
            /// The application of a flow.
            ///
            /// # Panics
            /// If none has this kind of traffic.
            pub fn of(flow: &FlowPlan) -> Self {
                $( $(#[$attribute])*
                if let Some(own) = $file::$name::of(flow) {
                    return AnyApplication::$name(Box::new(own));
                } )+
                panic!("no application sends {:?}", flow.traffic)
            }

            /// Whether the application of a flow acts on what arrives, and whether its connections overlap.
            pub fn will_listen_or_overlap(flow: &FlowPlan) -> (bool, bool) {
                $( $(#[$attribute])*
                if let Some(own) = $file::$name::of(flow) {
                    return (own.listens(), $file::$name::OVERLAPS);
                } )+
                (false, false)
            }

            /// See [`Application::NAME`].
            pub fn name(&self) -> &'static str {
                match self {
                    $( $(#[$attribute])* AnyApplication::$name(_) => $file::$name::NAME, )+
                }
            }

            /// See [`Application::listens`].
            pub fn listens(&self) -> bool {
                match self {
                    $( $(#[$attribute])* AnyApplication::$name(own) => own.listens(), )+
                }
            }

            /// See [`Application::measure`].
            pub fn measure(&mut self, now: Time) {
                match self {
                    $( $(#[$attribute])* AnyApplication::$name(own) => own.measure(now), )+
                }
            }

            /// See [`Application::is_awaited`].
            pub fn is_awaited(&self) -> bool {
                match self {
                    $( $(#[$attribute])* AnyApplication::$name(own) => own.is_awaited(), )+
                }
            }

            /// See [`Application::unfinished`].
            pub fn unfinished(&self) -> Vec<TransferRecord> {
                match self {
                    $( $(#[$attribute])* AnyApplication::$name(own) => own.unfinished(), )+
                }
            }

            /// See [`Application::tells`].
            pub fn metrics(&self, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
                match self {
                    $( $(#[$attribute])* AnyApplication::$name(own) => own.metrics(now, each), )+
                }
            }

            /// See [`Application::shows`].
            pub fn shows(&self, each: &mut dyn FnMut(&'static str, f64)) {
                match self {
                    $( $(#[$attribute])* AnyApplication::$name(own) => own.shows(each), )+
                }
            }

            /// Tells it what has happened.
            pub fn on_event(&mut self, event: ApplicationEvent, system: &mut System) {
                match self {
                    $( $(#[$attribute])*
                    AnyApplication::$name(own) => event.notify(own.as_mut(), system), )+
                }
            }
        }
    };
}

applications! {
    greedy::Greedy;
    transfer::Transfer;
    cbr::Cbr;
    on_off::OnOff;
    short_flows::ShortFlows;
    video::Video;
    frames::Frames;
    calls::Calls;
    pages::Pages;
    #[cfg(test)]
    exchange::Exchange;
}
