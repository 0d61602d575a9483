//! Errors of calls and videos: each is reported with its line, and all together.

use super::messages;

const INVALID: &str = r#"
version = 1
warm_up = "1 s"
duration = "10 s"
[bottleneck]
rate = "10 Mb/s"
delay = "5 ms"
buffer = "1000 packets"
ecn = true
[users.times]
traffic = { kind = "calls", rate = "200 kb/s", every = "0 s", holding = "0 s" }
[users.thresholds]
traffic = { kind = "calls", rate = "200 kb/s", every = "1 s", holding = "10 s", admission = { kind = "non-probing", threshold = 1.5 } }
[users.certain]
traffic = { kind = "calls", rate = "200 kb/s", every = "1 s", holding = "10 s", admission = { kind = "non-probing", threshold = 0.0 } }
[users.unprobed]
traffic = { kind = "calls", rate = "200 kb/s", every = "1 s", holding = "10 s", admission = { kind = "probing", probes = 0 } }
[users.unmarked]
traffic = { kind = "calls", rate = "200 kb/s", every = "1 s", holding = "10 s", ecn = false, admission = "probing" }
[users.descends]
traffic = { kind = "frames", rate = "600 kb/s", adaptation = { kind = "price", willingness = "160 kb/s", increase_above = 0.9, decrease_below = 1.1, better = [{ rate = "2.4 Mb/s" }, { rate = "1.2 Mb/s" }] } }
[users.greedy]
traffic = { kind = "greedy", admission = "probing" }
[users.text]
traffic = { kind = "frames", frames = "5120,I\nten\n-5,P\n70000" }
[users.empty]
traffic = { kind = "frames", frames = "" }
[users.large]
traffic = { kind = "frames", rate = "8 Mb/s" }
"#;

const EXPECTED: [&str; 15] = [
    "line 11: users.times.traffic.every: must be longer than 0 s",
    "line 11: users.times.traffic.holding: must be longer than 0 s",
    "line 13: users.thresholds.traffic.admission.threshold: 1.5 is not a probability from 0 to 1, or such as \"1 %\"",
    "line 15: users.certain.traffic.admission.threshold: must lie between 0 and 1: 1 blocks no call",
    "line 17: users.unprobed.traffic.admission.probes: 0 is out of range; expected a whole number from 1 to 1000",
    "line 19: users.unmarked.traffic.ecn: admission uses marks, which calls without ECN do not get: remove this key",
    "line 21: users.descends.traffic.adaptation.increase_above: must be at least 1: below it a quality is left as it is \
     reached",
    "line 21: users.descends.traffic.adaptation.decrease_below: must be at most 1: above it a quality is left as it is \
     reached",
    "line 21: users.descends.traffic.adaptation.better: qualities have to ascend",
    "line 23: users.greedy.traffic.admission: unknown key; valid keys here: kind, lasts",
    "line 25: users.text.traffic.frames: line 2, column 1: no size: write a frame's bytes, such as 5120",
    "line 25: users.text.traffic.frames: line 3, column 1: a size is not negative",
    "line 25: users.text.traffic.frames: line 4, column 1: does not go into a datagram of 64 KiB, which has room for \
     65495 B",
    "line 27: users.empty.traffic.frames: has no rows: write a frame's bytes in each line",
    "line 29: users.large.traffic.rate: a frame would have 40000 B on average; with more than 12000 too many would not \
     go into a datagram of 64 KiB, since frames vary: write a lower rate or a shorter frame_interval",
];

#[test]
fn all_errors_in_calls_and_videos_are_reported_together() {
    let reported = messages(INVALID);
    for expected in EXPECTED {
        assert!(
            reported.iter().any(|one| one == expected),
            "{expected}\nnot in\n{}",
            reported.join("\n")
        );
    }
    assert_eq!(reported.len(), EXPECTED.len(), "{}", reported.join("\n"));
}

/// A gateway that takes each frame for a call, a window without a sample, a patience of zero, and reports of two kinds.
#[test]
fn what_decides_about_calls_has_to_be_able_to() {
    let network = INVALID.split("[users.times]").next().expect("has users");
    let call = "kind = \"calls\", rate = \"200 kb/s\", every = \"1 s\", holding = \"10 s\"";
    let price = "kind = \"price\", willingness = \"40 kb/s\", better = [{ rate = \"400 kb/s\" }]";
    let of =
        |traffic: &str| messages(&format!("{network}[users.one]\ntraffic = {{ {traffic} }}\n"));
    let gateway = "at = { kind = \"gateway\", sources = 5, silence = \"40 ms\" }";
    let by = |admission: &str| of(&format!("{call}, admission = {{ {admission} }}"));
    let reported = by(&format!("kind = \"non-probing\", threshold = 0.1, {gateway}"));
    assert!(reported[0].contains("each frame would be a new call"), "{reported:?}");
    let reported = by("kind = \"measured-sum\", limit = \"1 Mb/s\", window = \"100 ms\"");
    assert!(reported[0].contains("window: must not be shorter than a sample"), "{reported:?}");
    let both = "admission = { kind = \"non-probing\", threshold = 0.1, report_interval = \"1 s\" }";
    let reported = of(&format!("{call}, {both}, adaptation = {{ {price} }}"));
    assert!(reported[0].contains("write the same report_interval"), "{reported:?}");
    let video = "video_model = { kind = \"mpeg\", full = 0.5, predicted = 20.0 }";
    let reported = of(&format!("{call}, {video}"));
    assert!(
        reported.len() == 2 && reported[0].contains("full: must lie between 1 and 10"),
        "{reported:?}"
    );
    let reported = of("kind = \"frames\", frames = \"800\", video_model = { kind = \"mpeg\" }");
    assert!(
        reported[0].contains("video_model: frames has the sizes of all frames"),
        "{reported:?}"
    );
    let hasty = "increase = { kind = \"patient\", wait = \"0 s\" }";
    let reported = of(&format!("{call}, adaptation = {{ {price}, {hasty} }}"));
    assert!(reported[0].contains("must be longer than 0 s"), "{reported:?}");
    let dead = "reports must come after more than 0 s, and sooner than give_up_after";
    for silent in ["sign_of_life = \"0 s\"", "give_up_after = \"5 s\""] {
        let reported = of(&format!("{call}, {silent}"));
        assert!(
            reported.len() == 1 && reported[0].contains(&format!("sign_of_life: {dead}")),
            "{reported:?}"
        );
    }
    let reported = of(&format!("{call}, give_up_after = \"80 ms\", adaptation = {{ {price} }}"));
    assert!(reported[0].contains(&format!("adaptation: {dead}")), "{reported:?}");
    let reported = of(&format!("{call}, give_up_after = \"0 s\", sign_of_life = \"off\""));
    assert!(reported.len() == 1 && reported[0].contains("must be longer than 0 s"), "{reported:?}");
}
