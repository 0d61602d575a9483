//! Dishonest declarations, for testing audits.

use std::collections::VecDeque;
use std::ops::{AddAssign, SubAssign};

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::{CheatPlan, Hoard, Late, Understate, WhileSlow};

/// Losses and marks, in the unit of the gauges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CongestionGauges {
    /// Losses.
    pub loss: i64,
    /// Marks.
    pub mark: i64,
}

impl AddAssign for CongestionGauges {
    fn add_assign(&mut self, more: CongestionGauges) {
        self.loss += more.loss;
        self.mark += more.mark;
    }
}

impl SubAssign for CongestionGauges {
    fn sub_assign(&mut self, less: CongestionGauges) {
        self.loss -= less.loss;
        self.mark -= less.mark;
    }
}

/// Cheating strategy of a sender.
#[derive(Debug)]
pub enum Cheat {
    /// Declares none of the congestion experienced.
    Nothing,
    /// Declares nothing, and leaves the connection when it has used up its credit.
    Whitewash { used: i64 },
    /// Declares a share of the congestion; `rest` is the fraction that is not a whole packet or byte yet.
    Understate { share: f64, rest: [f64; 2] },
    /// Declares with a delay.
    Late { by: Span, kept: VecDeque<(Time, CongestionGauges)> },
    /// It declares marks as losses.
    LossForMark,
    /// Declares nothing of the congestion experienced while the bytes in flight exceed a threshold.
    WhileSlow { most: i64, slow: bool },
    /// Declares nothing while its hoarded credit lasts.
    Hoard { hoard: i64, left: i64 },
}

impl Cheat {
    /// Returns the strategy of a plan; `None` for an honest sender.
    pub fn new(plan: &CheatPlan) -> Option<Self> {
        Some(match plan {
            CheatPlan::None => return None,
            CheatPlan::Never(_) | CheatPlan::CreditAlone(_) => Cheat::Nothing,
            CheatPlan::Whitewash(_) => Cheat::Whitewash { used: 0 },
            CheatPlan::Understate(Understate { share }) => {
                Cheat::Understate { share: share.0, rest: [0.0; 2] }
            }
            CheatPlan::Late(Late { by }) => Cheat::Late { by: *by, kept: VecDeque::new() },
            CheatPlan::LossForMark(_) => Cheat::LossForMark,
            CheatPlan::WhileSlow(WhileSlow { flight }) => {
                Cheat::WhileSlow { most: flight.get() as i64, slow: true }
            }
            CheatPlan::Hoard(Hoard { credit }) => {
                Cheat::Hoard { hoard: credit.get() as i64, left: 0 }
            }
        })
    }

    /// Returns the part of the experienced congestion that it will declare now.
    pub fn admits(&mut self, met: CongestionGauges, now: Time) -> CongestionGauges {
        match self {
            Cheat::Nothing => CongestionGauges::default(),
            Cheat::Whitewash { used } => {
                *used += met.loss + met.mark;
                CongestionGauges::default()
            }
            Cheat::Understate { share, rest } => {
                let part = |met: i64, rest: &mut f64| {
                    let admitted = *rest + *share * met as f64;
                    // Tenths do not add up to an integer in binary.
                    let whole = libm::floor(admitted + 1e-9);
                    *rest = admitted - whole;
                    whole as i64
                };
                let [loss, mark] = rest;
                CongestionGauges { loss: part(met.loss, loss), mark: part(met.mark, mark) }
            }
            Cheat::Late { by, kept } => {
                if met != CongestionGauges::default() {
                    kept.push_back((now + *by, met));
                }
                CongestionGauges::default()
            }
            Cheat::LossForMark => CongestionGauges { loss: met.loss + met.mark, mark: 0 },
            Cheat::WhileSlow { slow: true, .. } => met,
            Cheat::WhileSlow { slow: false, .. } => CongestionGauges::default(),
            Cheat::Hoard { left, .. } => {
                let total = met.loss + met.mark;
                if total <= *left {
                    *left -= total;
                    return CongestionGauges::default();
                }
                *left = 0;
                met
            }
        }
    }

    /// Returns the delayed declarations that are due.
    pub fn due(&mut self, now: Time) -> CongestionGauges {
        let Cheat::Late { kept, .. } = self else { return CongestionGauges::default() };
        let mut due = CongestionGauges::default();
        while let Some((_, met)) = kept.pop_front_if(|(at, _)| *at <= now) {
            due += met;
        }
        due
    }

