//! Buffers given as a time or in bandwidth-delay products, and the defaults of schedulers: both become packets or bytes.
//!
//! ```text
//! "50 ms"   rate · 50 ms      rate as configured, or the mean of its trace
//! "1 BDP"   rate · R          R longest round-trip time of the groups whose data cross the link: propagation there and
//!                             back, with the users' own links, without queues and transmission
//! ```

use std::collections::BTreeMap;

use tidegate_mechanisms::units::{BufferSize, QueueLength, Rate, Span};

use crate::check::{network_if_known, searches};
use crate::field::Reader;
use crate::file::{File, User};
use crate::network::Network;
use crate::plan::LinkMechanisms;
use crate::value::OneOrEach;

/// A queue of a shared link.
pub(crate) struct Queue<'a> {
    /// Position of its section in the file.
    pub path: Vec<&'a str>,
    /// Names of the link and of that in the other direction.
    pub links: [String; 2],
    pub mechanisms: &'a LinkMechanisms,
    pub rate: Rate,
    pub buffer: Option<BufferSize>,
}

impl Queue<'_> {
    /// Whether one of its links is on this path.
    pub fn is_on(&self, path: &[u32], network: &Network) -> bool {
        let mut numbers = self.links.iter().filter_map(|name| network.number_of_link(name));
        numbers.any(|number| path.contains(&number))
    }
}

/// Returns the queues of all shared links, in the order of the file; of a parking lot one for each hop.
pub(crate) fn queues(file: &File) -> Vec<Queue<'_>> {
    let named = |name: &str| [name.to_owned(), format!("{name}.reverse")];
    let mut queues = Vec::new();
    if let Some(own) = &file.bottleneck {
        queues.push(Queue {
            path: vec!["bottleneck"],
            links: named("bottleneck"),
            mechanisms: &own.mechanisms,
            rate: own.line.rate.nominal(),
            buffer: own.line.buffer,
        });
    }
    for (lot, hop) in
        file.parking_lot.iter().flat_map(|lot| (0..lot.hops.count()).map(move |hop| (lot, hop)))
    {
        queues.push(Queue {
            path: vec!["parking_lot"],
            links: [format!("r{hop}-r{}", hop + 1), format!("r{}-r{hop}", hop + 1)],
            mechanisms: &lot.mechanisms,
            rate: lot.rate.at(hop),
            buffer: lot.buffer.as_ref().map(|own| own.at(hop)),
        });
    }
    if let Some(own) = &file.mobile {
        queues.push(Queue {
            path: vec!["mobile"],
            links: named("bottleneck"),
            mechanisms: &own.mechanisms,
            rate: own.line.rate.nominal(),
            buffer: own.line.buffer,
        });
    }
    for (name, own) in file.links.iter().flat_map(|links| &links.entries) {
        queues.push(Queue {
            path: vec!["links", name],
            links: named(name),
            mechanisms: &own.mechanisms,
            rate: own.line.rate.nominal(),
            buffer: own.line.buffer,
        });
    }
    queues
}

/// A group's path there, and its round-trip time without queues and transmission.
pub(crate) struct Trip {
    pub there: Vec<u32>,
    pub time: Span,
}

impl Trip {
    /// `None` without a path, which is reported elsewhere.
    pub fn of(file: &File, user: &User, network: &Network) -> Option<Trip> {
        let (from, to) = user.ends();
        let (there, back) = (network.path(from, to)?, network.path(to, from)?);
        let own = [Some(user.access_link(file)), user.receiver_access_link(file)];
        let own = own.into_iter().flatten().filter_map(|link| link.delay.0.into_iter().max());
        let both_ways = own.map(|delay| delay.as_nanos().saturating_mul(2));
        let shared = there.iter().chain(&back);
        let shared = shared.map(|link| network.links[*link as usize].delay.as_nanos());
        let time = Span::from_nanos(both_ways.chain(shared).fold(0, u64::saturating_add));
        Some(Trip { there, time })
    }
}

