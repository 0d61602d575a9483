//! Laws that hold for every run of any scenario, tested on random scenarios, drawn again each time unless a seed is given, as in
//! `make test`. The engine itself asserts at the end of each run that every packet is accounted for.

mod stages;

use crate::common;

use common::scenarios::{any_scenario, exact};
use common::{link, plan};
use proptest::prelude::*;
use stages::{all_stages, dropped_by_stages, policers_take_no_more_than_they_may, stages_mark};
use std::collections::BTreeSet;
use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::bottleneck::{AqmParams, DifferentiationParams};
use tidegate_mechanisms::impairment::Loss;
use tidegate_mechanisms::stage::{Tunnel, TunnelReport};
use tidegate_mechanisms::units::Span;
use tidegate_scenario::plan::{Buffer, Direction, LinkPlan, Plan, TracedRate, Traffic};
use tidegate_simulator::output::{LinkTable, RunOutput};

proptest! {
    #![proptest_config(exact(1500))]

    #[test]
    fn every_run_obeys_the_laws_of_queues(text in any_scenario(), seed in 0..1000u64) {
        let plan = plan(&text);
        let output = tidegate_simulator::run(&plan, seed);
        numbers_are_no_nonsense(&plan, &output);
        series_are_no_nonsense(&plan, &output);
        round_trips_take_the_path(&plan, &output);
        links_carry_no_more_than_their_rate(&plan, &output);
        queues_stay_within_their_buffers(&plan, &output);
        backlog_follows_littles_law(&plan, &output);
        drops_have_a_possible_reason(&plan, &output);
        tables_agree(&plan, &output);
        shares_are_shares(&plan, &output);
        if plan.warm_up == Span::ZERO {
            nothing_comes_from_nothing(&plan, &output);
        }
        transfers_take_their_time(&plan, &output);
        policers_take_no_more_than_they_may(&plan, &output);
    }
}

fn numbers_are_no_nonsense(plan: &Plan, output: &RunOutput) {
    let (flows, links) = (&output.flows, &output.links);
    let columns = [
        (&flows.throughput_bps, false),
        (&flows.goodput_bps, false),
        (&flows.mean_srtt_s, true),
        (&flows.host_jitter_s, false),
        (&flows.mean_cwnd_packets, true),
        (&links.utilization, false),
        (&links.mean_backlog_packets, true),
        (&links.mean_backlog_bytes, true),
        (&links.max_backlog_bytes, true),
        (&links.mean_sojourn_s, true),
        (&links.p95_sojourn_s, true),
        (&links.p99_sojourn_s, true),
        (&links.max_sojourn_s, true),
        (&output.transfers.start_s, false),
        (&output.transfers.completion_s, true),
        (&output.transfers.set_up_s, true),
        (&output.applications.amount, true),
    ];
    for (column, may_be_unknown) in columns {
        for &value in column {
            let unknown = value.is_nan() && may_be_unknown;
            assert!(unknown || (value.is_finite() && value >= 0.0), "{value} in {column:?}");
        }
    }
    for flow in 0..flows.user.len() {
        assert!(flows.retransmits[flow] <= flows.packets_sent[flow]);
        // Marks reduce a window below one segment (RFC 3168, section 6.1.2), and so do losses that halve it as in ns-2.
        let tcp = plan.flows[flow].tcp.as_deref();
        let may_be_less =
            tcp.is_some_and(|tcp| (tcp.ecn && tcp.ecn_to_one) || tcp.quirks.loss_to_one);
        let cwnd = flows.mean_cwnd_packets[flow];
        assert!(cwnd.is_nan() || cwnd > 1.0 - 1e-9 || (may_be_less && cwnd > 0.0), "window {cwnd}");
    }
}

