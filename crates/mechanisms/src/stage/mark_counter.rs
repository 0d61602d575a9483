//! Mark counter: counts congestion signals of users' packets, in packets and in bytes. Congestion-volume as in B.
//! Briscoe et al., RFC 6789 (congestion exposure: concepts), section 2; declarations as in RFC 7837 (ConEx), and
//! positive packets of re-ECN.
//!
//! It changes nothing. For each user it keeps, in packets n and in bytes v,
//!
//! ```text
//! seen       n ← n + 1,  v ← v + L                      every packet
//! marked     n ← n + 1,  v ← v + L   where ECN is CE    v: congestion-volume met before this place
//! declared   n ← n + 1,  v ← v + L   of each kind       loss, mark, credit (ConEx); re-echo: ECT(1) without RE (re-ECN)
//! reported   n, v ← Σ what the latest report of each place says     seen and marked further on
//! ```
//!
//! with L the packet's size on the wire. Reports are those of downstream congestion reporters; if a packet passes
//! several of them, each counts it. In front of a bottleneck the counter sees the declarations of senders, behind it
//! the marks of the bottleneck as well; honest senders declare as much as they were marked, a round trip later. ACKs
//! count like any packet.

use std::collections::BTreeMap;

use super::by_user::ByUser;
use super::{Capabilities, Declared, Ecn, Passage, Passing, ReEcn, Report, Stage};
use crate::mechanism::About;
use crate::parameters;

parameters! {
    /// Counts packets and bytes of each user: seen, marked, declared by kind, and reported from further on.
    /// Changes nothing.
    pub struct MarkCounterParams {}
}

/// Kinds of counts.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Seen,
    Marked,
    DeclaredLoss,
    DeclaredMark,
    DeclaredCredit,
    ReEcho,
}

/// Names of the counts, in the order of [`Kind`]: packets, bytes.
const NAMES: [[&str; 2]; 6] = [
    ["seen_packets", "seen_bytes"],
    ["marked_packets", "marked_bytes"],
    ["declared_loss_packets", "declared_loss_bytes"],
    ["declared_mark_packets", "declared_mark_bytes"],
    ["declared_credit_packets", "declared_credit_bytes"],
    ["re_echo_packets", "re_echo_bytes"],
];

/// Names of the counts in reports.
const REPORTED: [&str; 5] = [
    "reported_seen_packets",
    "reported_seen_bytes",
    "reported_marked_packets",
    "reported_marked_bytes",
    "reports",
];

/// State of one counter: packets and bytes of each kind, by user.
#[derive(Clone, Debug, Default)]
pub struct MarkCounter {
    users: ByUser<[[u64; 2]; 6]>,
    /// Latest report and number of reports, by user and reporting stage.
    reported: BTreeMap<(u32, u32), (Report, u64)>,
}

impl Stage for MarkCounter {
    type Params = MarkCounterParams;

    const ABOUT: About = About {
        name: "mark-counter",
        title: "Mark counter",
        source: "RFC 6789, section 2 (congestion-volume)",
        usage: r#"users.NAME.ingress = [{ kind = "mark-counter" }]"#,
        file: "stage/mark_counter.rs",
        text: crate::mechanism::source_text!("mark_counter.rs"),
    };

    const CAPABILITIES: Capabilities = Capabilities { takes_reports: true, ..Capabilities::NONE };

    fn new(MarkCounterParams {}: MarkCounterParams) -> Self {
        MarkCounter::default()
    }

    fn pass(&mut self, packet: &mut Passing, _draw: impl FnMut() -> f64) -> Passage {
        let counts = self.users.of(packet.user, Default::default);
        let mut count = |holds: bool, kind: Kind| {
            let [packets, bytes] = &mut counts[kind as usize];
            *packets += u64::from(holds);
            *bytes += if holds { packet.len.get() } else { 0 };
        };
        let Declared { loss, mark, credit, .. } = packet.declared;
        count(true, Kind::Seen);
        count(packet.ecn == Ecn::Ce, Kind::Marked);
        count(loss, Kind::DeclaredLoss);
        count(mark, Kind::DeclaredMark);
        count(credit, Kind::DeclaredCredit);
        count(packet.re_ecn() == ReEcn::Positive, Kind::ReEcho);
        Passage::On
    }