/// Turns the buffers of shared links into packets or bytes. A bandwidth-delay product without a round trip stays, for
/// [`check`].
pub(crate) fn resolve(file: &mut File) {
    let lot_fits = file.parking_lot.as_ref().is_none_or(|lot| lot.has_all());
    if !lot_fits {
        return;
    }
    let resolved: BTreeMap<Vec<String>, Vec<BufferSize>> = {
        let queues = queues(file);
        let mut trips = None;
        let mut resolved = BTreeMap::<Vec<String>, Vec<BufferSize>>::new();
        for queue in &queues {
            let longest = match queue.buffer {
                Some(BufferSize::Bdp { .. }) => {
                    let (network, trips) = trips.get_or_insert_with(|| all_trips(file));
                    let crossing = trips.iter().filter(|trip| queue.is_on(&trip.there, network));
                    crossing.map(|trip| trip.time).max()
                }
                _ => None,
            };
            let size = match queue.buffer {
                None => {
                    Some(queue.mechanisms.scheduler.default_buffer(queue.rate, file.packet_size))
                }
                Some(size) => size.at(queue.rate, longest),
            };
            let size = size.map(BufferSize::Length).or(queue.buffer);
            let path = queue.path.iter().map(|key| (*key).to_owned()).collect();
            resolved.entry(path).or_default().extend(size);
        }
        resolved
    };
    let of = |path: &[&str]| {
        let path: Vec<_> = path.iter().map(|key| (*key).to_owned()).collect();
        resolved.get(&path).cloned().unwrap_or_default()
    };
    if let Some(own) = &mut file.bottleneck {
        own.line.0.buffer = of(&["bottleneck"]).first().copied();
    }
    if let Some(own) = &mut file.mobile {
        own.line.0.buffer = of(&["mobile"]).first().copied();
    }
    if let Some(lot) = &mut file.parking_lot {
        let hops = of(&["parking_lot"]);
        let same = hops.windows(2).all(|pair| pair[0] == pair[1]);
        lot.buffer = hops.first().map(|first| match same {
            true => OneOrEach::One(*first),
            false => OneOrEach::Each(hops.clone()),
        });
    }
    for (name, own) in file.links.iter_mut().flat_map(|links| &mut links.entries) {
        own.line.0.buffer = of(&["links", name]).first().copied();
    }
}

/// Returns the network, and the round trip of each group with a path; none where the network is not known or too large to
/// be searched, which is reported elsewhere.
fn all_trips(file: &File) -> (Network, Vec<Trip>) {
    let known = network_if_known(file).filter(|network| searches(file, network).is_ok());
    let Some(network) = known else { return (Network::default(), Vec::new()) };
    let users = file.users.entries.iter();
    let trips = users.filter_map(|(_, user)| Trip::of(file, user, &network)).collect();
    (network, trips)
}

/// Reports bandwidth-delay products without a round trip.
pub(crate) fn check(file: &File, reader: &mut Reader) {
    for queue in queues(file) {
        if let Some(BufferSize::Bdp { .. }) = queue.buffer {
            let message = "no data cross this link, so that there is no round trip: give packets, bytes or a time";
            reader.nested(&queue.path, |reader| reader.error_at("buffer", message));
        }
    }
}

