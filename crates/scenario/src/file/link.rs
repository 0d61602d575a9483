//! Sections of links: a bottleneck, a parking lot, links of a free topology.

use tidegate_mechanisms::parameters::ParameterValue;
use tidegate_mechanisms::price::EncodingParams;
use tidegate_mechanisms::units::{BufferSize, Bytes, LARGEST_PACKET, QueueLength, Rate, Span};

use crate::choice::ChoiceField;
use crate::declare::{Flatten, section};
use crate::field::Reader;
use crate::file::File;
use crate::kernel_qdisc::KernelQdisc;
use crate::plan::{AccessPlan, Line, LinkMechanisms, RateChange, ReverseLine, length};
use crate::table::Tabled;
use crate::typed_overlay::{OverlayOptions, TypedOverlay};
use crate::value::{Integer, OneOrEach};

impl Tabled for Line {}

impl Tabled for ReverseLine {}

impl Tabled for LinkMechanisms {}

impl Tabled for RateChange {}

section! {
    /// The link that all users of a dumbbell share, from left to right. The reverse link has the same rate and
    /// delay and a buffer that ACKs do not fill, or is an equal link.
    pub struct Bottleneck {
        pub line: Flatten<Line>,
        pub mechanisms: Flatten<LinkMechanisms>,
        pub reverse: Flatten<ReverseLine>,
        /// An equal link leads back, which can carry data.
        pub duplex: bool = "false",
        /// Only in `tidegate lab`: the kernel's qdisc in place of buffer, AQM, differentiation and scheduler, such as
        /// "fq_codel" or { kind = "cake", dual-srchost = true }; its other keys are options of `tc`.
        pub kernel_qdisc: Option<KernelQdisc>,
    }
}

section! {
    /// Routers r0, r1, ... in a row. Lists have one value for each hop.
    pub struct ParkingLot {
        /// Number of links in the row; there is one router more.
        pub hops: Integer<1, 1000>,
        /// Bits on the wire per second.
        pub rate: OneOrEach<Rate>,
        /// Propagation delay of a hop.
        pub delay: OneOrEach<Span> = "5 ms",
        /// Room for waiting packets, the one in transmission included; times, products and defaults are those of
        /// bottleneck.buffer.
        pub buffer: Option<OneOrEach<BufferSize>>,
        /// Mechanisms of each hop.
        pub mechanisms: Flatten<LinkMechanisms>,
        /// Equal links lead back, which can carry data.
        pub duplex: bool = "false",
    }
    check lists_match_hops;
}

impl ParkingLot {
    /// Whether its lists have a value for each hop.
    pub fn has_all(&self) -> bool {
        let buffers = self.buffer.as_ref().and_then(OneOrEach::len);
        let lens = [self.rate.len(), self.delay.len(), buffers];
        lens.iter().flatten().all(|len| *len == self.hops.count())
    }

    /// Returns the room for waiting packets at a hop; see [`Line::buffer`].
    pub fn buffer_at(&self, hop: usize) -> QueueLength {
        length(self.buffer.as_ref().map(|own| own.at(hop)))
    }
}

fn lists_match_hops(lot: &ParkingLot, reader: &mut Reader) {
    let hops = lot.hops.count();
    let buffers = lot.buffer.as_ref().and_then(OneOrEach::len);
    let lists = [("rate", lot.rate.len()), ("delay", lot.delay.len()), ("buffer", buffers)];
    for (key, len) in lists {
        if let Some(len) = len.filter(|len| *len != hops) {
            reader.error_at(key, format!("{len} values for {hops} hops"));
        }
    }
}

section! {
    /// A link of a free topology.
    pub struct Link {
        /// Node at its beginning.
        pub from: String,
        /// Node at its end.
        pub to: String,
        pub line: Flatten<Line>,
        pub mechanisms: Flatten<LinkMechanisms>,
        /// Record statistics and series of its queue.
        pub bottleneck: bool = "true",
        pub reverse: Flatten<ReverseLine>,
        /// An equal link leads back.
        pub duplex: bool = "true",
    }
    check joins_two_nodes;
}

fn joins_two_nodes(link: &Link, reader: &mut Reader) {
    for (key, node) in [("from", &link.from), ("to", &link.to)] {
        if !crate::document::is_name(node) {
            reader.error_at(key, "a node has 1 to 64 letters, digits, \"-\" and \"_\"");
        }
    }
    let reverse = &link.reverse;
    for (key, is_set) in [
        ("reverse_rate", reverse.reverse_rate.is_some()),
        ("reverse_delay", reverse.reverse_delay.is_some()),
    ] {
        if is_set && !link.duplex {
            reader.error_at(key, "no link leads back: write duplex = true");
        }
    }
    if link.from == link.to {
        reader.error_at("to", format!("the link leads from {} to itself", link.from));
    }
}

impl File {
    /// Returns the mechanisms of its links, with their paths below the section.
    pub fn link_mechanisms(&self) -> impl Iterator<Item = (Vec<&str>, &LinkMechanisms)> {
        let bottleneck = self.bottleneck.iter().map(|own| (vec!["bottleneck"], &*own.mechanisms));
        let lot = self.parking_lot.iter().map(|own| (vec!["parking_lot"], &*own.mechanisms));
        let mobile = self.mobile.iter().map(|own| (vec!["mobile"], &*own.mechanisms));
        let named = self.links.iter().flat_map(|links| &links.entries);
        let named = named.map(|(name, own)| (vec!["links", name.as_str()], &*own.mechanisms));
        bottleneck.chain(lot).chain(mobile).chain(named)
    }
}

/// Overlay of a user's own link.
pub(crate) type Access = TypedOverlay<AccessPlan>;

impl OverlayOptions for AccessPlan {
    const NAME: &'static str = "Access";
}

impl Access {
    /// Returns its buffer, if given.
    pub fn buffer(&self) -> Option<QueueLength> {
        match self.value("buffer") {
            Some(ParameterValue::QueueLength(buffer)) => Some(*buffer),
            _ => None,
        }
    }
}

/// Encoding of prices, with its parameters.
pub(crate) type PriceEncoding = ChoiceField<EncodingParams>;

/// Smallest and largest packet, in bytes: at least TCP's headers, and at most an IP packet.
pub(crate) const PACKET_SIZES: std::ops::RangeInclusive<u64> = 64..=LARGEST_PACKET.get();

/// Returns an error for packet sizes that no network carries.
pub(crate) fn packet_size_error(size: Bytes) -> Option<String> {
    let (min, max) = (PACKET_SIZES.start(), PACKET_SIZES.end());
    let message = format!("{} B is not from {min} B to {max} B", size.get());
    (!PACKET_SIZES.contains(&size.get())).then_some(message)
}
