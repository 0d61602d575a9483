//! Interface between an end host and the network: packets out, next wake-up.

use tidegate_mechanisms::units::Time;

use crate::ack_timers::AckSlot;
use crate::connections::ConnectionId;
use crate::event_queue::Timers;
use crate::network::{Network, Routes};
use crate::packet::{PackedPacket, Packet, flags};
use crate::wake::{TimerId, Wake};

/// Surroundings of all hosts: network, wake-ups and clock.
pub struct SimContext<'a> {
    /// Current time.
    pub now: Time,
    /// The network.
    pub network: &'a mut Network,
    /// Wake-ups.
    pub timers: &'a mut Timers,
}

impl SimContext<'_> {
    /// Returns the context of a host.
    #[inline]
    pub fn ctx(&mut self, address: Address) -> HostContext<'_> {
        let SimContext { now, network, timers } = self;
        HostContext { now: *now, network, timers, address, prompt: false }
    }
}

/// What an end host can access of the simulation during an event.
pub struct HostContext<'a> {
    /// Current time.
    pub now: Time,
    /// The network.
    pub network: &'a mut Network,
    /// Wake-ups.
    pub timers: &'a mut Timers,
    /// Address of the host.
    pub address: Address,
    /// Whether packets sent now respond to duplicate ACKs and were not released by the window.
    pub prompt: bool,
}

/// Identity and routes of one half of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// The flow.
    pub flow: u32,
    /// The connection, as in [`Packet::connection`].
    pub connection: u32,
    /// First hop of data.
    data: u32,
    acks: u32,
    /// Slot of the receiving end's delayed-acknowledgement timer, which also encodes the direction of data.
    pub seat: AckSlot,
}

impl Address {
    /// Returns the address of a half of a connection.
    pub fn new(flow: u32, connection: u32, timer: TimerId, routes: Routes) -> Self {
        let seat = AckSlot::of(timer);
        let mut address = Address { flow, connection, data: 0, acks: 0, seat };
        address.reroute(routes);
        address
    }

    /// Whether data flows from the flow's receiver to its sender.
    #[inline]
    pub fn is_backward(&self) -> bool {
        self.seat.is_backward()
    }

    /// Returns the owner of the timers.
    pub fn timer(&self) -> TimerId {
        TimerId::new(ConnectionId::unpack(self.connection).place(), self.is_backward())
    }

    /// Returns the first hop of data, or of acknowledgements.
    #[inline]
    pub fn first_hop(&self, data: bool) -> u32 {
        if data { self.data } else { self.acks }
    }

    /// Changes the routes.
    pub fn reroute(&mut self, Routes { forward, reverse }: Routes) {
        (self.data, self.acks) =
            if self.is_backward() { (reverse, forward) } else { (forward, reverse) };
    }
}

impl HostContext<'_> {
    /// Sends data, or a SYN.
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

    /// Requests a wake-up of the sending end, which cannot be cancelled.
    #[inline]
    pub fn wake_sender(&mut self, at: Time) {
        self.timers.push(at, Wake::Retransmit(self.address.timer().0));
    }

    /// Sets or resets the receiving end's delayed-acknowledgement timer.
    #[inline]
    pub fn set_ack_timer(&mut self, at: Time) {
        self.timers.set_ack(self.address.seat, at);
    }

    /// Clears the receiving end's delayed-acknowledgement timer.
    #[inline]
    pub fn clear_ack_timer(&mut self) {
        self.timers.acks.clear(self.address.seat);
    }
}
