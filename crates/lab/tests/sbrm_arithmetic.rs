//! The kernel programs' arithmetic (`bpf/sbrm.h`, `bpf/tcprm.h`), compiled for this machine, against the same rules
//! in floating point. Needs a C compiler and nothing of BPF.

use crate::compiled;

use compiled::answers;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tidegate_mechanisms::sender::{Control, RoundTripReading, TcpRm, TcpRmParams, Window};
use tidegate_mechanisms::units::{Demand, Share, Whole};

const Q20: f64 = (1 << 20) as f64;
/// Smallest window of the kernel program, in units of 2^-20 packet: a packet every eight round trips.
const LEAST_Q20: u64 = 1 << 17;

/// An ACK, in the paper's quantities.
#[derive(Clone, Copy, Debug)]
struct Ack {
    cwnd_q20: u64,
    kappa_q20: u32,
    willingness_q20: u32,
    rtt_us: u32,
    unmarked: u32,
    marked: u32,
}

impl Ack {
    fn line(&self) -> String {
        let Ack { cwnd_q20, kappa_q20, willingness_q20, rtt_us, unmarked, marked } = self;
        format!("ack {cwnd_q20} {kappa_q20} {willingness_q20} {rtt_us} {unmarked} {marked}")
    }

    /// Returns the window by equations 5.1.2 and 5.1.3, at least an eighth of a packet.
    fn window(&self) -> f64 {
        let cwnd = self.cwnd_q20 as f64 / Q20;
        let (kappa, w) = (f64::from(self.kappa_q20) / Q20, f64::from(self.willingness_q20) / Q20);
        let rtt_s = f64::from(self.rtt_us.min(1 << 24)) * 1e-6;
        let up = kappa * rtt_s / cwnd * w * f64::from(self.unmarked);
        (cwnd + up - kappa * f64::from(self.marked)).max(LEAST_Q20 as f64 / Q20)
    }

    /// Returns the tolerance: two divisions round down for each packet, the first with an error of κ/cwnd, and the
    /// second of a unit.
    fn tolerance(&self) -> f64 {
        let units = f64::from(self.kappa_q20) / self.cwnd_q20 as f64 + 1.0;
        units * f64::from(self.unmarked.max(1)) / Q20 + 1e-9 * self.window()
    }
}

fn acks() -> impl Strategy<Value = Ack> {
    (LEAST_Q20..1 << 50, 1..=1_u32 << 20, 1..=u32::MAX, 1..=1_u32 << 25, 0..200_u32, 0..200_u32)
        .prop_map(|(cwnd_q20, kappa_q20, willingness_q20, rtt_us, unmarked, marked)| Ack {
            // Small windows are the most frequent: the same number of each length in bits.
            cwnd_q20: (cwnd_q20 >> (cwnd_q20 % 34)).max(LEAST_Q20),
            kappa_q20,
            willingness_q20,
            rtt_us,
            unmarked,
            marked,
        })
}

#[test]
fn the_window_follows_the_papers_rule() {
    let mut runner = TestRunner::deterministic();
    let strategy = acks();
    let mut acks: Vec<Ack> = (0..20_000)
        .map(|_| strategy.new_tree(&mut runner).expect("nothing is rejected").current())
        .collect();
    // The maximum of everything, whose products must still fit.
    acks.push(Ack {
        cwnd_q20: LEAST_Q20,
        kappa_q20: 1 << 20,
        willingness_q20: u32::MAX,
        rtt_us: u32::MAX,
        unmarked: 1 << 24,
        marked: 0,
    });
    let lines: Vec<String> = acks.iter().map(Ack::line).collect();
    let Some(windows) = answers(&lines) else { return };
    assert_eq!(windows.len(), acks.len());
    for (ack, window_q20) in acks.iter().zip(windows) {
        let (got, want) = (window_q20 as f64 / Q20, ack.window());
        assert!((got - want).abs() <= ack.tolerance(), "{ack:?}: {got}, expected {want}");
    }
}

/// w = p x / (1 - p): equilibrium of the steps up and down, from section 5.1.1.
#[test]
fn many_acks_settle_at_the_papers_equilibrium() {
    let (rtt_us, willingness, one_in) = (50_000_u32, 100_u32, 10_u32);
    let mut ack = Ack {
        cwnd_q20: 10 << 20,
        kappa_q20: 209_715,
        willingness_q20: willingness << 20,
        rtt_us,
        unmarked: one_in - 1,
        marked: 1,
    };
    // The program has no state between lines; the oracle computes the path, the program checks each step.
    let path: Vec<Ack> = (0..5_000)
        .map(|_| {
            let at = ack;
            ack.cwnd_q20 = (ack.window() * Q20) as u64;
            at
        })
        .collect();
    let Some(windows) = answers(&path.iter().map(Ack::line).collect::<Vec<_>>()) else { return };
    let rate = *windows.last().expect("many") as f64 / Q20 / (f64::from(rtt_us) * 1e-6);
    let want = f64::from(willingness) * f64::from(one_in - 1);
    assert!((rate / want - 1.0).abs() < 0.01, "{rate} packets/s, expected {want}");
}

