//! Sources and sinks: what the hosts send and receive, in one thread.

mod cbr;
mod datagrams;
mod endpoint;
mod iperf3;
mod poller;
pub mod pricing;
mod readings;
mod report;
mod tcp;
mod tcp_info;
mod timers;

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::{Cbr, Plan, Traffic};
use tidegate_simulator::Site;
use tidegate_simulator::output::{ApplicationSeries, ApplicationTable, FlowSeries};
use tidegate_simulator::random::Stream;

use crate::LabError;
use crate::clock::Clock;
use crate::hosts::NetnsHosts;
use cbr::CbrFlow;
use datagrams::{DatagramFlow, Machine};
use endpoint::FlowEndpoints;
use iperf3::Iperf3Flow;
pub use iperf3::not_by_iperf3;
use poller::{Poller, SocketToken};
use readings::{FlowReading, Means, flow_report};
pub use report::{FlowReport, Lateness, LoadReport, TransferReport};
use tcp::TcpFlow;
use timers::{LoadTimers, LoadWake};

/// Window and round-trip time are read at least as often as this.
const SAMPLE_INTERVAL: Span = Span::from_millis(100);
/// The thread looks this often whether it shall stop.
const NAP: Span = Span::from_millis(50);

/// What generates the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generator {
    /// This crate.
    #[default]
    Own,
    /// iperf3, where the plan says greedy TCP or UDP; transfers are still made by this crate. Its
    /// processes end at the latest with the thread that calls [`Load::new`] or [`Load::run`].
    Iperf3,
}

/// What a caller may choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// What generates the load.
    pub generator: Generator,
}

/// All flows of a plan.
pub struct Load<'a> {
    plan: &'a Plan,
    flows: Vec<Flow<'a>>,
    means: Vec<Means>,
    series: FlowSeries,
    application_series: ApplicationSeries,
    /// The flows of which series are kept.
    watched: Vec<usize>,
    poller: Poller,
    timers: LoadTimers,
    transfers: Vec<TransferReport>,
    lateness: Lateness,
    /// By user group.
    sites: Vec<Site>,
    /// The longest that something due had to wait, since the start or the warm-up's end.
    stall: Span,
    /// Single transfers that are not done.
    awaited: usize,
    /// Of the measured time.
    end: Time,
}

