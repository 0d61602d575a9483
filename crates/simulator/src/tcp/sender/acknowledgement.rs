//! What an acknowledgement means: what has arrived, what is lost, what the window does.

use tidegate_mechanisms::sender::Marks;
use tidegate_mechanisms::units::{Span, Time};

use super::growth::Growth;
use super::loss_by_time::Permit;
use super::rack::{Detected, Samples};
use super::{Sender, State};
use crate::packet::{Packet, SackBlocks, flags};
use crate::tcp::Door;
use crate::tcp::reduction::{Progress, Reduction};

/// What an ACK brings.
pub(super) struct Delivery {
    /// Segments by which the acknowledgement moved.
    pub newly: u32,
    /// Segments that have arrived, and were not known to.
    delivered: u32,
    /// Segments that let the window grow.
    counted: u32,
    /// Segments that were marked, where the sender counts them.
    marked: u32,
    /// Whether some of them are sacked.
    pub sacks_more: bool,
    /// Round-trip time for the controller.
    rtt: Option<Span>,
    pub samples: Samples,
}

impl Delivery {
    /// What the window may grow by, after `in_flight` segments were in the network.
    fn growth(&self, in_flight: u32) -> Growth {
        Growth { acked: self.counted, marked: self.marked, rtt: self.rtt, in_flight }
    }
}

/// What an ACK shows to be lost.
struct Findings {
    /// Something that was not before.
    fresh_loss: bool,
    /// A retransmission.
    lost_repair: bool,
    /// After so long, more may be.
    wait: Option<Span>,
}

impl Sender {
    /// An acknowledgement (or the answer to the request) arrives.
    #[inline]
    pub fn on_ack(&mut self, packet: &Packet, door: &mut Door) {
        if packet.flags & self.news == 0
            && self.state == State::Open
            && self.board.is_clean()
            && (self.una + 1..=self.nxt).contains(&packet.number)
        {
            self.on_expected_ack(packet, door);
        } else {
            self.on_any_ack(packet, door);
        }
    }

    /// New data is acknowledged and nothing is amiss: the same as [`Self::on_any_ack`] does,
    /// without looking at what cannot be.
    #[inline]
    fn on_expected_ack(&mut self, packet: &Packet, door: &mut Door) {
        let before = (self.nxt - self.una) as u32;
        let newly = (packet.number - self.una) as u32;
        let rtt = match self.rack {
            None => self.take_sample(packet, newly, door.now),
            Some(_) => self.take_times(packet, newly, door.now),
        };
        self.board.advance(self.una, packet.number);
        self.una = packet.number;
        self.short.release(self.una);
        self.dup_acks = 0;
        self.grow(Growth { acked: newly, marked: 0, rtt, in_flight: before }, door.now);
        self.rearm(door);
        self.count_ack();
        self.send(door);
    }

    /// Asks the times of the segments that an expected ACK acknowledges.
    fn take_times(&mut self, packet: &Packet, newly: u32, now: Time) -> Option<Span> {
        let rack = self.rack.as_mut()?;
        let samples = rack.on_clean_ack(self.una, packet.number, now);
        self.judge_probe(packet.number, true, now);
        self.take_samples(&samples, newly, packet, now)
    }

    /// Takes what the times of segments tell about the round trip. Returns the controller's share.
    #[inline]
    fn take_samples(
        &mut self,
        samples: &Samples,
        newly: u32,
        packet: &Packet,
        now: Time,
    ) -> Option<Span> {
        let echoed = || (self.timestamps && newly > 0).then(|| now.since(packet.stamp));
        if let Some(rtt) = samples.for_estimate().or_else(echoed) {
            self.round_trip.sample(rtt);
        }
        samples.of_path()
    }

    #[inline]
    fn count_ack(&mut self) {
        self.counts.acks += 1;
        self.counts.cwnd_sum += self.window.cwnd;
        self.counts.srtt_sum_ns += self.round_trip.srtt_ns();
    }

