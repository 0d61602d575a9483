//! What is known of a flow: its balance, and where it stands in its sequence.

use core::ops::{Add, Sub};

use super::LossSign;
use crate::stage::slots::{FlowKey, Remembered};
use crate::stage::{Declared, Passing, Sequence};
use crate::units::{Span, Time};

/// What was declared and what was met, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// C: declared as credit.
    pub credit: i64,
    /// E: declared as marked.
    pub mark: i64,
    /// L: declared as lost.
    pub loss: i64,
    /// What was met.
    pub met: CongestionBytes,
}

/// Congestion that packets have met, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CongestionBytes {
    /// M: marked.
    pub marked: i64,
    /// R: lost, as it shows.
    pub lost: i64,
    /// Missing once, until packets came that had been overtaken: no longer in `lost`.
    pub overtaken: i64,
    /// D: dropped here for losses that were not declared.
    pub dropped: i64,
}

impl Balance {
    /// Names and values of what is counted, none of which ever shrinks: what was missing stays counted when it
    /// comes late, and is counted again as overtaken.
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

    /// Names and values of what is declared beyond what was met: with credit, of marks, of losses.
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

/// A flow that has declared something.
#[derive(Clone, Copy, Debug)]
pub struct AuditedFlow {
    /// Which.
    pub key: FlowKey,
    /// When its last packet was here.
    pub seen: Time,
    /// What it has declared and met.
    pub balance: Balance,
    /// Bytes of it that came here.
    seen_bytes: i64,
    /// Next number that has not been seen.
    next: u32,
    /// Numbers before that have not been seen, of the last so many: the least bit is that of the last.
    missing: u128,
    /// When the packet before `next` was sent.
    newest: Time,
    /// When the last allowance began.
    began: Time,
    /// What had been met then,
    then: CongestionBytes,
    /// and an allowance before: it has to be declared by now.
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

/// Of what comes, so much may be dropped here without being asked for, as it may of honest senders.
const SPARED: f64 = 0.001;

impl AuditedFlow {
    /// Why a packet is dropped where losses are not declared.
    pub const LOSSES: &str = "losses not declared";

    /// Before its first packet here, which is this one.
    pub fn before(packet: &Passing) -> Self {
        AuditedFlow {
            key: FlowKey::of(packet),
            seen: packet.now,
            balance: Balance::default(),
            seen_bytes: 0,
            next: packet.sequence.map_or(0, |sequence| sequence.number as u32),
            missing: 0,
            newest: Time::ZERO,
            began: packet.now,
            then: CongestionBytes::default(),
            due: CongestionBytes::default(),
        }
    }

    /// A packet of it is here.
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
            (LossSign::Repeat, Some(sequence)) => self.newly_repeated(sequence),
            (LossSign::Tunnel, _) => packet.is_lost_with_its_tunnel().into(),
            (LossSign::Gap | LossSign::Repeat, None) | (LossSign::Queue, _) => 0,
        };
        let is_lost = losses == LossSign::Tunnel && newly_lost > 0;
        self.balance.met.marked += when(packet.is_marked() && !is_lost);
        self.balance.met.lost += len * newly_lost;
        self.balance.met.overtaken -= len * newly_lost.min(0);
    }

    /// A packet of it was dropped, and is not here.
    pub fn lose(&mut self, packet: &Passing) {
        self.balance.met.lost += packet.len.get() as i64;
    }

    /// A packet of it is dropped here for losses that were not declared.
    pub fn punish(&mut self, packet: &Passing) {
        self.balance.met.dropped += packet.len.get() as i64;
    }

    /// So many more packets are missing with this one, or fewer: one that was overtaken is not lost.
    fn newly_missing(&mut self, sequence: Sequence) -> i64 {
        let Sequence { number, sent, .. } = sequence;
        let ahead = (number as u32).wrapping_sub(self.next) as i32;
        if let Ok(ahead) = u32::try_from(ahead) {
            self.next = (number as u32).wrapping_add(1);
            self.newest = sent;
            let before = self.missing.checked_shl(ahead + 1).unwrap_or(0);
            self.missing = before | ((1 << ahead.min(u128::BITS - 1)) - 1) << 1;
            return ahead.into();
        }
        // What is further back than is remembered stays lost; what is not missing is here again.
        let place = 1u128.checked_shl(!ahead as u32).unwrap_or(0);
        let fills = self.missing & place != 0;
        self.missing &= !place;
        -i64::from(fills && sent <= self.newest)
    }

    /// Whether this packet has been here before.
    fn newly_repeated(&mut self, Sequence { number, .. }: Sequence) -> i64 {
        let ahead = (number as u32).wrapping_sub(self.next) as i32;
        if ahead >= 0 {
            self.next = (number as u32).wrapping_add(1);
        }
        (ahead < 0).into()
    }

    /// By how many bytes declarations fall short of a `due` share of what was met, in that in which they
    /// do so by most, and in what; of what this packet answers nothing is asked. `None` if it answers all.
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
