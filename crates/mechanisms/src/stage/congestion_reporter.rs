//! Congestion reporter: reports to an upstream counter how much of a user's traffic arrives marked. Y. Zhang, I.
//! Johansson, H. Green and M. Tatipamula, "Metering Re-ECN: Performance Evaluation and its Applicability in Cellular
//! Networks", ITC 23, 2011, section III-B: an eNodeB reports to a PDN-GW, which thus knows the congestion of the
//! network between without support by user devices.
//!
//! For each user it counts packets n and bytes v, and those marked, and reports to the nearest upstream mark counter on
//! the packets' path:
//!
//! ```text
//! with each packet:               n ← n + 1,  v ← v + L;  where ECN is CE also n_ce, v_ce
//! if t − t_report ≥ interval:     a report of n, v, n_ce, v_ce leaves, t_report ← t
//! ```
//!
//! A report is a packet on the path of the user's acknowledgements: it waits in queues, and may be lost. The paper says
//! "once every RTT or less frequent", and has sequence numbers and lists of marked packets; cumulative counts serve the
//! same purpose here. Nothing is reported while no packets arrive.

use super::by_user::ByUser;
use super::{Capabilities, Ecn, Passage, Passing, Report, Stage};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::{ParameterError, too_short};
use crate::units::{Bytes, LARGEST_PACKET, Span, Time};

parameters! {
    /// Reports each user's packets, and those marked, to the nearest upstream mark counter.
    pub struct CongestionReporterParams {
        /// Minimum time between two reports on a user.
        pub interval: Span = "100 ms",
        /// Size of a report on the wire.
        pub report_size: Bytes = "100 B",
    }
    check CongestionReporterParams::errors;
}

impl CongestionReporterParams {
    fn errors(&self) -> Vec<ParameterError> {
        let mut errors = too_short(&[("interval", self.interval)]);
        let sizes = Bytes::new(20)..=LARGEST_PACKET;
        if !sizes.contains(&self.report_size) {
            let message = format!("{} B is not from 20 B to 65535 B", self.report_size.get());
            errors.push(("report_size", message));
        }
        errors
    }
}

/// State of one reporter.
#[derive(Clone, Debug)]
pub struct CongestionReporter {
    params: CongestionReporterParams,
    users: ByUser<Counted>,
}

/// State of a user.
#[derive(Clone, Debug, Default)]
struct Counted {
    /// Time of the next report; `None` before the first packet.
    due: Option<Time>,
    report: Report,
}

impl Stage for CongestionReporter {
    type Params = CongestionReporterParams;

    const ABOUT: About = About {
        name: "congestion-reporter",
        title: "Congestion reporter",
        source: "Zhang et al., Metering Re-ECN in Cellular Networks, section III-B",
        usage: r#"users.NAME.egress = [{ kind = "congestion-reporter" }]"#,
        file: "stage/congestion_reporter.rs",
        text: crate::mechanism::source_text!("congestion_reporter.rs"),
    };

    const CAPABILITIES: Capabilities =
        Capabilities { reports_to: Some(super::MarkCounter::ABOUT.name), ..Capabilities::NONE };

    fn new(params: CongestionReporterParams) -> Self {
        CongestionReporter { params, users: ByUser::default() }
    }

    fn pass(&mut self, packet: &mut Passing, _draw: impl FnMut() -> f64) -> Passage {
        let Counted { due, report } = self.users.of(packet.user, Counted::default);
        let counts = [(true, &mut report.seen), (packet.ecn == Ecn::Ce, &mut report.marked)];
        for (_, [packets, bytes]) in counts.into_iter().filter(|(holds, _)| *holds) {
            *packets += 1;
            *bytes += packet.len.get();
        }
        let CongestionReporterParams { interval, report_size } = self.params;
        if packet.now < *due.get_or_insert(packet.now + interval) {
            return Passage::On;
        }
        *due = Some(packet.now + interval);
        report.number += 1;
        (report.user, report.len) = (packet.user, report_size);
        Passage::Report(Box::new(report.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(at_ms: u64, user: u32, ecn: Ecn) -> Passing {
        let (now, len) = (Time::ZERO + Span::from_millis(at_ms), Bytes::new(1000));
        Passing { now, len, ecn, ..Passing::of_user(user) }
    }

    #[test]
    fn reports_count_from_the_beginning_and_are_no_more_frequent_than_the_interval() {
        let params = CongestionReporterParams {
            interval: Span::from_millis(100),
            report_size: Bytes::new(60),
        };
        let mut reporter = CongestionReporter::new(params);
        let mut report_of = |at_ms, user, ecn| match reporter
            .pass(&mut packet(at_ms, user, ecn), || panic!("drew"))
        {
            Passage::Report(report) => Some(*report),
            _ => None,
        };
        assert_eq!(report_of(10, 3, Ecn::Ect0), None);
        assert_eq!(report_of(109, 3, Ecn::Ce), None);
        assert_eq!(report_of(109, 4, Ecn::Ce), None, "each user has a clock of his own");
        let first = Report {
            user: 3,
            from: 0,
            number: 1,
            len: Bytes::new(60),
            seen: [3, 3000],
            marked: [1, 1000],
            tunnel: None,
        };
        assert_eq!(report_of(110, 3, Ecn::Ect0), Some(first.clone()));
        assert_eq!(report_of(209, 3, Ecn::Ce), None);
        let second = Report { number: 2, seen: [5, 5000], marked: [3, 3000], ..first };
        assert_eq!(report_of(900, 3, Ecn::Ce), Some(second));
    }
}
