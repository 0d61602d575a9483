//! Connections of all flows: the open ones, and the last finished one of each flow.
//!
//! Places are reused, so that memory grows with open connections and not with all that ever existed. A packet names its
//! connection by the place and by its number within the flow, which distinguishes a late packet of a released
//! connection from packets of the current occupant of its place.

use core::mem::offset_of;
use core::ops::Range;

use tidegate_mechanisms::units::Demand;
use tidegate_scenario::plan::MAX_OPEN;

use crate::memory::{prefetch_within, reserve_large};
use crate::network::Routes;
use crate::packet::{Packet, flags};
use crate::tcp::accecn::Codepoint;
use crate::tcp::sender::TcpSender;
use crate::tcp::{Address, Half, SimContext};

/// Identifier of a connection: its place in the lower bits, its number within the flow (from 0) above them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionId(u32);

/// Number of bits of a place.
const PLACE_BITS: u32 = 22;
/// The last place stands for no connection.
const NO_PLACE: u32 = (1 << PLACE_BITS) - 1;

impl ConnectionId {
    /// Identifier in packets that belong to no connection.
    pub const NONE: ConnectionId = ConnectionId(NO_PLACE);

    /// First connection of a flow, in the first place. Hosts outside a simulation need no other for a flow with one.
    pub const FIRST: ConnectionId = ConnectionId(0);

    /// The number wraps after 1,024 connections of a flow; all packets of the first have arrived long before.
    fn new(place: u32, number: u32) -> Self {
        assert!(place < NO_PLACE, "at most {NO_PLACE} connections are open at once");
        ConnectionId(number << PLACE_BITS | place)
    }

    /// Returns it, unless it belongs to no connection.
    pub fn known(self) -> Option<Self> {
        (self != ConnectionId::NONE).then_some(self)
    }

    /// Returns the connection of a packet.
    #[inline]
    pub fn of(packet: &Packet) -> Self {
        ConnectionId(packet.connection)
    }

    /// Unpacks [`Packet::connection`](crate::packet::Packet::connection).
    #[inline]
    pub fn unpack(packed: u32) -> Self {
        ConnectionId(packed)
    }

    /// Packs it as in [`Packet::connection`].
    #[inline]
    pub fn pack(self) -> u32 {
        self.0
    }

    /// Returns the place among open connections.
    #[inline]
    pub fn place(self) -> u32 {
        self.0 & NO_PLACE
    }

    /// Which of its flow's connections it is, from 0.
    pub fn number(self) -> u32 {
        self.0 >> PLACE_BITS
    }

    /// Whether it is the second, fourth, ... connection of its flow.
    #[inline]
    pub fn is_even(self) -> bool {
        self.0 & 1 << PLACE_BITS != 0
    }
}

/// End of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Source host of the flow.
    Sender,
    /// Destination host of the flow.
    Receiver,
}

/// Stage of a connection. It has eight bytes, so that whether an `Option` has a connection stands here, in the cache line
/// that each packet needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Stage {
    /// Not all data have arrived and are acknowledged.
    Open,
    /// They have.
    Closed,
    /// Closed, and its flow has opened another.
    Superseded,
}

/// Connection between the sender of a flow and its receiver. A segment needs the three cache lines before the sender, an
/// ACK the first and [`TcpSender::OFTEN`].
#[repr(C, align(64))]
pub struct Connection {
    /// Its stage.
    pub stage: Stage,
    /// Data from the receiver to the sender, if any.
    pub backward: Option<Box<Half>>,
    /// Data from the flow's sender to its receiver.
    pub forward: Half,
}

impl Connection {
    /// Returns the half with data from the flow's sender to its receiver, or the opposite one.
    #[inline]
    pub fn half(&mut self, backward: bool) -> Option<&mut Half> {
        if backward { self.backward.as_deref_mut() } else { Some(&mut self.forward) }
    }

    /// Returns the half in which `end` sends data.
    pub fn half_from(&mut self, end: End) -> Option<&mut Half> {
        self.half(end == End::Receiver)
    }

    /// Lets the end that did not request the connection send, once it is allowed to.
    pub fn accept(&mut self, sim: &mut SimContext) {
        let Connection { forward, backward: Some(backward), .. } = self else { return };
        if let Some(answered) = forward.accepted() {
            let outcome = forward.receiver.outcome();
            backward.receiver.on_answer(answered.at());
            backward.sender.accept(answered, outcome, &mut sim.ctx(backward.address));
        }
        if let Some(answered) = backward.accepted() {
            let outcome = backward.receiver.outcome();
            forward.receiver.on_answer(answered.at());
            forward.sender.accept(answered, outcome, &mut sim.ctx(forward.address));
        }
    }

    /// Handles a marked ACK of one half. An end that sends in that half and also receives data counts the mark, with no
    /// payload bytes (RFC 9768, section 3.2.2); otherwise there is no feedback to carry it.
    pub fn note_marked_ack(&mut self, of_backward_half: bool) {
        if let Some(other) = self.half(!of_backward_half) {
            other.receiver.note_control(Codepoint::Ce);
        }
    }

    /// Whether its flow has opened another connection since it was closed.
    pub fn is_superseded(&self) -> bool {
        self.stage == Stage::Superseded
    }

    /// Whether all data have arrived and are acknowledged.
    pub fn is_done(&self) -> bool {
        let backward = self.backward.as_ref().is_none_or(|half| half.sender.is_done());
        self.forward.sender.is_done() && backward
    }
}

