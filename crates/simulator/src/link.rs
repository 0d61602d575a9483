//! A link: a queue, a transmitter and a pipe.
//!
//! First-come-first-served service needs no event of its own. The moment a packet leaves is known
//! when it arrives: when the transmitter is free, plus its transmission time. So the queue is the
//! list of the departures still to come, and the backlog that an arriving packet meets is its
//! length after those that are over have been struck off.

use tidegate_mechanisms::bottleneck::{Arrival, Judge, Signal};
use tidegate_mechanisms::units::{Bytes, Rate, Span, Time};
use tidegate_scenario::plan::{Buffer, LinkPlan};

use crate::build;
use crate::packet::{Packet, flags};
use crate::probe::LinkProbe;
use crate::random::Stream;
use crate::ring::Ring;

/// Why a packet went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    /// The buffer was full.
    Full,
    /// The AQM chose it.
    Aqm,
    /// It was lost on the wire.
    Wire,
    /// Its customer's policer chose it.
    Policer,
}

/// Whose packet it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Owner {
    /// Index of the user group.
    pub group: u16,
    /// Index of the user.
    pub user: u32,
}

/// A unidirectional link.
pub struct Link {
    /// When the transmitter is free.
    free_at: Time,
    /// Packets that have not left yet, the one in transmission first. The last one accepted is
    /// entered when the next arrives before it has left, so that an idle link keeps no list.
    waiting: Ring<Waiting>,
    last_len: u16,
    last_entered: bool,
    backlog_bytes: u64,
    limit_packets: usize,
    limit_bytes: u64,
    /// Whether the exact backlog matters for every packet. Otherwise departures are struck off
    /// only when the list looks full.
    exact: bool,
    /// Whether a packet that finds the link idle passes, with nothing to draw or to record.
    plain: bool,
    rate: Rate,
    /// Transmission time of the length seen last: most packets have one of two.
    cached: (u16, Span),
    delay: Span,
    management: Option<Box<Management>>,
    wire_loss: Option<Box<(f64, Stream)>>,
    /// Packets on their way to the far end, by arrival.
    pub pipe: Ring<Packet>,
    /// What is measured.
    pub probe: LinkProbe,
}

#[derive(Clone, Copy, Default)]
struct Waiting {
    departs: Time,
    len: u32,
}

/// Active queue management.
struct Management {
    judge: Judge,
    ecn: bool,
    ecn_marks_all: bool,
    rng: Stream,
}

/// What a link did to a packet that it accepted.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// When it reaches the far end.
    pub at: Time,
    /// Its flags, with the mark it may have got.
    pub flags: u8,
}

impl Link {
    /// A link as planned; `number` names its random streams.
    pub fn new(plan: &LinkPlan, number: usize, groups: usize, seed: u64) -> Self {
        let (limit_packets, limit_bytes) = match plan.buffer {
            Buffer::Packets(n) => (n as usize, u64::MAX),
            Buffer::Bytes(n) => (usize::MAX, n.get()),
        };
        let management = build::judge(plan).map(|judge| {
            let rng = Stream::new(seed, &format!("link/{number}/aqm"));
            let LinkPlan { ecn, ecn_marks_all, .. } = *plan;
            Box::new(Management { judge, ecn, ecn_marks_all, rng })
        });
        let wire_loss = (plan.loss > 0.0)
            .then(|| Box::new((plan.loss, Stream::new(seed, &format!("link/{number}/wire")))));
        let exact = plan.monitored || management.is_some() || limit_bytes < u64::MAX;
        Link {
            plain: !exact && wire_loss.is_none() && limit_packets > 0,
            exact,
            free_at: Time::ZERO,
            waiting: Ring::default(),
            last_len: 0,
            last_entered: true,
            backlog_bytes: 0,
            limit_packets,
            limit_bytes,
            rate: plan.rate,
            cached: (0, Span::ZERO),
            delay: plan.delay,
            management,
            wire_loss,
            pipe: Ring::default(),
            probe: LinkProbe::new(plan.monitored.then_some(groups)),
        }
    }

    /// Whether an AQM looks at its packets.
    #[inline]
    pub fn is_managed(&self) -> bool {
        self.management.is_some()
    }

    /// Offers a packet of the given owner at `now`, which never goes back.
    #[inline]
    pub fn offer(
        &mut self,
        len: u16,
        mut flags: u8,
        activity: u32,
        now: Time,
        owner: impl Fn() -> Owner,
    ) -> Result<Passed, Drop> {
        if self.free_at <= now {
            if self.plain {
                return Ok(Passed { at: self.pass_at_once(len, now), flags });
            }
            self.waiting.clear();
            self.backlog_bytes = 0;
        } else {
            self.enter_last();
            if self.exact || self.waiting.len() >= self.limit_packets {
                self.strike_off_departed(now);
            }
        }
        if self.management.is_some() {
            flags = self.manage(len, flags, activity, now, owner())?;
        }
        let bytes = u64::from(len);
        if self.waiting.len() >= self.limit_packets || self.backlog_bytes + bytes > self.limit_bytes
        {
            return Err(self.overflow(owner(), now, len));
        }
        let transmission = self.transmission_time(len);
        let departs = self.free_at.max(now) + transmission;
        self.free_at = departs;
        self.backlog_bytes += bytes;
        (self.last_len, self.last_entered) = (len, false);
        self.probe.on_accepted(bytes);
        if let Some(monitor) = &mut self.probe.monitor {
            monitor.on_accepted(owner().group, bytes, departs - now, transmission);
        }
        if self.wire_loss.is_some() && self.is_lost_on_wire() {
            self.probe.on_drop(Drop::Wire, owner().group);
            return Err(Drop::Wire);
        }
        Ok(Passed { at: departs + self.delay, flags })
    }