/// Prices of queues and all other samples are numbers and not negative, except for balances of stages.
fn series_are_no_nonsense(plan: &Plan, output: &RunOutput) {
    let RunOutput { group_series, link_series, flow_series, stage_series, .. } = output;
    for (name, column, may_be_unknown) in [
        ("time", &group_series.time_s, false),
        ("throughput", &group_series.throughput_bps, false),
        ("window", &flow_series.cwnd_packets, false),
        ("round trip", &flow_series.srtt_s, true),
        ("price of a path", &flow_series.price, true),
        ("what an application has", &output.application_series.amount, true),
    ] {
        for &value in column {
            let unknown = value.is_nan() && may_be_unknown;
            assert!(unknown || (value.is_finite() && value >= 0.0), "{name}: {value}");
        }
    }
    let asks =
        |name: &str| plan.links.iter().any(|l| l.name == name && l.aqm.asks_price().is_some());
    for (name, &price) in link_series.link.iter().zip(&link_series.price) {
        let unknown = price.is_nan() && !asks(name);
        assert!(unknown || (price.is_finite() && price >= 0.0), "{name} asks {price}");
    }
    for (level, &amount) in stage_series.level.iter().zip(&stage_series.amount) {
        assert!(amount.is_finite(), "{level}: {amount}");
    }
}

/// No smoothed round trip is shorter than the propagation delay or, with a coarse clock, shorter by more than a tick; a
/// shorter one would be an invalid sample (Karn's algorithm, RFC 6298, section 3).
fn round_trips_take_the_path(plan: &Plan, output: &RunOutput) {
    let least_s = |flow: u32| -> f64 {
        let flow = &plan.flows[flow as usize];
        let route = flow.forward.iter().chain(&flow.reverse);
        let path_s: f64 =
            route.map(|&link| plan.links[link as usize].least_delay().as_secs()).sum();
        let tick = flow.tcp.as_deref().and_then(|tcp| tcp.rto().tick);
        path_s - tick.map_or(0.0, Span::as_secs) - 1e-9
    };
    let (series, flows) = (&output.flow_series, &output.flows);
    let samples = series.flow.iter().zip(&series.srtt_s);
    for (&flow, &srtt_s) in samples.chain(flows.flow.iter().zip(&flows.mean_srtt_s)) {
        let least_s = least_s(flow);
        assert!(
            srtt_s.is_nan() || srtt_s >= least_s,
            "flow {flow}: {srtt_s} s, at least {least_s}"
        );
    }
}

fn seconds(plan: &Plan) -> f64 {
    plan.duration.as_secs()
}

fn largest_packet_bits(plan: &Plan) -> f64 {
    let own = plan.flows.iter().map(|flow| 8.0 * flow.packet_size.as_f64()).fold(0.0, f64::max);
    if !all_stages(plan).iter().any(|(_, stage)| stage.ends_tunnels()) {
        return own;
    }
    // Reports have 71 B, and 4 B for each packet listed.
    let report_bits = 8.0 * (71 + 4 * TunnelReport::MAX_ENTRIES) as f64;
    report_bits.max(own + 8.0 * Tunnel::overhead(true).as_f64())
}

/// Returns the capacity of a buffer, bits.
fn buffer_bits(plan: &Plan, link: &LinkPlan) -> f64 {
    match link.buffer {
        Buffer::Packets(packets) => f64::from(packets) * largest_packet_bits(plan),
        Buffer::Bytes(bytes) => 8.0 * bytes.as_f64(),
    }
}

