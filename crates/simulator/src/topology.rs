//! Analysis of a plan's routes: which links feed which, where packets need no event, and which links share a lane.

use tidegate_mechanisms::stage::StageParams;
use tidegate_mechanisms::units::Span;
use tidegate_scenario::plan::{Direction, FlowPlan, LinkPlan, Plan, ReportPath};

use crate::build::{needs_arrivals, needs_departures};
use crate::number_map::NumberMap;
use crate::stages::{is_order_only, is_staged};

/// When receivers are served.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Receivers {
    /// As soon as the arrival and its time are known, if that changes no result.
    AheadOfTime,
    /// When the packet arrives.
    OnArrival,
}

/// One step of a route.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hop {
    /// Link to take; [`NO_LINK`] at the end.
    pub link: u32,
    /// Whether the packet passes stages before this link.
    pub staged: bool,
    /// Whether packets behind it with the same next hop may move in one event: see [`PacketTrain`].
    pub leads_train: bool,
    /// What follows after the link.
    pub then: NextHop,
}

/// Link of the step at the end of a route.
pub const NO_LINK: u32 = u32::MAX;

/// What follows after a link.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum NextHop {
    /// The packet's arrival is an event.
    Event,
    /// The next link, which is fed by this one alone.
    Link,
    /// A host, which may be served ahead of time.
    Host,
    /// Nothing: the route has ended before.
    Nothing,
}

/// Packets that enter a link from one other link, where the only other input is reports of stages that are passed ahead of
/// time. The time of a report is known in advance, so that all packets before it can move in one event.
#[derive(Clone, Copy)]
pub struct PacketTrain {
    /// The link from which packets arrive.
    pub over: u32,
    /// Link at whose egress the reports are generated.
    pub reports: u32,
    /// Minimum time between the event that causes a report and the report.
    pub notice: Span,
}

/// Which link feeds which, over all routes.
pub struct TopologyAnalysis {
    /// Number of the set of upstream links.
    origin: Vec<u32>,
    /// The only upstream link; `None` if there are several, or a host.
    only: Vec<Option<u32>>,
    /// Links fed by hosts only.
    hosts_alone: Vec<bool>,
    /// Paths of stages' reports.
    pub reports: Vec<ReportPath>,
    /// Links behind which packets pass counting stages ahead of time.
    passed_ahead: Vec<bool>,
    /// Packet trains, by the link that they enter.
    pub trains: Vec<Option<PacketTrain>>,
}

/// A source of a link's packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Upstream {
    /// A host that sends.
    Host,
    /// Another link.
    Link(u32),
    /// A stage in front of it that reports.
    Stage,
}

/// What a packet has passed before a link since its last event.
#[derive(PartialEq, Eq, Hash)]
enum Behind {
    /// Nothing: links behind an event, by the set of their upstream links, and the place that answers are from.
    Event(u32, Option<u32>),
    /// Links of these rates and delays, by their number.
    Link(u32),
}

/// The sources of a link's packets, each once and in order.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
enum Sources {
    #[default]
    None,
    /// Most links have one.
    One(Upstream),
    Several(Vec<Upstream>),
}

impl Sources {
    fn add(&mut self, upstream: Upstream) {
        match self {
            Sources::None => *self = Sources::One(upstream),
            Sources::One(only) if *only == upstream => (),
            Sources::One(only) => *self = Sources::Several(vec![*only, upstream]),
            Sources::Several(all) if all.last() == Some(&upstream) => (),
            Sources::Several(all) => all.push(upstream),
        }
    }

    fn sort(&mut self) {
        if let Sources::Several(all) = self {
            all.sort_unstable();
            all.dedup();
        }
    }

    fn as_slice(&self) -> &[Upstream] {
        match self {
            Sources::None => &[],
            Sources::One(only) => core::slice::from_ref(only),
            Sources::Several(all) => all,
        }
    }
}

