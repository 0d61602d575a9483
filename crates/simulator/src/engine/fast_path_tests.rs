//! A mobile network simulated with and without fast paths: all measurements are equal.

use tidegate_scenario::Scenario;

use super::*;

const LTE: &str = include_str!("../../../../scenarios/lte.toml");

/// Runs the network of `scenarios/lte.toml` for a few seconds with several readings, in both modes.
fn run_both(overrides: &[(&str, &str)], receivers: Receivers) -> [RunOutput; 2] {
    let brief = [
        ("warm_up", "\"1.5 s\""),
        ("duration", "\"4 s\""),
        ("intervals", "{ count = 5, length = \"0.8 s\" }"),
        ("sample_interval", "\"100 ms\""),
    ];
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let overrides: Vec<_> = brief.iter().chain(overrides).map(own).collect();
    let plan = Scenario::parse(LTE, &overrides).expect("a scenario").plan();
    [false, true].map(|is_long| {
        let mut engine = Engine::new(&plan, 7, receivers);
        if is_long {
            engine.network.disable_fast_paths();
        }
        engine.run()
    })
}

fn are_equal(overrides: &[(&str, &str)], receivers: Receivers) -> [u64; 2] {
    let [short, long] = run_both(overrides, receivers);
    let events = [short.events, long.events];
    // The last event may differ. NaN stands for values never measured and equals nothing but as text.
    let measured = |output| format!("{:?}", RunOutput { events: 0, simulated_s: 0.0, ..output });
    assert_eq!(measured(short), measured(long), "{overrides:?}");
    events
}

const NO_FLOOD: (&str, &str) = ("users.flood.traffic.rate", "\"1 kb/s\"");

#[test]
fn acknowledgements_that_come_along_with_one_another_are_no_events() {
    let [short, long] = are_equal(&[NO_FLOOD], Receivers::AheadOfTime);
    assert!(short * 100 < long * 90, "{short} events, {long} one by one");
    let [short, long] = are_equal(&[NO_FLOOD], Receivers::OnArrival);
    assert_eq!(short, long, "in real time nothing comes ahead of its time");
}

#[test]
fn in_each_direction_of_a_mobile_network_fast_paths_change_nothing() {
    let gateway = "links.g1-r4.ingress";
    let policer = |buckets: &str| {
        format!(
            r#"{{ buckets = "{buckets}", fill_rate = "2 Mb/s", depth = "50 kB", round_trip = "210 ms" }}"#
        )
    };
    let [users, flows] = ["by-user", "by-flow"].map(policer);
    let gateways = [
        r#"["pdn-gateway"]"#.to_owned(),
        r#"[{ kind = "pdn-gateway", re_inserts = false }]"#.to_owned(),
        format!(r#"[{{ kind = "pdn-gateway", policers = [{users}, {flows}] }}]"#),
    ];
    for own in &gateways {
        are_equal(&[(gateway, own)], Receivers::AheadOfTime);
        are_equal(&[(gateway, own), NO_FLOOD, ("tcp.ecn", "true")], Receivers::AheadOfTime);
    }
    let todays =
        format!(r#"[{{ kind = "pdn-gateway", ecn_rules = "rfc6040", policers = [{users}] }}]"#);
    let [n1, n2, n3] = ["links.r1-n1.egress", "links.r1-n2.egress", "links.r1-n3.egress"];
    let own = r#"[{ kind = "enodeb", ecn_rules = "rfc6040" }]"#;
    for ecn in ["true", "false"] {
        let all = [(gateway, todays.as_str()), (n1, own), (n2, own), (n3, own), ("tcp.ecn", ecn)];
        are_equal(&all, Receivers::AheadOfTime);
    }
    let enodebs = [
        r#"[{ kind = "enodeb", interval = "10 ms" }]"#,
        r#"[{ kind = "enodeb", radio_loss = 0.2, radio_attempts = 2 }]"#,
        r#"[{ kind = "enodeb", interval = "1 s" }, "mark-counter"]"#,
    ];
    for own in enodebs {
        are_equal(&[(n1, own), NO_FLOOD], Receivers::AheadOfTime);
        are_equal(&[(n1, own), NO_FLOOD, ("links.n1-r1.loss", "0.1")], Receivers::AheadOfTime);
    }
}

/// Uplinks on which reports wait behind acknowledgements and overflow, some of them unsuited to packet trains.
#[test]
fn where_reports_and_acknowledgements_contend_the_order_is_the_same() {
    for (rate, buffer) in
        [("300 kb/s", "5 packets"), ("1 Mb/s", "1000 packets"), ("100 Mb/s", "1 packets")]
    {
        let (rate, buffer) = (format!("\"{rate}\""), format!("\"{buffer}\""));
        let narrow = [
            NO_FLOOD,
            ("links.n1-r1.rate", rate.as_str()),
            ("links.n2-r1.buffer", buffer.as_str()),
            ("links.n1-r1.buffer", buffer.as_str()),
            ("links.r1-n1.egress", "[{ kind = \"enodeb\", interval = \"5 ms\" }]"),
            ("links.r1-n2.egress", "[{ kind = \"enodeb\", interval = \"1 ms\" }]"),
        ];
        are_equal(&narrow, Receivers::AheadOfTime);
        let watched = [narrow.as_slice(), &[("links.n1-r1.bottleneck", "true")]].concat();
        are_equal(&watched, Receivers::AheadOfTime);
    }
}

/// Long and short paths: a report is known in advance by the delay to the eNodeB.
#[test]
fn however_long_the_paths_are_the_order_is_the_same() {
    for (down, up) in [("1 us", "300 ms"), ("100 ms", "1 us"), ("3 ms", "3 ms")] {
        let (down, up) = (format!("\"{down}\""), format!("\"{up}\""));
        let delays = [
            NO_FLOOD,
            ("links.r1-n1.delay", down.as_str()),
            ("links.r2-r1.delay", down.as_str()),
            ("links.bottleneck.delay", down.as_str()),
            ("links.cell1.delay", up.as_str()),
            ("links.r1-n1.egress", "[{ kind = \"enodeb\", interval = \"20 ms\" }]"),
        ];
        are_equal(&delays, Receivers::AheadOfTime);
    }
}
