//! What a packet takes on the link: overhead, minimum, cells.

use super::CakeParams;
use crate::units::Bytes;
use crate::words;

words! {
    /// Cells or code words of a link.
    pub enum Framing {
        /// None.
        NoAtm = "noatm",
        /// Cells of 53 B for 48 B of a packet.
        Atm = "atm",
        /// A byte more for each 64 B, or part of 64 B.
        Ptm = "ptm",
    }
}

words! {
    /// Overheads of a kind of link: the keywords of tc-cake(8).
    pub enum LinkLayer {
        /// The packet as it is.
        Raw = "raw",
        /// 48 B, in ATM cells.
        Conservative = "conservative",
        /// ADSL: 8 B, in ATM cells.
        IpoaVcmux = "ipoa-vcmux",
        /// ADSL: 16 B, in ATM cells.
        IpoaLlcsnap = "ipoa-llcsnap",
        /// ADSL: 24 B, in ATM cells.
        BridgedVcmux = "bridged-vcmux",
        /// ADSL: 32 B, in ATM cells.
        BridgedLlcsnap = "bridged-llcsnap",
        /// ADSL: 10 B, in ATM cells.
        PppoaVcmux = "pppoa-vcmux",
        /// ADSL: 14 B, in ATM cells.
        PppoaLlc = "pppoa-llc",
        /// ADSL: 32 B, in ATM cells.
        PppoeVcmux = "pppoe-vcmux",
        /// ADSL: 40 B, in ATM cells.
        PppoeLlcsnap = "pppoe-llcsnap",
        /// VDSL2: 30 B, by PTM.
        PppoePtm = "pppoe-ptm",
        /// VDSL2: 22 B, by PTM.
        BridgedPtm = "bridged-ptm",
        /// Ethernet with preamble and gap: 38 B, at least 84 B.
        Ethernet = "ethernet",
        /// The same with a VLAN tag: 42 B, at least 84 B.
        EtherVlan = "ether-vlan",
        /// Cable modems: 18 B, at least 64 B.
        Docsis = "docsis",
    }
}

impl LinkLayer {
    /// Returns overhead and minimum in bytes, and the framing.
    const fn parts(self) -> (u64, u64, Framing) {
        match self {
            LinkLayer::Raw => (0, 0, Framing::NoAtm),
            LinkLayer::Conservative => (48, 0, Framing::Atm),
            LinkLayer::IpoaVcmux => (8, 0, Framing::Atm),
            LinkLayer::IpoaLlcsnap => (16, 0, Framing::Atm),
            LinkLayer::BridgedVcmux => (24, 0, Framing::Atm),
            LinkLayer::BridgedLlcsnap | LinkLayer::PppoeVcmux => (32, 0, Framing::Atm),
            LinkLayer::PppoaVcmux => (10, 0, Framing::Atm),
            LinkLayer::PppoaLlc => (14, 0, Framing::Atm),
            LinkLayer::PppoeLlcsnap => (40, 0, Framing::Atm),
            LinkLayer::PppoePtm => (30, 0, Framing::Ptm),
            LinkLayer::BridgedPtm => (22, 0, Framing::Ptm),
            LinkLayer::Ethernet => (38, 84, Framing::NoAtm),
            LinkLayer::EtherVlan => (42, 84, Framing::NoAtm),
            LinkLayer::Docsis => (18, 64, Framing::NoAtm),
        }
    }
}

/// Sizes as the shaper counts them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accounting {
    overhead: u64,
    least: u64,
    framing: Framing,
}

impl Accounting {
    pub(super) fn new(params: &CakeParams) -> Self {
        let (overhead, least, framing) = params.link_layer.parts();
        Accounting {
            overhead: params.overhead.map_or(overhead, Bytes::get),
            least: params.mpu.map_or(least, Bytes::get),
            framing: params.framing.unwrap_or(framing),
        }
    }

    /// Whether it counts the size on the wire.
    pub(super) fn is_plain(&self) -> bool {
        (self.overhead, self.least, self.framing) == (0, 0, Framing::NoAtm)
    }

    /// Returns what a packet takes: `cake_calc_overhead`.
    #[inline]
    pub(super) fn len(&self, bytes: u64) -> u64 {
        let len = (bytes + self.overhead).max(self.least);
        match self.framing {
            Framing::NoAtm => len,
            Framing::Atm => len.div_ceil(48) * 53,
            Framing::Ptm => len + len.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn len(link_layer: LinkLayer, bytes: u64) -> u64 {
        let (overhead, least, framing) = link_layer.parts();
        Accounting { overhead, least, framing }.len(bytes)
    }

    /// By hand, as `cake_calc_overhead`: 1540 B are 33 cells, 96 B two.
    #[test]
    fn a_packet_takes_overhead_cells_and_code_words() {
        assert_eq!(len(LinkLayer::Raw, 1500), 1500);
        assert_eq!(len(LinkLayer::PppoeLlcsnap, 1500), 33 * 53);
        assert_eq!(len(LinkLayer::PppoeLlcsnap, 56), 2 * 53);
        assert_eq!(len(LinkLayer::PppoeLlcsnap, 57), 3 * 53);
        assert_eq!(len(LinkLayer::PppoePtm, 1500), 1530 + 24);
        assert_eq!(len(LinkLayer::Ethernet, 40), 84);
        assert_eq!(len(LinkLayer::Ethernet, 1500), 1538);
        assert_eq!(len(LinkLayer::Docsis, 40), 64);
        assert_eq!(len(LinkLayer::Conservative, 48), 2 * 53);
    }
}
