//! Helpers for tests with real hosts.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::collections::VecDeque;
use std::env;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use tidegate_lab::clock::Clock;
use tidegate_lab::host::{IpVersion, NetnsHost};
use tidegate_lab::hosts::NetnsHosts;
use tidegate_lab::load::{Generator, Load, LoadOptions, LoadReport};
use tidegate_lab::realtime;
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::Plan;

/// A stall of this length changes no test result: the tolerances allow for it.
pub const SHORT: Span = Span::from_millis(100);
const ATTEMPTS: usize = 10;
const PULSE: Duration = Duration::from_millis(2);

/// Runs in real time use the processors one after the other.
static ALONE: Mutex<()> = Mutex::new(());

/// Prints why a test cannot run here; the test then returns without testing anything.
pub fn skipped() -> bool {
    let missing = tidegate_lab::host::missing();
    if !missing.is_empty() {
        println!("skipped: {}", missing.join("; "));
    }
    !missing.is_empty()
}

/// Returns the program tidegate-bpf; `None`, with a message on standard output, if it is not built.
pub fn bpf_program() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = [".venv/bin/tidegate-bpf", "target/bpf/release/tidegate-bpf"];
    let named = env::var_os("TIDEGATE_BPF").map(PathBuf::from);
    let mut places = named.into_iter().chain(places.map(|place| root.join(place)));
    let program = places.find(|place| place.exists());
    if program.is_none() {
        println!("skipped: tidegate-bpf is not built; `make setup` does where clang is");
    }
    program
}

/// Our congestion controls, in the kernel until dropped. The name of a congestion control is global on the machine: the tests that register it,
/// these and those of `tests/lab`, exclude each other by this file's lock, which is released after the program has
/// ended.
pub struct HeldControls {
    program: Child,
    _turn: File,
}

impl HeldControls {
    /// Returns `None`, with a message on standard output, if the program is missing or cannot run.
    pub fn start() -> Option<Self> {
        let turns = File::create(env::temp_dir().join("tidegate-test-controls.lock"));
        let turn = turns.expect("a folder for what is passing takes a file");
        flock(&turn, FlockOperation::LockExclusive).expect("turns come");
        let program = bpf_program()?;
        let mut child = Command::new(program)
            .arg("hold")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("is a program");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("is a pipe"));
        output.read_line(&mut line).expect("is text");
        if line == "ready\n" {
            return Some(HeldControls { program: child, _turn: turn });
        }
        let code = child.wait().expect("has started").code();
        assert_eq!(code, Some(77), "tidegate-bpf failed");
        println!("skipped: the kernel does not take tg_sbrm here");
        None
    }
}

impl Drop for HeldControls {
    fn drop(&mut self) {
        drop(self.program.stdin.take());
        self.program.wait().expect("has started");
    }
}

/// Returns a plan of half a second of a 100 Mb/s link with these users.
pub fn plan(users: &str) -> Plan {
    let text = format!(
        "version = 1\nname = \"test\"\nwarm_up = \"0.2 s\"\nduration = \"0.5 s\"\n\
         drain_limit = \"2 s\"\n\
         [bottleneck]\nrate = \"100 Mb/s\"\ndelay = \"1 ms\"\nbuffer = \"100 packets\"\n{users}"
    );
    let scenario = Scenario::parse(&text, &[]);
    scenario.unwrap_or_else(|issues| panic!("{issues:#?}\n{text}")).plan()
}

/// A network without losses, and the packets that passed it.
#[derive(Default)]
pub struct Wire {
    /// All packets, in the order of delivery.
    pub in_order: Vec<Vec<u8>>,
    /// Packets addressed to none of the hosts.
    pub strays: Vec<Vec<u8>>,
}

/// Repeats a run in real time, which returns its stall, until neither it nor the machine has stalled for longer than
/// `most`. `None`, with a message on standard output, if that fails repeatedly.
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

/// Set even by a panic, so that no thread waits for it forever.
struct SetAtTheEnd<'a>(&'a AtomicBool);

impl Drop for SetAtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns the longest stall of a thread that should wake every few milliseconds.
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

/// Runs the plan's load, generated by this generator, over a [`Wire`] with this delay back, undisturbed.
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

/// Runs the plan's load between hosts whose packets are carried by `carry`, until the flag is set.
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
        // Not earlier, else the wire would contain kernels' answers to closed sockets.
        drop(load);
        (report, wire)
    })
}

/// Carries packets, those of the server with a delay, until it is done; then records those in transit.
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

/// Returns source and destination.
pub fn addresses(packet: &[u8]) -> (IpAddr, IpAddr) {
    let v4 = |at: usize| Ipv4Addr::from(*packet[at..].first_chunk::<4>().expect("IPv4"));
    let v6 = |at: usize| Ipv6Addr::from(*packet[at..].first_chunk::<16>().expect("IPv6"));
    match packet[0] >> 4 {
        4 => (v4(12).into(), v4(16).into()),
        6 => (v6(8).into(), v6(24).into()),
        version => panic!("IP version {version}"),
    }
}

/// A bottleneck without a queue: carries packets between the first user and the server until it is done. `forward` may
/// change a packet of the user, and says whether it goes on; `reverse` sees those of the server.
pub fn inspect(
    hosts: &NetnsHosts,
    done: &AtomicBool,
    mut forward: impl FnMut(&mut [u8]) -> bool,
    mut reverse: impl FnMut(&[u8]),
) {
    let (user, server) = (&hosts.users[0], &hosts.server);
    let mut buffer = vec![0; 65_536];
    while !done.load(Ordering::Relaxed) {
        let mut ready = [PollFd::new(user, PollFlags::IN), PollFd::new(server, PollFlags::IN)];
        let tick = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        poll(&mut ready, Some(&tick)).expect("poll");
        let ready = ready.map(|one| one.revents().contains(PollFlags::IN));
        if ready[0] {
            let len = rustix::io::read(&user.device, &mut buffer).expect("a packet");
            if forward(&mut buffer[..len]) {
                let _ = rustix::io::write(&server.device, &buffer[..len]);
            }
        }
        if ready[1] {
            let len = rustix::io::read(&server.device, &mut buffer).expect("a packet");
            reverse(&buffer[..len]);
            let _ = rustix::io::write(&user.device, &buffer[..len]);
        }
    }
}
