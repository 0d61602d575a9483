//! Interfaces below applications that also run outside a simulation: over datagrams, and over connections. The same
//! application code runs in a simulation and on real sockets; the carrier is a type parameter.

use tidegate_mechanisms::units::{Bytes, Time};
use tidegate_scenario::plan::FlowPlan;

use super::site::Site;
use super::{ConnectionId, Datagram, End};
use crate::random::Stream;
use crate::stop::Excess;

/// Carrier of a flow's datagrams during an event.
pub trait Carrier {
    /// Returns the current time, which never decreases.
    fn now(&self) -> Time;

    /// Sends a datagram of `size` bytes on the wire from one end, ECN-capable or not. `number` fits 48 bits.
    fn send_datagram(&mut self, from: End, number: u64, size: Bytes, ecn: bool);

    /// Requests a wake-up. It cannot be cancelled; the application checks on wake-up whether it still applies.
    fn wake_at(&mut self, at: Time);

    /// Returns the random stream of the application in its flow.
    fn random(&mut self) -> &mut Stream;

    /// Returns what the gateway of the flow's site knows; one site per user group.
    fn site(&mut self) -> &mut Site;

    /// Reports that the application would exceed its memory limit. A simulation stops and does not return; on real
    /// sockets the call returns.
    fn run_out(&mut self, excess: Excess) {
        let _ = excess;
    }
}

/// Carrier of a flow's connections during an event.
pub trait StreamCarrier {
    /// Returns the current time, which never decreases.
    fn now(&self) -> Time;

    /// Requests a wake-up. It cannot be cancelled; the application checks on wake-up whether it still applies.
    fn wake_at(&mut self, at: Time);

    /// Requests a connection from one end.
    fn open(&mut self, at: End) -> ConnectionId;

    /// Writes `size` more bytes to one end of a connection.
    fn write(&mut self, at: End, id: ConnectionId, size: Bytes);

    /// Writes the last data of one end of a connection.
    fn write_last(&mut self, at: End, id: ConnectionId, size: Bytes);

    /// Returns the bytes written at one end of a connection and not acknowledged.
    fn unacknowledged(&mut self, at: End, id: ConnectionId) -> Bytes;
}

/// An application over datagrams; see [`Application`](super::Application).
pub trait OverDatagrams: Sized {
    /// Name in the names of random streams.
    const NAME: &'static str;

    /// Returns the application of a flow; `None` if the flow has another.
    fn of(flow: &FlowPlan) -> Option<Self>;

    /// Whether it acts on arriving packets.
    fn listens(&self) -> bool;

    /// Handles the start of the flow.
    fn start(&mut self, carrier: &mut impl Carrier);

    /// Handles a requested wake-up.
    fn wake(&mut self, carrier: &mut impl Carrier);

    /// Handles a datagram that arrived at one end; called only if it listens.
    fn on_datagram(&mut self, at: End, datagram: Datagram, carrier: &mut impl Carrier);

    /// Starts the measured time.
    fn measure(&mut self, now: Time);

    /// Reports its metrics at the end of the measured time.
    fn metrics(&self, now: Time, each: &mut dyn FnMut(&'static str, f64));

    /// Reports its state at a sampling time.
    fn shows(&self, each: &mut dyn FnMut(&'static str, f64));
}