/// Returns the bytes of a buffer, for full packets of this size.
pub(crate) fn bytes(buffer: QueueLength, packet_size: u64) -> u64 {
    match buffer {
        QueueLength::Packets(packets) => u64::from(packets) * packet_size,
        QueueLength::Bytes(bytes) => bytes.get(),
    }
}

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::units::{Bytes, QueueLength};

    use crate::Scenario;

    fn buffer_of(text: &str, link: &str) -> QueueLength {
        let plan = Scenario::parse(text, &[]).expect("is valid").plan();
        plan.links.iter().find(|own| own.name == link).expect("is there").buffer
    }

    fn bytes(n: u64) -> QueueLength {
        QueueLength::Bytes(Bytes::new(n))
    }

    /// 10 Mb/s and 2 · (20 + 0.1) ms: 50,250 B; 50 ms are 62,500 B.
    #[test]
    fn times_and_products_are_those_of_the_link() {
        let dumbbell = |buffer: &str| {
            let text = format!(
                "version = 1\nusers.near = {{}}\n[bottleneck]\nrate = \"10 Mb/s\"\ndelay = \"20 ms\"\nbuffer = \"{buffer}\"\n"
            );
            buffer_of(&text, "bottleneck")
        };
        assert_eq!(dumbbell("50 ms"), bytes(62_500));
        assert_eq!(dumbbell("1 BDP"), bytes(50_250));
        assert_eq!(dumbbell("0.5 BDP"), bytes(25_125));
        assert_eq!(dumbbell("40 packets"), QueueLength::Packets(40));
    }

    /// The group with the longest round trip counts, also where its data go back over a duplex link.
    #[test]
    fn of_several_groups_the_longest_round_trip_counts() {
        let text = "version = 1\n[bottleneck]\nrate = \"8 Mb/s\"\ndelay = \"9 ms\"\nbuffer = \"2 BDP\"\nduplex = true\n\
                    [users]\nnear = {}\nfar = { from = \"right\", to = \"left\", access = { delay = [\"1 ms\", \"41 ms\"] } }\n";
        assert_eq!(buffer_of(text, "bottleneck"), bytes(200_000));
        assert_eq!(buffer_of(text, "bottleneck.reverse"), bytes(200_000));
    }

    #[test]
    fn each_hop_of_a_row_has_its_own_product() {
        let text = "version = 1\n[parking_lot]\nhops = 2\nrate = [\"8 Mb/s\", \"4 Mb/s\"]\ndelay = \"10 ms\"\nbuffer = \"1 BDP\"\n\
                    access.delay = \"0 s\"\n"
            .replace("access.delay", "\n[access]\ndelay")
            + "[users]\nboth = { from = \"r0\", to = \"r2\" }\n";
        assert_eq!(buffer_of(&text, "r0-r1"), bytes(40_000));
        assert_eq!(buffer_of(&text, "r1-r2"), bytes(20_000));
    }

    #[test]
    fn a_product_without_a_round_trip_is_an_error() {
        let text = "version = 1\nusers.a = { from = \"x\", to = \"y\" }\n[links.used]\nfrom = \"x\"\nto = \"y\"\nrate = \"1 Mb/s\"\n\
                    [links.other]\nfrom = \"y\"\nto = \"z\"\nrate = \"1 Mb/s\"\nbuffer = \"1 BDP\"\n";
        let errors = Scenario::parse(text, &[]).expect_err("has no round trip");
        assert!(errors.len() == 1 && errors[0].key == "links.other.buffer", "{errors:?}");
        assert!(errors[0].message.contains("no data cross this link"), "{errors:?}");
    }

    /// Linux: `limit` of fq_codel and dualpi2; CAKE's memory is 4 · 100 ms · rate, at least 4 MiB, at most 10,240 packets.
    #[test]
    fn without_a_buffer_a_scheduler_has_that_of_its_qdisc() {
        let of = |rate: &str, rest: &str| {
            let text =
                format!("version = 1\nusers.a = {{}}\n[bottleneck]\nrate = \"{rate}\"\n{rest}");
            buffer_of(&text, "bottleneck")
        };
        assert_eq!(of("10 Mb/s", ""), QueueLength::Packets(100));
        assert_eq!(of("10 Mb/s", "scheduler = \"drr\""), QueueLength::Packets(100));
        assert_eq!(of("10 Mb/s", "scheduler = \"fq-codel\""), QueueLength::Packets(10_240));
        assert_eq!(of("10 Mb/s", "scheduler = \"dualpi2\""), QueueLength::Packets(10_000));
        assert_eq!(of("10 Mb/s", "scheduler = \"cake\""), bytes(4 << 20));
        assert_eq!(of("100 Mb/s", "scheduler = \"cake\""), bytes(5_000_000));
        assert_eq!(of("1 Gb/s", "scheduler = \"cake\""), bytes(10_240 * 1_500));
    }
}
