//! Sizes are checked before they are computed: these files would take minutes, or exhaust the memory.

use tidegate_scenario::{MAX_OVERRIDES, Scenario};

const HEAD: &str = "version = 1\nwarm_up = \"0 s\"\nduration = \"10 s\"\n";

/// Returns a row of links, and groups whose users send over all of them.
fn row(links: usize, groups: usize, of_link: &str, of_user: &str) -> String {
    let link = |i| {
        let next = i + 1;
        format!("[links.l{i}]\nfrom = \"n{i}\"\nto = \"n{next}\"\nrate = \"1 Mb/s\"\n{of_link}\n")
    };
    let user = |i| format!("[users.a{i}]\nfrom = \"n0\"\nto = \"n{links}\"\n{of_user}\n");
    let links: String = (0..links).map(link).collect();
    let users: String = (0..groups).map(user).collect();
    format!("{HEAD}{links}{users}")
}

fn bottleneck(user: &str) -> String {
    format!("{HEAD}[bottleneck]\nrate = \"10 Mb/s\"\ndelay = \"50 ms\"\n[users.a]\n{user}\n")
}

fn errors(text: &str, overrides: &[(String, String)]) -> Vec<String> {
    let found = Scenario::parse(text, overrides).err().into_iter().flatten();
    found.map(|issue| issue.to_string()).collect()
}

fn warnings(text: &str) -> Vec<String> {
    let scenario = Scenario::parse(text, &[]).expect("is valid");
    scenario.warnings().iter().map(ToString::to_string).collect()
}

fn check_messages(reported: &[String], wanted: &[&str]) {
    let all = reported.iter().zip(wanted).all(|(reported, wanted)| reported.contains(wanted));
    assert!(all && reported.len() == wanted.len(), "{reported:#?} {wanted:#?}");
}

#[test]
fn a_row_of_many_links_is_searched_once_for_each_group() {
    check_messages(&errors(&row(20_000, 10, "", ""), &[]), &[]);
    let policer =
        "ingress = [{ kind = \"conex-policer\", fill_rate = \"1 Mb/s\", depth = \"9 kB\" }]";
    check_messages(&errors(&row(4_000, 10, policer, ""), &[]), &[]);
    let paying = "tcp = { congestion_control = \"tcp-rm\", ecn = true }";
    check_messages(&errors(&row(4_000, 10, "", paying), &[]), &[]);
    check_messages(
        &errors(&row(4_000, 10, "duplex = false", ""), &[])[..1],
        &["no path leads back"],
    );
    let moves: Vec<_> =
        (1..9_000).map(|i| format!("{{ at = \"{i} ms\", to = \"n{}\" }}", 1 + i % 2)).collect();
    let walk = format!("moves = [{}]", moves.join(", "));
    check_messages(
        &errors(&row(200, 1, "", &walk), &[])[..1],
        &["1 groups with 8999 moves over 400 links"],
    );
}

/// 800,004 numbers leave 44 bits for the nanoseconds of a run, 4.8 h.
#[test]
fn networks_with_many_links_run_for_less_time() {
    let many = |duration: &str, users: u32| {
        let length = [("duration".to_owned(), duration.to_owned())];
        errors(&bottleneck(&format!("count = {users}")), &length)
    };
    check_messages(&many("\"19 h\"", 131_000), &[]);
    check_messages(&many("\"9.6 h\"", 200_000), &[]);
    check_messages(&many("\"4.7 h\"", 400_000), &[]);
    let message = "duration: with 800002 links, queues and shapers, warm_up, duration and drain_limit together \
                   must stay below 4.8 h";
    check_messages(&many("\"5 h\"", 400_000), &[message]);
}

#[test]
fn links_of_all_users_have_a_number_each() {
    let other = "[users.b]\ncount = 1000000\nreceiver_access = { delay = \"1 ms\" }";
    let all = format!("count = 1000000\nreceiver_access = {{ delay = \"1 ms\" }}\n{other}");
    let reported = errors(&bottleneck(&all), &[]);
    let wanted = "8000002 links in all; at most 4194303";
    assert!(reported.iter().any(|message| message.contains(wanted)), "{reported:#?}");
}

