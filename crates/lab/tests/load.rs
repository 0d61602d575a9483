//! Sources send what the plan says, and sinks count it correctly, over a network without losses.

use crate::common;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use common::Wire;
use tidegate_lab::clock::Clock;
use tidegate_lab::host::IpVersion;
use tidegate_lab::hosts::NetnsHosts;
use tidegate_lab::load::{Generator, Load, LoadOptions};
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::Plan;
use tidegate_wire::activity::{ipv4, ipv6};

const SERVERS: [&str; 2] = ["198.19.0.1", "2001:2:0:2::1"];
/// Protocol number in IP's headers.
const UDP: u8 = 17;
const BOTH: [IpVersion; 2] = [IpVersion::V4, IpVersion::V6];

/// Returns the packets sent by the users.
fn of_users(wire: &Wire) -> Vec<&[u8]> {
    let server =
        |packet: &[u8]| SERVERS.contains(&common::addresses(packet).0.to_string().as_str());
    wire.in_order.iter().map(Vec::as_slice).filter(|packet| !server(packet)).collect()
}

#[test]
fn a_greedy_flow_sends_full_packets_and_nothing_else_is_on_the_wire() {
    for ip in BOTH {
        if common::skipped() {
            return;
        }
        let Some((report, wire)) = common::run(&common::plan("[users.a]\nflows = 1\n"), ip) else {
            return;
        };
        let flow = &report.flows[0];
        assert!(flow.goodput_bytes > 1_000_000, "{flow:?}");
        assert!(flow.sent > Some(1_000) && flow.mean_cwnd_packets > Some(1.0), "{flow:?}");
        assert!(flow.mean_srtt_s.is_some_and(|srtt_s| srtt_s < 0.5), "{flow:?}");
        assert_eq!(wire.strays, Vec::<Vec<u8>>::new());
        assert_eq!(of_users(&wire).iter().map(|packet| packet.len()).max(), Some(1500));
    }
}

#[test]
fn a_transfer_is_whole_and_timed() {
    for ip in BOTH {
        if common::skipped() {
            return;
        }
        let users = "[users.a]\nflows = 1\ntraffic = { kind = \"transfer\", size = \"300 kB\" }\n";
        let Some((report, _)) = common::run(&common::plan(users), ip) else { return };
        let [transfer] = report.transfers[..] else { panic!("{:?}", report.transfers) };
        assert_eq!((transfer.flow, transfer.size_bytes), (0, 300_000));
        assert!(transfer.completion.is_some_and(|span| span.as_secs() < 1.0), "{transfer:?}");
    }
}

/// Each transfer of one byte is a SYN and a segment; the transfer at either end of the measurement may be partly in it.
#[test]
fn connection_requests_are_among_the_packets_sent() {
    if common::skipped() {
        return;
    }
    let traffic = "{ kind = \"transfer\", size = \"1 B\", pause = \"5 ms\" }";
    let users = format!("[users.a]\nflows = 1\ntraffic = {traffic}\n");
    let Some((report, _)) = common::run(&common::plan(&users), IpVersion::V4) else { return };
    let (flow, goodput) = (&report.flows[0], report.flows[0].goodput_bytes);
    assert!(goodput > 20, "{flow:?}");
    let sent = flow.sent.expect("counted") - flow.retransmits.expect("counted");
    assert!(sent.abs_diff(2 * goodput) <= 2, "{flow:?}");
}

#[test]
fn a_sink_counts_every_packet_of_a_constant_rate() {
    for ip in BOTH {
        if common::skipped() {
            return;
        }
        let users = "[users.a]\nflows = 1\ntraffic = { kind = \"cbr\", rate = \"12 Mb/s\" }\n";
        let Some((report, wire)) = common::run(&common::plan(users), ip) else { return };
        let flow = &report.flows[0];
        // 1000 packets of 1500 B a second, and a hundred for a stall at either end.
        let sent = flow.sent.expect("counted");
        assert!(sent.abs_diff(500) <= 150, "{flow:?}");
        assert_eq!(flow.lost, Some(0), "{flow:?}");
        let payload = 1500 - u64::from(ip.header_bytes()) - 8;
        assert_eq!(flow.goodput_bytes % payload, 0);
        assert!((flow.goodput_bytes / payload).abs_diff(sent) <= 150, "{flow:?}");
        assert!(of_users(&wire).iter().all(|packet| packet.len() == 1500));
        assert!(report.lateness.packets > 600 && report.lateness.mean_s() < Some(0.05));
    }
}

#[test]
fn every_packet_of_a_metered_flow_has_room_for_the_activity() {
    for ip in BOTH {
        for traffic in ["greedy\"", "cbr\", rate = \"12 Mb/s\""] {
            if common::skipped() {
                return;
            }
            let users = format!(
                "[users.a]\nflows = 1\nmeter = {{ reference_rate = \"1 Mb/s\" }}\n\
                 traffic = {{ kind = \"{traffic} }}\n"
            );
            let Some((_, wire)) = common::run(&common::plan(&users), ip) else { return };
            let packets = of_users(&wire);
            assert!(packets.len() > 500, "{} packets", packets.len());
            for packet in &packets {
                let activity = match ip {
                    IpVersion::V4 => ipv4::parse(packet),
                    IpVersion::V6 => {
                        assert_eq!(packet[6], ipv6::DESTINATION_OPTIONS);
                        ipv6::parse(&packet[40..])
                    }
                };
                let bits = activity.expect("well-formed").map(|activity| activity.bits());
                assert_eq!(bits, Some(0), "{packet:x?}");
            }
            assert_eq!(packets.iter().map(|packet| packet.len()).max(), Some(1500));
        }
    }
}

