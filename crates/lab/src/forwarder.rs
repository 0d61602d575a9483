//! The forwarder: packets of real hosts through an emulated network, in real time.
//!
//! ```text
//!  user's TUN ──read──► parse ──► flow ──► emulation (links, meters, AQM) ──► write ──► server's TUN
//! ```
//!
//! The network computes when each packet is due at the other side ([`Emulation`]); the forwarder sleeps until then and
//! delivers it. Lateness therefore never changes a rate or a queue, only the time at which a host gets a packet, and
//! that is measured ([`crate::timing`]).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tidegate_mechanisms::bottleneck::DropReason;
use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::Plan;
use tidegate_simulator::{Delivery, Direction, Emulated, Emulation};
use tidegate_wire::packet::{self, View};

use crate::LabError;
use crate::clock::Clock;
use crate::declare;
use crate::header::{self, Fault};
use crate::hosts::FIRST_PORT;
use crate::packet_store::PacketStore;
use crate::qdisc::{KernelQueue, ServedPacket};
use crate::timing::{LatenessMeter, TimingReport};
use crate::tunnels::{Fetched, NodeOutcome, TunnelEnds, Tunnels};

/// Largest IP packet.
const MAX_PACKET: usize = 65_535;
/// Maximum number of packets read from a device in a row, so that none starves the others.
const BATCH: usize = 32;
/// Maximum sleep, so that the end of a run is noticed.
const MAX_SLEEP: Duration = Duration::from_millis(50);
/// Token of the timer among the devices.
const TIMER: u64 = u64::MAX;
/// Token of the qdisc.
const QUEUE: u64 = u64::MAX - 1;

/// A packet forwarder between the devices of all hosts.
pub struct Forwarder<'a> {
    plan: &'a Plan,
    emulation: Emulation<'a, PacketStore>,
    /// Devices of the users, followed by the servers'.
    devices: Vec<BorrowedFd<'a>>,
    clock: Clock,
    epoll: OwnedFd,
    timer: OwnedFd,
    tunnels: Tunnels<'a>,
    /// Kernel qdisc at the bottleneck, if it has one.
    queue: Option<KernelQueue>,
    lateness: LatenessMeter,
    /// Measured time, which the timing report covers.
    measured: [Time; 2],
    malformed: u64,
    inconsistent: u64,
    unclassified: u64,
    rejected: u64,
}

