//! Capture of packets that leave a link, with the fields of a TCP or UDP header on the wire.
//!
//! The engine counts sequence space in segments. Byte offsets follow from the observed segments: all are full except
//! those captured short. TCP here has no FIN; a data segment carries the last acknowledgement observed from its host.

use std::collections::HashMap;

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::Plan;

use crate::packet::{MAX_SACK_BLOCKS, OptionStore, PackedPacket, Packet, ReceivedBytes, flags};
use crate::tcp::{HEADER_BYTES, TIMESTAMP_BYTES};

/// Length of IPv4 and UDP headers, bytes.
const UDP_HEADER_BYTES: u16 = 28;
/// Number of connections per flow with stored sequence numbers; packets of older ones are rare.
const KEPT_CONNECTIONS: usize = 4;

/// Receives packets in the order in which each link sends them.
pub type CaptureSink = Box<dyn FnMut(&CapturedPacket) + Send>;

/// A packet that leaves a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedPacket {
    /// Index of the link in [`Plan::links`].
    pub link: usize,
    /// End of its transmission.
    pub at: Time,
    /// Index of the flow in [`Plan::flows`].
    pub flow: usize,
    /// Number of the connection within its flow, from 0, in the order of observation.
    pub connection: u32,
    /// Whether it travels from the flow's receiver to the flow's sender.
    pub reverse: bool,
    /// Length on the wire with the IP header, bytes.
    pub len: u16,
    /// Payload of TCP or UDP, bytes.
    pub payload_len: u16,
    /// ECN field: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE (RFC 3168, RFC 9331).
    pub ecn: u8,
    /// The TCP header; `None` for UDP.
    pub tcp: Option<CapturedTcp>,
}

/// Fields of a TCP header (RFC 9293), relative to initial sequence numbers of 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedTcp {
    /// Sequence number, modulo 2³².
    pub sequence: u32,
    /// Acknowledgement number, modulo 2³², if the segment acknowledges.
    pub acknowledgement: Option<u32>,
    /// SYN.
    pub syn: bool,
    /// PSH.
    pub psh: bool,
    /// AE, CWR and ECE: bits 2, 1 and 0 (RFC 9768, section 3.2.2.1).
    pub ace: u8,
    /// Maximum segment size, bytes.
    pub mss: u16,
    /// TSval and TSecr, milliseconds (RFC 7323). An acknowledgement has the time at which it is captured as TSval.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks (RFC 2018), most recent first.
    pub sack: Vec<(u32, u32)>,
    /// Counters of the AccECN option: whether ECT(1) stands first, and the fields ECT(0), CE and ECT(1) (RFC 9768,
    /// section 3.2.3).
    pub received_bytes: Option<(bool, [Option<u32>; 3])>,
}

/// Captured links, and the state of the connections observed there.
pub(crate) struct Capture {
    /// Whether a link is captured, by link.
    links: Vec<bool>,
    flows: Vec<FlowHeaders>,
    known: HashMap<u32, Vec<Connection>>,
    sink: CaptureSink,
    /// Number of packets omitted because they were in a tunnel.
    left_out: u64,
}

/// Sizes of a flow's headers.
struct FlowHeaders {
    tcp: bool,
    timestamps: bool,
    /// Length of the headers of a segment with data.
    header: u16,
    mss: u16,
}

/// Observed state of a connection.
struct Connection {
    id: u32,
    number: u32,
    /// Streams by direction of the data: from the flow's sender, from its receiver.
    streams: [Stream; 2],
    /// Last TSval by direction of travel, milliseconds.
    clocks: [u32; 2],
}

/// Data in one direction.
#[derive(Default)]
struct Stream {
    /// Segments with less than a full payload, and the bytes that they lack, in order.
    short: Vec<(u64, u64)>,
    /// Offset after the last observed byte.
    end: u64,
    /// Next segment expected by the receiver, as observed.
    acknowledged: u64,
}

impl Stream {
    /// Returns the offset of a segment's first byte in the stream.
    fn offset(&self, segment: u64, mss: u16) -> u64 {
        let before = self.short.partition_point(|(number, _)| *number < segment);
        let lacking: u64 = self.short[..before].iter().map(|(_, lack)| lack).sum();
        (segment * u64::from(mss)).saturating_sub(lacking)
    }

    fn note(&mut self, segment: u64, len: u16, mss: u16) -> u64 {
        let lack = u64::from(mss.saturating_sub(len));
        if let Err(place) = self.short.binary_search_by_key(&segment, |(number, _)| *number)
            && lack > 0
        {
            self.short.insert(place, (segment, lack));
        }
        let from = self.offset(segment, mss);
        self.end = self.end.max(from + u64::from(len));
        from
    }
}

/// Returns the sequence number of a byte of the stream: the SYN has number 0.
fn sequence(offset: u64) -> u32 {
    (offset + 1) as u32
}

