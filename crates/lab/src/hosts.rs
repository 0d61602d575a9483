//! The hosts of a plan: one network namespace per user, one for all servers, and the nodes of its tunnels.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tidegate_scenario::plan::{FlowPlan, Plan, TcpPlan};

use crate::LabError;
use crate::host::{IPV6_MIN_MTU, IpVersion, NetnsHost, missing, set};
use crate::netlink::Metrics;
use crate::node::Node;
use crate::{declare, settings, traffic};

/// Server port of flow 0; the others follow.
pub const FIRST_PORT: u16 = 10_000;
/// Maximum number of flows, limited by ports.
pub const ROOM: usize = (u16::MAX - FIRST_PORT) as usize + 1;
/// File descriptors per flow: listener and both ends.
const FDS_PER_FLOW: u64 = 4;
const FDS_PER_HOST: u64 = 2;
const FDS_REST: u64 = 64 + 3 * crate::node::MOST as u64;

/// The hosts of a plan.
#[derive(Debug)]
pub struct NetnsHosts {
    /// Hosts of the users, in the plan's order.
    pub users: Vec<NetnsHost>,
    /// Host of all servers.
    pub server: NetnsHost,
    /// Nodes at which tunnels begin and end.
    pub nodes: Vec<Node>,
    /// IP version.
    pub ip: IpVersion,
    /// Largest packet, bytes.
    pub mtu: u32,
}

impl NetnsHosts {
    /// Builds all hosts of a plan that is not [rejected](crate::examine::rejected). They vanish when this value is
    /// dropped, or the process ends.
    ///
    /// # Errors
    ///
    /// [`LabError::Missing`] without the rights or the device; [`LabError::Setup`] if Linux rejects a request.
    pub fn build(plan: &Plan, ip: IpVersion) -> Result<NetnsHosts, LabError> {
        let missing = missing();
        if !missing.is_empty() {
            return Err(LabError::Missing(missing));
        }
        raise_descriptor_limit(plan)?;
        let mtus: Vec<u32> = (0..plan.users.len()).map(|user| mtu(plan, user)).collect();
        let largest = mtus.iter().copied().max().unwrap_or(IPV6_MIN_MTU);
        let server = NetnsHost::build(ip, ip.server(), largest).map_err(|e| setup("server", &e))?;
        let tcps: Vec<&TcpPlan> =
            plan.flows.iter().filter_map(|flow| flow.tcp.as_deref()).collect();
        for (name, value) in settings::server_sysctls(&tcps) {
            set(&server.namespace, name, &value).map_err(|e| setup("server", &e))?;
        }
        let mut users = Vec::new();
        for (number, &mtu) in mtus.iter().enumerate() {
            let name = plan.user_name(number);
            let user = NetnsHost::build(ip, ip.user(number), mtu).map_err(|e| setup(&name, &e))?;
            let tcps: Vec<&TcpPlan> =
                flows_of(plan, number).filter_map(|flow| flow.tcp.as_deref()).collect();
            if let Some(tcp) = tcps.first() {
                settle(tcp, ip, &user, &server).map_err(|e| setup(&name, &e))?;
            }
            users.push(user);
        }
        let nodes = Node::build_all(plan)?;
        Ok(NetnsHosts { users, server, nodes, ip, mtu: largest })
    }
}

/// Returns the server port of a flow.
pub fn server_port(flow: usize) -> u16 {
    FIRST_PORT + flow as u16
}

fn flows_of(plan: &Plan, user: usize) -> impl Iterator<Item = &FlowPlan> {
    plan.flows.iter().filter(move |flow| flow.user == user)
}

/// Returns the largest packet of a user.
pub fn mtu(plan: &Plan, user: usize) -> u32 {
    let sizes = flows_of(plan, user).map(traffic::largest_packet);
    // A device's MTU is at least the minimum of RFC 791.
    sizes.max().unwrap_or(IPV6_MIN_MTU).max(68)
}

/// Configures the TCP of a user at both ends.
fn settle(tcp: &TcpPlan, ip: IpVersion, user: &NetnsHost, server: &NetnsHost) -> io::Result<()> {
    for (name, value) in settings::sysctls(tcp) {
        set(&user.namespace, name, &value)?;
    }
    // Segments leave room for the option that is inserted into them.
    let option_bytes = declare::option_bytes(tcp, ip);
    let mtu = (option_bytes > 0).then(|| user.mtu - option_bytes);
    user.set_route(server, &Metrics { mtu, ..settings::user_route(tcp) })?;
    server.set_route(user, &settings::server_route(tcp))
}

/// Returns the deviations of the kernel's TCP from the plan: lines that begin with the group.
pub fn deviations_of_users(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    // Users of a group are contiguous, and equal.
    let mut previous = None;
    for (number, user) in plan.users.iter().enumerate() {
        if previous.replace(user.group) != Some(user.group) {
            let name = &plan.groups[user.group].name;
            let tcp = flows_of(plan, number).find_map(|flow| flow.tcp.as_deref());
            let found = tcp.map(settings::deviations).into_iter().flatten();
            lines.extend(found.map(|text| format!("{name}: {text}")));
        }
    }
    lines
}

/// Raises the limit of file descriptors above the default of a shell.
fn raise_descriptor_limit(plan: &Plan) -> Result<(), LabError> {
    let need =
        FDS_PER_FLOW * plan.flows.len() as u64 + FDS_PER_HOST * plan.users.len() as u64 + FDS_REST;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|limit| limit >= need) {
        return Ok(());
    }
    let maximum = maximum.map(|limit| limit.max(need));
    let raised = Rlimit { current: Some(need), maximum };
    setrlimit(Resource::Nofile, raised)
        .map_err(|error| LabError::Setup(format!("{need} open files (ulimit -n): {error}")))
}

fn setup(host: &str, error: &io::Error) -> LabError {
    LabError::Setup(format!("host {host}: {error}"))
}