    fn take(&mut self, report: &Report) {
        let (latest, taken) = self.reported.entry((report.user, report.from)).or_default();
        *taken += 1;
        if report.number > latest.number {
            latest.clone_from(report);
        }
    }

    fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        for (user, counts) in self.users.iter() {
            for (name, count) in NAMES.iter().flatten().zip(counts.iter().flatten()) {
                each(user, name, *count);
            }
        }
        let mut sums: BTreeMap<u32, [u64; 5]> = BTreeMap::new();
        for ((user, _), (report, taken)) in &self.reported {
            let counts = report.seen.iter().chain(&report.marked).chain([taken]);
            let sums = sums.entry(*user).or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        for (user, sums) in sums {
            REPORTED.iter().zip(sums).for_each(|(name, sum)| each(user, name, sum));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn packet(user: u32, ecn: Ecn, declared: Declared) -> Passing {
        Passing { ecn, declared, ..Passing::of_user(user) }
    }

    fn count_of(counter: &MarkCounter, user: u32, name: &str) -> u64 {
        let mut found = None;
        counter.counts(&mut |of, what, count| {
            if (of, what) == (user, name) {
                found = Some(count);
            }
        });
        found.expect("is counted")
    }

    #[test]
    fn marks_and_declarations_are_counted_by_user_and_kind() {
        let mut counter = MarkCounter::new(MarkCounterParams {});
        let honest = Declared { conex: true, mark: true, credit: true, ..Declared::default() };
        for packet in [
            packet(1, Ecn::Ect0, Declared::default()),
            packet(1, Ecn::Ce, honest),
            packet(3, Ecn::Ect1, Declared { loss: true, ..honest }),
        ] {
            assert_eq!(counter.pass(&mut { packet }, || panic!("drew")), Passage::On);
        }
        let counts = |user| {
            let of = |name: &&str| count_of(&counter, user, name);
            NAMES.iter().flatten().map(of).collect::<Vec<_>>()
        };
        assert_eq!(counts(1), [2, 3000, 1, 1500, 0, 0, 1, 1500, 1, 1500, 0, 0]);
        assert_eq!(counts(3), [1, 1500, 0, 0, 1, 1500, 1, 1500, 1, 1500, 1, 1500]);
        let mut users = Vec::new();
        counter.counts(&mut |user, _, _| users.push(user));
        users.dedup();
        assert_eq!(users, [1, 3], "a user without packets is not counted");
    }

    /// RFC 6789, section 2: 1 GB at a congestion of 0.2 % and 3 GB at 0.1 % are congestion-volumes of 2 MB and 3 MB.
    #[test]
    fn congestion_volume_is_what_was_sent_times_the_congestion_it_met() {
        let mut counter = MarkCounter::new(MarkCounterParams {});
        for (packets, one_in) in [(100_000, 500), (300_000, 1_000)] {
            for number in 0..packets {
                let ecn = if number % one_in == 0 { Ecn::Ce } else { Ecn::Ect0 };
                let len = Bytes::new(10_000);
                let mut packet = Passing { len, ..packet(1, ecn, Declared::default()) };
                counter.pass(&mut packet, || panic!("drew"));
            }
        }
        assert_eq!(count_of(&counter, 1, "seen_bytes"), 4_000_000_000);
        assert_eq!(count_of(&counter, 1, "marked_bytes"), 5_000_000);
    }

    #[test]
    fn the_latest_report_of_each_place_counts_whichever_arrives_last() {
        let mut counter = MarkCounter::new(MarkCounterParams {});
        let report = |from: u32, number: u64| Report {
            user: 5,
            from,
            number,
            seen: [10 * number, 1000 * number],
            marked: [number, 100 * number],
            ..Report::default()
        };
        let take = |counter: &mut MarkCounter, from: u32, number: u64| {
            counter.take(&report(from, number));
            REPORTED.map(|name| count_of(counter, 5, name))
        };
        assert_eq!(take(&mut counter, 8, 1), [10, 1000, 1, 100, 1]);
        assert_eq!(take(&mut counter, 8, 4), [40, 4000, 4, 400, 2]);
        assert_eq!(take(&mut counter, 8, 3), [40, 4000, 4, 400, 3], "it is old");
        assert_eq!(take(&mut counter, 9, 2), [60, 6000, 6, 600, 4], "of another place");
    }
}
