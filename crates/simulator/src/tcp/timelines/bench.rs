//! Test bench for a connection: events by hand, and its transmissions as text.
//!
//! The network only takes packets; it is emptied after every event, so that its rate and delay do not matter. Time
//! advances with the events.

use std::fmt::Write;

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::{ConexPlan, FeedbackPlan};

use crate::applications::AnyApplication;
use crate::event_queue::Timers;
use crate::network::Network;
use crate::packet::{
    MAX_SACK_BLOCKS, Options, PackedPacket, Packet, ReceivedBytes, SackBlocks, flags,
};
use crate::tcp::accecn::{Ace, Codepoint};
use crate::tcp::sender::Purpose;
use crate::tcp::tests::RULES_OF_NS2;
use crate::tcp::{Address, Half, HostContext};
use crate::topology::Receivers;
use crate::wake::{TimerId, Wake};

const PACKET_BYTES: u16 = 1500;

/// A network without delay, loss or congestion.
const NETWORK: &str = r#"
version = 1
profile = "classic"
host_jitter = "off"
sample_interval = "off"

[bottleneck]
rate = "1 Tb/s"
delay = "0 s"

[access]
rate = "1 Tb/s"
delay = "0 s"

[users.one]
"#;

/// Returns an idle network, the address of a host and its timers, for tests that need a context.
pub fn idle_network() -> (Network, Address, Timers) {
    let plan = Scenario::parse(NETWORK, &[]).expect("a valid scenario").plan();
    let (network, routes) =
        Network::new(&plan, 1, Receivers::AheadOfTime, AnyApplication::will_listen_or_overlap);
    let address = Address::new(0, 0, TimerId::new(0, false), routes[0]);
    (network, address, Timers::default())
}

/// A connection and its clock.
pub struct Bench {
    network: Network,
    timers: Timers,
    connection: Half,
    /// Bytes that the application will write; [`u64::MAX`] for unlimited.
    size_bytes: u64,
    written_bytes: u64,
    ecn: bool,
    ecn_fallback: bool,
    ecn_on_retransmits: bool,
    scalable: bool,
    /// Whether packets declare congestion.
    conex: bool,
    re_ecn: bool,
    now: Time,
    /// Segments below this have been sent before.
    sent_below: u64,
    requested: Time,
    asked: bool,
    /// Whether AccECN is requested.
    accurate: bool,
    /// Round-trip time shown by timestamps.
    rtt: Span,
    cwnd: f64,
}

impl Bench {
    /// Returns a connection with the profile `classic`, by the RFCs unless the options begin with `ns2`, and the given
    /// options over it: those of a scenario's `tcp` section, and `size=1000` for a transfer of this many bytes.
    pub fn new(options: &str) -> Self {
        let (mut overrides, mut size) = (Vec::new(), None);
        let (as_ns2, options) = match options.trim_start().strip_prefix("ns2") {
            Some(options) => (true, options),
            None => (false, options),
        };
        overrides
            .extend(RULES_OF_NS2.map(|rule| (format!("tcp.quirks.{rule}"), as_ns2.to_string())));
        let tick = if as_ns2 { "1 ms" } else { "off" };
        overrides.push(("tcp.quirks.rtt_tick".to_owned(), tick.to_owned()));
        for option in options.split_whitespace() {
            let (key, value) = option.split_once('=').expect("an option is key=value");
            match key {
                "size" => size = Some(value.parse().expect("bytes")),
                // A space in a value is written `_`; tables have one between key and value.
                _ if value.starts_with('{') => overrides.push((format!("tcp.{key}"), value.into())),
                _ => overrides.push((format!("tcp.{key}"), value.replace('_', " "))),
            }
        }
        let plan = Scenario::parse(NETWORK, &overrides).expect("options as in a scenario").plan();
        let tcp = plan.flows[0].tcp.as_ref().expect("greedy");
        let (network, routes) =
            Network::new(&plan, 1, Receivers::AheadOfTime, AnyApplication::will_listen_or_overlap);
        let address = Address::new(0, 0, TimerId::new(0, false), routes[0]);
        let connection = Half::new(tcp, PACKET_BYTES, address);
        Bench {
            network,
            timers: Timers::default(),
            cwnd: connection.sender.cwnd(),
            connection,
            size_bytes: size.unwrap_or(u64::MAX),
            written_bytes: 0,
            ecn: tcp.ecn,
            ecn_fallback: tcp.ecn_fallback,
            ecn_on_retransmits: tcp.quirks.ecn_on_retransmits,
            scalable: tcp.is_scalable(),
            conex: !matches!(tcp.conex, ConexPlan::Off | ConexPlan::ReEcn(_)),
            re_ecn: matches!(tcp.conex, ConexPlan::ReEcn(_)),
            now: Time::ZERO,
            sent_below: 0,
            requested: Time::ZERO,
            asked: false,
            accurate: tcp.feedback == Some(FeedbackPlan::Accurate),
            rtt: Span::from_millis(100),
        }
    }

