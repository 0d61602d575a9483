//! Named TCP stacks: a profile each, and the differences from it.

use crate::file::Profile;
use crate::plan::StackPlan;

/// All stacks: name, base profile, and differences as in a `tcp` section.
pub(crate) const STACKS: [(StackPlan, Profile, &str); 8] = [
    (StackPlan::Linux, Profile::Linux, ""),
    (StackPlan::Linux2629, Profile::Linux2629, ""),
    (StackPlan::Classic, Profile::Classic, ""),
    (StackPlan::Rfc, Profile::Classic, RFC),
    (StackPlan::Ns2Sack1, Profile::Classic, NS2_SACK1),
    (StackPlan::Ns2NewReno, Profile::Classic, NS2_NEWRENO),
    (StackPlan::Ns2FullTcp, Profile::Classic, NS2_FULL_TCP),
    (StackPlan::Ns2Linux, Profile::Classic, NS2_LINUX),
];

/// RFC 6675 for losses, 6298 for the timer, 6928 for the first window, 3168 for marks.
const RFC: &str = r#"
initial_window = 10
min_rto = "1 s"
initial_rto = "1 s"
after_timeout = "keep-scoreboard"
ecn_fallback = true
retransmit_at_once = true

[quirks]
ecn_after_timeout = false
ecn_backoff = false
ecn_on_retransmits = false
grow_at_end = false
jitter_per_burst = false
limited_transmit_by_count = false
loss_to_one = false
lost_in_flight = false
lower_at_each_timeout = false
lower_for_request = false
rtt_through_recovery = false
rtt_tick = "off"
scoreboard_per_recovery = false
whole_threshold = false
"#;

const NS2_SACK1: &str = r"
[quirks]
ecn_backoff_lasts = true
backoff_forgets_rtt = true
";

const NS2_NEWRENO: &str = r#"
loss_recovery = "newreno"

[quirks]
ecn_backoff_lasts = true
backoff_forgets_rtt = true
recovery_within_mark = true
deflate_below_threshold = true
"#;

/// tcp-full.cc.
const NS2_FULL_TCP: &str = r#"
loss_recovery = "reno"
limited_transmit = false

[quirks]
repeated_recovery = true
inflation_after_timeout = true
progress_ends_backoff = true
loss_to_one = false
rtt_through_recovery = false
jitter_per_burst = false
"#;

/// tcp-linux.cc, scoreboard1.cc. Windows are reduced to the threshold of Linux, at least two segments.
const NS2_LINUX: &str = r#"
window_reduction = "ns2-linux"
timestamps = true
ecn_to_one = false
loss_recovery = "fack"
after_timeout = "keep-scoreboard"
max_rto = "120 s"

[quirks]
limited_transmit_by_count = false
loss_to_one = false
rearm_on_each_ack = true
loss_threshold = 4
rtt_on_each_ack = true
damp_rtt_falls = true
backoff_forgets_rtt = true
"#;

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::parameters::{Kind, ParameterType};

    use super::*;
    use crate::Scenario;
    use crate::plan::TcpPlan;

    fn tcp(text: &str) -> TcpPlan {
        let network = "bottleneck.rate = \"1 Mb/s\"\nusers.a.count = 1";
        let text = format!("version = 1\n{network}\n{text}\n");
        let scenario = Scenario::parse(&text, &[]).unwrap_or_else(|errors| panic!("{errors:#?}"));
        let plan = scenario.plan();
        let own = plan.flows[0].tcp.as_deref().cloned().expect("greedy");
        // The scenario written for repeating a run has the same plan.
        let again = Scenario::parse(&scenario.to_toml(), &[]).expect("as it was written").plan();
        assert_eq!(again.flows[0].tcp.as_deref(), Some(&own));
        own
    }

    #[test]
    fn every_stack_is_all_that_its_text_says() {
        let Kind::Word(words) = StackPlan::KIND else { unreachable!("a choice of words") };
        assert_eq!(words.len(), STACKS.len());
        for (stack, profile, text) in STACKS {
            let (word, profile) = (stack.word(), profile.word());
            let by_name = tcp(&format!("tcp.stack = \"{word}\""));
            let text = text.replace("[quirks]", "[tcp.quirks]");
            let by_keys = tcp(&format!("profile = \"{profile}\"\n[tcp]\n{text}"));
            assert_eq!(by_name, TcpPlan { stack, ..by_keys }, "{word}");
        }
    }

    #[test]
    fn a_profile_has_the_stack_of_its_name() {
        for profile in ["linux", "classic", "linux-2.6.29"] {
            assert_eq!(tcp(&format!("profile = \"{profile}\"")).stack.word(), profile);
        }
    }

    #[test]
    fn keys_win_over_a_stack_and_a_groups_stack_over_the_scenarios_keys() {
        let own = tcp(
            "tcp = { stack = \"ns2-linux\", max_rto = \"64 s\", quirks = { loss_threshold = 3 } }",
        );
        assert_eq!((own.quirks.loss_threshold.0, own.quirks.rtt_on_each_ack), (3, true));
        let group = tcp("tcp.initial_window = 7\nusers.a.tcp.stack = \"rfc\"");
        assert_eq!((group.stack, group.initial_window.0), (StackPlan::Rfc, 10));
        let more = tcp("tcp.stack = \"rfc\"\nusers.a.tcp.quirks.whole_threshold = true");
        assert!(more.quirks.whole_threshold && !more.quirks.loss_to_one);
    }
}
