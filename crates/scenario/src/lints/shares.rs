//! Lints of shares by weights and by classes that have no effect, or that are more than there is.

use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::bottleneck::scheduler::cake::Isolation;

use super::{Direction, shared_links};
use crate::buffers::queues;
use crate::field::Reader;
use crate::file::{File, User};
use crate::network::Network;
use crate::plan::LinkPlan;
use crate::resolve::AtHosts;

/// Reports all of these lints.
pub(super) fn of(file: &File, network: &Network, reader: &mut Reader) {
    let weighs = |link: &LinkPlan| {
        use SchedulerParams as Params;
        matches!(link.scheduler, Params::Drr(_) | Params::FqCodel(_) | Params::Cake(_))
    };
    for (name, user) in file.users.entries.iter().filter(|(_, user)| user.weight.0 != 1.0) {
        if !shared_links(network, user, Direction::Forward).any(weighs) {
            let message = "has no effect: no link on their path has a scheduler that shares by weights (drr, fq-codel, \
                           cake)";
            reader.nested(&["users", name], |reader| reader.error_at("weight", message));
        }
    }
    let customers: u64 = file.users.entries.iter().map(|(_, user)| user.count.0).sum();
    if customers > 1 {
        for (name, user) in file.users.entries.iter().filter(|(_, user)| user.flows.0 > 1) {
            reader.nested(&["users", name], |reader| by_servers(file, user, network, reader));
        }
    }
    for queue in queues(file) {
        let SchedulerParams::Htb(htb) = &queue.mechanisms.scheduler else { continue };
        let committed: u64 = htb.classes.0.iter().map(|class| class.rate.as_bps()).sum();
        if committed > queue.rate.as_bps() {
            let message = format!(
                "the classes commit {} b/s, and the link has {}: not all of them can have their rates",
                committed,
                queue.rate.as_bps()
            );
            let path = [&queue.path[..], &["scheduler"]].concat();
            reader.nested(&path, |reader| reader.error_at("classes", message));
        }
    }
}

/// Reports a CAKE that shares by the hosts of servers and not by those of a group's customers.
fn by_servers(file: &File, user: &User, network: &Network, reader: &mut Reader) {
    let to_customers = matches!(user.hosts_in(file), Some((_, _, AtHosts::Receiving)));
    for link in shared_links(network, user, Direction::Forward) {
        let SchedulerParams::Cake(cake) = &link.scheduler else { continue };
        if !cake.isolation.takes_servers_for_customers(to_customers) {
            continue;
        }
        let shared = match cake.isolation {
            Isolation::Srchost | Isolation::Dsthost => "all users share a queue",
            _ => "users have turns by their flows",
        };
        let message = format!(
            "cake on {} has isolation {}, and all servers are one host, so that {shared}: {} or dual-host shares by \
             users",
            link.name,
            cake.isolation.word(),
            if to_customers { "dual-dsthost" } else { "dual-srchost" },
        );
        reader.error::<()>(message);
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn read(rest: &str) -> Result<Vec<String>, Vec<String>> {
        let text = format!("version = 1\n[bottleneck]\nrate = \"10 Mb/s\"\n{rest}");
        let shown = |all: &[crate::Diagnostic]| all.iter().map(ToString::to_string).collect();
        match Scenario::parse(&text, &[]) {
            Ok(scenario) => Ok(shown(scenario.warnings())),
            Err(errors) => Err(shown(&errors)),
        }
    }

    #[test]
    fn a_weight_that_nothing_reads_is_warned_of() {
        let with = |scheduler: &str| {
            read(&format!("scheduler = \"{scheduler}\"\n[users.a]\nweight = 2.5\n"))
                .expect("is valid")
        };
        for scheduler in ["drr", "fq-codel", "cake"] {
            assert_eq!(with(scheduler), [""; 0]);
        }
        assert!(with("fifo")[0].contains("users.a.weight: has no effect"));
        assert!(read("[users.a]\nweight = 0\n").is_err());
    }

    /// Ten flows of one user beside one of another, by the server's host or by theirs.
    #[test]
    fn a_cake_that_does_not_tell_users_apart_is_warned_of() {
        let with = |isolation: &str, users: &str| {
            let scheduler = format!("scheduler = {{ kind = \"cake\", {isolation} }}");
            read(&format!("duplex = true\n{scheduler}\n{users}")).expect("is valid")
        };
        let ten = "[users.a]\nflows = 10\n[users.b]\n";
        for by_flow in ["rtt = \"100 ms\"", "isolation = \"dual-dsthost\""] {
            let lints = with(by_flow, ten);
            assert_eq!(lints.len(), 1, "{lints:?}");
            assert!(lints[0].contains("users.a: cake on bottleneck has isolation"), "{lints:?}");
            assert!(lints[0].ends_with("dual-srchost or dual-host shares by users"), "{lints:?}");
        }
        let lints = with("isolation = \"dsthost\"", ten);
        assert!(lints[0].contains("so that all users share a queue"), "{lints:?}");
        for isolation in ["dual-srchost", "dual-host", "flows", "hosts", "srchost", "flowblind"] {
            assert_eq!(with(&format!("isolation = \"{isolation}\""), ten), [""; 0]);
        }
        assert_eq!(with("rtt = \"100 ms\"", "[users.a]\nflows = 10\n"), [""; 0]);
        assert_eq!(with("rtt = \"100 ms\"", "[users.a]\n[users.b]\n"), [""; 0]);
        let down =
            "[users.a]\n[users.b]\nhosts = \"a\"\nfrom = \"right\"\nto = \"left\"\nflows = 2\n";
        let lints = with("isolation = \"dual-srchost\"", down);
        assert!(lints[0].contains("dual-dsthost or dual-host"), "{lints:?}");
    }

    #[test]
    fn classes_name_groups_and_commit_no_more_than_the_link_has() {
        let classes = |classes: &str| {
            read(
                &format!("scheduler = {{ kind = \"htb\", classes = [{classes}] }}\nusers.x = 1\n")
                    .replace("users.x = 1\n", "[users]\na = {}\nb = {}\n"),
            )
        };
        assert_eq!(classes(r#"{ users = "a", rate = "10 Mb/s" }"#), Ok(vec![]));
        let both = r#"{ users = "a", rate = "6 Mb/s" }, { users = "b", rate = "5 Mb/s" }"#;
        let lints = classes(both).expect("is valid");
        assert!(
            lints[0].contains("bottleneck.scheduler.classes: the classes commit 11000000 b/s"),
            "{lints:?}"
        );
        let errors = classes(r#"{ users = "c", rate = "1 Mb/s" }"#).expect_err("is unknown");
        assert!(errors[0].contains("there is no group \"c\"; groups are a, b"), "{errors:?}");
        let errors =
            classes(r#"{ users = "a", rate = "3 Mb/s", ceil = "2 Mb/s" }"#).expect_err("is below");
        assert!(errors[0].contains("ceil: is below rate"), "{errors:?}");
    }
}
