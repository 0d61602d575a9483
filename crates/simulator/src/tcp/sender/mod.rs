//! The sending end of a connection.
//!
//! Sequence machinery, loss detection and repair, in the style of RFC 6675 and of Linux: four
//! states, and one rule for when to send: while fewer segments are in flight than the window
//! allows, lost ones first. How much the window grows and shrinks is the controller's business,
//! how it comes down during a repair that of [`Reduction`].

mod acknowledgement;
mod bursts;
mod growth;
pub mod info;
mod loss_by_time;
mod rack;
mod recovery;
pub mod stream;
mod time_out;
mod undo;

use tidegate_mechanisms::sender::{Controller, Window};
use tidegate_mechanisms::units::{Bytes, Time};
use tidegate_scenario::plan::{AfterTimeoutPlan, RecoveryPlan, ReductionPlan, TcpPlan};

use super::reduction::Reduction;
use super::round_trip::RoundTrip;
use super::scoreboard::Scoreboard;
use super::short_segments::ShortSegments;
use super::{Door, Sizes};
use crate::build;
use crate::packet::flags;
use growth::Usage;
use rack::Rack;
use stream::Stream;
use time_out::Probe;

/// Where a sender stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not started, or all is acknowledged.
    Closed,
    /// The connection request is out.
    SynSent,
    /// No known congestion.
    Open,
    /// Reducing the window after a congestion mark.
    Reducing,
    /// Fast recovery.
    Recovery,
    /// After a time-out that may have been premature (F-RTO).
    Probing,
    /// After a time-out.
    Loss,
}

/// What the timer is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The retransmission time-out.
    TimeOut,
    /// A tail loss probe.
    Probe,
    /// To tell what is lost from what is only late.
    Reordering,
}

/// Counters of a sender from the start of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderCounts {
    /// Segments and connection requests sent, again or for the first time.
    pub sent: u64,
    /// Of them, those sent again.
    pub retransmits: u64,
    /// Time-outs.
    pub timeouts: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// ACKs over which the means below are taken.
    pub acks: u64,
    /// Sum of the window over ACKs, segments.
    pub cwnd_sum: f64,
    /// Sum of the smoothed round-trip time over ACKs, ns.
    pub srtt_sum_ns: u64,
}

/// State of one sender.
pub struct Sender {
    state: State,
    sack: bool,
    forward_ack: bool,
    partial_acks: bool,
    limited_transmit: bool,
    timestamps: bool,
    ecn: bool,
    /// The controller is told of every mark.
    counts_marks: bool,
    /// Flags of an ACK that is more than an expected one.
    news: u32,
    ecn_fallback: bool,
    /// Marks may bring the window below two segments, and below one.
    ecn_to_one: bool,
    frto: bool,
    /// After a time-out, what is sacked counts for nothing.
    go_back_n: bool,
    /// Repairs restart the timer.
    rearm_on_repair: bool,
    /// Segments leave in bursts.
    bursts: bool,
    /// The receiver does not delay the acknowledgement of segments that are pushed.
    pushes: bool,
    announce_reduction: bool,
    reduction_plan: ReductionPlan,
    sizes: Sizes,
    dup_acks: u32,
    /// Window limit, segments.
    window_limit: u32,
    /// First segment not acknowledged.
    una: u64,
    /// Next segment to send for the first time.
    nxt: u64,
    /// What the application has written.
    stream: Stream,
    /// Of what was sent, the segments that are not full.
    short: ShortSegments,
    /// Recovery, loss or reduction ends when this is acknowledged.
    point: u64,
    /// What was outstanding at the last loss ends here (RFC 6582: recover).
    recover: u64,
    /// What F-RTO found out so far.
    probe: Probe,
    /// A round trip ends when this is acknowledged.
    round_end: u64,
    /// How far the window was used of late, where that is looked at round by round.
    usage: Option<Usage>,
    window: Window,
    controller: Controller,
    round_trip: RoundTrip,
    /// Segment and time of the round trip being timed, without timestamps.
    timed: Option<(u64, Time)>,
    reduction: Reduction,
    board: Scoreboard,
    /// Loss detection by time, where it is used.
    rack: Option<Box<Rack>>,
    pub(crate) timer: Timer,
    /// When it runs out.
    deadline: Time,
    /// When the wake-up that looks after it comes.
    timer_at: Time,
    /// Added to the flags of all packets: which of a flow's connections this is.
    pub parity: u32,
    /// Counters.
    pub counts: SenderCounts,
}

