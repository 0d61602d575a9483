//! What a sender has declared, by kind (RFC 7713, section 3.3: what a transport keeps statistics of).

use crate::packet::flags;

/// Packets that declared something, and their payload. One that declares two things counts for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeclarationTotals {
    /// Losses.
    pub loss: Amount,
    /// Marks.
    pub mark: Amount,
    /// Credit.
    pub credit: Amount,
}

/// Some packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many.
    pub packets: u64,
    /// Their payload.
    pub bytes: u64,
}

impl DeclarationTotals {
    /// A packet leaves that declares this, as flags, and carries so much payload.
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

    /// Adds what another connection has declared.
    pub fn add(&mut self, more: &DeclarationTotals) {
        let kinds = [&mut self.loss, &mut self.mark, &mut self.credit];
        for (sum, own) in kinds.into_iter().zip([more.loss, more.mark, more.credit]) {
            sum.packets += own.packets;
            sum.bytes += own.bytes;
        }
    }
}
