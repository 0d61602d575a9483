//! Videos and calls over UDP: the simulator's own applications, on real sockets.
//!
//! Packets of videos, and probes, go from the user's socket to the server's; reports and answers to probes come back.
//! ECN-capable packets carry ECT(0), and the receiving kernel reports the ECN field of each. A payload begins with the
//! number assigned by the application; the rest is zeros.

use std::io::ErrorKind;

use rustix::net::sockopt::set_socket_send_buffer_size_force;
use socket2::Socket;
use tidegate_mechanisms::units::{Bytes, Time};
use tidegate_scenario::plan::Plan;
use tidegate_simulator::random::Stream;
use tidegate_simulator::{Carrier, Datagram, DatagramApplication, End, Site};

use super::endpoint::FlowEndpoints;
use super::poller::{Poller, Ready, Role, SocketToken};
use super::report::Lateness;
use super::timers::{LoadTimers, LoadWake};
use crate::LabError;
use crate::clock::Clock;
use crate::system;

/// Length of the number, big-endian, at the start of the payload, bytes.
pub const NUMBER_BYTES: usize = 8;
/// Socket buffer for the packets sent at once, frames of all calls of a flow, as at the sink, bytes.
const BUFFER_BYTES: usize = 4_000_000;
/// The two bits of the ECN field (RFC 3168).
const ECN_MASK: u8 = 0b11;
const ECT_0: u32 = 0b10;
const CE: u8 = 0b11;
/// Buffer for any packet, bytes.
const MAX_PAYLOAD: usize = 65_535;

/// An application and its two sockets.
pub struct DatagramFlow<'a> {
    application: DatagramApplication,
    /// User group, which selects the site's gateway.
    group: usize,
    random: Stream,
    sockets: Sockets<'a>,
    /// Time of the last event: an application's time never decreases.
    latest: Time,
}

/// Sockets of both ends.
struct Sockets<'a> {
    endpoints: FlowEndpoints<'a>,
    /// Socket of the user.
    source: Port,
    /// Socket of the server.
    sink: Port,
    /// Payload to send.
    payload: Vec<u8>,
    /// Last payload received.
    arrived: Vec<u8>,
    counts: DatagramCounts,
}

/// Socket of one end.
struct Port {
    socket: Socket,
    /// Whether its packets are ECN-capable.
    ecn: bool,
}

/// Counts of packets sent and received by a flow so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramCounts {
    /// Packets that the user has sent.
    pub sent: u64,
    /// Payload received by the server, bytes.
    pub received_bytes: u64,
}

/// Carrier of an application during an event.
struct Present<'m, 'a> {
    sockets: &'m mut Sockets<'a>,
    random: &'m mut Stream,
    site: &'m mut Site,
    now: Time,
    clock: &'m Clock,
    timers: &'m mut LoadTimers,
    lateness: &'m mut Lateness,
    /// First error.
    failed: Option<LabError>,
}

/// State common to all flows.
pub struct Machine<'m> {
    /// Clock of the run.
    pub clock: &'m Clock,
    /// Scheduled actions.
    pub timers: &'m mut LoadTimers,
    /// Lateness of the users' packets.
    pub lateness: &'m mut Lateness,
    /// Gateways of sites, by user group.
    pub sites: &'m mut [Site],
}

impl<'a> DatagramFlow<'a> {
    /// Returns the flow of these endpoints, with open sockets; `None` if its application needs more than datagrams.
    pub fn new(
        plan: &Plan,
        endpoints: &FlowEndpoints<'a>,
        seed: u64,
        poller: &Poller,
    ) -> Result<Option<Self>, LabError> {
        let flow = &plan.flows[endpoints.number];
        let Some(application) = DatagramApplication::of(flow) else { return Ok(None) };
        Ok(Some(DatagramFlow {
            random: application.random(seed, plan, endpoints.number),
            application,
            group: plan.users[flow.user].group,
            sockets: Sockets::open(endpoints.clone(), poller)?,
            latest: Time::ZERO,
        }))
    }

    /// Starts the flow.
    pub fn start(&mut self, due: Time, machine: &mut Machine) -> Result<(), LabError> {
        self.at(due, machine, |application, present| application.start(present))
    }

    /// Handles a requested wake-up. The application uses the due time as the current time, so that lateness does not
    /// accumulate.
    pub fn wake(&mut self, due: Time, machine: &mut Machine) -> Result<(), LabError> {
        self.at(due, machine, |application, present| application.wake(present))
    }

    /// Handles a readable socket.
    pub fn on_ready(&mut self, role: Role, machine: &mut Machine) -> Result<(), LabError> {
        let end = if role == Role::Sink { End::Receiver } else { End::Sender };
        while let Some(datagram) = self.sockets.receive(end)? {
            if self.application.listens() {
                let now = machine.clock.now();
                self.at(now, machine, |own, present| own.on_datagram(end, datagram, present))?;
            }
        }
        Ok(())
    }

    /// Starts the measured time.
    pub fn measure(&mut self, now: Time) {
        self.application.measure(now.max(self.latest));
    }

