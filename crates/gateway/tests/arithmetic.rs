//! `abc.h` gives what `fixed_point.rs` gives, to the last bit.

use std::io::Write;
use std::process::{Command, Stdio};
use std::{env, fs, thread};

use aya::programs::{SchedClassifier, TestRun, TestRunOptions};
use tidegate_gateway::programs::ARITHMETIC;
use tidegate_mechanisms::fixed_point::{
    FixedAbc, FixedMeter, MAX_ACTIVITY, NEVER_Q24, coupled, threshold,
};
use tidegate_mechanisms::ingress::activity_meter::ActivityMeterParams;
use tidegate_mechanisms::units::{Bytes, Factor, Memory, Rate, Span, Whole};

use crate::kernel::{Draws, is_skipped};

const ETHERNET: usize = 14;

/// As `struct arguments` of `arithmetic.bpf.c` has them.
fn arguments(draws: &mut Draws) -> [u64; 12] {
    let meter = FixedMeter::new(&ActivityMeterParams {
        reference_rate: Rate::from_bps(1_000 + draws.below_power(30)),
        inertia: Span::from_nanos(1_000_000 + draws.below_power(35)),
        burst_allowance: Bytes::new(draws.below_power(24)),
        granularity: None,
        meters: Whole(1),
    });
    let gamma = Factor(draws.below(1_000_000) as f64 / 1e3 * draws.share());
    let abc = FixedAbc::new(gamma, Memory(0.999_9 * draws.share()));
    let now_ns = draws.below_power(62);
    let ahead_ns = draws.below(meter.longest_ns + meter.longest_ns / 8);
    let zero_ns = match draws.below(8) {
        0 => draws.word(),
        1 => now_ns.saturating_sub(draws.below_power(40)),
        _ => now_ns + ahead_ns,
    };
    [
        meter.ns_per_byte_q16,
        meter.activity_per_ns_q50,
        meter.burst_ns,
        meter.longest_ns,
        abc.gamma_q16,
        abc.weight_q20,
        zero_ns,
        now_ns,
        draws.below_power(20),
        draws.below(MAX_ACTIVITY << 36),
        draws.below(NEVER_Q24 + 2),
        draws.below(4 << 24),
    ]
}

fn expected(a: &[u64; 12]) -> [u64; 6] {
    let meter = FixedMeter {
        ns_per_byte_q16: a[0],
        activity_per_ns_q50: a[1],
        burst_ns: a[2],
        longest_ns: a[3],
    };
    let abc = FixedAbc { gamma_q16: a[4], weight_q20: a[5] };
    let (activity, after) = meter.on_packet(a[6], a[7], a[8]);
    let average = abc.observe(a[9], activity);
    let bent = abc.bend(a[10], activity, average);
    [activity, after, average, bent, threshold(bent), threshold(coupled(bent, a[11]))]
}

#[test]
fn c_on_this_host_is_rust_to_the_last_bit() {
    let program = env::temp_dir().join(format!("tidegate-arithmetic-{}", std::process::id()));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/arithmetic.c");
    let compiled = Command::new("cc").args(["-O2", "-o"]).arg(&program).arg(source).status();
    assert!(compiled.expect("Rust needs cc too").success());
    let mut draws = Draws::new(1);
    let cases: Vec<_> = (0..100_000).map(|_| arguments(&mut draws)).collect();
    let lines: String = cases.iter().map(|case| line(case)).collect();
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was compiled");
    let mut input = child.stdin.take().expect("it is piped");
    let writer = thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic").expect("it reads everything");
    fs::remove_file(&program).expect("it is there");
    let output = String::from_utf8(output.stdout).expect("digits");
    assert_eq!(output.lines().count(), cases.len());
    for (case, got) in cases.iter().zip(output.lines()) {
        assert_eq!(got, line(&expected(case)).trim_end(), "{case:?}");
    }
}

fn line(words: &[u64]) -> String {
    let words: Vec<_> = words.iter().map(u64::to_string).collect();
    words.join(" ") + "\n"
}

#[test]
fn the_kernel_is_rust_to_the_last_bit() {
    if is_skipped() {
        return;
    }
    let mut object = aya::Ebpf::load(ARITHMETIC).expect("the kernel takes it");
    let program: &mut SchedClassifier =
        object.program_mut("tidegate_arithmetic").expect("it is there").try_into().expect("tc");
    program.load().expect("the verifier takes it");
    let mut draws = Draws::new(2);
    for _ in 0..20_000 {
        let case = arguments(&mut draws);
        let mut packet = vec![0; ETHERNET];
        packet.extend(case.iter().flat_map(|word| word.to_ne_bytes()));
        let mut after = vec![0; packet.len()];
        program
            .test_run(TestRunOptions {
                data_in: Some(&packet),
                data_out: Some(&mut after),
                ..TestRunOptions::new()
            })
            .expect("it runs");
        let got: Vec<_> = after[ETHERNET..][..48]
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
            .collect();
        assert_eq!(got, expected(&case), "{case:?}");
    }
}