impl TopologyAnalysis {
    /// Analyses a plan.
    ///
    /// # Panics
    /// If a route is empty.
    pub fn of(plan: &Plan, receivers: Receivers) -> Self {
        let mut before = vec![Sources::default(); plan.links.len()];
        for flow in plan.paths() {
            for route in [&flow.forward, &flow.reverse] {
                assert!(!route.is_empty(), "a route has at least one link");
                let mut previous = Upstream::Host;
                for &link in route {
                    before[link as usize].add(previous);
                    previous = Upstream::Link(link);
                }
            }
        }
        let reports = plan.report_paths();
        for report in &reports {
            let route = report.direction.opposite().route(plan.path(report.path).1);
            let first = report.links.as_ref().map(|links| route[links.start] as usize);
            first.into_iter().for_each(|first| before[first].add(Upstream::Stage));
        }
        before.iter_mut().for_each(Sources::sort);
        let passed_ahead = match receivers {
            Receivers::AheadOfTime => passed_ahead(plan, &before, &reports),
            Receivers::OnArrival => vec![false; plan.links.len()],
        };
        let punctual = punctual(plan, &passed_ahead);
        let stations: Vec<bool> = plan.links.iter().map(needs_departures).collect();
        let only: Vec<Option<u32>> = (before.iter().enumerate())
            .map(|(number, upstream)| match *upstream.as_slice() {
                // The backlog of a monitored link is sampled, so its clock must not run ahead; nor
                // must that of one whose departures are events, or of a stage that counts. What follows
                // a station is known when a packet departs. Packets into which a price may be written, or that may
                // come in another order, arrive.
                [Upstream::Link(only)] => {
                    let reported = needs_arrivals(&plan.links[only as usize]);
                    let watched = plan.links[number].monitored || stations[number] || reported;
                    (!watched && !punctual[number]).then_some(only)
                }
                _ => None,
            })
            .collect();
        let watched = |number: usize| {
            let link = &plan.links[number];
            link.monitored || stations[number] || needs_arrivals(link) || punctual[number]
        };
        let mut trains = vec![None; before.len()];
        for (number, upstream) in before.iter().enumerate().filter(|(number, _)| !watched(*number))
        {
            if let [Upstream::Link(over), Upstream::Stage] = *upstream.as_slice()
                && !needs_arrivals(&plan.links[over as usize])
                && let Some(reports) = only_source(plan, &reports, number as u32)
                && passed_ahead[reports as usize]
            {
                let behind = |link: &u32| only[*link as usize];
                let chain = core::iter::successors(Some(reports), behind);
                let delay = |link: u32| plan.links[link as usize].least_delay();
                let notice = chain.map(delay).fold(Span::ZERO, |sum, delay| sum + delay);
                trains[number] = Some(PacketTrain { over, reports, notice });
            }
        }
        if trains.iter().all(Option::is_none) {
            trains = Vec::new();
        }
        let hosts_alone =
            before.iter().map(|upstream| upstream.as_slice() == [Upstream::Host]).collect();
        let mut known = NumberMap::default();
        let mut number = |upstream| {
            let next = known.len() as u32;
            *known.entry(upstream).or_insert(next)
        };
        let origin = before.into_iter().map(&mut number).collect();
        TopologyAnalysis { origin, only, hosts_alone, reports, passed_ahead, trains }
    }

    /// Whether packets enter a link in trains.
    fn has_train(&self, link: u32) -> bool {
        self.trains.get(link as usize).is_some_and(Option::is_some)
    }

    /// Whether a link is fed by hosts only.
    pub fn is_fed_by_hosts_alone(&self, link: u32) -> bool {
        self.hosts_alone[link as usize]
    }

    /// Whether packets pass the counting stages behind a link ahead of time.
    pub fn is_passed_ahead(&self, link: u32) -> bool {
        self.passed_ahead[link as usize]
    }

    fn chained(&self, link: u32, next: u32) -> bool {
        self.only[next as usize] == Some(link)
    }

    /// Returns the lane of each link, in which its packets wait for their arrival. Links share a lane if they have the
    /// same rates and delays since the last event, from the same place.
    pub fn lanes(&self, plan: &Plan) -> Vec<u32> {
        // Reports depart from there at the time of the arrival.
        let mut in_use = self.passed_ahead.clone();
        let mut before_answer = vec![None; plan.links.len()];
        let mut hops = Vec::new();
        for flow in plan.paths() {
            for direction in [Direction::Forward, Direction::Reverse] {
                self.hops(plan, flow, direction, false, &mut hops);
                for hop in hops.iter().filter(|hop| hop.then == NextHop::Event) {
                    in_use[hop.link as usize] = true;
                }
            }
            if let [.., place, _] = flow.forward[..] {
                before_answer[flow.reverse[0] as usize] = Some(place);
            }
        }
        for report in &self.reports {
            for hop in
                self.report_hops(plan, report).iter().filter(|hop| hop.then == NextHop::Event)
            {
                in_use[hop.link as usize] = true;
            }
        }
        let (mut paces, mut lanes) = (NumberMap::default(), NumberMap::default());
        let mut passed = Vec::new();
        let mut lane = |link: usize| {
            let mut first = link;
            passed.clear();
            while let Some(before) = self.only[first] {
                passed.push(first);
                first = before as usize;
            }
            let mut number = |link: usize, behind: Behind| {
                let next = paces.len() as u32;
                let pace = (plan.links[link].rate, plan.links[link].delay);
                *paces.entry((pace, behind)).or_insert(next)
            };
            let start = Behind::Event(self.origin[first], before_answer[first]);
            let first = number(first, start);
            let last =
                passed.iter().rev().fold(first, |before, link| number(*link, Behind::Link(before)));
            let next = lanes.len() as u32;
            *lanes.entry(last).or_insert(next)
        };
        (0..plan.links.len()).map(|link| if in_use[link] { lane(link) } else { 0 }).collect()
    }

