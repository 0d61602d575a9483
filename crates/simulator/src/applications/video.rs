//! A video as YouTube had it: server and player of A. Sanhaji et al., IARIA IJAT 8(3&4), 2015, section VI.
//!
//! The server is one end of a connection, the player the other; neither knows what the other does but by what
//! arrives.

mod player;
mod server;

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::{FlowPlan, Traffic};

use super::{Application, ConnectionId, End, System};
use player::Player;
use server::Server;

/// A video on its way, and on the screen.
pub struct Video {
    server: Server,
    player: Player,
    connection: Option<ConnectionId>,
}

impl Application for Video {
    const NAME: &'static str = "video";
    const LISTENS: bool = true;

    fn of(flow: &FlowPlan) -> Option<Self> {
        let Traffic::Video(plan) = &*flow.traffic else { return None };
        Some(Video { server: Server::new(plan), player: Player::new(plan), connection: None })
    }

    fn start(&mut self, system: &mut System) {
        self.connection = Some(system.open(End::Sender));
        self.player.begin(system.now());
        self.serve(system);
    }

    fn wake(&mut self, system: &mut System) {
        if self.server.due() <= system.now() {
            self.serve(system);
        }
        self.play(system);
    }

    fn arrived(&mut self, at: End, _: ConnectionId, bytes: u64, system: &mut System) {
        if at == End::Receiver {
            self.player.receive(bytes);
            if !self.player.is_playing() {
                self.play(system);
            }
        }
    }

    fn tells(&self, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        self.player.tells(now, each);
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
