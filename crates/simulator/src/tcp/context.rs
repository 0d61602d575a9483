//! The narrow door between an end host and the network: packets out, next wake-up.

use tidegate_mechanisms::units::Time;

use crate::ack_timers::AckSlot;
use crate::connections::ConnectionId;
use crate::event_queue::Timers;
use crate::network::{Network, Routes};
use crate::packet::{PackedPacket, Packet, flags};
use crate::wake::{TimerId, Wake};

/// What there is around hosts: a network, wake-ups and a clock.
pub struct SimContext<'a> {
    /// The present.
    pub now: Time,
    /// The network.
    pub network: &'a mut Network,
    /// Wake-ups.
    pub timers: &'a mut Timers,
}

impl SimContext<'_> {
    /// The door of a host.
    #[inline]
    pub fn ctx(&mut self, address: Address) -> HostContext<'_> {
        let SimContext { now, network, timers } = self;
        HostContext { now: *now, network, timers, address, prompt: false }
    }
}

/// What an end host sees of the simulation at one moment.
pub struct HostContext<'a> {
    /// The present.
    pub now: Time,
    /// The network.
    pub network: &'a mut Network,
    /// Wake-ups.
    pub timers: &'a mut Timers,
    /// Who stands at the door.
    pub address: Address,
    /// What leaves now answers duplicate ACKs, and was not let go by the window.
    pub prompt: bool,
}

/// Whose packets leave, and where they enter the network: the ends between which data flows one way.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// The flow.
    pub flow: u32,
    /// The connection, as in [`Packet::connection`].
    pub connection: u32,
    /// First hop of data, and of acknowledgements.
    data: u32,
    acks: u32,
    /// Where the receiving end waits with an acknowledgement that is delayed, which also tells the direction of data.
    pub seat: AckSlot,
}

impl Address {
    /// Of a half of a connection.
    pub fn new(flow: u32, connection: u32, timer: TimerId, routes: Routes) -> Self {
        let seat = AckSlot::of(timer);
        let mut address = Address { flow, connection, data: 0, acks: 0, seat };
        address.reroute(routes);
        address
    }

    /// Whether data flows against the flow.
    #[inline]
    pub fn is_backward(&self) -> bool {
        self.seat.is_backward()
    }

    /// Whom timers wake.
    pub fn timer(&self) -> TimerId {
        TimerId::new(ConnectionId::unpack(self.connection).place(), self.is_backward())
    }

    /// It enters the network by these ways from now on.
    pub fn reroute(&mut self, Routes { forward, reverse }: Routes) {
        (self.data, self.acks) =
            if self.is_backward() { (reverse, forward) } else { (forward, reverse) };
    }
}

impl HostContext<'_> {
    /// Sends data, or the request of a connection.
    #[inline]
    pub fn send_data(&mut self, number: u64, len: u16, flags: u32) {
        let packet = self.packet(self.address.data, number, self.now, len, flags);
        self.send(packet, self.address.is_backward());
    }

    /// Sends an acknowledgement of all segments before `number`, with options if `flags` say so.
    #[inline]
    pub fn send_ack(&mut self, number: u64, echo: Time, len: u16, flags: u32, payload: u32) {
        let packet = self.packet(self.address.acks, number, echo, len, flags | flags::ACK);
        self.send(Packet { payload, ..packet }, !self.address.is_backward());
    }

    #[inline(always)]
    fn packet(&self, hop: u32, number: u64, stamp: Time, len: u16, flags: u32) -> Packet {
        let Address { flow, connection, .. } = self.address;
        let at = self.now;
        Packet { at, number, stamp, flow, connection, hop, len, flags, ..Packet::default() }
    }

    #[inline(always)]
    fn send(&mut self, mut packet: Packet, back: bool) {
        if back {
            packet.flags |= flags::BACK;
            self.network.send_from_receiver(PackedPacket::of(&packet), self.now);
        } else {
            self.network.send_from_host(PackedPacket::of(&packet), self.prompt, self.now);
        }
    }

    /// Asks to wake the sending end; there is no cancelling.
    #[inline]
    pub fn wake_sender(&mut self, at: Time) {
        self.timers.push(at, Wake::Retransmit(self.address.timer().0));
    }

    /// Sets the time at which the acknowledgement leaves that the receiving end owes, or sets it again.
    #[inline]
    pub fn set_ack_timer(&mut self, at: Time) {
        self.timers.set_ack(self.address.seat, at);
    }

    /// The receiving end owes no acknowledgement any more.
    #[inline]
    pub fn clear_ack_timer(&mut self) {
        self.timers.acks.clear(self.address.seat);
    }
}
