//! Applications of flows: each has a part at the sender and a part at the receiver.
//!
//! An application hands a stream of bytes to TCP, over any number of connections, or datagrams to UDP. It handles
//! events and acts through the [`System`] that it runs on.

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
mod packet_stream;
mod pages;
mod reported;
mod short_flows;
pub mod site;
mod streams;
mod system;
mod transfer;
pub mod video;

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::FlowPlan;

pub use carrier::{Carrier, StreamCarrier};
#[cfg(test)]
pub use exchange::{Exchange, Log};
pub use streams::feedback::path_price;
pub use streams::label::DatagramKind;
pub use system::{FlowRecord, Route, System, TransferRecord, add};

pub use crate::connections::{ConnectionId, End};

/// Application of one flow. Default methods ignore their events.
pub trait Application: Sized {
    /// Name in the names of random streams.
    const NAME: &'static str;
    /// Whether it opens a connection while packets of another may be in transit. The connection of a late packet may
    /// then be gone or not be established, which is decided on arrival.
    const OVERLAPS: bool = false;

    /// Returns the application of a flow; `None` if the flow has another.
    fn of(flow: &FlowPlan) -> Option<Self>;

    /// Whether it acts on arriving data. Otherwise, data may be delivered ahead of time.
    fn listens(&self) -> bool {
        false
    }

    /// Handles the start of the flow.
    fn start(&mut self, system: &mut System);

    /// Handles a requested wake-up.
    fn wake(&mut self, _system: &mut System) {}

    /// Handles further bytes delivered in order at one end of a connection; called only if it listens.
    fn arrived(&mut self, _at: End, _id: ConnectionId, _bytes: u64, _system: &mut System) {}

    /// Handles the acknowledgement of all data that one end of a connection has written so far.
    fn acknowledged(&mut self, _at: End, _id: ConnectionId, _system: &mut System) {}

    /// Handles the end of a connection: all its data are acknowledged.
    fn closed(&mut self, _id: ConnectionId, _system: &mut System) {}

    /// Handles a datagram that arrived at one end; called only if it listens.
    fn on_datagram(&mut self, _at: End, _datagram: Datagram, _system: &mut System) {}

    /// Starts the measured time: resets the counts reported at its end.
    fn measure(&mut self, _now: Time) {}

    /// Whether the run waits for it to finish.
    fn is_awaited(&self) -> bool {
        false
    }

    /// Returns its unfinished transfers.
    fn unfinished(&self) -> Vec<TransferRecord> {
        Vec::new()
    }

    /// Reports its metrics at the end of the measured time: name and value.
    fn metrics(&self, _now: Time, _each: &mut dyn FnMut(&'static str, f64)) {}

    /// Reports its state at a sampling time: name and value.
    fn shows(&self, _each: &mut dyn FnMut(&'static str, f64)) {}
}

/// Datagram that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    /// Number assigned by its sender.
    pub number: u64,
    /// Whether it is marked CE.
    pub marked: bool,
}

/// Event of an application: one variant for each of its methods.
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

/// Declares an enum of the applications, so that events are dispatched without an indirect call.
macro_rules! applications {
    ($( $(#[$attribute:meta])* $file:ident :: $name:ident; )+) => {
        /// Any application.
        pub enum AnyApplication {
            $( $(#[$attribute])* #[doc = stringify!($name)] $name(Box<$file::$name>), )+
        }

        impl AnyApplication {
            /// Returns the application of a flow.
            ///
            /// # Panics
            ///
            /// If no application has this kind of traffic.
            pub fn of(flow: &FlowPlan) -> Self {
                $( $(#[$attribute])*
                if let Some(own) = $file::$name::of(flow) {
                    return AnyApplication::$name(Box::new(own));
                } )+
                panic!("no application sends {:?}", flow.traffic)
            }

            /// Whether the application of a flow acts on arriving data, and whether its connections overlap.
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

            /// See [`Application::metrics`].
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

            /// Dispatches an event.
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
    packet_stream::PacketStream;
    #[cfg(test)]
    exchange::Exchange;
}
