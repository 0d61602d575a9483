//! CAKE in whole runs: shaper, overheads, tins, hosts at either end, and the ACK filter.

use crate::common;

use common::{link, plan_with};
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

const LINK: &str = r#"
    version = 1
    warm_up = "5 s"
    duration = "20 s"
    [bottleneck]
    rate = "100 Mb/s"
    delay = "10 ms"
    buffer = "1 MB"
"#;

fn of(scheduler: &str, users: &str) -> RunOutput {
    let text = format!("{LINK}scheduler = {{ kind = \"cake\", {scheduler} }}\n{users}");
    run(&plan_with(&text, &[]), 1)
}

fn throughput(output: &RunOutput) -> Vec<f64> {
    output.flows.throughput_bps.clone()
}

/// The shaper's rate, and 1500 of the bytes that a packet takes of it; the queue is in CAKE.
#[test]
fn a_shaper_sends_at_its_rate_less_the_overhead() {
    let udp = "[users.a]\ntraffic = { kind = \"cbr\", rate = \"30 Mb/s\" }\n";
    for (options, takes) in [
        ("", 1500.0),
        ("overhead = \"38 B\"", 1538.0),
        ("link_layer = \"pppoe-llcsnap\"", 1749.0),
        ("link_layer = \"pppoe-ptm\"", 1554.0),
        ("mpu = \"2 kB\"", 2000.0),
    ] {
        let output = of(&format!("bandwidth = \"8 Mb/s\", {options}"), udp);
        let bottleneck = link(&output, "bottleneck");
        let bps = output.links.utilization[bottleneck] * 100e6;
        let want = 8e6 * 1500.0 / takes;
        assert!((bps / want - 1.0).abs() < 1e-3, "{options}: {bps} and {want} b/s");
    }
}

/// A link of 100 Mb/s behind a shaper of 1 Gb/s is the bottleneck itself, and without a shaper too.
#[test]
fn a_shaper_above_the_links_rate_changes_nothing() {
    let users = "[users.a]\nflows = 3\n";
    for options in ["bandwidth = \"1 Gb/s\"", "unlimited = true", "tins = \"diffserv8\""] {
        let output = of(options, users);
        let used = output.links.utilization[link(&output, "bottleneck")];
        assert!(used > 0.98, "{options}: {used}");
    }
}

/// 10 Mb/s: voice is let go first up to 2.5 Mb/s; bulk has 0.625 Mb/s; best effort the rest.
#[test]
fn tins_have_their_rates_from_the_codepoints_of_users() {
    let cbr = |name: &str, dscp: &str| {
        format!(
            "[users.{name}]\ndscp = \"{dscp}\"\ntraffic = {{ kind = \"cbr\", rate = \"9 Mb/s\" }}\n"
        )
    };
    let users = [cbr("best", "CS0"), cbr("bulk", "CS1"), cbr("voice", "EF")].concat();
    let rates = throughput(&of("bandwidth = \"10 Mb/s\", tins = \"diffserv3\"", &users));
    for (bps, want) in rates.iter().zip([6.875e6, 0.625e6, 2.5e6]) {
        assert!((bps / want - 1.0).abs() < 0.02, "{rates:?}");
    }
    let rates = throughput(&of("bandwidth = \"10 Mb/s\", tins = \"besteffort\"", &users));
    for bps in &rates {
        assert!((bps / (10e6 / 3.0) - 1.0).abs() < 0.02, "{rates:?}");
    }
}

/// Uploads come from the customers' hosts, downloads go to them: 4 flows of one customer against 1 of another, on average
/// over five runs.
#[test]
fn hosts_are_customers_at_the_end_at_which_they_are() {
    let ratio = |isolation: &str, ends: &str| {
        let text = format!(
            "{LINK}duplex = true\nscheduler = {{ kind = \"cake\", isolation = \"{isolation}\" }}\n\
             [users.many]\nflows = {}\n[users.one]\nflows = {}\n{ends}",
            if ends.is_empty() { 4 } else { 1 },
            1,
        );
        let plan = plan_with(&text, &[("bottleneck.rate", "\"10 Mb/s\"")]);
        let ratios = (1..=5).map(|seed| {
            let rates = throughput(&run(&plan, seed));
            let (many, one) = match ends.is_empty() {
                true => (&rates[..4], rates[4]),
                false => (&rates[2..6], rates[6]),
            };
            many.iter().sum::<f64>() / one
        });
        ratios.sum::<f64>() / 5.0
    };
    let downloads = "[users.downloads]\nhosts = \"many\"\nfrom = \"right\"\nto = \"left\"\nflows = 4\n\
                     [users.other]\nhosts = \"one\"\nfrom = \"right\"\nto = \"left\"\n";
    for (isolation, up, down) in [
        ("dual-srchost", 1.0, 4.0),
        ("dual-dsthost", 4.0, 1.0),
        ("triple-isolate", 4.0, 4.0),
        ("dual-host", 1.0, 1.0),
    ] {
        for (ends, want) in [("", up), (downloads, down)] {
            let ratio = ratio(isolation, ends);
            assert!((ratio / want - 1.0).abs() < 0.15, "{isolation} {ends}: {ratio}");
        }
    }
}

/// 50 Mb/s of data need 2,080 ACKs a second, or 0.87 Mb/s; the way back has 0.4 Mb/s.
#[test]
fn the_ack_filter_keeps_acks_from_queueing() {
    let of = |filter: &str| {
        let text = format!(
            "version = 1\nwarm_up = \"5 s\"\nduration = \"20 s\"\n[bottleneck]\nrate = \"50 Mb/s\"\n\
             reverse_rate = \"0.4 Mb/s\"\ndelay = \"10 ms\"\nduplex = true\n\
             scheduler = {{ kind = \"cake\", ack_filter = \"{filter}\" }}\n[users.download]\n"
        );
        let output = run(&plan_with(&text, &[]), 1);
        let [there, back] = ["bottleneck", "bottleneck.reverse"].map(|name| link(&output, name));
        (output.links.utilization[there], output.links.mean_sojourn_s[back])
    };
    let (without, with) = (of("no-ack-filter"), of("ack-filter-aggressive"));
    assert!(without.1 > 0.01, "{without:?}");
    assert!(with.0 > 0.93 && with.1 < 0.01 && with.1 < without.1 / 2.0, "{with:?}, {without:?}");
}
