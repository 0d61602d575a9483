//! How a connection begins.

use tidegate_mechanisms::units::Time;

use super::Sender;
use super::phase::Phase;
use crate::packet::{Options, Packet};
use crate::tcp::Door;
use crate::tcp::accecn::Outcome;
use crate::tcp::maybe::Maybe;

impl Sender {
    /// Requests the connection.
    pub fn open(&mut self, door: &mut Door) {
        self.recovery.go_on(Phase::SynSent, 0);
        self.send_request(door);
    }

    /// The other end has requested the connection, got the answer that was given at `answered`, and sent
    /// something; the handshake has ended in `outcome`. A sender that is connected already, or requested it,
    /// takes no notice.
    pub fn accept(&mut self, answered: Time, outcome: Outcome, door: &mut Door) {
        if self.recovery.phase() == Phase::Closed {
            self.ecn.adopt(outcome, true);
            self.establish(answered, door);
        }
    }

    /// What it requested at `requested`, or answered, is answered: the handshake has ended in `outcome`.
    pub fn on_answer(&mut self, requested: Time, outcome: Outcome, door: &mut Door) {
        if self.recovery.phase() == Phase::SynSent {
            self.ecn.adopt(outcome, true);
            self.establish(requested, door);
        }
    }

    fn establish(&mut self, request: Time, door: &mut Door) {
        let rtt = door.now.since(request);
        self.feedback.begin(rtt, door.now);
        self.detection.begin(rtt);
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
        self.establish(packet.stamp, door);
    }
}
