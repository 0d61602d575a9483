//! Construction of the network of a plan: links, hosts, routes, stages and report paths.

use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::{
    Direction, FlowPlan, LinkPlan, MAX_LINKS, MAX_RUN, Plan, ReportPath, UserPlan, longest_run,
};

use super::known_routes::KnownRoutes;
use super::{FlowState, NO_HOST, Network, PacketTotals, Routes};
use crate::ahead::Ahead;
use crate::contents::{Contents, InPacket};
use crate::delayed_acks::DelayedAcks;
use crate::host_queues::HostQueues;
use crate::link::Link;
use crate::memory::{large_list, reserve_large};
use crate::owner::{DscpAndEnd, Owner};
use crate::packet::{MAX_PLACES, OptionStore};
use crate::reports::Reports;
use crate::sectors::{Parts, Sectors};
use crate::stages::Stages;
use crate::topology::{EagerDelivery, Hop, Reacts, Receivers, TopologyAnalysis};
use crate::transit::Transit;

impl Network {
    /// Returns the network of a plan for simulated hosts; `receivers` selects when receivers are served.
    ///
    /// # Panics
    ///
    /// If a route is empty, or the first link of a sender also carries packets from another link.
    pub fn new(
        plan: &Plan,
        seed: u64,
        receivers: Receivers,
        reacts: Reacts,
    ) -> (Self, Vec<Routes>) {
        let topology = TopologyAnalysis::of(plan, receivers);
        let early = match receivers {
            Receivers::AheadOfTime => EagerDelivery::of(plan, &topology, reacts),
            Receivers::OnArrival => EagerDelivery::of_none(plan),
        };
        let (mut network, routes) = Network::build(plan, seed, InPacket, &topology, &early);
        if receivers == Receivers::AheadOfTime {
            network.find_sectors(plan, &routes);
        }
        (network, routes)
    }

    /// Divides the network into sectors, if it has several.
    fn find_sectors(&mut self, plan: &Plan, routes: &[Routes]) {
        let (Network { hops, chains, stages, stations, .. }, lanes) =
            (&*self, self.transit.lanes());
        let parts = Parts { plan, hops, chains, stages, routes, lanes, stations };
        if let Some((sectors, lanes, places)) = Sectors::of(&parts) {
            self.transit = Transit::in_places(lanes, places);
            self.sectors = Some(Box::new(sectors));
        }
    }
}

impl<C: Contents> Network<C> {
    /// Returns the network of a plan for real hosts: nothing is delivered ahead of time.
    ///
    /// # Panics
    ///
    /// As [`Network::new`].
    pub fn in_real_time(plan: &Plan, seed: u64, contents: C) -> (Self, Vec<Routes>) {
        let topology = TopologyAnalysis::of(plan, Receivers::OnArrival);
        Network::build(plan, seed, contents, &topology, &EagerDelivery::of_none(plan))
    }

    fn build(
        plan: &Plan,
        seed: u64,
        contents: C,
        topology: &TopologyAnalysis,
        early: &EagerDelivery,
    ) -> (Self, Vec<Routes>) {
        let link = |link| Link::new(link, plan.groups.len(), seed);
        let mut links = large_list(plan.links.iter().map(link));
        let schedules = |link: &LinkPlan| link.scheduler != SchedulerParams::Fifo;
        if plan.links.iter().any(schedules) {
            let users = plan.known_users();
            let scheduled = links.iter_mut().zip(&plan.links).filter(|(_, plan)| schedules(plan));
            scheduled.for_each(|(link, _)| link.know(&users));
        }
        let stations: Vec<u32> =
            (0..links.len() as u32).filter(|&link| links[link as usize].is_station()).collect();
        let stages = Stages::new(plan, seed);
        let numbers = links.len() + stations.len() + stages.holders();
        assert!(numbers < MAX_LINKS, "at most {MAX_LINKS} links");
        let longest = plan.warm_up + plan.duration + plan.drain_limit;
        assert!(longest < longest_run(numbers), "a run ends before {}", longest_run(numbers));
        // What a stage holds waits as if on a link of its own.
        let mut lanes = topology.lanes(plan);
        let free = lanes.iter().max().map_or(0, |last| last + 1);
        lanes.extend((0..stages.holders() as u32).map(|holder| free + holder));
        let mut network = Network {
            links,
            transit: Transit::new(lanes, stations.len()),
            options: OptionStore::default(),
            delayed_acks: DelayedAcks::of(plan, early),
            ledger: PacketTotals::default(),
            discarded: 0,
            losses: vec![0; plan.flows.len()],
            contents,
            hops: Vec::new(),
            trains: topology.trains.clone(),
            stations,
            flow_states: Vec::new(),
            hosts: HostQueues::Few(Vec::new()),
            shared_hosts: false,
            stages,
            chains: Vec::new(),
            fast_paths: Vec::new(),
            tunnel_ends: Vec::new(),
            reports: Reports::default(),
            exited: Vec::new(),
            next_reading: Time::ZERO,
            read_next: Time::ZERO,
            deferred: Vec::new(),
            ahead: Ahead::until(Time::ZERO + plan.warm_up + plan.duration),
            capture: None,
            sectors: None,
        };
        let mut known = KnownRoutes::of_none(plan.links.len());
        let mut hops = Vec::new();
        let host_of_link = network.add_hosts(plan, topology, seed);
        let mut routes = Vec::with_capacity(plan.flows.len() + plan.moves.len());
        reserve_large(&mut network.flow_states, plan.flows.len());
        for (i, flow) in plan.paths().enumerate() {
            let mut enter = |direction: Direction, early: bool, network: &mut Self| {
                topology.hops(plan, flow, direction, early, &mut hops);
                let chains = network.chains_of(flow, direction, &hops, topology);
                let Network { hops: all, chains: all_chains, .. } = &mut *network;
                let (first, is_new) = known.enter((&hops, &chains), (all, all_chains));
                if is_new {
                    network.add_tunnel_ends(plan, flow, direction, hops.len());
                }
                first
            };
            routes.push(Routes {
                forward: enter(Direction::Forward, early.is(i), &mut network),
                reverse: enter(Direction::Reverse, false, &mut network),
            });
            let far_host = host_of_link[flow.reverse[0] as usize];
            network.shared_hosts |= far_host != NO_HOST;
            if i >= plan.flows.len() {
                continue;
            }
            let UserPlan { group, customer, receives, .. } = plan.users[flow.user];
            let (user, scalable) = (customer as u32, flow.is_scalable());
            let dscp_and_end = DscpAndEnd::new(flow.dscp.bits(), receives);
            network.flow_states.push(FlowState {
                owner: Owner { group: group as u16, user, scalable, dscp_and_end },
                jitter_ns: flow.jitter.as_nanos().min(MAX_RUN.as_nanos()),
                burst_waits_to: match flow.tcp.as_deref() {
                    Some(tcp) if tcp.quirks.jitter_per_burst => Time::ZERO,
                    _ => Time::NEVER,
                },
                host: host_of_link[flow.forward[0] as usize],
                far_host,
            });
        }
        for report in &topology.reports {
            network.add_report_path(plan, topology, report, &routes[report.path]);
        }
        network.hops = large_list(core::mem::take(&mut network.hops).into_iter());
        network.fast_paths = network.fast_path_stages();
        assert!(network.hops.len() <= MAX_PLACES, "at most {MAX_PLACES} steps of routes");
        (network, routes)
    }

