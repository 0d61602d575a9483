//! Limits of the routes of a run: their links, and their steps.

use tidegate_mechanisms::bottleneck::AqmParams;
use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::stage::StageParams;

use crate::check::longest_ns;
use crate::field::Reader;
use crate::file::{File, User};
use crate::network::Network;
use crate::plan::{LinkPlan, MAX_LINKS, MAX_ROUTE_STEPS, MAX_RUN, longest_run};

/// Maximum number of links in the routes of all flows.
const MAX_ROUTE_LINKS: u64 = 50_000_000;
/// In addition to links between nodes a route has at most a link at either end, and a step at its end.
const AT_ENDS: u64 = 3;

/// Reports an error if routes exceed the limits; unknown routes are reported elsewhere.
pub(crate) fn check(file: &File, network: &Network, reader: &mut Reader) {
    numbers(file, network, reader);
    let routes = file.users.entries.iter().map(|(_, user)| Routes::of(user, network));
    let Routes { links, steps } = routes.fold(Routes::default(), Routes::and);
    let shorter = "give fewer users or flows, or fewer links between from and to";
    if links > MAX_ROUTE_LINKS {
        let message = format!(
            "the routes of all flows have {links} links; at most {MAX_ROUTE_LINKS}: {shorter}"
        );
        reader.error_at("users", message);
    } else if steps > MAX_ROUTE_STEPS as u64 {
        let message = format!(
            "the routes of all users have {steps} steps; at most {MAX_ROUTE_STEPS}: {shorter}"
        );
        reader.error_at("users", message);
    }
}

/// Checks that all events have numbers: links, queues whose departures are events, and stages that hold packets.
fn numbers(file: &File, network: &Network, reader: &mut Reader) {
    let may_be_events = |link: &&LinkPlan| {
        link.scheduler != SchedulerParams::Fifo || link.aqm != AqmParams::DropTail
    };
    let queues = network.links.iter().filter(may_be_events).count() as u64;
    let links = links_in_all(file);
    if let Some(message) = too_many(links, queues) {
        reader.error_at("users", message);
    } else if let Some(message) =
        too_long(file, links.saturating_add(queues + holders(file, network)))
    {
        reader.error_at("duration", message);
    }
}

fn holders(file: &File, network: &Network) -> u64 {
    let hold = |stages: &[StageParams]| {
        stages.iter().filter(|stage| stage.capabilities().holds).count() as u64
    };
    let of_links = network.links.iter().map(|link| hold(&link.ingress) + hold(&link.egress));
    let users = file.users.entries.iter();
    let of_users = users.map(|(_, user)| user.count.0 * (hold(&user.ingress) + hold(&user.egress)));
    of_links.chain(of_users).sum()
}

/// Returns an error if this many numbers leave too few bits for the time of an event. Where they leave all, the length is
/// checked elsewhere.
fn too_long(file: &File, numbers: u64) -> Option<String> {
    let limit = longest_run(numbers.min(MAX_LINKS as u64 - 1) as usize);
    let too_long = (limit.as_nanos()..MAX_RUN.as_nanos()).contains(&longest_ns(file));
    let limit_h = (limit.as_secs() / 360.0).floor() / 10.0;
    too_long.then(|| {
        format!(
            "with {numbers} links, queues and shapers, warm_up, duration and drain_limit together must stay below \
             {limit_h} h"
        )
    })
}

/// Returns an error if events exceed their places; a link whose departures are events counts twice. An excess of links
/// alone is reported elsewhere.
fn too_many(links: u64, queues: u64) -> Option<String> {
    let most = MAX_LINKS as u64 - 1;
    (links <= most && links + queues > most).then(|| {
        format!(
            "{links} links in all, and {queues} of them have an AQM or a scheduler and count twice; at most \
             {most}: give fewer links or users"
        )
    })
}

/// Totals of routes.
#[derive(Clone, Copy, Default)]
struct Routes {
    /// Links in the routes of all flows.
    links: u64,
    /// Steps of the routes of all users, which their flows share.
    steps: u64,
}

impl Routes {
    fn and(self, other: Self) -> Self {
        Routes {
            links: self.links.saturating_add(other.links),
            steps: self.steps.saturating_add(other.steps),
        }
    }

