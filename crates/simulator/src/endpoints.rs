//! Endpoints of all flows: applications, and the open connections between them.

use tidegate_mechanisms::sender::PathEstimate;
use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::Plan;

use crate::ack_timers::AckTimers;
use crate::applications::site::Site;
use crate::applications::{
    AnyApplication, ApplicationEvent, Datagram, FlowRecord, Route, System, TransferRecord, add,
};
#[cfg(test)]
use crate::connections::Connection;
use crate::connections::{ConnectionId, Connections, End, Stage, is_of_backward_half};
use crate::event_queue::TimerStatus;
use crate::network::{Network, Routes};
use crate::output::ApplicationTable;
use crate::packet::{PackedPacket, Packet, flags};
use crate::tcp::sender::{CongestionGauges, DeclarationTotals, SenderCounts};
use crate::tcp::{Half, SimContext};
use crate::wake::{TimerId, Wake};

/// Length of the IPv4 and UDP headers, bytes.
const UDP_HEADER_BYTES: u16 = 28;

/// All endpoints of a plan.
pub struct Endpoints<'a> {
    plan: &'a Plan,
    seed: u64,
    /// Current routes of the flows, followed by the routes of the plan's moves.
    routes: Vec<Routes>,
    applications: Vec<AnyApplication>,
    accounts: Vec<FlowRecord>,
    connections: Connections,
    /// Finished transfers, with their flows.
    pub records: Vec<(u32, TransferRecord)>,
    /// Connections of which an end has written its last data in this event.
    ended: Vec<ConnectionId>,
    /// Gateways of sites, by user group.
    sites: Vec<Site>,
    /// Number of applications that the run waits for.
    pub awaited: usize,
}

/// Sampled state of a sender.
#[derive(Clone, Copy, Debug)]
pub struct FlowSample {
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Smoothed round-trip time, seconds; `None` before the first sample.
    pub srtt_s: Option<f64>,
    /// Price of the path as known to the sender; `None` if its controller does not use prices.
    pub price: Option<f64>,
    /// Estimate of its path, if its controller models it.
    pub path: Option<PathSample>,
}

/// A sender's estimate of its path at a time, and its segments in the network.
#[derive(Clone, Copy, Debug)]
pub struct PathSample {
    /// Estimate of the controller.
    pub estimate: PathEstimate,
    /// Number of segments in the network.
    pub in_flight: u32,
}

impl<'a> Endpoints<'a> {
    /// Returns idle endpoints; `routes` are those of the flows, followed by those of the moves.
    pub fn new(plan: &'a Plan, seed: u64, routes: Vec<Routes>) -> Self {
        let applications: Vec<_> = plan.flows.iter().map(AnyApplication::of).collect();
        let tcp_flows = plan.flows.iter().filter(|flow| flow.tcp.as_deref().is_some()).count();
        Endpoints {
            plan,
            seed,
            routes,
            awaited: applications.iter().filter(|own| own.is_awaited()).count(),
            accounts: applications.iter().map(|_| FlowRecord::default()).collect(),
            applications,
            connections: Connections::with_capacity(tcp_flows),
            records: Vec::new(),
            ended: Vec::new(),
            sites: plan.groups.iter().map(|_| Site::default()).collect(),
        }
    }

    /// Moves a flow to its other path, with all its connections, by the index of the move.
    pub fn reroute(&mut self, moved: usize) {
        let flow = self.plan.moves[moved].flow;
        let routes = self.routes[self.plan.flows.len() + moved];
        self.routes[flow] = routes;
        self.connections.reroute(flow as u32, routes);
    }

    /// Changes the willingness to pay of a flow, over all its connections, by the index of the offer; connections
    /// opened later read the new value.
    pub fn offer(&mut self, number: usize) {
        let offer = &self.plan.offers[number];
        self.connections.offer(offer.flow as u32, offer.willingness_to_pay);
    }

    /// Replaces the application of a flow.
    #[cfg(test)]
    pub fn replace(&mut self, flow: usize, application: AnyApplication) {
        self.applications[flow] = application;
    }

