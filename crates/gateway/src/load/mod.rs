//! Sources and sinks: what the hosts send and receive, in one thread.

mod cbr;
mod endpoint;
mod poller;
mod report;
mod tcp;
mod tcp_info;
mod timers;

use std::sync::atomic::{AtomicBool, Ordering};

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::{Plan, TrafficPlan};
use tidegate_simulator::output::FlowSeries;
use tidegate_simulator::random::Stream;

use crate::LabError;
use crate::clock::Clock;
use crate::host::Hosts;
use cbr::{CbrCounts, CbrFlow};
use endpoint::Endpoints;
pub use endpoint::congestion_control_name;
use poller::{Poller, Token};
pub use report::{FlowReport, Lateness, LoadReport, TransferReport};
use tcp::TcpFlow;
use tcp_info::Counts;
use timers::{Timers, Wake};

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
}

/// What a caller may choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What generates the load.
    pub generator: Generator,
}

/// All flows of a plan.
pub struct Load<'a> {
    plan: &'a Plan,
    flows: Vec<Flow<'a>>,
    means: Vec<Means>,
    series: FlowSeries,
    /// The flows of which series are kept.
    watched: Vec<usize>,
    poller: Poller,
    timers: Timers,
    transfers: Vec<TransferReport>,
    lateness: Lateness,
    /// Single transfers that are not done.
    awaited: usize,
}

enum Flow<'a> {
    Tcp(Box<TcpFlow<'a>>),
    Cbr(Box<CbrFlow<'a>>),
}

/// All counters of a flow at one point in time.
#[derive(Clone, Copy)]
enum Reading {
    Tcp(u64, Counts),
    Cbr(CbrCounts),
}

/// Sums over the samples of the measured time.
#[derive(Clone, Copy, Default)]
struct Means {
    cwnd: (f64, u32),
    srtt: (f64, u32),
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
        hosts: &'a Hosts,
        seed: u64,
        options: Options,
    ) -> Result<Self, LabError> {
        let Options { generator: Generator::Own } = options;
        let poller = Poller::new().map_err(|e| LabError::Setup(format!("epoll: {e}")))?;
        let mut timers = Timers::default();
        let mut flows = Vec::new();
        for (number, flow) in plan.flows.iter().enumerate() {
            let endpoints = Endpoints::new(plan, number, hosts);
            flows.push(match flow.traffic {
                TrafficPlan::Cbr { rate } => {
                    Flow::Cbr(Box::new(CbrFlow::new(endpoints, flow.packet_size, rate, &poller)?))
                }
                _ => Flow::Tcp(Box::new(TcpFlow::new(flow, endpoints, seed, &poller)?)),
            });
            let room = flow.start.to.since(flow.start.from).as_secs();
            let draw = Stream::new(seed, &format!("flow/{number}/start")).unit();
            let start = flow.start.from + Span::from_secs_f64(draw * room);
            timers.push(start, Wake::Start(number));
        }
        let awaited = flows.iter().filter(|f| matches!(f, Flow::Tcp(tcp) if tcp.is_awaited()));
        Ok(Load {
            plan,
            awaited: awaited.count(),
            means: vec![Means::default(); flows.len()],
            flows,
            series: FlowSeries::default(),
            watched: first_of_each_group(plan),
            poller,
            timers,
            transfers: Vec::new(),
            lateness: Lateness::default(),
        })
    }

    /// Sends and receives until `end`, where the measured time ends, then until single transfers
    /// are done, or until `stop`.
    ///
    /// # Errors
    /// If a connection fails.
    pub fn run(
        mut self,
        clock: &Clock,
        end: Time,
        stop: &AtomicBool,
    ) -> Result<LoadReport, LabError> {
        let measured_from = Time::ZERO + self.plan.warm_up;
        self.plan_samples();
        self.run_until(measured_from, clock, stop, |_| false)?;
        let before = self.read()?;
        // What has been sampled so far belongs to the warm-up.
        self.means.fill(Means::default());
        self.run_until(end, clock, stop, |_| false)?;
        let after = self.read()?;
        let means = self.means.clone();
        let limit = end + self.plan.drain_limit;
        self.run_until(limit, clock, stop, |load| load.awaited == 0)?;
        Ok(self.report(&before, &after, &means))
    }

    fn plan_samples(&mut self) {
        let step = self.plan.sample_interval.unwrap_or(SAMPLE_INTERVAL).min(SAMPLE_INTERVAL);
        self.timers.push(Time::ZERO + step, Wake::Sample { step });
        if let Some(step) = self.plan.sample_interval {
            self.timers.push(Time::ZERO + step, Wake::Series { step });
        }
    }

    fn run_until(
        &mut self,
        end: Time,
        clock: &Clock,
        stop: &AtomicBool,
        done: impl Fn(&Self) -> bool,
    ) -> Result<(), LabError> {
        loop {
            // What becomes due meanwhile lets the sockets have their turn first.
            let now = clock.now().min(end);
            while let Some((due, wake)) = self.timers.pop_before(now) {
                self.wake(wake, due, clock)?;
            }
            let now = clock.now();
            if now >= end || done(self) || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let next = self.timers.next().min(end);
            let ready = self.poller.wait(next.since(now).min(NAP));
            for (token, _) in ready.map_err(|e| LabError::Run(format!("epoll: {e}")))? {
                self.on_ready(token, clock)?;
            }
        }
    }

    fn wake(&mut self, wake: Wake, due: Time, clock: &Clock) -> Result<(), LabError> {
        match wake {
            Wake::Start(flow) => match &mut self.flows[flow] {
                Flow::Tcp(tcp) => tcp.start(clock.now(), &self.poller)?,
                Flow::Cbr(cbr) => {
                    cbr.start(due);
                    self.timers.push(due, Wake::Send(flow));
                }
            },
            Wake::Send(flow) => {
                let Flow::Cbr(cbr) = &mut self.flows[flow] else { return Ok(()) };
                cbr.send(clock.now(), &mut self.lateness)?;
                self.timers.push(cbr.due(), Wake::Send(flow));
            }
            Wake::Sample { step } => {
                self.sample()?;
                self.timers.push(due + step, wake);
            }
            Wake::Series { step } => {
                self.extend_series(due)?;
                self.timers.push(due + step, wake);
            }
        }
        Ok(())
    }

    fn on_ready(&mut self, token: Token, clock: &Clock) -> Result<(), LabError> {
        let Token { flow, role } = token;
        let tcp = match &mut self.flows[flow] {
            Flow::Cbr(cbr) => return cbr.receive(),
            Flow::Tcp(tcp) => tcp,
        };
        let now = clock.now();
        if let Some(record) = tcp.on_ready(role, now, &self.poller)? {
            self.transfers.push(record);
            match tcp.next_start(now) {
                Some(start) => self.timers.push(start, Wake::Start(flow)),
                None => self.awaited -= 1,
            }
        }
        Ok(())
    }

    fn read(&self) -> Result<Vec<Reading>, LabError> {
        let read = |flow: &Flow| {
            Ok(match flow {
                Flow::Tcp(tcp) => Reading::Tcp(tcp.received_bytes, tcp.counts()?),
                Flow::Cbr(cbr) => Reading::Cbr(cbr.counts),
            })
        };
        self.flows.iter().map(read).collect()
    }

    fn sample(&mut self) -> Result<(), LabError> {
        for (flow, means) in self.flows.iter().zip(&mut self.means) {
            let Flow::Tcp(tcp) = flow else { continue };
            let Some(info) = tcp.info()? else { continue };
            add(&mut means.cwnd, info.cwnd_packets.into());
            if let Some(srtt_s) = info.srtt_s {
                add(&mut means.srtt, srtt_s);
            }
        }
        Ok(())
    }

    fn extend_series(&mut self, at: Time) -> Result<(), LabError> {
        for &number in &self.watched {
            let Flow::Tcp(tcp) = &self.flows[number] else { continue };
            let info = tcp.info()?;
            self.series.time_s.push(at.as_secs());
            self.series.flow.push(number as u32);
            let cwnd = info.map_or(f64::NAN, |info| info.cwnd_packets.into());
            self.series.cwnd_packets.push(cwnd);
            self.series.srtt_s.push(info.and_then(|info| info.srtt_s).unwrap_or(f64::NAN));
        }
        Ok(())
    }

    fn report(mut self, before: &[Reading], after: &[Reading], means: &[Means]) -> LoadReport {
        for flow in &self.flows {
            let Flow::Tcp(tcp) = flow else { continue };
            self.transfers.extend(tcp.unfinished());
        }
        let readings = before.iter().zip(after).zip(means);
        LoadReport {
            flows: readings.map(|((&b, &a), means)| flow_report(b, a, means)).collect(),
            transfers: self.transfers,
            flow_series: self.series,
            lateness: self.lateness,
        }
    }
}

