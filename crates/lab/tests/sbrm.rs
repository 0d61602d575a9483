//! Accuracy of the mark feedback by the receiving end of `tg_sbrm`. Needs root and the program tidegate-bpf.

use crate::common::{self, HeldControls};

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use tidegate_lab::host::IpVersion;
use tidegate_lab::hosts::NetnsHosts;
use tidegate_lab::load::Generator;
use tidegate_wire::packet;

const IPV4_HEADER: usize = 20;
const ECE: u8 = 0x40;

/// Bytes marked on the forward path, and reported on the reverse path.
#[derive(Default)]
struct Tally {
    data: usize,
    /// End of the stream so far.
    end: Option<u32>,
    /// Marked bytes of the stream, by the position of their first.
    marked: BTreeSet<(u32, u32)>,
    acked: Option<u32>,
    echoed_bytes: u64,
}

impl Tally {
    /// Marks every `nth` segment with new data: of a retransmission the receiver may have all already, and then it does
    /// not report its mark.
    fn forward(&mut self, bytes: &mut [u8], nth: usize) {
        let (position, length) = (word(bytes, 4), payload(bytes));
        let repeats = |end: u32| position.wrapping_sub(end) >= 1 << 31;
        if length == 0 || self.end.is_some_and(repeats) {
            return;
        }
        self.end = Some(position.wrapping_add(length));
        self.data += 1;
        let view = packet::parse(bytes).expect("a packet of a kernel");
        assert!(view.ecn.is_ect(), "the kernels did not agree on ECN");
        if self.data.is_multiple_of(nth) {
            assert!(packet::set_ce(bytes, &view));
            self.marked.insert((position, length));
        }
    }

    /// Handles an ACK: with ECE, all bytes that it acknowledges were marked.
    fn reverse(&mut self, bytes: &[u8]) {
        let ack = word(bytes, 8);
        let new = self.acked.map_or(0, |before| ack.wrapping_sub(before));
        if new < 1 << 31 {
            let echo = bytes[IPV4_HEADER + 13] & ECE != 0;
            self.echoed_bytes += if echo { u64::from(new) } else { 0 };
            self.acked = Some(ack);
        }
    }

    fn marked_and_acked_bytes(&self) -> u64 {
        let acked = self.acked.expect("data was acknowledged");
        let seen = |&&(at, len): &&(u32, u32)| acked.wrapping_sub(at.wrapping_add(len)) < 1 << 31;
        self.marked.iter().filter(seen).map(|&(_, length)| u64::from(length)).sum()
    }
}

/// Returns a field of the TCP header.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(*bytes[IPV4_HEADER + at..].first_chunk().expect("TCP"))
}

fn payload(bytes: &[u8]) -> u32 {
    let header = usize::from(bytes[IPV4_HEADER + 12] >> 4) * 4;
    (bytes.len() - IPV4_HEADER - header) as u32
}

/// Carries packets in both directions, and marks.
fn carry(hosts: &NetnsHosts, done: &AtomicBool, nth: usize) -> Tally {
    // Both directions count in one tally.
    let tally = RefCell::new(Tally::default());
    let forward = |bytes: &mut [u8]| {
        tally.borrow_mut().forward(bytes, nth);
        true
    };
    common::inspect(hosts, done, forward, |bytes| tally.borrow_mut().reverse(bytes));
    tally.into_inner()
}

#[test]
fn every_mark_is_reported_once() {
    if common::skipped() {
        return;
    }
    let Some(_held) = HeldControls::start() else { return };
    let plan = common::plan(
        "[users.one.tcp]\necn = true\n\
         congestion_control = { kind = \"sbrm\", willingness_to_pay = 4000 }\n",
    );
    for nth in [100, 20, 3] {
        let tally = common::undisturbed(common::SHORT, || {
            let hosts =
                NetnsHosts::build(&plan, IpVersion::V4).unwrap_or_else(|error| panic!("{error}"));
            let carry = |done: &AtomicBool| carry(&hosts, done, nth);
            let (report, tally) = common::run_over(&plan, &hosts, Generator::Own, carry);
            (tally, report.stall)
        });
        let Some(tally) = tally else { return };
        let (want, got) = (tally.marked_and_acked_bytes(), tally.echoed_bytes);
        let segments = tally.data;
        println!("1 of {nth}: {segments} segments, {want} bytes marked, {got} echoed");
        assert!(segments > 10 * nth, "too few to tell");
        // The first segment can arrive before the program controls the connection.
        assert!(want.abs_diff(got) <= 2 * 1460, "{want} bytes marked, {got} echoed");
    }
}
