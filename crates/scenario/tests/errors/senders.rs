//! Errors of senders and applications.

use tidegate_scenario::Scenario;

use super::{messages, overridden, with};

#[test]
fn dctcp_and_prague_without_ecn_are_refused_at_the_key_that_says_so() {
    for controller in ["dctcp", "prague"] {
        let text = with(
            "users.a",
            &format!("tcp = {{ congestion_control = \"{controller}\", ecn = false }}"),
        );
        let found = messages(&text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("users.a.tcp.ecn: ") && found[0].contains("needs ECN"));
    }
}

#[test]
fn feedback_of_marks_without_ecn_is_refused_at_the_key_that_asks_for_it() {
    let (exact, own) = ("tcp.feedback", "users.a.tcp.feedback");
    for (given, key) in [
        (&[(exact, "accurate")][..], exact),
        // Reported once, though a group sets further options.
        (&[(exact, "accurate"), ("users.a.tcp.window_limit", "30 kB")], exact),
        (&[(own, "dctcp"), ("users.a.tcp.ecn", "false")], own),
        (&[(exact, "dctcp"), ("tcp.ecn", "true"), ("users.a.tcp.ecn", "false")], "users.a.tcp.ecn"),
    ] {
        let found = overridden(given).expect_err(key);
        let feedback = given[0].1;
        let what = format!("{feedback:?} feedback needs marks, and so ECN");
        let remedy = "write ecn = true, or remove feedback";
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
fn re_ecn_without_ecn_and_with_a_lie_that_it_cannot_encode_is_rejected() {
    let (all, own) = ("tcp.conex", "users.a.tcp.conex");
    for (given, key) in [
        (&[(all, "\"re-ecn\"")][..], all),
        (&[(all, "\"re-ecn\""), ("users.a.tcp.window_limit", "30 kB")], all),
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
fn a_misspelt_congestion_control_is_reported_as_a_name_and_in_a_table() {
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

#[test]
fn all_errors_in_a_video_short_flows_and_pages_are_reported_together() {
    let video = "traffic = { kind = \"video\", rate = \"1 Mb/s\", length = \"0 s\", chunk = \"3 MB\", \
                 start_above = \"0.4 s\", stall_below = \"2.2 s\" }";
    let short =
        "traffic = { kind = \"short-flows\", size = \"0 B\", every = \"0 s\", shape = 0.0 }";
    let pages = "traffic = { kind = \"pages\", objects = 0.5, size = \"10 kB\", largest = \"10 kB\", \
                 request = \"0 B\" }";
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
        (
            pages,
            [
                "traffic.objects: a page has at least its main object",
                "traffic.size: no sizes from 100 B to 10000 B have this mean",
                "traffic.request: has at least 1 B",
            ],
        ),
    ] {
        let reported = messages(&with("users.a", line));
        for want in wants {
            assert!(reported.iter().any(|message| message.contains(want)), "{want}: {reported:#?}");
        }
    }
}

#[test]
fn sizes_and_arrivals_of_short_flows_that_contradict_each_other_are_rejected() {
    let file =
        |keys: &str| with("users.a", &format!("traffic = {{ kind = \"short-flows\", {keys} }}"));
    for (keys, wants) in [
        ("size = \"1 kB\"", vec!["every: is missing: write the mean time"]),
        ("size = \"1 kB\", every = \"1 s\", load = 0.5", vec!["load: give one of every, load"]),
        ("size = \"1 kB\", load = \"0 %\"", vec!["load: must be above 0"]),
        ("size = \"1 kB\", load = \"20 %\", share = 0.5", vec!["share: has no meaning with load"]),
        (
            "size = \"1 kB\", arrivals = \"1\\n0\\n\", shape = 2.0",
            vec!["arrivals: the file has all times", "arrivals: line 2: times ascend"],
        ),
        ("size = \"web-serch\", every = \"1 s\"", vec!["size: "]),
        (
            "size = { kind = \"cdf\", points = \"1,0.5\\n\" }, every = \"1 s\"",
            vec!["size.points: the last share has to be 1"],
        ),
        (
            "size = { kind = \"pareto\", smallest = \"9 kB\", largest = \"1 kB\" }, every = \"1 s\"",
            vec!["size.largest: is below smallest"],
        ),
        (
            "size = { kind = \"lognormal\", mean = \"9 kB\", sigma = 9.0 }, every = \"1 s\"",
            vec!["size.sigma: must be at most 4"],
        ),
    ] {
        let reported = messages(&file(keys));
        for want in wants {
            assert!(reported.iter().any(|message| message.contains(want)), "{want}: {reported:#?}");
        }
    }
    for right in [
        "size = \"web-search\", load = \"60 %\"",
        "size = { kind = \"data-mining\" }, every = \"1 s\"",
        "size = \"1 kB\", arrivals = \"time_s\\n0\\n1\\n\"",
    ] {
        assert!(Scenario::parse(&file(right), &[]).is_ok(), "{right}");
    }
}

#[test]
fn offers_without_payer_or_too_late_are_rejected() {
    let offers = "offers = [{ at = \"9 s\", willingness_to_pay = 1.0 }, \
                  { at = \"9 s\", willingness_to_pay = 2.0 }, { at = \"2 h\", willingness_to_pay = 0.0 }]";
    let reported = messages(&with("users.a", offers));
    for want in ["users.a.offers.2.willingness_to_pay: ", "0 is not a number above 0"] {
        assert!(reported.iter().any(|message| message.contains(want)), "{want}: {reported:#?}");
    }
    let reported = messages(&with("users.a", &offers.replace("= 0.0", "= 3.0")));
    for want in ["pay for nothing", "times must ascend", "is after the end of the run"] {
        let here =
            |message: &String| message.contains("users.a.offers: ") && message.contains(want);
        assert!(reported.iter().any(here), "{want}: {reported:#?}");
    }
}

#[test]
fn tahoe_has_renos_window() {
    let reported = messages(&with(
        "users.a",
        "tcp = { loss_recovery = \"tahoe\", congestion_control = \"cubic\" }",
    ));
    assert!(
        reported.len() == 1 && reported[0].contains("loss_recovery: Tahoe's window is Reno's"),
        "{reported:#?}"
    );
}