fn links_carry_no_more_than_their_rate(plan: &Plan, output: &RunOutput) {
    for (number, planned) in plan.links.iter().enumerate() {
        let utilization = output.links.utilization[number];
        assert!(utilization <= 1.0 + 1e-9, "{}: utilisation {utilization}", planned.name);
        // Bits of packets sent to the last bit; the first may have begun before the measurement.
        let departed = 8.0 * output.links.departed_bytes[number] as f64;
        let most = rates_bps(planned).1 * seconds(plan) + largest_packet_bits(plan);
        assert!(departed <= most, "{}: {departed} bits, at most {most}", planned.name);
        // Packets of a flow that arrive in the measured time left this link within a time of the same length, apart
        // from those that were waiting behind it; for other flows that time begins earlier by the difference of their
        // path delays from there.
        let crossing = |flow: &usize| plan.flows[*flow].forward.contains(&(number as u32));
        let flows: Vec<usize> = (0..plan.flows.len()).filter(crossing).collect();
        let throughput: f64 = flows.iter().map(|&flow| output.flows.throughput_bps[flow]).sum();
        let behind = |flow: usize| {
            let route = &plan.flows[flow].forward;
            let here = route.iter().position(|&l| l as usize == number).expect("it crosses");
            route[here + 1..].iter().map(|&link| &plan.links[link as usize])
        };
        let names: BTreeSet<String> =
            flows.iter().flat_map(|&flow| behind(flow)).map(|link| link.name.to_string()).collect();
        let links = plan.links.iter().filter(|link| names.contains(&link.name.to_string()));
        let waiting: f64 = links.map(|link| buffer_bits(plan, link)).sum();
        let path_s = |flow: usize| -> f64 {
            let sending = |link: &LinkPlan| sending_s(link, largest_packet_bits(plan));
            behind(flow).map(|link| link.delay.as_secs() + sending(link)).sum()
        };
        // A delay that becomes shorter lets packets arrive sooner, one behind the other.
        let all = flows.iter().flat_map(|&flow| behind(flow)).chain([&plan.links[number]]);
        let shorter_s = all.map(delays_differ_s).fold(0.0, f64::max) * 4.0;
        let paths = flows.iter().map(|&flow| path_s(flow));
        let (nearest, farthest) = paths.fold((f64::INFINITY, 0.0_f64), |(low, high), direction| {
            (low.min(direction), high.max(direction))
        });
        let apart_s = (farthest - nearest).max(0.0) + shorter_s;
        let rate_bps = rates_bps(planned).1;
        let more = (waiting + largest_packet_bits(plan) + rate_bps * apart_s) / seconds(plan);
        let room = (rate_bps + more) * most_copies(plan) as f64;
        assert!(throughput <= room, "{}: {throughput} bit/s, at most {room}", planned.name);
    }
}

/// Returns the maximum difference of the delays of a link's packets.
fn delays_differ_s(link: &LinkPlan) -> f64 {
    link.longest_delay().as_secs() - link.least_delay().as_secs()
}

/// Returns the maximum time to send `bits` bits, including all outages.
fn sending_s(link: &LinkPlan, bits: f64) -> f64 {
    let changes = &link.rate_changes.0;
    let outages = changes.windows(2).filter(|pair| pair[0].rate.0.as_bps() == 0);
    let outages_s: f64 = outages.map(|pair| (pair[1].at - pair[0].at).as_secs()).sum();
    bits / rates_bps(link).0 + outages_s + silent_s(link, bits)
}

/// Returns the maximum time to send `bits` bits by a trace, whose first and last pass may send nothing.
fn silent_s(link: &LinkPlan, bits: f64) -> f64 {
    let Some(TracedRate { trace, .. }) = &link.rate_trace else { return 0.0 };
    let (sent, sending) = trace.whole();
    (bits * 1e9 / sent as f64 + 2.0) * (trace.length() - sending).as_secs()
}

/// Returns the lowest non-zero rate and the highest rate of a link in the run.
fn rates_bps(link: &LinkPlan) -> (f64, f64) {
    let changes = link.rate_changes.0.iter().map(|change| change.rate.0);
    let trace = link.rate_trace.iter().flat_map(|own| own.trace.steps().iter());
    let traced = trace.map(|step| step.rate_bps as f64);
    let rates = changes.chain([link.rate]).map(|rate| rate.as_bps() as f64).chain(traced);
    let rates = rates.filter(|bps| *bps > 0.0);
    rates.fold((f64::INFINITY, 0.0), |(low, high), bps| (bps.min(low), bps.max(high)))
}

/// What becomes of one packet at most: each wire may deliver it twice.
fn most_copies(plan: &Plan) -> u64 {
    let duplicates = plan.links.iter().filter(|link| link.duplicate.0 > 0.0);
    1 << duplicates.count()
}

fn monitored(plan: &Plan) -> impl Iterator<Item = (usize, &LinkPlan)> {
    plan.links.iter().enumerate().filter(|(_, link)| link.monitored)
}

/// Returns the maximum sojourn time. With FIFO it is the time to send a full buffer; other schedulers may delay a
/// packet for the whole run. The histogram of sojourn times has a resolution of one percent.
fn longest_sojourn_s(plan: &Plan, link: &LinkPlan) -> f64 {
    let longest = match link.scheduler {
        SchedulerParams::Fifo => sending_s(link, buffer_bits(plan, link)),
        // The packet in transmission at the end counts in full.
        _ => {
            let run_s = (plan.warm_up + plan.duration + plan.drain_limit).as_secs();
            run_s + sending_s(link, largest_packet_bits(plan))
        }
    };
    1.01 * longest + 1e-6
}

