//! Properties of both ends together: the sender's counts equal the receiver's.

use std::collections::VecDeque;

use proptest::prelude::*;
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::OptionPlan;

use super::handshake::Mode;
use super::*;
use crate::packet::{PackedPacket, Packet};
use crate::tcp::tests::classic_with;
use crate::tcp::timelines::bench::idle_network;
use crate::tcp::{Half, HostContext};
use crate::wake::Wake;

const MSS: u32 = 1_460;
/// Time between packets.
const STEP: Span = Span::from_micros(500);

fn pair(when: OptionPlan) -> (MarkCounters, MarkReader) {
    let mut reader = MarkReader::new(u64::from(MSS));
    reader.begin(HandshakeOutcome::plain(Mode::Accurate), false);
    (MarkCounters::new(when), reader)
}

/// For each ACK, whether each of the packets it delivers was marked; lost and thinned ACKs are merged into the next.
fn marks(most: usize) -> impl Strategy<Value = Vec<Vec<bool>>> {
    let share = prop::sample::select(vec![0.02, 0.3, 0.9]);
    share.prop_flat_map(move |share| {
        prop::collection::vec(prop::collection::vec(prop::bool::weighted(share), 1..=most), 1..200)
    })
}

/// Delivers the packets of one ACK, and evaluates the ACK.
fn exchange(
    received: &mut MarkCounters,
    reader: &mut MarkReader,
    marked: &[bool],
) -> ReportedMarks {
    for &marked in marked {
        received.note(if marked { Codepoint::Ce } else { Codepoint::Ect0 }, MSS);
    }
    let room = OptionRoom { timestamps: true, blocks: 0 };
    let option = received.on_ack(room, Span::ZERO, Time::ZERO).map(|fitted| fitted.bytes);
    let delivered = marked.len() as u32;
    let delivered_bytes = u64::from(delivered * MSS);
    let ace = received.ace();
    reader.read(&Arrived { ace, option, delivered, delivered_bytes, progresses: true })
}

#[test]
fn what_is_said_in_flags_is_read_as_it_was_said() {
    for number in 0..8 {
        let packet = Packet { flags: Ace::new(number).flags(), ..Packet::default() };
        assert_eq!(u32::from(Ace::of(&packet).get()), number);
    }
    for codepoint in [Codepoint::NotEct, Codepoint::Ect1, Codepoint::Ect0, Codepoint::Ce] {
        let packet = Packet { flags: codepoint.flags(), ..Packet::default() };
        assert_eq!(Codepoint::of(&packet), codepoint);
    }
}

proptest! {
    /// For any number of packets per ACK.
    #[test]
    fn with_the_option_every_ack_says_exactly_what_was_marked(acks in marks(60)) {
        let (mut received, mut reader) = pair(OptionPlan::Each);
        for marked in acks {
            let reported = exchange(&mut received, &mut reader, &marked);
            let segments = marked.iter().filter(|marked| **marked).count() as u32;
            prop_assert_eq!((reported.segments, reported.bytes), (segments, u64::from(segments * MSS)));
        }
        prop_assert!(reader.may_be_capable(), "the feedback was not tampered with");
    }

    /// Limit of the three-bit counter: seven packets per ACK.
    #[test]
    fn without_it_an_ack_of_up_to_seven_packets_does(acks in marks(7)) {
        let (mut received, mut reader) = pair(OptionPlan::Off);
        for marked in acks {
            let reported = exchange(&mut received, &mut reader, &marked);
            prop_assert_eq!(reported.segments as usize, marked.iter().filter(|marked| **marked).count());
        }
    }

    /// Beyond seven packets, and if ACKs of more than four are not the rule, marks are never missed; the excess of an
    /// ACK is a multiple of eight, at most the number of packets delivered.
    #[test]
    fn without_it_rare_gaps_count_on_the_safe_side(
        gaps in prop::collection::vec((prop::bool::weighted(0.3), 8..30_usize), 1..20),
        share in 0.0..1.0_f64
    ) {
        let (mut received, mut reader) = pair(OptionPlan::Off);
        let mut at = 0.0;
        let mut packet = || { at += share; let marked = at >= 1.0; at %= 1.0; marked };
        for (many, length) in gaps {
            for _ in 0..40 {
                exchange(&mut received, &mut reader, &[packet(), packet()]);
            }
            let marked: Vec<bool> = (0..if many { length } else { 5 }).map(|_| packet()).collect();
            let counted = marked.iter().filter(|marked| **marked).count() as u32;
            let reported = exchange(&mut received, &mut reader, &marked).segments;
            prop_assert!(reported >= counted && reported as usize <= marked.len());
            prop_assert_eq!((reported - counted) % 8, 0);
        }
    }

    /// A whole connection: data is lost and marked at random, ACKs are lost and thinned. At every cumulative ACK the
    /// sender has counted what the receiver had counted when sending it.
    #[test]
    fn a_connection_counts_alike_at_both_ends(
        seed in any::<u64>(),
        lost in 0.0..0.1_f64,
        marked in 0.0..0.5_f64,
        missing in 0.0..0.9_f64,
        rack in any::<bool>()
    ) {
        let recovery = if rack { "rack" } else { "sack" };
        let options = format!(
            "ecn = true, feedback = \"accurate\", timestamps = true, loss_recovery = {recovery:?}, \
             delayed_ack = \"40 ms\", quick_acks = 0, initial_rto = \"1 s\", max_rto = \"1 s\""
        );
        let mut sim = SimContext::new(&options, seed);
        sim.run(lost, marked, missing)?;
    }
}

