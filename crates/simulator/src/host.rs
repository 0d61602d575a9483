//! One end of a connection on its own: no network, and the caller as its peer.
//!
//! Packets in, packets out, next wake-up: the interface behind [`crate::tcp::HostContext`] is exposed here, so that a
//! script can play the other end. Sequence space counts segments, as everywhere in the simulator; segment 0 is the
//! first after the handshake.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::Scenario;
pub use tidegate_scenario::plan::OptionPlan;
use tidegate_scenario::plan::TcpPlan;

use crate::applications::AnyApplication;
use crate::event_queue::Timers;
use crate::network::Network;
pub use crate::packet::ReceivedBytes;
use crate::packet::{MAX_SACK_BLOCKS, Options, PackedPacket, Packet, SackBlocks, flags};
pub use crate::tcp::accecn::{ANSWERED_OPTION_BYTES, Ace, Codepoint, HandshakeOutcome, handshake};
pub use crate::tcp::sender::info::{CongestionState, SenderInfo};
pub use crate::tcp::sender::kernel::Kernel;
use crate::tcp::{Address, HEADER_BYTES, Half, HostContext, SimContext, TIMESTAMP_BYTES};
use crate::topology::Receivers;
use crate::wake::{TimerId, Wake};

/// A network without delay, loss or congestion; it hands out the packets that leave the host.
const NETWORK: &str = r#"
version = 1
profile = "linux"
host_jitter = "off"
sample_interval = "off"

[bottleneck]
rate = "1 Tb/s"
delay = "0 s"
buffer = "1 GB"

[access]
rate = "1 Tb/s"
delay = "0 s"

[users.one]
"#;

/// SACK blocks of an acknowledgement, in segments `start..end`, most recent first.
pub type Blocks = Vec<(u64, u64)>;

/// Packet sent by the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// SYN or SYN/ACK.
    Request,
    /// Data segment.
    Segment {
        /// Segment number.
        number: u64,
        /// Payload, bytes.
        bytes: u16,
        /// Whether PSH is set.
        pushed: bool,
        /// Whether the packet is ECN-capable.
        capable: bool,
        /// Whether CWR is set.
        reduced: bool,
    },
    /// An acknowledgement.
    Ack {
        /// Next segment expected.
        next: u64,
        /// Echoed timestamp.
        echo: Time,
        /// ECN feedback.
        marks: AckMarks,
        /// SACK blocks, including D-SACK.
        blocks: Blocks,
    },
}

/// ECN feedback of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckMarks {
    /// ECE with classic feedback; the packet counter with AccECN.
    pub ace: Ace,
    /// Byte counters of the AccECN option.
    pub received: Option<ReceivedBytes>,
}

/// Acknowledgement from the peer.
#[derive(Clone, Debug, Default)]
pub struct Acknowledgement {
    /// Next segment that the peer expects.
    pub next: u64,
    /// Send time of the packet whose timestamp is echoed; ignored without timestamps.
    pub echo: Time,
    /// ECN feedback.
    pub marks: AckMarks,
    /// Whether its own timestamp is later than all before.
    pub newer: bool,
    /// SACK blocks, if the peer sends them.
    pub blocks: Option<Blocks>,
}

/// Data segment from the peer.
#[derive(Clone, Copy, Debug, Default)]
pub struct SegmentArrival {
    /// Segment number.
    pub number: u64,
    /// Payload, bytes.
    pub bytes: u16,
    /// Timestamp.
    pub stamp: Time,
    /// Whether PSH is set.
    pub pushed: bool,
    /// ECN field.
    pub ecn: Codepoint,
    /// Whether CWR is set.
    pub reduced: bool,
}

/// One end of a connection.
pub struct Host {
    network: Network,
    timers: Timers,
    /// Half in which this host sends.
    out: Half,
    /// Half in which this host receives.
    back: Half,
    now: Time,
}

/// Returns TCP options: those of the profile `linux` with `overrides` as `tcp.key`, `value` pairs.
///
/// # Errors
///
/// A description of the invalid overrides.
pub fn tcp_options(overrides: &[(String, String)]) -> Result<TcpPlan, String> {
    let scenario = Scenario::parse(NETWORK, overrides).map_err(|errors| {
        let messages: Vec<String> = errors.into_iter().map(|error| error.message).collect();
        messages.join("; ")
    })?;
    let tcp = scenario.plan().flows[0].tcp.clone();
    tcp.map(|tcp| TcpPlan::clone(&tcp)).ok_or_else(|| "the flow is not one of TCP".to_owned())
}