    /// Returns the number of occupied places of connections, and of all places.
    #[cfg(test)]
    pub fn places(&self) -> (usize, usize) {
        self.connections.places()
    }

    /// Returns the connection that a flow opened last.
    #[cfg(test)]
    pub fn latest(&mut self, flow: u32) -> Option<&mut Connection> {
        self.connections.get(flow, self.accounts[flow as usize].latest()?)
    }

    /// Handles a packet that has reached its host. Returns the payload bytes delivered in order to the flow's receiver.
    #[inline]
    pub fn deliver(&mut self, packed: &PackedPacket, mut sim: SimContext) -> u64 {
        let packet = &packed.packet(sim.now);
        let line = sim.network.delayed_acks.bound_at(packet.flow);
        if line.is_some_and(|line| sim.timers.acks.is_line_due(line, sim.now)) {
            self.acknowledge_before(packet, &mut sim);
        }
        let (id, backward) = (ConnectionId::of(packet), is_of_backward_half(packet));
        let connection = self.connections.get(packet.flow, id);
        let Some(connection) = connection else { return self.deliver_elsewhere(packed, sim) };
        let Some(half) = connection.half(backward) else { return 0 };
        let mut ctx = sim.ctx(half.address);
        if packet.has(flags::ACK) {
            let before = half.sender.una();
            half.sender.on_ack(packed, &mut ctx);
            if half.sender.has_all_acknowledged() && half.sender.una() > before {
                self.acknowledged(packet.flow, id, backward, &mut sim);
            }
            if packet.flags & (flags::CE | flags::SYN) == flags::CE {
                self.note_marked_ack(packet.flow, id, backward);
            }
            return 0;
        }
        let before = half.received_bytes();
        half.on_data(packed, &mut ctx);
        let bytes = half.received_bytes() - before;
        if half.listened && bytes > 0 {
            connection.accept(&mut sim);
            let at = if backward { End::Sender } else { End::Receiver };
            self.notify(packet.flow, ApplicationEvent::Arrived(at, id, bytes), &mut sim);
        }
        if backward { 0 } else { bytes }
    }

    /// Sends, before a segment is delivered ahead of time, the acknowledgements due before it of all receivers that
    /// share its receiver's line.
    #[inline(never)]
    fn acknowledge_before(&mut self, packet: &Packet, sim: &mut SimContext) {
        let line = sim.network.delayed_acks.line_of(packet.flow);
        let Some(line) = line.filter(|_| !packet.has(flags::ACK)) else { return };
        while let Some((at, receiver)) = sim.timers.acks.take_in_line(line, sim.now) {
            let SimContext { network, timers, .. } = sim;
            self.wake_receiver(receiver, &mut SimContext { now: at, network, timers });
        }
    }

    /// Counts a marked acknowledgement on arrival; marks on the answer to a request are handled by the handshake.
    #[cold]
    fn note_marked_ack(&mut self, flow: u32, id: ConnectionId, backward: bool) {
        if let Some(connection) = self.connections.get(flow, id) {
            connection.note_marked_ack(backward);
        }
    }

    /// Prefetches the receiving end of a packet's connection.
    #[inline(always)]
    pub fn prefetch_connection(&self, packed: &PackedPacket, network: &Network, acks: &AckTimers) {
        let is_ack = packed.has(flags::ACK);
        self.connections.prefetch(packed.connection(), is_ack);
        if is_ack {
            network.prefetch_host(packed.flow());
        } else {
            acks.prefetch(ConnectionId::unpack(packed.connection()).place());
        }
    }

    /// Prefetches the data that this end refers to, and the links over which it answers.
    #[inline(always)]
    pub fn prefetch_rest(&self, packed: &PackedPacket, network: &Network) {
        let answers = self.connections.prefetch_rest(packed.connection(), packed.has(flags::ACK));
        if let Some(hop) = answers {
            network.prefetch_links(hop);
        }
    }