    fn on_any_ack(&mut self, packet: &Packet, door: &mut Door) {
        let blocks = packet.has(flags::SACK).then(|| door.network.options.take(packet.word).sack);
        if packet.has(flags::SYN) {
            if self.state == State::SynSent {
                self.establish(packet, door);
            }
            return;
        }
        if packet.number < self.una || packet.number > self.nxt || self.state == State::Closed {
            return;
        }
        let before = self.in_flight();
        let delivery = self.take_delivery(packet, blocks, door.now);
        let Delivery { newly, delivered, .. } = delivery;
        if self.counts_marks {
            self.count_marks(&delivery, door.now);
        }
        let duplicate = newly == 0 && self.nxt > self.una && (!self.sack || delivered > 0);
        let delivered = self.delivered_to_reduction(&delivery, duplicate);
        self.count_duplicate(newly, duplicate);
        // The segment that announces a reduction has to arrive before the next echo is news; not so
        // where every mark is echoed by itself.
        let announced = u64::from(!self.counts_marks);
        // Linux, as long as it halved the rate: the ACK that ends a reduction lets nothing grow.
        let mut halved = false;
        if self.state == State::Reducing && self.una >= self.point + announced {
            halved = matches!(self.reduction, Reduction::RateHalving { .. });
            self.leave_reduction(door.now);
        }
        let permit = self.end_by_time(&delivery, packet, door.now);
        if packet.has(flags::ECE) && self.ecn && !self.controller.lowers_for_marks() {
            self.forbid_undo();
            self.on_congestion_echo(door);
        }
        let probing = self.state == State::Probing;
        let Findings { fresh_loss, lost_repair, wait } = self.find_losses(&delivery, door.now);
        match self.state {
            State::Open => {
                if self.board.lost > 0 {
                    self.enter_recovery(door);
                } else if newly > 0 && !halved {
                    self.grow(delivery.growth(before), door.now);
                }
            }
            State::Reducing if self.board.lost > 0 => self.enter_recovery(door),
            State::Loss if lost_repair => self.enter_recovery(door),
            // Linux until 3.1, tcp_may_raise_cwnd: not above the threshold while congestion is echoed.
            State::Loss
                if newly > 0
                    && !probing
                    && (self.rack.is_some()
                        || !packet.has(flags::ECE)
                        || self.window.in_slow_start()) =>
            {
                self.grow(delivery.growth(before), door.now);
            }
            _ => {}
        }
        if self.point_reached(newly) {
            self.leave_reduction(door.now);
        } else if matches!(self.state, State::Recovery | State::Reducing) {
            self.reduce(Progress {
                delivered,
                in_flight: self.in_flight(),
                safe: newly > 0 && !fresh_loss,
            });
        }
        match wait {
            Some(wait) => self.wait_for_reordering(wait, door),
            None if newly > 0 || self.head_is_younger(&delivery.samples, door.now) => {
                self.rearm(door);
            }
            None => {}
        }
        self.count_ack();
        self.send_permitted(permit, door);
    }

    /// Segments that count as delivered where the window comes down. Without SACK those are one for each
    /// duplicate, and what a later acknowledgement tells beyond them (Linux, `tcp_remove_reno_sacks`).
    #[inline]
    fn delivered_to_reduction(&self, delivery: &Delivery, duplicate: bool) -> u32 {
        if self.sack {
            delivery.delivered
        } else if delivery.newly > 0 {
            delivery.newly.saturating_sub(self.board.sacked).max(1)
        } else {
            u32::from(duplicate)
        }
    }

    /// A kernel that tells losses by time looks first whether a repair is over, so that the ACK which ends it
    /// finds the sender open: it lets the window grow, and what it shows to be lost begins another.
    #[inline]
    fn end_by_time(&mut self, delivery: &Delivery, packet: &Packet, now: Time) -> Permit {
        let Some(rack) = &mut self.rack else { return Permit::Any };
        rack.progress |= delivery.newly > 0;
        match self.state {
            State::Recovery if self.una >= self.point => {
                self.leave_reduction(now);
                self.undo_if_in_vain(packet);
            }
            State::Recovery if delivery.newly > 0 && self.board.retransmitted == 0 => {
                self.open_if_in_vain(packet, now);
            }
            State::Loss => return self.judge_loss(delivery, packet, now),
            _ => {}
        }
        Permit::Any
    }

