//! ECN feedback of the host and of the peer: the flags AE, CWR and ECE, in the handshake and afterwards, and the option
//! of accurate ECN (RFC 9768).

use tidegate_simulator::host::handshake::{Answer, Cause, Client, Mode, Server};
use tidegate_simulator::host::{
    ANSWERED_OPTION_BYTES, Ace, AckMarks, Codepoint, HandshakeOutcome, OptionPlan, ReceivedBytes,
};

use super::agreed::Agreed;
use super::{Endpoint, Settings, State};
use crate::script::{ByteCounter, EcnField, Flags, ScriptPacket, TcpOption};

/// Counters of the option in a SYN-ACK, before any payload. Linux puts ECT(1) first.
const NOTHING_RECEIVED: ReceivedBytes =
    ReceivedBytes { ect_1_first: true, fields: 3, counters: [1, 0, 1] };

/// ECN state of the handshake.
#[derive(Debug)]
pub(super) struct MarkFeedback {
    client: Client,
    server: Server,
    outcome: HandshakeOutcome,
    /// Whether a SYN or SYN-ACK has been sent.
    asked_or_answered: bool,
    /// ECN field of the SYN-ACK that the next packet acknowledges and reports.
    reflects: Option<Codepoint>,
}

impl MarkFeedback {
    pub(super) fn new(settings: &Settings) -> Self {
        MarkFeedback {
            client: Client::new(Codepoint::NotEct, settings.ecn_fallback),
            server: Server::default(),
            outcome: HandshakeOutcome::default(),
            asked_or_answered: false,
            reflects: None,
        }
    }
}

/// Returns the three flags of a packet.
pub(super) fn ace_of(flags: &Flags) -> Ace {
    let bits = [(flags.ae, 4), (flags.cwr, 2), (flags.ece, 1)];
    let bits = bits.iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum();
    flags.ace.map_or(Ace::new(bits), |ace| Ace::new(u32::from(ace)))
}

/// Returns `flags` with these three flags.
pub(super) fn with_ace(flags: Flags, ace: Ace) -> Flags {
    let bit = |bit: u8| ace.get() & bit != 0;
    Flags { ae: bit(4), cwr: flags.cwr || bit(2), ece: bit(1), ..flags }
}

/// Returns the ECN field of a packet that arrives.
pub(super) fn codepoint(packet: &ScriptPacket) -> Codepoint {
    match packet.ecn {
        None | Some(EcnField::NotEct) => Codepoint::NotEct,
        Some(EcnField::Ect1) => Codepoint::Ect1,
        Some(EcnField::Ect0 | EcnField::Either) => Codepoint::Ect0,
        Some(EcnField::Ce) => Codepoint::Ce,
    }
}

/// Returns the option of a packet that arrives.
pub(super) fn received(packet: &ScriptPacket) -> Option<ReceivedBytes> {
    let counters = packet.options.iter().flatten().find_map(|option| match option {
        TcpOption::AccEcn(counters) => Some(counters),
        _ => None,
    })?;
    let of = |wanted| counters.iter().find(|(counter, _)| *counter == wanted).map_or(0, |c| c.1);
    Some(ReceivedBytes {
        ect_1_first: counters.first().is_some_and(|(first, _)| *first == ByteCounter::Ect1),
        fields: counters.len().min(3) as u8,
        counters: [of(ByteCounter::Ect0), of(ByteCounter::Ce), of(ByteCounter::Ect1)],
    })
}

/// Returns the option in a script's notation, and the padding after it: bytes beyond a multiple of four replace padding
/// of the SACK blocks.
pub(super) fn options_of(received: &ReceivedBytes, before_blocks: bool) -> Vec<TcpOption> {
    let [ect_0, ce, ect_1] = received.counters;
    let (ect_0, ect_1) = ((ByteCounter::Ect0, ect_0), (ByteCounter::Ect1, ect_1));
    let (first, last) = if received.ect_1_first { (ect_1, ect_0) } else { (ect_0, ect_1) };
    let counters = [first, (ByteCounter::Ce, ce), last];
    let fields = usize::from(received.fields);
    let over = (2 + 3 * fields) % 4;
    let padding = match (before_blocks, over) {
        (true, 0..=2) => 2 - over,
        (true, _) => 4 - over + 2,
        (false, _) => (4 - over) % 4,
    };
    let mut options = vec![TcpOption::AccEcn(counters[..fields].to_vec())];
    options.extend(core::iter::repeat_n(TcpOption::Nop, padding));
    options
}

