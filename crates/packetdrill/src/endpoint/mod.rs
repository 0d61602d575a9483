//! The host under test: the simulator's end host in a packet's terms.
//!
//! [`Host`] numbers segments and knows neither handshake options nor windows that the peer offers. What
//! stands between is here, and nothing of TCP's congestion control: bytes and segments ([`Cuts`]), the
//! handshake and what is agreed in it, the peer's window and probes for it, Nagle's rule, the flags PSH
//! and FIN.

mod agreed;
mod cuts;
mod inbound;
mod marks;
mod outbound;
mod pacing;
mod pushes;
mod settings;

use std::collections::{BTreeMap, VecDeque};

use tidegate_mechanisms::units::{Span, Time};
use tidegate_simulator::host::{Host, SenderInfo};

use crate::script::ScriptPacket;
use agreed::Agreed;
use cuts::Cuts;
use marks::MarkFeedback;
use pacing::WritePacing;
use pushes::{Bounds, Pushes};
pub use settings::{Settings, accurate_option};

/// No window probe is later after the one before.
const LONGEST_PROBE: Span = Span::from_secs(120);

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is none.
    Closed,
    /// One may be requested.
    Listening,
    /// The host has requested one.
    Requested,
    /// The host has answered a request.
    Answered,
    /// Established.
    Open,
}

/// A packet that the host sent.
#[derive(Clone, Debug)]
pub struct Live {
    /// When.
    pub at: Time,
    /// In a script's terms.
    pub packet: ScriptPacket,
}

/// One end of a connection.
pub struct Endpoint {
    settings: Settings,
    state: State,
    now: Time,
    host: Option<Host>,
    agreed: Agreed,
    marks: MarkFeedback,
    /// The host has requested the connection.
    requested: bool,
    /// When the request or the answer was sent last.
    requested_at: Time,
    /// First sequence numbers.
    local_isn: u32,
    peer_isn: u32,
    /// What the host sends, and what it receives.
    out: Outgoing,
    back: Cuts,
    /// Bytes that the application has taken.
    taken: u64,
    peer_closed: bool,
    /// The timestamp to echo.
    ts_recent: u32,
    /// The last packet had a later one than those before.
    ts_is_newer: bool,
    /// When the packets were sent that carry a script's timestamps.
    ts_sent: BTreeMap<u32, Time>,
    probe: Option<Probe>,
    /// When new data may leave, where that is paced.
    pacing: Option<WritePacing>,
    /// The end of the peer's stream is acknowledged by then.
    ack_by: Option<Time>,
    /// Congestion is echoed.
    echoes: bool,
    outbox: VecDeque<Live>,
}

/// The stream of bytes that the host sends. Its end (FIN) is a byte.
#[derive(Debug, Default)]
struct Outgoing {
    /// Segments sent.
    cuts: Cuts,
    /// In which piece each of them left first, and the piece that is next.
    pieces: Vec<u64>,
    piece: u64,
    /// The segment that was sent again just before, at the same moment.
    last_again: Option<u64>,
    /// Where it is pushed.
    pushes: Pushes,
    /// Bytes that the application has written.
    written: u64,
    /// Of them, those that TCP has been given.
    given: u64,
    /// Where the stream ends, if it does.
    fin: Option<u64>,
    /// The peer's window: its right edge in bytes, and how large it was told last.
    window_end: u64,
    window: u64,
    /// The largest there has been.
    largest_window: u64,
    /// Small segments need not wait for each other.
    no_delay: bool,
}

/// A probe for a window that was closed.
#[derive(Clone, Copy, Debug)]
struct Probe {
    at: Time,
    wait: Span,
}

impl Endpoint {
    /// A closed one.
    pub fn new(settings: Settings) -> Self {
        Endpoint {
            agreed: Agreed::none(&settings),
            marks: MarkFeedback::new(&settings),
            requested: false,
            pacing: settings.paced.then(WritePacing::new),
            settings,
            state: State::Closed,
            now: Time::ZERO,
            host: None,
            requested_at: Time::ZERO,
            local_isn: 0,
            peer_isn: 0,
            out: Outgoing::default(),
            back: Cuts::default(),
            taken: 0,
            peer_closed: false,
            ts_recent: 0,
            ts_is_newer: false,
            ts_sent: BTreeMap::new(),
            probe: None,
            ack_by: None,
            echoes: false,
            outbox: VecDeque::new(),
        }
    }

    /// How far the connection is.
    pub fn state(&self) -> State {
        self.state
    }

