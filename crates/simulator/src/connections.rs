//! The connections of all flows: those that are open, and of each flow the one that was finished last.
//!
//! They have places that are used again, so that memory goes with open connections, however many there
//! have been. A packet says which connection it belongs to by the place and the number of the connection
//! among those of its flow, so that a late packet of one that is gone is told from those of the one that
//! has its place now.

use core::mem::offset_of;

use tidegate_mechanisms::units::Demand;
use tidegate_scenario::plan::MAX_OPEN;

use crate::memory::{prefetch_within, reserve_large};
use crate::network::Routes;
use crate::packet::{Packet, flags};
use crate::tcp::accecn::Codepoint;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::TcpSender;
use crate::tcp::{Address, Half, SimContext};

/// Which connection: its place in the lower bits, and above them which of its flow's it is, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionId(u32);

/// So many connections can be open at once.
const PLACE_BITS: u32 = 22;
/// The last place stands for none.
const NO_PLACE: u32 = (1 << PLACE_BITS) - 1;

impl ConnectionId {
    /// What packets carry that belong to no connection.
    pub const NONE: ConnectionId = ConnectionId(NO_PLACE);

    /// The number wraps after 1,024 connections of a flow, all packets of the first of which have long
    /// arrived by then.
    fn new(place: u32, number: u32) -> Self {
        assert!(place < NO_PLACE, "at most {NO_PLACE} connections are open at once");
        ConnectionId(number << PLACE_BITS | place)
    }

    /// Of a packet.
    #[inline]
    pub fn of(packet: &Packet) -> Self {
        ConnectionId(packet.connection)
    }

    /// Unpacks [`Packet::connection`](crate::packet::Packet::connection).
    #[inline]
    pub fn unpack(packed: u32) -> Self {
        ConnectionId(packed)
    }

    /// As in [`Packet::connection`].
    #[inline]
    pub fn pack(self) -> u32 {
        self.0
    }

    /// Its place among those that are open.
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

/// Which end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The host that the flow goes out from.
    Sender,
    /// The host that it goes to.
    Receiver,
}

/// A connection between the sender of a flow and its receiver.
pub struct Connection {
    /// Its application acts on what arrives.
    pub listened: bool,
    /// It is closed: everything has arrived, and its senders know.
    pub closed: bool,
    /// Its flow has gone on to another since it was closed.
    pub superseded: bool,
    /// Data from the flow's sender to its receiver.
    pub forward: Half,
    /// Data back, if there is any.
    pub backward: Option<Box<Half>>,
}

impl Connection {
    /// The half in which data flows from the flow's sender to its receiver, or back.
    #[inline]
    pub fn half(&mut self, backward: bool) -> Option<&mut Half> {
        if backward { self.backward.as_deref_mut() } else { Some(&mut self.forward) }
    }

    /// The half in which data flows from one end to the other.
    pub fn half_from(&mut self, end: End) -> Option<&mut Half> {
        self.half(end == End::Receiver)
    }

    /// Lets the end that did not request the connection send, once it may.
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

    /// An acknowledgement of one half has arrived marked. Whoever sends in that half and is sent data as well
    /// counts it, with no bytes of payload (RFC 9768, section 3.2.2); nobody else has anything to tell it with here.
    pub fn note_marked_ack(&mut self, of_backward_half: bool) {
        if let Some(other) = self.half(!of_backward_half) {
            other.receiver.note_control(Codepoint::Ce);
        }
    }

    /// Whether all that there was to send has arrived, and its senders know.
    pub fn is_done(&self) -> bool {
        let backward = self.backward.as_ref().is_none_or(|half| half.sender.is_done());
        self.forward.sender.is_done() && backward
    }
}

/// Whether a packet belongs to the half of a connection in which data flows back.
#[inline]
pub fn is_of_backward_half(packet: &Packet) -> bool {
    packet.has(flags::ACK) != packet.has(flags::BACK)
}

/// All connections, by place.
pub struct Connections {
    places: Vec<Option<Connection>>,
    free: Vec<u32>,
    /// So many places there may be.
    most: usize,
}