enum Flow<'a> {
    Tcp(Box<TcpFlow<'a>>),
    Cbr(Box<CbrFlow<'a>>),
    Datagrams(Box<DatagramFlow<'a>>),
    Iperf3(Box<Iperf3Flow<'a>>),
}

impl Flow<'_> {
    fn unfinished(&self) -> Option<TransferReport> {
        let Flow::Tcp(tcp) = self else { return None };
        tcp.unfinished()
    }
}

impl<'a> Load<'a> {
    /// Opens the servers' sockets and plans the starts: the same moments as in a simulation with
    /// this seed.
    ///
    /// # Errors
    /// [`LabError::Missing`] if the kernel lacks a congestion controller, [`LabError::Run`] or
    /// [`LabError::Setup`] if a socket refuses what the plan asks for.
    pub fn new(
        plan: &'a Plan,
        hosts: &'a NetnsHosts,
        seed: u64,
        options: LoadOptions,
    ) -> Result<Self, LabError> {
        let poller = Poller::new().map_err(|e| LabError::Setup(format!("epoll: {e}")))?;
        let mut timers = LoadTimers::default();
        let mut flows = Vec::new();
        for (number, flow) in plan.flows.iter().enumerate() {
            let endpoints = FlowEndpoints::new(plan, number, hosts);
            let by_iperf3 = options.generator == Generator::Iperf3;
            flows.push(match &*flow.traffic {
                Traffic::Greedy(_) | Traffic::Cbr(_) if by_iperf3 => {
                    Flow::Iperf3(Box::new(Iperf3Flow::new(flow, endpoints)?))
                }
                Traffic::Cbr(Cbr { rate, .. }) => {
                    let cbr = CbrFlow::new(endpoints, flow.packet_size, *rate, &poller)?;
                    Flow::Cbr(Box::new(cbr))
                }
                _ => match DatagramFlow::new(plan, &endpoints, seed, &poller)? {
                    Some(own) => Flow::Datagrams(Box::new(own)),
                    None => Flow::Tcp(Box::new(TcpFlow::new(plan, endpoints, seed, &poller)?)),
                },
            });
            let room = flow.start.to.since(flow.start.from).as_secs();
            let draw = Stream::of_flow(seed, plan, number, "start").unit();
            let start = flow.start.from + Span::from_secs_f64(draw * room);
            timers.push(start, LoadWake::Start(number));
        }
        let awaited = flows.iter().filter(|f| matches!(f, Flow::Tcp(tcp) if tcp.is_awaited()));
        Ok(Load {
            plan,
            awaited: awaited.count(),
            sites: plan.groups.iter().map(|_| Site::default()).collect(),
            means: vec![Means::default(); flows.len()],
            flows,
            series: FlowSeries::default(),
            application_series: ApplicationSeries::default(),
            watched: first_of_each_group(plan),
            poller,
            timers,
            transfers: Vec::new(),
            lateness: Lateness::default(),
            stall: Span::ZERO,
            end: Time::NEVER,
        })
    }

    /// Sends and receives until `end`, where the measured time ends, then until single transfers
    /// are done, or until `stop`. Connections end with this value and not before, so that none is cut off while others
    /// still carry its packets. There is one run in it.
    ///
    /// # Errors
    /// If a connection fails.
    pub fn run(
        &mut self,
        clock: &Clock,
        end: Time,
        stop: &AtomicBool,
    ) -> Result<LoadReport, LabError> {
        self.end = end;
        let measured_from = Time::ZERO + self.plan.warm_up;
        self.plan_samples();
        self.run_until(measured_from, clock, stop, |_| false)?;
        let before = self.read()?;
        // What has been sampled so far belongs to the warm-up.
        self.means.fill(Means::default());
        // Who stands still when the measured time begins or ends counts into it what is not of it.
        self.stall = clock.now().since(measured_from);
        self.measure(measured_from);
        self.run_until(end, clock, stop, |_| false)?;
        let after = self.read()?;
        self.stall = self.stall.max(clock.now().since(end));
        let applications = self.applications(end);
        let means = self.means.clone();
        let stall = self.stall;
        let limit = end + self.plan.drain_limit;
        self.run_until(limit, clock, stop, |load| load.awaited == 0)?;
        self.run_until(end + iperf3::PATIENCE, clock, stop, Load::iperf3_is_done)?;
        let report = self.report(&before, &after, &means, [measured_from, end])?;
        Ok(LoadReport { stall, applications, ..report })
    }

    fn plan_samples(&mut self) {
        let step = self.plan.sample_interval.unwrap_or(SAMPLE_INTERVAL).min(SAMPLE_INTERVAL);
        self.timers.push(Time::ZERO + step, LoadWake::Sample { step });
        if let Some(step) = self.plan.sample_interval {
            self.timers.push(Time::ZERO + step, LoadWake::Series { step });
        }
    }

    fn run_until(
        &mut self,
        end: Time,
        clock: &Clock,
        stop: &AtomicBool,
        mut done: impl FnMut(&mut Self) -> bool,
    ) -> Result<(), LabError> {
        loop {
            // What becomes due meanwhile lets the sockets have their turn first.
            let now = clock.now().min(end);
            while let Some((due, wake)) = self.timers.pop_before(now) {
                self.stall = self.stall.max(clock.now().since(due));
                self.wake(wake, due, clock)?;
            }
            let now = clock.now();
            let is_over = now >= end || done(self) || stop.load(Ordering::Relaxed);
            let next = if is_over { now } else { self.timers.next().min(end) };
            // Also in the end: what has come by then is not for the next to find.
            let ready = self.poller.wait(next.since(now).min(NAP));
            for (token, _) in ready.map_err(|e| LabError::Run(format!("epoll: {e}")))? {
                self.on_ready(token, clock)?;
            }
            if is_over {
                return Ok(());
            }
        }
    }

    fn wake(&mut self, wake: LoadWake, due: Time, clock: &Clock) -> Result<(), LabError> {
        match wake {
            LoadWake::Start(flow) => match &mut self.flows[flow] {
                Flow::Tcp(tcp) => tcp.start(clock.now(), &self.poller)?,
                Flow::Cbr(cbr) => {
                    cbr.start(due);
                    self.timers.push(due, LoadWake::Send(flow));
                }
                Flow::Iperf3(iperf3) => iperf3.start(clock.now(), self.end)?,
                Flow::Datagrams(own) => {
                    let Load { timers, lateness, sites, .. } = self;
                    own.start(due, &mut Machine { clock, timers, lateness, sites })?;
                }
            },
            LoadWake::Application(flow) => {
                let Load { flows, timers, lateness, sites, .. } = self;
                let Flow::Datagrams(own) = &mut flows[flow] else { return Ok(()) };
                own.wake(due, &mut Machine { clock, timers, lateness, sites })?;
            }
            LoadWake::Send(flow) => {
                let Flow::Cbr(cbr) = &mut self.flows[flow] else { return Ok(()) };
                cbr.send(clock.now(), &mut self.lateness)?;
                self.timers.push(cbr.due(), LoadWake::Send(flow));
            }
            LoadWake::Sample { step } => {
                self.sample()?;
                self.timers.push(due + step, wake);
            }
            LoadWake::Series { step } => {
                self.extend_series(due)?;
                self.timers.push(due + step, wake);
            }
        }
        Ok(())
    }

    fn on_ready(&mut self, token: SocketToken, clock: &Clock) -> Result<(), LabError> {
        let SocketToken { flow, role } = token;
        let tcp = match &mut self.flows[flow] {
            Flow::Cbr(cbr) => return cbr.receive(),
            Flow::Tcp(tcp) => tcp,
            Flow::Datagrams(own) => {
                let Load { timers, lateness, sites, .. } = self;
                return own.on_ready(role, &mut Machine { clock, timers, lateness, sites });
            }
            Flow::Iperf3(_) => return Ok(()),
        };
        let now = clock.now();
        if let Some(record) = tcp.on_ready(role, now, &self.poller)? {
            let took = record.completion.unwrap_or(Span::ZERO);
            self.transfers.push(record);
            match tcp.next_start(now, took) {
                Some(start) => self.timers.push(start, LoadWake::Start(flow)),
                None => self.awaited -= 1,
            }
        }
        Ok(())
    }

    fn read(&self) -> Result<Vec<FlowReading>, LabError> {
        let read = |flow: &Flow| {
            Ok(match flow {
                Flow::Tcp(tcp) => FlowReading::Tcp(tcp.received_bytes, tcp.counts()?),
                Flow::Cbr(cbr) => FlowReading::Cbr(cbr.counts),
                Flow::Datagrams(own) => FlowReading::Datagrams(own.counts()),
                Flow::Iperf3(_) => FlowReading::Iperf3,
            })
        };
        self.flows.iter().map(read).collect()
    }

    /// The measured time of applications begins.
    fn measure(&mut self, now: Time) {
        for flow in &mut self.flows {
            if let Flow::Datagrams(own) = flow {
                own.measure(now);
            }
        }
    }

    /// What applications tell of themselves, now that it is so late.
    fn applications(&self, now: Time) -> ApplicationTable {
        let mut table = ApplicationTable::default();
        for (number, flow) in self.flows.iter().enumerate() {
            if let Flow::Datagrams(own) = flow {
                own.metrics(now, &mut |what, amount| table.push(self.plan, number, what, amount));
            }
        }
        table
    }

    fn sample(&mut self) -> Result<(), LabError> {
        for (flow, means) in self.flows.iter().zip(&mut self.means) {
            let Flow::Tcp(tcp) = flow else { continue };
            if let Some(info) = tcp.info()? {
                means.add(&info);
            }
        }
        Ok(())
    }

    fn extend_series(&mut self, at: Time) -> Result<(), LabError> {
        for &number in &self.watched {
            let tcp = match &self.flows[number] {
                Flow::Tcp(tcp) => tcp,
                Flow::Datagrams(own) => {
                    let series = &mut self.application_series;
                    own.shows(&mut |what, amount| series.push(self.plan, at, number, what, amount));
                    continue;
                }
                Flow::Cbr(_) | Flow::Iperf3(_) => continue,
            };
            let info = tcp.info()?;
            self.series.time_s.push(at.as_secs());
            self.series.flow.push(number as u32);
            self.series.group.push(self.plan.users[self.plan.flows[number].user].group as u32);
            let cwnd = info.map_or(f64::NAN, |info| info.cwnd_packets.into());
            self.series.cwnd_packets.push(cwnd);
            self.series.srtt_s.push(info.and_then(|info| info.srtt_s).unwrap_or(f64::NAN));
            self.series.price.push(f64::NAN);
        }
        Ok(())
    }

    fn iperf3_is_done(&mut self) -> bool {
        let done = |flow: &mut Flow| match flow {
            Flow::Iperf3(iperf3) => iperf3.is_done(),
            _ => true,
        };
        self.flows.iter_mut().all(done)
    }

    fn report(
        &mut self,
        before: &[FlowReading],
        after: &[FlowReading],
        means: &[Means],
        [from, to]: [Time; 2],
    ) -> Result<LoadReport, LabError> {
        let mut flows = Vec::new();
        for (number, flow) in self.flows.iter_mut().enumerate() {
            let report = match flow {
                Flow::Iperf3(iperf3) => Some(iperf3.report(from, to)?),
                Flow::Tcp(_) | Flow::Cbr(_) | Flow::Datagrams(_) => {
                    self.transfers.extend(flow.unfinished());
                    flow_report(before[number], after[number], &means[number])
                }
            };
            flows.push(report.unwrap_or_default());
        }
        Ok(LoadReport {
            flows,
            transfers: mem::take(&mut self.transfers),
            flow_series: mem::take(&mut self.series),
            applications: ApplicationTable::default(),
            application_series: mem::take(&mut self.application_series),
            lateness: self.lateness,
            stall: self.stall,
        })
    }
}

/// As many flows of each group as the plan samples.
fn first_of_each_group(plan: &Plan) -> Vec<usize> {
    let mut flows_of = vec![0; plan.groups.len()];
    let is_watched = |&flow: &usize| {
        let flows = &mut flows_of[plan.users[plan.flows[flow].user].group];
        *flows += 1;
        *flows <= plan.sampled_flows
    };
    (0..plan.flows.len()).filter(is_watched).collect()
}
