//! eNodeB: the end of a mobile network's tunnels, which tells their beginning what congestion their packets have
//! met.
//!
//! Y. Zhang, I. Johansson, H. Green and M. Tatipamula, "Metering Re-ECN: Performance Evaluation and its
//! Applicability in Cellular Networks", ITC 23, 2011, section III-B, steps 1 and 3.
//!
//! ```text
//! with each packet:   received + 1;   marked_before + 1 where inner or outer ECN is CE
//!                     dropped_before = numbers up to the latest − received
//!                     ECN ← by the rules, from inner and outer;   L ← L − 40 or 44 B
//!                     with probability e^n: lost on the radio, dropped_here + 1
//! if t − t_report ≥ interval:   a report of the last number and the counters leaves
//! ```
//!
//! Packets of a tunnel are numbered modulo 2¹⁶. Counters run since the tunnel began, modulo 2³², so that a report
//! that is lost hides nothing; a packet that comes behind later ones is taken back from those dropped before. What was
//! marked or lost since the report before is listed, as far as there is room. Those dropped before are the difference of
//! two counts, `missed` and `came_late`. A packet that comes twice is dropped:
//! it would count twice.
//!
//! The radio behind it loses packets at random, with probability e each time it tries, n times at most. That is no
//! congestion, and the eNodeB knows it apart. What a repetition takes of the radio's time is not modelled.
//!
//! A user has one tunnel here, which its first packet tells of in place of the signalling that sets tunnels up;
//! packets of another number have none. Packets in no tunnel pass. A report goes the way back to the gateway, where it waits and may be lost.

use std::collections::BTreeMap;

use super::by_user::ByUser;
use super::enodeb_uplink::Teids;
use super::report::{Fate, TunnelReport};
use super::tunnel::{EcnRules, Tunnel};
use super::{
    Capabilities, Crossing, Ecn, EnodebUplinkParams, Passage, Passing, PdnGateway, Report, Stage,
    StageParams, TunnelEnd,
};
use crate::bottleneck::falls;
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::{ParameterError, too_short};
use crate::units::{Probability, Span, Time, Whole};
use numbers::{Numbers, SequenceStatus};

mod numbers;

parameters! {
    /// Ends the tunnels of a PDN gateway, and reports to it what their packets have met.
    pub struct EnodebParams {
        /// The least time between two reports on a tunnel: a round trip or more.
        pub interval: Span = "100 ms",
        /// What becomes of the two ECN fields of a packet at decapsulation; as at the gateway.
        pub ecn_rules: EcnRules = "re-ecn",
        /// e: probability that the radio loses a packet each time it tries.
        pub radio_loss: Probability = "0.0",
        /// n: how often it tries.
        pub radio_attempts: Whole<1, 16> = "1",
    }
    check EnodebParams::errors;
}

impl EnodebParams {
    fn errors(&self) -> Vec<ParameterError> {
        too_short(&[("interval", self.interval)])
    }
}

/// State of one eNodeB.
#[derive(Clone, Debug)]
pub struct Enodeb {
    params: EnodebParams,
    /// Probability that all attempts of the radio fail.
    lost: f64,
    tunnels: ByUser<Row>,
    /// Its other tunnels, by user and where they begin, if they do in several places.
    further: BTreeMap<(u32, u32), Row>,
    teids: Teids,
    /// What is counted of users, beside their tunnels.
    others: ByUser<[u64; OTHERS.len()]>,
}

/// The tunnel of a user that ends here.
#[derive(Clone, Debug)]
struct Row {
    numbers: Numbers,
    due: Time,
    /// Packets that came behind later ones, of which they had been taken for dropped.
    late: u64,
    reports: u64,
    /// What the next report tells, but for what the numbers do.
    report: TunnelReport,
}

/// What a packet gets that is not delivered.
const FOREIGN: Passage = Passage::Drop(Tunnel::UNKNOWN);
const TWICE: Passage = Passage::Drop("came twice");
const MARKED: Passage = Passage::Drop("marked, and not ECN-capable");
const RADIO: Passage = Passage::Drop("wireless loss");

