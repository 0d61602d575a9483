//! Links and what decides about packets in front of them.

use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::bottleneck::{AqmParams, DifferentiationParams};
use tidegate_mechanisms::price::EncodingParams;
use tidegate_mechanisms::units::{Bytes, LARGEST_PACKET, QueueLength, Rate, Span};

use crate::chosen::Chosen;
use crate::declare::section;
use crate::field::Reader;
use crate::file::Stages;
use crate::file::scheduler::{Scheduler, has_one_mechanism};
use crate::value::{Integer, OneOrEach, Probability, RateChanges};

section! {
    /// The link that all users of a dumbbell share, from left to right. The way back has the same rate and
    /// delay and a buffer that ACKs do not fill, or is an equal link.
    pub struct Bottleneck {
        /// Bits on the wire per second.
        required rate: Rate;
        /// Propagation delay, one way.
        default delay: Span = Span::from_millis(5);
        /// Room for waiting packets, the one in transmission included.
        default buffer: QueueLength = QueueLength::Packets(100);
        /// Probability that a packet is lost on the wire.
        default loss: Probability = Probability(0.0);
        /// How congestion is signalled.
        default aqm: Aqm = Chosen(AqmParams::DropTail);
        /// Mark ECN-capable packets where the AQM would drop others.
        default ecn: bool = false;
        /// With ecn: mark every packet, also one that is not ECN-capable (requests,
        /// retransmissions). Against RFC 3168; simple models of queues do it.
        default ecn_marks_all: bool = false;
        /// Whom the signals of the AQM fall on.
        default differentiation: Differentiation = Chosen(DifferentiationParams::None);
        /// Which packet leaves next. Every kind but "fifo" brings its own signal and sharing, so
        /// that aqm and differentiation stay as they are.
        default scheduler: Scheduler = Chosen(SchedulerParams::Fifo);
        /// Other rates from some time on, such as [{ at = "20 s", rate = "3 Mb/s" }]. Nobody tells
        /// the mechanism.
        default rate_changes: RateChanges = RateChanges::default();
        /// Stages at its beginning, in front of its queue, in this order; all that take the link pass them.
        default entry: Stages = Stages::default();
        /// Stages at its end.
        default exit: Stages = Stages::default();
        /// An equal link leads back, which can carry data.
        default duplex: bool = false;
    }
    check bottleneck_has_one_mechanism;
}

fn bottleneck_has_one_mechanism(link: &Bottleneck, reader: &mut Reader) {
    has_one_mechanism(&link.scheduler, &link.aqm, &link.differentiation, reader);
}

section! {
    /// Routers r0, r1, ... in a row. Lists have one value for each hop.
    pub struct ParkingLot {
        /// Number of links in the row; there is one router more.
        required hops: Integer<1, 1000>;
        /// Bits on the wire per second.
        required rate: OneOrEach<Rate>;
        /// Propagation delay of a hop.
        default delay: OneOrEach<Span> = OneOrEach::One(Span::from_millis(5));
        /// Room for waiting packets, the one in transmission included.
        default buffer: OneOrEach<QueueLength> = OneOrEach::One(QueueLength::Packets(100));
        /// Probability that a packet is lost on the wire of a hop.
        default loss: Probability = Probability(0.0);
        /// How congestion is signalled, at each hop.
        default aqm: Aqm = Chosen(AqmParams::DropTail);
        /// Mark ECN-capable packets where the AQM would drop others.
        default ecn: bool = false;
        /// With ecn: mark every packet, also one that is not ECN-capable (requests,
        /// retransmissions). Against RFC 3168; simple models of queues do it.
        default ecn_marks_all: bool = false;
        /// Whom the signals of the AQM fall on.
        default differentiation: Differentiation = Chosen(DifferentiationParams::None);
        /// Which packet leaves next. Every kind but "fifo" brings its own signal and sharing, so
        /// that aqm and differentiation stay as they are.
        default scheduler: Scheduler = Chosen(SchedulerParams::Fifo);
        /// Other rates from some time on, such as [{ at = "20 s", rate = "3 Mb/s" }]. Nobody tells
        /// the mechanism.
        default rate_changes: RateChanges = RateChanges::default();
        /// Stages at its beginning, in front of its queue, in this order; all that take the link pass them.
        default entry: Stages = Stages::default();
        /// Stages at its end.
        default exit: Stages = Stages::default();
        /// Equal links lead back, which can carry data.
        default duplex: bool = false;
    }
    check lists_match_hops;
}