impl Sender {
    /// A closed sender with nothing to send yet.
    pub fn new(plan: &TcpPlan, sizes: Sizes) -> Self {
        let mss = sizes.mss();
        let segments = |limit: Bytes| (limit.get() / mss).clamp(1, u64::from(u32::MAX)) as u32;
        let sack = !matches!(plan.loss_recovery, RecoveryPlan::Reno | RecoveryPlan::NewReno);
        let counts_marks = plan.ecn && plan.congestion_control.is_scalable();
        let mut news = flags::SYN | flags::SACK | flags::ECE;
        if counts_marks {
            // What an ACK without marks delivers counts as well.
            news |= flags::ACK;
        }
        Sender {
            state: State::Closed,
            sack,
            forward_ack: plan.loss_recovery == RecoveryPlan::Fack,
            partial_acks: plan.loss_recovery != RecoveryPlan::Reno,
            limited_transmit: plan.limited_transmit,
            timestamps: plan.timestamps,
            ecn: plan.ecn,
            counts_marks,
            news,
            ecn_fallback: plan.ecn_fallback,
            ecn_to_one: plan.ecn_to_one
                && plan.window_reduction == ReductionPlan::Immediate
                && !plan.congestion_control.is_scalable(),
            frto: plan.frto && sack,
            // Loss detection by time keeps the times of what is sacked, and so that.
            go_back_n: plan.after_timeout == AfterTimeoutPlan::GoBackN
                && plan.loss_recovery != RecoveryPlan::Rack,
            rearm_on_repair: plan.rearm_on_repair,
            bursts: plan.segment_bursts,
            pushes: plan.delayed_acks().is_some_and(|delay| delay.quick_push),
            announce_reduction: false,
            reduction_plan: plan.window_reduction,
            sizes,
            dup_acks: 0,
            window_limit: plan.window_limit.map_or(u32::MAX, segments),
            una: 0,
            nxt: 0,
            stream: Stream::new(mss),
            short: ShortSegments::default(),
            point: 0,
            recover: 0,
            probe: Probe::default(),
            round_end: 0,
            usage: plan.window_use_per_round.then(Usage::default),
            window: Window { cwnd: f64::from(plan.initial_window.0), ssthresh: f64::INFINITY },
            controller: build::controller(plan.congestion_control.clone()),
            round_trip: RoundTrip::new(plan.rto()),
            timed: None,
            reduction: Reduction::Immediate,
            board: Scoreboard::default(),
            rack: (plan.loss_recovery == RecoveryPlan::Rack).then(|| Box::new(Rack::new())),
            timer: Timer::TimeOut,
            deadline: Time::NEVER,
            timer_at: Time::NEVER,
            parity: 0,
            counts: SenderCounts::default(),
        }
    }

    /// Whether the connection agreed on SACK.
    pub fn uses_sack(&self) -> bool {
        self.sack
    }

    /// The application writes so many bytes more; [`u64::MAX`] for no end of them. What does not fill a
    /// segment waits for the next bytes, for [`Sender::push`] or [`Sender::end`]. Once all that is to be
    /// said at a time is said, [`Sender::on_written`] lets it leave.
    pub fn write(&mut self, bytes: u64) {
        self.stream.write(bytes);
    }

    /// What is written so far may leave in a segment that is not full.
    pub fn push(&mut self) {
        self.stream.push();
    }

    /// Nothing more will be written.
    pub fn end(&mut self) {
        self.stream.end();
    }

    /// Sends what has been written, as far as the window allows. To be called after [`Sender::write`],
    /// [`Sender::push`] and [`Sender::end`] once the connection has been requested; before, it does nothing.
    pub fn on_written(&mut self, door: &mut Door) {
        if !matches!(self.state, State::Closed | State::SynSent) {
            self.send(door);
        }
    }

