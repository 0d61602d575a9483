//! The hosts that send data: the order in which each one's packets leave, and its jitter.

use tidegate_mechanisms::units::{Span, Time};

use crate::memory::{large_list, prefetch};
use crate::random::{SparseStream, Stream, stream_label};

/// From so many hosts on, memory costs more than making random numbers does.
const MANY: usize = 4096;

/// All hosts that send data, by number.
pub enum HostQueues {
    /// A few.
    Few(Vec<Interface<Stream>>),
    /// Many, with few random numbers in stock.
    Many {
        /// The run's.
        seed: u64,
        /// By number.
        hosts: Vec<Interface<SparseStream>>,
    },
}

/// How one of them reaches the network: in one cache line where there are many.
#[repr(align(64))]
pub struct Interface<S> {
    /// When its last packet has entered, or will have.
    entered: Time,
    random: S,
}

impl<S> Interface<S> {
    fn new(random: S) -> Self {
        Interface { entered: Time::ZERO, random }
    }

    /// When the next packet enters: at `at`, or behind those that left before.
    #[inline]
    fn enter(&mut self, at: Time) -> Time {
        self.entered = self.entered.max(at);
        self.entered
    }
}

impl HostQueues {
    /// Before the first packet. Each host has the name of the link over which it sends.
    pub fn new<'a>(links: impl ExactSizeIterator<Item = &'a str>, seed: u64) -> Self {
        if links.len() < MANY {
            let host =
                |label| Interface::new(Stream::new(seed, format_args!("host/{label}/jitter")));
            return HostQueues::Few(links.map(stream_label).map(host).collect());
        }
        let host = |label| Interface::new(SparseStream::new(format_args!("host/{label}/jitter")));
        HostQueues::Many { seed, hosts: large_list(links.map(stream_label).map(host)) }
    }

    /// When a packet enters that leaves at `now`, after up to so much jitter.
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

    /// So much jitter at most.
    pub fn jitter(&mut self, host: u32, jitter_ns: u64) -> Span {
        Span::from_nanos(match self {
            _ if jitter_ns == 0 => 0,
            HostQueues::Few(hosts) => hosts[host as usize].random.up_to(jitter_ns),
            HostQueues::Many { hosts, seed } => hosts[host as usize].random.up_to(*seed, jitter_ns),
        })
    }

    /// Asks for what is kept of a host.
    #[inline(always)]
    pub fn prefetch(&self, host: u32) {
        if let HostQueues::Many { hosts, .. } = self
            && let Some(host) = hosts.get(host as usize)
        {
            prefetch(host);
        }
    }

    /// When a packet enters that leaves at `now`, without jitter.
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
