//! Negotiation of ECN feedback in the handshake: AccECN, classic, or none. RFC 9768, section 3.1.
//!
//! ```text
//! SYN  111 ─►  SYN/ACK 010  its ECN field was Not-ECT ┐
//!                      011  ECT(1)                    │ accurate; 101 is reserved, and means
//!                      100  ECT(0)                    │ accurate and unchanged (section 3.1.2)
//!                      110  CE                        ┘
//!                      001  classic (RFC 3168)
//!                      000  none       111  none: a server that echoes what it does not know
//! ```
//!
//! A lost SYN is retransmitted unchanged once, then without the flags; a lost SYN/ACK without the option first, then
//! without the flags. An end keeps the mode it has entered.

use super::{Ace, Codepoint};

/// ECN feedback of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No feedback.
    #[default]
    None,
    /// Classic ECN feedback, RFC 3168.
    Classic,
    /// AccECN feedback, RFC 9768.
    Accurate,
}

impl Mode {
    /// Returns the mode that a SYN requests. Undefined combinations request AccECN (section 3.1.3).
    pub fn asked(request: Ace) -> Self {
        match request {
            Ace::NONE => Mode::None,
            Ace::CLASSIC_REQUEST => Mode::Classic,
            _ => Mode::Accurate,
        }
    }

    /// Returns the mode that a SYN/ACK means to a client that requested AccECN (table 2).
    pub fn agreed(answer: Ace) -> Self {
        match answer.get() {
            0 | 7 => Mode::None,
            1 => Mode::Classic,
            _ => Mode::Accurate,
        }
    }
}

/// Returns the flags of a SYN/ACK, or of its ACK, that report the ECN field of the packet before it.
pub fn telling(arrived: Codepoint) -> Ace {
    Ace::new(match arrived {
        Codepoint::NotEct => 0b010,
        Codepoint::Ect1 => 0b011,
        Codepoint::Ect0 => 0b100,
        Codepoint::Ce => 0b110,
    })
}

/// Returns the reported ECN field; `None` for combinations without a meaning.
fn reported(ace: Ace) -> Option<Codepoint> {
    match ace.get() {
        0b010 => Some(Codepoint::NotEct),
        0b011 => Some(Codepoint::Ect1),
        0b100 => Some(Codepoint::Ect0),
        0b110 => Some(Codepoint::Ce),
        _ => None,
    }
}

/// Whether a network may have changed `sent` to `arrived` (section 3.2.2.3).
fn is_plausible(sent: Codepoint, arrived: Codepoint) -> bool {
    let capable = |codepoint| codepoint != Codepoint::NotEct;
    arrived == sent || (capable(sent) && capable(arrived) && sent != Codepoint::Ce)
}

/// Result of the handshake for a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandshakeOutcome {
    /// Feedback mode.
    pub mode: Mode,
    /// Whether its packets may be ECN-capable.
    pub capable: bool,
    /// Whether all feedback has to be ignored.
    pub deaf: bool,
    /// Whether the packet that it sent in the handshake was marked.
    pub marked: bool,
}

impl HandshakeOutcome {
    /// Returns the outcome of this mode without irregularities.
    pub fn plain(mode: Mode) -> Self {
        HandshakeOutcome { mode, capable: mode != Mode::None, deaf: false, marked: false }
    }

    /// Returns the outcome with the feedback about a packet sent with codepoint `sent`.
    fn with_feedback(self, ace: Ace, sent: Codepoint, checks: bool) -> Self {
        let Some(arrived) = reported(ace) else { return self };
        let valid = !checks || is_plausible(sent, arrived);
        HandshakeOutcome {
            capable: self.capable && valid,
            marked: valid && arrived == Codepoint::Ce,
            ..self
        }
    }
}

/// Client that requests a connection with AccECN.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Number of SYNs sent.
    requests: u8,
    /// ECN field of its SYNs.
    sent: Codepoint,
    /// Whether it falls back to a SYN without the flags, in case the path drops it.
    falls_back: bool,
}

impl Client {
    /// Returns a client whose SYNs have this ECN field.
    pub fn new(sent: Codepoint, falls_back: bool) -> Self {
        Client { requests: 0, sent, falls_back }
    }

    /// Returns the flags of the next SYN: unchanged once, then none (section 3.1.4.1).
    pub fn request(&mut self) -> Ace {
        self.requests = self.requests.saturating_add(1);
        if self.falls_back && self.requests > 2 { Ace::NONE } else { Ace::ACCURATE_REQUEST }
    }

