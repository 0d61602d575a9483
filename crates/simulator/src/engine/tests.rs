//! Tests with applications that scenario files do not have: data exchanged, and state kept.

use std::rc::Rc;

use tidegate_mechanisms::units::Bytes;
use tidegate_scenario::Scenario;

use super::*;
use crate::applications::{AnyApplication, End, Exchange, Log};
use crate::packet::Options;
use crate::packet::Packet;

const SCENARIO: &str = r#"
version = 1
profile = "classic"
host_jitter = "off"
warm_up = "0 s"
duration = "3 s"
[bottleneck]
rate = "10 Mb/s"
delay = "10 ms"
buffer = "100 packets"
[access]
rate = "1 Gb/s"
delay = "0 s"
[users.one]
start = "0 s"
"#;

fn plan(overrides: &[(&str, &str)]) -> Plan {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let overrides: Vec<_> = overrides.iter().map(own).collect();
    Scenario::parse(SCENARIO, &overrides).expect("a scenario").plan()
}

/// Runs an application to the end of the measurement.
fn play(plan: &Plan, application: Exchange) -> Engine<'_> {
    let mut engine = Engine::new(plan, 1, Receivers::OnArrival);
    engine.ends.replace(0, AnyApplication::Exchange(Box::new(application)));
    engine.run_until(Time::ZERO + plan.duration, LinkReadings::take);
    engine
}

/// Returns the bytes that arrived at an end according to the log, and all other lines.
fn apart(log: &Log, at: End) -> (u64, Vec<String>) {
    let ending = format!(" B arrive at {at:?}");
    let (arrivals, others): (Vec<_>, Vec<_>) =
        log.borrow().iter().cloned().partition(|line| line.ends_with(&ending));
    let bytes = |line: &String| line.split(' ').nth(2)?.parse::<u64>().ok();
    (arrivals.iter().filter_map(bytes).sum(), others)
}

/// 100 kB are requested in 300 bytes: 10 ms each way for the handshake and for the request, 0.3 ms to send the request;
/// then six rounds of slow start, of which the last three fill the link.
#[test]
fn a_request_of_one_end_is_answered_by_the_other_on_the_same_connection() {
    for (client, server) in [(End::Sender, End::Receiver), (End::Receiver, End::Sender)] {
        let log = Log::default();
        let (request, answer) = (Bytes::new(300), Bytes::new(100_000));
        play(&plan(&[]), Exchange::new(client, request, answer, Rc::clone(&log)));
        let (bytes, others) = apart(&log, client);
        assert_eq!(bytes, 100_000);
        let want = [
            format!("30.4 ms 300 B arrive at {server:?}"),
            format!("40.4 ms all of {client:?} is acknowledged"),
            format!("181.6 ms all of {server:?} is acknowledged"),
            "181.6 ms closed".to_owned(),
        ];
        assert_eq!(others, want);
    }
}

