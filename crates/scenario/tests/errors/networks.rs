//! Errors of hosts and paths.

use super::messages;

#[test]
fn a_file_without_a_network_or_users_says_so() {
    assert_eq!(
        messages("version = 1\n"),
        [
            "users: missing",
            "no network: give one of [bottleneck], [parking_lot], [mobile], [links.NAME]",
        ]
    );
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
ingress = [{ kind = "mark-counter" }]
access = { rate = "1 Mb/s" }
[users.receiving]
count = 2
from = "c"
to = "a"
hosts = "home"
receiver_access = { rate = "1 Mb/s" }
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
        &format!("line 20: users.fewer.ingress: {theirs}"),
        &format!("line 21: users.fewer.access: {theirs}"),
        &format!("line 27: users.receiving.receiver_access: {theirs}"),
        "line 32: users.elsewhere.hosts: the hosts of home are at a, where a path from b to c neither begins \
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
            .contains("from r2 to r0 carries only ACKs; write parking_lot.duplex = true")
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

/// All errors of the re-ECN loop in a mobile network and of a policer of its flows, in one file.
#[test]
fn all_errors_in_a_mobile_network_are_reported_together_with_line_key_and_remedy() {
    let text = r#"version = 1
[links.core]
from = "a"
to = "b"
rate = "2 Mb/s"
duplex = false
ingress = [{ kind = "pdn-gateway", mtu = "1500 B" }]
[links.last]
from = "b"
to = "c"
rate = "2 Mb/s"
egress = [{ kind = "enodeb", interval = "5 ms" }]
duplex = false
[links.back]
from = "c"
to = "a"
rate = "2 Mb/s"
duplex = false
[links.past]
from = "b"
to = "d"
rate = "2 Mb/s"
[users.walker]
from = "a"
to = "c"
moves = [{ at = "1 s", to = "d" }]
[users.others]
from = "d"
to = "b"
egress = ["enodeb"]
ingress = [{ kind = "re-ecn-policer", fill_rate = "1 Mb/s", depth = "15 kB", initial = "20 kB", k = 1.3 }]
"#;
    let reported = messages(text);
    for (found, wanted) in reported.iter().zip([
        "line 7: links.core.ingress.0.mtu: a packet of 1500 B has 1544 B in the tunnel, more than the 1500 B that the path carries: give packets of at most 1456 B",
        "line 12: links.last.egress.0.interval: 5 ms is less than a packet takes on the link to here: give at least 6 ms",
        "line 26: users.walker.moves.0.to: d is behind no eNodeB that could take their tunnels over: name a node that is, or give one",
        "line 30: users.others.egress.0: ends tunnels, but no pdn-gateway is on the path to here, so that there are none: give one",
        "line 31: users.others.ingress.0.initial: ",
        "line 31: users.others.ingress.0.k: is above √(3/2)",
        "line 31: users.others.ingress.0.round_trip: missing",
    ]) {
        assert!(found.contains(wanted), "{reported:#?}");
    }
    assert_eq!(reported.len(), 7, "{reported:#?}");
}