impl Endpoint {
    /// Returns the ECN request of a SYN, limited to the modes that the host is configured to accept.
    fn heard(&self, packet: &ScriptPacket) -> Ace {
        let ace = ace_of(&packet.flags);
        let asks_classic = ace.get() & Ace::CLASSIC_REQUEST.get() == Ace::CLASSIC_REQUEST.get();
        match self.settings.ecn_agrees {
            Mode::Accurate => ace,
            Mode::Classic if asks_classic => Ace::CLASSIC_REQUEST,
            Mode::Classic | Mode::None => Ace::NONE,
        }
    }

    /// Processes a SYN. Returns the ECN feedback mode of the connection.
    pub(super) fn agree_on_request(&mut self, packet: &ScriptPacket) -> Mode {
        let heard = self.heard(packet);
        self.marks.server.on_request(heard, codepoint(packet));
        self.marks.server.mode()
    }

    /// Whether neither a SYN nor a SYN-ACK has been sent.
    pub(super) fn marks_nothing_sent(&self) -> bool {
        !self.marks.asked_or_answered
    }

    /// Returns the flags of a SYN or a SYN-ACK, and the option of a SYN-ACK.
    pub(super) fn ask_or_answer(&mut self, cause: Cause) -> (Ace, Option<ReceivedBytes>) {
        self.marks.asked_or_answered = true;
        if self.state == State::Requested {
            let ace = match self.settings.ecn_asks {
                Mode::None => Ace::NONE,
                Mode::Classic => Ace::CLASSIC_REQUEST,
                Mode::Accurate => self.marks.client.request(),
            };
            return (ace, None);
        }
        let Answer { ace, option } = self.marks.server.answer(cause);
        let option = option && self.settings.accurate_option != OptionPlan::Off;
        (ace, option.then_some(NOTHING_RECEIVED))
    }

    /// Processes the SYN-ACK. Returns the negotiated parameters.
    pub(super) fn agree_on_answer(&mut self, packet: &ScriptPacket) -> Agreed {
        let ace = ace_of(&packet.flags);
        self.marks.outcome = match self.settings.ecn_asks {
            Mode::Accurate => self.marks.client.on_answer(ace),
            Mode::Classic if packet.flags.ece && !packet.flags.cwr => {
                HandshakeOutcome::plain(Mode::Classic)
            }
            Mode::Classic | Mode::None => HandshakeOutcome::default(),
        };
        let mode = self.marks.outcome.mode;
        let mut agreed = Agreed::with(&self.settings, packet, mode);
        if mode == Mode::Accurate {
            self.marks.reflects = Some(codepoint(packet));
            let each = self.settings.accurate_option == OptionPlan::Each;
            if each && received(packet).is_some() {
                agreed.mss -= ANSWERED_OPTION_BYTES;
            }
        }
        agreed
    }

    /// Processes the first packet after the handshake.
    pub(super) fn agree_on_last_of_handshake(&mut self, packet: &ScriptPacket) {
        let blocks = packet.options.iter().flatten().any(|o| matches!(o, TcpOption::Sack(_)));
        let plain = packet.len == 0 && !blocks;
        let checks = self.settings.ecn_fallback;
        let ace = ace_of(&packet.flags);
        self.marks.outcome =
            self.marks.server.on_acknowledged(ace, Codepoint::NotEct, plain, checks);
    }

    /// Processes a repeated SYN-ACK: the ACK reports its ECN field (RFC 9768, section 3.1.5).
    pub(super) fn agree_on_repeated_answer(&mut self, packet: &ScriptPacket) {
        if self.counts_marks() {
            self.marks.reflects = Some(codepoint(packet));
        }
    }