/// Returns the sequence number after the last byte, and the acknowledgement, of an IPv4 TCP packet.
fn tcp_numbers(packet: &[u8]) -> (u32, u32) {
    let tcp = &packet[usize::from(packet[0] & 15) * 4..];
    let word = |at: usize| u32::from_be_bytes(*tcp[at..].first_chunk::<4>().expect("a word"));
    let payload = tcp.len() - usize::from(tcp[12] >> 4) * 4;
    (word(4).wrapping_add(payload as u32), word(8))
}

#[test]
fn no_more_is_in_flight_than_the_window_limit() {
    if common::skipped() {
        return;
    }
    let users = "[users.a]\nflows = 1\ntcp = { window_limit = \"60 kB\" }\n";
    let (plan, own) = (common::plan(users), Generator::Own);
    // ACKs are delayed, so that the sender only fills the window.
    let run = common::run_by(&plan, IpVersion::V4, own, Span::from_millis(5));
    let Some((_, wire)) = run else { return };
    let (mut acked, mut most) = (None::<u32>, 0);
    // The kernel sets the window with the first full segments, and is corrected when the server first reads.
    for packet in wire.in_order.iter().skip(500) {
        let (end, acknowledgement) = tcp_numbers(packet);
        if common::addresses(packet).0.to_string() == SERVERS[0] {
            acked = Some(acknowledgement);
        } else if let Some(acked) = acked {
            most = most.max(end.wrapping_sub(acked) as i32);
        }
    }
    assert!((50_000..=60_000).contains(&most), "{most} B on the way");
}

#[test]
fn transfers_follow_each_other_after_a_pause() {
    if common::skipped() {
        return;
    }
    let users = "[users.a]\nflows = 1\n\
                 traffic = { kind = \"transfer\", size = \"30 kB\", pause = \"50 ms\" }\n";
    let Some((report, _)) = common::run(&common::plan(users), IpVersion::V4) else { return };
    let done: Vec<_> =
        report.transfers.iter().filter_map(|t| Some((t.start, t.completion?))).collect();
    assert!(done.len() >= 3, "{done:?}");
    for pair in done.windows(2) {
        let pause = pair[1].0.since(pair[0].0 + pair[0].1).as_secs();
        // Longer only by the load of the machine.
        assert!((0.05..0.3).contains(&pause), "{pause} s");
    }
}

#[test]
fn a_run_that_is_late_for_its_measured_time_says_so() {
    if common::skipped() {
        return;
    }
    let traffic = "{ kind = \"cbr\", rate = \"1 Mb/s\" }";
    let plan = common::plan(&format!("[users.a]\nflows = 1\ntraffic = {traffic}\n"));
    let hosts = NetnsHosts::build(&plan, IpVersion::V4).expect("hosts");
    let mut load = Load::new(&plan, &hosts, 1, LoadOptions::default()).expect("load");
    let clock = Clock::start();
    let end = Time::ZERO + plan.warm_up + plan.duration;
    // A tenth of a second longer than the warm-up.
    std::thread::sleep(Duration::from_millis(300));
    let report = load.run(&clock, end, &AtomicBool::new(false)).expect("a report");
    assert!(report.stall >= Span::from_millis(100), "{report:?}");
}

#[test]
fn iperf3_can_make_the_load_instead() {
    if common::skipped() || iperf3_is_missing() {
        return;
    }
    // Both start in the warm-up, which is long: on a busy machine programs take half a second to start.
    let users = "[users.greedy]\nflows = 1\nstart = \"0 s\"\n\
                 [users.cbr]\ntraffic = { kind = \"cbr\", rate = \"12 Mb/s\" }\n\
                 start = \"0 s\"\n";
    let plan = Plan { warm_up: Span::from_secs(2), ..common::plan(users) };
    for ip in BOTH {
        let Some((report, wire)) = common::run_by(&plan, ip, Generator::Iperf3, Span::ZERO) else {
            return;
        };
        let [greedy, cbr] = &report.flows[..] else { panic!("{report:?}") };
        assert!(greedy.goodput_bytes > 0, "{greedy:?}");
        assert!(greedy.mean_srtt_s.is_some() && greedy.mean_cwnd_packets.is_some(), "{greedy:?}");
        // On a busy machine iperf3 falls behind and catches up, so that the rate of 1000 packets/s limits only the
        // whole run: 2.5 s, a second beyond it, and up to one more.
        let datagrams = datagrams(&wire);
        let (count, bytes) = (datagrams.len() as u64, datagrams.iter().sum::<u64>());
        assert!(count < 4_700, "{count} datagrams");
        assert!(cbr.sent.is_some_and(|sent| (1..=count).contains(&sent)), "{cbr:?} of {count}");
        assert!((1..=bytes).contains(&cbr.goodput_bytes), "{cbr:?} of {bytes} B");
        assert_eq!(of_users(&wire).iter().map(|packet| packet.len()).max(), Some(1500));
    }
}

/// Returns the payload of each full datagram that the users have sent: iperf3 begins with a short one.
fn datagrams(wire: &Wire) -> Vec<u64> {
    let payload = |packet: &[u8]| match packet[0] >> 4 {
        4 => (packet[9] == UDP).then_some(packet.len() - 28),
        _ => (packet[6] == UDP).then_some(packet.len() - 48),
    };
    let all = of_users(wire).into_iter().filter_map(payload);
    all.filter(|&bytes| bytes > 1_000).map(|bytes| bytes as u64).collect()
}

fn iperf3_is_missing() -> bool {
    let missing = std::process::Command::new("iperf3").arg("--version").output().is_err();
    if missing {
        println!("skipped: needs iperf3");
    }
    missing
}
