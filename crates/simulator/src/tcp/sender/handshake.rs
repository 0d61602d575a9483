//! Start of a connection.

use tidegate_mechanisms::sender::Beginning;
use tidegate_mechanisms::units::{Span, Time};

use super::TcpSender;
use super::phase::Phase;
use crate::packet::{Options, Packet};
use crate::tcp::accecn::HandshakeOutcome;
use crate::tcp::packed_option::PackedOption;
use crate::tcp::{Answered, HostContext};

impl TcpSender {
    /// Sends the SYN.
    pub fn open(&mut self, ctx: &mut HostContext) {
        self.recovery.go_on(Phase::SynSent, 0);
        self.send_request(ctx);
    }

    /// Establishes the connection at the server, when data after the SYN/ACK has arrived; `outcome` is that of the
    /// handshake. Does nothing if the sender is established already or has sent a SYN.
    pub fn accept(&mut self, answered: Answered, outcome: HandshakeOutcome, ctx: &mut HostContext) {
        if self.recovery.phase() == Phase::Closed {
            self.ecn.adopt(outcome, true);
            self.establish(answered.round_trip(ctx.now), ctx);
        }
    }

    /// Handles the answer to the packet sent at `requested`, a SYN or SYN/ACK; `outcome` is that of the handshake.
    pub fn on_answer(&mut self, requested: Time, outcome: HandshakeOutcome, ctx: &mut HostContext) {
        if self.recovery.phase() == Phase::SynSent {
            self.ecn.adopt(outcome, true);
            let rtt = self.feedback.round_trip_of_request(requested, ctx.now);
            self.establish(rtt, ctx);
        }
    }

    /// Establishes the connection; `rtt` is the round trip of the handshake, if its packets were sent once.
    fn establish(&mut self, rtt: Option<Span>, ctx: &mut HostContext) {
        self.feedback.begin(rtt, ctx.now);
        if let Some(rtt) = rtt {
            self.detection.begin(rtt);
        }
        if let Some(rate) = self.transmit.rate_mut() {
            rate.begin(rtt, ctx.now);
            self.window.begin_model(&Beginning {
                now: ctx.now,
                mss: self.stream.mss(),
                selective: self.feedback.uses_sack(),
                rtt,
                seed: rate.seed,
            });
        }
        self.transmit.note_activity(ctx.now);
        self.established = PackedOption::some(ctx.now.as_nanos());
        self.recovery.open();
        self.timer.clear();
        self.send(ctx);
    }

    /// Handles the SYN/ACK.
    #[cold]
    pub(super) fn on_syn_ack(&mut self, packet: &Packet, options: &Options, ctx: &mut HostContext) {
        if self.recovery.phase() != Phase::SynSent {
            return;
        }
        if self.ecn.on_answer(packet, options.received_bytes) {
            // As after a lost SYN (RFC 5562, section 3.1).
            self.window.allow(1);
        }
        let rtt = self.feedback.round_trip_of_request(packet.stamp, ctx.now);
        self.establish(rtt, ctx);
    }
}