    /// Returns the totals of a group: of its present routes and, after moves, of later ones.
    fn of(user: &User, network: &Network) -> Self {
        let (from, to) = user.ends();
        let later = user.walk();
        let all = later.iter().map(|&(_, from, to)| (from, to)).chain([(from, to)]);
        let one = all.fold(Routes::default(), |sum, (from, to)| {
            sum.and(Routes::between(user, network, from, to))
        });
        let (users, flows) = (user.count.0, user.flows.0);
        Routes {
            links: one.links.saturating_mul(users.saturating_mul(flows)),
            steps: one.steps.saturating_mul(users),
        }
    }

    /// Returns the totals of one flow in both directions, and of the reports that stages send back.
    fn between(user: &User, network: &Network, from: &str, to: &str) -> Self {
        let Some((there, back)) = network.path(from, to).zip(network.path(to, from)) else {
            return Routes::default();
        };
        let links = (there.len() + back.len()) as u64;
        let hops = links + 2 * AT_ENDS;
        let of_links = there.iter().chain(&back).flat_map(|&link| {
            let link = &network.links[link as usize];
            link.ingress.iter().chain(&link.egress)
        });
        let stages = user.ingress.iter().chain(&user.egress).chain(of_links);
        let reports =
            stages.flat_map(StageParams::replicas).filter(|own| own.reports_to().is_some());
        Routes { links, steps: hops * (1 + reports.count() as u64) }
    }
}

/// Returns the number of links: an access link per user, another at the far end if configured, and the core, in both
/// directions.
pub(crate) fn links_in_all(file: &File) -> u64 {
    let far = u64::from(file.receiver_access.is_some());
    let of_users = file.users.entries.iter().fold(0u64, |sum, (_, user)| {
        let sides = 1 + far.max(u64::from(user.receiver_access.is_some()));
        sum.saturating_add(2 * sides * user.count.0)
    });
    let row = file.parking_lot.as_ref().map_or(1, |lot| lot.hops.count());
    let shape = file.mobile.as_ref().map_or(row, |mobile| 4 + 2 * mobile.enodebs.count());
    let core = 2 * file.links.as_ref().map_or(shape, |links| links.entries.len()) as u64;
    of_users.saturating_add(core)
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn reported(text: &str) -> Vec<String> {
        let reported =
            Scenario::parse(&format!("version = 1\n{text}"), &[]).err().unwrap_or_default();
        reported.iter().map(ToString::to_string).collect()
    }

    /// 120,000 users over 100 hops: 206 steps each in both directions, 24.7 million.
    #[test]
    fn a_long_row_for_many_users_is_refused_before_it_runs() {
        let row = |hops: u32, users: u32| {
            format!(
                "parking_lot = {{ hops = {hops}, rate = \"1 Gb/s\" }}\n\
                 users.a = {{ count = {users}, from = \"r0\", to = \"r{hops}\" }}\n"
            )
        };
        let messages = reported(&row(100, 120_000));
        assert_eq!(messages.len(), 1, "{messages:?}");
        let wanted = "users: the routes of all users have 24720000 steps; at most 16777216: give fewer users";
        assert!(messages[0].contains(wanted), "{messages:?}");
        assert_eq!(reported(&row(100, 80_000)), [""; 0]);
    }

    /// Each of the groups alone is within the limit.
    #[test]
    fn routes_of_all_groups_count_together() {
        let group = |name: &str| {
            format!("users.{name} = {{ count = 300, flows = 1000, from = \"r0\", to = \"r50\" }}\n")
        };
        let row = "parking_lot = { hops = 50, rate = \"1 Gb/s\" }\n";
        assert_eq!(reported(&format!("{row}{}", group("a"))), [""; 0]);
        let messages = reported(&format!("{row}{}{}", group("a"), group("b")));
        let wanted = "users: the routes of all flows have 60000000 links; at most 50000000";
        assert!(messages.len() == 1 && messages[0].contains(wanted), "{messages:?}");
    }

    #[test]
    fn queues_whose_departures_are_events_count_twice() {
        assert_eq!(super::too_many(4_194_303, 0), None);
        assert_eq!(super::too_many(4_000_000, 194_303), None);
        let message = super::too_many(4_000_000, 194_304).expect("are too many");
        assert!(
            message.contains("194304 of them have an AQM or a scheduler and count twice"),
            "{message}"
        );
        assert_eq!(super::too_many(4_194_304, 1), None, "reported elsewhere");
    }
}
