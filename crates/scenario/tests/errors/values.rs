//! Errors of single values, and of a file as a whole.

use tidegate_scenario::Scenario;

use super::{BASE, issues, messages, with};

#[test]
fn each_error_is_reported_with_place_expectation_and_remedy() {
    for (section, line, want) in [
        (
            "bottleneck",
            "rate = \"10 M\"",
            "line 4: bottleneck.rate: \"10 M\" has no unit; write e.g. \"10 Mb/s\"",
        ),
        (
            "bottleneck",
            "rate = 10",
            "bottleneck.rate: expected a rate with a unit, e.g. \"10 Mb/s\", not a number",
        ),
        ("bottleneck", "rate = 10 Mb/s", "a quantity is a text: write \"10 Mb/s\", in quotes"),
        ("bottleneck", "rate = \"10 Mbit/s\"", "did you mean \"10 Mb/s\"?"),
        ("bottleneck", "rate = \"10 Mbps\"", "did you mean \"10 Mb/s\"?"),
        ("bottleneck", "rate = \"10 mb/s\"", "did you mean \"10 Mb/s\"?"),
        ("bottleneck", "rate = \"0 Mb/s\"", "a rate must not be zero"),
        (
            "bottleneck",
            "scheduler = { kind = \"cake\", overhead = \"1 GB\" }",
            "bottleneck.scheduler.overhead: is above 256 B",
        ),
        ("bottleneck", "rate = \"-1 Mb/s\"", "\"-1 Mb/s\" is negative; a rate is not"),
        ("bottleneck", "rate = \"99999999 Tb/s\"", "is beyond any sense; at most"),
        ("bottleneck", "delay = \"5 msec\"", "did you mean \"5 ms\"?"),
        ("bottleneck", "delay = \"five ms\"", "\"five ms\" is not a time; write e.g. \"5 ms\""),
        ("bottleneck", "buffer = \"50\"", "\"50\" has no unit; write e.g. \"50 packets\""),
        ("bottleneck", "buffer = \"50 pkts\"", "units are packets, B, kB"),
        ("bottleneck", "buffer = \"1.5 packets\"", "packets are whole"),
        ("bottleneck", "buffer = \"1 kB\"", "1000 B do not hold a packet of 1500 B"),
        ("bottleneck", "loss = 1.5", "bottleneck.loss: 1.5 is not a probability from 0 to 1"),
        ("bottleneck", "loss = nan", "is not a probability"),
        ("bottleneck", "ecn = \"yes\"", "expected true or false, not a text"),
        (
            "bottleneck",
            "aqm = { kind = \"redd\" }",
            "bottleneck.aqm.kind: \"redd\" is none of drop-tail, piecewise-linear, red, adaptive-red",
        ),
        ("bottleneck", "aqm = { kind = \"redd\" }", "did you mean \"red\"?"),
        (
            "bottleneck",
            "aqm = { kind = \"csfq\", window = \"0 s\", averaging = \"0 s\" }",
            "bottleneck.aqm.window: must be longer than 0 s",
        ),
        ("bottleneck", "aqm = {}", "bottleneck.aqm.kind: missing; one of drop-tail"),
        (
            "bottleneck",
            "aqm = { kind = \"drop-tail\", gentle = true }",
            "bottleneck.aqm.gentle: unknown key",
        ),
        ("bottleneck", "aqm = { kind = \"piecewise-linear\" }", "missing; or give points"),
        (
            "bottleneck",
            "aqm = { kind = \"piecewise-linear\", function = \"pf-17-11-24-0\" }",
            "is not pf-Q0-Q1-Q2-p1",
        ),
        (
            "bottleneck",
            "aqm = { kind = \"piecewise-linear\", points = [[1, 0.0], [1, 1.0]] }",
            "queue lengths must ascend, but 1 follows 1",
        ),
        (
            "bottleneck",
            "aqm = { kind = \"piecewise-linear\", points = [[1, 0.5], [2, 0.1]] }",
            "probabilities must not fall, but 0.1 follows 0.5",
        ),
        (
            "bottleneck",
            "aqm = { kind = \"piecewise-linear\", points = [[1, 7]] }",
            "7 is not a probability from 0 to 1",
        ),
        (
            "bottleneck",
            "aqm = { kind = \"red\", min_threshold = \"9 packets\", max_threshold = \"5 packets\" }",
            "bottleneck.aqm.max_threshold: 5 packets is not above min_threshold, 9 packets",
        ),
        (
            "bottleneck",
            "aqm = { kind = \"red\", min_threshold = \"9 packets\", max_threshold = \"5 kB\" }",
            "must have the unit of min_threshold",
        ),
        (
            "bottleneck",
            "bufer = \"50 packets\"",
            "line 4: bottleneck.bufer: unknown key; valid keys here: rate, delay, buffer",
        ),
        ("bottleneck", "bufer = \"50 packets\"", "did you mean \"buffer\"?"),
        (
            "users.a",
            "flows = 0",
            "users.a.flows: 0 is out of range; expected a whole number from 1 to 1000000",
        ),
        ("users.a", "flows = 1.5", "1.5 is not whole"),
        ("users.a", "count = 600000", "1200000 flows in all; at most 1000000"),
        ("", "warm_up = \"20 h\"", "together must stay below 19.5 h"),
        ("users.a", "count = 99999999999999999999", "99999999999999999999 is out of range"),
        ("users.a", "from = \"r0\"", "there is no node \"r0\"; nodes are left, right"),
        (
            "users.a",
            "from = \"right\"\nto = \"left\"",
            "users.a.to: the reverse path from right to left carries only ACKs; write bottleneck.duplex = true",
        ),
        ("users.a", "access = { delay = [] }", "users.a.access.delay: an empty list; at least one"),
        (
            "users.a",
            "access = { delay = [\"5 ms\", \"5\"] }",
            "users.a.access.delay.1: \"5\" has no unit; write e.g. \"5 ms\"",
        ),
        ("users.a", "hosts = \"a\"", "users.a.hosts: names its own group: remove the key"),
        ("users.a", "hosts = \"aa\"", "there is no group \"aa\"; groups are a"),
        ("users.a", "start = \"40 s\"", "is after the end of the run"),
        ("users.a", "start = { from = \"2 s\", to = \"1 s\" }", "users.a.start.to: is before from"),
        (
            "users.a",
            "traffic = { kind = \"transfer\", size = \"0 B\" }",
            "a transfer has at least 1 B",
        ),
        (
            "users.a",
            "traffic = { kind = \"transfer\", size = \"1 B\", pause_distribution = \"fixed\" }",
            "has no meaning without a pause",
        ),
        (
            "users.a",
            "traffic = { kind = \"transfer\", size = \"1 MB\", write_size = \"4 kB\" }",
            "users.a.traffic.write_size: has no meaning without write_interval",
        ),
        (
            "users.a",
            "traffic = { kind = \"transfer\", size = \"1 MB\", write_interval = \"1 ms\" }",
            "users.a.traffic.write_interval: has no meaning without write_size",
        ),
        (
            "users.a",
            "traffic = { kind = \"transfer\", size = \"1 B\", write_size = \"1 B\", write_interval = \"0 s\" }",
            "users.a.traffic.write_interval: takes more than 0 s",
        ),
        (
            "users.a",
            "meter = { reference_rate = \"5 b/s\", meters = 9 }",
            "less than 1 b/s for each meter",
        ),
        (
            "users.a",
            "meter = { reference_rate = \"5 b/s\", inertia = \"0 s\" }",
            "users.a.meter.inertia: must be longer than 0 s",
        ),
        ("users.a", "meter = { inertia = \"1 s\" }", "users.a.meter.reference_rate: missing"),
        ("users.a", "packet_size = \"20 B\"", "20 B is not from 64 B to 65535 B"),
        ("tcp", "window_limit = \"1 kB\"", "1000 B do not hold a segment of 1448 B"),
        ("tcp", "min_rto = \"200 s\"", "tcp.min_rto: is above max_rto"),
        (
            "access",
            "rates = \"1 Gb/s\"",
            "access.rates: unknown key; valid keys here: rate, delay, buffer; did you mean \"rate\"?",
        ),
        ("", "duration = \"0 s\"", "duration: must not be zero"),
        (
            "",
            "duration = \"5 s\"\nintervals = { count = 2, length = \"3 s\" }",
            "duration: give intervals or a duration, not both",
        ),
        ("bottleneck", "differentiation = { kind = \"aicp-a\" }", "give aqm.kind = \"red\""),
        (
            "bottleneck",
            "aqm = { kind = \"csfq\" }\ndifferentiation = { kind = \"abc\" }",
            "bottleneck.differentiation: csfq distinguishes customers by itself; give \
             differentiation.kind = \"none\"",
        ),
        (
            "bottleneck",
            "aqm = { kind = \"adaptive-red\", max_threshold = \"20 packets\" }",
            "aqm.max_threshold: give min_threshold, too",
        ),
        (
            "bottleneck",
            "aqm = { kind = \"pie\", update_interval = \"0 s\" }",
            "aqm.update_interval: must be longer than 0 s",
        ),
        (
            "bottleneck",
            "differentiation = { kind = \"icp\", depth = \"1 kB\" }",
            "differentiation.depth: 1 kB do not hold a packet, of 1500 B; give at least that",
        ),
        (
            "bottleneck",
            "differentiation = { kind = \"icp\", depth = \"3 GB\" }",
            "differentiation.depth: 3 GB are beyond any sense; at most 1 GB",
        ),
        (
            "bottleneck",
            "aqm = { kind = \"codel\" }\ndifferentiation = { kind = \"abc\" }",
            "bottleneck.differentiation: CoDel signals at departure",
        ),
        (
            "bottleneck",
            "aqm = { kind = \"codel\", interval = \"0 s\" }",
            "bottleneck.aqm.interval: 0 s would signal without end",
        ),
        ("", "sample_interval = \"1 ns\"", "more than 10000000 samples"),
        ("", "packet_size = \"1 GB\"", "1000000000 B is not from 64 B to 65535 B"),
        (
            "",
            "parking_lot = { hops = 1, rate = \"1 Mb/s\" }",
            "there is already [bottleneck]; a scenario has one topology",
        ),
        ("", "version = 2", "version: 2 is out of range"),
        ("", "profile = \"linx\"", "did you mean \"linux\"?"),
        ("", "users.\"a b\".flows = 1", "a name has 1 to 64 letters"),
    ] {
        let text = with(section, line);
        let messages = messages(&text);
        assert!(messages.iter().any(|message| message.contains(want)), "{line}: {messages:#?}");
    }
}