/// cwnd/RTT in bytes per second, for windows up to the largest that TCP can announce; and one packet more than the
/// integer part.
#[test]
fn packets_are_paced_at_the_windows_rate_and_a_fraction_needs_a_packet_more() {
    let mut runner = TestRunner::deterministic();
    let strategy = (acks(), 88..=65_535_u32);
    let mut cases = vec![(LEAST_Q20, 1, 1 << 24), (1 << 50, 65_535, 1), (3 << 19, 1448, 12_800)];
    for _ in 0..20_000 {
        let (Ack { cwnd_q20, rtt_us, .. }, bytes) =
            strategy.new_tree(&mut runner).expect("nothing is rejected").current();
        cases.push((cwnd_q20, bytes, rtt_us));
    }
    let lines: Vec<String> = cases
        .iter()
        .flat_map(|(cwnd, bytes, rtt)| {
            [format!("pace {cwnd} {bytes} {rtt}"), format!("allowed {cwnd}")]
        })
        .collect();
    let Some(got) = answers(&lines) else { return };
    assert_eq!(got.len(), 2 * cases.len());
    assert_eq!(got[4..6], [169_687, 2], "1.5 packets of 1448 bytes in 12.8 ms");
    for (&(cwnd_q20, bytes, rtt_us), got) in cases.iter().zip(got.chunks(2)) {
        let (cwnd, rtt_s) = (cwnd_q20 as f64 / Q20, f64::from(rtt_us) * 1e-6);
        let window = (cwnd * f64::from(bytes)).min(f64::from(1 << 30));
        let (want, down) = ((window / rtt_s).max(1.0), f64::from(bytes) / Q20 + 1.0 / 1024.0);
        let short = want - got[0] as f64;
        let allowed = -1e-9 * want..=down / rtt_s + 1.0 + 1e-9 * want;
        assert!(allowed.contains(&short), "{cwnd}, {bytes}, {rtt_us}: {}, not {want}", got[0]);
        assert_eq!(got[1], cwnd as u64 + 1);
    }
}

#[test]
fn slow_start_loss_and_limits_are_tcps() {
    let cases = [
        ("start 10485760 20 4", 14 << 20),
        ("start 10485760 12 4", 12 << 20),
        ("start 10485760 2147483647 10", 20 << 20),
        ("loss 20", 10),
        ("loss 5", 2),
        ("loss 3", 2),
        ("loss 1", 2),
        ("valid 1 1", 1),
        ("valid 1048576 4294967295", 1),
        ("valid 0 1", 0),
        ("valid 1048577 1", 0),
        ("valid 1 0", 0),
    ];
    let Some(got) = answers(&cases.map(|(line, _)| line.to_owned())) else { return };
    assert_eq!(got, cases.map(|(_, want)| want));
}

/// TCP/RM's (5.6.2), compared with the source of the simulator: a window less its share, and at least a packet.
#[test]
fn a_round_trip_with_marks_costs_what_the_simulated_source_pays() {
    let mut runner = TestRunner::deterministic();
    let strategy = acks();
    let mut lines =
        vec!["mark 1048576 1048576".to_owned(), format!("mark {} 1048576", 1_u64 << 50)];
    let mut wants = vec![1.0, 1.0];
    for _ in 0..20_000 {
        let Ack { cwnd_q20, kappa_q20, .. } =
            strategy.new_tree(&mut runner).expect("nothing is rejected").current();
        let (cwnd, kappa) = (cwnd_q20 as f64 / Q20, f64::from(kappa_q20) / Q20);
        let params = TcpRmParams {
            willingness_to_pay: Demand(20.0),
            kappa: Share(kappa),
            round_trip: RoundTripReading::Smoothed,
            least_window: Whole(1),
            byte_counting: true,
            halves_in_slow_start: false,
        };
        let window = Window { cwnd, ssthresh: 1.0 };
        wants.push(TcpRm::new(params).ssthresh_on_mark(&window));
        lines.push(format!("mark {cwnd_q20} {kappa_q20}"));
    }
    let Some(windows) = answers(&lines) else { return };
    assert_eq!(windows.len(), wants.len());
    for ((line, window_q20), want) in lines.iter().zip(windows).zip(wants) {
        let got = window_q20 as f64 / Q20;
        assert!((got - want).abs() <= 2.0 / Q20 + 1e-12 * want, "{line}: {got}, expected {want}");
    }
}
