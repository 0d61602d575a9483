//! A qdisc of the kernel as the queue of a link.
//!
//! The qdisc belongs to a TUN device in its own namespace. Packets enter by a packet socket, which passes them to the
//! device's qdisc, and are read from the device when the qdisc has served them:
//!
//! ```text
//!  forwarder ──packet socket──► qdisc ──► TUN ──read──► forwarder
//! ```
//!
//! A policer is an action at the device's egress, in front of the qdisc. Classes of HTB are found by the priority of the
//! socket, which is that of its packets.
//!
//! What comes out is known by its bytes. Qdiscs keep the order of a flow's packets, so that what stood before a packet
//! that comes out, and has not come out itself, was dropped. Where a qdisc drops all that a flow has there, nothing comes
//! out after it: so each flow has a socket of its own, for which the kernel knows whether anything is left.
//!
//! netem keeps no order, and a packet that it delays belongs to no socket any more (`skb_orphan_partial`). So what has not
//! come out after [`LATEST`] was dropped.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Command;
use std::time::{Duration, Instant};

use tidegate_scenario::plan::{Buffer, FlowPlan, KernelQdisc, LinkPlan, Plan};
use tidegate_simulator::Release;

use crate::host::DEVICE;
use crate::namespace::Namespace;
use crate::{LabError, host, netlink, system};

/// Device queue of served packets that have not been read, packets.
const ROOM_PACKETS: u32 = 4_000;
/// Send buffer of the socket: more than any buffer of a scenario, bytes.
const SOCKET_BYTES: i32 = 1 << 30;
/// Time in which netem serves a packet that it does not drop.
const LATEST: Duration = Duration::from_secs(2);
/// Flows that are looked at after a packet has come out.
const LOOKS: usize = 8;
/// Below the largest packet a token bucket would never send.
const LEAST_BURST: u32 = 1_600;

/// Number of HTB's first class, below that of the link.
const FIRST_CLASS: u32 = 0x10;

/// A qdisc, and the packets in it.
pub struct KernelQueue {
    /// Number of the link that it serves.
    pub link: u32,
    /// When it lets packets go.
    pub release: Release,
    device: OwnedFd,
    /// By flow.
    entrances: Vec<OwnedFd>,
    address: libc::sockaddr_ll,
    /// Packets inside by flow, in the order of arrival.
    inside: Vec<VecDeque<Inside>>,
    /// Flows of which nothing was left in the qdisc when these, the last that went in, had not come out.
    suspects: Vec<(u32, u32)>,
    /// The flow that is looked at next.
    next: usize,
    /// Flows of packets inside by what identifies them, and how many there are of the same.
    flows: HashMap<u64, (u32, u32)>,
    /// Of a qdisc that keeps no order: what went in by time, with flow and handle.
    unordered: Option<VecDeque<(Instant, u32, Inside)>>,
    _namespace: Namespace,
}

#[derive(Clone, Copy)]
struct Inside {
    handle: u32,
    identity: u64,
    ce: bool,
}

/// Packet that a qdisc has served.
#[derive(Debug, PartialEq, Eq)]
pub struct ServedPacket {
    /// Packets of the same flow that it has dropped before.
    pub dropped: Vec<u32>,
    /// Its handle.
    pub handle: u32,
    /// Whether the qdisc has marked it.
    pub marked: bool,
}

impl KernelQueue {
    /// Builds the queue of the link that has one; `mtu` is the largest packet.
    ///
    /// # Errors
    ///
    /// [`LabError::Setup`] if Linux or `tc` rejects a request.
    pub fn build(plan: &Plan, mtu: u32) -> Result<Option<KernelQueue>, LabError> {
        let Some(number) = plan.links.iter().position(|link| link.kernel_qdisc.is_some()) else {
            return Ok(None);
        };
        let link = &plan.links[number];
        let qdisc = link.kernel_qdisc.as_ref().expect("it has one");
        let failed = |error: io::Error| LabError::Setup(format!("{}: {error}", qdisc.kind));
        let namespace = Namespace::create().map_err(failed)?;
        let built = namespace.enter(|| {
            let device = system::create_tun(DEVICE)?;
            let index = host::interface_index(DEVICE)?;
            netlink::set_limits(index, mtu, ROOM_PACKETS)?;
            // Otherwise the kernel would send packets of its own.
            let _ = namespace.set_sysctl(&format!("net.ipv6.conf.{DEVICE}.disable_ipv6"), "1");
            netlink::set_up(index)?;
            for words in commands(qdisc, link, mtu) {
                tc(&words)?;
            }
            let entrance = |flow: &FlowPlan| {
                let entrance = system::packet_socket()?;
                let room = SOCKET_BYTES.to_ne_bytes();
                system::set_option(&entrance, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &room)?;
                if let Some(class) = class_of(qdisc, group_of(plan, flow)) {
                    let priority = class.to_ne_bytes();
                    system::set_option(&entrance, libc::SOL_SOCKET, libc::SO_PRIORITY, &priority)?;
                }
                io::Result::Ok(entrance)
            };
            let entrances = plan.flows.iter().map(entrance).collect::<io::Result<Vec<_>>>()?;
            io::Result::Ok((device, entrances, system::link_address(index)))
        });
        let (device, entrances, address) = built.map_err(failed)?.map_err(failed)?;
        let inside = vec![VecDeque::new(); plan.flows.len()];
        Ok(Some(KernelQueue {
            link: number as u32,
            release: release(qdisc),
            device,
            entrances,
            address,
            inside,
            suspects: Vec::new(),
            next: 0,
            flows: HashMap::new(),
            unordered: (qdisc.kind == "netem").then(VecDeque::new),
            _namespace: namespace,
        }))
    }