    /// Puts the steps of a flow's route in place of `hops`; `early` if its end may be reached ahead of time.
    pub fn hops(
        &self,
        plan: &Plan,
        flow: &FlowPlan,
        direction: Direction,
        early: bool,
        hops: &mut Vec<Hop>,
    ) {
        let route = direction.route(flow);
        let staged = |hop| is_staged(plan, flow, direction, hop);
        let ends_staged = staged(route.len());
        let after = |i: usize| match route.get(i + 1) {
            _ if needs_arrivals(&plan.links[route[i] as usize]) => NextHop::Event,
            Some(&next) if self.chained(route[i], next) => NextHop::Link,
            None if early && ends_staged => NextHop::Link,
            None if early => NextHop::Host,
            _ => NextHop::Event,
        };
        hops.clear();
        hops.extend(route.iter().enumerate().map(|(i, &link)| Hop {
            link,
            staged: staged(i),
            leads_train: false,
            then: after(i),
        }));
        let then = if ends_staged { NextHop::Host } else { NextHop::Nothing };
        hops.push(Hop { link: NO_LINK, staged: ends_staged, leads_train: false, then });
        for place in 1..route.len() {
            hops[place].leads_train = self.has_train(route[place])
                && [hops[place - 1].then, hops[place].then] == [NextHop::Event; 2]
                && !hops[place].staged;
        }
    }
}

impl TopologyAnalysis {
    /// The hops of a report path, the last of them at the receiver; none if no links lead there.
    pub fn report_hops(&self, plan: &Plan, report: &ReportPath) -> Vec<Hop> {
        let Some(links) = report.links.clone() else { return Vec::new() };
        let (flow, direction) = (plan.path(report.path).1, report.direction.opposite());
        let (route, first) = (direction.route(flow), links.start);
        let hop = |place: usize| {
            let link = route[place];
            let staged = match place == first {
                true => !plan.links[link as usize].ingress.is_empty(),
                false => is_staged(plan, flow, direction, place),
            };
            let next = Some(place + 1).filter(|next| *next < links.end).map(|next| route[next]);
            let is_chained = next.is_some_and(|next| self.chained(link, next));
            let then = if is_chained { NextHop::Link } else { NextHop::Event };
            Hop { link, staged, leads_train: false, then }
        };
        let end = Hop { link: NO_LINK, staged: true, leads_train: false, then: NextHop::Host };
        links.clone().map(hop).chain([end]).collect()
    }
}

/// Returns the only link whose far end generates the reports that enter `link`, if there is only one.
fn only_source(plan: &Plan, reports: &[ReportPath], link: u32) -> Option<u32> {
    let mut sources = reports.iter().filter_map(|report| {
        let flow = plan.path(report.path).1;
        let first =
            report.links.as_ref().map(|links| report.direction.opposite().route(flow)[links.start]);
        let source = report.hop.checked_sub(1).map(|place| report.direction.route(flow)[place]);
        (first == Some(link)).then_some(source)
    });
    let source = sources.next()?;
    sources.all(|other| other == source).then_some(source)?
}

/// Returns the links behind stages that packets must pass on time.
fn punctual(plan: &Plan, passed_ahead: &[bool]) -> Vec<bool> {
    let mut punctual = vec![false; plan.links.len()];
    for flow in plan.paths() {
        for direction in Direction::ALL {
            let route = direction.route(flow);
            for (hop, &link) in route.iter().enumerate() {
                let behind = hop.checked_sub(1).map(|place| route[place] as usize);
                let is_ahead = behind.is_some_and(|link| passed_ahead[link]);
                let is_on_time = !is_ahead && !is_order_only(plan, flow, direction, hop);
                punctual[link as usize] |= is_on_time;
            }
        }
    }
    punctual
}

