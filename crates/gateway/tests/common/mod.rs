//! What the tests with real hosts share.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tidegate_gateway::clock::Clock;
use tidegate_gateway::host::{Host, Hosts, IpVersion};
use tidegate_gateway::load::{Generator, Load, LoadReport, Options};
use tidegate_mechanisms::units::Time;
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::Plan;

/// Says why a test cannot run here; then it returns without having tested anything.
pub fn skipped() -> bool {
    let missing = tidegate_gateway::host::missing();
    if !missing.is_empty() {
        println!("skipped: {}", missing.join("; "));
    }
    !missing.is_empty()
}

/// Half a second of a 100 Mb/s link with these users.
pub fn plan(users: &str) -> Plan {
    let text = format!(
        "version = 1\nname = \"test\"\nwarm_up = \"0.2 s\"\nduration = \"0.5 s\"\n\
         drain_limit = \"2 s\"\n\
         [bottleneck]\nrate = \"100 Mb/s\"\ndelay = \"1 ms\"\nbuffer = \"100 packets\"\n{users}"
    );
    let scenario = Scenario::parse(&text, &[]);
    scenario.unwrap_or_else(|issues| panic!("{issues:#?}\n{text}")).plan()
}

/// A network that carries every packet at once, and what passed it.
#[derive(Default)]
pub struct Wire {
    /// All packets.
    pub in_order: Vec<Vec<u8>>,
    /// Packets that are addressed to none of the hosts.
    pub strays: Vec<Vec<u8>>,
}

/// Runs the plan's load over a [`Wire`].
pub fn run(plan: &Plan, ip: IpVersion) -> (LoadReport, Wire) {
    let hosts = Hosts::build(plan, ip).unwrap_or_else(|error| panic!("{error}"));
    run_on(plan, &hosts, Generator::Own)
}

/// Runs the plan's load, made by this generator, between hosts that are there.
pub fn run_on(plan: &Plan, hosts: &Hosts, generator: Generator) -> (LoadReport, Wire) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let wire = scope.spawn(|| carry(hosts, &done));
        let load = Load::new(plan, hosts, 1, Options { generator });
        let load = load.unwrap_or_else(|error| panic!("{error}"));
        let end = Time::ZERO + plan.warm_up + plan.duration;
        let report = load.run(&Clock::start(), end, &AtomicBool::new(false));
        done.store(true, Ordering::Relaxed);
        let wire = wire.join().expect("the wire does not break");
        (report.unwrap_or_else(|error| panic!("{error}")), wire)
    })
}

fn carry(hosts: &Hosts, done: &AtomicBool) -> Wire {
    let all: Vec<&Host> = hosts.users.iter().chain([&hosts.server]).collect();
    let mut wire = Wire::default();
    let mut buffer = vec![0; 65_536];
    while !done.load(Ordering::Relaxed) {
        let mut ready: Vec<PollFd> =
            all.iter().map(|host| PollFd::new(*host, PollFlags::IN)).collect();
        let tick = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        poll(&mut ready, Some(&tick)).expect("poll");
        for (host, ready) in all.iter().zip(&ready) {
            if !ready.revents().contains(PollFlags::IN) {
                continue;
            }
            let len = rustix::io::read(&host.device, &mut buffer).expect("a packet");
            let packet = &buffer[..len];
            let (_, to) = addresses(packet);
            wire.in_order.push(packet.to_vec());
            match all.iter().find(|host| host.address == to) {
                Some(host) => drop(rustix::io::write(&host.device, packet)),
                None => wire.strays.push(packet.to_vec()),
            }
        }
    }
    wire
}

/// Source and destination.
pub fn addresses(packet: &[u8]) -> (IpAddr, IpAddr) {
    let v4 = |at: usize| Ipv4Addr::from(*packet[at..].first_chunk::<4>().expect("IPv4"));
    let v6 = |at: usize| Ipv6Addr::from(*packet[at..].first_chunk::<16>().expect("IPv6"));
    match packet[0] >> 4 {
        4 => (v4(12).into(), v4(16).into()),
        6 => (v6(8).into(), v6(24).into()),
        version => panic!("IP version {version}"),
    }
}