    /// Passes a packet to the qdisc. Returns false if it is dropped at once.
    pub fn put(&mut self, flow: u32, handle: u32, bytes: &[u8]) -> io::Result<bool> {
        if !system::send_to_link(&self.entrances[flow as usize], bytes, &self.address)? {
            return Ok(false);
        }
        // Handles are used again.
        self.suspects.clear();
        let identity = identity(bytes);
        let inside = Inside { handle, identity, ce: is_ce(bytes) };
        self.inside[flow as usize].push_back(inside);
        if let Some(unordered) = &mut self.unordered {
            unordered.push_back((Instant::now(), flow, inside));
        }
        self.flows.entry(identity).or_insert((flow, 0)).1 += 1;
        Ok(true)
    }

    /// Evaluates a served packet; `None` if it never entered.
    pub fn take(&mut self, bytes: &[u8]) -> Option<ServedPacket> {
        let identity = identity(bytes);
        let &(flow, _) = self.flows.get(&identity)?;
        if self.unordered.is_some() {
            let at = self.inside[flow as usize].iter().position(|one| one.identity == identity)?;
            let one = self.take_at(flow, at)?;
            let marked = is_ce(bytes) && !one.ce;
            return Some(ServedPacket { dropped: Vec::new(), handle: one.handle, marked });
        }
        let mut dropped = Vec::new();
        while let Some(first) = self.take_first(flow) {
            if first.identity == identity {
                let marked = is_ce(bytes) && !first.ce;
                return Some(ServedPacket { dropped, handle: first.handle, marked });
            }
            dropped.push(first.handle);
        }
        None
    }

    /// Packets that the qdisc has dropped and after which nothing of their flow has come out. All that has come out must have
    /// been read before.
    pub fn find_dropped(&mut self) -> io::Result<Vec<u32>> {
        let mut dropped = Vec::new();
        if self.unordered.is_some() {
            return Ok(self.find_overdue(Instant::now()));
        }
        // What was seen to have left the qdisc has been read since, if it came out.
        for (flow, last) in std::mem::take(&mut self.suspects) {
            let known = self.inside[flow as usize].iter().position(|inside| inside.handle == last);
            for _ in 0..known.map_or(0, |at| at + 1) {
                dropped.extend(self.take_first(flow).map(|first| first.handle));
            }
        }
        for _ in 0..LOOKS.min(self.inside.len()) {
            self.next = (self.next + 1) % self.inside.len();
            if let Some(last) = self.inside[self.next].back()
                && system::unsent_bytes(&self.entrances[self.next])? == 0
            {
                self.suspects.push((self.next as u32, last.handle));
            }
        }
        Ok(dropped)
    }

    /// Whether a flow is to be looked at again as soon as what has come out is read.
    pub fn has_suspects(&self) -> bool {
        !self.suspects.is_empty()
    }

    /// Packets that a qdisc without order has not served in time.
    fn find_overdue(&mut self, now: Instant) -> Vec<u32> {
        let mut dropped = Vec::new();
        while let Some(&(since, flow, inside)) = self.unordered.as_ref().and_then(VecDeque::front)
            && now.duration_since(since) >= LATEST
        {
            self.unordered.as_mut().and_then(VecDeque::pop_front);
            // Another packet may have the handle since.
            let same =
                |one: &Inside| (one.handle, one.identity) == (inside.handle, inside.identity);
            let at = self.inside[flow as usize].iter().position(same);
            dropped.extend(at.and_then(|at| self.take_at(flow, at)).map(|one| one.handle));
        }
        dropped
    }

    fn take_first(&mut self, flow: u32) -> Option<Inside> {
        self.take_at(flow, 0)
    }

