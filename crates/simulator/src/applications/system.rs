//! Services that the system offers to an application.

use std::ops::Range;

use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::{FlowPlan, MAX_ROWS, OfferPlan, Plan};

use super::carrier::{Carrier, StreamCarrier};
use super::site::Site;
use crate::ack_timers::AckSlot;
use crate::connections::{Connection, ConnectionId, Connections, End, Stage};
use crate::network::Routes;
use crate::packet::flags;
use crate::random::Stream;
use crate::stop::{self, Excess};
use crate::tcp::sender::{CongestionGauges, DeclarationTotals, SenderCounts, TcpSender};
use crate::tcp::{Address, Half, SimContext};
use crate::wake::{TimerId, Wake};

/// Record of a transfer, finished or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransferRecord {
    /// Time at which the connection was requested.
    pub start: Time,
    /// Bytes that the application sent.
    pub size: Bytes,
    /// Time from the request to the last ACK at the sender.
    pub completion: Option<Span>,
    /// Part of it until the connection was established; `None` for transfers over several connections.
    pub set_up: Option<Span>,
}

/// State of a flow besides its application and its connections.
pub struct FlowRecord {
    /// Totals of released connections, if there are any.
    past: Option<Box<ClosedConnections>>,
    /// Number of connections opened so far.
    opened: u32,
    /// Connection opened last, if any.
    latest: ConnectionId,
    /// Connection closed last, if any. It is kept to answer late packets.
    closed: ConnectionId,
    random: Option<Box<Stream>>,
    /// Whether the flow has stopped: its application gets no more events.
    pub stopped: bool,
}

/// Totals over the released connections of a flow.
#[derive(Clone, Copy, Default)]
pub struct ClosedConnections {
    /// Bytes and packets sent.
    pub sent: SenderCounts,
    /// Congestion declared.
    pub declared: DeclarationTotals,
    /// Congestion not yet declared.
    pub left: CongestionGauges,
}

impl ClosedConnections {
    /// Adds the counts of a sender.
    pub fn add(&mut self, sender: &TcpSender) {
        add(&mut self.sent, &sender.counts);
        self.declared.add(&sender.declarations());
    }
}

impl Default for FlowRecord {
    fn default() -> Self {
        FlowRecord {
            past: None,
            opened: 0,
            latest: ConnectionId::NONE,
            closed: ConnectionId::NONE,
            random: None,
            stopped: false,
        }
    }
}

impl FlowRecord {
    /// Returns the totals of released connections.
    pub fn past(&self) -> ClosedConnections {
        self.past.as_deref().copied().unwrap_or_default()
    }

    /// Returns the totals of released connections, to add to them.
    pub fn past_mut(&mut self) -> &mut ClosedConnections {
        self.past.get_or_insert_default()
    }

    /// Returns the connection opened last.
    pub fn latest(&self) -> Option<ConnectionId> {
        self.latest.known()
    }

    /// Notes a connection that is closed. Returns the one closed before.
    pub fn close(&mut self, id: ConnectionId) -> Option<ConnectionId> {
        core::mem::replace(&mut self.closed, id).known()
    }

    /// Moves out the totals of the flow's connections, for the next connection to continue from. Data acknowledged
    /// again over the previous connection no longer count.
    fn pass_on(&mut self, flow: u32, connections: &mut Connections) -> ClosedConnections {
        let before = self.closed.known().and_then(|id| connections.get(flow, id));
        if let Some(before) = before.filter(|before| !before.is_superseded()) {
            before.stage = Stage::Superseded;
            self.past_mut().add(&before.forward.sender);
        }
        self.past.take().map_or_else(ClosedConnections::default, |past| *past)
    }
}

/// Adds the counts of a connection.
pub fn add(sum: &mut SenderCounts, counts: &SenderCounts) {
    sum.sent += counts.sent;
    sum.retransmits += counts.retransmits;
    sum.timeouts += counts.timeouts;
    sum.recoveries += counts.recoveries;
    sum.acks += counts.acks;
    sum.cwnd_sum += counts.cwnd_sum;
    sum.srtt_sum_ns += counts.srtt_sum_ns;
    sum.acks_without_srtt += counts.acks_without_srtt;
}

/// Hosts and header sizes of a flow's packets.
#[derive(Clone, Copy)]
pub struct Route<'a> {
    pub(crate) flow: u32,
    pub(crate) plan: &'a FlowPlan,
    pub(crate) routes: Routes,
    /// Plan that contains the flow.
    pub(crate) whole: &'a Plan,
    /// Whether the application acts on arriving data.
    pub(crate) listens: bool,
}

