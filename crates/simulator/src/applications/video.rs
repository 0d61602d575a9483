//! Progressive video streaming as YouTube's: server and player of A. Sanhaji et al., IARIA IJAT 8(3&4), 2015, section
//! VI.
//!
//! The server is one end of a connection and the player the other; each knows of the other only what arrives.

mod player;
mod server;

use tidegate_mechanisms::units::{Bytes, Time};
use tidegate_scenario::plan::{FlowPlan, Traffic};

use super::{Application, Carrier, ConnectionId, End, System};
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
        let unasked = plan.request.map_or(0, Bytes::get);
        let (server, player) = (VideoServer::new(plan), Player::new(plan));
        Some(Video { server, player, unasked, connection: None })
    }

    fn listens(&self) -> bool {
        true
    }

    fn start(&mut self, system: &mut System) {
        self.player.begin(system.now());
        if self.unasked > 0 {
            let id = system.open(End::Receiver);
            system.write_last(End::Receiver, id, Bytes::new(self.unasked));
        } else {
            self.connection = Some(system.open(End::Sender));
            self.serve(system);
        }
    }

    fn wake(&mut self, system: &mut System) {
        if self.server.due() <= system.now() {
            self.serve(system);
        }
        self.play(system);
    }

    fn arrived(&mut self, at: End, id: ConnectionId, bytes: u64, system: &mut System) {
        match at {
            End::Sender => {
                self.unasked -= bytes;
                if self.unasked == 0 {
                    self.connection = Some(id);
                    self.serve(system);
                }
            }
            End::Receiver => {
                self.player.receive(bytes);
                if !self.player.is_playing() {
                    self.play(system);
                }
            }
        }
    }

    fn metrics(&self, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        self.player.metrics(now, each);
    }
}

impl Video {
    fn serve(&mut self, system: &mut System) {
        let Some(id) = self.connection else { return };
        let waiting = system.unacknowledged(End::Sender, id);
        let piece = self.server.serve(waiting, system.now());
        if self.server.due() < Time::NEVER {
            system.wake_at(self.server.due());
        }
        match self.server.has_more() {
            true => system.write(End::Sender, id, piece),
            false => system.write_last(End::Sender, id, piece),
        }
    }

    fn play(&mut self, system: &mut System) {
        if let Some(at) = self.player.look(system.now()) {
            system.wake_at(at);
        }
    }
}
