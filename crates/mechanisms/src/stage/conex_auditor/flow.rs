//! State of an audited flow: its balance, and its sequence.

use core::ops::{Add, Sub};

use super::LossSign;
use crate::stage::slots::{FlowKey, Remembered};
use crate::stage::{Declared, Passing, Sequence};
use crate::units::{Span, Time};

/// Declarations and congestion, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Credit declared, C.
    pub credit: i64,
    /// Marks declared, E.
    pub mark: i64,
    /// Losses declared, L.
    pub loss: i64,
    /// Congestion experienced.
    pub met: CongestionBytes,
}

/// Congestion experienced by packets, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CongestionBytes {
    /// Marked, M.
    pub marked: i64,
    /// Lost, R, as far as visible.
    pub lost: i64,
    /// Reordered: missing until they arrived, and no longer in `lost`.
    pub overtaken: i64,
    /// Dropped here for undeclared losses, D.
    pub dropped: i64,
}

impl Balance {
    /// Returns names and values of the counts, none of which ever decreases: missing bytes stay counted if they arrive
    /// late, and are counted again as reordered.
    pub fn counts(&self) -> [(&'static str, u64); 6] {
        let Balance { credit, mark, loss, met: CongestionBytes { marked, lost, overtaken, .. } } =
            *self;
        let named = [
            ("declared_credit_bytes", credit),
            ("declared_mark_bytes", mark),
            ("declared_loss_bytes", loss),
            ("met_mark_bytes", marked),
            ("met_loss_bytes", lost + overtaken),
            ("overtaken_bytes", overtaken),
        ];
        named.map(|(name, bytes)| (name, bytes.try_into().expect("sums of lengths")))
    }

    /// Returns names and values of the declarations in excess of congestion: including credit, of marks, of losses.
    pub fn levels(&self) -> [(&'static str, f64); 3] {
        let Balance { credit, mark, loss, met: CongestionBytes { marked, lost, .. } } = *self;
        let all = credit + mark + loss - marked - lost;
        let named = [
            ("balance_bytes", all),
            ("mark_balance_bytes", mark - marked),
            ("loss_balance_bytes", loss - lost),
        ];
        named.map(|(name, bytes)| (name, bytes as f64))
    }
}

impl Add for Balance {
    type Output = Balance;
    fn add(self, rhs: Balance) -> Balance {
        Balance {
            credit: self.credit + rhs.credit,
            mark: self.mark + rhs.mark,
            loss: self.loss + rhs.loss,
            met: CongestionBytes {
                marked: self.met.marked + rhs.met.marked,
                lost: self.met.lost + rhs.met.lost,
                overtaken: self.met.overtaken + rhs.met.overtaken,
                dropped: self.met.dropped + rhs.met.dropped,
            },
        }
    }
}

impl Sub for Balance {
    type Output = Balance;
    fn sub(self, rhs: Balance) -> Balance {
        Balance {
            credit: self.credit - rhs.credit,
            mark: self.mark - rhs.mark,
            loss: self.loss - rhs.loss,
            met: CongestionBytes {
                marked: self.met.marked - rhs.met.marked,
                lost: self.met.lost - rhs.met.lost,
                overtaken: self.met.overtaken - rhs.met.overtaken,
                dropped: self.met.dropped - rhs.met.dropped,
            },
        }
    }
}

/// Flow with a declaration.
#[derive(Clone, Copy, Debug)]
pub struct AuditedFlow {
    /// Key of the flow.
    pub key: FlowKey,
    /// Arrival time of its last packet.
    pub seen: Time,
    /// Declarations and congestion.
    pub balance: Balance,
    /// Bytes that arrived.
    seen_bytes: i64,
    /// Next expected number.
    next: u32,
    /// Bit set of numbers before that, of which the lowest bit is the last: those that are missing or, near the sender,
    /// whose packet declared a loss.
    noted: u128,
    /// Send time of the packet before `next`.
    newest: Time,
    /// Start of the present allowance.
    began: Time,
    /// Congestion at that time.
    then: CongestionBytes,
    /// Congestion one allowance earlier, which has to be declared by now.
    due: CongestionBytes,
}

impl Remembered for AuditedFlow {
    fn key(&self) -> FlowKey {
        self.key
    }

    fn seen(&self) -> u64 {
        self.seen.as_nanos()
    }
}

/// Share of the bytes that may be dropped here without having to be declared, for honest senders.
const SPARED: f64 = 0.001;

impl AuditedFlow {
    /// Drop reason for undeclared losses.
    pub const LOSSES: &str = "losses not declared";

    /// Returns the state before this packet, its first.
    pub fn before(packet: &Passing) -> Self {
        AuditedFlow {
            key: FlowKey::of(packet),
            seen: packet.now,
            balance: Balance::default(),
            seen_bytes: 0,
            next: packet.sequence.map_or(0, |sequence| sequence.number as u32),
            noted: 0,
            newest: Time::ZERO,
            began: packet.now,
            then: CongestionBytes::default(),
            due: CongestionBytes::default(),
        }
    }

    /// Handles a packet of the flow.
    pub fn see(&mut self, packet: &Passing, allowance: Span, losses: LossSign) {
        self.seen = packet.now;
        if packet.now.since(self.began) >= allowance {
            (self.due, self.then) = (self.then, self.balance.met);
            self.began = packet.now;
        }
        let len = packet.len.get() as i64;
        self.seen_bytes += len;
        let when = |holds: bool| if holds { len } else { 0 };
        let Declared { loss, mark, credit, .. } = packet.declared;
        self.balance.loss += when(loss);
        self.balance.mark += when(mark);
        self.balance.credit += when(credit);
        let newly_lost = match (losses, packet.sequence) {
            (LossSign::Gap, Some(sequence)) => self.newly_missing(sequence),
            (LossSign::Repeat, Some(sequence)) => self.newly_repeated(sequence, loss),
            (LossSign::Tunnel, _) => packet.is_lost_with_its_tunnel().into(),
            (LossSign::Gap | LossSign::Repeat, None) | (LossSign::Queue, _) => 0,
        };
        let is_lost = losses == LossSign::Tunnel && newly_lost > 0;
        self.balance.met.marked += when(packet.is_marked() && !is_lost);
        self.balance.met.lost += len * newly_lost;
        self.balance.met.overtaken -= len * newly_lost.min(0);
    }

    /// Handles a packet of the flow that was dropped by the queue.
    pub fn lose(&mut self, packet: &Passing) {
        self.balance.met.lost += packet.len.get() as i64;
    }

    /// Handles a packet of the flow that is dropped here for undeclared losses.
    pub fn punish(&mut self, packet: &Passing) {
        self.balance.met.dropped += packet.len.get() as i64;
    }

    /// Returns the number of packets newly missing with this one; negative for a reordered one, which is not lost.
    fn newly_missing(&mut self, sequence: Sequence) -> i64 {
        let Sequence { number, sent, .. } = sequence;
        let ahead = (number as u32).wrapping_sub(self.next) as i32;
        if let Ok(ahead) = u32::try_from(ahead) {
            self.next = (number as u32).wrapping_add(1);
            self.newest = sent;
            self.noted = self.moved(ahead) | ((1 << ahead.min(u128::BITS - 1)) - 1) << 1;
            return ahead.into();
        }
        // Numbers older than the window stay lost; numbers not missing are duplicates.
        let place = place_before(ahead);
        let fills = self.noted & place != 0;
        self.noted &= !place;
        -i64::from(fills && sent <= self.newest)
    }

    /// Returns the number of losses that a packet shows near the sender: none if its number is new, else one, and
    /// another if the lost packet declared a loss: its declaration is lost as well.
    fn newly_repeated(&mut self, Sequence { number, .. }: Sequence, declares: bool) -> i64 {
        let ahead = (number as u32).wrapping_sub(self.next) as i32;
        if let Ok(ahead) = u32::try_from(ahead) {
            self.next = (number as u32).wrapping_add(1);
            self.noted = self.moved(ahead) | u128::from(declares);
            return 0;
        }
        let place = place_before(ahead);
        let declared = self.noted & place != 0;
        self.noted = if declares { self.noted | place } else { self.noted & !place };
        1 + i64::from(declared)
    }

    /// Returns the bit set for a next number that is `ahead` of the expected one, whose bit is clear.
    fn moved(&self, ahead: u32) -> u128 {
        self.noted.checked_shl(ahead + 1).unwrap_or(0)
    }

    /// Returns the reason and the number of bytes by which declarations fall short of a `due` share of the congestion,
    /// for the kind with the largest shortfall; kinds that this packet declares are exempt. `None` if it declares all.
    pub fn missing(
        &self,
        declared: &Declared,
        (due, slack): (f64, f64),
    ) -> Option<(f64, &'static str)> {
        let Balance { credit, mark, loss, met: CongestionBytes { marked, lost, .. } } =
            self.balance;
        let short = |met: i64, declared: i64| due * met as f64 - declared as f64;
        let any = declared.loss || declared.mark || declared.credit;
        let spared = slack + SPARED * self.seen_bytes as f64;
        let dropped = (self.due.dropped as f64 - spared).max(0.0);
        let due_losses = self.due.lost.min(lost) + dropped as i64;
        let rules = [
            (any, short(marked + lost, credit + mark + loss), "beyond credit"),
            (declared.mark, short(self.due.marked, mark), "marks not declared"),
            (declared.loss, short(due_losses, loss), AuditedFlow::LOSSES),
        ];
        let asked = rules.into_iter().filter(|(answers, ..)| !answers);
        asked.map(|(_, short, why)| (short, why)).max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// Returns the bit of a number before the next, `ahead` of it by a negative amount; none outside the window.
fn place_before(ahead: i32) -> u128 {
    1u128.checked_shl(!ahead as u32).unwrap_or(0)
}
