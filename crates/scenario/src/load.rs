//! Estimates of the memory and packets of a run from the file: excessive ones are errors, long runs are lints.
//!
//! By Little's law the number of open transfers is the arrival rate times the transfer time, which is at least a round
//! trip; if the offered load exceeds the capacity of the path, the excess accumulates:
//!
//! ```text
//! open = max( λ · min(T, RTT),  (λ − C/s) · T )     λ begin per second, each of s bits; C capacity of the path, T the run
//! ```

use std::collections::BTreeMap;

use tidegate_mechanisms::units::{OrOff, Rate, Span};

use crate::field::Reader;
use crate::file::{File, User};
use crate::layout;
use crate::network::Network;
use crate::plan::{
    Admission, Fetching, Frames, LinkPlan, MAX_OPEN, MAX_ROWS, OnOff, ShortFlows, Traffic,
};

/// Number of packets from which on a run gets a lint.
const MANY_PACKETS: f64 = 1e10;
/// Maximum number of changes of flows (routes, offers) in a plan.
const MAX_CHANGES: u64 = 10_000_000;

/// Length of TCP and IP headers, bytes; each transfer needs at least these.
const HEADER_BYTES: f64 = 40.0;

/// A group of users, and the path between its ends.
struct Group<'a> {
    file: &'a File,
    user: &'a User,
    there: Vec<&'a LinkPlan>,
    back: Vec<&'a LinkPlan>,
}

/// Estimated number of concurrent objects of a group.
struct GroupLoad {
    /// Number.
    count: f64,
    /// Kind, such as "transfers".
    what: &'static str,
    /// Key of its traffic that determines the number.
    key: &'static str,
    remedy: &'static str,
}

/// Reports errors for runs that would exceed the memory.
pub(crate) fn whole(file: &File, network: &Network, reader: &mut Reader) {
    let mut largest: Option<(&str, GroupLoad)> = None;
    let mut sum = 0.0;
    for (name, user) in &file.users.entries {
        let group = Group::of(file, user, network);
        let Some(load) = group.load() else { continue };
        sum += load.count;
        if largest.as_ref().is_none_or(|(_, known)| known.count < load.count) {
            largest = Some((name, load));
        }
    }
    if let Some((name, GroupLoad { count, what, key, remedy })) =
        largest.filter(|_| sum > MAX_OPEN as f64)
    {
        let message = format!(
            "about {count:.1e} {what} would be open at once, of {sum:.1e} in all; a run holds {MAX_OPEN}: {remedy}"
        );
        reader.nested(&["users", name, "traffic"], |reader| reader.error_at(key, message));
    }
    for (name, user) in &file.users.entries {
        reader.nested(&["users", name, "traffic"], |reader| {
            listed(file, user, network, reader);
        });
    }
    changes(file, reader);
    rows(file, network, reader);
}

/// Reports a lint for a run that takes long.
pub(crate) fn lints(file: &File, network: &Network, reader: &mut Reader) {
    let packets = packets(file, network);
    if packets > MANY_PACKETS {
        let message = format!(
            "about {packets:.1e} packets are sent in a run, which takes hours on a core: shorten the duration, or lower \
             the rates"
        );
        reader.error_at("duration", message);
    }
}

/// Checks the number of transfers, each of which is a row of the results.
fn listed(file: &File, user: &User, network: &Network, reader: &mut Reader) {
    let Traffic::ShortFlows(own) = &user.traffic.0 else { return };
    let group = Group::of(file, user, network);
    let transfers = group.starts_per_second(own) * length_s(file);
    if own.listed && transfers > MAX_ROWS as f64 {
        let message = format!(
            "about {transfers:.1e} transfers would have a row each; at most {MAX_ROWS}: write listed = false"
        );
        reader.error_at("listed", message);
    }
}

/// Checks the number of changes of flows.
fn changes(file: &File, reader: &mut Reader) {
    for (key, count) in [
        ("moves", (|user| user.moves.0.len()) as fn(&User) -> usize),
        ("offers", |user| user.offers.0.len()),
    ] {
        let mut sum = 0u64;
        for (name, user) in &file.users.entries {
            let own = (count(user) as u64).saturating_mul(user.count.0 * user.flows.0);
            sum = sum.saturating_add(own);
            if own > 0 && sum > MAX_CHANGES {
                let message =
                    format!("{sum} of them up to here, one for each flow; at most {MAX_CHANGES}");
                reader.nested(&["users", name], |reader| reader.error_at(key, message));
                break;
            }
        }
    }
}