/// Offset of the sending end.
const SENDER: usize = offset_of!(Connection, forward) + offset_of!(Half, sender);

/// Whether a packet belongs to the backward half of a connection.
#[inline]
pub fn is_of_backward_half(packet: &Packet) -> bool {
    packet.has(flags::ACK) != packet.has(flags::BACK)
}

/// All connections, by place.
pub struct Connections {
    places: Vec<Option<Connection>>,
    free: Vec<u32>,
    /// Maximum number of places.
    most: usize,
}

impl Connections {
    /// Returns an empty set, with capacity for one connection per flow. Each flow may have another that is closed, and
    /// all flows together [`MAX_OPEN`] more.
    pub fn with_capacity(count: usize) -> Self {
        let mut places = Vec::new();
        reserve_large(&mut places, count);
        let most = (2 * count + MAX_OPEN).min(NO_PLACE as usize);
        Connections { places, free: Vec::new(), most }
    }

    /// Whether another connection fits.
    pub fn has_room(&self) -> bool {
        !self.free.is_empty() || self.places.len() < self.most
    }

    /// Adds the `number`th connection of a flow, from 0; it is not requested yet.
    pub fn add(
        &mut self,
        number: u32,
        make: impl FnOnce(ConnectionId) -> Connection,
    ) -> ConnectionId {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            (self.places.len() - 1) as u32
        });
        let id = ConnectionId::new(place, number);
        self.places[place as usize] = Some(make(id));
        id
    }

    /// Returns a connection of a flow, unless it has been released.
    #[inline]
    pub fn get(&mut self, flow: u32, id: ConnectionId) -> Option<&mut Connection> {
        let connection = self.at(id.place())?;
        let Address { connection: packed, flow: own, .. } = connection.forward.address;
        (packed == id.pack() && own == flow).then_some(connection)
    }

    /// Returns the connection at a place, if any.
    #[inline]
    pub fn at(&mut self, place: u32) -> Option<&mut Connection> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    /// Prefetches the sending or the receiving end of a connection.
    #[inline(always)]
    pub fn prefetch(&self, packed: u32, sends: bool) {
        let Some(place) = self.places.get(ConnectionId(packed).place() as usize) else { return };
        match sends {
            true => {
                prefetch_within(place, 0..1);
                for Range { start, end } in TcpSender::OFTEN {
                    prefetch_within(place, SENDER + start..SENDER + end);
                }
            }
            false => prefetch_within(place, 0..SENDER),
        }
    }

    /// Prefetches the timer of the sending end.
    #[inline(always)]
    pub fn prefetch_timer(&self, place: u32) {
        let Some(place) = self.places.get(place as usize) else { return };
        prefetch_within(place, SENDER + TcpSender::TIMER..SENDER + TcpSender::TIMER + 1);
        prefetch_within(place, 0..1);
    }

    /// Prefetches the data that an end refers to. Returns the first hop of its packets.
    #[inline(always)]
    pub fn prefetch_rest(&self, packed: u32, sends: bool) -> Option<u32> {
        let Connection { forward, .. } =
            self.places.get(ConnectionId(packed).place() as usize)?.as_ref()?;
        match sends {
            true => forward.sender.prefetch_rest(),
            false => forward.receiver.prefetch_rest(),
        }
        Some(forward.address.first_hop(sends))
    }

    /// Moves all connections of a flow to other routes.
    pub fn reroute(&mut self, flow: u32, routes: Routes) {
        let all = self.places.iter_mut().flatten();
        for connection in all.filter(|connection| connection.forward.address.flow == flow) {
            connection.forward.address.reroute(routes);
            connection.backward.iter_mut().for_each(|half| half.address.reroute(routes));
        }
    }

    /// Returns the open connections of a flow.
    pub fn open_of(&self, flow: u32) -> Vec<ConnectionId> {
        let all = self.places.iter().flatten();
        let open = all.filter(|connection| {
            connection.forward.address.flow == flow && connection.stage == Stage::Open
        });
        open.map(|connection| ConnectionId::unpack(connection.forward.address.connection)).collect()
    }

    /// Sets the willingness to pay of all senders of a flow.
    pub fn offer(&mut self, flow: u32, willingness: Demand) {
        let all = self.places.iter_mut().flatten();
        for connection in all.filter(|connection| connection.forward.address.flow == flow) {
            connection.forward.sender.offer(willingness);
            connection.backward.iter_mut().for_each(|half| half.sender.offer(willingness));
        }
    }

    /// Releases a connection and its place.
    pub fn release(&mut self, id: ConnectionId) -> Option<Connection> {
        let own = |connection: &mut Connection| connection.forward.address.connection == id.pack();
        let gone = self.places.get_mut(id.place() as usize)?.take_if(own)?;
        self.free.push(id.place());
        Some(gone)
    }

    /// Returns the number of occupied places, and of all places.
    #[cfg(test)]
    pub fn places(&self) -> (usize, usize) {
        (self.iter().count(), self.places.len())
    }

    /// Iterates over all connections.
    pub fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.places.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::receiver::Receiver;

    /// Memory per flow, for up to 100,000 flows: rare or common state of a connection is kept elsewhere.
    #[test]
    fn a_connection_has_fourteen_cache_lines() {
        assert_eq!((size_of::<Receiver>(), SENDER, size_of::<TcpSender>()), (144, 192, 704));
        assert_eq!(size_of::<Option<Connection>>(), 896);
    }
}
