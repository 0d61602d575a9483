//! One run of a scenario between real hosts.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::Plan;
use tidegate_simulator::Emulated;

use crate::LabError;
use crate::clock::Clock;
use crate::declare::Declaring;
use crate::forwarder::Forwarder;
use crate::host::{DEVICE, IpVersion, NetnsHost};
use crate::hosts::NetnsHosts;
use crate::load::{self, Generator, Load, LoadReport};
use crate::node::Node;
use crate::qdisc::KernelQueue;
use crate::timing::TimingReport;
use crate::{examine, realtime};

/// Options of a run besides its scenario.
#[derive(Clone, Copy, Debug)]
pub struct LabOptions {
    /// Seed of the AQMs' random numbers, of start times and of pauses.
    pub seed: u64,
    /// IP version of the hosts.
    pub ip: IpVersion,
    /// Traffic generator.
    pub generator: Generator,
    /// Whether to report progress every second.
    pub progress: bool,
    /// Whether to print how to inspect the namespaces.
    pub verbose: bool,
}

/// Results of a run.
pub struct LabRun {
    /// Measurements of the network.
    pub emulated: Emulated,
    /// Measurements of the hosts.
    pub load: LoadReport,
    /// Timing report of the machine.
    pub timing: TimingReport,
    /// Settings of the scenario that the kernel does not follow.
    pub deviations: Vec<String>,
}

/// Runs a scenario once, in real time.
pub fn run(plan: &Plan, options: LabOptions) -> Result<LabRun, LabError> {
    let rejected = examine::rejected(plan, options.ip, options.generator);
    if !rejected.is_empty() {
        return Err(LabError::Refused(rejected));
    }
    let hosts = NetnsHosts::build(plan, options.ip)?;
    let _declaring = Declaring::start(plan, &hosts)?;
    let queue = KernelQueue::build(plan, hosts.mtu)?;
    if options.verbose {
        print_namespaces(plan, &hosts);
    }
    let load_options = load::LoadOptions { generator: options.generator };
    let mut load = Load::new(plan, &hosts, options.seed, load_options)?;
    let clock = Clock::start();
    let stop = AtomicBool::new(false);
    let end = Time::ZERO + plan.warm_up + plan.duration;
    let overruns_before = overruns(&hosts)?;
    let users = hosts.users.iter().map(|user| user.device.as_fd()).collect();
    let forwarder = Forwarder::new(plan, options.seed, users, hosts.server.device.as_fd(), clock)?
        .with_nodes(hosts.nodes.iter().map(Node::ends).collect())?
        .with_queue(queue)?;
    let (load, forwarded) = thread::scope(|scope| {
        let forwarding = scope.spawn(|| forward(forwarder, &clock, &stop));
        if options.progress {
            scope.spawn(|| print_progress(&clock, end, &stop));
        }
        realtime::take_priority(realtime::APPLICATIONS);
        let load = load.run(&clock, end, &stop);
        stop.store(true, Ordering::Relaxed);
        (load, forwarding.join().expect("the forwarder does not panic"))
    });
    let (emulated, mut timing) = forwarded?;
    timing.overruns = overruns(&hosts)?.saturating_sub(overruns_before);
    let load = load?;
    timing.stall_s = load.stall.as_secs();
    Ok(LabRun { emulated, load, timing, deviations: examine::deviations(plan) })
}

/// Returns the number of packets of hosts that were not read in time.
fn overruns(hosts: &NetnsHosts) -> Result<u64, LabError> {
    let nodes = hosts.nodes.iter().map(|node| &node.host);
    let all = hosts.users.iter().chain([&hosts.server]).chain(nodes);
    let sum: std::io::Result<u64> = all.map(NetnsHost::overruns).sum();
    sum.map_err(|error| LabError::Run(format!("the devices' counters: {error}")))
}

/// Prints how to enter the namespaces, which have no names while the process holds them open.
fn print_namespaces(plan: &Plan, hosts: &NetnsHosts) {
    let users = hosts.users.iter().enumerate().map(|(user, host)| (plan.user_name(user), host));
    let nodes = hosts.nodes.iter().map(|node| (node.name.clone(), &node.host));
    for (name, host) in users.chain([("servers".to_owned(), &hosts.server)]).chain(nodes) {
        let process = std::process::id();
        let namespace = host.namespace.as_fd().as_raw_fd();
        eprintln!(
            "{name} {}: nsenter --net=/proc/{process}/fd/{namespace} tcpdump -ni {DEVICE}",
            host.address
        );
    }
}

fn forward(
    forwarder: Forwarder,
    clock: &Clock,
    stop: &AtomicBool,
) -> Result<(Emulated, TimingReport), LabError> {
    let realtime = realtime::take_priority(realtime::FORWARDER);
    let spent_before_s = realtime::thread_cpu_s();
    let (emulated, timing) = forwarder.run(stop)?;
    let cpu_share = (realtime::thread_cpu_s() - spent_before_s) / clock.now().as_secs();
    Ok((emulated, TimingReport { realtime, cpu_share, ..timing }))
}

/// Prints a line a second on standard error: seconds done and seconds in total.
fn print_progress(clock: &Clock, end: Time, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        eprintln!("t {:.1} {:.1}", clock.now().as_secs().min(end.as_secs()), end.as_secs());
        // Short sleeps, so that the end of a run does not wait for a line.
        (0..10).take_while(|_| !stop.load(Ordering::Relaxed)).for_each(|_| {
            thread::sleep(Duration::from_millis(100));
        });
    }
}
