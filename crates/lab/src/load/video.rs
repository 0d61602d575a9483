//! Videos over TCP that stall: the simulator's server and player on a real connection.
//!
//! The user sends and the server plays. What the application has written and the kernel has not taken yet waits here,
//! so that `socket_buffer` of the scenario is the only limit of what waits.

use tidegate_mechanisms::units::{Bytes, Time};
use tidegate_scenario::plan::{Plan, Traffic};
use tidegate_simulator::{ConnectionId, End, StreamCarrier, Video};

use super::endpoint::FlowEndpoints;
use super::poller::{Poller, Role};
use super::tcp::TcpFlow;
use super::timers::{LoadTimers, LoadWake};
use crate::LabError;
use crate::clock::Clock;

/// Server and player of one video, and their connection.
pub struct VideoFlow<'a> {
    video: Video,
    /// Connection of the video.
    pub tcp: TcpFlow<'a>,
    number: usize,
    /// Time of the last event: an application's time never decreases.
    latest: Time,
}

/// What a video needs during an event.
pub struct VideoContext<'m> {
    /// Clock of the run.
    pub clock: &'m Clock,
    /// Scheduled actions.
    pub timers: &'m mut LoadTimers,
    /// Poller of all sockets.
    pub poller: &'m Poller,
}

/// Carrier of a video during an event.
struct Present<'m, 'a, 'p> {
    tcp: &'m mut TcpFlow<'a>,
    number: usize,
    now: Time,
    timers: &'m mut LoadTimers,
    poller: &'p Poller,
    /// First error.
    failed: Option<LabError>,
}

impl<'a> VideoFlow<'a> {
    /// Returns a flow whose player listens; `None` if the flow has no video.
    pub fn new(
        plan: &Plan,
        endpoints: &FlowEndpoints<'a>,
        seed: u64,
        poller: &Poller,
    ) -> Result<Option<Self>, LabError> {
        let number = endpoints.number;
        let Traffic::Video(video) = &*plan.flows[number].traffic else { return Ok(None) };
        let tcp = TcpFlow::new(plan, endpoints.clone(), seed, poller)?;
        Ok(Some(VideoFlow { video: Video::new(video), tcp, number, latest: Time::ZERO }))
    }

    /// Starts the flow.
    pub fn start(&mut self, context: &mut VideoContext) -> Result<(), LabError> {
        self.at(context.clock.now(), context, |video, present| video.start(present))
    }

    /// Handles a requested wake-up. The application uses the due time as the current time, so that lateness does not
    /// accumulate.
    pub fn wake(&mut self, due: Time, context: &mut VideoContext) -> Result<(), LabError> {
        self.at(due, context, |video, present| video.wake(present))
    }

    /// Handles a ready socket.
    pub fn on_ready(&mut self, role: Role, context: &mut VideoContext) -> Result<(), LabError> {
        let (now, before) = (context.clock.now(), self.tcp.received_bytes);
        self.tcp.on_ready(role, now, context.poller)?;
        match self.tcp.received_bytes - before {
            0 => Ok(()),
            bytes => self.at(now, context, |video, present| {
                video.arrived(End::Receiver, ConnectionId::FIRST, bytes, present);
            }),
        }
    }

    /// Reports the metrics of the player, at the end of the measured time.
    pub fn metrics(&self, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        self.video.metrics(now.max(self.latest), each);
    }

    /// Runs an event of the application.
    fn at(
        &mut self,
        now: Time,
        context: &mut VideoContext,
        happens: impl FnOnce(&mut Video, &mut Present),
    ) -> Result<(), LabError> {
        self.latest = self.latest.max(now);
        let VideoFlow { video, tcp, number, latest } = self;
        let VideoContext { timers, poller, .. } = context;
        let mut present =
            Present { tcp, number: *number, now: *latest, timers, poller, failed: None };
        happens(video, &mut present);
        present.failed.map_or(Ok(()), Err)
    }
}

impl Present<'_, '_, '_> {
    fn note(&mut self, result: Result<(), LabError>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }
}

/// The sender's end of one connection; the lab rejects videos whose player opens it.
impl StreamCarrier for Present<'_, '_, '_> {
    fn now(&self) -> Time {
        self.now
    }

    fn wake_at(&mut self, at: Time) {
        self.timers.push(at, LoadWake::Application(self.number));
    }

    fn open(&mut self, _at: End) -> ConnectionId {
        let opened = self.tcp.start(self.now, self.poller);
        self.note(opened);
        ConnectionId::FIRST
    }

    fn write(&mut self, _at: End, _id: ConnectionId, size: Bytes) {
        let written = self.tcp.write(size.get(), false, self.poller);
        self.note(written);
    }

    fn write_last(&mut self, _at: End, _id: ConnectionId, size: Bytes) {
        let written = self.tcp.write(size.get(), true, self.poller);
        self.note(written);
    }

    fn unacknowledged(&mut self, _at: End, _id: ConnectionId) -> Bytes {
        match self.tcp.unacknowledged_bytes() {
            Ok(bytes) => Bytes::new(bytes),
            Err(error) => {
                self.note(Err(error));
                Bytes::ZERO
            }
        }
    }
}