/// Whether the link may drop packets that have waited.
fn drops_late(link: &LinkPlan) -> bool {
    link.scheduler != SchedulerParams::Fifo || matches!(link.aqm, AqmParams::Codel(_))
}

fn queues_stay_within_their_buffers(plan: &Plan, output: &RunOutput) {
    for (number, planned) in monitored(plan) {
        let LinkTable {
            max_sojourn_s,
            max_backlog_bytes,
            mean_backlog_bytes,
            mean_backlog_packets,
            ..
        } = &output.links;
        let (longest, bound) = (max_sojourn_s[number], longest_sojourn_s(plan, planned));
        assert!(longest.is_nan() || longest <= bound, "{}: {longest} s", planned.name);
        assert!(mean_backlog_bytes[number] <= max_backlog_bytes[number] + 1e-6);
        assert!(8.0 * max_backlog_bytes[number] <= buffer_bits(plan, planned) + 1e-6);
        if let Buffer::Packets(packets) = planned.buffer {
            assert!(mean_backlog_packets[number] <= f64::from(packets) + 1e-9);
        }
    }
}

/// Little's law: mean backlog × time equals the sum of the sojourn times, except for packets present at the beginning
/// or end, and for the waiting times of packets dropped later.
fn backlog_follows_littles_law(plan: &Plan, output: &RunOutput) {
    for (number, planned) in monitored(plan) {
        let links = &output.links;
        if links.mean_sojourn_s[number].is_nan() {
            continue;
        }
        let integral = links.mean_backlog_packets[number] * seconds(plan);
        let sojourns = links.mean_sojourn_s[number] * links.departures[number] as f64;
        // The smallest packets are ACKs of 40 bytes.
        let most_packets = match planned.buffer {
            Buffer::Packets(packets) => f64::from(packets),
            Buffer::Bytes(bytes) => bytes.as_f64() / 40.0,
        };
        let longest = longest_sojourn_s(plan, planned);
        let at_the_edges = most_packets * longest + 1e-6;
        let late = if drops_late(planned) {
            links.drops_aqm[number] + links.drops_full[number]
        } else {
            0
        };
        let wasted = late as f64 * longest;
        let gap = integral - sojourns;
        assert!(
            -at_the_edges <= gap && gap <= at_the_edges + wasted,
            "{}: {integral} and {sojourns}",
            planned.name
        );
    }
}

fn drops_have_a_possible_reason(plan: &Plan, output: &RunOutput) {
    for (number, planned) in plan.links.iter().enumerate() {
        let links = &output.links;
        let signals = planned.aqm != AqmParams::DropTail
            || matches!(
                planned.scheduler,
                SchedulerParams::FqCodel(_)
                    | SchedulerParams::Cake(_)
                    | SchedulerParams::DualPi2(_)
            );
        if !signals {
            assert_eq!((links.drops_aqm[number], links.marks[number]), (0, 0), "{}", planned.name);
        }
        if planned.differentiation == DifferentiationParams::None {
            assert_eq!(links.drops_policer[number], 0, "{}", planned.name);
        }
        if planned.loss == Loss::NONE {
            assert_eq!(links.drops_wire[number], 0, "{}", planned.name);
        }
        if !planned.ecn && planned.aqm.asks_price().is_none() {
            assert_eq!(links.marks[number], 0, "{}", planned.name);
        }
    }
}

/// Returns the drops by each reason.
fn reasons(links: &LinkTable) -> [&Vec<u64>; 4] {
    [&links.drops_full, &links.drops_aqm, &links.drops_wire, &links.drops_policer]
}