    /// Handles a packet without a connection: a datagram, or a late packet of a released connection.
    #[cold]
    fn deliver_elsewhere(&mut self, packed: &PackedPacket, mut sim: SimContext) -> u64 {
        let packet = packed.packet(sim.now);
        if packet.has(flags::OPTIONS) {
            sim.network.options.take(packet.payload);
        }
        if ConnectionId::of(&packet) != ConnectionId::NONE {
            return 0;
        }
        let backward = packet.has(flags::BACK);
        if self.applications[packet.flow as usize].listens() {
            let at = if backward { End::Sender } else { End::Receiver };
            let datagram = Datagram { number: packet.number, marked: packet.has(flags::CE) };
            self.notify(packet.flow, ApplicationEvent::Received(at, datagram), &mut sim);
        }
        if backward { 0 } else { u64::from(packet.len - UDP_HEADER_BYTES) }
    }

    /// Returns the application of a flow.
    pub fn application(&self, flow: usize) -> &AnyApplication {
        &self.applications[flow]
    }

    /// Starts the measured time.
    pub fn measure(&mut self, now: Time) {
        self.applications.iter_mut().for_each(|own| own.measure(now));
    }

    /// Handles the acknowledgement of all data written at one end of a connection.
    #[cold]
    fn acknowledged(&mut self, flow: u32, id: ConnectionId, backward: bool, sim: &mut SimContext) {
        let at = if backward { End::Receiver } else { End::Sender };
        self.notify(flow, ApplicationEvent::Acknowledged(at, id), sim);
        self.close_if_done(flow, id, sim);
    }

    /// Closes a connection whose data are all acknowledged. It is kept to answer late packets, and the connection
    /// closed before it is released.
    fn close_if_done(&mut self, flow: u32, id: ConnectionId, sim: &mut SimContext) {
        let connection = self.connections.get(flow, id);
        let Some(connection) = connection.filter(|own| own.is_done() && own.stage == Stage::Open)
        else {
            return;
        };
        connection.stage = Stage::Closed;
        let left = connection.forward.sender.undeclared();
        let account = &mut self.accounts[flow as usize];
        if left != CongestionGauges::default() {
            account.past_mut().left += left;
        }
        let before = account.close(id).and_then(|id| self.connections.release(id));
        if let Some(gone) = before.filter(|gone| !gone.is_superseded()) {
            account.past_mut().add(&gone.forward.sender);
        }
        self.notify(flow, ApplicationEvent::Closed(id), sim);
    }

    /// Delivers an event to an application.
    pub fn notify(&mut self, flow: u32, event: ApplicationEvent, sim: &mut SimContext) {
        let number = flow as usize;
        if self.accounts[number].stopped {
            return;
        }
        let awaited = self.applications[number].is_awaited();
        self.act(flow, sim, |application, system| application.on_event(event, system));
        if awaited && !self.applications[number].is_awaited() {
            self.awaited -= 1;
        }
        self.close_ended(flow, sim);
    }

    /// Stops a flow: nothing more is written to its connections, and its application gets no more events.
    pub fn stop(&mut self, flow: u32, sim: &mut SimContext) {
        let number = flow as usize;
        let open = self.connections.open_of(flow);
        self.act(flow, sim, |_, system| open.iter().for_each(|&id| system.stop_both(id)));
        if self.applications[number].is_awaited() {
            self.awaited -= 1;
        }
        self.accounts[number].stopped = true;
        self.close_ended(flow, sim);
    }

    /// Closes the connections whose last data were written in an event, if they are done.
    fn close_ended(&mut self, flow: u32, sim: &mut SimContext) {
        while let Some(id) = self.ended.pop() {
            self.close_if_done(flow, id, sim);
        }
    }

    /// Lets an application act on its system.
    #[inline]
    fn act(
        &mut self,
        flow: u32,
        sim: &mut SimContext,
        act: impl FnOnce(&mut AnyApplication, &mut System),
    ) {
        let number = flow as usize;
        let application = &mut self.applications[number];
        let (plan, routes) = (&self.plan.flows[number], self.routes[number]);
        let listens = application.listens();
        let route = Route { flow, plan, routes, whole: self.plan, listens };
        let mut system = System {
            route,
            seed: self.seed,
            name: application.name(),
            account: &mut self.accounts[number],
            connections: &mut self.connections,
            records: &mut self.records,
            ended: &mut self.ended,
            site: &mut self.sites[self.plan.users[plan.user].group],
            sim,
        };
        act(application, &mut system);
    }

