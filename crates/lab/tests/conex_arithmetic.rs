//! The kernel's ConEx sender (`bpf/conex.h`), packet by packet beside the simulator's.

use crate::compiled::answers_of;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::Scenario;
use tidegate_simulator::conex_replay::{ConexEvent, ConexSignals, declarations};

const PACKET_BYTES: u16 = 1500;
/// Headers of IPv4 and TCP with timestamps.
const HEADER_BYTES: i64 = 52;

/// A way to declare: as in a scenario, and as parameters of the header (unit, losses, flight per credit, share, idle).
const RULES: [(&str, &str); 10] = [
    (r#""per-signal""#, "0 1 0 1048576 0"),
    (r#"{ kind = "per-signal", cheat = "never" }"#, "0 1 0 0 0"),
    (r#"{ kind = "per-signal", cheat = { kind = "understate", share = 0.25 } }"#, "0 1 0 262144 0"),
    (r#""re-ecn""#, "1 0 2 1048576 1000000000"),
    (r#"{ kind = "re-ecn", credit = "flight", losses = true }"#, "1 1 1 1048576 1000000000"),
    (r#"{ kind = "re-ecn", credit = "off" }"#, "1 0 0 1048576 1000000000"),
    (
        r#"{ kind = "re-ecn", cheat = { kind = "understate", share = 0.5 } }"#,
        "1 0 2 524288 1000000000",
    ),
    (r#"{ kind = "rfc7786", repeats_lost = false }"#, "2 1 1 1048576 0"),
    (
        r#"{ kind = "rfc7786", repeats_lost = false, credit = "half-flight", cheat = { kind = "understate", share = 0.5 } }"#,
        "2 1 2 524288 0",
    ),
    (r#"{ kind = "rfc7786", repeats_lost = false, cheat = "credit-alone" }"#, "2 1 1 0 0"),
];

/// Smoothed round-trip time of lossy flows, of some packets' length.
const SRTT: Span = Span::from_millis(80);

/// Rare congestion, some of which turns out to be none, and packets of any size, with pauses.
fn events() -> impl Strategy<Value = Vec<ConexEvent>> {
    let payload = prop_oneof![4 => Just(1448_u64), 1 => 1..=1448_u64];
    let pause = prop_oneof![50 => 0..20_000_000_u64, 1 => 0..3_000_000_000_u64];
    let met = (-1..4_i64, 0..6_i64).prop_map(|(lost, marked)| ConexEvent::Met { lost, marked });
    let sent = (payload, 1..40_u32, pause).prop_map(|(payload, in_flight, pause)| {
        ConexEvent::Sent { payload, in_flight, now: Time::ZERO + Span::from_nanos(pause) }
    });
    let lossy = Just(ConexEvent::Lossy { now: Time::ZERO, srtt: SRTT });
    let one = prop_oneof![2 => met, 1 => lossy, 12 => sent];
    prop::collection::vec(one, 1..400).prop_map(|mut events| {
        let mut clock = Time::ZERO + Span::from_secs(1);
        for event in &mut events {
            match event {
                ConexEvent::Sent { now, .. } => {
                    clock += now.since(Time::ZERO);
                    *now = clock;
                }
                ConexEvent::Lossy { now, .. } => *now = clock,
                ConexEvent::Met { .. } => {}
            }
        }
        events
    })
}

/// An event for the program, in the unit of the parameters: packets, bytes on the wire, or payload.
fn line(event: &ConexEvent, unit: char) -> String {
    let amount = |packets: i64, payload: i64| match unit {
        '0' => packets,
        '1' => payload + packets * HEADER_BYTES,
        _ => payload,
    };
    let mss = i64::from(PACKET_BYTES) - HEADER_BYTES;
    match *event {
        ConexEvent::Met { lost, marked } => {
            format!("met {} {}", amount(lost, lost * mss), amount(marked, marked * mss))
        }
        ConexEvent::Lossy { now, srtt } => format!("lossy {} {}", now.as_nanos(), srtt.as_nanos()),
        ConexEvent::Sent { payload, in_flight, now } => {
            let amount = amount(1, payload as i64);
            let in_flight = i64::from(in_flight) * mss;
            format!("sent {amount} {payload} {in_flight} {}", now.as_nanos())
        }
    }
}

#[test]
fn each_packet_declares_what_the_simulators_does() {
    let mut runner = TestRunner::deterministic();
    let strategy = events();
    let (mut lines, mut want) = (Vec::new(), Vec::new());
    for (conex, parameters) in RULES {
        let text = format!(
            "version = 1\nbottleneck.rate = \"1 Mb/s\"\nusers.a.flows = 1\n\
             tcp = {{ ecn = true, feedback = \"dctcp\", timestamps = true, conex = {conex} }}\n"
        );
        let plan = Scenario::parse(&text, &[]).expect("is valid").plan();
        let tcp = plan.flows[0].tcp.as_deref().expect("is over TCP");
        for _ in 0..60 {
            let events = strategy.new_tree(&mut runner).expect("nothing is rejected").current();
            lines.push(format!("flow {parameters}"));
            let unit = parameters.chars().next().expect("begins with the unit");
            lines.extend(events.iter().map(|event| line(event, unit)));
            let said = declarations(tcp, PACKET_BYTES, &events).into_iter();
            want.extend(said.map(|ConexSignals { loss, mark, credit }| {
                (u64::from(loss) << 6) + (u64::from(mark) << 5) + (u64::from(credit) << 4)
            }));
        }
    }
    let Some(got) = answers_of("conex_trace.c", &lines) else { return };
    assert!(got == want, "at {:?}", got.iter().zip(&want).position(|(got, want)| got != want));
    for signals in [0, 0x40, 0x20, 0x60, 0x10, 0x70] {
        let count = got.iter().filter(|got| **got == signals).count();
        assert!(count > 100, "signals {signals:x}: {count} packets");
    }
}