/// Returns the links behind whose end packets pass stages ahead of their arrival, until the next reading of the
/// counters. All packets from such a link continue over one other link, which has no other input, so that the stages
/// between the two see all of them, in order.
fn passed_ahead(plan: &Plan, before: &[Sources], reports: &[ReportPath]) -> Vec<bool> {
    let ahead = StageParams::ahead_of_readings;
    let may = |link: &LinkPlan| link.egress.iter().any(ahead) && !needs_arrivals(link);
    let mut passed: Vec<bool> = plan.links.iter().map(may).collect();
    if !passed.contains(&true) {
        return passed;
    }
    let passes = |stage: &StageParams| stage.order_only() || ahead(stage);
    for (flow, direction) in
        plan.paths().flat_map(|flow| Direction::ALL.map(|direction| (flow, direction)))
    {
        let route = direction.route(flow);
        for (place, &link) in route.iter().enumerate() {
            passed[link as usize] &= route.get(place + 1).is_some_and(|&next| {
                let next_plan = &plan.links[next as usize];
                before[next as usize].as_slice() == [Upstream::Link(link)]
                    && !next_plan.monitored
                    && !needs_departures(next_plan)
                    && flow.stages_at(plan, direction, place + 1).all(passes)
            });
        }
    }
    for report in reports {
        let route = report.direction.opposite().route(plan.path(report.path).1);
        let links = report.links.clone().unwrap_or_default();
        links.for_each(|place| passed[route[place] as usize] = false);
    }
    passed
}

/// Whether the application of a flow acts on arriving data, and whether its connections overlap.
pub type Reacts = fn(&FlowPlan) -> (bool, bool);

/// Flows whose data may reach the receiver ahead of time.
///
/// A receiver depends only on the order and times of arriving packets, which are known when they leave the last queue,
/// and on its own clock, which can run ahead with them ([`DelayedAcks`](crate::delayed_acks::DelayedAcks)). It can
/// therefore be served at once, with the future time of arrival, and needs no event. The conditions are that its
/// acknowledgements enter their first link in order (all input of that link comes from such receivers, and their data
/// arrives over one last link), and that no stage there counts or drops. Acknowledgements of a host that also sends
/// data share its interface, so it is not served ahead of time. Measurements and exchanged packets are identical.
pub struct EagerDelivery {
    /// Whether each flow is delivered early.
    pub flows: Vec<bool>,
}

impl EagerDelivery {
    /// Whether a path is delivered early; paths of moves are not.
    pub fn is(&self, path: usize) -> bool {
        self.flows.get(path).is_some_and(|early| *early)
    }

    /// No path is delivered early.
    pub fn of_none(plan: &Plan) -> Self {
        EagerDelivery { flows: vec![false; plan.flows.len()] }
    }

    /// The early deliveries of a plan, given how its applications react.
    pub fn of(plan: &Plan, topology: &TopologyAnalysis, reacts: Reacts) -> Self {
        let mut last_link = vec![None; plan.links.len()];
        let on_time = |flow: &FlowPlan| {
            is_order_only(plan, flow, Direction::Forward, flow.forward.len())
                && is_order_only(plan, flow, Direction::Reverse, 0)
        };
        // The backlog of a monitored link is measured, so its clock must not run ahead.
        let unwatched = |link: &LinkPlan| !link.monitored && !needs_departures(link);
        let mut ordered: Vec<bool> = plan.links.iter().map(unwatched).collect();
        for flow in &plan.flows {
            ordered[flow.forward[0] as usize] = false;
        }
        for flow in &plan.flows {
            let first = flow.reverse[0] as usize;
            let last = *flow.forward.last().expect("a route has at least one link");
            // An application that acts on arrivals does so at their time.
            let (listens, overlaps) = reacts(flow);
            let at_once = match &flow.tcp {
                Some(_) => !listens && !overlaps,
                None if !listens => continue,
                None => false,
            };
            let same = *last_link[first].get_or_insert(last) == last;
            // A packet into which a price may be written, or that overtakes, needs an arrival event.
            let reported = needs_arrivals(&plan.links[last as usize]);
            ordered[first] &= at_once
                && on_time(flow)
                && same
                && !reported
                && topology.is_fed_by_hosts_alone(first as u32);
        }
        // Not if flows move.
        for moved in &plan.moves {
            for path in [&moved.path, &plan.flows[moved.flow]] {
                ordered[path.reverse[0] as usize] = false;
            }
        }
        let flows = (plan.flows.iter())
            .map(|flow| {
                // Not if the first link leads to the receiver without an event: a sender must not reach its receiver in
                // one call.
                let has_event = flow.forward.windows(2).any(|w| !topology.chained(w[0], w[1]));
                ordered[flow.reverse[0] as usize] && has_event && on_time(flow)
            })
            .collect();
        EagerDelivery { flows }
    }
}