    /// Takes note of what has arrived, and of how long it took.
    fn take_delivery(
        &mut self,
        packet: &Packet,
        blocks: Option<SackBlocks>,
        now: Time,
    ) -> Delivery {
        let (una, nxt, ack) = (self.una, self.nxt, packet.number);
        let mut samples = Samples::default();
        if let Some(rack) = &mut self.rack {
            for segment in (una..ack).filter(|segment| !self.board.is_sacked(*segment)) {
                rack.arrive(segment, now, &mut samples, false);
            }
        }
        let newly = (ack - una) as u32;
        let acknowledged = if newly > 0 { self.board.advance(una, ack) } else { 0 };
        self.una = ack;
        self.short.release(ack);
        let mut sacked = 0;
        let blocks = blocks.filter(|_| !self.goes_back()).unwrap_or_default();
        for (start, end) in blocks.into_iter().take_while(|(start, end)| start < end) {
            sacked += match &mut self.rack {
                None => self.board.sack(ack, nxt, start, end),
                Some(rack) => self.board.sack_each(ack, nxt, start, end, |segment| {
                    rack.arrive(segment, now, &mut samples, true);
                }),
            };
        }
        let delivered = acknowledged + sacked;
        let rtt = match &mut self.rack {
            None => self.take_sample(packet, newly, now),
            Some(rack) => {
                rack.note_min(&samples);
                self.take_samples(&samples, newly, packet, now)
            }
        };
        if self.rack.is_some() {
            self.judge_probe(ack, delivered > 0, now);
        }
        // A kernel counts what an ACK delivers, RFC 5681 what it acknowledges.
        let counted = if self.rack.is_some() { delivered } else { newly };
        // RFC 8257, section 3.3: an ACK that echoes congestion does so for all it acknowledges.
        let marked = if self.counts_marks && packet.has(flags::ECE) { delivered } else { 0 };
        Delivery { newly, delivered, counted, marked, sacks_more: sacked > 0, rtt, samples }
    }

    fn count_marks(&mut self, delivery: &Delivery, now: Time) {
        let marks = Marks {
            now,
            delivered: delivery.delivered,
            marked: delivery.marked,
            una: self.una,
            nxt: self.nxt,
            repairing: self.state != State::Open,
        };
        self.controller.on_marks(&mut self.window, &marks);
    }

    #[inline]
    fn take_sample(&mut self, packet: &Packet, newly: u32, now: Time) -> Option<Span> {
        let rtt = if newly > 0 { self.round_trip_of(packet, now) } else { None };
        if let Some(rtt) = rtt {
            self.round_trip.sample(rtt);
        }
        rtt
    }

    fn find_losses(&mut self, delivery: &Delivery, now: Time) -> Findings {
        let lost_before = self.board.lost;
        let mut detected = Detected::default();
        if self.state == State::Probing {
            self.judge_time_out(delivery.newly, delivery.sacks_more, now);
        } else if self.rack.is_some() {
            detected = self.detect_by_time(now);
        } else {
            self.look_for_losses();
        }
        Findings {
            fresh_loss: detected.any() || self.board.lost > lost_before,
            lost_repair: detected.repairs > 0,
            wait: detected.wait,
        }
    }

    /// Whether what was sacked had been sent before the first segment was sent last. Otherwise new
    /// data that arrives would put off the time-out of a retransmission for ever.
    fn head_is_younger(&self, samples: &Samples, now: Time) -> bool {
        let (Some(rack), Some((rtt, _))) = (&self.rack, samples.sacked) else { return false };
        self.una < self.nxt && rtt > now.since(rack.times.of(self.una).0)
    }

    fn establish(&mut self, packet: &Packet, door: &mut Door) {
        self.state = State::Open;
        let rtt = door.now.since(packet.stamp);
        self.round_trip.sample(rtt);
        if let Some(rack) = &mut self.rack {
            rack.begin(rtt);
        }
        self.deadline = Time::NEVER;
        self.send(door);
    }

    #[inline]
    fn round_trip_of(&mut self, packet: &Packet, now: Time) -> Option<Span> {
        if self.timestamps {
            return Some(now.since(packet.stamp));
        }
        let (segment, sent) = self.timed?;
        if packet.number <= segment {
            return None;
        }
        self.timed = None;
        Some(now.since(sent))
    }
}