    fn take_at(&mut self, flow: u32, at: usize) -> Option<Inside> {
        let first = self.inside[flow as usize].remove(at)?;
        if let Some((_, count)) = self.flows.get_mut(&first.identity) {
            *count -= 1;
            if *count == 0 {
                self.flows.remove(&first.identity);
            }
        }
        Some(first)
    }
}

impl AsFd for KernelQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// When a qdisc lets packets go. CAKE's shaper sends one and then counts the time that it takes (`cake_advance_shaper`), and
/// so does HTB (`htb_charge_class`). TBF takes one from the qdisc below and keeps it until its bucket has been filled for
/// it (`tbf_dequeue`): where its rate is the link's, the transmission has ended then.
fn release(qdisc: &KernelQdisc) -> Release {
    let is_shaper = qdisc.kind == "tbf" && qdisc.has_own_rate();
    if is_shaper || matches!(qdisc.kind, "cake" | "htb") { Release::Begin } else { Release::End }
}

fn group_of<'a>(plan: &'a Plan, flow: &FlowPlan) -> &'a str {
    &plan.groups[plan.users[flow.user].group].name
}

/// Priority of the packets that belong to a group's class, if there are classes: its number in `tc`.
fn class_of(qdisc: &KernelQdisc, group: &str) -> Option<u32> {
    let number = qdisc.classes.iter().position(|class| class.users == group)?;
    Some(1 << 16 | (FIRST_CLASS + number as u32))
}

/// What `tc` is called with. A qdisc without a rate stands below a token bucket that has the link's.
fn commands(qdisc: &KernelQdisc, link: &LinkPlan, mtu: u32) -> Vec<Vec<String>> {
    let rate = format!("{}bit", link.rate.as_bps());
    let (burst, kind) = (mtu.max(LEAST_BURST).to_string(), qdisc.kind);
    let words = |object: &str, rest: &str| -> Vec<String> {
        format!("{object} add dev {DEVICE} {rest}").split(' ').map(str::to_owned).collect()
    };
    let qdisc_words = |rest: &str| words("qdisc", rest);
    let own = |rest: &str| [qdisc_words(rest), qdisc.words()].concat();
    let bucket = format!("root handle 1: tbf rate {rate} burst {burst} limit 100000000");
    match kind {
        "cake" if qdisc.has_own_rate() => vec![own("root cake")],
        "cake" => vec![own(&format!("root cake bandwidth {rate}"))],
        "htb" => {
            let mut all = vec![
                own("root handle 1: htb"),
                words("class", &format!("parent 1: classid 1:1 htb rate {rate} ceil {rate}")),
            ];
            for (number, class) in (FIRST_CLASS..).zip(&qdisc.classes) {
                let first = format!("parent 1:1 classid 1:{number:x} htb");
                all.push([words("class", &first), class.words()].concat());
                all.push(qdisc_words(&format!("parent 1:{number:x} {}", plain_queue(link))));
            }
            all
        }
        "police" => {
            let first = "egress matchall action police";
            let last = ["conform-exceed", "drop/pipe"].map(str::to_owned).to_vec();
            vec![
                qdisc_words("clsact"),
                [words("filter", first), qdisc.words(), last].concat(),
                qdisc_words(&bucket),
                qdisc_words(&format!("parent 1: {}", plain_queue(link))),
            ]
        }
        "tbf" => {
            let rate = if qdisc.has_own_rate() { String::new() } else { format!(" rate {rate}") };
            let burst = if qdisc.sets("burst") { String::new() } else { format!(" burst {burst}") };
            let limited = qdisc.sets("limit") || qdisc.sets("latency");
            let limit = match link.buffer {
                _ if limited => String::new(),
                Buffer::Packets(packets) => {
                    format!(" limit {}", u64::from(packets) * link.packet_size.get())
                }
                Buffer::Bytes(bytes) => format!(" limit {}", bytes.get()),
            };
            vec![own(&format!("root tbf{rate}{burst}{limit}"))]
        }
        _ => vec![qdisc_words(&bucket), own(&format!("parent 1: {kind}"))],
    }
}

/// First come, first served, with room for what the link's buffer holds.
fn plain_queue(link: &LinkPlan) -> String {
    match link.buffer {
        Buffer::Packets(packets) => format!("pfifo limit {packets}"),
        Buffer::Bytes(bytes) => format!("bfifo limit {}", bytes.get()),
    }
}

/// Calls `tc` in the calling thread's namespace.
fn tc(words: &[String]) -> io::Result<()> {
    let done = Command::new("tc").args(words).output().map_err(|error| {
        io::Error::new(error.kind(), format!("tc: {error} (on Debian: apt-get install iproute2)"))
    })?;
    if done.status.success() {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&done.stderr);
    let reason = reason.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    Err(io::Error::other(format!("tc {}: {}", words.join(" "), reason.trim())))
}