    /// Sets the clock to `now` and performs `event`. Returns what was sent.
    pub fn perform(&mut self, now: Time, event: &str) -> String {
        self.now = now;
        let words: Vec<&str> = event.split_whitespace().collect();
        match words[..] {
            ["open"] => {
                if self.written_bytes == 0 {
                    self.write(u64::MAX);
                }
                self.with_context(|connection, ctx| connection.sender.open(ctx));
            }
            ["answer", ref rest @ ..] => {
                let (stamp, fields) = (self.requested, AckFields::read(rest));
                let flags = flags::SYN | fields.flags;
                self.acknowledge(Packet { stamp, flags, ..Packet::default() }, None, fields.bytes);
            }
            ["request", ref rest @ ..] => {
                let flags = flags::SYN | AckFields::read(rest).flags;
                let packet = Packet { at: now, flags, ..Packet::default() };
                self.with_context(|connection, ctx| {
                    connection.on_data(&PackedPacket::of(&packet), ctx)
                });
            }
            ["ack", ref rest @ ..] => self.acknowledge_all(rest),
            ["write", segments] => {
                let segments: u64 = segments.parse().expect("a number of segments");
                self.write(segments * u64::from(PACKET_BYTES - self.connection.header));
                self.with_context(|connection, ctx| connection.sender.on_written(ctx));
            }
            ["push", bytes] => {
                let sender = &mut self.connection.sender;
                sender.write(bytes.parse().expect("bytes"));
                sender.push();
                self.with_context(|connection, ctx| connection.sender.on_written(ctx));
            }
            ["segment", ref rest @ ..] => self.arrive_all(rest),
            ["wait"] => {}
            _ => panic!("no such event: {event}"),
        }
        self.report()
    }

    /// Writes up to a total of `bytes`, or the size of the transfer.
    fn write(&mut self, bytes: u64) {
        let sender = &mut self.connection.sender;
        sender.write(bytes.min(self.size_bytes) - self.written_bytes);
        self.written_bytes = bytes.min(self.size_bytes);
        if self.written_bytes == self.size_bytes {
            sender.end();
        }
    }

    /// Lets the next timer before `end` expire. Returns its time, its name and what was sent.
    pub fn fire(&mut self, end: Time) -> Option<(Time, &'static str, String)> {
        let (at, wake) = self.timers.pop_before(end)?;
        self.now = at;
        let name = match wake {
            Wake::Retransmit(_) => {
                let name = match self.connection.sender.awaits() {
                    Purpose::Timeout => "timeout",
                    Purpose::Probe => "probe",
                    Purpose::Reordering => "late",
                    Purpose::Release => "release",
                };
                self.with_context(|connection, ctx| connection.sender.on_timer(ctx));
                name
            }
            Wake::DelayedAck(_) => {
                self.with_context(Half::on_wake_of_receiver);
                "delayed"
            }
            _ => unreachable!("a connection has two timers"),
        };
        Some((at, name, self.report()))
    }

    fn with_context(&mut self, act: impl FnOnce(&mut Half, &mut HostContext)) {
        let Bench { network, timers, connection, now, .. } = self;
        let address = connection.address;
        act(connection, &mut HostContext { now: *now, network, timers, address, prompt: false });
    }

    /// `ack 4 5` are two ACKs, `ack 4-9` six. They may end in `ece`, `rtt 80` (round trip shown by timestamps from now
    /// on) and `sack 7-9 11` (most recent block first).
    fn acknowledge_all(&mut self, words: &[&str]) {
        let mut words = words.iter().peekable();
        let mut numbers = Vec::new();
        while let Some(range) = words.next_if(|word| word.starts_with(|c: char| c.is_numeric())) {
            let (first, last) = inclusive(range);
            numbers.extend(first..=last);
        }
        let rest: Vec<&str> = words.clone().copied().collect();
        let fields = AckFields::read(&rest);
        let (mut blocks, more) = (None, fields.flags);
        while let Some(&word) = words.next() {
            match word {
                "ece" => {}
                "ace" => _ = words.next(),
                "bytes" => (0..3).for_each(|_| _ = words.next()),
                "rtt" => {
                    let ms = words.next().expect("rtt in ms").parse().expect("rtt in ms");
                    self.rtt = Span::from_millis(ms);
                }
                "sack" => blocks = Some(sack_blocks(words.by_ref().copied())),
                _ => panic!("no such part of an ACK: {word}"),
            }
        }
        let stamp = Time::from_nanos(self.now.as_nanos().saturating_sub(self.rtt.as_nanos()));
        for number in numbers {
            let packet = Packet { number, stamp, flags: more, ..Packet::default() };
            self.acknowledge(packet, blocks, fields.bytes);
        }
    }

