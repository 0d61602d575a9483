//! The nodes of a mobile network at which tunnels begin and end: a network namespace each, with a device, an address
//! and a socket on the port of GTP-U.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd;

use socket2::{Domain, Socket, Type};
use tidegate_mechanisms::stage::StageParams;
use tidegate_scenario::plan::{Direction, LinkPlan, Plan};
use tidegate_wire::gtpu::PORT;

use crate::LabError;
use crate::host::{IpVersion, NetnsHost};
use crate::system;
use crate::tunnels::TunnelEnds;

/// Receive buffer, bytes; the kernel's default holds only 90 full packets.
const RECEIVE_BUFFER: i32 = 4 << 20;
/// Maximum number of nodes, limited by addresses.
pub const MOST: usize = 250;

/// A PDN gateway or an eNodeB.
#[derive(Debug)]
pub struct Node {
    /// Name of its stage, such as `g1-r4.ingress.0`.
    pub name: String,
    /// Its namespace and device.
    pub host: NetnsHost,
    /// Its socket, on the port of GTP-U.
    pub socket: Socket,
}

/// Planned node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Planned {
    name: String,
    /// MTU of its device, bytes.
    mtu: u32,
}

impl Node {
    /// Builds all nodes of a plan.
    pub fn build_all(plan: &Plan) -> Result<Vec<Node>, LabError> {
        let build = |(number, Planned { name, mtu }): (usize, Planned)| {
            let built = Node::build(address(number), mtu);
            let (host, socket) =
                built.map_err(|error| LabError::Setup(format!("node {name}: {error}")))?;
            Ok(Node { name, host, socket })
        };
        planned(plan).into_iter().enumerate().map(build).collect()
    }

    /// Returns the parts that the forwarder needs.
    pub fn ends(&self) -> TunnelEnds<'_> {
        let Node { name, host, socket } = self;
        let IpAddr::V4(address) = host.address else { unreachable!("tunnels run over IPv4") };
        TunnelEnds { name, device: host.device.as_fd(), socket, address }
    }

    fn build(address: Ipv4Addr, mtu: u32) -> io::Result<(NetnsHost, Socket)> {
        let host = NetnsHost::build(IpVersion::V4, IpAddr::V4(address), mtu)?;
        let socket = host.namespace.enter(|| {
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
            socket.bind(&SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, PORT).into())?;
            socket.set_recv_tos_v4(true)?;
            socket.set_nonblocking(true)?;
            let room = RECEIVE_BUFFER.to_ne_bytes();
            system::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &room)?;
            io::Result::Ok(socket)
        })??;
        Ok((host, socket))
    }
}

/// Returns the features of a plan's tunnels that the lab does not support, a line each.
pub fn not_carried(plan: &Plan) -> Vec<String> {
    let mut lines = BTreeSet::new();
    if plan.stages.iter().any(|stage| stage.params.is_of_tunnels()) {
        lines.insert(
            "pdn-gateway, enodeb: the lab needs them at links; put them at links.NAME.ingress and links.NAME.egress"
                .to_owned(),
        );
    }
    for (flow, direction) in
        plan.paths().flat_map(|flow| Direction::ALL.map(|direction| (flow, direction)))
    {
        let route = direction.route(flow);
        for hop in 0..=route.len() {
            let stages = || flow.stages_at(plan, direction, hop);
            if stages().count() > 1 && stages().any(StageParams::is_of_tunnels) {
                let before = hop.checked_sub(1).map(|hop| ("egress", route[hop]));
                let (place, link) = before.unwrap_or(("ingress", route[0]));
                lines.insert(format!(
                    "links.{}.{place}: a tunnel node must be the only stage between two links; put other stages at another link",
                    plan.links[link as usize].name
                ));
            }
        }
    }
    let count = planned(plan).len();
    if count > MOST {
        lines.insert(format!("{count} nodes of tunnels: there are addresses for {MOST}"));
    }
    lines.into_iter().collect()
}