/// Packets in transit, with the receiver's counts at their send time.
type Pipe = VecDeque<(Packet, (u64, u64))>;

/// A connection with a constant delay and no reordering.
struct SimContext {
    half: Half,
    network: crate::network::Network,
    timers: crate::event_queue::Timers,
    now: Time,
    dice: u64,
    data: Pipe,
    acks: Pipe,
}

impl SimContext {
    fn new(options: &str, seed: u64) -> Self {
        let (network, address, timers) = idle_network();
        let half = Half::new(&classic_with(options), 1_500, address);
        let (data, acks) = (Pipe::new(), Pipe::new());
        SimContext { half, network, timers, now: Time::ZERO, dice: seed | 1, data, acks }
    }

    /// Draws whether an event of this probability happens.
    fn happens(&mut self, probability: f64) -> bool {
        // An xorshift generator.
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        ((self.dice >> 11) as f64) < probability * (1_u64 << 53) as f64
    }

    fn act(&mut self, act: impl FnOnce(&mut Half, &mut HostContext)) {
        let SimContext { half, network, timers, now, .. } = self;
        let address = half.address;
        act(half, &mut HostContext { now: *now, network, timers, address, prompt: false });
        let counted = self.half.receiver.marked();
        while self.network.transit.next_time() < Time::NEVER {
            if let Some((_, packed)) = self.network.advance() {
                let packet = packed.packet(self.now);
                let pipe = if packet.has(flags::ACK) { &mut self.acks } else { &mut self.data };
                pipe.push_back((packet, counted));
            }
        }
    }

    fn run(&mut self, lost: f64, marked: f64, missing: f64) -> Result<(), TestCaseError> {
        self.half.sender.write(600 * u64::from(MSS));
        self.half.sender.end();
        self.act(|half, ctx| half.sender.open(ctx));
        for _ in 0..100_000 {
            if self.half.sender.is_done() {
                return Ok(());
            }
            let waits = self.data.is_empty() && self.acks.is_empty();
            let next = if waits { self.timers.next_time() } else { self.now + STEP };
            self.fire_until(next);
            self.now = next;
            if self.data.len() > 4 || self.acks.is_empty() {
                self.deliver_data(lost, marked);
            } else {
                self.deliver_ack(missing)?;
            }
        }
        Err(TestCaseError::fail("the connection does not end"))
    }

    /// Fires timers up to a time.
    fn fire_until(&mut self, end: Time) {
        while let Some((at, wake)) = self.timers.pop_before(end + Span::from_nanos(1)) {
            self.now = at;
            match wake {
                Wake::Retransmit(_) => self.act(|half, ctx| half.sender.on_timer(ctx)),
                _ => self.act(Half::on_wake_of_receiver),
            }
        }
    }

    fn deliver_data(&mut self, lost: f64, marked: f64) {
        let Some((mut packet, _)) = self.data.pop_front() else { return };
        packet.at = self.now;
        let request = packet.has(flags::SYN);
        if !request && self.happens(lost) {
            return;
        }
        if packet.has(flags::ECT) && self.happens(marked) {
            packet.flags |= flags::CE;
        }
        self.act(|half, ctx| half.on_data(&PackedPacket::of(&packet), ctx));
    }

    fn deliver_ack(&mut self, missing: f64) -> Result<(), TestCaseError> {
        let Some((mut packet, counted)) = self.acks.pop_front() else { return Ok(()) };
        packet.at = self.now;
        if !packet.has(flags::SYN) && self.happens(missing) {
            if packet.has(flags::OPTIONS) {
                self.network.options.take(packet.payload);
            }
            return Ok(());
        }
        let una = self.half.sender.una();
        self.act(|half, ctx| half.sender.on_ack(&PackedPacket::of(&packet), ctx));
        if self.half.sender.una() > una {
            let info = self.half.sender.info();
            prop_assert_eq!((info.marked, info.delivered_bytes[1]), counted);
        }
        Ok(())
    }
}
