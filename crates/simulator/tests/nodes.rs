//! The network between external nodes at which tunnels begin and end.

use tidegate_mechanisms::stage::{Ecn, Tunnel};
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::Plan;
use tidegate_simulator::{
    Asked, CongestionHeader, Contents, Delivery, Direction, Emulation, NodePlace,
};

const SCENARIO: &str = r#"
version = 1
warm_up = "0 s"
duration = "1 s"
sample_interval = "off"
[links.core]
from = "G"
to = "N"
rate = "10 Mb/s"
delay = "10 ms"
duplex = false
ingress = [{ kind = "pdn-gateway", policers = [{ buckets = "by-user", fill_rate = "1 Mb/s", depth = "15 kB", round_trip = "40 ms" }] }]
egress = [{ kind = "enodeb", interval = "20 ms" }]
[links.back]
from = "N"
to = "G"
rate = "10 Mb/s"
delay = "10 ms"
duplex = false
[links.cell]
from = "N"
to = "phones"
rate = "100 Mb/s"
delay = "5 ms"
[users.phones]
from = "G"
to = "phones"
"#;

/// Stores nothing.
struct Bare;

impl Contents for Bare {
    const OUTSIDE: bool = true;
    const TUNNELS_OUTSIDE: bool = true;

    fn set_activity(&mut self, _: u64, activity: f32) -> f32 {
        activity
    }

    fn activity(&mut self, _: u64) -> f32 {
        0.0
    }

    fn copy(&mut self, packet: u64) -> u64 {
        packet
    }

    fn discard(&mut self, _: u64) {}
}

fn plan() -> Plan {
    Scenario::parse(SCENARIO, &[]).expect("the scenario is valid").plan()
}

