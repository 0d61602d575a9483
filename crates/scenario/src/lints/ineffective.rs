//! Lints of keys that have no effect, because another key is missing.

use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::bottleneck::scheduler::cake::Tins;
use tidegate_mechanisms::dscp::Dscp;
use tidegate_mechanisms::stage::StageParams;
use tidegate_mechanisms::stage::conex_policer::Buckets;
use tidegate_mechanisms::units::Bytes;

use crate::field::Reader;
use crate::file::{File, User};
use crate::network::Network;
use crate::plan::{Direction, LinkMechanisms, LinkPlan};

/// Default of `peak_burst` in policers and shapers.
const PEAK_BURST: Bytes = Bytes::new(3_000);

/// Reports all of these lints.
pub(super) fn of(file: &File, network: &Network, reader: &mut Reader) {
    for (path, link) in file.link_mechanisms() {
        reader.nested(&path, |reader| on_link(link, network, reader));
    }
    for (name, user) in &file.users.entries {
        reader.nested(&["users", name], |reader| of_user(file, user, network, reader));
    }
}

fn on_link(link: &LinkMechanisms, network: &Network, reader: &mut Reader) {
    if link.reorder.0 == 0.0 && link.reorder_gap.0 != 1 {
        reader.error_at("reorder_gap", "has no effect without reorder");
    }
    if link.ecn && matches!(link.scheduler, SchedulerParams::Drr(_)) {
        let message = "has no effect with drr, which drops where the buffer is full and signals nothing before";
        reader.error_at("ecn", message);
    }
    stages(&link.ingress, "ingress", reader);
    stages(&link.egress, "egress", reader);
    let lower = network.links.iter().any(has_lower_class);
    for (place, stages) in [("ingress", &link.ingress), ("egress", &link.egress)] {
        without_lower_class(stages, place, lower, reader);
    }
}

fn of_user(file: &File, user: &User, network: &Network, reader: &mut Reader) {
    stages(&user.ingress, "ingress", reader);
    stages(&user.egress, "egress", reader);
    let lower = super::shared_links(network, user, Direction::Forward).any(has_lower_class);
    without_lower_class(&user.ingress, "ingress", lower, reader);
    without_lower_class(&user.egress, "egress", false, reader);
    if user.dscp != Dscp::Cs0 && !is_dscp_read(file, user, network) {
        let message = "has no effect: no link on the path has a scheduler that reads it, such as cake with tins";
        reader.error_at("dscp", message);
    }
    if user.count.0 > 1 && !user.shares_stages {
        for (place, stages) in [("ingress", &user.ingress), ("egress", &user.egress)] {
            if stages.iter().any(has_one_bucket) {
                let message = "buckets = \"one\" has no effect, since each user of the group has a stage of its own: give \
                               shares_stages = true";
                reader.error_at(place, message);
            }
        }
    }
}

fn stages(stages: &[StageParams], place: &'static str, reader: &mut Reader) {
    for stage in stages {
        let (peak_rate, peak_burst) = match stage {
            StageParams::Policer(own) => (own.peak_rate, own.peak_burst),
            StageParams::Shaper(own) => (own.peak_rate, own.peak_burst),
            _ => continue,
        };
        if peak_rate.is_none() && peak_burst != PEAK_BURST {
            let message =
                format!("peak_burst of a {} has no effect without peak_rate", stage.name());
            reader.error_at(place, message);
        }
    }
}

/// Reports a stage that gives packets a lower class where no scheduler has one.
fn without_lower_class(
    stages: &[StageParams],
    place: &'static str,
    has_class: bool,
    reader: &mut Reader,
) {
    if !has_class && stages.iter().any(StageParams::deprioritises) {
        let message = "\"deprioritise\" has no effect: no link behind it serves lower effort after the others; \
                       cake does with tins = \"diffserv3\", \"diffserv4\" or \"diffserv8\"";
        reader.error_at(place, message);
    }
}

/// Whether a link serves packets of lower effort (RFC 8622) after the others. A qdisc of the kernel reads the packets as
/// their host has sent them.
fn has_lower_class(link: &LinkPlan) -> bool {
    let has_tin = |tins| matches!(tins, Tins::Diffserv3 | Tins::Diffserv4 | Tins::Diffserv8);
    let own = |scheduler: &SchedulerParams| match scheduler {
        SchedulerParams::Cake(cake) => has_tin(cake.tins),
        _ => false,
    };
    link.kernel_qdisc.is_none() && own(&link.scheduler)
}

fn has_one_bucket(stage: &StageParams) -> bool {
    match stage {
        StageParams::Policer(own) => own.buckets == Buckets::One,
        StageParams::ConexPolicer(own) => own.buckets == Buckets::One,
        _ => false,
    }
}

