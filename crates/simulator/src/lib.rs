//! Packet-level simulation in virtual time.
//!
//! A run is a function of a [`Plan`] and a seed: [`run`]. Inside, an event is either the arrival of a packet at the far
//! end of a link ([`network`]) or a timer ([`event_queue`]). End hosts have a narrow interface ([`tcp::HostContext`]):
//! packets in, packets out, next wake-up. The same network also runs between real hosts, in real time: [`Emulation`].

mod ack_timers;
mod ahead;
mod applications;
mod arrivals;
mod build;
mod calendar;
mod capture;
mod connections;
mod contents;
mod deadlines;
mod delay;
mod delayed_acks;
mod digest;
mod emulation;
mod endpoints;
mod engine;
mod event_queue;
mod histogram;
pub mod host;
mod host_queues;
mod in_order;
mod intervals;
mod link;
mod link_reading;
mod memory;
mod network;
mod number_map;
pub mod output;
mod owner;
mod pace;
mod packet;
mod probe;
mod progress;
pub mod random;
mod readings;
mod reports;
mod ring;
mod sectors;
mod series;
mod stages;
mod station;
mod stop;
mod tables;
mod tally;
mod tcp;
mod topology;
mod tournament;
mod transit;
mod transmission;
mod wake;

pub use applications::datagrams::DatagramApplication;
pub use applications::site::Site;
pub use applications::video::Video;
pub use applications::{Carrier, Datagram, StreamCarrier, path_price};
pub use arrivals::Arrivals;
pub use capture::{CaptureSink, CapturedPacket, CapturedTcp};
pub use connections::{ConnectionId, End};
pub use contents::{Contents, InPacket};
pub use delay::transfer_time_s;
pub use emulation::{
    Asked, Delivery, Emulated, Emulation, ForQueue, NodePlace, NodeVerdict, Release,
};
use output::RunOutput;
use progress::Progress;
pub use progress::Report;
pub use stages::CongestionHeader;
pub use stop::{Excess, Stop};
pub use tcp::sender::replay as conex_replay;
pub use tidegate_scenario::plan::Direction;
use tidegate_scenario::plan::Plan;
use topology::Receivers;

/// Runs a plan. The same plan and seed give the same output, bit for bit, on any machine.
///
/// # Panics
/// If the plan breaks an invariant that validation guarantees, or a packet is unaccounted for.
pub fn run(plan: &Plan, seed: u64) -> RunOutput {
    engine::Engine::new(plan, seed, Receivers::AheadOfTime).run()
}

/// Runs a plan as [`run`], but stops if it would exceed a memory limit.
///
/// # Errors
///
/// The limit that would be exceeded, and by which flow.
///
/// # Panics
///
/// As [`run`], apart from the memory limits.
pub fn try_run(plan: &Plan, seed: u64) -> Result<RunOutput, Stop> {
    stop::caught(plan, || run(plan, seed))
}

/// The same as [`try_run`], which calls `report` now and then with how far it is.
///
/// # Errors
/// As [`try_run`].
///
/// # Panics
/// As [`run`].
pub fn run_reporting(
    plan: &Plan,
    seed: u64,
    report: &mut dyn FnMut(Report),
) -> Result<RunOutput, Stop> {
    stop::caught(plan, || {
        let engine = engine::Engine::new(plan, seed, Receivers::AheadOfTime);
        engine.reporting(Progress::to(plan, report)).run()
    })
}

/// The same as [`try_run`], where `sink` receives the packets that leave these links (indices into [`Plan::links`]). Returns
/// also the number of packets omitted because they were in a tunnel. The output has counters and series of all of
/// these links, in addition to those of bottlenecks; the digest is that of [`run`].
///
/// # Errors
/// As [`try_run`].
///
/// # Panics
/// As [`try_run`].
pub fn try_run_captured(
    plan: &Plan,
    seed: u64,
    links: &[usize],
    sink: CaptureSink,
) -> Result<(RunOutput, u64), Stop> {
    let mut watched = plan.clone();
    let added: Vec<usize> =
        links.iter().copied().filter(|&link| !plan.links[link].monitored).collect();
    for &link in &added {
        watched.links[link] = watched.links[link].clone().watched(true);
    }
    stop::caught(plan, || {
        let engine = engine::Engine::new(&watched, seed, Receivers::AheadOfTime);
        engine.run_captured(links, added, sink)
    })
}

/// The same as [`run`], with an event for every packet that reaches its receiver. Of links without a monitor, packets
/// that they drop or accept ahead of time may be counted in another part of the run. Slower; for
/// comparison.
///
/// # Panics
/// As [`run`].
pub fn run_packet_by_packet(plan: &Plan, seed: u64) -> RunOutput {
    engine::Engine::new(plan, seed, Receivers::OnArrival).run()
}