#[test]
fn transfers_that_pile_up_are_refused_with_group_and_key() {
    let every = |every: &str, more: &str| {
        let traffic = format!("kind = \"short-flows\", size = \"1 kB\", every = \"{every}\"{more}");
        errors(&bottleneck(&format!("traffic = {{ {traffic} }}")), &[])
    };
    let wanted = "users.a.traffic.every: about 1.0e10 transfers would be open at once";
    check_messages(&every("1 ns", ", listed = false"), &[wanted]);
    check_messages(&every("1 ns", ""), &["users.a.traffic.listed: about 1.0e10 transfers", wanted]);
    // 10 Mb/s carry about 1,200 of them per second.
    check_messages(&every("20 us", ""), &[]);
    let calls = |every: &str, more: &str| {
        let traffic = "kind = \"calls\", rate = \"1 Mb/s\", holding = \"1 h\"";
        errors(&bottleneck(&format!("traffic = {{ {traffic}, every = \"{every}\"{more} }}")), &[])
    };
    check_messages(
        &calls("1 us", ""),
        &["users.a.traffic.every: about 1.0e7 calls would be open at once"],
    );
    check_messages(&calls("1 us", ", admission = { kind = \"counter\", limit = 100 }"), &[]);
    check_messages(&calls("1 ms", ""), &[]);
    let pages =
        |more: &str| errors(&bottleneck(&format!("traffic = {{ kind = \"pages\", {more} }}")), &[]);
    let wanted = "users.a.traffic.objects: about 1.0e8 objects of pages would be open at once";
    check_messages(&pages("objects = 1e3, within = \"at-once\" }\nflows = 100000\n#"), &[wanted]);
    check_messages(&pages("objects = 1e3, within = \"in-turn\" }\nflows = 100000\n#"), &[]);
}

#[test]
fn tables_that_no_memory_holds_are_refused() {
    let head = |more: &str| {
        bottleneck("flows = 1000").replace("version = 1", &format!("version = 1\n{more}"))
    };
    check_messages(
        &errors(&head("sample_interval = \"1 us\"\nsampled_flows = 1000"), &[]),
        &["sample_interval: about 1.0e10 rows"],
    );
    check_messages(&errors(&head("sample_interval = \"1 ms\"\nsampled_flows = 1000"), &[]), &[]);
    let intervals = head("intervals = { count = 1000, length = \"10 ms\" }");
    check_messages(&errors(&intervals, &[]), &[]);
    let many = intervals.replace("flows = 1000", "flows = 100000");
    check_messages(&errors(&many, &[]), &["intervals.count: 1.0e8 rows"]);
}

#[test]
fn a_run_of_very_many_packets_is_reported_with_the_estimate() {
    let at = |rate: &str, user: &str| {
        let line = format!("{rate}\"\nbuffer = \"1 BDP");
        let text = bottleneck(user).replace("10 Mb/s", &line).replace("10 s", "10000 s");
        warnings(&text.replace("[users.a]", "[access]\nrate = \"100 Gb/s\"\n[users.a]"))
    };
    // 10,000 s at 10 Gb/s in packets of 1500 B.
    check_messages(&at("20 Gb/s", ""), &["duration: about 1.7e10 packets are sent in a run"]);
    check_messages(&at("10 Gb/s", ""), &[]);
    let flood = "traffic = { kind = \"cbr\", rate = \"20 Gb/s\" }";
    check_messages(&at("10 Mb/s", flood), &["duration: about 1.7e10 packets are sent in a run"]);
    check_messages(&at("20 Gb/s", "traffic = { kind = \"transfer\", size = \"1 GB\" }"), &[]);
}

#[test]
fn overrides_are_bounded_in_number_and_size() {
    let text = bottleneck("flows = 1");
    let set = |value: &str| ("users.a.flows".to_owned(), value.to_owned());
    let many = vec![set("2"); 500_000];
    check_messages(
        &errors(&text, &many),
        &["500000 overrides; at most 10000: write them into a file"],
    );
    check_messages(&errors(&text, &many[..MAX_OVERRIDES]), &[]);
    let long = [set(&"1".repeat(17 << 20))];
    check_messages(
        &errors(&text, &long),
        &["bytes with the overrides and the files that it names; at most"],
    );
    let kinds: Vec<_> = (0..MAX_OVERRIDES)
        .map(|i| ("bottleneck.aqm.kind".to_owned(), ["red", "codel"][i % 2].to_owned()))
        .collect();
    check_messages(&errors(&text, &kinds), &[]);
}

#[test]
fn what_could_not_be_read_again_is_refused() {
    let users: String =
        (0..60_000).map(|i| format!("users.a{i}.ingress = [\"conex-auditor\"]\n")).collect();
    let text = format!("{HEAD}bottleneck.rate = \"1 Mb/s\"\n{users}");
    check_messages(&errors(&text, &[]), &["when all defaults are filled in"]);
}

#[test]
fn points_of_a_sweep_are_bounded_by_what_they_have_together() {
    let axes: String = (0..995).map(|i| format!("\"add users.a{i}.flows\" = [1]\n")).collect();
    let text = format!(
        "{}[sweep]\n{axes}\"users.a.flows\" = [1, 2]\n\"users.a.count\" = [1, 2]\n",
        bottleneck("")
    );
    let few = Scenario::parse(&text, &[]);
    assert!(few.is_ok(), "{few:?}");
    let ten = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
    let keys = ["users.a.flows", "users.a.count", "seed", "replications", "sampled_flows"];
    let many: String = keys.map(|key| format!("\"{key}\" = {ten}\n")).concat();
    let axes: String = (0..900).map(|i| format!("\"add users.a{i}.flows\" = [1]\n")).collect();
    let text = format!("{}[sweep]\n{axes}{many}", bottleneck(""));
    check_messages(&errors(&text, &[]), &["settings in all points"]);
}