    /// Requests are answered from now on.
    pub fn listen(&mut self) {
        self.state = State::Listening;
    }

    /// Moves the clock on.
    pub fn at(&mut self, now: Time) -> &mut Self {
        self.now = self.now.max(now);
        self
    }

    /// When it wants to be woken.
    pub fn next_wake(&self) -> Option<Time> {
        let host = self.host.as_ref().and_then(Host::next_wake);
        let probe = self.probe.map(|probe| probe.at);
        host.into_iter().chain(probe).chain(self.ack_by).chain(self.pace_at()).min()
    }

    /// Sets the clock to the next wake-up and lets it happen.
    pub fn wake(&mut self) {
        let Some(at) = self.next_wake() else { return };
        self.now = self.now.max(at);
        if self.probe.is_some_and(|probe| probe.at == at) {
            return self.probe_window();
        }
        if self.ack_by == Some(at) {
            return self.send_own_ack();
        }
        if let Some(host) = &mut self.host
            && host.next_wake() == Some(at)
        {
            host.wake();
        }
        self.hand_over();
    }

    /// Takes the first packet that was sent and not yet taken.
    pub fn take_sent(&mut self) -> Option<Live> {
        self.outbox.pop_front()
    }

    /// A packet that was sent is the one that a script gives this timestamp.
    pub fn note_timestamp(&mut self, script: u32, sent: Time) {
        self.ts_sent.insert(script, sent);
    }

    /// The script gives the host's first packet this sequence number.
    pub fn set_isn(&mut self, isn: u32) {
        self.local_isn = isn;
    }

    /// From now on the host's interface takes no segment.
    pub fn refuse_segments(&mut self) {
        if let Some(host) = &mut self.host {
            host.refuse_segments();
        }
    }

    /// The state of the sender, once there is a connection.
    pub fn info(&self) -> Option<SenderInfo> {
        self.host.as_ref().filter(|_| self.state == State::Open).map(Host::info)
    }

    /// Largest payload of a segment.
    pub fn mss(&self) -> u16 {
        self.agreed.mss
    }

    /// Bytes that have arrived in order and that the application has not taken.
    pub fn readable(&self) -> u64 {
        let arrived = self.host.as_ref().map_or(0, |host| self.back.end_of(host.expects()));
        arrived - u64::from(self.peer_closed && arrived == self.back.end()) - self.taken
    }

    /// The application takes so many.
    pub fn read(&mut self, bytes: u64) {
        self.taken += bytes;
    }

    /// Whether both ends have closed, and the peer knows that the host has.
    fn is_over(&self) -> bool {
        let reported = self.info().is_some_and(|info| info.unacked == 0);
        let all_sent = self.out.given == self.out.written && self.out.cuts.end() == self.out.given;
        self.peer_closed && self.out.fin.is_some() && all_sent && reported
    }

    /// Whether the peer will send no more, and everything has been taken.
    pub fn is_read_to_the_end(&self) -> bool {
        self.peer_closed && self.readable() == 0
    }

    /// Small segments leave at once (`TCP_NODELAY`).
    pub fn set_no_delay(&mut self) {
        self.out.no_delay = true;
        self.send_written();
    }

    /// The application writes so many bytes.
    pub fn write(&mut self, bytes: u64) {
        let bounds = self.bounds();
        let written = self.out.written;
        self.out.written += bytes;
        self.out.pushes.write(written, self.out.written, bounds);
        self.send_written();
    }

    /// What bounds the buffers of a write, and what leaves while it goes on.
    fn bounds(&self) -> Bounds {
        let (mss, sent) = (u64::from(self.agreed.mss), self.out.cuts.end());
        let (room, half) = self.info().map_or((0, 0), |info| {
            (info.cwnd.saturating_sub(info.in_flight()), (info.cwnd / 2).max(1))
        });
        Bounds {
            mss,
            largest_window: self.out.largest_window,
            sent,
            may_go: (sent + u64::from(room) * mss).min(self.out.window_end.max(sent)),
            piece: u64::from(room.min(half)) * mss,
        }
    }

    /// The application has nothing more to say.
    pub fn close(&mut self) {
        if self.state == State::Listening {
            self.state = State::Closed;
        }
        if self.out.fin.is_none() && self.state != State::Closed {
            self.out.fin = Some(self.out.written);
            self.out.written += 1;
            self.send_written();
        }
    }

    fn send_written(&mut self) {
        if self.state != State::Open {
            return;
        }
        self.give(0);
        if let Some(host) = &mut self.host {
            host.at(self.now).send();
        }
        self.hand_over();
    }
}