/// What is counted beside what reports tell.
#[derive(Clone, Copy, Debug)]
enum Other {
    NotInTunnel,
    MarksNotCopied,
    Stale,
}

const OTHERS: [&str; 3] = ["not_in_tunnel", "marks_not_copied", "stale"];

impl Stage for Enodeb {
    type Params = EnodebParams;

    const ABOUT: About = About {
        name: "enodeb",
        title: "eNodeB",
        source: "Zhang et al., Metering Re-ECN in Cellular Networks, section III-B",
        usage: r#"links.NAME.egress = [{ kind = "enodeb" }]"#,
        file: "stage/enodeb.rs",
        text: include_str!("enodeb.rs"),
    };

    const CAPABILITIES: Capabilities = Capabilities {
        ahead_of_readings: true,
        writes_header: true,
        reports_to: Some(PdnGateway::ABOUT.name),
        ..Capabilities::NONE
    };

    fn new(params: EnodebParams) -> Self {
        let lost = libm::pow(params.radio_loss.0, f64::from(params.radio_attempts.0));
        let (tunnels, others, further) = (ByUser::new(), ByUser::new(), BTreeMap::new());
        Enodeb { params, lost, tunnels, further, teids: Teids::ALONE, others }
    }

    fn tunnel_end(params: &EnodebParams) -> Option<TunnelEnd> {
        Some(TunnelEnd::reporting(false, params.ecn_rules, params.interval))
    }

    fn counterpart(params: &EnodebParams) -> Option<StageParams> {
        Some(StageParams::EnodebUplink(EnodebUplinkParams::plain(params.ecn_rules)))
    }

    fn pass(&mut self, packet: &mut Passing, draw: impl FnMut() -> f64) -> Passage {
        packet.cross(|crossing| self.cross(crossing, draw))
    }

    // Where some of the packet is known, what follows from that is left out.
    #[inline(always)]
    fn cross(&mut self, packet: &mut Crossing, draw: impl FnMut() -> f64) -> Passage {
        let Enodeb { others, tunnels, further, teids, .. } = self;
        let user = packet.user;
        let mut count = |other: Other| others.of(user, Default::default)[other as usize] += 1;
        // Field by field, as it has just been written: the processor would wait where more is read at once.
        let Some(Tunnel { teid, sequence, inner_ecn, re_inserted }) = packet.tunnel else {
            count(Other::NotInTunnel);
            return Passage::On;
        };
        let EnodebParams { interval, ecn_rules, .. } = self.params;
        let begin = || Row::beginning(packet.now + interval, teid);
        let mut row = tunnels.of(user, begin);
        if row.report.teid != teid {
            let from = teids.beginning(teid);
            if from == teids.beginning(row.report.teid) {
                return FOREIGN;
            }
            row = further.entry((user, from)).or_insert_with(begin);
            if row.report.teid != teid {
                return FOREIGN;
            }
        }
        match row.arrive(sequence, packet.is_marked()) {
            SequenceStatus::Again => return TWICE,
            SequenceStatus::Stale => count(Other::Stale),
            SequenceStatus::Latest(_) | SequenceStatus::Late => {}
        }
        let Some(ecn) = ecn_rules.decapsulate(inner_ecn, packet.ecn) else { return MARKED };
        if ecn != Ecn::Ce && packet.ecn == Ecn::Ce {
            count(Other::MarksNotCopied);
        }
        (packet.ecn, packet.tunnel) = (ecn, None);
        packet.len = Tunnel::without(packet.len, re_inserted.is_some());
        if falls(self.lost, draw) {
            row.lose(sequence);
            return RADIO;
        }
        row.report(packet.now, (packet.user, packet.tunnel_end), interval)
    }

    fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        for (user, others) in self.others.iter() {
            OTHERS.iter().zip(others).for_each(|(name, count)| each(user, name, *count));
        }
        for (user, row) in self.tunnels.iter() {
            if self.others.get(user).is_none() {
                OTHERS.iter().for_each(|name| each(user, name, 0));
            }
            let further = self.further.range((user, 0)..=(user, u32::MAX)).map(|(_, row)| row);
            let mut sums = [0; COUNTED.len()];
            for row in further.chain([row]) {
                sums.iter_mut().zip(row.counted()).for_each(|(sum, count)| *sum += count);
            }
            COUNTED.iter().zip(sums).for_each(|(name, sum)| each(user, name, sum));
        }
    }

    fn state_bytes(&self) -> usize {
        self.tunnels.state_bytes() + self.further.len() * size_of::<((u32, u32), Row)>()
    }
}

impl Enodeb {
    /// It ends tunnels with these numbers.
    pub(super) fn ends(&mut self, teids: Teids) {
        self.teids = teids;
    }
}

/// What is counted of a tunnel.
const COUNTED: [&str; 6] =
    ["received", "marked_before", "missed", "came_late", "dropped_here", "reports_sent"];

impl Row {
    fn beginning(due: Time, teid: u32) -> Self {
        let report = TunnelReport { teid, ..TunnelReport::default() };
        Row { numbers: Numbers::default(), due, late: 0, reports: 0, report }
    }

    /// A packet arrives: what is told of it, of those that it has overtaken, and of one that was missing.
    fn arrive(&mut self, sequence: u16, marked: bool) -> SequenceStatus {
        let arrival = self.numbers.arrive(sequence);
        let report = &mut self.report;
        match &arrival {
            SequenceStatus::Latest(missing) => {
                let listed = missing.clone().take(TunnelReport::MAX_ENTRIES);
                listed.for_each(|number| report.list(number as u16, Fate::DroppedBefore));
            }
            SequenceStatus::Late => {
                self.late += 1;
                report.entries.retain(|entry| *entry != (sequence, Fate::DroppedBefore));
            }
            SequenceStatus::Again | SequenceStatus::Stale => return arrival,
        }
        if marked {
            report.marked_before = report.marked_before.wrapping_add(1);
            report.list(sequence, Fate::MarkedBefore);
        }
        arrival
    }

    /// What is to be reported of it now.
    fn reported(&self) -> TunnelReport {
        let numbers = &self.numbers;
        TunnelReport {
            last_sequence: numbers.latest(),
            received: numbers.received() as u32,
            dropped_before: numbers.missing() as u32,
            ..self.report.clone()
        }
    }

    /// What of it is counted.
    fn counted(&self) -> [u64; COUNTED.len()] {
        let TunnelReport { received, marked_before, dropped_before, dropped_here, .. } =
            self.reported();
        let missed = u64::from(dropped_before) + self.late;
        let [received, marked, here] = [received, marked_before, dropped_here].map(u64::from);
        [received, marked, missed, self.late, here, self.reports]
    }

    fn lose(&mut self, sequence: u16) {
        self.report.dropped_here = self.report.dropped_here.wrapping_add(1);
        self.report.list(sequence, Fate::DroppedHere);
    }

    /// The packet goes on, and a report leaves if it is due.
    #[inline]
    fn report(&mut self, now: Time, of: (u32, Option<u32>), interval: Span) -> Passage {
        if now < self.due { Passage::On } else { self.report_now(now, of, interval) }
    }

    #[cold]
    fn report_now(
        &mut self,
        now: Time,
        (user, end): (u32, Option<u32>),
        interval: Span,
    ) -> Passage {
        self.due = now + interval;
        self.reports += 1;
        self.report.from = end.unwrap_or_default();
        let tunnel = Box::new(self.reported());
        self.report.entries.clear();
        let (number, len) = (self.reports, tunnel.len());
        Passage::Report(Box::new(Report {
            user,
            number,
            len,
            tunnel: Some(tunnel),
            ..Report::default()
        }))
    }
}

#[cfg(test)]
#[path = "enodeb_tests.rs"]
mod tests;