impl Route<'_> {
    fn half(&self, id: ConnectionId, from: End, seed: u64, now: Time) -> Half {
        let tcp = self.plan.tcp.as_deref().expect("an application that opens connections has TCP");
        let packet_size = self.plan.packet_size.get() as u16;
        let timer = TimerId::new(id.place(), from == End::Receiver);
        let mut half =
            Half::new(tcp, packet_size, Address::new(self.flow, id.pack(), timer, self.routes));
        half.listened = self.listens;
        if let Some(encoding) = self.plan.prices {
            half.read_prices(encoding);
        }
        half.sender.seed_model(|| {
            // One of its own for each connection and direction.
            let name = format_args!("path-model/{}/{}", id.number(), from == End::Receiver);
            Stream::of_flow(seed, self.whole, self.flow as usize, &name.to_string()).up_to(u64::MAX)
        });
        let of_flow = |offer: &&OfferPlan| offer.flow == self.flow as usize && offer.at <= now;
        if let Some(offer) = self.whole.offers.iter().rfind(of_flow) {
            half.sender.offer(offer.willingness_to_pay);
        }
        half
    }
}

/// System below an application during an event.
pub struct System<'a, 'd> {
    pub(crate) route: Route<'a>,
    pub(crate) seed: u64,
    /// Name of the application.
    pub(crate) name: &'static str,
    pub(crate) account: &'a mut FlowRecord,
    pub(crate) connections: &'a mut Connections,
    pub(crate) records: &'a mut Vec<(u32, TransferRecord)>,
    /// Connections of which an end has written its last data in this event.
    pub(crate) ended: &'a mut Vec<ConnectionId>,
    /// Gateway of the flow's site.
    pub(crate) site: &'a mut Site,
    pub(crate) sim: &'a mut SimContext<'d>,
}

impl System<'_, '_> {
    /// Requests a connection from one end.
    ///
    /// # Panics
    ///
    /// If the flow does not use TCP.
    pub fn open(&mut self, at: End) -> ConnectionId {
        if !self.connections.has_room() {
            self.run_out(Excess::Connections);
        }
        let past = self.account.pass_on(self.route.flow, self.connections);
        let number = self.account.opened;
        self.account.opened = number.wrapping_add(1);
        let now = self.sim.now;
        let id = self.connections.add(number, |id| Connection {
            stage: Stage::Open,
            forward: self.route.half(id, End::Sender, self.seed, now),
            backward: (at == End::Receiver)
                .then(|| Box::new(self.route.half(id, at, self.seed, now))),
        });
        self.account.latest = id;
        if let Some(connection) = self.connections.get(self.route.flow, id) {
            connection.forward.sender.go_on(past.sent, past.declared, past.left);
            if let Some(place) = self.sim.network.delayed_acks.place_of(self.route.flow) {
                let address = &mut connection.forward.address;
                address.seat = AckSlot::in_line(place);
                self.sim.timers.acks.join_line(place, address.timer());
            }
            if let Some(half) = connection.half_from(at) {
                half.sender.open(&mut self.sim.ctx(half.address));
            }
        }
        id
    }

    /// Writes `size` more bytes to one end of a connection. A remainder below a full segment waits for more data.
    pub fn write(&mut self, at: End, id: ConnectionId, size: Bytes) {
        self.send(at, id, |sender| sender.write(size.get()));
    }

    /// Writes the last data of one end of a connection.
    pub fn write_last(&mut self, at: End, id: ConnectionId, size: Bytes) {
        self.send(at, id, |sender| {
            sender.write(size.get());
            sender.end();
        });
        self.ended.push(id);
    }

    /// Ends the data of one end of a connection and discards what has not been sent.
    pub fn stop(&mut self, at: End, id: ConnectionId) {
        self.send(at, id, TcpSender::stop);
        self.ended.push(id);
    }

    /// Ends the data of both ends of a connection, as [`Self::stop`].
    pub fn stop_both(&mut self, id: ConnectionId) {
        let connection = self.connections.get(self.route.flow, id);
        let writes_back = connection.is_some_and(|own| own.backward.is_some());
        self.stop(End::Sender, id);
        if writes_back {
            self.stop(End::Receiver, id);
        }
    }

    /// Gives one end of a connection unlimited data from now on.
    pub fn write_without_end(&mut self, at: End, id: ConnectionId) {
        self.write(at, id, Bytes::new(u64::MAX));
    }