impl Capture {
    /// Creates a capture of these links of a plan.
    pub(crate) fn new(plan: &Plan, links: &[usize], sink: CaptureSink) -> Self {
        let headers = |flow: &tidegate_scenario::plan::FlowPlan| {
            let timestamps = flow.tcp.as_ref().is_some_and(|tcp| tcp.timestamps);
            let header = match flow.tcp {
                None => UDP_HEADER_BYTES,
                Some(_) => HEADER_BYTES + if timestamps { TIMESTAMP_BYTES } else { 0 },
            };
            let mss = (flow.packet_size.get() as u16).saturating_sub(header);
            FlowHeaders { tcp: flow.tcp.is_some(), timestamps, header, mss }
        };
        Capture {
            links: (0..plan.links.len()).map(|link| links.contains(&link)).collect(),
            flows: plan.flows.iter().map(headers).collect(),
            known: HashMap::new(),
            sink,
            left_out: 0,
        }
    }

    /// Returns the number of packets omitted because they were in a tunnel.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Captures a packet that leaves a link at `at`. Reports between stages are not packets of hosts and are omitted.
    pub(crate) fn see(
        &mut self,
        link: u32,
        packed: &PackedPacket,
        at: Time,
        marked: bool,
        options: &OptionStore,
    ) {
        if !self.links[link as usize] || packed.has(flags::REPORT) {
            return;
        }
        if packed.has(flags::TUNNEL) {
            self.left_out += 1;
            return;
        }
        let packet = packed.packet(at);
        let reverse = packet.has(flags::BACK);
        let flow = &self.flows[packet.flow as usize];
        let connection = connection_of(&mut self.known, &packet);
        let payload_len = if packet.has(flags::ACK | flags::SYN) {
            0
        } else {
            packet.len.saturating_sub(flow.header)
        };
        let tcp = flow.tcp.then(|| tcp_header(connection, flow, packed, &packet, options));
        let ecn = match (marked || packet.has(flags::CE), packet.has(flags::ECT)) {
            (true, _) => 3,
            (false, true) => {
                if packet.has(flags::ECT_1) {
                    1
                } else {
                    2
                }
            }
            (false, false) => 0,
        };
        (self.sink)(&CapturedPacket {
            link: link as usize,
            at,
            flow: packet.flow as usize,
            connection: connection.number,
            reverse,
            len: packet.len,
            payload_len,
            ecn,
            tcp,
        });
    }
}

/// Returns the connection of a packet, creating it at its first packet.
fn connection_of<'a>(
    known: &'a mut HashMap<u32, Vec<Connection>>,
    packet: &Packet,
) -> &'a mut Connection {
    let of_flow = known.entry(packet.flow).or_default();
    let place = of_flow.iter().position(|one| one.id == packet.connection).unwrap_or_else(|| {
        let number = of_flow.last().map_or(0, |last| last.number + 1);
        if of_flow.len() == KEPT_CONNECTIONS {
            of_flow.remove(0);
        }
        let (streams, clocks) = Default::default();
        of_flow.push(Connection { id: packet.connection, number, streams, clocks });
        of_flow.len() - 1
    });
    &mut of_flow[place]
}

fn tcp_header(
    connection: &mut Connection,
    flow: &FlowHeaders,
    packed: &PackedPacket,
    packet: &Packet,
    store: &OptionStore,
) -> CapturedTcp {
    let &FlowHeaders { timestamps, mss, header, .. } = flow;
    let (from, other) = if packet.has(flags::BACK) { (1, 0) } else { (0, 1) };
    let is_ack = packet.has(flags::ACK);
    let stamp = |at: Time| (at.as_nanos() / 1_000_000) as u32;
    let mut fields = CapturedTcp {
        syn: packet.has(flags::SYN),
        psh: packet.has(flags::PSH),
        ace: u8::from(packet.has(flags::AE)) << 2
            | u8::from(packet.has(flags::CWR)) << 1
            | u8::from(packet.has(flags::ECE)),
        mss,
        ..CapturedTcp::default()
    };
    let Connection { streams, clocks, .. } = connection;
    if is_ack {
        clocks[from] = stamp(packet.at);
        let data = &mut streams[other];
        data.acknowledged = data.acknowledged.max(packet.number);
        let byte = |segment| sequence(data.offset(segment, mss));
        fields.acknowledgement = Some(if fields.syn { 1 } else { byte(packet.number) });
        if packet.has(flags::OPTIONS) {
            let options = store.peek(packed.payload());
            let blocks =
                options.sack.iter().take(MAX_SACK_BLOCKS).filter(|(start, end)| start < end);
            fields.sack = blocks.map(|&(start, end)| (byte(start), byte(end))).collect();
            fields.received_bytes = options.received_bytes.as_ref().map(|own: &ReceivedBytes| {
                (own.ect_1_first, [0, 1, 2].map(|place| own.get(place)))
            });
        }
        fields.sequence = if fields.syn { 0 } else { sequence(streams[from].end) };
        fields.timestamps = timestamps.then(|| (clocks[from], stamp(packet.stamp)));
        return fields;
    }
    clocks[from] = stamp(packet.stamp);
    fields.timestamps = timestamps.then(|| (clocks[from], clocks[other]));
    if fields.syn {
        return fields;
    }
    let len = packet.len.saturating_sub(header);
    fields.sequence = sequence(streams[from].note(packet.number, len, mss));
    let expects = streams[other].acknowledged;
    fields.acknowledgement = Some(sequence(streams[other].offset(expects, mss)));
    fields
}