    /// Reports the metrics of the application, at the end of the measured time.
    pub fn metrics(&self, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        self.application.metrics(now.max(self.latest), each);
    }

    /// Reports the present state of the application.
    pub fn shows(&self, each: &mut dyn FnMut(&'static str, f64)) {
        self.application.shows(each);
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> DatagramCounts {
        self.sockets.counts
    }

    /// Runs an event of the application.
    fn at(
        &mut self,
        now: Time,
        machine: &mut Machine,
        happens: impl FnOnce(&mut DatagramApplication, &mut Present),
    ) -> Result<(), LabError> {
        self.latest = self.latest.max(now);
        let DatagramFlow { application, group, random, sockets, latest } = self;
        let (now, failed) = (*latest, None);
        let Machine { clock, timers, lateness, sites } = machine;
        let site = &mut sites[*group];
        let mut present = Present { sockets, random, site, now, clock, timers, lateness, failed };
        happens(application, &mut present);
        present.failed.map_or(Ok(()), Err)
    }
}

impl Carrier for Present<'_, '_> {
    fn now(&self) -> Time {
        self.now
    }

    fn send_datagram(&mut self, from: End, number: u64, size: Bytes, ecn: bool) {
        if from == End::Sender {
            self.lateness.add(self.clock.now().since(self.now));
        }
        if let Err(error) = self.sockets.send(from, number, size, ecn) {
            self.failed.get_or_insert(error);
        }
    }

    fn wake_at(&mut self, at: Time) {
        self.timers.push(at, LoadWake::Application(self.sockets.endpoints.number));
    }

    fn random(&mut self) -> &mut Stream {
        self.random
    }

    fn site(&mut self) -> &mut Site {
        self.site
    }
}

impl<'a> Sockets<'a> {
    fn open(endpoints: FlowEndpoints<'a>, poller: &Poller) -> Result<Self, LabError> {
        let sink = Port { socket: endpoints.sink()?, ecn: false };
        let source = Port { socket: endpoints.source()?.0, ecn: false };
        let prepare = || {
            sink.socket.connect(&source.socket.local_addr()?)?;
            for (socket, role) in [(&source, Role::Client), (&sink, Role::Sink)] {
                socket.socket.set_recv_tos_v4(true)?;
                set_socket_send_buffer_size_force(&socket.socket, BUFFER_BYTES)?;
                poller.add(
                    &socket.socket,
                    SocketToken { flow: endpoints.number, role },
                    Ready::IN,
                )?;
            }
            std::io::Result::Ok(())
        };
        prepare().map_err(|error| endpoints.error("cannot set a socket up", &error))?;
        let [payload, arrived] = [(); 2].map(|()| vec![0; MAX_PAYLOAD]);
        let counts = DatagramCounts::default();
        Ok(Sockets { endpoints, source, sink, payload, arrived, counts })
    }

    fn send(&mut self, from: End, number: u64, size: Bytes, ecn: bool) -> Result<(), LabError> {
        let Sockets { endpoints, source, sink, payload, counts, .. } = self;
        let (socket, len) = match from {
            End::Sender => (source, endpoints.udp_payload(size)),
            End::Receiver => (sink, endpoints.udp_payload_back(size)),
        };
        let payload = &mut payload[..len.max(NUMBER_BYTES)];
        payload[..NUMBER_BYTES].copy_from_slice(&number.to_be_bytes());
        socket.send(payload, ecn).map_err(|error| endpoints.error("cannot send", &error))?;
        if from == End::Sender {
            counts.sent += 1;
        }
        Ok(())
    }

    /// Returns the next datagram received at one end; `None` if there is none.
    fn receive(&mut self, end: End) -> Result<Option<Datagram>, LabError> {
        let Sockets { endpoints, source, sink, arrived, counts, .. } = self;
        let socket = if end == End::Receiver { sink } else { source };
        loop {
            let (len, tos) = match system::receive_with_tos(&socket.socket, arrived) {
                Ok((len, _, tos)) => (len, tos),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(endpoints.error("cannot receive", &error)),
            };
            let Some(number) = arrived[..len].first_chunk() else { continue };
            if end == End::Receiver {
                counts.received_bytes += len as u64;
            }
            let number = u64::from_be_bytes(*number);
            return Ok(Some(Datagram { number, marked: tos & ECN_MASK == CE }));
        }
    }
}

impl Port {
    fn send(&mut self, payload: &[u8], ecn: bool) -> std::io::Result<()> {
        if ecn != self.ecn {
            self.socket.set_tos_v4(if ecn { ECT_0 } else { 0 })?;
            self.ecn = ecn;
        }
        self.socket.send(payload).map(|_| ())
    }
}

impl DatagramCounts {
    /// Returns the difference to `before`.
    pub fn since(self, before: DatagramCounts) -> DatagramCounts {
        DatagramCounts {
            sent: self.sent - before.sent,
            received_bytes: self.received_bytes - before.received_bytes,
        }
    }
}