    /// Adds the hosts that send data: one for each first link of a data path. Returns the host
    /// of each link.
    fn add_hosts(&mut self, plan: &Plan, topology: &TopologyAnalysis, seed: u64) -> Vec<u32> {
        let (mut host_of_link, mut links) = (vec![NO_HOST; plan.links.len()], Vec::new());
        for flow in &plan.flows {
            let host = &mut host_of_link[flow.forward[0] as usize];
            if *host == NO_HOST {
                let fed_by_hosts = topology.is_fed_by_hosts_alone(flow.forward[0]);
                assert!(
                    fed_by_hosts,
                    "the first link of a sender carries nothing that comes over another"
                );
                *host = links.len() as u32;
                links.push(&plan.links[flow.forward[0] as usize].name);
            }
        }
        self.hosts = HostQueues::new(links.into_iter(), seed);
        host_of_link
    }

    /// Adds the path of a stage's reports that answer packets of a flow.
    fn add_report_path(
        &mut self,
        plan: &Plan,
        topology: &TopologyAnalysis,
        report: &ReportPath,
        routes: &Routes,
    ) {
        let Some(links) = report.links.clone() else { return };
        let ((number, flow), direction) = (plan.path(report.path), report.direction.opposite());
        let first = self.hops.len() as u32;
        self.hops.extend(topology.report_hops(plan, report));
        for place in links.clone() {
            let chain = match place == links.start {
                true => self.stages.first_chain(flow, direction, place),
                false => self.stages.chain(flow, direction, place),
            };
            self.chains.push(chain.unwrap_or(u32::MAX));
        }
        self.chains.push(self.stages.last_chain(flow, report, links.end - 1));
        let entered = match report.direction {
            Direction::Forward => routes.forward,
            Direction::Reverse => routes.reverse,
        };
        self.reports.add_path(number as u32, entered + report.hop as u32, report.kind, first);
    }

    /// Adds the next tunnel end of each of the last hops, if tunnels end in this network.
    fn add_tunnel_ends(&mut self, plan: &Plan, flow: &FlowPlan, direction: Direction, hops: usize) {
        if self.stages.end_tunnels() {
            self.tunnel_ends.extend((0..hops).map(|hop| flow.tunnel_end(plan, direction, hop)));
        }
    }

    /// The chain of stages of each hop; empty in a network without stages.
    fn chains_of(
        &mut self,
        flow: &FlowPlan,
        direction: Direction,
        hops: &[Hop],
        topology: &TopologyAnalysis,
    ) -> Vec<u32> {
        if self.stages.is_empty() {
            return Vec::new();
        }
        let chain = |hop: usize| {
            let chain = self.stages.chain(flow, direction, hop)?;
            let behind = hop.checked_sub(1).map(|place| hops[place].link);
            if let Some(link) = behind.filter(|link| topology.is_passed_ahead(*link)) {
                self.stages.pass_ahead(chain, link);
            }
            Some(chain)
        };
        (0..hops.len()).map(chain).map(|chain| chain.unwrap_or(u32::MAX)).collect()
    }
}