    /// Returns the outcome of the handshake for the host's sender.
    pub(super) fn outcome(&self) -> HandshakeOutcome {
        // A client does not count the feedback on its SYN.
        HandshakeOutcome {
            marked: self.marks.outcome.marked && !self.requested,
            ..self.marks.outcome
        }
    }

    /// Whether the connection uses accurate ECN.
    pub(super) fn counts_marks(&self) -> bool {
        self.marks.outcome.mode == Mode::Accurate
    }

    /// Whether all packets of the host after the handshake are ECN-capable.
    pub(super) fn all_are_capable(&self) -> bool {
        self.counts_marks() && self.marks.outcome.capable
    }

    /// Passes the option and, without payload, the ECN field of an arriving packet to the simulated host.
    pub(super) fn note_marks(&mut self, packet: &ScriptPacket) {
        let Some(host) = &mut self.host else { return };
        if self.marks.outcome.mode != Mode::Accurate {
            return;
        }
        if packet.len == 0 && !packet.flags.fin {
            host.note_control(codepoint(packet));
        }
        if let Some(received) = received(packet) {
            host.note_option(&received);
        }
        // As in Linux, which sends the option only to peers that send it.
        let seen = host.has_seen_option();
        host.send_options(if seen { self.settings.accurate_option } else { OptionPlan::Off });
    }

    /// Sets the packets that carry the option from now on.
    pub fn set_accurate_option(&mut self, when: OptionPlan) {
        self.settings.accurate_option = when;
        if let Some(host) = &mut self.host {
            host.send_options(when);
        }
    }

    /// Returns the ECN feedback in an ACK of the peer.
    pub(super) fn heard_marks(&self, packet: &ScriptPacket) -> AckMarks {
        match self.marks.outcome.mode {
            Mode::None => AckMarks::default(),
            Mode::Classic => {
                AckMarks { ace: Ace::new(u32::from(packet.flags.ece)), received: None }
            }
            Mode::Accurate => AckMarks { ace: ace_of(&packet.flags), received: received(packet) },
        }
    }

    /// Returns the ECN feedback of a packet that is sent and acknowledges.
    pub(super) fn say_marks(&mut self) -> AckMarks {
        let reported =
            self.host.as_mut().and_then(|host| host.at(self.now).acknowledge_in_transit());
        let echo = AckMarks { ace: Ace::new(u32::from(self.echoes)), received: None };
        self.reflected(reported.unwrap_or(echo))
    }

    /// Returns `marks`, or the feedback on a SYN-ACK instead; the flags are zero once the connection is over (Linux
    /// then keeps no counters).
    pub(super) fn reflected(&mut self, marks: AckMarks) -> AckMarks {
        let Some(reflected) = self.marks.reflects.take() else {
            let ace = if self.counts_marks() && self.is_over() { Ace::NONE } else { marks.ace };
            return AckMarks { ace, ..marks };
        };
        AckMarks { ace: tidegate_simulator::host::handshake::telling(reflected), ..marks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_padding_of_the_option_makes_room_for_that_of_sack_blocks() {
        let shown = |fields, before_blocks| {
            let received = ReceivedBytes { fields, ..NOTHING_RECEIVED };
            let options = options_of(&received, before_blocks);
            options.iter().map(TcpOption::to_string).collect::<Vec<_>>().join(",")
        };
        assert_eq!(shown(3, false), "ECN e1b 1 ceb 0 e0b 1,nop");
        assert_eq!(shown(3, true), "ECN e1b 1 ceb 0 e0b 1,nop,nop,nop");
        assert_eq!(
            [shown(2, false), shown(2, true)],
            ["ECN e1b 1 ceb 0", "ECN e1b 1 ceb 0,nop,nop"]
        );
        assert_eq!([shown(1, false), shown(1, true)], ["ECN e1b 1,nop,nop,nop", "ECN e1b 1,nop"]);
        assert_eq!([shown(0, false), shown(0, true)], ["ECN,nop,nop", "ECN"]);
    }
}