fn next(emulation: &mut Emulation<'_, Bare>) -> Delivery {
    std::iter::from_fn(|| Some(emulation.advance())).flatten().next().expect("something comes")
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Returns the begin and end of the only flow's tunnel.
fn places(emulation: &Emulation<'_, Bare>) -> [NodePlace; 2] {
    *emulation.tunnels().first().expect("there is a tunnel")
}

const PLAIN: Asked = Asked {
    len: 1500,
    header: CongestionHeader { ecn: Ecn::NotEct, declared: NOTHING },
    tunnel: None,
};
const NOTHING: tidegate_mechanisms::stage::Declared = tidegate_mechanisms::stage::Declared {
    conex: false,
    loss: false,
    mark: false,
    credit: false,
    re: false,
};

/// From the sender to the gateway, through its tunnel to the eNodeB, and on to the receiver.
#[test]
fn a_packet_leaves_in_front_of_a_node_and_goes_on_behind_it() {
    let plan = plan();
    let mut emulation = Emulation::new(&plan, 1, Bare);
    let [begin, end] = places(&emulation);
    assert_eq!(emulation.node_name(begin.node), "core.ingress.0");
    assert_eq!(begin.end, end.end, "the tunnel leads to the end that stands there");
    emulation.inject(0, Direction::Forward, 7, 1500, PLAIN.header, at(1));
    let there = next(&mut emulation);
    assert_eq!((there.packet, there.place), (7, Some(begin)));
    let judged = emulation.judge(begin, PLAIN, there.at);
    let tunnel = judged.tunnel.expect("it has entered one");
    assert_eq!((tunnel.teid, tunnel.sequence, judged.ecn), (1, 0, Ecn::Ect0));
    let outer = Asked {
        len: 1544,
        header: CongestionHeader { ecn: judged.ecn, ..PLAIN.header },
        tunnel: None,
    };
    assert!(emulation.go_on(begin, 8, outer, there.at).is_none());
    let out = next(&mut emulation);
    assert_eq!((out.packet, out.place.map(|place| place.node)), (8, Some(end.node)));
    let asked = Asked { tunnel: Some(tunnel), ..outer };
    let judged = emulation.judge(end, asked, out.at);
    assert_eq!((judged.dropped, judged.tunnel, judged.ecn), (None, None, Ecn::NotEct));
    emulation.go_on(end, 9, PLAIN, out.at);
    let last = next(&mut emulation);
    assert_eq!((last.packet, last.place, last.direction), (9, None, Direction::Forward));
    let transmission = Span::from_nanos(1544 * 800 + 1500 * 80);
    assert!(last.at.since(there.at) >= Span::from_millis(15) + transmission);
}

/// A drop at a node is a loss of the flow and a count of the stage; reports go back to the gateway.
#[test]
fn drops_of_a_node_are_counted_and_messages_go_in_both_directions() {
    let plan = plan();
    let mut emulation = Emulation::new(&plan, 1, Bare);
    let [begin, end] = places(&emulation);
    assert!(emulation.advance().is_none(), "the measurement begins");
    let dropped =
        (0..100).filter(|_| emulation.judge(begin, PLAIN, at(1)).dropped.is_some()).count();
    assert!(dropped > 80, "a bucket of 15 kB holds ten packets, {dropped} of 100 were dropped");
    let tunnel = Tunnel { teid: 1, sequence: 0, inner_ecn: Ecn::NotEct, re_inserted: Some(false) };
    let asked = Asked { len: 1544, tunnel: Some(tunnel), ..PLAIN };
    assert!(emulation.judge(end, asked, at(2)).report.is_none(), "none is due");
    let later = Asked { tunnel: Some(Tunnel { sequence: 1, ..tunnel }), ..asked };
    let report = emulation.judge(end, later, at(30)).report.expect("one is due");
    assert_eq!(report.tunnel.as_ref().expect("is on a tunnel").received, 2);
    assert!(emulation.send_back(end, 5, Asked { len: 71, ..PLAIN }, at(30)));
    let back = next(&mut emulation);
    assert_eq!((back.packet, back.place.map(|place| place.node)), (5, Some(begin.node)));
    emulation.notify(begin.node, &report);
    emulation.send_on(begin, 6, Asked { len: 42, ..PLAIN }, back.at);
    let answer = next(&mut emulation);
    assert_eq!((answer.packet, answer.place.map(|place| place.node)), (6, Some(end.node)));
    while emulation.next_time() <= at(1001) {
        emulation.advance();
    }
    let emulated = emulation.finish().expect("the measurement is over");
    let counted = |stage: &str, count: &str| {
        let table = &emulated.stages;
        (0..table.value.len())
            .filter(|&row| table.stage[row] == stage && table.count[row] == count)
            .map(|row| table.value[row])
            .sum::<u64>()
    };
    assert_eq!(counted("core.ingress.0", "dropped: bucket empty"), dropped as u64);
    assert_eq!(emulated.losses, [dropped as u64]);
    assert_eq!(
        (counted("core.egress.0", "received"), counted("core.ingress.0", "reports")),
        (2, 1)
    );
}

/// A moved user is in another tunnel; packets in transit stay in the previous one.
#[test]
fn a_user_that_has_moved_takes_the_tunnel_of_its_current_enodeb() {
    let there = "[links.far]\nfrom = \"G\"\nto = \"M\"\nrate = \"10 Mb/s\"\nduplex = false\negress = [\"enodeb\"]\n\
                 [links.far-back]\nfrom = \"M\"\nto = \"G\"\nrate = \"10 Mb/s\"\nduplex = false\n\
                 [links.far-cell]\nfrom = \"M\"\nto = \"others\"\nrate = \"100 Mb/s\"\n";
    let gateway = "ingress = [\"pdn-gateway\"]\negress = [\"enodeb\"]\n";
    let at_gateway = SCENARIO.replace("egress = [{ kind = \"enodeb\", interval = \"20 ms\" }]", "");
    let ingress = at_gateway.find("ingress = ").expect("is there");
    let line = ingress + at_gateway[ingress..].find('\n').expect("ends");
    let core = [&at_gateway[..ingress], gateway, &at_gateway[line + 1..]].concat();
    let text = core.replace("from = \"G\"\nto = \"phones\"", "from = \"S\"\nto = \"phones\"")
        + "moves = [{ at = \"100 ms\", to = \"others\" }, { at = \"200 ms\", to = \"phones\" }]\n"
        + there
        + "[links.sgi]\nfrom = \"S\"\nto = \"G\"\nrate = \"100 Mb/s\"\ndelay = \"10 ms\"\n";
    let text = text.replace("[links.far]\n", "[links.far]\ningress = [\"pdn-gateway\"]\n");
    let plan = Scenario::parse(&text, &[]).expect("the scenario is valid").plan();
    let mut emulation = Emulation::new(&plan, 1, Bare);
    let tunnels = emulation.tunnels();
    assert_eq!(tunnels.len(), 3, "of the way before, between and after: {tunnels:?}");
    assert_eq!(tunnels[0], tunnels[2], "who comes back takes the way that he took before");
    for (packet, sent, tunnel) in [(1, 50, 0), (2, 99, 0), (3, 101, 1), (4, 210, 2)] {
        while emulation.next_time() <= at(sent) {
            assert_eq!(emulation.advance(), None);
        }
        emulation.inject(0, Direction::Forward, packet, 1500, PLAIN.header, at(sent));
        let there = next(&mut emulation);
        assert_eq!((there.packet, there.place), (packet, Some(tunnels[tunnel][0])));
    }
}