    /// Whether it leaves the connection, because its congestion has used up `credit`.
    pub const fn goes(&self, credit: i64) -> bool {
        matches!(self, Cheat::Whitewash { used } if *used > 0 && *used >= credit)
    }

    /// Whether it gives no more credit to replace what is used up.
    pub const fn keeps_credit(&self) -> bool {
        matches!(self, Cheat::Whitewash { .. })
    }

    /// Takes the amount in flight when a packet is sent.
    pub const fn sees(&mut self, in_flight: i64) {
        if let Cheat::WhileSlow { most, slow } = self {
            *slow = in_flight <= *most;
        }
    }

    /// Whether a packet of this size gives credit beyond what the data in flight require.
    pub fn hoards(&mut self, bytes: i64) -> bool {
        let Cheat::Hoard { hoard, left } = self else { return false };
        let hoards = left < hoard;
        if hoards {
            *left += bytes;
        }
        hoards
    }
}

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::units::{Bytes, Share};
    use tidegate_scenario::plan::{CreditAlone, LossForMark, Never, Whitewash};

    use super::*;

    /// Returns the declared part of ten losses and twenty marks, one at a time, at 0 s.
    fn admitted(plan: &CheatPlan) -> (CongestionGauges, Cheat) {
        let mut cheat = Cheat::new(plan).expect("is none");
        let mut sum = CongestionGauges::default();
        for n in 0..30 {
            let met = CongestionGauges { loss: i64::from(n % 3 == 0), mark: i64::from(n % 3 != 0) };
            sum += cheat.admits(met, Time::ZERO);
        }
        (sum, cheat)
    }

    #[test]
    fn each_liar_admits_what_it_says() {
        for (plan, loss, mark) in [
            (CheatPlan::Never(Never {}), 0, 0),
            (CheatPlan::CreditAlone(CreditAlone {}), 0, 0),
            (CheatPlan::Understate(Understate { share: Share(0.5) }), 5, 10),
            (CheatPlan::Understate(Understate { share: Share(0.1) }), 1, 2),
            (CheatPlan::LossForMark(LossForMark {}), 30, 0),
        ] {
            assert_eq!(admitted(&plan).0, CongestionGauges { loss, mark }, "{plan:?}");
        }
    }

    #[test]
    fn what_is_late_comes_when_its_time_has() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let (sum, mut late) = admitted(&CheatPlan::Late(Late { by: Span::from_millis(500) }));
        assert_eq!(sum, CongestionGauges::default());
        assert_eq!(late.due(at(499)), CongestionGauges::default());
        assert_eq!(late.due(at(500)), CongestionGauges { loss: 10, mark: 20 });
        assert_eq!(late.due(at(600)), CongestionGauges::default());
    }

    #[test]
    fn a_sender_that_is_honest_while_slow_admits_nothing_of_what_is_met_faster() {
        let plan = CheatPlan::WhileSlow(WhileSlow { flight: Bytes::new(3_000) });
        let mut cheat = Cheat::new(&plan).expect("is one");
        let met = CongestionGauges { loss: 0, mark: 1_000 };
        let mut admitted = |in_flight| {
            cheat.sees(in_flight);
            cheat.admits(met, Time::ZERO)
        };
        assert_eq!(
            [3_000, 3_001, 1_000].map(&mut admitted),
            [met, CongestionGauges::default(), met]
        );
    }

    #[test]
    fn a_flow_is_given_up_when_its_credit_is_used_up() {
        let (sum, cheat) = admitted(&CheatPlan::Whitewash(Whitewash {}));
        assert_eq!(sum, CongestionGauges::default());
        assert!(cheat.goes(30) && !cheat.goes(31) && cheat.goes(0));
        let fresh = Cheat::new(&CheatPlan::Whitewash(Whitewash {})).expect("is one");
        assert!(!fresh.goes(0), "nothing was met");
    }

    #[test]
    fn a_hoard_pays_for_what_is_met_until_it_is_used_up() {
        let mut cheat =
            Cheat::new(&CheatPlan::Hoard(Hoard { credit: Bytes::new(3_000) })).expect("is one");
        let given = (0..5).filter(|_| cheat.hoards(1_000)).count();
        assert_eq!(given, 3);
        let met = CongestionGauges { loss: 0, mark: 1_000 };
        let admitted = [(); 4].map(|()| cheat.admits(met, Time::ZERO).mark);
        assert_eq!(admitted, [0, 0, 0, 1_000]);
        assert!(cheat.hoards(1_000), "and begins again");
    }
}