/// An end that is sent data counts marked arrivals, including those on the reverse path of its own ACKs (RFC 9768,
/// section 3.2.2): packets, and no bytes for packets without payload.
#[test]
fn marks_on_acks_are_counted_where_data_flows_in_both_directions() {
    let plan = plan(&[
        ("bottleneck.aqm", r#"{ kind = "piecewise-linear", points = [[0, 1.0]] }"#),
        ("bottleneck.ecn", "true"),
        ("bottleneck.ecn_marks_all", "true"),
        ("tcp.ecn", "true"),
        ("tcp.feedback", "accurate"),
    ]);
    let log = Log::default();
    let exchange =
        Exchange::new(End::Sender, Bytes::new(300), Bytes::new(100_000), Rc::clone(&log));
    let mut engine = play(&plan, exchange);
    assert_eq!(apart(&log, End::Sender).0, 100_000);
    let connection = engine.ends.latest(0).expect("it stays");
    let (packets, bytes) = connection.forward.receiver.marked();
    assert_eq!(bytes, 300, "the request's");
    assert_eq!(packets, 1 + 100_000u64.div_ceil(1_460), "the request, and an ACK for each segment");
}

/// Data in the backward direction count neither as received nor as sent by the flow.
#[test]
fn what_flows_back_is_not_counted_as_the_senders() {
    let (plan, log) = (plan(&[]), Log::default());
    let exchange = Exchange::new(End::Sender, Bytes::new(300), Bytes::new(100_000), log);
    let engine = play(&plan, exchange);
    let got = engine.reached[0].received;
    assert_eq!((got.payload_bytes, got.arrivals.packets, got.arrivals.bytes), (300, 2, 400));
    assert_eq!(engine.ends.sent()[0].sent, 2, "the connection's request, and the application's");
}

#[test]
fn connections_that_are_gone_leave_nothing_behind() {
    let plan = plan(&[("bottleneck.buffer", "\"2000 packets\""), ("duration", "\"20 s\"")]);
    let log = Log::default();
    let mut exchange = Exchange::new(End::Sender, Bytes::new(1_000), Bytes::ZERO, Rc::clone(&log));
    (exchange.at_once, exchange.rounds) = (1_000, 3);
    let engine = play(&plan, exchange);
    let closed = log.borrow().iter().filter(|line| line.ends_with("closed")).count();
    assert_eq!(closed, 3_000);
    assert_eq!(engine.ends.places(), (1, 1_001), "one of them stays to answer what arrives late");
}

#[test]
fn ten_thousand_transfers_one_after_the_other_need_two_places() {
    let traffic = r#"{ kind = "transfer", size = "1 kB", pause = "0 s" }"#;
    let plan = plan(&[("duration", "\"420 s\""), ("users.one.traffic", traffic)]);
    let mut engine = Engine::new(&plan, 1, Receivers::AheadOfTime);
    engine.run_until(Time::ZERO + plan.duration, LinkReadings::take);
    assert!(engine.ends.records.len() > 10_000, "{}", engine.ends.records.len());
    assert_eq!(engine.ends.places(), (2, 2));
}

#[test]
fn a_late_packet_of_a_connection_that_is_gone_is_counted_and_not_answered() {
    let traffic = r#"{ kind = "transfer", size = "1 kB", pause = "1 s" }"#;
    let plan = plan(&[("users.one.traffic", traffic)]);
    let mut engine = Engine::new(&plan, 1, Receivers::OnArrival);
    engine.run_until(Time::ZERO + plan.duration, LinkReadings::take);
    let (got, sent) = (engine.reached[0].received, engine.network.ledger.injected);
    let late = Packet { at: engine.now, len: 1_040, ..Packet::default() };
    engine.deliver(late.at, PackedPacket::of(&late));
    let ticket = engine.network.options.put(Options::default());
    let flags = flags::ACK | flags::BACK | flags::OPTIONS;
    let acknowledgement = Packet { payload: ticket, flags, len: 52, ..late };
    engine.deliver(late.at, PackedPacket::of(&acknowledgement));
    assert_eq!(engine.reached[0].received.arrivals.packets, got.arrivals.packets + 1);
    assert_eq!(engine.reached[0].received.payload_bytes, got.payload_bytes);
    assert_eq!(engine.network.ledger.injected, sent);
    assert_eq!(engine.network.options.put(Options::default()), ticket, "its options are gone");
}

/// With losses, so that packets carry SACK blocks.
#[test]
fn prefetching_changes_nothing() {
    let plan = plan(&[("bottleneck.buffer", "\"5 packets\""), ("users.one.count", "30")]);
    let [with, without] = [true, false].map(|prefetches| {
        let mut engine = Engine::new(&plan, 1, Receivers::AheadOfTime);
        engine.prefetches = prefetches;
        format!("{:?}", engine.run())
    });
    assert_eq!(with, without);
}