impl Connections {
    /// None yet, and room for as many as there will be at once, as far as that is known: one of each flow. It may have
    /// another that is closed, and all together [`MAX_OPEN`] more.
    pub fn with_capacity(count: usize) -> Self {
        let mut places = Vec::new();
        reserve_large(&mut places, count);
        let most = (2 * count + MAX_OPEN).min(NO_PLACE as usize);
        Connections { places, free: Vec::new(), most }
    }

    /// Whether there is room for one more.
    pub fn has_room(&self) -> bool {
        !self.free.is_empty() || self.places.len() < self.most
    }

    /// A place for the `number`th connection of a flow, from 0, which is still to be requested.
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

    /// A connection of a flow, unless it is gone.
    #[inline]
    pub fn get(&mut self, flow: u32, id: ConnectionId) -> Option<&mut Connection> {
        let connection = self.at(id.place())?;
        let Address { connection: packed, flow: own, .. } = connection.forward.address;
        (packed == id.pack() && own == flow).then_some(connection)
    }

    /// The connection that has a place, if one does.
    #[inline]
    pub fn at(&mut self, place: u32) -> Option<&mut Connection> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    /// Asks for an end of a connection: that which sends data, or that which receives it.
    #[inline(always)]
    pub fn prefetch(&self, packed: u32, sends: bool) {
        let Some(place) = self.places.get(ConnectionId(packed).place() as usize) else { return };
        let forward = offset_of!(Connection, forward);
        let (end, bytes) = match sends {
            true => (offset_of!(Half, sender), size_of::<TcpSender>()),
            false => (offset_of!(Half, receiver), size_of::<Receiver>()),
        };
        prefetch_within(place, forward + end, bytes);
        prefetch_within(place, forward + offset_of!(Half, address), size_of::<Address>());
        prefetch_within(place, offset_of!(Connection, listened), 1);
    }

    /// Asks for the timer of the end that sends.
    #[inline(always)]
    pub fn prefetch_timer(&self, place: u32) {
        let Some(place) = self.places.get(place as usize) else { return };
        let sender = offset_of!(Connection, forward) + offset_of!(Half, sender);
        prefetch_within(place, sender + TcpSender::TIMER, 1);
        prefetch_within(place, offset_of!(Connection, listened), 1);
    }

    /// Asks for what such an end refers to.
    #[inline(always)]
    pub fn prefetch_rest(&self, packed: u32, sends: bool) {
        let place = self.places.get(ConnectionId(packed).place() as usize);
        let Some(Connection { forward, .. }) = place.and_then(|place| place.as_ref()) else {
            return;
        };
        match sends {
            true => forward.sender.prefetch_rest(),
            false => forward.receiver.prefetch_rest(),
        }
    }

    /// All connections of a flow enter the network by other paths.
    pub fn reroute(&mut self, flow: u32, routes: Routes) {
        let all = self.places.iter_mut().flatten();
        for connection in all.filter(|connection| connection.forward.address.flow == flow) {
            connection.forward.address.reroute(routes);
            connection.backward.iter_mut().for_each(|half| half.address.reroute(routes));
        }
    }

    /// Senders of all connections of a flow offer to pay so much.
    pub fn offer(&mut self, flow: u32, willingness: Demand) {
        let all = self.places.iter_mut().flatten();
        for connection in all.filter(|connection| connection.forward.address.flow == flow) {
            connection.forward.sender.offer(willingness);
            connection.backward.iter_mut().for_each(|half| half.sender.offer(willingness));
        }
    }

    /// A connection is gone: its place is free.
    pub fn release(&mut self, id: ConnectionId) -> Option<Connection> {
        let own = |connection: &mut Connection| connection.forward.address.connection == id.pack();
        let gone = self.places.get_mut(id.place() as usize)?.take_if(own)?;
        self.free.push(id.place());
        Some(gone)
    }

    /// Those taken, and all.
    #[cfg(test)]
    pub fn places(&self) -> (usize, usize) {
        (self.iter().count(), self.places.len())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.places.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a flow costs, for there may be 100,000: whoever needs more of a connection keeps what is rare or common to all
    /// elsewhere.
    #[test]
    fn a_connection_has_a_kilobyte() {
        let sizes =
            [size_of::<TcpSender>(), size_of::<Receiver>(), size_of::<Option<Connection>>()];
        let bounds = [816, 152, 1_024];
        assert!(sizes.iter().zip(bounds).all(|(size, bound)| *size <= bound), "{sizes:?}");
    }
}