/// Checks the number of rows of time series and intervals.
fn rows(file: &File, network: &Network, reader: &mut Reader) {
    let of_groups = |each: u32| -> f64 {
        let flows = |user: &User| flows(user).min(f64::from(each));
        file.users.entries.iter().map(|(_, user)| flows(user)).sum()
    };
    let links = network.links.iter().filter(|link| link.monitored).count() as f64;
    if let Some(step) = file.sample_interval.and_then(OrOff::span).filter(|step| *step > Span::ZERO)
    {
        let each =
            links.max(of_groups(file.sampled_flows.0 as u32)).max(file.users.entries.len() as f64);
        let rows = each * length_s(file) / step.as_secs();
        if rows > MAX_ROWS as f64 {
            let message = format!(
                "about {rows:.1e} rows of a time series; at most {MAX_ROWS}: write a longer one, \
                                   or lower sampled_flows"
            );
            reader.error_at("sample_interval", message);
        }
    }
    if let Some(intervals) = &file.intervals {
        let rows = f64::from(intervals.count.0) * links.max(of_groups(u32::MAX));
        if rows > MAX_ROWS as f64 {
            let message =
                format!("{rows:.1e} rows, one for each flow; at most {MAX_ROWS}: write fewer");
            reader.within("intervals", |reader| reader.error_at("count", message));
        }
    }
}

/// Returns the approximate number of packets of a run: the load offered by sources, for TCP at most the capacity of the
/// narrowest link.
fn packets(file: &File, network: &Network) -> f64 {
    let mut sum = 0.0;
    // Bits that TCP would send over a link, and bits of a packet.
    let mut over: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (_, user) in &file.users.entries {
        let group = Group::of(file, user, network);
        let packet_bits = 8.0 * user.packet_size.unwrap_or(file.packet_size).as_f64();
        if let Some(bps) = group.unresponsive_bps() {
            sum += bps * length_s(file) / packet_bits;
            continue;
        }
        let (name, _) = group.narrowest();
        let entry = over.entry(name).or_insert((0.0, packet_bits));
        entry.0 += group.own_bps().min(group.offered_bps()) * length_s(file);
        entry.1 = entry.1.min(packet_bits);
    }
    for (name, (bits, packet_bits)) in over {
        let carried =
            network.link(name).map_or(f64::INFINITY, |link| fastest(link) * length_s(file));
        sum += bits.min(carried) / packet_bits;
    }
    sum
}

impl<'a> Group<'a> {
    fn of(file: &'a File, user: &'a User, network: &'a Network) -> Self {
        let (from, to) = user.ends();
        let links = |from, to| {
            let path = network.path(from, to).unwrap_or_default();
            path.into_iter().map(|link| &network.links[link as usize]).collect()
        };
        Group { file, user, there: links(from, to), back: links(to, from) }
    }

    /// Returns the estimated number of concurrent objects, unless it is constant.
    fn load(&self) -> Option<GroupLoad> {
        let (flows, run_s) = (flows(self.user), length_s(self.file));
        match &self.user.traffic.0 {
            Traffic::ShortFlows(own) => {
                let begun = self.starts_per_second(own);
                let carried = self.capacity_bps() / (8.0 * (own.size.mean() + HEADER_BYTES));
                let in_a_round_trip = begun * self.round_trip_s().min(run_s);
                let count = in_a_round_trip.max((begun - carried) * run_s).min(begun * run_s);
                let (key, remedy) = match (&own.load, &own.arrivals) {
                    (Some(_), _) => ("load", "write a smaller load, or larger sizes"),
                    (_, Some(_)) => ("arrivals", "write fewer"),
                    _ => ("every", "write a longer every, or a smaller share"),
                };
                Some(GroupLoad { count, what: "transfers", key, remedy })
            }
            Traffic::Calls(own) => {
                let lasts_s = match &own.admission {
                    Admission::None | Admission::Counter(_) => own.holding.as_secs(),
                    // Blocked calls take no memory, except while probing.
                    Admission::NonProbing(_) | Admission::MeasuredSum(_) => 0.0,
                    Admission::Probing(own) => own.patience.as_secs(),
                };
                let offered = lasts_s.min(run_s) / own.every.as_secs();
                let most = match &own.admission {
                    Admission::Counter(counter) => f64::from(counter.limit.0),
                    _ => f64::INFINITY,
                };
                let count = flows * offered.min(most);
                let remedy = "write a longer every, or a shorter holding";
                Some(GroupLoad { count, what: "calls", key: "every", remedy })
            }
            Traffic::Pages(own) if own.within == Fetching::AtOnce => {
                let count = flows * own.objects.0;
                let remedy = "write fewer, or within = \"in-turn\"";
                Some(GroupLoad { count, what: "objects of pages", key: "objects", remedy })
            }
            _ => None,
        }
    }