    /// Returns the outcome of a SYN/ACK.
    pub fn on_answer(&self, answer: Ace) -> HandshakeOutcome {
        let outcome = HandshakeOutcome::plain(Mode::agreed(answer));
        match outcome.mode {
            Mode::Accurate => outcome.with_feedback(answer, self.sent, self.falls_back),
            Mode::None | Mode::Classic => outcome,
        }
    }
}

/// Reason for sending a SYN/ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A SYN has arrived.
    Request,
    /// The last SYN/ACK was not acknowledged in time.
    Timeout,
}

/// SYN/ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Flags.
    pub ace: Ace,
    /// Whether it may carry the AccECN option.
    pub option: bool,
}

/// Server that supports AccECN.
#[derive(Clone, Copy, Debug, Default)]
pub struct Server {
    mode: Mode,
    /// ECN field of the last SYN.
    arrived: Codepoint,
    /// SYN/ACKs sent.
    answers: u8,
    timeouts: u8,
    /// Whether a SYN or SYN/ACK was sent without the flags, so that the client may be in another mode.
    bare: bool,
}

impl Server {
    /// Handles a SYN. The first one decides the mode (section 3.1.5).
    pub fn on_request(&mut self, request: Ace, arrived: Codepoint) {
        if self.answers == 0 {
            self.mode = Mode::asked(request);
        }
        self.arrived = arrived;
        self.bare |= request == Ace::NONE;
    }

    /// Returns the feedback mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the next SYN/ACK (section 3.2.3.2.2).
    pub fn answer(&mut self, cause: Cause) -> Answer {
        self.answers = self.answers.saturating_add(1);
        self.timeouts = self.timeouts.saturating_add(u8::from(cause == Cause::Timeout));
        let ace = match self.mode {
            Mode::None => Ace::NONE,
            _ if self.timeouts > 1 => Ace::NONE,
            Mode::Classic => Ace::CLASSIC_ANSWER,
            Mode::Accurate => telling(self.arrived),
        };
        self.bare |= ace == Ace::NONE;
        Answer { ace, option: self.mode == Mode::Accurate && self.answers == 1 }
    }

    /// Returns the outcome before it is known whether the client has received a SYN/ACK.
    pub fn outcome(&self) -> HandshakeOutcome {
        let outcome = HandshakeOutcome::plain(self.mode);
        match self.mode {
            // A server must not be ECN-capable if the client may be in another mode (section 3.1.5).
            Mode::Accurate => HandshakeOutcome { capable: !self.bare, ..outcome },
            Mode::None | Mode::Classic => outcome,
        }
    }