impl Host {
    /// Returns a host without a connection, with segments of at most `mss` bytes of payload.
    ///
    /// # Panics
    /// If `mss` is 0 or does not fit into a packet.
    pub fn new(tcp: &TcpPlan, mss: u16) -> Self {
        let plan = Scenario::parse(NETWORK, &[]).expect("a network as written above").plan();
        let (network, routes) =
            Network::new(&plan, 1, Receivers::AheadOfTime, AnyApplication::will_listen_or_overlap);
        let headers = HEADER_BYTES + if tcp.timestamps { TIMESTAMP_BYTES } else { 0 };
        assert!(mss > 0 && mss <= u16::MAX - headers, "segments of {mss} B");
        let address = Address::new(0, 0, TimerId::new(0, false), routes[0]);
        let [out, back] = [(); 2].map(|()| Half::new(tcp, mss + headers, address));
        Host { network, timers: Timers::default(), out, back, now: Time::ZERO }
    }

    /// Sets build options and sysctls of the sender's kernel.
    pub fn set_kernel(&mut self, kernel: Kernel) {
        self.out.sender.set_kernel(kernel);
    }

    /// Makes the interface reject all further segments.
    pub fn refuse_segments(&mut self) {
        self.out.sender.refuse_segments();
    }

    /// Advances the clock. The caller lets intermediate wake-ups happen by [`Host::wake`].
    pub fn at(&mut self, now: Time) -> &mut Self {
        self.now = self.now.max(now);
        self
    }

    /// Returns the time of the next wake-up, which may turn out to be void.
    pub fn next_wake(&self) -> Option<Time> {
        Some(self.timers.next_time()).filter(|at| *at < Time::NEVER)
    }

    /// Advances the clock to the next wake-up and performs it.
    pub fn wake(&mut self) {
        let Some(at) = self.next_wake() else { return };
        self.now = self.now.max(at);
        let next = self.timers.pop_before(at + Span::from_nanos(1));
        let Some((_, wake)) = next else { return };
        match wake {
            Wake::Retransmit(_) => self.sending(|connection, ctx| connection.sender.on_timer(ctx)),
            Wake::DelayedAck(_) => self.receiving(Half::on_wake_of_receiver),
            _ => {}
        }
    }

    /// Sends a SYN or SYN/ACK; the sender's actions and timing are the same for both.
    pub fn open(&mut self) {
        self.sending(|connection, ctx| connection.sender.open(ctx));
    }

    /// Handles a SYN from the peer.
    pub fn requested(&mut self, ace: Ace, ecn: Codepoint) {
        let flags = flags::SYN | ace.flags() | ecn.flags();
        let request = Packet { at: self.now, flags, ..Packet::default() };
        self.back.receiver.on_request(&request);
    }

    /// Completes the handshake with `outcome`; the packet that this acknowledges was sent at `sent`.
    pub fn answered(&mut self, sent: Time, outcome: HandshakeOutcome) {
        self.sending(|connection, ctx| connection.sender.on_answer(sent, outcome, ctx));
    }

    /// Handles a packet without data apart from its feedback: counts its own mark.
    pub fn note_control(&mut self, ecn: Codepoint) {
        self.back.receiver.note_control(ecn);
    }

    /// Handles the AccECN option of a handshake packet.
    pub fn note_option(&mut self, received: &ReceivedBytes) {
        self.out.sender.note_option(received);
    }

    /// Whether the peer has sent the AccECN option.
    pub fn has_seen_option(&self) -> bool {
        self.out.sender.has_seen_option()
    }

    /// Sets which acknowledgements carry the AccECN option.
    pub fn send_options(&mut self, when: OptionPlan) {
        self.back.receiver.send_options(when);
    }

    /// Writes `bytes` from the application; with `push`, a partial segment is sent as well. Nothing is sent before
    /// [`Host::send`] or the next acknowledgement.
    pub fn write(&mut self, bytes: u64, push: bool) {
        self.out.sender.write(bytes);
        if push {
            self.out.sender.push();
        }
    }

