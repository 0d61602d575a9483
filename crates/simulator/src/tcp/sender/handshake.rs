//! How a connection begins.

use tidegate_mechanisms::units::{Span, Time};

use super::Sender;
use super::phase::Phase;
use crate::packet::{Options, Packet};
use crate::tcp::accecn::Outcome;
use crate::tcp::maybe::Maybe;
use crate::tcp::{Answered, Door};

impl Sender {
    /// Requests the connection.
    pub fn open(&mut self, door: &mut Door) {
        self.recovery.go_on(Phase::SynSent, 0);
        self.send_request(door);
    }

    /// The other end has requested the connection, got an answer, and sent something; the handshake has ended in
    /// `outcome`. A sender that is connected already, or requested it, takes no notice.
    pub fn accept(&mut self, answered: Answered, outcome: Outcome, door: &mut Door) {
        if self.recovery.phase() == Phase::Closed {
            self.ecn.adopt(outcome, true);
            self.establish(answered.round_trip(door.now), door);
        }
    }

    /// What it requested at `requested`, or answered, is answered: the handshake has ended in `outcome`.
    pub fn on_answer(&mut self, requested: Time, outcome: Outcome, door: &mut Door) {
        if self.recovery.phase() == Phase::SynSent {
            self.ecn.adopt(outcome, true);
            let rtt = self.feedback.round_trip_of_request(requested, door.now);
            self.establish(rtt, door);
        }
    }

    /// The connection is established; the handshake has shown this round trip, if its packets were sent once.
    fn establish(&mut self, rtt: Option<Span>, door: &mut Door) {
        self.feedback.begin(rtt, door.now);
        if let Some(rtt) = rtt {
            self.detection.begin(rtt);
        }
        self.transmit.note_activity(door.now);
        self.established = Maybe::some(door.now.as_nanos());
        self.recovery.open();
        self.timer.clear();
        self.send(door);
    }

    /// The request is answered.
    #[cold]
    pub(super) fn on_syn_ack(&mut self, packet: &Packet, options: &Options, door: &mut Door) {
        if self.recovery.phase() != Phase::SynSent {
            return;
        }
        if self.ecn.on_answer(packet, options.received_bytes) {
            // As for one that was lost (RFC 5562, section 3.1).
            self.window.allow(1);
        }
        let rtt = self.feedback.round_trip_of_request(packet.stamp, door.now);
        self.establish(rtt, door);
    }
}