    /// Whether all that was and will be written is acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.stream.is_done(self.una)
    }

    /// Congestion window, segments.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    /// Smoothed round-trip time in seconds, if there is one.
    pub fn srtt_s(&self) -> Option<f64> {
        self.round_trip.srtt().map(|srtt| srtt.as_secs())
    }

    /// Requests the connection.
    pub fn open(&mut self, door: &mut Door) {
        self.state = State::SynSent;
        self.counts.sent += 1;
        self.send_request(door);
    }

    fn send_request(&mut self, door: &mut Door) {
        door.send_data(0, self.sizes.syn, flags::SYN | self.capable() | self.parity);
        self.restart_timer(door);
    }

    /// Whether requests and what is sent again are ECN-capable: not by RFC 3168 (sections 6.1.1 and
    /// 6.1.5), but of scalable senders all packets are, or a queue that marks many would drop those
    /// (RFC 8257, section 3.6).
    fn capable(&self) -> u32 {
        if self.counts_marks { flags::ECT } else { 0 }
    }

    /// Segments in the network, by what the sender knows.
    #[inline]
    fn in_flight(&self) -> u32 {
        let outstanding = (self.nxt - self.una) as u32;
        let (board, sacked) = (&self.board, self.board.sacked);
        if self.state == State::Open && !self.limited_transmit {
            return outstanding;
        }
        (outstanding + board.retransmitted).saturating_sub(sacked + board.lost)
    }

    /// Sends what the window allows.
    #[inline]
    fn send(&mut self, door: &mut Door) {
        if self.usage.is_none() && self.rack.is_none() {
            self.fill_window(door);
            return;
        }
        let nxt = self.nxt;
        let put_off = self.fill_window(door);
        let full = put_off || self.in_flight() >= self.window.cwnd as u32;
        if self.nxt > nxt || full {
            self.note_usage(full);
        }
        if self.rack.is_some() && self.nxt > nxt && self.timer != Timer::Reordering {
            self.schedule_probe(self.time_out_of_first(door.now), door);
        }
    }

    /// Lost segments first. Returns whether the window would let more go, which wait for company.
    #[inline]
    fn fill_window(&mut self, door: &mut Door) -> bool {
        loop {
            let window = (self.window.cwnd as u32).min(self.window_limit);
            let in_flight = self.in_flight();
            if in_flight >= window {
                return false;
            }
            if self.board.lost > self.board.retransmitted
                && self.state != State::Probing
                && self.repair_next(door)
            {
                continue;
            }
            let available = self.available();
            if available == 0 {
                return false;
            }
            if !self.bursts {
                self.send_new(false, door);
            } else {
                let room = available.min(u64::from(window - in_flight)) as u32;
                if !self.send_burst(room, door) {
                    return true;
                }
            }
        }
    }

    /// New segments that there are and that the limit of the window lets go.
    #[inline]
    fn available(&self) -> u64 {
        let limit = u64::from(self.window_limit).saturating_sub(self.nxt - self.una);
        limit.min(self.stream.ready(self.nxt))
    }

    #[inline]
    fn send_new(&mut self, push: bool, door: &mut Door) {
        let segment = self.nxt;
        let missing_bytes = self.stream.cut(segment);
        if missing_bytes > 0 {
            self.short.note(segment, missing_bytes);
        }
        self.nxt += 1;
        if !self.timestamps && self.timed.is_none() {
            self.timed = Some((segment, door.now));
        }
        let mut flags = if push && self.pushes { flags::PSH } else { 0 };
        if self.ecn {
            flags |= flags::ECT;
            if self.announce_reduction {
                self.announce_reduction = false;
                flags |= flags::CWR;
            }
        }
        self.transmit(segment, flags, false, door);
    }

    /// Sends the next lost segment again, if one is waiting for it.
    fn repair_next(&mut self, door: &mut Door) -> bool {
        let Some(segment) = self.board.next_repair(self.una, self.nxt) else { return false };
        self.send_again(segment, door);
        true
    }

    fn send_again(&mut self, segment: u64, door: &mut Door) {
        self.board.on_repair(self.una, segment, self.nxt, self.forward_ack);
        // Karn: a round trip over a retransmission means nothing.
        self.timed = None;
        self.counts.retransmits += 1;
        if let Some(rack) = &mut self.rack {
            rack.repairs.push_back((segment, door.now));
            if let Some(undo) = &mut rack.undo {
                undo.on_repair(door.now);
            }
        }
        self.transmit(segment, self.capable(), true, door);
        if segment == self.una && self.rearm_on_repair {
            self.restart_timer(door);
        }
    }

    #[inline(always)]
    fn transmit(&mut self, segment: u64, mut flags: u32, again: bool, door: &mut Door) {
        if let Some(rack) = &mut self.rack {
            rack.times.note(self.una, segment, door.now, again);
            rack.last_sent = door.now;
        }
        let missing_bytes = self.short.missing_bytes(segment);
        if self.pushes && (missing_bytes > 0 || self.stream.is_pushed(segment)) {
            flags |= flags::PSH;
        }
        self.counts.sent += 1;
        self.reduction.on_sent();
        door.send_data(segment, self.sizes.full - missing_bytes, flags | self.parity);
        if self.deadline == Time::NEVER {
            self.restart_timer(door);
        }
    }
}