fn flow_report(before: Reading, after: Reading, means: &Means) -> FlowReport {
    match (before, after) {
        (Reading::Tcp(bytes_before, before), Reading::Tcp(bytes, after)) => {
            let counts = after.since(before);
            FlowReport {
                goodput_bytes: bytes - bytes_before,
                sent: Some(counts.sent),
                retransmits: Some(counts.retransmits),
                timeouts: counts.timeouts,
                lost: None,
                mean_srtt_s: mean(means.srtt),
                mean_cwnd_packets: mean(means.cwnd),
            }
        }
        (Reading::Cbr(before), Reading::Cbr(after)) => {
            let counts = after.since(before);
            FlowReport {
                goodput_bytes: counts.received_bytes,
                sent: Some(counts.sent),
                lost: Some(counts.expected.saturating_sub(counts.received)),
                ..FlowReport::default()
            }
        }
        _ => unreachable!("a flow stays TCP or UDP"),
    }
}

fn first_of_each_group(plan: &Plan) -> Vec<usize> {
    let of_group = |group| plan.flows.iter().position(|flow| plan.users[flow.user].group == group);
    (0..plan.groups.len()).filter_map(of_group).collect()
}

fn add((sum, count): &mut (f64, u32), value: f64) {
    *sum += value;
    *count += 1;
}

fn mean((sum, count): (f64, u32)) -> Option<f64> {
    (count > 0).then(|| sum / f64::from(count))
}
