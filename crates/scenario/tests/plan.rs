//! Tests of plans resolved from files.

use tidegate_mechanisms::bottleneck::{AqmParams, DifferentiationParams};
use tidegate_mechanisms::parameters::Choice;
use tidegate_mechanisms::sender::{
    CubicGrowth, CubicParams, DctcpParams, PragueParams, RenoParams, SenderParams, SlowStartExit,
};
use tidegate_mechanisms::stage::StageParams;
use tidegate_mechanisms::units::{Bytes, OrOff, Rate, Span, Whole};
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::{AttachmentPlan, Buffer, LinkPlan, PausePlan, Plan, Traffic};

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, &[]).unwrap_or_else(|issues| panic!("{issues:#?}"))
}

fn plan_with(text: &str, overrides: &[(&str, &str)]) -> Plan {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let overrides: Vec<_> = overrides.iter().map(own).collect();
    Scenario::parse(text, &overrides).unwrap_or_else(|issues| panic!("{issues:#?}")).plan()
}

fn names(plan: &Plan, route: &[u32]) -> Vec<String> {
    route.iter().map(|link| plan.links[*link as usize].name.to_string()).collect()
}

fn link<'a>(plan: &'a Plan, name: &str) -> &'a LinkPlan {
    plan.links.iter().find(|link| link.name == name).expect(name)
}

const DUMBBELL: &str = r#"
version = 1

[bottleneck]
rate = "10 Mb/s"
delay = "20 ms"
aqm = { kind = "piecewise-linear", function = "pf-11-17-24-0.01" }
differentiation = { kind = "abc", gamma = 2.0 }

[users.heavy]
flows = 3
meter = { reference_rate = "0.05 Mb/s", meters = 2, burst_allowance = "1 MB" }

[users.light]
count = 2
access = { rate = "50 Mb/s" }
tcp = { congestion_control = "reno" }
"#;

#[test]
fn a_dumbbell_leads_every_flow_over_access_and_bottleneck_and_back() {
    let plan = scenario(DUMBBELL).plan();
    assert_eq!(plan.flows.len(), 5);
    assert_eq!(plan.users.iter().map(|user| user.group).collect::<Vec<_>>(), [0, 1, 1]);
    let last = &plan.flows[4];
    assert_eq!(names(&plan, &last.forward), ["light.1.access", "bottleneck"]);
    assert_eq!(names(&plan, &last.reverse), ["bottleneck.reverse", "light.1.access.reverse"]);
}

#[test]
fn an_egress_makes_the_dumbbell_two_sided() {
    let plan = plan_with(
        DUMBBELL,
        &[("receiver_access.delay", "3 ms"), ("users.heavy.receiver_access.delay", "7 ms")],
    );
    let first = &plan.flows[0];
    assert_eq!(
        names(&plan, &first.forward),
        ["heavy.0.access", "bottleneck", "heavy.0.receiver_access"]
    );
    let back = ["heavy.0.receiver_access.reverse", "bottleneck.reverse", "heavy.0.access.reverse"];
    assert_eq!(names(&plan, &first.reverse), back);
    assert_eq!(link(&plan, "heavy.0.receiver_access").delay, Span::from_millis(7));
    assert_eq!(link(&plan, "light.1.receiver_access").delay, Span::from_millis(3));
}