fn lists_match_hops(lot: &ParkingLot, reader: &mut Reader) {
    has_one_mechanism(&lot.scheduler, &lot.aqm, &lot.differentiation, reader);
    let hops = lot.hops.count();
    let lists =
        [("rate", lot.rate.len()), ("delay", lot.delay.len()), ("buffer", lot.buffer.len())];
    for (key, len) in lists {
        if let Some(len) = len.filter(|len| *len != hops) {
            reader.wrong_at(key, format!("{len} values for {hops} hops"));
        }
    }
}

section! {
    /// A link of a free topology.
    pub struct Link {
        /// Node at its beginning.
        required from: String;
        /// Node at its end.
        required to: String;
        /// Bits on the wire per second.
        required rate: Rate;
        /// Propagation delay, one way.
        default delay: Span = Span::from_millis(5);
        /// Room for waiting packets, the one in transmission included.
        default buffer: QueueLength = QueueLength::Packets(100);
        /// Probability that a packet is lost on the wire.
        default loss: Probability = Probability(0.0);
        /// How congestion is signalled.
        default aqm: Aqm = Chosen(AqmParams::DropTail);
        /// Mark ECN-capable packets where the AQM would drop others.
        default ecn: bool = false;
        /// With ecn: mark every packet, also one that is not ECN-capable (requests,
        /// retransmissions). Against RFC 3168; simple models of queues do it.
        default ecn_marks_all: bool = false;
        /// Whom the signals of the AQM fall on.
        default differentiation: Differentiation = Chosen(DifferentiationParams::None);
        /// Which packet leaves next. Every kind but "fifo" brings its own signal and sharing, so
        /// that aqm and differentiation stay as they are.
        default scheduler: Scheduler = Chosen(SchedulerParams::Fifo);
        /// Other rates from some time on, such as [{ at = "20 s", rate = "3 Mb/s" }]. Nobody tells
        /// the mechanism.
        default rate_changes: RateChanges = RateChanges::default();
        /// Stages at its beginning, in front of its queue, in this order; all that take the link pass them.
        default entry: Stages = Stages::default();
        /// Stages at its end.
        default exit: Stages = Stages::default();
        /// Keep statistics and series of its queue.
        default bottleneck: bool = true;
        /// An equal link leads back.
        default duplex: bool = true;
    }
    check joins_two_nodes;
}

fn joins_two_nodes(link: &Link, reader: &mut Reader) {
    has_one_mechanism(&link.scheduler, &link.aqm, &link.differentiation, reader);
    for (key, node) in [("from", &link.from), ("to", &link.to)] {
        if !crate::value::is_name(node) {
            reader.wrong_at(key, "a node has 1 to 64 letters, digits, \"-\" and \"_\"");
        }
    }
    if link.from == link.to {
        reader.wrong_at("to", format!("the link leads from {} to itself", link.from));
    }
}

section! {
    /// A user's own link, both ways.
    pub struct Access {
        /// Bits on the wire per second. Default "1 Gb/s".
        optional rate: Rate;
        /// Propagation delay, one way. Default "100 us".
        optional delay: Span;
        /// Room for waiting packets, the one in transmission included. Default "1000 packets".
        optional buffer: QueueLength;
    }
}

impl Access {
    /// These options, and where they are open, those of `base`.
    pub fn over(&self, base: &Access) -> Access {
        let Access { rate, delay, buffer } = self.clone();
        Access {
            rate: rate.or(base.rate),
            delay: delay.or(base.delay),
            buffer: buffer.or(base.buffer),
        }
    }
    pub fn defaults() -> Access {
        Access {
            rate: Some(Rate::mbps(1_000)),
            delay: Some(Span::from_micros(100)),
            buffer: Some(QueueLength::Packets(1_000)),
        }
    }
}

/// How a queue signals congestion, with its parameters.
pub(crate) type Aqm = Chosen<AqmParams>;

/// How prices travel, with its parameters.
pub(crate) type PriceEncoding = Chosen<EncodingParams>;

/// Whom the signals of the AQM fall on, with its parameters.
pub(crate) type Differentiation = Chosen<DifferentiationParams>;

/// Smallest and largest packet, in bytes: room for TCP's headers, and the limit of IP.
pub(crate) const PACKET_SIZES: std::ops::RangeInclusive<u64> = 64..=LARGEST_PACKET.get();

/// Refuses packets that no network carries.
pub(crate) fn packet_size_mistake(size: Bytes) -> Option<String> {
    let (min, max) = (PACKET_SIZES.start(), PACKET_SIZES.end());
    let message = format!("{} B is not from {min} B to {max} B", size.get());
    (!PACKET_SIZES.contains(&size.get())).then_some(message)
}
