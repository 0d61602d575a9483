//! Tests of the counts in a flow's columns, byte by byte and packet by packet.

use crate::common;

use common::{plan, plan_with};
use tidegate_simulator::run;

const TRANSFERS: &str = r#"
version = 1
warm_up = "0 s"
duration = "10 s"
[bottleneck]
rate = "10 Mb/s"
delay = "10 ms"
buffer = "50 packets"
[users.a]
traffic = { kind = "transfer", size = "2 kB", pause = "100 ms" }
"#;

/// A flow's transfers follow one another, each on its own connection, and the last segment of each is partial: 540 of
/// 2,000 bytes. The last transfer of the run may be unfinished.
#[test]
fn goodput_is_the_bytes_of_the_transfers_and_no_more() {
    for (size, loss) in [("1 B", 0.0), ("2 kB", 0.0), ("2 kB", 0.05), ("100 kB", 0.05)] {
        let (quoted, loss) = (format!("\"{size}\""), loss.to_string());
        let overrides =
            [("users.a.traffic.size", quoted.as_str()), ("bottleneck.loss", loss.as_str())];
        let output = run(&plan_with(TRANSFERS, &overrides), 1);
        let (flows, transfers) = (&output.flows, &output.transfers);
        let whole = transfers.completion_s.iter().zip(&transfers.size_bytes);
        let finished: u64 = whole.filter(|(took, _)| !took.is_nan()).map(|(_, size)| size).sum();
        let got = (flows.goodput_bps[0] * 10.0 / 8.0).round() as u64;
        // A transfer that arrived completely and whose last ACK did not yet is unfinished.
        let rest = got.checked_sub(finished).expect("what is finished has arrived");
        assert!(finished > 0 && rest <= transfers.size_bytes[0], "{size}: {got}, {finished}");
        assert!(flows.goodput_bps[0] <= flows.throughput_bps[0], "{size}");
    }
}

#[test]
fn goodput_of_udp_is_its_payload() {
    let traffic = [("users.a.traffic", r#"{ kind = "cbr", rate = "1 Mb/s" }"#)];
    let flows = run(&plan_with(TRANSFERS, &traffic), 1).flows;
    let want = flows.throughput_bps[0] * 1472.0 / 1500.0;
    assert!((flows.goodput_bps[0] - want).abs() < 1e-6 * want);
    assert_eq!(flows.throughput_bps[0] * 10.0, 8.0 * 1500.0 * flows.packets_delivered[0] as f64);
}

/// 10,000 flows on 10 Mb/s: most losses are SYNs. SYNs are included in packets sent, retransmitted, lost and delivered.
#[test]
fn connection_requests_count_wherever_packets_do() {
    let text = "version = 1\nwarm_up = \"5 s\"\nduration = \"5 s\"\n\
                [bottleneck]\nrate = \"10 Mb/s\"\ndelay = \"10 ms\"\n[users.a]\nflows = 10000\n";
    let output = run(&plan(text), 1);
    let total = |column: &[u64]| column.iter().sum::<u64>();
    let flows = &output.flows;
    let (lost, delivered) = (total(&flows.losses), total(&flows.packets_delivered));
    let link = common::link(&output, "bottleneck");
    assert_eq!(output.links.drops_full[link], lost);
    // The packets beyond the bottleneck at the ends of the measurement differ.
    assert!(output.links.departures[link].abs_diff(delivered) < 20);
    assert!(lost > delivered, "{lost} lost, {delivered} delivered");
    let sent = total(&flows.packets_sent);
    // In transit at the ends: the queue and the path before it.
    assert!(
        sent.abs_diff(lost + delivered) < 300,
        "{sent} sent, {lost} lost, {delivered} delivered"
    );
    assert!(total(&flows.retransmits) <= sent);
}

/// Packets pass the second link ahead of time, 1.2 s before they arrive there, and most of them are lost there: a run
/// that ends before counts none of that. In a longer run the same link drops and loses packets.
#[test]
fn what_is_lost_after_the_end_is_not_counted() {
    let text = "version = 1\nwarm_up = \"0 s\"\nduration = \"0.7 s\"\ndrain_limit = \"0 s\"\n\
                [links.ab]\nfrom = \"a\"\nto = \"b\"\nrate = \"2 Mb/s\"\ndelay = \"1.2 s\"\n\
                [links.bc]\nfrom = \"b\"\nto = \"c\"\nbottleneck = false\nrate = \"1 Mb/s\"\ndelay = \"0 s\"\n\
                buffer = \"1 packets\"\nloss = 0.1\n\
                [users.a]\nfrom = \"a\"\nto = \"c\"\npacket_size = \"200 B\"\n\
                traffic = { kind = \"cbr\", rate = \"12 Mb/s\" }\n";
    for (duration, some) in [("\"0.7 s\"", false), ("\"2 s\"", true)] {
        let output = run(&plan_with(text, &[("duration", duration)]), 1);
        let [before, after] = ["ab", "bc"].map(|name| common::link(&output, name));
        let links = &output.links;
        assert_eq!(links.arrivals[after] > 0, some, "arrivals in {duration}");
        assert_eq!(links.drops_full[after] > 0, some, "drops in {duration}");
        assert_eq!(links.drops_wire[after] > 0, some, "losses in {duration}");
        let dropped: u64 = [before, after]
            .iter()
            .map(|&link| links.drops_full[link] + links.drops_wire[link])
            .sum();
        assert_eq!(output.flows.losses[0], dropped, "of the flow in {duration}");
    }
}