#[test]
fn all_errors_are_reported_together_in_the_order_of_the_file() {
    let text = "version = 1
sed = 7
[bottleneck]
rate = \"10 M\"
loss = 2
aqm = { kind = \"red\", min_threshold = \"9 packets\", max_threshold = \"5 packets\", weight = 7 }
[users.a]
flows = -1
trafic = 1
[users.b]
start = \"1 week\"
";
    let places: Vec<_> = issues(text).into_iter().map(|i| (i.line.unwrap_or(0), i.key)).collect();
    let want = [
        (2, "sed"),
        (4, "bottleneck.rate"),
        (5, "bottleneck.loss"),
        (6, "bottleneck.aqm.max_threshold"),
        (6, "bottleneck.aqm.weight"),
        (8, "users.a.flows"),
        (9, "users.a.trafic"),
        (11, "users.b.start"),
    ];
    assert_eq!(places.iter().map(|(line, key)| (*line, key.as_str())).collect::<Vec<_>>(), want);
}

/// "Give min_threshold, too" would be misleading if it is given, with an invalid value.
#[test]
fn errors_that_may_follow_from_another_are_not_reported() {
    let keys = |aqm: &str| -> Vec<String> {
        let issues = issues(&with("bottleneck", &format!("aqm = {{ kind = {aqm} }}")));
        issues.into_iter().map(|issue| issue.key).collect()
    };
    let red =
        |rest: &str| keys(&format!("\"adaptive-red\", max_threshold = \"9 packets\", {rest}"));
    assert_eq!(red("min_threshold = \"5\""), ["bottleneck.aqm.min_threshold"]);
    let two = ["bottleneck.aqm.max_threshold", "bottleneck.aqm.weight"];
    assert_eq!(red("weight = 3"), two);
    assert_eq!(keys("\"piecewise-linear\", points = 3"), ["bottleneck.aqm.points"]);
}

#[test]
fn a_scheduler_given_as_aqm_is_shown_its_place() {
    for (line, want) in [
        (
            "aqm = { kind = \"fq_codel\" }",
            "line 4: bottleneck.aqm.kind: \"fq_codel\" is a scheduler; write scheduler = { kind = \
             \"fq-codel\" }",
        ),
        ("aqm = { kind = \"abc\" }", "\"abc\" is a differentiation; write differentiation = {"),
        ("scheduler = { kind = \"CoDel\" }", "\"CoDel\" is an aqm; write aqm = { kind = \"codel\""),
    ] {
        let messages = messages(&with("bottleneck", line));
        assert!(messages[0].contains(want), "{line}: {messages:#?}");
    }
}

#[test]
fn tables_inside_one_another_have_an_end() {
    let deep = |tables: usize| format!("a = {}1{}", "{ b.c = ".repeat(tables), " }".repeat(tables));
    let reported = messages(&deep(40)).remove(0);
    let want = "line 1: is nested in more than 80 tables, as no key of a scenario is: remove it";
    assert_eq!(reported, want);
    assert!(messages(&deep(39)).iter().all(|reported| !reported.contains("80 tables")));
}

/// The answer is readable for any number of errors.
#[test]
fn the_answer_to_a_hostile_file_is_short() {
    let digits = with("bottleneck", &format!("rate = \"{} Mb/s\"", "9".repeat(1_000_000)));
    let unit = with("bottleneck", &format!("rate = \"{} mb/s\"", "9".repeat(1_000_000)));
    let key = with("", &format!("{} = 1", "x".repeat(1_000_000)));
    let lines: String = (0..20_000).map(|i| format!("k{i} = 1\n")).collect();
    let groups: String = (0..20_000).map(|i| format!("[users.g{i}]\nflowz = 1\n")).collect();
    let (lines, groups) = (lines + BASE, BASE.to_owned() + &groups);
    let row = with("", &format!("k = [{}]", "1,".repeat(1_000_000)));
    let syntax = "] ".repeat(100_000) + "\n" + &"]\n".repeat(100_000);
    let screen = with("bottleneck", "rate = \"\\u001b[2J\\n10\"");
    for text in [&digits, &unit, &key, &lines, &groups, &row, &syntax, &screen] {
        let messages = messages(text);
        assert!(messages.len() <= 101, "{} errors", messages.len());
        for message in &messages {
            assert!(message.len() < 1_700, "{} bytes", message.len());
            assert!(!message.contains(|c: char| c.is_control()), "{message:?}");
        }
    }
    assert_eq!(messages(&lines).last().expect("some"), "and 19900 more errors");
    let key = [("a.".repeat(20_000) + "a", "1".to_owned())];
    let issues = Scenario::parse(BASE, &key).expect_err("no such key");
    assert!(issues[0].to_string().len() < 1_700);
}