impl<'a> Forwarder<'a> {
    /// Returns an idle forwarder. `users` are in the plan's order.
    pub fn new(
        plan: &'a Plan,
        seed: u64,
        users: Vec<BorrowedFd<'a>>,
        server: BorrowedFd<'a>,
        clock: Clock,
    ) -> Result<Self, LabError> {
        let mut devices = users;
        devices.push(server);
        let failed = |what: &str, error: Errno| LabError::Setup(format!("{what}: {error}"));
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| failed("epoll", e))?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)
            .map_err(|e| failed("timerfd", e))?;
        let watch = |fd: BorrowedFd, mark: u64| {
            let mark = epoll::EventData::new_u64(mark);
            epoll::add(&epoll, fd, mark, epoll::EventFlags::IN).map_err(|e| failed("epoll", e))
        };
        for (number, device) in devices.iter().enumerate() {
            watch(*device, number as u64)?;
        }
        watch(timer.as_fd(), TIMER)?;
        let start = Time::ZERO + plan.warm_up;
        Ok(Forwarder {
            plan,
            tunnels: Tunnels::none(plan),
            queue: None,
            emulation: Emulation::new(plan, seed, PacketStore::default()),
            devices,
            clock,
            epoll,
            timer,
            lateness: LatenessMeter::new(plan),
            measured: [start, start + plan.duration],
            malformed: 0,
            inconsistent: 0,
            unclassified: 0,
            rejected: 0,
        })
    }

    /// Adds the nodes at which tunnels begin and end.
    pub fn with_nodes(mut self, nodes: Vec<TunnelEnds<'a>>) -> Result<Self, LabError> {
        self.tunnels = Tunnels::new(self.plan, nodes, &self.emulation)?;
        for (number, node) in self.tunnels.nodes().iter().enumerate() {
            let first = (self.devices.len() + 2 * number) as u64;
            for (mark, fd) in (first..).zip([node.device, node.socket.as_fd()]) {
                let mark = epoll::EventData::new_u64(mark);
                epoll::add(&self.epoll, fd, mark, epoll::EventFlags::IN)
                    .map_err(|error| LabError::Setup(format!("epoll: {error}")))?;
            }
        }
        Ok(self)
    }

    /// Adds the kernel's qdisc in front of a link.
    pub fn with_queue(mut self, queue: Option<KernelQueue>) -> Result<Self, LabError> {
        if let Some(queue) = &queue {
            let mark = epoll::EventData::new_u64(QUEUE);
            epoll::add(&self.epoll, queue.as_fd(), mark, epoll::EventFlags::IN)
                .map_err(|error| LabError::Setup(format!("epoll: {error}")))?;
        }
        self.queue = queue;
        Ok(self)
    }

    /// Forwards until the measurement is over and `stop` is set.
    pub fn run(mut self, stop: &AtomicBool) -> Result<(Emulated, TimingReport), LabError> {
        let failed = |error: Errno| LabError::Run(format!("the forwarder stopped: {error}"));
        let mut buffer = vec![0; MAX_PACKET];
        let mut ready = Vec::with_capacity(64);
        loop {
            let now = self.clock.now();
            while self.emulation.next_time() <= now {
                if let Some(delivery) = self.emulation.advance() {
                    self.hand_over(delivery);
                }
            }
            self.fill_queue().map_err(failed)?;
            if now >= self.measured[1] && stop.load(Ordering::Relaxed) {
                break;
            }
            self.set_timer().map_err(failed)?;
            ready.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut ready), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(failed(error)),
            }
            for event in &ready {
                let mark = event.data.u64();
                match mark {
                    TIMER => {}
                    QUEUE => self.serve_queue(&mut buffer).map_err(failed)?,
                    _ => self.serve(mark as usize, &mut buffer).map_err(failed)?,
                }
            }
        }
        self.report()
    }

    /// Sets the timer to the next due packet, which also clears an earlier expiry.
    fn set_timer(&mut self) -> Result<(), Errno> {
        let sleep = self.clock.until(self.emulation.next_time()).min(MAX_SLEEP);
        let sleep = sleep.max(Duration::from_nanos(1));
        let it_value =
            Timespec { tv_sec: sleep.as_secs() as i64, tv_nsec: i64::from(sleep.subsec_nanos()) };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Itimerspec { it_interval, it_value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &value).map(|_| ())
    }

    /// Handles a readable device of a host, or device or socket of a node.
    fn serve(&mut self, mark: usize, buffer: &mut [u8]) -> Result<(), Errno> {
        let Some(of_node) = mark.checked_sub(self.devices.len()) else {
            return self.fetch(self.devices[mark], buffer, |own, bytes| own.accept(mark, bytes));
        };
        let node = of_node / 2;
        if of_node.is_multiple_of(2) {
            let device = self.tunnels.nodes()[node].device;
            return self.fetch(device, buffer, |own, bytes| own.accept_of_node(node, bytes));
        }
        let now = self.clock.now();
        let ended = self.tunnels.receive(node, buffer, &mut self.emulation, now)?;
        ended.into_iter().for_each(|delivery| self.hand_over(delivery));
        Ok(())
    }

    /// Passes arrived packets to the qdisc.
    fn fill_queue(&mut self) -> Result<(), Errno> {
        let Some(queue) = &mut self.queue else { return Ok(()) };
        while let Some(arrived) = self.emulation.for_queue(queue.link) {
            let bytes = self.emulation.contents().bytes(arrived.packet);
            let taken = queue.put(arrived.flow, arrived.handle, bytes);
            let taken = taken.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            if !taken {
                let now = self.clock.now();
                self.emulation.dropped(queue.link, arrived.handle, DropReason::Aqm, now);
            }
        }
        Ok(())
    }

    /// Handles packets that the qdisc has served.
    fn serve_queue(&mut self, buffer: &mut [u8]) -> Result<(), Errno> {
        for _ in 0..BATCH {
            let Some(queue) = &mut self.queue else { return Ok(()) };
            let len = match rustix::io::read(queue.as_fd(), &mut *buffer) {
                Ok(len) => len,
                Err(Errno::AGAIN) => {
                    let failed =
                        |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
                    let (link, now) = (queue.link, self.clock.now());
                    for handle in queue.find_dropped().map_err(failed)? {
                        self.emulation.dropped(link, handle, DropReason::Aqm, now);
                    }
                    if !queue.has_suspects() {
                        return Ok(());
                    }
                    continue;
                }
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            };
            let (link, release, now) = (queue.link, queue.release, self.clock.now());
            let Some(served) = queue.take(&buffer[..len]) else {
                self.unclassified += 1;
                continue;
            };
            for handle in served.dropped {
                self.emulation.dropped(link, handle, DropReason::Aqm, now);
            }
            let ServedPacket { handle, marked, .. } = served;
            let delivery = self.emulation.served(link, handle, marked, now, release);
            if let Some(delivery) = delivery {
                self.hand_over(delivery);
            }
        }
        Ok(())
    }

    /// Reads packets that a kernel has sent.
    fn fetch(
        &mut self,
        device: BorrowedFd,
        buffer: &mut [u8],
        accept: impl Fn(&mut Self, &[u8]),
    ) -> Result<(), Errno> {
        for _ in 0..BATCH {
            match rustix::io::read(device, &mut *buffer) {
                Ok(len) => accept(self, &buffer[..len]),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Injects a packet into the network, if it belongs to a flow.
    fn accept(&mut self, device: usize, bytes: &[u8]) {
        let Ok(view) = packet::parse(bytes) else {
            self.malformed += 1;
            return;
        };
        let Some((flow, direction)) = self.flow_of(device, &view) else {
            self.unclassified += 1;
            return;
        };
        let number = self.emulation.contents().put(bytes, view);
        let ((mut header, fault), now) = (header::read(bytes, &view), self.clock.now());
        if view.source.is_ipv4() && self.declares_for_conex(flow) {
            header = declare::as_conex(header);
        }
        match fault {
            Ok(()) => {}
            Err(Fault::Malformed(_)) => self.emulation.contents().count_unreadable(number),
            Err(Fault::Inconsistent) => self.inconsistent += 1,
        }
        self.emulation.inject(flow, direction, number, bytes.len() as u16, header, now);
    }

    /// Injects a packet of a node into the network, if it belongs to a tunnel.
    fn accept_of_node(&mut self, node: usize, bytes: &[u8]) {
        let fetched = self.tunnels.fetched(node, bytes, &mut self.emulation, self.clock.now());
        match fetched {
            Fetched::Carried => {}
            Fetched::Malformed => self.malformed += 1,
            Fetched::Unclassified => self.unclassified += 1,
        }
    }

    /// Whether a flow's packets have declarations for ConEx, which are in re-ECN's codepoints if they are of IPv4.
    fn declares_for_conex(&self, flow: u32) -> bool {
        declare::is_conex(&self.plan.flows[flow as usize])
    }

    /// Returns the flow of a packet from a device: servers listen on one port per flow.
    fn flow_of(&self, device: usize, view: &View) -> Option<(u32, Direction)> {
        let ports = view.ports?;
        let is_server = device + 1 == self.devices.len();
        let port = if is_server { ports.source } else { ports.destination };
        let flow = u32::from(port.checked_sub(FIRST_PORT)?);
        let planned = self.plan.flows.get(flow as usize)?;
        match is_server {
            true => Some((flow, Direction::Reverse)),
            false => (planned.user == device).then_some((flow, Direction::Forward)),
        }
    }

    /// Delivers a due packet to its host.
    fn hand_over(&mut self, delivery: Delivery) {
        let Delivery { packet, flow, direction, at, header, place } = delivery;
        if let Some(place) = place {
            let now = self.clock.now();
            match self.tunnels.arrive(delivery, place, &mut self.emulation, now) {
                NodeOutcome::Done => {}
                NodeOutcome::Rejected => self.rejected += 1,
                NodeOutcome::Ended(delivery) => self.hand_over(delivery),
            }
            return;
        }
        let device = match direction {
            Direction::Forward => self.devices.len() - 1,
            Direction::Reverse => self.plan.flows[flow as usize].user,
        };
        let in_re_ecn = self.declares_for_conex(flow) && self.emulation.contents().is_ipv4(packet);
        let header = if in_re_ecn { declare::as_sent(header) } else { header };
        let bytes = self.emulation.contents().take(packet, header);
        let taken = rustix::io::write(self.devices[device], bytes);
        self.rejected += u64::from(taken.is_err());
        if (self.measured[0]..self.measured[1]).contains(&at) {
            self.lateness.record(self.clock.now().since(at));
        }
    }

    fn report(mut self) -> Result<(Emulated, TimingReport), LabError> {
        let without_room = self.emulation.contents().without_room;
        let unreadable = self.emulation.contents().unreadable;
        let timing = TimingReport {
            malformed: self.malformed + unreadable,
            inconsistent: self.inconsistent,
            unclassified: self.unclassified,
            rejected: self.rejected,
            without_room,
            messages: self.tunnels.counts().texts(),
            ..self.lateness.report()
        };
        let emulated = self.emulation.finish();
        let emulated =
            emulated.ok_or_else(|| LabError::Run("the measurement was not reached".to_owned()))?;
        Ok((emulated, timing))
    }
}