/// Links, groups and flows are counted separately, and the counts agree.
fn tables_agree(plan: &Plan, output: &RunOutput) {
    let (links, parts) = (&output.links, &output.link_groups);
    for (number, planned) in monitored(plan) {
        let rows: Vec<usize> =
            (0..parts.link.len()).filter(|&row| planned.name == parts.link[row].as_str()).collect();
        let total = |column: &Vec<u64>| rows.iter().map(|&row| column[row]).sum::<u64>();
        let drops = reasons(links).iter().map(|column| column[number]).sum::<u64>();
        assert_eq!(total(&parts.arrivals), links.arrivals[number]);
        assert_eq!(total(&parts.departures), links.departures[number]);
        assert_eq!(total(&parts.departed_bytes), links.departed_bytes[number]);
        assert_eq!(total(&parts.drops), drops);
        assert_eq!(total(&parts.marks), links.marks[number]);
    }
    let back: BTreeSet<u32> = plan.flows.iter().flat_map(|flow| flow.reverse.clone()).collect();
    let there: BTreeSet<u32> = plan.flows.iter().flat_map(|flow| flow.forward.clone()).collect();
    if back.is_disjoint(&there) {
        let forward_total = |column: &Vec<u64>| -> u64 {
            there.iter().map(|&number| column[number as usize]).sum()
        };
        let drops: u64 = reasons(links).map(forward_total).iter().sum();
        let lost: u64 = output.flows.losses.iter().sum();
        let drops = drops + dropped_by_stages(plan, output, &back);
        assert!(drops >= lost, "{drops} dropped by links and stages, {lost} lost by flows");
        // A dropped report on the path of data is no loss of a flow, nor is a dropped ACK of a page request.
        let alone =
            plan.report_paths().iter().all(|direction| direction.direction == Direction::Forward)
                && !plan.flows.iter().any(|flow| matches!(*flow.traffic, Traffic::Pages(_)));
        if alone {
            assert_eq!(drops, lost, "dropped by links and stages, lost by flows");
        }
        // A packet can be marked by several links, and before the measurement; a wire duplicates marks, too.
        let duplicated = plan.links.iter().any(|link| link.duplicate.0 > 0.0);
        if plan.warm_up == Span::ZERO && !stages_mark(plan) && !duplicated {
            assert!(output.flows.marks.iter().sum::<u64>() <= forward_total(&links.marks));
        }
    }
}

/// For measurements of any length, regardless of send times.
fn shares_are_shares(plan: &Plan, output: &RunOutput) {
    let RunOutput { flows, links, .. } = output;
    for flow in 0..flows.user.len() {
        let (lost, arrived) = (flows.losses[flow], flows.packets_delivered[flow]);
        let loss = lost as f64 / (lost + arrived) as f64;
        assert!(loss.is_nan() || (0.0..=1.0).contains(&loss));
        assert!(flows.marks[flow] <= arrived, "{} of {arrived} marked", flows.marks[flow]);
        assert!(flows.retransmits[flow] <= flows.packets_sent[flow]);
    }
    for (link, planned) in plan.links.iter().enumerate() {
        let (arrivals, departures) = (links.arrivals[link], links.departures[link]);
        let refused = links.drops_full[link] + links.drops_aqm[link] + links.drops_policer[link];
        // At either end of the measurement a buffer may be full.
        let room = match planned.buffer {
            Buffer::Packets(packets) => packets.into(),
            Buffer::Bytes(bytes) => bytes.get() / 40,
        };
        assert!(arrivals.abs_diff(refused + departures) <= room, "{}", planned.name);
        assert!(links.drops_wire[link] <= departures + room, "{}", planned.name);
        assert!(links.marks[link] <= departures + room, "{}", planned.name);
    }
}

/// In a measurement of the whole run: packets lost, delivered or passed were sent before, data in order has arrived,
/// and no link exceeds its rate.
fn nothing_comes_from_nothing(plan: &Plan, output: &RunOutput) {
    let RunOutput { flows, links, .. } = output;
    for (number, flow) in plan.flows.iter().enumerate() {
        let (lost, arrived) = (flows.losses[number], flows.packets_delivered[number]);
        let sent = flows.packets_sent[number];
        let most = sent * most_copies(plan);
        assert!(lost + arrived <= most, "{lost} lost and {arrived} delivered of {sent}");
        let (goodput, throughput) = (flows.goodput_bps[number], flows.throughput_bps[number]);
        assert!(goodput <= throughput, "goodput {goodput}, throughput {throughput} bit/s");
        let rates = flow.forward.iter().map(|&link| rates_bps(&plan.links[link as usize]).1);
        let narrowest = rates.fold(f64::INFINITY, f64::min);
        let most = narrowest * (1.0 + 1e-9) * most_copies(plan) as f64;
        assert!(throughput <= most, "{throughput} on {narrowest} bit/s");
    }
    for (number, planned) in plan.links.iter().enumerate() {
        let departed = 8.0 * links.departed_bytes[number] as f64;
        assert!(departed <= rates_bps(planned).1 * seconds(plan), "{}", planned.name);
        assert!(links.departures[number] <= links.arrivals[number], "{}", planned.name);
    }
}