    /// Sends written data as far as the window allows.
    pub fn send(&mut self) {
        self.sending(|connection, ctx| connection.sender.on_written(ctx));
    }

    /// Handles an acknowledgement.
    pub fn acknowledge(&mut self, reported: &Acknowledgement) {
        if reported.newer {
            self.out.sender.note_newer();
        }
        let mut packet = Packet {
            number: reported.next,
            stamp: reported.echo,
            flags: flags::ACK | reported.marks.ace.flags(),
            ..Packet::default()
        };
        let mut sack: SackBlocks = [(0, 0); MAX_SACK_BLOCKS];
        for (place, block) in sack.iter_mut().zip(reported.blocks.iter().flatten()) {
            *place = *block;
        }
        let received_bytes = reported.marks.received;
        if reported.blocks.is_some() || received_bytes.is_some() {
            packet.flags |=
                flags::OPTIONS | if reported.blocks.is_some() { flags::SACK } else { 0 };
            let options = Options { sack, received_bytes, ..Options::default() };
            packet.payload = self.network.options.put(options);
        }
        self.on_ack(packet);
    }

    fn on_ack(&mut self, packet: Packet) {
        self.sending(|connection, ctx| connection.sender.on_ack(&PackedPacket::of(&packet), ctx));
    }

    /// Handles a data segment.
    pub fn receive(&mut self, arrival: &SegmentArrival) {
        let flag = |holds: bool, flag: u32| if holds { flag } else { 0 };
        let packet = Packet {
            at: self.now,
            number: arrival.number,
            stamp: arrival.stamp,
            len: self.back.header + arrival.bytes,
            flags: flag(arrival.pushed, flags::PSH)
                | flag(arrival.reduced, flags::CWR)
                | arrival.ecn.flags(),
            ..Packet::default()
        };
        self.receiving(|connection, ctx| connection.on_data(&PackedPacket::of(&packet), ctx));
    }

    /// Acknowledges the data received in order by a packet sent for another reason. Returns its ECN feedback, if marks
    /// are counted.
    pub fn acknowledge_in_transit(&mut self) -> Option<AckMarks> {
        let receiver = &mut self.back.receiver;
        let marks = receiver.counts_marks().then(|| {
            let (ace, fitted, _) = receiver.echo_marks(None, self.now);
            AckMarks { ace, received: fitted.map(|fitted| fitted.bytes) }
        });
        receiver.on_ack_sent();
        marks
    }

    /// Takes the packets sent since the last call, in order.
    pub fn take_sent(&mut self) -> Vec<Sent> {
        let mut sent = Vec::new();
        while self.network.transit.next_time() < Time::NEVER {
            if let Some((at, packed)) = self.network.advance() {
                sent.push(self.reported(&packed.packet(at)));
            }
        }
        sent
    }

    fn reported(&mut self, packet: &Packet) -> Sent {
        if packet.has(flags::ACK) {
            let options =
                packet.has(flags::OPTIONS).then(|| self.network.options.take(packet.payload));
            let options = options.unwrap_or_default();
            return Sent::Ack {
                next: packet.number,
                echo: packet.stamp,
                marks: AckMarks { ace: Ace::of(packet), received: options.received_bytes },
                blocks: options.sack.into_iter().filter(|(start, end)| start < end).collect(),
            };
        }
        if packet.has(flags::SYN) {
            return Sent::Request;
        }
        Sent::Segment {
            number: packet.number,
            bytes: packet.len - self.out.header,
            pushed: packet.has(flags::PSH),
            capable: packet.has(flags::ECT),
            reduced: packet.has(flags::CWR),
        }
    }

    /// Returns the state of its sender.
    pub fn info(&self) -> SenderInfo {
        self.out.sender.info()
    }

    /// Returns the next segment that its receiver expects.
    pub fn expects(&self) -> u64 {
        self.back.receiver.next
    }

    fn sending(&mut self, act: impl FnOnce(&mut Half, &mut HostContext)) {
        let Host { network, timers, out, now, .. } = self;
        let address = out.address;
        act(out, &mut SimContext { now: *now, network, timers }.ctx(address));
    }

    fn receiving(&mut self, act: impl FnOnce(&mut Half, &mut HostContext)) {
        let Host { network, timers, back, now, .. } = self;
        let address = back.address;
        act(back, &mut SimContext { now: *now, network, timers }.ctx(address));
    }
}
