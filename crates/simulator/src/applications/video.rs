//! Progressive video streaming as YouTube's: server and player of A. Sanhaji et al., IARIA IJAT 8(3&4), 2015, section
//! VI.
//!
//! The server is one end of a connection and the player the other; each knows of the other only what arrives. Both run
//! on real sockets as well.

mod player;
mod server;

use tidegate_mechanisms::units::{Bytes, Time};
use tidegate_scenario::plan::{self, FlowPlan, Traffic};

use super::carrier::StreamCarrier;
use super::{Application, ConnectionId, End, System};
use player::Player;
use server::VideoServer;

/// Server and player of one video.
pub struct Video {
    server: VideoServer,
    player: Player,
    /// Bytes of the player's request that have not arrived.
    unasked: u64,
    /// Connection of the server, once the video is requested.
    connection: Option<ConnectionId>,
}

impl Application for Video {
    const NAME: &'static str = "video";

    fn of(flow: &FlowPlan) -> Option<Self> {
        let Traffic::Video(plan) = &*flow.traffic else { return None };
        Some(Video::new(plan))
    }

    fn listens(&self) -> bool {
        true
    }

    fn start(&mut self, system: &mut System) {
        self.start(system);
    }

    fn wake(&mut self, system: &mut System) {
        self.wake(system);
    }

    fn arrived(&mut self, at: End, id: ConnectionId, bytes: u64, system: &mut System) {
        self.arrived(at, id, bytes, system);
    }

    fn metrics(&self, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        self.metrics(now, each);
    }
}

impl Video {
    /// Returns a video of which nothing has been sent.
    pub fn new(plan: &plan::Video) -> Self {
        let unasked = plan.request.map_or(0, Bytes::get);
        let (server, player) = (VideoServer::new(plan), Player::new(plan));
        Video { server, player, unasked, connection: None }
    }

    /// Handles the start of the flow.
    pub fn start(&mut self, carrier: &mut impl StreamCarrier) {
        self.player.begin(carrier.now());
        if self.unasked > 0 {
            let id = carrier.open(End::Receiver);
            carrier.write_last(End::Receiver, id, Bytes::new(self.unasked));
        } else {
            self.connection = Some(carrier.open(End::Sender));
            self.serve(carrier);
        }
    }

    /// Handles a requested wake-up.
    pub fn wake(&mut self, carrier: &mut impl StreamCarrier) {
        if self.server.due() <= carrier.now() {
            self.serve(carrier);
        }
        self.play(carrier);
    }

    /// Handles further bytes delivered in order at one end of a connection.
    pub fn arrived(
        &mut self,
        at: End,
        id: ConnectionId,
        bytes: u64,
        carrier: &mut impl StreamCarrier,
    ) {
        match at {
            End::Sender => {
                self.unasked -= bytes;
                if self.unasked == 0 {
                    self.connection = Some(id);
                    self.serve(carrier);
                }
            }
            End::Receiver => {
                self.player.receive(bytes);
                if !self.player.is_playing() {
                    self.play(carrier);
                }
            }
        }
    }

    /// Reports its metrics at the end of the measured time: name and value.
    pub fn metrics(&self, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        self.player.metrics(now, each);
    }

    fn serve(&mut self, carrier: &mut impl StreamCarrier) {
        let Some(id) = self.connection else { return };
        let waiting = carrier.unacknowledged(End::Sender, id);
        let piece = self.server.serve(waiting, carrier.now());
        if self.server.due() < Time::NEVER {
            carrier.wake_at(self.server.due());
        }
        match self.server.has_more() {
            true => carrier.write(End::Sender, id, piece),
            false => carrier.write_last(End::Sender, id, piece),
        }
    }

    fn play(&mut self, carrier: &mut impl StreamCarrier) {
        if let Some(at) = self.player.look(carrier.now()) {
            carrier.wake_at(at);
        }
    }
}
