//! Networks with very many users.

use crate::common;

use common::plan;
use tidegate_simulator::run;

/// A link's number has 18 bits, and more where there are more links. All packets meet at one link, which sends 8,333 in a
/// millisecond: within 13 ms all flows have sent their first packet, and a third of them two more.
#[test]
fn a_network_has_more_links_than_eighteen_bits_count() {
    let plan = plan(
        r#"
version = 1
profile = "classic"
warm_up = "0 s"
duration = "50 ms"
sample_interval = "off"

[tcp]
initial_window = 1

[bottleneck]
rate = "100 Gb/s"
delay = "1 ms"
buffer = "500000 packets"

[access]
delay = "0.2 ms"

[users.many]
count = 140000
start = { from = "0 s", to = "10 ms" }
"#,
    );
    assert!(plan.links.len() > 1 << 18);
    let output = run(&plan, 1);
    let delivered = |flow: usize| output.flows.packets_delivered[flow] > 0;
    assert_eq!((0..plan.flows.len()).find(|flow| !delivered(*flow)), None);
}