    /// Returns the rate sent regardless of losses; `None` for TCP.
    fn unresponsive_bps(&self) -> Option<f64> {
        let bps = |rate: Rate| rate.as_bps() as f64;
        let full = self.user.packet_size.unwrap_or(self.file.packet_size);
        if let Some(stream) = self.user.traffic.0.packet_stream(full) {
            return Some(stream.mean_bps() * flows(self.user));
        }
        let each = match &self.user.traffic.0 {
            Traffic::Cbr(own) => bps(own.rate),
            Traffic::OnOff(OnOff { rate: Some(rate), on, off, .. }) => {
                bps(*rate) * on.as_secs() / (on.as_secs() + off.as_secs())
            }
            Traffic::Frames(Frames { rate: Some(rate), .. }) => bps(*rate),
            Traffic::Frames(Frames { frames: Some(sizes), frame_interval, .. }) => {
                8.0 * sizes.mean() / frame_interval.as_secs()
            }
            Traffic::Calls(own) => {
                let length_s = own.holding.as_secs().min(length_s(self.file));
                bps(own.rate) * length_s / own.every.as_secs()
            }
            _ => return None,
        };
        Some(each * flows(self.user))
    }

    /// Returns the number of short flows that the group starts per second.
    fn starts_per_second(&self, own: &ShortFlows) -> f64 {
        let run = Span::from_secs_f64(length_s(self.file));
        match own.load {
            Some(load) => {
                let each = layout::every_at(self.file, self.user, &self.there, own, load);
                flows(self.user) / each.as_secs()
            }
            None => own.starts_per_second(run, flows(self.user)) * flows(self.user),
        }
    }

    /// Returns the maximum rate offered by TCP.
    fn offered_bps(&self) -> f64 {
        match &self.user.traffic.0 {
            Traffic::ShortFlows(own) => 8.0 * own.size.mean() * self.starts_per_second(own),
            Traffic::Transfer(own) if own.pauses().is_none() => {
                8.0 * own.size.as_f64() * flows(self.user) / length_s(self.file)
            }
            _ => f64::INFINITY,
        }
    }

    /// Returns the total capacity of the users' own links.
    fn own_bps(&self) -> f64 {
        let own =
            [Some(self.user.access_link(self.file)), self.user.receiver_access_link(self.file)];
        let rates = own.into_iter().flatten().map(|link| link.rate.as_bps() as f64);
        rates.fold(f64::INFINITY, f64::min) * self.user.count.0 as f64
    }

    /// Returns the shared link with the least capacity, and that capacity in bit/s; an empty name without shared links.
    fn narrowest(&self) -> (&'a str, f64) {
        let rates = self.there.iter().map(|link| (link.name.as_str(), fastest(link)));
        rates.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("", f64::INFINITY))
    }

    fn capacity_bps(&self) -> f64 {
        self.own_bps().min(self.narrowest().1)
    }

    /// Returns the propagation delay in both directions, s.
    fn round_trip_s(&self) -> f64 {
        let own =
            [Some(self.user.access_link(self.file)), self.user.receiver_access_link(self.file)];
        let own = own.into_iter().flatten().filter_map(|link| link.delay.0.into_iter().min());
        let own: f64 = own.map(|delay| 2.0 * delay.as_secs()).sum();
        let shared = self.there.iter().chain(&self.back);
        own + shared.map(|link| link.delay.as_secs()).sum::<f64>()
    }
}

/// Returns the highest rate of a link in the run, bit/s.
fn fastest(link: &LinkPlan) -> f64 {
    let later = link.rate_changes.0.iter().map(|change| change.rate.0);
    later.chain([link.rate]).max().map_or(0.0, |rate| rate.as_bps() as f64)
}

fn flows(user: &User) -> f64 {
    user.count.0 as f64 * user.flows.0 as f64
}

/// Returns the length of a run without drain time, s.
fn length_s(file: &File) -> f64 {
    file.warm_up.as_secs() + file.duration.as_secs()
}