    fn acknowledge(
        &mut self,
        mut packet: Packet,
        blocks: Option<SackBlocks>,
        received_bytes: Option<ReceivedBytes>,
    ) {
        packet.at = self.now;
        packet.flags |= flags::ACK;
        if blocks.is_some() || received_bytes.is_some() {
            packet.flags |= flags::OPTIONS | if blocks.is_some() { flags::SACK } else { 0 };
            let sack = blocks.unwrap_or_default();
            let options = Options { sack, received_bytes, ..Options::default() };
            packet.payload = self.network.options.put(options);
        }
        self.with_context(|connection, ctx| {
            connection.sender.on_ack(&PackedPacket::of(&packet), ctx)
        });
    }

    /// `segment 3 4 6-8` arrive at the receiver; `ce`, `cwr`, `psh` or `not-ect` at the end applies to all of them.
    fn arrive_all(&mut self, words: &[&str]) {
        let mut all = flags::ECT;
        for &word in words {
            match word {
                "ce" => all |= flags::CE,
                "cwr" => all |= flags::CWR,
                "psh" => all |= flags::PSH,
                "not-ect" => all &= !flags::ECT,
                "ect1" => all |= flags::ECT_1,
                _ => {}
            }
        }
        for range in words.iter().filter(|word| word.starts_with(|c: char| c.is_numeric())) {
            let (first, last) = inclusive(range);
            for number in first..=last {
                let (at, stamp) = (self.now, self.now);
                let len = PACKET_BYTES;
                let packet = Packet { at, stamp, number, len, flags: all, ..Packet::default() };
                self.with_context(|connection, ctx| {
                    connection.on_data(&PackedPacket::of(&packet), ctx)
                });
            }
        }
    }

    /// Returns what was sent since the last report, and the window if it has changed.
    fn report(&mut self) -> String {
        let mut sent = Sent::default();
        while self.network.transit.next_time() < Time::NEVER {
            if let Some((at, packed)) = self.network.advance() {
                self.note(&packed.packet(at), &mut sent);
            }
        }
        let mut text = sent.finish();
        let cwnd = self.connection.sender.cwnd();
        if cwnd != self.cwnd {
            self.cwnd = cwnd;
            let rounded = (cwnd * 100.0).round() / 100.0;
            let _ = write!(text, " cwnd {rounded}");
        }
        text
    }

    fn written_ack(&mut self, packet: &Packet) -> String {
        let mut text = match packet.has(flags::SYN) {
            true => "SYN/ACK".to_owned(),
            false => format!("ack {}", packet.number),
        };
        let options = packet.has(flags::OPTIONS).then(|| self.network.options.take(packet.payload));
        let options = options.unwrap_or_default();
        if packet.has(flags::SACK) {
            text += " sack";
            for (start, end) in options.sack.into_iter().filter(|(start, end)| start < end) {
                text += &format!(" {}", range_text(start, end - 1));
            }
        }
        if self.accurate {
            text += &format!(" ace {}", Ace::of(packet).get());
        } else if packet.has(flags::ECE) {
            text += " ece";
        }
        if let Some(ReceivedBytes { counters: [ect_0, ce, ect_1], .. }) = options.received_bytes {
            text += &format!(" bytes {} {ce} {}", ect_0 - 1, ect_1 - 1);
        }
        text
    }