/// Returns the identity of a packet, regardless of its ECN field: FNV-1a over identification, addresses, ports, numbers
/// and checksum.
fn identity(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let part = |from: usize, to: usize| &bytes[from.min(bytes.len())..to.min(bytes.len())];
    part(4, 8).iter().chain(part(12, 100)).fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Whether the ECN field is CE.
fn is_ce(bytes: &[u8]) -> bool {
    let Some([first, second]) = bytes.first_chunk() else { return false };
    let ecn = if first >> 4 == 6 { second >> 4 } else { *second };
    ecn & 3 == 3
}

#[cfg(test)]
mod tests {
    use tidegate_scenario::Scenario;

    use super::*;

    fn called(qdisc: &str) -> Vec<String> {
        let text = format!(
            "version = 1\nusers.a.flows = 1\n[bottleneck]\nrate = \"2 Mb/s\"\nbuffer = \"10 packets\"\n\
             kernel_qdisc = {qdisc}\n"
        );
        let plan = Scenario::parse(&text, &[]).expect("the scenario is valid").plan();
        let qdisc = plan.links[0].kernel_qdisc.as_ref().expect("it has one");
        commands(qdisc, &plan.links[0], 1500).iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn a_qdisc_has_the_links_rate_itself_or_stands_below_one_that_has() {
        assert_eq!(
            called("{ kind = \"cake\", dual-srchost = true }"),
            ["qdisc add dev tidegate0 root cake bandwidth 2000000bit dual-srchost"]
        );
        assert_eq!(
            called("\"tbf\""),
            ["qdisc add dev tidegate0 root tbf rate 2000000bit burst 1600 limit 15000"]
        );
        assert_eq!(
            called("{ kind = \"pie\", target = \"20ms\" }"),
            [
                "qdisc add dev tidegate0 root handle 1: tbf rate 2000000bit burst 1600 limit 100000000",
                "qdisc add dev tidegate0 parent 1: pie target 20ms"
            ]
        );
        assert_eq!(
            called("{ kind = \"netem\", delay = [\"20ms\", \"5ms\"] }"),
            [
                "qdisc add dev tidegate0 root handle 1: tbf rate 2000000bit burst 1600 limit 100000000",
                "qdisc add dev tidegate0 parent 1: netem delay 20ms 5ms"
            ]
        );
    }

    #[test]
    fn a_shaper_may_be_slower_than_the_link() {
        assert_eq!(
            called("{ kind = \"cake\", bandwidth = \"1mbit\", overhead = 40, atm = true }"),
            ["qdisc add dev tidegate0 root cake bandwidth 1mbit overhead 40 atm"]
        );
        assert_eq!(
            called("{ kind = \"tbf\", rate = \"1mbit\", burst = 9000 }"),
            ["qdisc add dev tidegate0 root tbf limit 15000 rate 1mbit burst 9000"]
        );
    }

    #[test]
    fn a_policer_stands_in_front_of_the_link() {
        assert_eq!(
            called("{ kind = \"police\", rate = \"1mbit\", burst = 15000 }"),
            [
                "qdisc add dev tidegate0 clsact",
                "filter add dev tidegate0 egress matchall action police rate 1mbit burst 15000 conform-exceed drop/pipe",
                "qdisc add dev tidegate0 root handle 1: tbf rate 2000000bit burst 1600 limit 100000000",
                "qdisc add dev tidegate0 parent 1: pfifo limit 10"
            ]
        );
    }

    #[test]
    fn each_group_has_a_class() {
        assert_eq!(
            called(
                "{ kind = \"htb\", classes = [{ users = \"a\", rate = \"1mbit\", ceil = \"2mbit\" }] }"
            ),
            [
                "qdisc add dev tidegate0 root handle 1: htb",
                "class add dev tidegate0 parent 1: classid 1:1 htb rate 2000000bit ceil 2000000bit",
                "class add dev tidegate0 parent 1:1 classid 1:10 htb rate 1mbit ceil 2mbit",
                "qdisc add dev tidegate0 parent 1:10 pfifo limit 10"
            ]
        );
    }

    #[test]
    fn a_mark_does_not_change_what_a_packet_is_known_by() {
        let plain: Vec<u8> = (0..60).map(|n| if n == 0 { 0x45 } else { n }).collect();
        let mut marked = plain.clone();
        (marked[1], marked[10], marked[11]) = (3, 0, 0);
        assert!(is_ce(&marked) && !is_ce(&plain));
        assert_eq!(identity(&plain), identity(&marked));
        let mut other = plain.clone();
        other[25] ^= 1;
        assert_ne!(identity(&plain), identity(&other));
    }
}
