//! The host under test: the simulator's end host with a packet interface.
//!
//! [`Host`] numbers segments and models neither handshake options nor the peer's advertised window. This module adds
//! them, without any congestion control: the mapping of bytes to segments ([`Cuts`]), the handshake and the negotiated
//! parameters, the peer's window and window probes, Nagle's algorithm, the flags PSH and FIN.

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

/// Maximum interval between window probes.
const LONGEST_PROBE: Span = Span::from_secs(120);

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Closed,
    /// Waits for a SYN.
    Listening,
    /// The host has sent a SYN.
    Requested,
    /// The host has sent a SYN-ACK.
    Answered,
    /// Established.
    Open,
}

/// A packet that the host sent.
#[derive(Clone, Debug)]
pub struct Live {
    /// Sending time.
    pub at: Time,
    /// The packet in a script's notation.
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
    /// Whether the host sent the SYN.
    requested: bool,
    /// Time of the last transmission of the SYN or SYN-ACK.
    requested_at: Time,
    /// Initial sequence numbers.
    local_isn: u32,
    peer_isn: u32,
    /// Data that the host sends, and data that it receives.
    out: Outgoing,
    back: Cuts,
    /// Number of bytes read by the application.
    taken: u64,
    peer_closed: bool,
    /// Timestamp to echo.
    ts_recent: u32,
    /// Whether the last packet had a later timestamp than those before.
    ts_is_newer: bool,
    /// Sending times of the packets, by the script's timestamp.
    ts_sent: BTreeMap<u32, Time>,
    probe: Option<Probe>,
    /// Pacing of new data, if enabled.
    pacing: Option<WritePacing>,
    /// Deadline of the acknowledgement of the peer's FIN.
    ack_by: Option<Time>,
    /// Whether ECE is set in acknowledgements.
    echoes: bool,
    outbox: VecDeque<Live>,
}

/// Byte stream that the host sends. FIN counts as a byte.
#[derive(Debug, Default)]
struct Outgoing {
    /// Sent segments.
    cuts: Cuts,
    /// Burst of the first transmission of each segment, and the current burst.
    pieces: Vec<u64>,
    piece: u64,
    /// Segment retransmitted immediately before, at the same time.
    last_again: Option<u64>,
    /// Ends of the segments with PSH.
    pushes: Pushes,
    /// Number of bytes written by the application.
    written: u64,
    /// Number of these bytes passed to TCP.
    given: u64,
    /// End of the stream, once it is closed.
    fin: Option<u64>,
    /// The peer's window: its right edge in bytes, and its last advertised size.
    window_end: u64,
    window: u64,
    /// Largest window advertised so far.
    largest_window: u64,
    /// Whether Nagle's algorithm is off.
    no_delay: bool,
}

/// Timer of probes for a closed window.
#[derive(Clone, Copy, Debug)]
struct Probe {
    at: Time,
    wait: Span,
}

impl Endpoint {
    /// Creates a closed endpoint.
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

    /// Returns the state of the connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// Accepts connections from now on.
    pub fn listen(&mut self) {
        self.state = State::Listening;
    }

    /// Advances the clock.
    pub fn at(&mut self, now: Time) -> &mut Self {
        self.now = self.now.max(now);
        self
    }

    /// Returns the time of the next wake-up.
    pub fn next_wake(&self) -> Option<Time> {
        let host = self.host.as_ref().and_then(Host::next_wake);
        let probe = self.probe.map(|probe| probe.at);
        host.into_iter().chain(probe).chain(self.ack_by).chain(self.pace_at()).min()
    }

    /// Sets the clock to the next wake-up and processes it.
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

    /// Takes the first sent packet that has not been taken.
    pub fn take_sent(&mut self) -> Option<Live> {
        self.outbox.pop_front()
    }

    /// Associates a timestamp of the script with the packet sent at `sent`.
    pub fn note_timestamp(&mut self, script: u32, sent: Time) {
        self.ts_sent.insert(script, sent);
    }

    /// Sets the initial sequence number that the script gives the host.
    pub fn set_isn(&mut self, isn: u32) {
        self.local_isn = isn;
    }

    /// Makes the host's interface reject segments from now on.
    pub fn refuse_segments(&mut self) {
        if let Some(host) = &mut self.host {
            host.refuse_segments();
        }
    }

    /// Returns the state of the sender of an established connection.
    pub fn info(&self) -> Option<SenderInfo> {
        self.host.as_ref().filter(|_| self.state == State::Open).map(Host::info)
    }

    /// Returns the largest payload of a segment.
    pub fn mss(&self) -> u16 {
        self.agreed.mss
    }

    /// Returns the number of bytes received in order and not yet read by the application.
    pub fn readable(&self) -> u64 {
        let arrived = self.host.as_ref().map_or(0, |host| self.back.end_of(host.expects()));
        arrived - u64::from(self.peer_closed && arrived == self.back.end()) - self.taken
    }

    /// Reads `bytes` bytes in the application.
    pub fn read(&mut self, bytes: u64) {
        self.taken += bytes;
    }

    /// Whether both ends have closed, and the host's FIN is acknowledged.
    fn is_over(&self) -> bool {
        let reported = self.info().is_some_and(|info| info.unacked == 0);
        let all_sent = self.out.given == self.out.written && self.out.cuts.end() == self.out.given;
        self.peer_closed && self.out.fin.is_some() && all_sent && reported
    }

    /// Whether the peer has closed, and the application has read all data.
    pub fn is_read_to_the_end(&self) -> bool {
        self.peer_closed && self.readable() == 0
    }

    /// Disables Nagle's algorithm (`TCP_NODELAY`).
    pub fn set_no_delay(&mut self) {
        self.out.no_delay = true;
        self.send_written();
    }

    /// Writes `bytes` bytes from the application.
    pub fn write(&mut self, bytes: u64) {
        let bounds = self.bounds();
        let written = self.out.written;
        self.out.written += bytes;
        self.out.pushes.write(written, self.out.written, bounds);
        self.send_written();
    }

    /// Returns the bounds of the buffers of a write, and of the data sent during the write.
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

    /// Closes the stream of the application.
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