fn planned(plan: &Plan) -> Vec<Planned> {
    let mtus = plan
        .links
        .iter()
        .flat_map(|link| &link.ingress)
        .filter_map(|stage| stage.tunnel_end()?.mtu);
    let mtu = mtus.max().map_or(0, |mtu| mtu.get() as u32);
    let of_link = |link: &LinkPlan| {
        let at = |place: &'static str, stages: &[StageParams]| -> Vec<Planned> {
            let own = stages.iter().enumerate().filter(|(_, stage)| stage.is_of_tunnels());
            own.map(|(i, _)| Planned { name: format!("{}.{place}.{i}", link.name), mtu }).collect()
        };
        [at("ingress", &link.ingress), at("egress", &link.egress)].concat()
    };
    plan.links.iter().flat_map(of_link).collect()
}

/// Returns the address of a node, in the network of all hosts (RFC 2544), besides the servers.
fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(198, 19, 1, (1 + number) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_scenario::Scenario;

    const TUNNELS: &str = r#"
version = 1
[links.core]
from = "G"
to = "N"
rate = "20 Mb/s"
delay = "5 ms"
duplex = false
ingress = [{ kind = "pdn-gateway", mtu = "1700 B" }]
egress = [{ kind = "enodeb" }]
[links.back]
from = "N"
to = "G"
rate = "20 Mb/s"
delay = "5 ms"
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

    fn plan(text: &str) -> Plan {
        Scenario::parse(text, &[]).expect("the scenario is valid").plan()
    }

    #[test]
    fn there_is_a_node_where_a_tunnel_begins_and_one_where_it_ends() {
        let plan = plan(TUNNELS);
        assert_eq!(not_carried(&plan), [""; 0]);
        let names = planned(&plan).into_iter().map(|node| (node.name, node.mtu));
        let wanted = ["core.ingress.0", "core.egress.0"].map(|name| (name.to_owned(), 1700));
        assert_eq!(names.collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn what_the_lab_does_not_support_is_reported_with_its_place() {
        let beside = TUNNELS
            .replace("{ kind = \"enodeb\" }", "{ kind = \"mark-counter\" }, { kind = \"enodeb\" }");
        let [line] = &not_carried(&plan(&beside))[..] else { panic!("one error") };
        assert!(line.starts_with("links.core.egress: "), "{line}");
        let of_users = TUNNELS.replace("egress = [{ kind = \"enodeb\" }]", "")
            + "egress = [{ kind = \"enodeb\" }]\n";
        let [line] = &not_carried(&plan(&of_users))[..] else { panic!("one error") };
        assert!(line.contains("links.NAME.egress"), "{line}");
        let two = TUNNELS.replace(
            "rate = \"100 Mb/s\"",
            "ingress = [\"pdn-gateway\"]\negress = [\"enodeb\"]\nrate = \"100 Mb/s\"",
        );
        let lines = not_carried(&plan(&two));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("links.core.egress: "), "{lines:?}");
    }

    /// The end of an uplink tunnel, and both directions of a duplex link.
    #[test]
    fn tunnels_up_have_nodes_of_their_own() {
        let up = TUNNELS
            .replace("kind = \"pdn-gateway\"", "kind = \"enodeb-uplink\"")
            .replace("kind = \"enodeb\" ", "kind = \"pdn-gateway-uplink\" ");
        assert_eq!(not_carried(&plan(&up)), [""; 0]);
        assert_eq!(planned(&plan(&up)).len(), 2);
        let (from, to) = (TUNNELS.find("[links.back]"), TUNNELS.find("[links.cell]"));
        let mut duplex = TUNNELS.replacen("duplex = false", "duplex = true", 1);
        duplex.replace_range(from.expect("is there") - 1..to.expect("is there") - 1, "");
        assert_eq!(not_carried(&plan(&duplex)), [""; 0]);
        let names: Vec<_> = planned(&plan(&duplex)).into_iter().map(|node| node.name).collect();
        let up = ["core.reverse.ingress.0", "core.reverse.egress.0"];
        assert_eq!(names, [&up[..], &["core.ingress.0", "core.egress.0"]].concat());
    }
}
