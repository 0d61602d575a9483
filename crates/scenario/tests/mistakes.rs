//! What the user of a wrong file reads.

use tidegate_scenario::{Issue, Scenario};

fn issues(text: &str) -> Vec<Issue> {
    Scenario::parse(text, &[]).expect_err("the file has mistakes")
}

fn messages(text: &str) -> Vec<String> {
    issues(text).iter().map(Issue::to_string).collect()
}

/// A valid file, in which one line can be replaced or added.
fn with(section: &str, line: &str) -> String {
    let key = line.split('=').next().unwrap_or("").trim();
    let mut text = String::new();
    let mut here = section.is_empty();
    if here {
        text.push_str(&format!("{line}\n"));
    }
    for original in BASE.lines() {
        if original.starts_with('[') {
            here = original == format!("[{section}]");
        }
        let replaced = here && original.split('=').next().unwrap_or("").trim() == key;
        if !replaced {
            text.push_str(&format!("{original}\n"));
        }
        if here && original.starts_with('[') {
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

const BASE: &str = "version = 1
warm_up = \"1 s\"
[bottleneck]
rate = \"10 Mb/s\"
[access]
[tcp]
[users.a]
flows = 2
";

#[test]
fn the_base_of_these_tests_is_valid() {
    Scenario::parse(BASE, &[]).expect("valid");
}

#[test]
fn tables_inside_one_another_have_an_end() {
    let deep = |tables: usize| format!("a = {}1{}", "{ b.c = ".repeat(tables), " }".repeat(tables));
    let told = messages(&deep(40)).remove(0);
    let want = "line 1: stands in more than 80 tables, as no key of a scenario does: leave it out";
    assert_eq!(told, want);
    assert!(messages(&deep(39)).iter().all(|told| !told.contains("80 tables")));
}

#[test]
fn each_mistake_is_told_with_place_expectation_and_remedy() {
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
        ("users.a", "count = 200000", "links in all; at most 262143"),
        ("", "warm_up = \"20 h\"", "together must stay below 19.5 h"),
        ("users.a", "count = 99999999999999999999", "99999999999999999999 is out of range"),
        ("users.a", "from = \"r0\"", "there is no node \"r0\"; nodes are left, right"),
        (
            "users.a",
            "from = \"right\"\nto = \"left\"",
            "users.a.to: the way from right back to left carries ACKs alone; write bottleneck.duplex = true",
        ),
        ("users.a", "hosts = \"a\"", "users.a.hosts: names this very group: leave the key out"),
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
            "bottleneck.differentiation: csfq tells customers apart by itself; give \
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
fn all_mistakes_are_told_at_once_in_the_order_of_the_file() {
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

/// "Give min_threshold, too" would be beside the point where it is given, if not well.
#[test]
fn mistakes_that_may_follow_from_another_are_not_told() {
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
fn users_at_the_hosts_of_others_fit_there() {
    let text = r#"
version = 1
[links.ab]
from = "a"
to = "b"
rate = "1 Mb/s"
[links.bc]
from = "b"
to = "c"
rate = "1 Mb/s"
[users.home]
count = 2
from = "a"
to = "b"
[users.fewer]
from = "a"
to = "c"
hosts = "home"
meter = { reference_rate = "1 Mb/s" }
entry = [{ kind = "mark-counter" }]
access = { rate = "1 Mb/s" }
[users.receiving]
count = 2
from = "c"
to = "a"
hosts = "home"
egress = { rate = "1 Mb/s" }
[users.elsewhere]
count = 2
from = "b"
to = "c"
hosts = "home"
[users.chained]
count = 2
from = "a"
to = "b"
hosts = "receiving"
"#;
    let theirs = "is what their hosts have: give it in users.home";
    let want = [
        "line 15: users.fewer.count: 1 users at the hosts of home, which has 2: write as many, one sits \
         at each",
        &format!("line 19: users.fewer.meter: {theirs}"),
        &format!("line 20: users.fewer.entry: {theirs}"),
        &format!("line 21: users.fewer.access: {theirs}"),
        &format!("line 27: users.receiving.egress: {theirs}"),
        "line 32: users.elsewhere.hosts: the hosts of home are at a, where a way from b to c neither begins \
         nor ends",
        "line 37: users.chained.hosts: the users of receiving sit at the hosts of home: name that group",
    ];
    assert_eq!(messages(text), want);
}

#[test]
fn routes_are_checked() {
    let network = "version = 1
[links.ab]
from = \"a\"
to = \"berlin\"
rate = \"1 Mb/s\"
duplex = false
";
    for (users, want) in [
        ("from = \"a\"", "users.x.to: missing; one of a, berlin"),
        (
            "from = \"a\"\nto = \"berln\"",
            "there is no node \"berln\"; nodes are a, berlin; did you mean \"berlin\"?",
        ),
        ("from = \"berlin\"\nto = \"a\"", "no path leads from berlin to a"),
        ("from = \"a\"\nto = \"berlin\"", "no path leads back from berlin to a"),
        ("from = \"a\"\nto = \"a\"", "the users send from a to itself"),
    ] {
        let messages = messages(&format!("{network}[users.x]\n{users}\n"));
        assert!(messages.iter().any(|message| message.contains(want)), "{users}: {messages:#?}");
    }
    let lot = "version = 1\n[parking_lot]\nhops = 2\nrate = [\"1 Mb/s\"]\n[users.x]\nfrom = \"r2\"\nto = \"r0\"\n";
    assert_eq!(messages(lot), ["line 4: parking_lot.rate: 1 values for 2 hops"]);
    let lot = lot.replace("[\"1 Mb/s\"]", "\"1 Mb/s\"");
    assert!(
        messages(&lot)[0]
            .contains("from r2 back to r0 carries ACKs alone; write parking_lot.duplex = true")
    );
}

#[test]
fn a_file_without_a_network_or_users_says_so() {
    assert_eq!(
        messages("version = 1\n"),
        ["users: missing", "no network: give one of [bottleneck], [parking_lot], [links.NAME]",]
    );
}

#[test]
fn overrides_are_checked_like_the_file_but_have_no_line() {
    for (key, value, want) in [
        ("bottleneck.rat", "10 Mb/s", "bottleneck.rat: unknown key"),
        (
            "bottleneck.rate",
            "10 M",
            "bottleneck.rate: \"10 M\" has no unit; write e.g. \"10 Mb/s\"",
        ),
        ("bottleneck.rate.x", "1", "bottleneck.rate.x: bottleneck.rate is a text, not a table"),
        ("add users.b.flows", "none", "users.b.flows: expected a whole number"),
        ("bottleneck..rate", "1", "is not a dotted key"),
        ("x = 1\ny", "1", "is not a dotted key"),
    ] {
        let given = [(key.to_owned(), value.to_owned())];
        let issues = Scenario::parse(BASE, &given).expect_err(key);
        let key = key.trim_start_matches("add ").replace('\n', "\\n");
        assert!(issues[0].to_string().starts_with(&key) || issues[0].key == key, "{issues:?}");
        assert!(issues[0].to_string().contains(want), "{issues:?}");
        assert_eq!(issues[0].line, None);
    }
}

#[test]
fn the_values_of_a_sweep_are_checked_before_anything_runs() {
    for (axis, want) in [
        ("\"users.a.flos\" = [1]", "sweep.\"users.a.flos\": with 1: unknown key"),
        ("\"users.a.flows\" = [1, 0]", "with 0: 0 is out of range"),
        ("\"users.a.flows\" = 1", "expected a list of values"),
        ("\"users.a.flows\" = []", "the list of values is empty"),
        ("users.a.flows = [1]", "put the dotted key in quotes"),
        ("\"sweep.x\" = [1]", "a sweep cannot change itself"),
    ] {
        let messages = messages(&format!("{BASE}[sweep]\n{axis}\n"));
        assert!(messages.iter().any(|message| message.contains(want)), "{axis}: {messages:#?}");
        assert!(messages[0].starts_with("line 10"), "{messages:?}");
    }
}

#[test]
fn dctcp_and_prague_without_ecn_are_refused_at_the_key_that_says_so() {
    for controller in ["dctcp", "prague"] {
        let text = with(
            "users.a",
            &format!("tcp = {{ congestion_control = \"{controller}\", ecn = false }}"),
        );
        let found = messages(&text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("users.a.tcp.ecn: ") && found[0].contains("lives by ECN"));
    }
}

#[test]
fn feedback_of_marks_without_ecn_is_refused_at_the_key_that_asks_for_it() {
    let (exact, own) = ("tcp.feedback", "users.a.tcp.feedback");
    for (given, key) in [
        (&[(exact, "accurate")][..], exact),
        (&[(own, "dctcp"), ("users.a.tcp.ecn", "false")], own),
        (&[(exact, "dctcp"), ("tcp.ecn", "true"), ("users.a.tcp.ecn", "false")], "users.a.tcp.ecn"),
    ] {
        let found = overridden(given).expect_err(key);
        let feedback = given[0].1;
        let what =
            format!("there are no marks without ECN of which {feedback:?} feedback could tell");
        let remedy = "write ecn = true, or leave feedback out";
        assert_eq!(found, [format!("{key}: {what}: {remedy}")]);
    }
    for given in [
        [(own, "accurate"), ("users.a.tcp.ecn", "true")],
        [(own, "classic"), ("users.a.tcp.congestion_control", "prague")],
        [(own, "classic"), ("users.a.tcp.ecn", "false")],
    ] {
        assert!(overridden(&given).is_ok(), "{given:?}");
    }
}

#[test]
fn re_ecn_without_ecn_and_with_a_lie_that_it_cannot_tell_is_refused() {
    let (all, own) = ("tcp.conex", "users.a.tcp.conex");
    for (given, key) in [
        (&[(all, "\"re-ecn\"")][..], all),
        (&[(own, "\"re-ecn\"")], own),
        (
            &[(all, "\"re-ecn\""), ("tcp.ecn", "true"), ("users.a.tcp.ecn", "false")],
            "users.a.tcp.ecn",
        ),
    ] {
        let message = "re-ECN declares in the ECN field: write ecn = true";
        assert_eq!(overridden(given).expect_err(key), [format!("{key}: {message}")]);
    }
    let lie = "{ kind = \"re-ecn\", cheat = \"loss-for-mark\" }";
    let found = overridden(&[(all, lie), ("tcp.ecn", "true")]).expect_err("a lie");
    assert!(found[0].starts_with("tcp.conex.cheat: re-ECN has one codepoint"), "{found:?}");
}

#[test]
fn a_misspelt_congestion_control_is_told_as_a_name_and_in_a_table() {
    for (given, key) in [
        ("\"cubci\"", "users.a.tcp.congestion_control"),
        ("{ kind = \"cubci\" }", "users.a.tcp.congestion_control.kind"),
    ] {
        let found = messages(&with("users.a", &format!("tcp.congestion_control = {given}")));
        assert_eq!(found.len(), 1, "{found:?}");
        let start = format!("line 8: {key}: \"cubci\" is none of reno, cubic, ");
        assert!(found[0].starts_with(&start), "{found:?}");
        assert!(found[0].ends_with("; did you mean \"cubic\"?"), "{found:?}");
    }
    let table = "tcp.congestion_control = { kind = \"cubic\", growth = \"linus\", kappa = 0.5 }";
    let found = messages(&with("users.a", table));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().any(|message| message.contains("kappa: unknown key; valid keys here")));
    assert!(found.iter().any(|message| message.contains("did you mean \"linux\"?")));
}

#[test]
fn keys_of_before_say_what_to_write_today() {
    let found = messages(&with("users.a", "tcp = { hystart = true, kappa = 0.5 }"));
    let retired = |key: &str| {
        let start =
            format!("line 8: users.a.tcp.{key}: is no key any more; write congestion_control");
        found.iter().any(|message| message.starts_with(&start))
    };
    assert!(found.len() == 2 && retired("hystart") && retired("kappa"), "{found:#?}");
}

fn overridden(overrides: &[(&str, &str)]) -> Result<Scenario, Vec<String>> {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(BASE, &overrides)
        .map_err(|issues| issues.iter().map(Issue::to_string).collect())
}

/// A misprint must not become a group that takes a share of the link.
#[test]
fn an_override_may_only_name_groups_and_links_that_there_are() {
    for (key, value, want) in [
        (
            "users.heavi.flows",
            "20",
            "users.heavi.flows: there is no group \"heavi\"; groups are heavy, light; \"add\" brings \
             in a new one; did you mean \"users.heavy\"?",
        ),
        ("links.core.rate", "1 Mb/s", "links.core.rate: there is no link \"core\""),
        ("users.heavy.metr.inertia", "1 s", "users.heavy.metr: unknown key"),
        ("user.heavy.flows", "1", "did you mean \"users\"?"),
    ] {
        let text = BASE.replace("[users.a]", "[users.heavy]\n[users.light]");
        let given = [(key.to_owned(), value.to_owned())];
        let messages: Vec<_> =
            Scenario::parse(&text, &given).expect_err(key).iter().map(Issue::to_string).collect();
        assert!(messages[0].contains(want), "{key}: {messages:#?}");
    }
}

#[test]
fn what_the_file_does_not_give_can_be_set_where_the_schema_has_it() {
    for (key, value) in [
        ("bottleneck.aqm.kind", "codel"),
        ("bottleneck.scheduler", "{ kind = \"drr\" }"),
        ("tcp.ecn", "true"),
        ("users.a.tcp.ecn", "true"),
        ("users.a.meter.reference_rate", "1 Mb/s"),
        ("egress.delay", "1 ms"),
        ("users", "{ b = { flows = 7 }, c = {} }"),
    ] {
        assert!(overridden(&[(key, value)]).is_ok(), "{key}");
    }
}

#[test]
fn the_word_add_brings_in_a_group() {
    let scenario = overridden(&[
        ("add users.guest.flows", "2"),
        ("add users.guest.tcp.ecn", "true"),
        ("users.guest.count", "3"),
    ]);
    let scenario = scenario.expect("valid");
    assert_eq!(scenario.groups().collect::<Vec<_>>(), ["a", "guest"]);
    assert_eq!(scenario.plan().flows.len(), 2 + 3 * 2);
    for (key, want) in [
        ("add users.a.flows", "users.a.flows: there is a group \"a\" already; leave out \"add\""),
        ("add bottleneck.rate", "\"add\" is for a new group or link, such as users.guest.flows"),
        ("add users.guest.flos", "users.guest.flos: unknown key"),
        ("add users", "\"add\" is for a new group"),
        ("users.guest.flows", "there is no group \"guest\""),
    ] {
        let messages = overridden(&[(key, "1")]).expect_err(key);
        assert!(messages[0].contains(want), "{key}: {messages:#?}");
    }
}

#[test]
fn sweeps_name_what_is_there_or_say_add() {
    for (axis, want) in [
        ("\"users.aa.flows\" = [1]", "there is no group \"aa\"; groups are a; \"add\" brings in"),
        ("\"add users.a.flows\" = [1]", "there is a group \"a\" already; leave out \"add\""),
        ("\"add users.b.flows\" = [1, 0]", "with 0: 0 is out of range"),
    ] {
        let messages = messages(&format!("{BASE}[sweep]\n{axis}\n"));
        assert!(messages[0].contains(want), "{axis}: {messages:#?}");
        assert!(messages[0].starts_with("line 10"), "{messages:?}");
    }
    let swept = format!("{BASE}[sweep]\n\"add users.b.flows\" = [1, 5]\n");
    let points = Scenario::parse(&swept, &[]).expect("valid").points();
    let flows = |point: &[(String, String)]| {
        Scenario::parse(&swept, point).expect("valid").plan().flows.len()
    };
    assert_eq!(points.iter().map(|point| flows(point)).collect::<Vec<_>>(), [3, 7]);
}

/// A kind that is overridden leaves the other kind's keys standing in the file, but who sets a key that
/// neither has is told.
#[test]
fn an_override_of_a_kind_is_no_licence_for_keys_of_any_kind() {
    let red = with(
        "bottleneck",
        "aqm = { kind = \"red\", min_threshold = \"5 packets\", max_threshold = \"9 packets\" }",
    );
    let of = |settings: &[(&str, &str)]| {
        let settings: Vec<_> =
            settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Scenario::parse(&red, &settings)
    };
    let codel = ("bottleneck.aqm.kind", "codel");
    assert!(of(&[codel]).is_ok(), "the file's thresholds are RED's");
    let again = ("bottleneck.aqm.kind", "red");
    assert!(of(&[codel, ("bottleneck.aqm.max_threshold", "8 packets"), again]).is_ok());
    let issues = of(&[codel, ("bottleneck.aqm.target_delay", "1 ms")]).expect_err("adaptive-red's");
    assert!(issues[0].to_string().contains("bottleneck.aqm.target_delay: unknown key"));
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

/// However much is wrong, the answer can be read.
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
        assert!(messages.len() <= 101, "{} mistakes", messages.len());
        for message in &messages {
            assert!(message.len() < 1_700, "{} bytes", message.len());
            assert!(!message.contains(|c: char| c.is_control()), "{message:?}");
        }
    }
    assert_eq!(messages(&lines).last().expect("some"), "and 19900 more mistakes");
    let key = [("a.".repeat(20_000) + "a", "1".to_owned())];
    let issues = Scenario::parse(BASE, &key).expect_err("no such key");
    assert!(issues[0].to_string().len() < 1_700);
}

fn warnings(text: &str) -> Vec<String> {
    let scenario = Scenario::parse(text, &[]).unwrap_or_else(|issues| panic!("{issues:#?}"));
    scenario.warnings().iter().map(Issue::to_string).collect()
}

#[test]
fn what_is_hardly_meant_is_valid_with_a_warning() {
    assert!(warnings(BASE).is_empty());
    for (section, line, want) in [
        (
            "bottleneck",
            "delay = \"1000000000 s\"",
            "line 8: users.a: its first data cannot arrive before 3000000000.",
        ),
        ("bottleneck", "rate = \"1 b/s\"", "line 7: users.a: its first data cannot arrive"),
        (
            "access",
            "delay = \"20 s\"",
            "by the delays and rates on their way; the measurement ends",
        ),
        (
            "bottleneck",
            "differentiation = { kind = \"abc\" }\naqm = { kind = \"pie\" }",
            "line 4: bottleneck.differentiation: abc acts on what meters have measured, and no group",
        ),
    ] {
        let found = warnings(&with(section, line));
        assert!(found.len() == 1 && found[0].contains(want), "{line}: {found:#?}");
    }
    let metered =
        with("bottleneck", "differentiation = { kind = \"abc\" }\naqm = { kind = \"pie\" }")
            + "[users.b]\nmeter = { reference_rate = \"1 Mb/s\" }\n";
    let found = warnings(&metered);
    assert!(found.len() == 1 && found[0].contains("users.a: has no meter"), "{found:#?}");
    let slow = with("", "duration = \"2 s\"") + "traffic = { kind = \"cbr\", rate = \"1 Mb/s\" }\n";
    assert!(warnings(&slow).is_empty(), "a constant rate needs no handshake");
}

#[test]
fn reports_that_nobody_takes_or_that_find_no_way_are_doubted() {
    let reporter = "exit = [{ kind = \"congestion-reporter\" }]";
    let found = warnings(&with("users.a", reporter));
    let want = "line 7: users.a: the congestion-reporter reports to a mark-counter, and none stands on their \
                way before it, so that it reports nothing";
    assert_eq!(found, [want]);
    let counter = "entry = [{ kind = \"mark-counter\" }]\n";
    assert!(warnings(&with("users.a", &format!("{counter}{reporter}"))).is_empty());
    let link = |name: &str, from: &str, to: &str| {
        format!(
            "[links.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1 Mb/s\"\nduplex = false\n"
        )
    };
    let links = [link("ab", "a", "b"), link("bc", "b", "c"), link("ca", "c", "a")].concat();
    let middle = "\"b\"\nto = \"c\"\n";
    let links = links.replace(middle, &format!("{middle}{counter}"));
    let text = format!("version = 1\n{links}[users.x]\nfrom = \"a\"\nto = \"c\"\n{reporter}\n");
    let found = warnings(&text);
    assert!(
        found.len() == 1 && found[0].contains("does not lead from the one to the other"),
        "{found:?}"
    );
}

#[test]
fn routes_of_too_many_groups_over_too_many_links_are_not_even_tried() {
    let groups: String =
        (0..20_000).map(|i| format!("[users.g{i}]\nfrom = \"r0\"\nto = \"r1000\"\n")).collect();
    let text = format!("version = 1\n[parking_lot]\nhops = 1000\nrate = \"1 Mb/s\"\n{groups}");
    let messages = messages(&text);
    assert_eq!(
        messages,
        ["line 5: users: 20000 groups over 2000 links; at most 500000 pairs of them"]
    );
}

#[test]
fn all_that_is_wrong_with_a_video_and_with_short_flows_is_told_at_once() {
    let video = "traffic = { kind = \"video\", rate = \"1 Mb/s\", length = \"0 s\", chunk = \"3 MB\", \
                 start_above = \"0.4 s\", stall_below = \"2.2 s\" }";
    let short =
        "traffic = { kind = \"short-flows\", size = \"0 B\", every = \"0 s\", shape = 0.0 }";
    for (line, wants) in [
        (
            video,
            [
                "traffic.length: must not be zero",
                "traffic.socket_buffer: less than a chunk of 3000000 B, which never finds room",
                "is not above stall_below",
            ],
        ),
        (short, ["traffic.size: a transfer has at least 1 B", "traffic.every", "traffic.shape"]),
    ] {
        let told = messages(&with("users.a", line));
        for want in wants {
            assert!(told.iter().any(|message| message.contains(want)), "{want}: {told:#?}");
        }
    }
}
