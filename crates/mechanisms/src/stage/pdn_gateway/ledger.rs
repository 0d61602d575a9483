//! Ledger of a tunnel at its beginning: reported congestion, and validation of reports.

use crate::stage::report::TunnelReport;

/// Ledger of a tunnel at its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunnelLedger {
    /// Address of its end.
    end: u32,
    /// Number of packets that have entered; the next has this number, modulo 2¹⁶.
    sent: u64,
    /// Latest number reported, plus one.
    expected: u64,
    /// Latest accepted report.
    reported: ReportedCounts,
}

/// Counters of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedCounts {
    /// Packets that arrived.
    pub received: u32,
    /// Packets marked before they arrived.
    pub marked_before: u32,
    /// Packets that did not arrive.
    pub dropped_before: u32,
    /// Packets lost on the radio.
    pub dropped_here: u32,
}

/// Reason for rejecting a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no tunnel of this number.
    NoTunnel,
    /// It does not come from the tunnel's end.
    Stranger,
    /// It is a duplicate.
    Replayed,
    /// It is older than an accepted one.
    Old,
    /// Its contents are impossible.
    Forged,
}

impl Refusal {
    /// All reasons, with their names in counts.
    pub const ALL: [(Refusal, &'static str); 5] = [
        (Refusal::NoTunnel, "reports_on_no_tunnel"),
        (Refusal::Stranger, "reports_from_strangers"),
        (Refusal::Replayed, "reports_replayed"),
        (Refusal::Old, "reports_old"),
        (Refusal::Forged, "reports_forged"),
    ];
}

impl TunnelLedger {
    /// Returns the ledger of a tunnel to this address, before its first packet.
    pub fn beginning(end: u32) -> Self {
        TunnelLedger { end, sent: 0, expected: 0, reported: ReportedCounts::default() }
    }

    /// Records a packet that enters. Returns its number, modulo 2¹⁶.
    pub const fn send(&mut self) -> u16 {
        self.sent += 1;
        (self.sent - 1) as u16
    }

    /// Returns the counters of the latest accepted report.
    pub const fn reported(&self) -> ReportedCounts {
        self.reported
    }

    /// Handles a report. If it is accepted, returns the increments of its counters; those dropped before may have
    /// decreased, by reordered packets.
    pub fn take(&mut self, report: &TunnelReport) -> Result<[i32; 4], Refusal> {
        if report.from != self.end {
            return Err(Refusal::Stranger);
        }
        let (expected, news) = self.judge(report)?;
        self.expected = expected;
        self.reported = ReportedCounts::of(report);
        Ok(news)
    }

    fn judge(&self, report: &TunnelReport) -> Result<(u64, [i32; 4]), Refusal> {
        let latest = (self.sent as u16).wrapping_sub(1);
        let in_transit = u64::from(latest.wrapping_sub(report.last_sequence));
        let expected = self.sent.checked_sub(in_transit).filter(|expected| *expected > 0);
        let expected = expected.ok_or(Refusal::Forged)?;
        let reported = ReportedCounts::of(report);
        if reported.received.wrapping_add(reported.dropped_before) != expected as u32 {
            return Err(Refusal::Forged);
        }
        if expected == self.expected && reported == self.reported {
            return Err(Refusal::Replayed);
        }
        let news @ [received, marked, _, here] = reported.since(self.reported);
        if expected < self.expected || received < 0 {
            return Err(Refusal::Old);
        }
        let fits = |part: i32| (0..=received).contains(&part);
        if !fits(marked) || !fits(here) {
            return Err(Refusal::Forged);
        }
        Ok((expected, news))
    }
}

impl ReportedCounts {
    const fn of(report: &TunnelReport) -> Self {
        let &TunnelReport { received, marked_before, dropped_before, dropped_here, .. } = report;
        ReportedCounts { received, marked_before, dropped_before, dropped_here }
    }

    /// Returns the increments: received, marked, dropped before, dropped here.
    const fn since(self, before: ReportedCounts) -> [i32; 4] {
        [
            self.received.wrapping_sub(before.received) as i32,
            self.marked_before.wrapping_sub(before.marked_before) as i32,
            self.dropped_before.wrapping_sub(before.dropped_before) as i32,
            self.dropped_here.wrapping_sub(before.dropped_here) as i32,
        ]
    }
}