fn transfers_take_their_time(plan: &Plan, output: &RunOutput) {
    let transfers = &output.transfers;
    for row in 0..transfers.flow.len() {
        let flow = &plan.flows[transfers.flow[row] as usize];
        let routes = flow.forward.iter().chain(&flow.reverse);
        let round_trip: f64 = routes.map(|&l| plan.links[l as usize].least_delay().as_secs()).sum();
        // The handshake takes one, the last segment and its ACK another.
        let took = transfers.completion_s[row];
        assert!(took.is_nan() || took >= 2.0 * round_trip, "transfer of {took} s");
        assert!(transfers.start_s[row] <= output.simulated_s);
    }
}

/// The round trip of the SYN is 1.02 s, so that the SYN is retransmitted after a second and answered twice. Neither end
/// takes an ambiguous sample; with timestamps the client has a valid one.
#[test]
fn a_path_longer_than_the_first_timeout_has_its_round_trip_from_the_beginning() {
    for (traffic, timestamps) in
        [("pages", true), ("pages", false), ("greedy", true), ("greedy", false)]
    {
        let plan = plan(&format!(
            "version = 1\nwarm_up = \"0 s\"\nduration = \"30 s\"\nsample_interval = \"20 ms\"\n\
             tcp.timestamps = {timestamps}\n\
             [bottleneck]\nrate = \"10 Mb/s\"\ndelay = \"510 ms\"\n[users.a]\ntraffic.kind = \"{traffic}\"\n"
        ));
        let output = tidegate_simulator::run(&plan, 1);
        let known = output.flow_series.srtt_s.iter().filter(|srtt_s| !srtt_s.is_nan());
        let least_s = known.copied().fold(f64::INFINITY, f64::min);
        assert!((1.02..1.1).contains(&least_s), "{traffic}, {timestamps}: {least_s} s");
        assert_eq!(output.flows.timeouts, [0], "{traffic}, {timestamps}");
        round_trips_take_the_path(&plan, &output);
    }
}

/// 1 MB in pieces of 4096 bytes takes 245 writes, the last of them 2.44 s after the first. The rest takes less than two
/// round trips of any length, since data that slow start delayed has waited in the socket.
#[test]
fn a_transfer_that_is_written_in_pieces_ends_with_the_last_of_them() {
    for (delay, round_trip) in [("5 ms", 0.010), ("50 ms", 0.100)] {
        let plan = plan(&format!(
            r#"
version = 1
warm_up = "0 s"
duration = "10 s"
host_jitter = "off"
bottleneck = {{ rate = "100 Mb/s", delay = "{delay}", buffer = "1000 packets" }}

[users.a]
traffic = {{ kind = "transfer", size = "1 MB", write_size = "4096 B", write_interval = "10 ms" }}
"#
        ));
        let took = tidegate_simulator::run(&plan, 1).transfers.completion_s[0];
        let rest = took - 2.44;
        assert!(rest > round_trip && rest < 2.0 * round_trip + 0.01, "{delay}: {took} s");
    }
}

/// Bursts of 200 packets add 2.4 s of queueing delay: short transfers retransmit SYNs and segments spuriously, and
/// these arrive after the next transfer has begun. The next transfer ignores them: each takes two round trips, and none
/// hangs.
#[test]
fn late_packets_of_a_transfer_leave_the_next_alone() {
    let text = r#"
version = 1
profile = "classic"
warm_up = "0 s"
duration = "60 s"
tcp = { initial_rto = "210 ms" }
bottleneck = { rate = "1 Mb/s", delay = "30 ms", buffer = "300 packets" }

[users.burst]
traffic = { kind = "transfer", size = "290 kB", pause = "3 s" }
tcp = { initial_window = 200 }

[users.short]
count = 5
traffic = { kind = "transfer", size = "3 kB", pause = "1 ms" }
"#;
    let plan = plan(text);
    for seed in 1..=5 {
        let output = tidegate_simulator::run(&plan, seed);
        transfers_take_their_time(&plan, &output);
        let spurious = output.flows.retransmits.iter().sum::<u64>();
        assert!(spurious > 20, "only {spurious} in vain");
        let last = output.transfers.start_s.iter().copied().fold(0.0, f64::max);
        assert!(last > 50.0, "the last transfer began after {last} s");
    }
}