    /// Returns the outcome when the SYN/ACK, which was sent with codepoint `sent`, is acknowledged. The ACK reports on
    /// the SYN/ACK if it is `plain`, without data and SACK blocks (section 3.2.2.1). `checks` enables the test whether
    /// the network may have made the reported change.
    pub fn on_acknowledged(
        &self,
        ace: Ace,
        sent: Codepoint,
        plain: bool,
        checks: bool,
    ) -> HandshakeOutcome {
        let outcome = self.outcome();
        match (outcome.mode, plain) {
            (Mode::Accurate, true) if ace == Ace::NONE => {
                HandshakeOutcome { capable: false, deaf: true, ..outcome }
            }
            (Mode::Accurate, true) => outcome.with_feedback(ace, sent, checks),
            _ => outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODEPOINTS: [Codepoint; 4] =
        [Codepoint::NotEct, Codepoint::Ect1, Codepoint::Ect0, Codepoint::Ce];

    /// Table 2, its first block, and table 3.
    #[test]
    fn the_answer_reports_the_ecn_field_of_the_request() {
        for (arrived, code) in CODEPOINTS.into_iter().zip([0b010, 0b011, 0b100, 0b110]) {
            let mut server = Server::default();
            server.on_request(Ace::ACCURATE_REQUEST, arrived);
            let answer = server.answer(Cause::Request);
            assert_eq!((answer.ace, answer.option), (Ace::new(code), true));
            assert_eq!(Mode::agreed(answer.ace), Mode::Accurate);
            assert_eq!(reported(answer.ace), Some(arrived));
        }
    }

    /// Table 2, the other blocks, and section 3.1.3.
    #[test]
    fn a_peer_without_accurate_feedback_gets_classic_feedback() {
        let mode = |request| {
            let mut server = Server::default();
            server.on_request(Ace::new(request), Codepoint::NotEct);
            (server.mode(), server.answer(Cause::Request).ace.get())
        };
        assert_eq!([mode(0), mode(3)], [(Mode::None, 0), (Mode::Classic, 1)]);
        assert_eq!([1, 2, 4, 5, 6, 7].map(mode), [(Mode::Accurate, 2); 6]);
        let agreed = [0, 1, 5, 7].map(|answer| Mode::agreed(Ace::new(answer)));
        assert_eq!(agreed, [Mode::None, Mode::Classic, Mode::Accurate, Mode::None]);
    }

    #[test]
    fn a_request_is_repeated_once_as_it_was_and_then_without_the_flags() {
        let requests = |falls_back| {
            let mut client = Client::new(Codepoint::NotEct, falls_back);
            [(); 4].map(|()| client.request().get())
        };
        assert_eq!([requests(true), requests(false)], [[7, 7, 0, 0], [7; 4]]);
    }

    /// Section 3.2.3.2.2: without the option first, and without the flags after another timeout.
    #[test]
    fn an_answer_falls_back_in_steps_and_its_server_is_no_longer_ecn_capable() {
        let mut server = Server::default();
        server.on_request(Ace::ACCURATE_REQUEST, Codepoint::Ect0);
        let first = server.answer(Cause::Request);
        let more = [(); 3].map(|()| server.answer(Cause::Timeout));
        let sent = [first, more[0], more[1], more[2]].map(|a| (a.ace.get(), a.option));
        assert_eq!(sent, [(4, true), (4, false), (0, false), (0, false)]);
        let outcome = server.on_acknowledged(Ace::new(2), Codepoint::NotEct, true, true);
        assert_eq!((outcome.mode, outcome.capable), (Mode::Accurate, false));
    }

    /// Section 3.1.5.
    #[test]
    fn the_first_request_decides_and_the_last_is_reported() {
        for (first, then, mode, ace) in [(7, 0, Mode::Accurate, 4), (0, 7, Mode::None, 0)] {
            let mut server = Server::default();
            server.on_request(Ace::new(first), Codepoint::NotEct);
            server.answer(Cause::Request);
            server.on_request(Ace::new(then), Codepoint::Ect0);
            let answer = server.answer(Cause::Request);
            assert_eq!((server.mode(), answer.ace.get(), answer.option), (mode, ace, false));
            assert!(!server.outcome().capable, "the client may not know of ECN");
        }
    }

    /// Section 3.2.2.3: Not-ECT stays Not-ECT, and nothing becomes Not-ECT.
    #[test]
    fn a_host_that_sees_a_forbidden_change_of_the_ecn_field_is_not_ecn_capable() {
        let client = Client::new(Codepoint::NotEct, true);
        for (code, capable) in [(2, true), (3, false), (4, false), (6, false), (5, true)] {
            let outcome = client.on_answer(Ace::new(code));
            assert_eq!((outcome.capable, outcome.marked), (capable, false), "{code}");
        }
        let scalable = Client::new(Codepoint::Ect1, true).on_answer(Ace::new(6));
        assert!(scalable.capable && scalable.marked);
    }

    /// Section 3.2.2.1, table 4.
    #[test]
    fn the_ack_of_an_answer_reports_its_ecn_field_if_it_is_plain() {
        let mut server = Server::default();
        server.on_request(Ace::ACCURATE_REQUEST, Codepoint::NotEct);
        server.answer(Cause::Request);
        let sent = Codepoint::Ect0;
        let reported = |ace, plain| {
            let outcome = server.on_acknowledged(Ace::new(ace), sent, plain, true);
            (outcome.capable, outcome.deaf, outcome.marked)
        };
        let nothing = (true, false, false);
        assert_eq!([reported(4, true), reported(6, true)], [nothing, (true, false, true)]);
        assert_eq!(
            [reported(0, true), reported(2, true)],
            [(false, true, false), (false, false, false)]
        );
        assert_eq!([1, 5, 7].map(|ace| reported(ace, true)), [nothing; 3]);
        assert_eq!([0, 6].map(|ace| reported(ace, false)), [nothing; 2], "a counter, with data");
    }
}
