//! What the tests with real hosts share.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tidegate_lab::clock::Clock;
use tidegate_lab::host::{IpVersion, NetnsHost};
use tidegate_lab::hosts::NetnsHosts;
use tidegate_lab::load::{Generator, Load, LoadOptions, LoadReport};
use tidegate_lab::realtime;
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::Plan;

/// Standing still for so long turns no test round: the room that they leave is for that.
pub const SHORT: Span = Span::from_millis(100);
const ATTEMPTS: usize = 10;
const PULSE: Duration = Duration::from_millis(2);

/// Runs that go by the clock have the processors one after the other.
static ALONE: Mutex<()> = Mutex::new(());

/// Says why a test cannot run here; then it returns without having tested anything.
pub fn skipped() -> bool {
    let missing = tidegate_lab::host::missing();
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

/// A network that loses nothing, and what passed it.
#[derive(Default)]
pub struct Wire {
    /// All packets, as they are handed over.
    pub in_order: Vec<Vec<u8>>,
    /// Packets that are addressed to none of the hosts.
    pub strays: Vec<Vec<u8>>,
}

/// Runs what goes by the clock, and says for how long it stood still, until neither it nor the machine did so for
/// `most`. `None`, said on standard output, where they do again and again: then nothing can be told.
pub fn undisturbed<T>(most: Span, run: impl Fn() -> (T, Span)) -> Option<T> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut longest = Span::ZERO;
    for _ in 0..ATTEMPTS {
        let done = AtomicBool::new(false);
        let (result, stood_still) = thread::scope(|scope| {
            let pulse = scope.spawn(|| longest_pause(&done));
            let (result, own) = {
                let _done = SetAtTheEnd(&done);
                run()
            };
            (result, own.max(pulse.join().expect("a pulse goes on")))
        });
        if stood_still <= most {
            return Some(result);
        }
        longest = longest.max(stood_still);
    }
    println!("skipped: the machine is too busy, and stood still for {:.2} s", longest.as_secs());
    None
}

/// Set also by a panic, so that no thread waits for it for ever.
struct SetAtTheEnd<'a>(&'a AtomicBool);

impl Drop for SetAtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The longest that a thread stood still which should look every few milliseconds.
fn longest_pause(done: &AtomicBool) -> Span {
    realtime::take_priority(realtime::FORWARDER);
    let (clock, mut last, mut longest) = (Clock::start(), Time::ZERO, Span::ZERO);
    while !done.load(Ordering::Relaxed) {
        thread::sleep(PULSE);
        let now = clock.now();
        longest = longest.max(now.since(last));
        last = now;
    }
    longest
}

/// Runs the plan's load over a [`Wire`], undisturbed.
pub fn run(plan: &Plan, ip: IpVersion) -> Option<(LoadReport, Wire)> {
    run_by(plan, ip, Generator::Own, Span::ZERO)
}

/// Runs the plan's load, made by this generator, over a [`Wire`] that carries so slowly back, undisturbed.
pub fn run_by(
    plan: &Plan,
    ip: IpVersion,
    generator: Generator,
    back: Span,
) -> Option<(LoadReport, Wire)> {
    undisturbed(SHORT, || {
        let hosts = NetnsHosts::build(plan, ip).unwrap_or_else(|error| panic!("{error}"));
        let (report, wire) = run_over(plan, &hosts, generator, |done| carry(&hosts, done, back));
        let stall = report.stall;
        ((report, wire), stall)
    })
}

/// Runs the plan's load between hosts whose packets are carried by `carry`, until that is told that it is done.
pub fn run_over<W: Send>(
    plan: &Plan,
    hosts: &NetnsHosts,
    generator: Generator,
    carry: impl FnOnce(&AtomicBool) -> W + Send,
) -> (LoadReport, W) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let wire = scope.spawn(|| {
            realtime::take_priority(realtime::FORWARDER);
            carry(&done)
        });
        let (report, load) = {
            let _done = SetAtTheEnd(&done);
            let load = Load::new(plan, hosts, 1, LoadOptions { generator });
            let mut load = load.unwrap_or_else(|error| panic!("{error}"));
            let end = Time::ZERO + plan.warm_up + plan.duration;
            realtime::take_priority(realtime::APPLICATIONS);
            let report = load.run(&Clock::start(), end, &AtomicBool::new(false));
            (report.unwrap_or_else(|error| panic!("{error}")), load)
        };
        let wire = wire.join().expect("the wire does not break");
        // Not before, else the wire would see how kernels answer to sockets that are gone.
        drop(load);
        (report, wire)
    })
}

/// Carries packets, those of the server so much later, until it is done; then takes note of those that are under way.
pub fn carry(hosts: &NetnsHosts, done: &AtomicBool, back: Span) -> Wire {
    let all: Vec<&NetnsHost> = hosts.users.iter().chain([&hosts.server]).collect();
    let (clock, mut wire, mut later) = (Clock::start(), Wire::default(), VecDeque::new());
    let mut buffer = vec![0; 65_536];
    loop {
        let is_done = done.load(Ordering::Relaxed);
        let mut ready: Vec<PollFd> =
            all.iter().map(|host| PollFd::new(*host, PollFlags::IN)).collect();
        let tv_nsec = if is_done { 0 } else { 1_000_000 };
        let some = poll(&mut ready, Some(&Timespec { tv_sec: 0, tv_nsec })).expect("poll");
        for (number, host) in all.iter().enumerate() {
            if !ready[number].revents().contains(PollFlags::IN) {
                continue;
            }
            let len = rustix::io::read(&host.device, &mut buffer).expect("a packet");
            match number < hosts.users.len() {
                true => wire.hand_over(&buffer[..len], &all, is_done),
                false => later.push_back((clock.now() + back, buffer[..len].to_vec())),
            }
        }
        let now = if is_done { Time::NEVER } else { clock.now() };
        while let Some((_, packet)) = later.pop_front_if(|(due, _)| *due <= now) {
            wire.hand_over(&packet, &all, is_done);
        }
        if is_done && some == 0 {
            return wire;
        }
    }
}

impl Wire {
    fn hand_over(&mut self, packet: &[u8], all: &[&NetnsHost], is_done: bool) {
        let (_, to) = addresses(packet);
        self.in_order.push(packet.to_vec());
        match all.iter().find(|host| host.address == to) {
            Some(_) if is_done => {}
            Some(host) => drop(rustix::io::write(&host.device, packet)),
            None => self.strays.push(packet.to_vec()),
        }
    }
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