    fn note(&mut self, packet: &Packet, sent: &mut Sent) {
        if packet.has(flags::ACK) || packet.has(flags::SYN) {
            assert!(!packet.has(flags::CONEX), "no payload, nothing to declare");
        }
        if packet.has(flags::ACK) {
            return sent.word(self.written_ack(packet));
        }
        if packet.has(flags::SYN) && self.accurate {
            (self.requested, self.asked) = (packet.stamp, true);
            return sent.word(format!("SYN ace {}", Ace::of(packet).get()));
        }
        if packet.has(flags::SYN) {
            self.ecn &= !(self.ecn_fallback && self.asked);
            let capable = self.ecn && self.scalable;
            assert_eq!(packet.has(flags::ECT), capable, "ECT of a request");
            (self.requested, self.asked) = (packet.stamp, true);
            return sent.word("SYN".to_owned());
        }
        let again = packet.number < self.sent_below;
        self.sent_below = self.sent_below.max(packet.number + 1);
        // RFC 3168, section 6.1.5: retransmissions are not ECN-capable, except of scalable senders and in ns-2.
        let capable = self.ecn && (!again || self.scalable || self.ecn_on_retransmits);
        let mut suffix = String::from(if again { "r" } else { "" });
        if self.re_ecn {
            suffix += match (packet.has(flags::RE), packet.has(flags::ECT_1)) {
                (true, true) => "",
                (true, false) => "+C",
                (false, true) => "+P",
                (false, false) => "+Not-ECT",
            };
        } else if self.accurate {
            suffix += if packet.has(flags::ECT) { "" } else { "+Not-ECT" };
        } else {
            assert_eq!(packet.has(flags::ECT), capable, "ECT of segment {}", packet.number);
        }
        if packet.has(flags::CWR) {
            suffix += "+CWR";
        }
        if packet.has(flags::PSH) {
            suffix += "+PSH";
        }
        assert_eq!(packet.has(flags::CONEX), self.conex, "X of segment {}", packet.number);
        for (flag, text) in [(flags::LOSS, "+L"), (flags::MARK, "+E"), (flags::CREDIT, "+C")] {
            suffix += if packet.has(flag) { text } else { "" };
        }
        if packet.len < PACKET_BYTES {
            let _ = write!(suffix, "({}B)", packet.len);
        }
        sent.segment(packet.number, suffix);
    }
}

/// ECN fields of a packet, by words in a timeline: `ece`; `ace 5`; `bytes 0 1460 0`, bytes with ECT(0), CE and ECT(1);
/// and `ect0`, `ect1` or `ce`, the packet's own ECN field.
#[derive(Default)]
struct AckFields {
    flags: u32,
    bytes: Option<ReceivedBytes>,
}

impl AckFields {
    fn read(words: &[&str]) -> Self {
        let mut fields = AckFields::default();
        let number = |at: usize| words[at].parse::<u32>().expect("a number");
        for (at, &word) in words.iter().enumerate() {
            match word {
                "ece" => fields.flags |= flags::ECE,
                "ect0" => fields.flags |= Codepoint::Ect0.flags(),
                "ect1" => fields.flags |= Codepoint::Ect1.flags(),
                "ce" => fields.flags |= Codepoint::Ce.flags(),
                "ace" => fields.flags |= Ace::new(number(at + 1)).flags(),
                "bytes" => {
                    let counters = [number(at + 1) + 1, number(at + 2), number(at + 3) + 1];
                    fields.bytes = Some(ReceivedBytes { ect_1_first: true, fields: 3, counters });
                }
                _ => {}
            }
        }
        fields
    }
}

/// Packets in the order sent, neighbours joined to ranges.
#[derive(Default)]
struct Sent {
    words: Vec<String>,
    /// First and last segment of the current range, and the annotation of each of its packets.
    range: Option<(u64, u64, String)>,
}

impl Sent {
    fn segment(&mut self, number: u64, suffix: String) {
        match &mut self.range {
            Some((_, last, same)) if *last + 1 == number && *same == suffix => *last = number,
            _ => {
                self.close();
                self.range = Some((number, number, suffix));
            }
        }
    }

    fn word(&mut self, word: String) {
        self.close();
        self.words.push(word);
    }

    fn close(&mut self) {
        if let Some((first, last, suffix)) = self.range.take() {
            self.words.push(range_text(first, last) + &suffix);
        }
    }

    fn finish(mut self) -> String {
        self.close();
        self.words.join(", ")
    }
}

fn range_text(first: u64, last: u64) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

fn inclusive(text: &str) -> (u64, u64) {
    let number = |text: &str| text.parse().expect("a segment number");
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    (number(first), number(last))
}

fn sack_blocks<'a>(words: impl Iterator<Item = &'a str>) -> SackBlocks {
    let mut blocks = SackBlocks::default();
    for (i, word) in words.enumerate() {
        assert!(i < MAX_SACK_BLOCKS, "at most {MAX_SACK_BLOCKS} blocks");
        let (first, last) = inclusive(word);
        blocks[i] = (first, last + 1);
    }
    blocks
}
