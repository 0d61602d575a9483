//! eNodeB: the end of a mobile network's tunnels, which reports the congestion of their packets to their beginning.
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
//! Packets of a tunnel are numbered modulo 2¹⁶. Counters are cumulative since the tunnel's start, modulo 2³², so that a
//! lost report loses no information; a reordered packet is subtracted from those dropped before. Packets marked or lost
//! since the last report are listed, as far as there is room. Those dropped before are the difference of two counts,
//! `missed` and `came_late`. A duplicate packet is dropped, since it would count twice.
//!
//! The radio behind the eNodeB loses packets at random, with probability e per attempt, n attempts at most. These
//! losses are no congestion, and the eNodeB counts them separately. The radio time of retransmissions is not modelled.
//!
//! A user has one tunnel here, which its first packet establishes in place of the tunnel signalling; packets with
//! another number belong to none. Packets without a tunnel pass. A report takes the reverse path to the gateway, where
//! it waits in queues and may be lost.

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
    /// Ends the tunnels of a PDN gateway, and reports the congestion of their packets to it.
    pub struct EnodebParams {
        /// Minimum time between two reports on a tunnel: at least a round trip.
        pub interval: Span = "100 ms",
        /// Rules for the two ECN fields at decapsulation; as at the gateway.
        pub ecn_rules: EcnRules = "re-ecn",
        /// e: loss probability of the radio per attempt.
        pub radio_loss: Probability = "0.0",
        /// n: maximum number of attempts.
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
    /// Further tunnels, by user and beginning, for users with several.
    further: BTreeMap<(u32, u32), Row>,
    teids: Teids,
    /// Counts of users besides their tunnels.
    others: ByUser<[u64; OTHERS.len()]>,
}

/// Tunnel of a user that ends here.
#[derive(Clone, Debug)]
struct Row {
    numbers: Numbers,
    due: Time,
    /// Packets that arrived late, after having been counted as dropped.
    late: u64,
    reports: u64,
    /// Contents of the next report, without the sequence numbers.
    report: TunnelReport,
}

/// Verdict on a packet that is not delivered.
const FOREIGN: Passage = Passage::Drop(Tunnel::UNKNOWN);
const TWICE: Passage = Passage::Drop("came twice");
const MARKED: Passage = Passage::Drop("marked, and not ECN-capable");
const RADIO: Passage = Passage::Drop("wireless loss");

/// Counts besides those reported.
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
        text: crate::mechanism::source_text!("enodeb.rs"),
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

    // Code for values that the caller already knows is left out.
    #[inline(always)]
    fn cross(&mut self, packet: &mut Crossing, draw: impl FnMut() -> f64) -> Passage {
        let Enodeb { others, tunnels, further, teids, .. } = self;
        let user = packet.user;
        let mut count = |other: Other| others.of(user, Default::default)[other as usize] += 1;
        // Field by field, as it has just been written: a wider read would stall the processor.
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
    /// Sets the numbers of the tunnels that end here.
    pub(super) fn ends(&mut self, teids: Teids) {
        self.teids = teids;
    }
}

/// Names of the counts of a tunnel.
const COUNTED: [&str; 6] =
    ["received", "marked_before", "missed", "came_late", "dropped_here", "reports_sent"];

impl Row {
    fn beginning(due: Time, teid: u32) -> Self {
        let report = TunnelReport { teid, ..TunnelReport::default() };
        Row { numbers: Numbers::default(), due, late: 0, reports: 0, report }
    }

    /// Records an arriving packet, the packets that it has overtaken, and whether it was missing.
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

    /// Returns the contents of a report now.
    fn reported(&self) -> TunnelReport {
        let numbers = &self.numbers;
        TunnelReport {
            last_sequence: numbers.latest(),
            received: numbers.received() as u32,
            dropped_before: numbers.missing() as u32,
            ..self.report.clone()
        }
    }

    /// Returns the counts of the tunnel.
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

    /// Passes the packet, with a report if one is due.
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