/// Links with large buffers keep the order: no reordering, retransmission or reduction occurs, with many flows, jitter
/// and all three topologies.
#[test]
fn a_network_that_loses_nothing_reorders_nothing() {
    let networks = [
        "[bottleneck]\nrate = \"10 Mb/s\"\nbuffer = \"2000 packets\"\n[receiver_access]\ndelay = \"3 ms\"\n",
        "[parking_lot]\nhops = 3\nrate = \"10 Mb/s\"\nbuffer = \"2000 packets\"\n",
        "[links.ab]\nfrom = \"r0\"\nto = \"r3\"\nrate = \"10 Mb/s\"\nbuffer = \"2000 packets\"\n",
    ];
    for (network, place) in
        networks.into_iter().zip(["", "from='r0'\nto='r3'\n", "from='r0'\nto='r3'\n"])
    {
        for acks in ["off", "40 ms"] {
            let text = format!(
                "version = 1\nduration = \"10 s\"\n{network}\n[users.one]\ncount = 5\nflows = 3\n{place}\
                 [users.one.tcp]\nwindow_limit = \"40 kB\"\ninitial_rto = \"3 s\"\ntimestamps = true\n\
                 min_rto = \"3 s\"\ndelayed_ack = \"{acks}\"\n"
            );
            let output = tidegate_simulator::run(&plan(&text), 7);
            let flows = &output.flows;
            for column in
                [&flows.losses, &flows.retransmits, &flows.timeouts, &flows.fast_recoveries]
            {
                assert_eq!(column.iter().sum::<u64>(), 0, "{text}");
            }
        }
    }
}

/// Little's law for a long run, in which edge effects are negligible.
#[test]
fn littles_law_holds_to_a_thousandth_over_a_long_run() {
    let text = "version = 1\nprofile = \"classic\"\nwarm_up = \"10 s\"\nduration = \"200 s\"\n\
                [bottleneck]\nrate = \"10 Mb/s\"\nbuffer = \"50 packets\"\n[users.one]\nflows = 8\n";
    let output = tidegate_simulator::run(&plan(text), 3);
    let row = link(&output, "bottleneck");
    let rate = output.links.departures[row] as f64 / 200.0;
    let ratio = output.links.mean_backlog_packets[row] / (rate * output.links.mean_sojourn_s[row]);
    assert!((ratio - 1.0).abs() < 1e-3, "backlog over rate × sojourn: {ratio}");
}

proptest! {
    #![proptest_config(exact(200))]

    /// On a path that never reorders, segments sent before one that has arrived are lost: without timeouts, RACK
    /// retransmits exactly what the queue and the wire have lost, including retransmissions lost several times.
    #[test]
    fn rack_retransmits_nothing_spuriously(
        (flows, buffer, delay_ms) in (1..12u32, 2..80u32, 1..60u32),
        loss in prop_oneof![Just(0.0), 0.0..0.1],
        seed in 0..1000u64,
    ) {
        let text = format!(
            "version = 1\nwarm_up = \"0 s\"\nduration = \"10 s\"\n\
             [bottleneck]\nrate = \"10 Mb/s\"\ndelay = \"{delay_ms} ms\"\n\
             buffer = \"{buffer} packets\"\nloss = {loss}\n\
             [users.one]\nflows = {flows}\ntcp = {{ loss_recovery = \"rack\" }}\n"
        );
        let output = tidegate_simulator::run(&plan(&text), seed);
        let flows = &output.flows;
        for flow in (0..flows.user.len()).filter(|&flow| flows.timeouts[flow] == 0) {
            let (retransmitted, lost) = (flows.retransmits[flow], flows.losses[flow]);
            prop_assert!(retransmitted <= lost, "{retransmitted} sent again, {lost} lost: {text}");
        }
    }
}
