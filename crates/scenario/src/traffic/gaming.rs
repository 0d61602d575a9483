//! A first-person shooter over UDP: one direction of one player's traffic.

use tidegate_mechanisms::units::{Bytes, Share, Span};
use tidegate_mechanisms::{parameters, words};

use super::packet_stream::{PacketStream, UDP_HEADERS};
use super::variation::{EULER, GumbelVariation};
use super::{TrafficParams, Variation};

words! {
    /// End of a game that sends.
    pub enum GameSide {
        /// The server, with the state of the game: packets of 141 B and headers on average, every 58 ms.
        Server = "server",
        /// The player, with what they do: packets of 48 B and headers on average, every 40 ms.
        Player = "player",
    }
}

parameters! {
    /// One direction of a player's traffic in a first-person shooter over UDP (NGMN, "Radio access performance evaluation
    /// methodology", 2008, annex A, after J. Faerber, "Traffic modelling for fast action network games", Multimedia Tools
    /// and Applications 23, 2004). Sizes, and the server's intervals, have a largest extreme value distribution.
    pub struct Gaming {
        /// End that sends.
        pub side: GameSide = "server",
        /// Time during which the flow sends. Default: to the end of the run.
        pub lasts: Option<Span>,
    }
}

/// Location a and scale b of a largest extreme value distribution.
struct Extreme {
    a: f64,
    b: f64,
}

impl Extreme {
    fn mean(&self) -> f64 {
        self.a + EULER * self.b
    }

    /// Returns the variation around the mean, to which a part that does not vary is added.
    fn variation(&self, fixed: f64) -> Variation {
        Variation::Gumbel(GumbelVariation { scale: Share(self.b / (self.mean() + fixed)) })
    }
}

/// Payload, bytes, and intervals, ms.
const SERVER_SIZE: Extreme = Extreme { a: 120.0, b: 36.0 };
const SERVER_INTERVAL: Extreme = Extreme { a: 55.0, b: 6.0 };
const PLAYER_SIZE: Extreme = Extreme { a: 45.0, b: 5.7 };
const PLAYER_INTERVAL: Span = Span::from_millis(40);

impl TrafficParams for Gaming {
    fn is_over_tcp(&self) -> bool {
        false
    }

    fn packet_stream(&self, _full: Bytes) -> Option<PacketStream> {
        let (size, interval, intervals) = match self.side {
            GameSide::Server => {
                let mean = Span::from_secs_f64(SERVER_INTERVAL.mean() * 1e-3);
                (SERVER_SIZE, mean, SERVER_INTERVAL.variation(0.0))
            }
            GameSide::Player => (PLAYER_SIZE, PLAYER_INTERVAL, Variation::Fixed),
        };
        Some(PacketStream {
            sizes: size.variation(UDP_HEADERS),
            intervals,
            lasts: self.lasts,
            ..PacketStream::of(size.mean() + UDP_HEADERS, interval)
        })
    }
}