    /// Returns the metrics of all applications at `now`.
    pub fn applications(&self, now: Time) -> ApplicationTable {
        let mut table = ApplicationTable::default();
        for (number, own) in self.applications.iter().enumerate() {
            own.metrics(now, &mut |what, amount| table.push(self.plan, number, what, amount));
        }
        table
    }

    /// Returns the status of a wake-up due at `at`. Its timer has mostly been moved to a later time by then, and the
    /// wake-up is postponed to that time.
    #[inline]
    pub fn foresee(&mut self, wake: Wake, at: Time) -> TimerStatus {
        let Wake::Retransmit(half) = wake else { return TimerStatus::Due };
        self.half(TimerId(half)).map_or(TimerStatus::Void, |half| half.sender.foresee(at))
    }

    /// Prefetches the timer of a sender.
    #[inline(always)]
    pub fn prefetch_timer(&self, wake: Wake) {
        if let Wake::Retransmit(half) = wake {
            self.connections.prefetch_timer(TimerId(half).place());
        }
    }

    #[inline]
    fn half(&mut self, timer: TimerId) -> Option<&mut Half> {
        self.connections.at(timer.place())?.half(timer.is_backward())
    }

    /// Handles the expiry of a sending end's timer.
    pub fn wake_sender(&mut self, timer: TimerId, sim: &mut SimContext) {
        if let Some(half) = self.half(timer) {
            half.sender.on_timer(&mut sim.ctx(half.address));
        }
    }

    /// Handles the expiry of a receiving end's timer.
    pub fn wake_receiver(&mut self, timer: TimerId, sim: &mut SimContext) {
        if let Some(half) = self.half(timer) {
            half.on_wake_of_receiver(&mut sim.ctx(half.address));
        }
    }

    /// Returns the counts of packets sent so far, by flow.
    pub fn sent(&self) -> Vec<SenderCounts> {
        let mut sent: Vec<SenderCounts> = self.accounts.iter().map(|own| own.past().sent).collect();
        for connection in self.connections.iter().filter(|connection| !connection.is_superseded()) {
            add(
                &mut sent[connection.forward.address.flow as usize],
                &connection.forward.sender.counts,
            );
        }
        sent
    }

    /// Returns the congestion declared so far, by flow; empty if no sender declares congestion.
    pub fn declared(&self) -> Vec<DeclarationTotals> {
        if !self.plan.flows.iter().any(|flow| flow.declares()) {
            return Vec::new();
        }
        let mut declared: Vec<_> = self.accounts.iter().map(|own| own.past().declared).collect();
        for connection in self.connections.iter().filter(|connection| !connection.is_superseded()) {
            let Half { address, sender, .. } = &connection.forward;
            declared[address.flow as usize].add(&sender.declarations());
        }
        declared
    }

    /// Returns the state of the connection that a flow opened last; before the first, its initial window. `None`
    /// without TCP.
    pub fn sample(&mut self, flow: usize) -> Option<FlowSample> {
        let tcp = self.plan.flows[flow].tcp.as_deref()?;
        let id = self.accounts[flow].latest();
        let connection = id.and_then(|id| self.connections.get(flow as u32, id));
        let sender = connection.map(|connection| &connection.forward.sender);
        Some(sender.map_or(
            FlowSample {
                cwnd: f64::from(tcp.initial_window.0),
                srtt_s: None,
                price: None,
                path: None,
            },
            |sender| {
                FlowSample {
                    cwnd: sender.cwnd(),
                    srtt_s: sender.srtt_s(),
                    price: sender.path_price(),
                    path: sender
                        .path_estimate()
                        .map(|estimate| PathSample { estimate, in_flight: sender.in_network() }),
                }
            },
        ))
    }

    /// Iterates over the unfinished transfers, with their flows.
    pub fn unfinished(&self) -> impl Iterator<Item = (u32, TransferRecord)> {
        let own = |(flow, own): (usize, &AnyApplication)| {
            own.unfinished().into_iter().map(move |record| (flow as u32, record))
        };
        self.applications.iter().enumerate().flat_map(own)
    }
}
