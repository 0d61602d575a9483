//! Lints of buffers far below the bandwidth-delay product.
//!
//! TCP halves its window after a loss, and the link stays busy if the buffer held the other half. n flows that are not
//! synchronised need 1/√n of a bandwidth-delay product (Appenzeller, Keslassy and McKeown, SIGCOMM 2004).

use std::collections::BTreeSet;

use tidegate_mechanisms::units::Span;

use crate::buffers::{Queue, Trip, bytes, queues};
use crate::field::Reader;
use crate::file::{File, User};
use crate::network::Network;
use crate::plan::length;

/// Part of the bandwidth-delay product below which there is a lint.
const PART: f64 = 0.1;

/// TCP flows that may fill a link.
#[derive(Clone, Copy, Default)]
struct Filling {
    flows: u64,
    /// Longest of their round-trip times.
    round_trip: Span,
}

/// Reports all of these lints, one for each place in the file.
pub(super) fn of(file: &File, network: &Network, reader: &mut Reader) {
    let filling = filling(file, network);
    let mut reported = BTreeSet::new();
    for queue in queues(file) {
        // A price keeps queues short without losses, and a qdisc has a buffer of its own.
        let prices = queue.mechanisms.aqm.asks_price().is_some();
        let qdisc = network.link(&queue.links[0]).is_some_and(|link| link.kernel_qdisc.is_some());
        if prices || qdisc {
            continue;
        }
        let numbers = queue.links.iter().filter_map(|name| network.number_of_link(name));
        let most = numbers.map(|number| filling[number as usize]).max_by_key(|one| one.round_trip);
        let Some(message) = most.and_then(|most| is_short(file, &queue, most)) else { continue };
        if reported.insert(queue.path.clone()) {
            reader.nested(&queue.path, |reader| reader.error_at("buffer", message));
        }
    }
}

/// Returns what may fill each link, by its number: the slowest of a path, unless the users' own links are slower.
fn filling(file: &File, network: &Network) -> Vec<Filling> {
    let mut filling = vec![Filling::default(); network.links.len()];
    let over_tcp = |user: &&User| user.traffic.0.is_over_tcp();
    for user in file.users.entries.iter().map(|(_, user)| user).filter(over_tcp) {
        let Some(trip) = Trip::of(file, user, network) else { continue };
        let rate = |number: &u32| network.links[*number as usize].rate;
        let Some(slowest) = trip.there.iter().map(rate).min() else { continue };
        if user.access_link(file).rate <= slowest {
            continue;
        }
        for number in trip.there.iter().filter(|number| rate(number) == slowest) {
            let own = &mut filling[*number as usize];
            own.flows = own.flows.saturating_add(user.count.0 * user.flows.0);
            own.round_trip = own.round_trip.max(trip.time);
        }
    }
    filling
}

fn is_short(file: &File, queue: &Queue, filling: Filling) -> Option<String> {
    let Filling { flows, round_trip } = filling;
    // In a run shorter than a round trip nothing fills it.
    if flows == 0 || round_trip > file.warm_up + file.duration {
        return None;
    }
    let buffer = length(queue.buffer);
    let room = bytes(buffer, file.packet_size.get()) as f64;
    let product = queue.rate.as_bytes_per_sec() * round_trip.as_secs();
    let needed = product * PART.min(1.0 / (flows as f64).sqrt());
    (room < needed).then(|| {
        format!(
            "{buffer} are {:.1} % of the bandwidth-delay product, {:.0} kB at {} ms: TCP leaves the link idle after \
             losses; give a larger one, such as \"1 BDP\"",
            room / product * 100.0,
            product / 1e3,
            (round_trip.as_secs() * 1e4).round() / 10.0
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn lints(rest: &str, users: &str) -> Vec<String> {
        let text = format!(
            "version = 1\n[bottleneck]\nrate = \"100 Mb/s\"\ndelay = \"50 ms\"\n{rest}\n[users]\n{users}\n"
        );
        let scenario = Scenario::parse(&text, &[]).expect("valid");
        scenario.warnings().iter().map(ToString::to_string).collect()
    }

    /// 100 Mb/s and 100.2 ms are 1252.5 kB, of which a tenth is 83.5 packets.
    #[test]
    fn less_than_a_tenth_of_the_product_is_warned_of() {
        assert_eq!(lints("buffer = \"84 packets\"", "a = {}"), [""; 0]);
        let reported = lints("buffer = \"83 packets\"", "a = {}");
        let want = "bottleneck.buffer: 83 packets are 9.9 % of the bandwidth-delay product, 1252 kB at 100.2 ms";
        assert!(reported.len() == 1 && reported[0].contains(want), "{reported:?}");
    }

    #[test]
    fn many_flows_need_less_and_udp_and_prices_nothing() {
        assert_eq!(lints("buffer = \"20 packets\"", "a.flows = 2000"), [""; 0]);
        let udp = "a.traffic = { kind = \"cbr\", rate = \"1 Mb/s\" }";
        assert_eq!(lints("buffer = \"20 packets\"", udp), [""; 0]);
        assert_eq!(lints("buffer = \"0.2 BDP\"", "a = {}"), [""; 0]);
        assert_eq!(lints("buffer = \"0.05 BDP\"", "a = {}").len(), 1);
    }
}
