//! Links and what decides about packets in front of them.

use tidegate_mechanisms::bottleneck::Credit;
use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::units::{Bytes, Rate, Span};

use crate::chosen::Chosen;
use crate::declare::{choice, kinds, section};
use crate::field::Reader;
use crate::file::aqm::{Aqm, DropTail};
use crate::file::scheduler::{Scheduler, has_one_mechanism};
use crate::quantity::QueueLength;
use crate::value::{Factor, Integer, Memory, OneOrEach, Probability, RateChanges, Share};

section! {
    /// The link that all users of a dumbbell share. The way back has the same rate and delay and
    /// a buffer that ACKs do not fill.
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
        default aqm: Aqm = Aqm::DropTail(DropTail {});
        /// Mark ECN-capable packets where the AQM would drop others.
        default ecn: bool = false;
        /// With ecn: mark every packet, also one that is not ECN-capable (requests,
        /// retransmissions). Against RFC 3168; simple models of queues do it.
        default ecn_marks_all: bool = false;
        /// Whom the signals of the AQM fall on.
        default differentiation: Differentiation = Differentiation::NoDifferentiation(NoDifferentiation {});
        /// Which packet leaves next. Every kind but "fifo" brings its own signal and sharing, so
        /// that aqm and differentiation stay as they are.
        default scheduler: Scheduler = Chosen(SchedulerParams::Fifo);
        /// Other rates from some time on, such as [{ at = "20 s", rate = "3 Mb/s" }]. Nobody tells
        /// the mechanism.
        default rate_changes: RateChanges = RateChanges::default();
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
        default aqm: Aqm = Aqm::DropTail(DropTail {});
        /// Mark ECN-capable packets where the AQM would drop others.
        default ecn: bool = false;
        /// With ecn: mark every packet, also one that is not ECN-capable (requests,
        /// retransmissions). Against RFC 3168; simple models of queues do it.
        default ecn_marks_all: bool = false;
        /// Whom the signals of the AQM fall on.
        default differentiation: Differentiation = Differentiation::NoDifferentiation(NoDifferentiation {});
        /// Which packet leaves next. Every kind but "fifo" brings its own signal and sharing, so
        /// that aqm and differentiation stay as they are.
        default scheduler: Scheduler = Chosen(SchedulerParams::Fifo);
        /// Other rates from some time on, such as [{ at = "20 s", rate = "3 Mb/s" }]. Nobody tells
        /// the mechanism.
        default rate_changes: RateChanges = RateChanges::default();
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
        default aqm: Aqm = Aqm::DropTail(DropTail {});
        /// Mark ECN-capable packets where the AQM would drop others.
        default ecn: bool = false;
        /// With ecn: mark every packet, also one that is not ECN-capable (requests,
        /// retransmissions). Against RFC 3168; simple models of queues do it.
        default ecn_marks_all: bool = false;
        /// Whom the signals of the AQM fall on.
        default differentiation: Differentiation = Differentiation::NoDifferentiation(NoDifferentiation {});
        /// Which packet leaves next. Every kind but "fifo" brings its own signal and sharing, so
        /// that aqm and differentiation stay as they are.
        default scheduler: Scheduler = Chosen(SchedulerParams::Fifo);
        /// Other rates from some time on, such as [{ at = "20 s", rate = "3 Mb/s" }]. Nobody tells
        /// the mechanism.
        default rate_changes: RateChanges = RateChanges::default();
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

kinds! {
    /// Whom the signals of the AQM fall on.
    pub enum Differentiation {
        NoDifferentiation = "none",
        Abc = "abc",
        Icp = "icp",
        Afcp = "afcp",
        AicpA = "aicp-a",
        AicpB = "aicp-b",
    }
}

section! {
    /// On all packets alike.
    pub struct NoDifferentiation {}
}

section! {
    /// Activity-based congestion management: more likely on packets of users whose activity is
    /// above the average.
    pub struct Abc {
        /// Differentiation factor γ: how strongly activity matters; 0 is not at all.
        default gamma: Factor = Factor(3.0);
        /// Weight w_A of the past in the moving average of activity.
        default activity_weight: Memory = Memory(0.99);
    }
}

section! {
    /// Independent congestion policing: customers whose packets were dropped or marked too often
    /// are dropped in front of the queue.
    pub struct Icp {
        /// Sustained rate of drops and marks that each customer is entitled to.
        default fill_rate: Rate = Rate::from_bps(8 * 550);
        /// Drops and marks that a customer can save up.
        default depth: Bytes = Bytes::new(350_000);
        /// How the probability of a drop depends on the fill.
        default curve: Curve = Curve::Step;
        /// Share of the full bucket below which slope and squared begin to drop.
        default start: Share = Share(0.5);
    }
    check icp_depth_fits;
}

choice! {
    /// How the probability of a drop depends on the fill of a customer's bucket.
    pub enum Curve {
        /// 1 for packets that are larger than what is left, else 0.
        Step = "step",
        /// Linear in what is missing.
        Slope = "slope",
        /// The square of it.
        Squared = "squared",
    }
}

section! {
    /// AQM-fed congestion policing: each packet costs its size times the AQM's probability, and
    /// who cannot pay is dropped in front of the queue.
    pub struct Afcp {
        /// Sustained rate of congestion that each customer is entitled to.
        default fill_rate: Rate = Rate::from_bps(8 * 300);
        /// What a customer can save up.
        default depth: Bytes = Bytes::new(225_000);
        /// Which packets cost.
        default variant: AfcpVariant = AfcpVariant::A;
    }
    check afcp_depth_fits;
}

choice! {
    /// Which of the packets that the policer lets through cost tokens.
    pub enum AfcpVariant {
        /// All.
        A = "a",
        /// Those that the AQM then neither drops nor marks.
        B = "b",
    }
}

section! {
    /// AQM-integrated congestion policing: RED with thresholds that grow up to double with what
    /// is left in a customer's bucket.
    pub struct AicpA {
        /// Sustained rate of congestion that each customer is entitled to.
        default fill_rate: Rate = Rate::from_bps(8 * 300);
        /// What a customer can save up.
        default depth: Bytes = Bytes::new(225_000);
        /// What a forwarded packet costs.
        default charge: Charge = Charge::Own;
    }
    check aicp_a_depth_fits;
}

choice! {
    /// What a forwarded packet costs, beside its size.
    pub enum Charge {
        /// The probability that this very packet had.
        Own = "own",
        /// The AQM's probability, as it would be without a policer.
        Aqm = "aqm",
    }
}

section! {
    /// AQM-integrated congestion policing: the AQM's probability squared, and a further one for
    /// customers whose bucket is almost empty.
    pub struct AicpB {
        /// Sustained rate of congestion that each customer is entitled to.
        default fill_rate: Rate = Rate::from_bps(8 * 300);
        /// What a customer can save up.
        default depth: Bytes = Bytes::new(225_000);
        /// Share of the full bucket below which a customer's own probability begins.
        default start: Share = Share(0.25);
        /// That probability at an empty bucket.
        default max_probability: Share = Share(0.5);
        /// What a forwarded packet costs.
        default charge: Charge = Charge::Aqm;
    }
    check aicp_b_depth_fits;
}

fn icp_depth_fits(icp: &Icp, reader: &mut Reader) {
    depth_fits(icp.depth, reader);
}

fn afcp_depth_fits(afcp: &Afcp, reader: &mut Reader) {
    depth_fits(afcp.depth, reader);
}

fn aicp_a_depth_fits(aicp: &AicpA, reader: &mut Reader) {
    depth_fits(aicp.depth, reader);
}

fn aicp_b_depth_fits(aicp: &AicpB, reader: &mut Reader) {
    depth_fits(aicp.depth, reader);
}

/// A bucket holds a packet, and its fill can be counted in billionths of a bit.
fn depth_fits(depth: Bytes, reader: &mut Reader) {
    let (least, most) = (*PACKET_SIZES.end(), Credit::MAX_BYTES);
    if !(least..=most).contains(&depth.get()) {
        let message =
            format!("{} B is not from {least} B, the largest packet, to 2 GB", depth.get());
        reader.wrong_at("depth", message);
    }
}

/// Smallest and largest packet, in bytes: room for TCP's headers, and the limit of IP.
pub(crate) const PACKET_SIZES: std::ops::RangeInclusive<u64> = 64..=65_535;

/// Refuses packets that no network carries.
pub(crate) fn packet_size_mistake(size: Bytes) -> Option<String> {
    let (min, max) = (PACKET_SIZES.start(), PACKET_SIZES.end());
    let message = format!("{} B is not from {min} B to {max} B", size.get());
    (!PACKET_SIZES.contains(&size.get())).then_some(message)
}