    /// Returns the bytes written at one end of a connection and not acknowledged.
    pub fn unacknowledged(&mut self, at: End, id: ConnectionId) -> Bytes {
        let connection = self.connections.get(self.route.flow, id);
        let half = connection.and_then(|own| own.half_from(at));
        Bytes::new(half.map_or(0, |half| half.sender.unacknowledged_bytes()))
    }

    /// Lets one end send. The end that did not request the connection waits until a packet has arrived.
    fn send(&mut self, at: End, id: ConnectionId, say: impl FnOnce(&mut TcpSender)) {
        let Some(connection) = self.connections.get(self.route.flow, id) else { return };
        if at == End::Receiver && connection.backward.is_none() {
            connection.backward = Some(Box::new(self.route.half(id, at, self.seed, self.sim.now)));
        }
        let Some(half) = connection.half_from(at) else { return };
        say(&mut half.sender);
        half.sender.on_written(&mut self.sim.ctx(half.address));
        connection.accept(self.sim);
    }

    /// Sends a datagram of `size` bytes on the wire from one end, with these header flags.
    pub fn send_flagged(&mut self, from: End, number: u64, size: Bytes, flags: u32) {
        let (none, back) = (ConnectionId::NONE.pack(), from == End::Receiver);
        let address = Address::new(self.route.flow, none, TimerId::new(0, back), self.route.routes);
        self.sim.ctx(address).send_data(number, size.get() as u16, flags);
        if from == End::Sender {
            self.account.past_mut().sent.sent += 1;
        }
    }

    /// Returns the time from the request at `start` until a connection requested by the sender was established.
    pub fn set_up(&mut self, id: ConnectionId, start: Time) -> Option<Span> {
        let connection = self.connections.get(self.route.flow, id)?;
        connection.forward.sender.established().map(|at| at - start)
    }

    /// Returns the bytes that a connection has delivered to the receiver; a partial segment counts as full.
    pub fn carried(&mut self, id: ConnectionId) -> Bytes {
        let connection = self.connections.get(self.route.flow, id);
        Bytes::new(
            connection.map_or(0, |connection| connection.forward.sender.acknowledged_bytes()),
        )
    }

    /// Returns the flow's position among the flows of its group, and the number of these.
    pub fn turn_in_group(&self) -> (usize, usize) {
        let group = self.group();
        (self.route.flow as usize - group.start, group.len())
    }

    /// Wakes all flows of the group now.
    pub fn wake_group(&mut self) {
        for flow in self.group() {
            self.sim.timers.push(self.sim.now, Wake::Application(flow as u32));
        }
    }

    fn group(&self) -> Range<usize> {
        let whole = self.route.whole;
        whole.flows_of_group(whole.users[self.route.plan.user].group)
    }

    /// Records a finished transfer.
    pub fn record(&mut self, record: TransferRecord) {
        if self.records.len() == MAX_ROWS {
            self.run_out(Excess::Transfers);
        }
        self.records.push((self.route.flow, record));
    }
}

impl Carrier for System<'_, '_> {
    fn now(&self) -> Time {
        self.sim.now
    }

    fn send_datagram(&mut self, from: End, number: u64, size: Bytes, ecn: bool) {
        self.send_flagged(from, number, size, if ecn { flags::ECT } else { 0 });
    }

    fn wake_at(&mut self, at: Time) {
        self.sim.timers.push(at, Wake::Application(self.route.flow));
    }

    fn random(&mut self) -> &mut Stream {
        let (seed, Route { flow, whole, .. }, name) = (self.seed, self.route, self.name);
        let stream = || Box::new(Stream::of_flow(seed, whole, flow as usize, name));
        self.account.random.get_or_insert_with(stream)
    }

    fn site(&mut self) -> &mut Site {
        self.site
    }

    fn run_out(&mut self, excess: Excess) {
        stop::full(self.route.flow, self.sim.now, excess)
    }
}

impl StreamCarrier for System<'_, '_> {
    fn now(&self) -> Time {
        self.sim.now
    }

    fn wake_at(&mut self, at: Time) {
        Carrier::wake_at(self, at);
    }

    fn open(&mut self, at: End) -> ConnectionId {
        self.open(at)
    }

    fn write(&mut self, at: End, id: ConnectionId, size: Bytes) {
        self.write(at, id, size);
    }

    fn write_last(&mut self, at: End, id: ConnectionId, size: Bytes) {
        self.write_last(at, id, size);
    }

    fn unacknowledged(&mut self, at: End, id: ConnectionId) -> Bytes {
        self.unacknowledged(at, id)
    }
}