    /// Most packets find most links idle, and nothing to be decided there.
    #[inline]
    fn pass_at_once(&mut self, len: u16, now: Time) -> Time {
        let bytes = u64::from(len);
        self.waiting.clear();
        self.backlog_bytes = bytes;
        self.free_at = now + self.transmission_time(len);
        (self.last_len, self.last_entered) = (len, false);
        self.probe.on_accepted(bytes);
        self.free_at + self.delay
    }

    /// Lets the AQM judge; returns the flags of a packet that may pass. The AQM sees the packets
    /// that wait, not the one in transmission, as in ns-2, ns-3, INET and Linux.
    #[inline]
    fn manage(
        &mut self,
        len: u16,
        flags: u8,
        activity: u32,
        now: Time,
        Owner { group, user }: Owner,
    ) -> Result<u8, Drop> {
        let Some(management) = &mut self.management else { return Ok(flags) };
        let carries_activity = flags & flags::ACK == 0;
        let in_transmission = self.waiting.front().map_or(0, |first| u64::from(first.len));
        let arrival = Arrival {
            now,
            len: Bytes::new(u64::from(len)),
            user,
            activity: if carries_activity { f32::from_bits(activity) } else { 0.0 },
            backlog_packets: self.waiting.len().saturating_sub(1) as u32,
            backlog_bytes: self.backlog_bytes - in_transmission,
            idle: now.since(self.free_at),
        };
        self.probe.on_activity(group, arrival.activity);
        let Management { judge, ecn, ecn_marks_all, rng } = &mut **management;
        match judge.signal(&arrival, || rng.unit()) {
            Signal::None => Ok(flags),
            Signal::Congestion | Signal::Policed { may_mark: true }
                if *ecn && (*ecn_marks_all || flags & flags::ECT != 0) =>
            {
                self.probe.on_mark(group);
                Ok(flags | flags::CE)
            }
            Signal::Congestion | Signal::Forced => {
                self.probe.on_drop(Drop::Aqm, group);
                Err(Drop::Aqm)
            }
            Signal::Policed { .. } => {
                self.probe.on_drop(Drop::Policer, group);
                Err(Drop::Policer)
            }
        }
    }

    #[cold]
    fn overflow(&mut self, Owner { group, user }: Owner, now: Time, len: u16) -> Drop {
        if let Some(management) = &mut self.management {
            management.judge.on_overflow(user, now, Bytes::new(len.into()));
        }
        self.probe.on_drop(Drop::Full, group);
        Drop::Full
    }

    fn is_lost_on_wire(&mut self) -> bool {
        self.wire_loss.as_mut().is_some_and(|loss| loss.1.unit() < loss.0)
    }

    #[inline]
    fn enter_last(&mut self) {
        if !self.last_entered {
            self.last_entered = true;
            self.waiting.push(Waiting { departs: self.free_at, len: self.last_len.into() });
        }
    }

    #[inline]
    fn strike_off_departed(&mut self, now: Time) {
        while let Some(first) = self.waiting.front()
            && first.departs <= now
        {
            self.backlog_bytes -= u64::from(first.len);
            self.waiting.pop();
        }
    }

    #[inline]
    fn transmission_time(&mut self, len: u16) -> Span {
        if self.cached.0 != len {
            self.cached = (len, self.rate.transmission_time(Bytes::new(len.into())));
        }
        self.cached.1
    }

    /// Packets and bytes waiting or in transmission at `now`.
    pub fn backlog(&mut self, now: Time) -> (u32, u64) {
        self.enter_last();
        self.strike_off_departed(now);
        (self.waiting.len() as u32, self.backlog_bytes)
    }

    /// The part of the accepted packets' time here that lies after `now`: packet-ns, byte-ns, and
    /// ns in transmission.
    pub fn time_to_come(&mut self, now: Time) -> [u128; 3] {
        self.enter_last();
        self.strike_off_departed(now);
        let mut sums = [0; 3];
        for packet in self.waiting.iter() {
            let rest = u128::from(packet.departs.since(now).as_nanos());
            sums[0] += rest;
            sums[1] += rest * u128::from(packet.len);
        }
        sums[2] = u128::from(self.free_at.since(now).as_nanos());
        sums
    }
}