#[test]
fn users_of_a_group_have_several_delays_by_turns() {
    let plan = plan_with(
        DUMBBELL,
        &[("users.light.count", "5"), ("users.light.receiver_access.delay", r#"["3 ms", "7 ms"]"#)],
    );
    let delays =
        |way| [0, 1, 2, 3, 4].map(|user| link(&plan, &format!("light.{user}.{way}")).delay);
    assert_eq!(delays("receiver_access"), [3, 7, 3, 7, 3].map(Span::from_millis));
    assert_eq!(delays("receiver_access.reverse"), delays("receiver_access"));
    let one = |text| plan_with(DUMBBELL, &[("receiver_access.delay", text)]);
    assert_eq!(one(r#"["3 ms"]"#), one("3 ms"));
}

const ONE_HOST: &str = r#"
version = 1
bottleneck = { rate = "10 Mb/s", duplex = true }
receiver_access = { rate = "1 Gb/s" }
[users.up]
count = 2
meter = { reference_rate = "1 Mb/s" }
[users.down]
count = 2
hosts = "up"
from = "right"
to = "left"
egress = [{ kind = "mark-counter" }]
[users.more]
count = 2
hosts = "up"
"#;

#[test]
fn users_at_others_hosts_share_their_link_and_its_stages() {
    let plan = scenario(ONE_HOST).plan();
    let customers: Vec<_> = plan.users.iter().map(|user| user.customer).collect();
    assert_eq!(customers, [0, 1, 0, 1, 0, 1]);
    let [up, down, more] = [1, 3, 5].map(|flow| &plan.flows[flow]);
    assert_eq!(names(&plan, &up.forward), ["up.1.access", "bottleneck", "up.1.receiver_access"]);
    assert_eq!(
        names(&plan, &more.forward),
        ["up.1.access", "bottleneck", "more.1.receiver_access"]
    );
    let there = ["down.1.access", "bottleneck.reverse", "up.1.access.reverse"];
    assert_eq!(names(&plan, &down.forward), there);
    let back = ["up.1.access", "bottleneck", "down.1.access.reverse"];
    assert_eq!(names(&plan, &down.reverse), back);
    let attachment = |back, hop, stage| AttachmentPlan { back, hop, replicas: vec![stage] };
    let nodes = |route: &[u32]| -> Vec<_> {
        route.iter().map(|&link| plan.links[link as usize].ends).collect()
    };
    assert_eq!(nodes(&up.forward), [(4, 0), (0, 1), (1, 5)]);
    assert_eq!(nodes(&down.reverse), [(4, 0), (0, 1), (1, 8)], "the same host, another far end");
    assert_eq!(*up.attachments, [attachment(false, 1, 1)]);
    assert_eq!(more.attachments, up.attachments);
    assert_eq!(*down.attachments, [attachment(false, 2, 3), attachment(true, 1, 1)]);
}

/// A meter remains per user even then.
#[test]
fn users_of_a_group_may_share_stages_at_ingress_and_egress() {
    let stages = [
        ("users.light.meter", r#"{ reference_rate = "0.1 Mb/s" }"#),
        ("users.light.ingress", r#"["mark-counter"]"#),
        ("users.light.egress", r#"["mark-counter"]"#),
    ];
    let names_and_attachments = |shares: &str| {
        let plan =
            plan_with(DUMBBELL, &[&stages[..], &[("users.light.shares_stages", shares)]].concat());
        let names = plan.stages.iter().map(|stage| stage.name.clone()).collect::<Vec<_>>();
        let attachments = [3, 4].map(|flow: usize| {
            plan.flows[flow]
                .attachments
                .iter()
                .flat_map(|attachment| attachment.replicas.clone())
                .collect::<Vec<_>>()
        });
        (names[2..].join(" "), attachments)
    };
    let (own, attachments) = names_and_attachments("false");
    let each =
        |user: u32| format!("light.{user}.meter light.{user}.ingress.0 light.{user}.egress.0");
    assert_eq!(own, format!("{} {}", each(0), each(1)));
    assert_eq!(attachments, [[2, 3, 4], [5, 6, 7]]);
    let (shared, attachments) = names_and_attachments("true");
    assert_eq!(shared, "light.0.meter light.ingress.0 light.egress.0 light.1.meter");
    assert_eq!(attachments, [[2, 3, 4], [5, 3, 4]]);
}

#[test]
fn the_reverse_link_of_a_bottleneck_may_be_an_equal_link() {
    let plan = plan_with(DUMBBELL, &[("bottleneck.duplex", "true")]);
    let (there, back) = (link(&plan, "bottleneck"), link(&plan, "bottleneck.reverse"));
    let ends = (back.ends.1, back.ends.0);
    assert_eq!(LinkPlan { name: there.name.clone(), ends, ..back.clone() }, *there);
}

#[test]
fn the_reverse_link_of_a_bottleneck_neither_drops_nor_signals() {
    let plan = scenario(DUMBBELL).plan();
    let back = link(&plan, "bottleneck.reverse");
    assert_eq!((back.rate, back.delay), (Rate::mbps(10), Span::from_millis(20)));
    assert_eq!(back.buffer, Buffer::Packets(10_000));
    assert_eq!((&back.aqm, back.monitored), (&AqmParams::DropTail, false));
    assert!(link(&plan, "bottleneck").monitored);
}

#[test]
fn several_meters_share_the_reference_rate_and_the_burst_allowance() {
    let plan = scenario(DUMBBELL).plan();
    assert_eq!(
        *plan.flows[2].attachments,
        [AttachmentPlan { back: false, hop: 1, replicas: vec![0, 1] }]
    );
    assert_eq!(plan.stages.len(), 2);
    let StageParams::ActivityMeter(meter) = &plan.stages[1].params else { panic!("a meter") };
    assert_eq!(meter.reference_rate, Rate::from_bps(25_000));
    assert_eq!(meter.burst_allowance, Bytes::new(500_000));
    assert!(plan.flows[3].attachments.is_empty());
}

/// Reno as in Linux.
const RENO: SenderParams =
    SenderParams::Reno(RenoParams { whole_segments: true, byte_counting: true });

fn slow_start_exit(name: &str) -> SlowStartExit {
    let place = SlowStartExit::KINDS.iter().position(|kind| kind.0 == name);
    SlowStartExit::from_values(place.expect("is one of the kinds"), Vec::new())
}

#[test]
fn a_group_overrides_the_scenario_which_overrides_the_profile() {
    let plan = plan_with(DUMBBELL, &[("tcp.initial_window", "4"), ("users.light.tcp.ecn", "true")]);
    assert!(scenario(DUMBBELL).simulator_lacks().is_empty());
    let tcp = |flow: usize| plan.flows[flow].tcp.as_deref().expect("greedy").clone();
    let (slow_start_exit, growth) = (slow_start_exit("linux-hystart"), CubicGrowth::Linux);
    let cubic = SenderParams::Cubic(CubicParams { slow_start_exit, growth, beta: None });
    assert_eq!((tcp(0).congestion_control, tcp(3).congestion_control), (cubic, RENO));
    assert_eq!((tcp(0).initial_window, tcp(3).initial_window), (Whole(4), Whole(4)));
    assert_eq!((tcp(0).ecn, tcp(3).ecn), (false, true));
    assert_eq!(link(&plan, "light.0.access").rate, Rate::mbps(50));
    assert_eq!(link(&plan, "light.0.access").delay, Span::from_micros(100));
}

/// They need ECN, whatever the profile says, and a file that says all says so too.
#[test]
fn dctcp_and_prague_have_ecn_and_are_scalable() {
    let dctcp = SenderParams::Dctcp(DctcpParams { whole_segments: true, byte_counting: true });
    let reference_rtt = OrOff::On(Span::from_millis(25));
    let prague = SenderParams::Prague(PragueParams { reference_rtt });
    for (name, want) in [("reno", RENO), ("dctcp", dctcp), ("prague", prague)] {
        for key in ["tcp", "users.light.tcp"] {
            let key = format!("{key}.congestion_control");
            let scenario = Scenario::parse(DUMBBELL, &[(key.clone(), name.to_owned())]);
            let scenario = scenario.expect("valid");
            let (plan, scalable) = (scenario.plan(), name != "reno");
            let flow = &plan.flows[if key.starts_with("users") { 3 } else { 0 }];
            let tcp = flow.tcp.as_deref().expect("greedy");
            assert_eq!((&tcp.congestion_control, tcp.ecn), (&want, scalable), "{key}");
            assert_eq!(flow.is_scalable(), scalable);
            assert!(scenario.simulator_lacks().is_empty());
            let again = Scenario::parse(&scenario.to_toml(), &[]).expect("valid as written");
            assert_eq!(again.plan(), plan);
        }
    }
    let classic = [("tcp.congestion_control", "prague"), ("tcp.feedback", "classic")];
    assert!(
        !plan_with(DUMBBELL, &classic).flows[0].is_scalable(),
        "it needs feedback about each mark"
    );
    let options =
        [("tcp.congestion_control", "prague"), ("tcp.congestion_control.reference_rtt", "off")];
    let plan = plan_with(DUMBBELL, &options);
    let tcp = plan.flows[0].tcp.as_deref().expect("greedy");
    let prague = PragueParams { reference_rtt: OrOff::Off };
    assert_eq!(tcp.congestion_control, SenderParams::Prague(prague));
}

/// Parameters that a group leaves unset come from the scenario if it has the same sender, else from the profile.
#[test]
fn parameters_of_a_sender_are_layered_as_the_options_around_it() {
    let reno = |whole_segments, byte_counting| {
        SenderParams::Reno(RenoParams { whole_segments, byte_counting })
    };
    let scenario = r#"{ kind = "reno", byte_counting = false }"#;
    for (own, want) in [
        ("reno", reno(true, false)),
        (r#"{ kind = "reno", whole_segments = false }"#, reno(false, false)),
        (
            r#"{ kind = "dctcp", whole_segments = false }"#,
            SenderParams::Dctcp(DctcpParams { whole_segments: false, byte_counting: true }),
        ),
    ] {
        let options =
            [("tcp.congestion_control", scenario), ("users.light.tcp.congestion_control", own)];
        let plan = plan_with(DUMBBELL, &options);
        let sender =
            |flow: usize| &plan.flows[flow].tcp.as_deref().expect("greedy").congestion_control;
        assert_eq!((sender(0), sender(3)), (&reno(true, false), &want), "{own}");
    }
}

#[test]
fn a_key_of_a_mechanism_can_be_set_where_the_file_has_its_name_alone() {
    let key = ("users.light.tcp.congestion_control.byte_counting", "false");
    let plan = plan_with(DUMBBELL, &[key]);
    let tcp = plan.flows[3].tcp.as_deref().expect("greedy");
    let want = RenoParams { whole_segments: true, byte_counting: false };
    assert_eq!(tcp.congestion_control, SenderParams::Reno(want));
}

#[test]
fn slow_start_ends_as_the_profile_or_the_file_says() {
    let exit_of = |options: &[(&str, &str)]| {
        let plan = plan_with(DUMBBELL, options);
        let tcp = plan.flows[0].tcp.as_deref().expect("greedy").clone();
        let SenderParams::Cubic(cubic) = tcp.congestion_control else { panic!("cubic") };
        cubic.slow_start_exit
    };
    for word in ["loss", "hystart", "linux-hystart"] {
        let given = format!("{{ kind = \"cubic\", slow_start_exit = \"{word}\" }}");
        assert_eq!(exit_of(&[("tcp.congestion_control", &given)]), slow_start_exit(word));
    }
    let classic = [("profile", "classic"), ("tcp.congestion_control", "cubic")];
    assert_eq!(exit_of(&classic), SlowStartExit::Loss);
}

#[test]
fn automatic_host_jitter_is_a_packet_time_on_the_slowest_link_but_what_hosts_have_with_linux() {
    for profile in ["classic", "linux-2.6.29"] {
        let plan = plan_with(DUMBBELL, &[("profile", profile)]);
        assert_eq!(plan.flows[0].jitter, Span::from_micros(1_200));
        let options = [("profile", profile), ("users.heavy.access.rate", "1 Mb/s")];
        assert_eq!(plan_with(DUMBBELL, &options).flows[0].jitter, Span::from_millis(12));
    }
    assert_eq!(scenario(DUMBBELL).plan().flows[0].jitter, Span::from_micros(50));
    let fast = plan_with(DUMBBELL, &[("bottleneck.rate", "1 Gb/s"), ("access.rate", "1 Gb/s")]);
    assert_eq!(fast.flows[0].jitter, Span::from_micros(12), "a packet time, where that is less");
    let fixed = plan_with(DUMBBELL, &[("host_jitter", "3 us")]);
    assert_eq!(fixed.flows[0].jitter, Span::from_micros(3));
    assert_eq!(plan_with(DUMBBELL, &[("host_jitter", "off")]).flows[0].jitter, Span::ZERO);
}

#[test]
fn only_transfers_without_repetition_prolong_a_run() {
    assert_eq!(scenario(DUMBBELL).plan().drain_limit, Span::ZERO);
    let traffic = "users.heavy.traffic";
    let once = plan_with(DUMBBELL, &[(traffic, "{ kind = 'transfer', size = '1 MB' }")]);
    assert_eq!(once.drain_limit, Span::from_secs(600));
    let repeated =
        "{ kind = 'transfer', size = '1 MB', pause = '8 s', pause_distribution = 'exponential' }";
    let repeated = plan_with(DUMBBELL, &[(traffic, repeated)]);
    assert_eq!(repeated.drain_limit, Span::ZERO);
    let Traffic::Transfer(transfer) = &*repeated.flows[0].traffic else { panic!() };
    assert_eq!(transfer.pauses(), Some(PausePlan::Exponential(Span::from_secs(8))));
}

#[test]
fn series_have_at_most_three_hundred_samples_by_default() {
    let step = |duration| plan_with(DUMBBELL, &[("duration", duration)]).sample_interval;
    assert_eq!(step("30 s"), Some(Span::from_millis(100)));
    assert_eq!(step("100 s"), Some(Span::from_millis(500)));
    assert_eq!(step("5 s"), Some(Span::from_millis(20)));
    assert_eq!(plan_with(DUMBBELL, &[("sample_interval", "off")]).sample_interval, None);
}

#[test]
fn intervals_make_up_the_duration() {
    let plan = plan_with(DUMBBELL, &[("intervals", "{ count = 10, length = \"500 s\" }")]);
    assert_eq!((plan.duration, plan.intervals), (Span::from_secs(5000), 10));
    assert_eq!(plan_with(DUMBBELL, &[]).intervals, 1);
}

#[test]
fn policers_have_the_papers_buckets_by_default() {
    let differentiation = |kind: &str| {
        let plan = plan_with(DUMBBELL, &[("bottleneck.differentiation.kind", kind)]);
        link(&plan, "bottleneck").differentiation.clone()
    };
    let DifferentiationParams::Icp(icp) = differentiation("icp") else { panic!() };
    assert_eq!((icp.fill_rate.as_bps(), icp.depth.get()), (4400, 350_000));
    let DifferentiationParams::AicpB(aicp) = differentiation("aicp-b") else { panic!() };
    assert_eq!((aicp.fill_rate.as_bps(), aicp.depth.get()), (2400, 225_000));
    assert_eq!((aicp.start.0, aicp.max_probability.0), (0.25, 0.5));
}

#[test]
fn overriding_a_kind_drops_what_the_other_kind_had() {
    let plan = plan_with(DUMBBELL, &[("bottleneck.differentiation.kind", "none")]);
    assert_eq!(link(&plan, "bottleneck").differentiation, DifferentiationParams::None);
    let plan = plan_with(DUMBBELL, &[("bottleneck.aqm.kind", "drop-tail")]);
    assert_eq!(link(&plan, "bottleneck").aqm, AqmParams::DropTail);
}

#[test]
fn a_parking_lot_leads_along_its_row() {
    let text = r#"
        version = 1
        [parking_lot]
        hops = 3
        rate = ["1 Gb/s", "2 Gb/s", "3 Gb/s"]
        delay = "8 ms"
        buffer = ["10 packets", "20 packets", "30 kB"]
        [users.long]
        from = "r0"
        to = "r3"
        [users.short]
        from = "r1"
        to = "r2"
    "#;
    let plan = scenario(text).plan();
    assert_eq!(names(&plan, &plan.flows[0].forward), ["long.0.access", "r0-r1", "r1-r2", "r2-r3"]);
    assert_eq!(names(&plan, &plan.flows[1].forward), ["short.0.access", "r1-r2"]);
    assert_eq!(names(&plan, &plan.flows[1].reverse), ["r2-r1", "short.0.access.reverse"]);
    assert_eq!(link(&plan, "r1-r2").rate, Rate::mbps(2_000));
    assert_eq!(link(&plan, "r2-r3").buffer, Buffer::Bytes(Bytes::new(30_000)));
}

const TRIANGLE: &str = r#"
    version = 1
    [links.direct]
    from = "a"
    to = "c"
    rate = "10 Mb/s"
    delay = "30 ms"
    [links.first]
    from = "a"
    to = "b"
    rate = "10 Mb/s"
    delay = "10 ms"
    [links.second]
    from = "b"
    to = "c"
    rate = "10 Mb/s"
    delay = "10 ms"
    duplex = false
    [users.all]
    from = "a"
    to = "c"
"#;

/// The least delay decides: there are two short links, but the second has only one direction.
#[test]
fn a_free_topology_takes_the_path_of_least_delay() {
    let plan = scenario(TRIANGLE).plan();
    assert_eq!(names(&plan, &plan.flows[0].forward), ["all.0.access", "first", "second"]);
    assert_eq!(names(&plan, &plan.flows[0].reverse), ["direct.reverse", "all.0.access.reverse"]);
}

#[test]
fn among_paths_of_equal_delay_the_one_with_fewer_hops_wins() {
    let plan = plan_with(TRIANGLE, &[("links.direct.delay", "20 ms")]);
    assert_eq!(names(&plan, &plan.flows[0].forward), ["all.0.access", "direct"]);
}

#[test]
fn a_sweep_has_all_combinations_the_last_key_fastest() {
    let text = format!(
        "{DUMBBELL}\n[sweep]\n\"users.heavy.flows\" = [1, 2]\n\
         \"bottleneck.differentiation.kind\" = [\"none\", \"abc\"]\n"
    );
    let points = scenario(&text).points();
    let values: Vec<Vec<&str>> = points
        .iter()
        .map(|point| point.iter().map(|(_, value)| value.as_str()).collect())
        .collect();
    assert_eq!(values, [["1", "\"none\""], ["1", "\"abc\""], ["2", "\"none\""], ["2", "\"abc\""]]);
    for point in &points {
        Scenario::parse(&text, point).unwrap_or_else(|issues| panic!("{issues:?}"));
    }
}

#[test]
fn a_point_is_what_its_overrides_say_without_the_sweep() {
    let text = format!("{DUMBBELL}\n[sweep]\n\"bottleneck.delay\" = [\"10 ms\", \"20 ms\"]\n");
    for overrides in scenario(&text).points() {
        let whole = Scenario::parse(&text, &overrides).expect("valid");
        let point = Scenario::parse_variant(&text, &overrides, None).expect("valid");
        assert!(point.points().is_empty());
        assert_eq!(point.plan(), whole.plan());
    }
}

#[test]
fn the_resolved_file_gives_the_same_plan() {
    let points: Vec<_> = (0..1500).map(|q| format!("[{q}.5, 0.5]")).collect();
    let many_points = DUMBBELL
        .replace("function = \"pf-11-17-24-0.01\"", &format!("points = [{}]", points.join(", ")));
    for text in [DUMBBELL, TRIANGLE, &many_points] {
        let first = scenario(text);
        let second = scenario(&first.to_toml());
        assert_eq!(first.plan(), second.plan());
        assert_eq!(first.to_toml(), second.to_toml());
    }
}

/// Options of a queue follow the profile as those of a host do, and explicit values override it.
#[test]
fn a_profile_sets_the_options_of_queues_in_which_kernels_and_simulators_differ() {
    let written = |profile: &str, mechanism: &str| {
        let text = format!(
            "version = 1\n{profile}\n[bottleneck]\nrate = \"10 Mb/s\"\n{mechanism}\n[users.all]\n"
        );
        Scenario::parse(&text, &[]).unwrap_or_else(|issues| panic!("{issues:#?}")).to_toml()
    };
    let red =
        r#"aqm = { kind = "red", min_threshold = "5 packets", max_threshold = "15 packets" }"#;
    let pie = r#"aqm = { kind = "pie" }"#;
    let codel = r#"aqm = { kind = "codel" }"#;
    let drr = r#"scheduler = { kind = "drr" }"#;
    let (linux, classic) = (r#"profile = "linux""#, r#"profile = "classic""#);
    for (profile, mechanism, want) in [
        ("", red, "hard_drop = false"),
        (linux, red, "hard_drop = false"),
        (classic, red, "hard_drop = true"),
        (r#"profile = "linux-2.6.29""#, red, "hard_drop = false"),
        (linux, pie, "decay = \"linux\""),
        (linux, pie, "steep = true"),
        (linux, pie, "derandomised = true"),
        (classic, pie, "decay = \"no-delay\""),
        (classic, pie, "steep = false"),
        (linux, codel, "linux_arithmetic = true"),
        (classic, codel, "linux_arithmetic = false"),
        (linux, drr, "drop = \"tail\""),
        (classic, drr, "drop = \"head\""),
        (classic, r#"scheduler = { kind = "drr", drop = "tail" }"#, "drop = \"tail\""),
        (linux, r#"aqm = { kind = "pie", decay = "half-target" }"#, "decay = \"half-target\""),
    ] {
        let file = written(profile, mechanism);
        assert!(file.contains(want), "{profile} {mechanism}: no {want} in\n{file}");
        assert_eq!(Scenario::parse(&file, &[]).expect("is valid").to_toml(), file);
    }
}

#[test]
fn a_variant_is_the_file_with_its_keys_replaced() {
    let text = format!(
        "{DUMBBELL}\n[variants.as-it-is]\n[variants.fair]\nbottleneck.scheduler = \"drr\"\n\
         users.heavy = {{ flows = 3 }}\n\"bottleneck.rate\" = \"7 Mb/s\"\n"
    );
    let whole = scenario(&text);
    assert_eq!(whole.variants().collect::<Vec<_>>(), ["as-it-is", "fair"]);
    assert_eq!(["as-it-is", "fair"].map(|name| whole.is_unchanged(name)), [true, false]);
    let variant = |overrides: &[(&str, &str)], name: Option<&str>| {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let overrides: Vec<_> = overrides.iter().map(owned).collect();
        Scenario::parse_variant(&text, &overrides, name).expect("valid")
    };
    let plain = Scenario::parse(DUMBBELL, &[]).expect("valid");
    assert_eq!(variant(&[], None).plan(), plain.plan());
    assert_eq!(variant(&[], Some("as-it-is")).plan(), plain.plan());
    let same = [
        ("bottleneck.scheduler", "drr"),
        ("users.heavy.flows", "3"),
        ("bottleneck.rate", "7 Mb/s"),
    ];
    assert_eq!(variant(&[], Some("fair")).plan(), plan_with(DUMBBELL, &same));
    let fair = variant(&[("bottleneck.rate", "9 Mb/s")], Some("fair"));
    assert_eq!(fair.plan(), plan_with(DUMBBELL, &same), "the variant wins");
    assert_eq!(fair.variants().count(), 0);
    let written = Scenario::parse(&whole.to_toml(), &[]).expect("what is written can be read");
    assert_eq!(written.variants().collect::<Vec<_>>(), ["as-it-is", "fair"]);
    assert!(Scenario::parse_variant(&text, &[], Some("other")).is_err());
}

/// The quantiles of 1,000 users cover the distribution: mean 80 ms, median 80 ms · exp(−σ²/2), and each delay is one way of
/// what the bottleneck leaves. A user's delay does not depend on the number of others.
#[test]
fn round_trips_of_a_group_follow_their_distribution() {
    let text = "version = 1\n[bottleneck]\nrate = \"10 Mb/s\"\ndelay = \"5 ms\"\n[users.a]\n";
    let users = |count: &str, round_trip: &str| {
        let plan = plan_with(text, &[("users.a.count", count), ("users.a.round_trip", round_trip)]);
        let delay = |link: &u32| plan.links[*link as usize].delay.as_secs();
        let round_trip = |flow: &tidegate_scenario::plan::FlowPlan| {
            flow.forward.iter().chain(&flow.reverse).map(delay).sum::<f64>()
        };
        plan.flows.iter().map(round_trip).collect::<Vec<f64>>()
    };
    let spread = "{ mean = \"80 ms\", varies = { kind = \"lognormal\", sigma = 0.5 } }";
    let all = users("1000", spread);
    let mean = all.iter().sum::<f64>() / 1000.0;
    assert!((mean / 0.080 - 1.0).abs() < 0.01, "{mean}");
    let median = 0.080 * 0.882_497; // exp(−1/8)
    let below = all.iter().filter(|rtt| **rtt < median).count();
    assert!((495..=505).contains(&below), "{below}");
    assert_eq!(users("3", spread), all[..3]);
    assert!(users("2", "\"40 ms\"").iter().all(|rtt| (rtt - 0.040).abs() < 1e-8));
    // The bottleneck's 10 ms are left where a draw is shorter.
    let wide = users("1000", "{ mean = \"20 ms\", varies = \"exponential\" }");
    let least = wide.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((least - 0.010).abs() < 1e-8, "{least}");
}

#[test]
fn times_and_round_trips_that_cannot_be_are_refused() {
    let text = "version = 1\n[bottleneck]\nrate = \"10 Mb/s\"\ndelay = \"5 ms\"\n[users.a]\n";
    for (key, value, message) in [
        (
            "users.a.round_trip",
            "\"9 ms\"",
            "users.a.round_trip: the rest of the path takes 10.000 ms",
        ),
        ("users.a.stop", "\"200 ms\"", "users.a.stop: is before the last flow of the group starts"),
    ] {
        let overrides = [(key.to_owned(), value.to_owned())];
        let found = Scenario::parse(text, &overrides).expect_err("is refused");
        assert!(found.iter().any(|error| error.to_string().contains(message)), "{found:#?}");
    }
}