/// Whether a link on a group's path, in either direction, serves packets by their DSCP.
fn is_dscp_read(file: &File, user: &User, network: &Network) -> bool {
    let reads = |link: &LinkPlan| match &link.scheduler {
        SchedulerParams::Cake(cake) => cake.tins != Tins::Besteffort,
        _ => link.kernel_qdisc.is_some(),
    };
    [Direction::Forward, Direction::Reverse]
        .into_iter()
        .any(|direction| super::shared_links(network, user, direction).any(reads))
        || file.bottleneck.iter().any(|own| own.kernel_qdisc.is_some())
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    /// Warnings of a bottleneck's and a group's lines.
    fn warnings(bottleneck: &str, user: &str) -> Vec<String> {
        let text = format!(
            "version = 1\n[bottleneck]\nrate = \"10 Mb/s\"\nbuffer = \"1 BDP\"\n{bottleneck}\n[users.a]\n{user}\n"
        );
        let scenario = Scenario::parse(&text, &[]).expect("valid");
        scenario.warnings().iter().map(ToString::to_string).collect()
    }

    fn check(bottleneck: &str, user: &str, want: &str) {
        let found = warnings(bottleneck, user);
        assert!(found.len() == 1 && found[0].contains(want), "{found:?}");
    }

    #[test]
    fn a_dscp_that_nothing_reads_is_warned_of() {
        let want = "users.a.dscp: has no effect";
        check("", "dscp = \"EF\"", want);
        check("scheduler = { kind = \"cake\", tins = \"besteffort\" }", "dscp = \"EF\"", want);
        assert_eq!(warnings("scheduler = \"cake\"", "dscp = \"EF\""), [""; 0]);
        assert_eq!(warnings("", "dscp = \"CS0\""), [""; 0]);
    }

    #[test]
    fn a_policer_that_deprioritises_where_no_class_is_lower_is_warned_of() {
        let policer = |action: &str| {
            format!(
                "ingress = [{{ kind = \"conex-policer\", fill_rate = \"1 Mb/s\", depth = \"9 kB\", action = \"{action}\" }}]"
            )
        };
        let want = "users.a.ingress: \"deprioritise\" has no effect: no link behind it";
        let conex = |ingress: String| format!("tcp.conex = \"rfc7786\"\n{ingress}");
        let cake = |tins: &str| format!("scheduler = {{ kind = \"cake\", tins = \"{tins}\" }}");
        check("", &conex(policer("deprioritise")), want);
        let rates = "rate = \"1 Mb/s\", peak_rate = \"2 Mb/s\"";
        let marker =
            format!("ingress = [{{ kind = \"trtcm\", {rates}, yellow = \"deprioritise\" }}]");
        check("", &marker, want);
        for tins in ["besteffort", "precedence"] {
            check(&cake(tins), &conex(policer("deprioritise")), want);
        }
        assert_eq!(warnings(&cake("diffserv4"), &conex(policer("deprioritise"))), [""; 0]);
        assert_eq!(warnings("", &conex(policer("drop"))), [""; 0]);
        let of_link = policer("deprioritise");
        check(&of_link, "tcp.conex = \"rfc7786\"", "bottleneck.ingress: \"deprioritise\"");
    }

    #[test]
    fn a_gap_without_reordering_is_warned_of() {
        check("reorder_gap = 5", "", "bottleneck.reorder_gap: has no effect without reorder");
        let both = "reorder_gap = 5\nreorder = 0.01\ndelay = \"10 ms\"";
        assert_eq!(warnings(both, ""), [""; 0]);
    }

    #[test]
    fn marks_that_drr_does_not_set_are_warned_of() {
        check("ecn = true\nscheduler = \"drr\"", "", "bottleneck.ecn: has no effect with drr");
        assert_eq!(warnings("ecn = true\nscheduler = \"fq-codel\"", ""), [""; 0]);
    }

    #[test]
    fn a_burst_of_no_peak_rate_is_warned_of() {
        for kind in ["policer", "shaper"] {
            let stage = |more: &str| {
                format!("{{ kind = \"{kind}\", rate = \"5 Mb/s\", peak_burst = \"6 kB\"{more} }}")
            };
            let want = format!("peak_burst of a {kind} has no effect without peak_rate");
            check("", &format!("ingress = [{}]", stage("")), &want);
            check(&format!("ingress = [{}]", stage("")), "", &want);
            let peak = format!("ingress = [{}]", stage(", peak_rate = \"8 Mb/s\""));
            assert_eq!(warnings("", &peak), [""; 0]);
        }
    }

    #[test]
    fn one_bucket_in_stages_of_single_users_is_warned_of() {
        let own = |more: &str| {
            format!(
                "{more}\ningress = [{{ kind = \"policer\", rate = \"5 Mb/s\", buckets = \"one\" }}]"
            )
        };
        check("", &own("count = 3"), "users.a.ingress: buckets = \"one\" has no effect");
        assert_eq!(warnings("", &own("count = 3\nshares_stages = true")), [""; 0]);
        assert_eq!(warnings("", &own("")), [""; 0]);
    }
}
