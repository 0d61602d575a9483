//! A direction's signal, whichever it is: what it reads, and the words that it writes for the programs and reports.

use std::net::IpAddr;

use tidegate_mechanisms::fixed_point::minus_log2_q24;

use crate::control::{DEADLINE_NS, now_ns};
use crate::delay::Delay;
use crate::error::Error;
use crate::maps::{Direction, Maps, REASONS, SIGNAL_WORDS, signal_word};
use crate::netlink::Netlink;
use crate::prober::Prober;
use crate::settings::SignalParams;
use crate::signal::{Finding, OwnQueue, Reading, State};
use crate::virtual_queue::VirtualQueue;

/// Signals, in the order of [`signal_word::KIND`].
pub const KINDS: [&str; 4] = ["none", "own-queue", "delay", "rate"];

/// A signal.
#[derive(Debug)]
pub struct Source {
    /// Of these packets.
    pub direction: Direction,
    /// Index of the device whose queue it may be.
    pub device: u32,
    /// How it is.
    pub state: State,
    target_ns: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    OwnQueue(OwnQueue),
    Delay(Box<Prober>, Delay),
    Rate(VirtualQueue),
}

impl Source {
    /// With p′ of a control loop before; `None` if there is to be no signal.
    ///
    /// # Errors
    /// If probes cannot be sent.
    pub fn open(
        direction: Direction,
        params: &SignalParams,
        device: u32,
        base: f64,
    ) -> Result<Option<Source>, Error> {
        let Some(target) = params.target() else { return Ok(None) };
        let mut kind = match params {
            SignalParams::None => return Ok(None),
            SignalParams::OwnQueue(params) => Kind::OwnQueue(OwnQueue::new(params)),
            SignalParams::Delay(params) => {
                let reflectors = params.addresses().expect("they were checked");
                let delay = Delay::new(params, reflectors.len());
                Kind::Delay(Box::new(Prober::open(reflectors)?), delay)
            }
            SignalParams::Rate(params) => Kind::Rate(VirtualQueue::new(params)),
        };
        match &mut kind {
            Kind::OwnQueue(queue) => queue.resume(base),
            Kind::Delay(_, delay) => delay.resume(base),
            Kind::Rate(queue) => queue.resume(base),
        }
        let target_ns = target.as_nanos();
        Ok(Some(Source { direction, device, state: State::Ok, target_ns, kind }))
    }

    /// Least round trips of reflectors, in seconds.
    pub fn paths(&self) -> Vec<(IpAddr, f64)> {
        let Kind::Delay(prober, delay) = &self.kind else { return Vec::new() };
        let paths = prober.reflectors().iter().zip(delay.paths());
        paths.filter_map(|(reflector, path)| Some((*reflector, path?))).collect()
    }

    /// Continues with those of before, where they are known.
    pub fn resume_paths(&mut self, known: impl Fn(IpAddr) -> Option<f64>, now_ns: u64) {
        let Kind::Delay(prober, delay) = &mut self.kind else { return };
        for (place, reflector) in prober.reflectors().iter().enumerate() {
            if let Some(rtt_s) = known(*reflector) {
                delay.resume_path(place, rtt_s, now_ns);
            }
        }
    }

    /// Reads what there is to read, and writes the words. Returns the time.
    pub fn update(
        &mut self,
        netlink: &mut Netlink,
        maps: &Maps,
        acts: bool,
        words: &mut [u64; SIGNAL_WORDS],
    ) -> u64 {
        let direction = self.direction;
        let (now, state, finding, base) = match &mut self.kind {
            Kind::OwnQueue(queue) => {
                let read = netlink.queue(self.device);
                // After the request, which may have waited.
                let now = now_ns();
                let (state, finding) = match read {
                    Ok(Some(read)) => {
                        let reading = Reading {
                            now_ns: now,
                            sent_bytes: read.sent_bytes,
                            sent_packets: read.sent_packets,
                            dropped_packets: read.dropped_packets,
                            backlog_bytes: read.backlog_bytes,
                            handle: read.handle,
                        };
                        words[signal_word::BACKLOG] = read.backlog_bytes;
                        let finding = queue.on_reading(reading, acts);
                        let moves = finding.probability.is_some();
                        (if moves { State::Ok } else { State::Stalled }, Some(finding))
                    }
                    Ok(None) => (State::NoQueue, None),
                    Err(_) => (State::NoDevice, None),
                };
                (now, state, finding, queue.base())
            }
            Kind::Delay(prober, delay) => {
                let now = now_ns();
                prober.step(now, delay);
                let finding = delay.update(now, passed_bytes(maps, direction), acts);
                let state = match finding.probability {
                    None => State::NoAnswer,
                    Some(_) if delay.is_blind() => State::Blind,
                    Some(_) => State::Ok,
                };
                (now, state, Some(finding), delay.base())
            }
            Kind::Rate(queue) => {
                let now = now_ns();
                let finding = queue.update(now, passed_bytes(maps, direction), acts);
                words[signal_word::BACKLOG] = queue.backlog_bytes();
                (now, State::Ok, Some(finding), queue.base())
            }
        };
        if let Some(Finding { probability, delay_s, rate }) = finding {
            words[signal_word::DELAY] = (delay_s * 1e9) as u64;
            words[signal_word::RATE] = (rate * 8.0) as u64;
            words[signal_word::BASE] = (base * (1u64 << 32) as f64) as u64;
            if let Some(p) = probability {
                words[signal_word::MINUS_LOG2_P] = minus_log2_q24(p);
                words[signal_word::DEADLINE] = now + DEADLINE_NS;
            }
        }
        words[signal_word::UPDATED] = now;
        words[signal_word::STATE] = state as u64;
        words[signal_word::TARGET] = self.target_ns;
        words[signal_word::KIND] = match &self.kind {
            Kind::OwnQueue(_) => 1,
            Kind::Delay(..) => 2,
            Kind::Rate(_) => 3,
        };
        self.state = state;
        now
    }
}

/// Bytes that have passed in a direction since the programs are there.
fn passed_bytes(maps: &Maps, direction: Direction) -> u64 {
    let names = REASONS.iter().map(|(name, _)| *name);
    let counts = names.zip(maps.counts(direction));
    let passed = counts.filter(|(name, _)| !["dropped", "limited"].contains(name));
    passed.map(|(_, count)| count.bytes).sum()
}
