//! Statistics of a sender's declarations, by kind (RFC 7713, section 3.3).

use crate::packet::flags;

/// Declarations by kind. A packet with two declarations counts for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeclarationTotals {
    /// Losses.
    pub loss: Amount,
    /// Marks.
    pub mark: Amount,
    /// Credit.
    pub credit: Amount,
}

/// Number and payload of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Number of packets.
    pub packets: u64,
    /// Payload, bytes.
    pub bytes: u64,
}

impl DeclarationTotals {
    /// Counts a packet with these declaration flags and this payload.
    pub fn note(&mut self, declared: u32, bytes: u64) {
        let kinds = [
            (flags::LOSS, &mut self.loss),
            (flags::MARK, &mut self.mark),
            (flags::CREDIT, &mut self.credit),
        ];
        for (flag, amount) in kinds {
            if declared & flag != 0 {
                amount.packets += 1;
                amount.bytes += bytes;
            }
        }
    }

    /// Adds the declarations of another connection.
    pub fn add(&mut self, more: &DeclarationTotals) {
        let kinds = [&mut self.loss, &mut self.mark, &mut self.credit];
        for (sum, own) in kinds.into_iter().zip([more.loss, more.mark, more.credit]) {
            sum.packets += own.packets;
            sum.bytes += own.bytes;
        }
    }
}
