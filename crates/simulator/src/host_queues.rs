//! Hosts that send data: the order of each host's packets, and its jitter.

use tidegate_mechanisms::units::{Span, Time};

use crate::memory::{large_list, prefetch};
use crate::random::{SparseStream, Stream, stream_label};

/// Number of hosts from which on memory costs more than generating random numbers.
const MANY: usize = 4096;

/// All sending hosts, by number.
pub enum HostQueues {
    /// Few hosts, with buffered random numbers.
    Few(Vec<Interface<Stream>>),
    /// Many hosts, with few buffered random numbers.
    Many {
        /// Seed of the run.
        seed: u64,
        /// Interfaces by host.
        hosts: Vec<Interface<SparseStream>>,
    },
}

/// Interface of a host to the network, within a cache line where there are many.
#[repr(align(64))]
pub struct Interface<S> {
    /// Entry time of its last packet.
    entered: Time,
    random: S,
}

impl<S> Interface<S> {
    fn new(random: S) -> Self {
        Interface { entered: Time::ZERO, random }
    }

    /// Returns the entry time of the next packet: `at`, or after its predecessors.
    #[inline]
    fn enter(&mut self, at: Time) -> Time {
        self.entered = self.entered.max(at);
        self.entered
    }
}

impl HostQueues {
    /// Returns the hosts before their first packets. Each uses the name of its first link for its random stream.
    pub fn new(links: impl ExactSizeIterator<Item = impl ToString>, seed: u64) -> Self {
        let labels = links.map(|link| stream_label(&link.to_string()).into_owned());
        if labels.len() < MANY {
            let host = |label: String| {
                Interface::new(Stream::new(seed, format_args!("host/{label}/jitter")))
            };
            return HostQueues::Few(labels.map(host).collect());
        }
        let host =
            |label: String| Interface::new(SparseStream::new(format_args!("host/{label}/jitter")));
        HostQueues::Many { seed, hosts: large_list(labels.map(host)) }
    }

    /// Returns the entry time of a packet sent at `now`, after a random jitter of up to `jitter_ns`.
    #[inline]
    pub fn release(&mut self, host: u32, now: Time, jitter_ns: u64) -> Time {
        match self {
            HostQueues::Few(hosts) => {
                let host = &mut hosts[host as usize];
                let jitter = if jitter_ns > 0 { host.random.up_to(jitter_ns) } else { 0 };
                host.enter(now + Span::from_nanos(jitter))
            }
            HostQueues::Many { hosts, seed } => {
                let host = &mut hosts[host as usize];
                let jitter = if jitter_ns > 0 { host.random.up_to(*seed, jitter_ns) } else { 0 };
                host.enter(now + Span::from_nanos(jitter))
            }
        }
    }

    /// Draws a jitter of at most `jitter_ns`.
    pub fn jitter(&mut self, host: u32, jitter_ns: u64) -> Span {
        Span::from_nanos(match self {
            _ if jitter_ns == 0 => 0,
            HostQueues::Few(hosts) => hosts[host as usize].random.up_to(jitter_ns),
            HostQueues::Many { hosts, seed } => hosts[host as usize].random.up_to(*seed, jitter_ns),
        })
    }

    /// Prefetches the state of a host.
    #[inline(always)]
    pub fn prefetch(&self, host: u32) {
        if let HostQueues::Many { hosts, .. } = self
            && let Some(host) = hosts.get(host as usize)
        {
            prefetch(host);
        }
    }

    /// Returns the entry time of a packet sent at `now` without jitter.
    pub fn release_next(&mut self, host: u32, now: Time) -> Time {
        match self {
            HostQueues::Few(hosts) => hosts[host as usize].enter(now),
            HostQueues::Many { hosts, .. } => hosts[host as usize].enter(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_hosts_each_has_a_cache_line() {
        assert_eq!(size_of::<Interface<SparseStream>>(), 64);
    }

    #[test]
    fn many_hosts_jitter_as_few_do() {
        let names: Vec<_> = (0..MANY).map(|host| format!("{host}.access")).collect();
        let hosts = |count| HostQueues::new(names[..count].iter().map(String::as_str), 9);
        let (mut few, mut many) = (hosts(3), hosts(MANY));
        for step in 0..300 {
            let (host, now) = (step % 3, Time::from_nanos(100 * u64::from(step)));
            let jitter_ns = if step % 5 == 0 { 0 } else { 1_000_000 };
            let times = [&mut few, &mut many].map(|hosts| hosts.release(host, now, jitter_ns));
            assert_eq!(times[0], times[1], "step {step}");
            assert_eq!(few.release_next(host, now), many.release_next(host, now));
        }
    }
}
