//! Tests of the ConEx auditor: rules, honest senders, cheats, and floods.

use std::collections::{BTreeMap, VecDeque};

use super::*;
use crate::stage::{Ecn, Sequence, Tunnel};

fn params() -> ConexAuditorParams {
    ConexAuditorParams {
        allowance: Span::from_millis(500),
        slack: Bytes::new(6_000),
        tolerance: Share(0.02),
        losses: LossSign::Gap,
        memory: Bytes::new(8_000_000),
        secret: None,
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

const CONEX: Declared =
    Declared { conex: true, loss: false, mark: false, credit: false, re: false };
const MARK: Declared = Declared { mark: true, ..CONEX };
const LOSS: Declared = Declared { loss: true, ..CONEX };
const CREDIT: Declared = Declared { credit: true, ..CONEX };

/// Returns the packet with this number, sent 50 ms before.
fn packet(ms: u64, number: u64, declared: Declared) -> Passing {
    let sent = at(ms.saturating_sub(50));
    let sequence = Some(Sequence { connection: 0, number, sent });
    Passing { now: at(ms), declared, sequence, ..Passing::of_user(0) }
}

fn marked(packet: Passing) -> Passing {
    Passing { ecn: Ecn::Ce, ..packet }
}

/// Returns the drop probability of this packet, in percent, and the reason.
fn judged(auditor: &ConexAuditor, packet: Passing) -> (u32, &'static str) {
    let verdict = |draw: f64| auditor.clone().pass(&mut { packet }, || draw);
    let dropped = (0..100).filter(|&draw| verdict(f64::from(draw) / 100.0) != Passage::On).count();
    let reason = match verdict(0.0) {
        Passage::Drop(reason) => reason,
        Passage::On | Passage::Hold(_) | Passage::Report(_) => "",
    };
    (dropped as u32, reason)
}

/// Returns an auditor that has seen these packets.
fn after(packets: impl IntoIterator<Item = Passing>) -> ConexAuditor {
    let mut auditor = ConexAuditor::new(params());
    for mut packet in packets {
        assert_eq!(auditor.pass(&mut packet, || 0.999_999), Passage::On, "{packet:?}");
    }
    auditor
}

/// Returns `n` consecutive packets that give credit.
fn credited(n: u64) -> impl Iterator<Item = Passing> {
    (0..n).map(|number| packet(0, number, CREDIT))
}

#[test]
fn what_is_not_declared_yet_has_to_be_covered_by_credit_at_once() {
    let met = |n: u64| (5..5 + n).map(|number| marked(packet(10, number, CONEX)));
    // 5 packets of credit, 4 of slack: for (n + 1)·0.98 − 5 above that, p is a fourth for each.
    for (n, want) in [(0, 0), (8, 0), (9, 20), (10, 45), (12, 94)] {
        let auditor = after(credited(5).chain(met(n)));
        let next = marked(packet(20, 5 + n, CONEX));
        let (percent, _) = judged(&auditor, next);
        assert!(percent.abs_diff(want) <= 1, "after {n} marks: {percent} %, not {want} %");
        for answer in [MARK, LOSS, CREDIT] {
            let answer = Passing { declared: answer, ..next };
            assert_eq!(judged(&auditor, answer).0, 0, "a declaration is exempt");
        }
    }
    let auditor = after(credited(5).chain(met(12)));
    assert_eq!(judged(&auditor, packet(20, 17, CONEX)).1, "beyond credit");
}

#[test]
fn marks_and_losses_are_declared_as_what_they_are_and_within_an_allowance() {
    let marks = (100..140).map(|number| marked(packet(10, number, CONEX)));
    let one_by_one = |n: u64| (140..140 + n).map(|i| packet(600 + i, i, LOSS));
    let mut auditor = after(credited(100).chain(marks).chain(one_by_one(60)));
    assert_eq!(judged(&auditor, packet(990, 200, CONEX)), (0, ""), "not an allowance ago");
    auditor.pass(&mut packet(1_300, 200, LOSS), || 0.9);
    let late = packet(1_310, 201, CONEX);
    assert_eq!(judged(&auditor, late), (100, "marks not declared"), "losses are no marks");
    assert_eq!(judged(&auditor, Passing { declared: LOSS, ..late }).0, 100);
    assert_eq!(judged(&auditor, Passing { declared: MARK, ..late }).0, 0, "it answers");
}

/// A sender that declares half of its losses also declares half of the auditor's drops, and that does not reduce its
/// debt.
#[test]
fn what_is_dropped_for_losses_is_to_be_declared_but_for_what_honest_senders_may_lose() {
    let mut auditor = after(credited(100));
    // 50 are missing, of which 25 are declared; then all packets without a declaration are dropped, and half of those
    // are declared.
    auditor.pass(&mut packet(10, 150, CONEX), || 0.9);
    let mut number = 150;
    let mut send = |auditor: &mut ConexAuditor, ms: u64, declared| {
        number += 1;
        auditor.pass(&mut packet(ms, number, declared), || 0.9)
    };
    for ms in 11..36 {
        send(&mut auditor, ms, LOSS);
    }
    let mut dropped = 0;
    for ms in (1_100..60_000).step_by(100) {
        let passages = [
            send(&mut auditor, ms, CONEX),
            send(&mut auditor, ms + 50, if dropped % 2 == 0 { LOSS } else { CONEX }),
        ];
        dropped += passages.iter().filter(|&passage| *passage != Passage::On).count();
    }
    assert!(dropped > 400, "{dropped} of some 1,200");
    assert_eq!(judged(&auditor, packet(60_000, number + 1, CONEX)).1, "losses not declared");
}

#[test]
fn a_gap_in_the_sequence_is_a_loss_unless_it_was_overtaken() {
    let balance = |packets: &[(u64, u64, u64)]| {
        let mut auditor = after(credited(1));
        for &(ms, number, sent) in packets {
            let sequence = Some(Sequence { connection: 0, number, sent: at(sent) });
            let mut packet = Passing { sequence, ..packet(ms, 0, CONEX) };
            auditor.pass(&mut packet, || 0.999_999);
        }
        let mut lost = f64::NAN;
        auditor.levels(0, at(0), &mut |what, level| {
            if what == "loss_balance_bytes" {
                lost = -level / 1500.0;
            }
        });
        lost
    };
    assert_eq!(balance(&[(10, 1, 1), (11, 2, 2)]), 0.0);
    assert_eq!(balance(&[(10, 3, 3), (11, 4, 4)]), 2.0, "1 and 2 are missing");
    assert_eq!(balance(&[(10, 3, 3), (11, 1, 1), (12, 2, 2)]), 0.0, "they were overtaken");
    assert_eq!(balance(&[(10, 3, 3), (90, 1, 60), (91, 2, 60)]), 2.0, "they were repaired");
    assert_eq!(balance(&[(10, 1, 1), (90, 1, 60)]), 0.0, "it is lost behind, if at all");
    let again = [(10, 4, 4), (90, 1, 60), (91, 1, 61), (92, 2, 2), (93, 3, 3), (94, 3, 3)];
    assert_eq!(balance(&again), 1.0, "what comes twice stands for no other");
    let far = |late: u64| balance(&[(10, 1, 1), (11, 129, 129), (12, late, late)]);
    assert_eq!([2, 1, 129].map(far), [126.0, 127.0, 127.0], "127 numbers back");
    assert_eq!(balance(&[(10, 1, 1), (11, 900, 900), (12, 2, 2), (13, 899, 899)]), 897.0);
    let last = u64::from(u32::MAX);
    let over_the_end = [(10, last / 2, 1), (11, last - 1, 2), (12, last + 3, 8), (13, last, 3)];
    let before = balance(&over_the_end[..2]);
    assert_eq!(balance(&over_the_end) - before, 3.0 - 1.0, "numbers wrap");
}

/// RFC 7713, section 5.5: near the sender a loss shows as a retransmission.
#[test]
fn near_the_sender_a_loss_is_what_is_sent_again() {
    let params = ConexAuditorParams { losses: LossSign::Repeat, ..params() };
    let mut auditor = ConexAuditor::new(params);
    // 9 was lost between the sender and the auditor, 2 and 3 behind it: all three are retransmitted.
    let first = (0..13).filter(|&number| number != 9);
    for mut packet in first.map(|number| packet(number, number, CREDIT)) {
        assert_eq!(auditor.pass(&mut packet, || 0.9), Passage::On);
    }
    let owed = |auditor: &ConexAuditor| {
        let mut owed = f64::NAN;
        auditor.levels(0, at(0), &mut |what, level| {
            if what == "loss_balance_bytes" {
                owed = -level / 1500.0;
            }
        });
        owed
    };
    assert_eq!(owed(&auditor), 0.0, "a gap is none here");
    for mut packet in [2, 3, 9].map(|number| packet(100, number, CONEX)) {
        auditor.pass(&mut packet, || 0.9);
    }
    assert_eq!(owed(&auditor), 3.0);
    auditor.pass(&mut packet(110, 13, LOSS), || 0.9);
    assert_eq!(owed(&auditor), 2.0);
}

/// RFC 7786, loss of ConEx information: a declaration that is lost with its packet has to be repeated.
#[test]
fn near_the_sender_a_declaration_counts_only_if_its_packet_is_not_sent_again() {
    let params = ConexAuditorParams { losses: LossSign::Repeat, ..params() };
    let mut auditor = ConexAuditor::new(params);
    let mut owed_after = |number, declared| {
        auditor.pass(&mut packet(10, number, declared), || 0.9);
        -packets(&auditor, "loss_balance_bytes")
    };
    for number in 0..10 {
        owed_after(number, CREDIT);
    }
    assert_eq!(owed_after(3, LOSS), 0.0, "declared by the retransmission");
    assert_eq!(owed_after(3, CONEX), 2.0, "which is lost as well");
    assert_eq!(owed_after(3, CONEX), 3.0, "and the second, which declared nothing");
    assert_eq!([10, 11, 12].map(|new| owed_after(new, LOSS)), [2.0, 1.0, 0.0]);
    assert_eq!(owed_after(11, LOSS), 1.0);
    assert_eq!(owed_after(139, LOSS), 0.0);
    assert_eq!(owed_after(12, CONEX), 2.0, "at the end of the window");
    assert_eq!(owed_after(10, CONEX), 3.0, "before it, forgotten");
}

/// Returns a balance of user 0, in full packets.
fn packets(auditor: &ConexAuditor, level: &str) -> f64 {
    let mut found = f64::NAN;
    auditor.levels(0, at(0), &mut |what, bytes| {
        if what == level {
            found = bytes / 1500.0;
        }
    });
    found
}

/// RFC 7713, section 5.5: at the bottleneck a loss is a drop by its queue, regardless of headers.
#[test]
fn at_the_bottleneck_a_loss_is_what_its_queue_drops() {
    let params = ConexAuditorParams { losses: LossSign::Queue, ..params() };
    assert!(ConexAuditor::observes_drops(&params));
    let hidden = |packet: Passing| Passing { sequence: None, ecn: Ecn::NotEct, ..packet };
    let mut auditor = ConexAuditor::new(params);
    for mut packet in credited(5).map(hidden) {
        assert_eq!(auditor.pass(&mut packet, || 0.0), Passage::On);
    }
    // A gap is no loss here, and acknowledgements and packets outside ConEx have no debt.
    auditor.pass(&mut packet(1, 9, CREDIT), || 0.0);
    let ack = Passing { is_ack: true, ..packet(2, 10, CONEX) };
    [ack, packet(2, 10, Declared::default())]
        .iter()
        .for_each(|packet| auditor.observe_drop(packet));
    assert_eq!(packets(&auditor, "loss_balance_bytes"), 0.0);
    for ms in 3..15 {
        auditor.observe_drop(&hidden(packet(ms, ms, CONEX)));
    }
    assert_eq!(packets(&auditor, "loss_balance_bytes"), -12.0);
    assert_eq!(packets(&auditor, "balance_bytes"), 6.0 - 12.0);
}

/// Flows without declarations have no state, and are detected there even if nothing can be marked.
#[test]
fn at_the_bottleneck_the_undeclared_owe_what_its_queue_drops() {
    let params = ConexAuditorParams { losses: LossSign::Queue, ..params() };
    let mut auditor = ConexAuditor::new(params);
    let unmarkable = |ms| Passing { ecn: Ecn::NotEct, ..packet(ms, ms, CONEX) };
    for ms in 0..100 {
        assert_eq!(auditor.pass(&mut unmarkable(ms), || 0.0), Passage::On, "nothing is lost yet");
    }
    auditor.observe_drop(&unmarkable(100));
    let dropped = (101..300)
        .filter(|&ms| {
            auditor.pass(&mut unmarkable(ms), || 0.5) == Passage::Drop("nothing declared")
        })
        .count();
    // A packet counts a hundred times; all are dropped until the remaining balance is half the slack, two packets.
    assert_eq!(dropped, 98);
    // A flow that gives credit has its own state from the first packet on, even if that is dropped.
    auditor.observe_drop(&Passing { flow: 1, ..packet(300, 0, CREDIT) });
    assert_eq!(auditor.undeclared, 3000.0);
    assert_eq!(packets(&auditor, "loss_balance_bytes"), -1.0);
}

/// RFC 7713, section 5.5: a packet that is not ECN-capable and is marked in its tunnel will be dropped by the tunnel
/// egress.
#[test]
fn before_the_end_of_a_tunnel_a_loss_is_a_mark_around_what_is_not_capable() {
    let params = ConexAuditorParams { losses: LossSign::Tunnel, ..params() };
    assert_eq!(ConexAuditor::tunnels_by(&params), Some(EcnRules::Rfc7713));
    let mut auditor = ConexAuditor::new(params);
    let inside = |inner_ecn, ecn, packet: Passing| {
        let tunnel = Tunnel { teid: 1, sequence: 0, inner_ecn, re_inserted: None };
        Passing { ecn, tunnel: Some(tunnel), ..packet }
    };
    for (number, (inner, outer, lost, marked)) in [
        (Ecn::NotEct, Ecn::Ect0, 0, 0),
        (Ecn::NotEct, Ecn::Ce, 1, 0),
        (Ecn::Ect0, Ecn::Ce, 1, 1),
        (Ecn::Ce, Ecn::Ce, 1, 2),
        (Ecn::Ce, Ecn::Ect0, 1, 3),
        (Ecn::NotEct, Ecn::Ce, 2, 3),
    ]
    .into_iter()
    .enumerate()
    {
        let declared = if number == 0 { CREDIT } else { CONEX };
        // Gaps are no losses.
        auditor.pass(&mut inside(inner, outer, packet(1, 2 * number as u64, declared)), || 0.9);
        let met = ["loss_balance_bytes", "mark_balance_bytes"].map(|what| -packets(&auditor, what));
        assert_eq!(met, [f64::from(lost), f64::from(marked)], "{inner:?} in {outer:?}");
    }
    // Undeclared flows have this debt, too, though they cannot receive marks.
    let undeclared = Passing { flow: 1, ..packet(2, 0, CONEX) };
    auditor.pass(&mut inside(Ecn::NotEct, Ecn::Ce, undeclared), || 0.9);
    assert!(auditor.undeclared > 0.0);
}

/// RFC 7713, section 5.5: for packets with a hidden sequence, as with encryption, only marks are audited.
#[test]
fn where_no_sequence_shows_marks_alone_are_audited() {
    let hidden = |packet: Passing| Passing { sequence: None, ..packet };
    let mut auditor = after(credited(5).map(hidden));
    for ms in 0..2_000 {
        // Half of the packets are lost, which is not visible.
        assert_eq!(auditor.pass(&mut hidden(packet(ms, 2 * ms, CONEX)), || 0.0), Passage::On);
    }
    let mut met = BTreeMap::new();
    auditor.counts(&mut |_, what, count| {
        met.insert(what, count);
    });
    assert_eq!((met["met_loss_bytes"], met["overtaken_bytes"]), (0, 0));
    for ms in 2_000..2_012 {
        auditor.pass(&mut hidden(marked(packet(ms, 0, CONEX))), || 0.9);
    }
    assert_eq!(judged(&auditor, hidden(packet(2_012, 0, CONEX))).1, "beyond credit");
}

#[test]
fn what_is_counted_never_shrinks_when_packets_were_overtaken() {
    let mut auditor = after(credited(1));
    let mut before = BTreeMap::new();
    // 1, 2 and 3 are missing when 4, of 1500 B, arrives; then two of them arrive, smaller and larger than that.
    for (ms, number, len) in [(10, 4, 1500), (11, 1, 9000), (12, 2, 40), (13, 5, 1500)] {
        let sequence = Some(Sequence { connection: 0, number, sent: at(number) });
        let (len, packet) = (Bytes::new(len), packet(ms, 0, CONEX));
        auditor.pass(&mut Passing { sequence, len, ..packet }, || 0.999_999);
        let mut now = BTreeMap::new();
        auditor.counts(&mut |user, what, count| {
            now.insert((user, what), count);
        });
        for (key, count) in &before {
            assert!(now[key] >= *count, "{key:?} after packet {number}: {} of {count}", now[key]);
        }
        before = now;
    }
    assert_eq!(before[&(0, "met_loss_bytes")], 4500);
    assert_eq!(before[&(0, "overtaken_bytes")], 9040);
}

#[test]
fn packets_outside_conex_and_acknowledgements_are_not_looked_at() {
    let outside = Declared { conex: false, ..MARK };
    let before = after(credited(1));
    for mut packet in [
        marked(packet(1, 9_000, outside)),
        Passing { is_ack: true, ..marked(packet(1, 9_000, CONEX)) },
    ] {
        let mut auditor = before.clone();
        assert_eq!(auditor.pass(&mut packet, || 0.0), Passage::On);
        assert_eq!(format!("{auditor:?}"), format!("{before:?}"));
    }
}

/// RFC 7713: no state without a declaration; undeclared flows share a balance.
#[test]
fn a_sender_that_declares_nothing_has_no_state_and_shares_one_balance() {
    let mut auditor = ConexAuditor::new(params());
    for flow in 0..1_000 {
        auditor.pass(&mut Passing { flow, ..packet(0, 0, CONEX) }, || 0.999);
    }
    assert_eq!(auditor.state_bytes() as u64, Slots::<AuditedFlow>::LEAST_BYTES);
    let other = Passing { flow: 7, ..packet(1, 0, CONEX) };
    assert_eq!(judged(&auditor, other), (0, ""), "no congestion, no debt");
    for _ in 0..2 {
        auditor.pass(&mut marked(packet(1, 0, CONEX)), || 0.999_999);
        assert_eq!(judged(&auditor, other), (100, "nothing declared"));
    }
    assert_eq!(judged(&auditor, Passing { flow: 7, ..packet(1, 0, CREDIT) }), (0, ""));
}

/// Without marks they would have no debt: 6 kB pass in each half of a second.
#[test]
fn of_what_declares_nothing_and_cannot_be_marked_next_to_nothing_passes() {
    let mut auditor = after([]);
    let unmarkable = |ms, flow| Passing { flow, ecn: Ecn::NotEct, ..packet(ms, 0, CONEX) };
    let passed = |auditor: &mut ConexAuditor, ms| {
        (0..100)
            .filter(|&flow| auditor.pass(&mut unmarkable(ms, flow), || 0.9) == Passage::On)
            .count()
    };
    assert_eq!([0, 250, 10_000].map(|ms| passed(&mut auditor, ms)), [4, 2, 4]);
    assert_eq!(judged(&auditor, unmarkable(10_000, 3)), (100, "nothing declared, nor markable"));
    let credit = Passing { declared: CREDIT, ..unmarkable(10_000, 3) };
    assert_eq!(judged(&auditor, credit), (0, ""), "who gives credit has a balance of his own");
    assert_eq!(judged(&auditor, packet(10_000, 0, CONEX)), (0, ""), "and the others another");
}

/// Declaration behaviour of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Habit {
    Honest,
    /// Uses ConEx, and declares nothing.
    Never,
    /// Gives credit, and declares this share of its congestion.
    Part(f64),
    /// Declares with a delay of this number of round trips.
    Late(usize),
    /// Declares marks as losses.
    LossForMark,
    /// Gives much credit at first, then declares nothing.
    Hoard,
    /// Starts a new flow every few round trips; each gives a little credit and declares nothing.
    Whitewash,
}

/// Path of a flow, in round trips of 100 ms.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// Packets in the first round trip, and growth per round trip.
    window: (f64, f64),
    marks: f64,
    losses: f64,
    /// Share of packets that arrive up to eight places later.
    out_of_order: f64,
    /// Share of round trips whose feedback is delayed.
    unheard: f64,
}

const CALM: Path =
    Path { window: (20.0, 1.0), marks: 0.05, losses: 0.01, out_of_order: 0.0, unheard: 0.0 };

/// Sender: congestion known and not declared yet, in packets.
struct Sender {
    habit: Habit,
    flow: u32,
    next: u64,
    retransmissions: VecDeque<u64>,
    heard: VecDeque<[f64; 2]>,
    owed: [f64; 2],
    credit: f64,
}

impl Sender {
    fn new(habit: Habit, flow: u32) -> Self {
        let (retransmissions, heard) = (VecDeque::new(), VecDeque::new());
        Sender { habit, flow, next: 0, retransmissions, heard, owed: [0.0; 2], credit: 0.0 }
    }

    fn observes(&mut self, [marks, losses]: [f64; 2]) {
        self.heard.push_back([marks, losses]);
        let delay = if let Habit::Late(rounds) = self.habit { rounds } else { 0 };
        if self.heard.len() <= delay {
            return;
        }
        let [marks, losses] = self.heard.pop_front().expect("is there");
        let owed = match self.habit {
            Habit::Honest | Habit::Late(_) => [marks, losses],
            Habit::Part(share) => [share * marks, share * losses],
            Habit::LossForMark => [0.0, marks + losses],
            Habit::Never | Habit::Hoard | Habit::Whitewash => [0.0; 2],
        };
        self.owed = [self.owed[0] + owed[0], self.owed[1] + owed[1]];
        if self.habit == Habit::Honest {
            self.credit = (self.credit - marks - losses).max(0.0);
        }
    }

    fn declares(&mut self, window: f64) -> Declared {
        let mut pays = |i: usize| {
            let pays = self.owed[i] > 0.0;
            self.owed[i] -= f64::from(u8::from(pays));
            pays
        };
        let (mark, loss) = (pays(0), pays(1));
        let wanted = match self.habit {
            Habit::Never => 0.0,
            Habit::Hoard => 500.0,
            Habit::Whitewash => 2.0,
            _ => window / 2.0,
        };
        let credit = self.credit < wanted;
        self.credit += f64::from(u8::from(credit));
        Declared { mark, loss, credit, ..CONEX }
    }
}

/// Random numbers, the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Returns the share of a sender's packets dropped by the auditor.
fn lost_to_auditor(habit: Habit, path: Path, rounds: u64) -> f64 {
    let (mut auditor, mut dice) = (ConexAuditor::new(params()), Dice(1));
    let mut sender = Sender::new(habit, 0);
    let (mut sent, mut dropped, mut window) = (0u64, 0u64, path.window.0);
    let mut unheard = [0.0; 2];
    for round in 0..rounds {
        if habit == Habit::Whitewash && round % 3 == 0 {
            sender = Sender::new(habit, sender.flow + 1);
        }
        let mut arriving = Vec::new();
        let mut met = [0.0; 2];
        for place in 0..window as u64 {
            let number = sender.retransmissions.pop_front().unwrap_or_else(|| {
                sender.next += 1;
                sender.next - 1
            });
            let declared = sender.declares(window);
            let ns = 1_000_000 * (100 * round) + 100_000_000 / (window as u64) * place;
            let now = Time::from_nanos(ns);
            let sequence = Some(Sequence { connection: 0, number, sent: now });
            let mut packet = Passing { now, declared, sequence, ..Passing::of_user(0) };
            packet.flow = sender.flow;
            if dice.roll() < path.losses {
                // Lost declarations are repeated.
                met[0] += f64::from(u8::from(declared.mark));
                met[1] += 1.0 + f64::from(u8::from(declared.loss));
                sender.retransmissions.push_back(number);
                continue;
            }
            if dice.roll() < path.marks {
                packet = marked(packet);
            }
            let late = if dice.roll() < path.out_of_order { 8.0 * dice.roll() } else { 0.0 };
            arriving.push((place as f64 + late, packet));
        }
        arriving.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, mut packet) in arriving {
            sent += 1;
            packet.now += Span::from_millis(50);
            if auditor.pass(&mut packet, || dice.roll()) == Passage::On {
                met[0] += f64::from(u8::from(packet.is_marked()));
                continue;
            }
            dropped += 1;
            met[1] += 1.0;
            sender.retransmissions.push_back(packet.sequence.expect("has one").number);
        }
        unheard = [unheard[0] + met[0], unheard[1] + met[1]];
        if dice.roll() >= path.unheard {
            sender.observes(core::mem::take(&mut unheard));
        }
        window = (window * path.window.1).min(2_000.0);
    }
    dropped as f64 / sent as f64
}

/// Under 0.1 %: in slow start, with reordering, and with a fifth of the feedback delayed by a round trip.
#[test]
fn honest_senders_lose_almost_nothing() {
    for (path, rounds) in [
        (CALM, 2_000),
        (Path { losses: 0.0, marks: 0.3, ..CALM }, 2_000),
        (Path { out_of_order: 0.05, ..CALM }, 2_000),
        (Path { unheard: 0.2, ..CALM }, 2_000),
        (Path { losses: 0.05, marks: 0.0, unheard: 0.2, ..CALM }, 2_000),
        (Path { window: (10.0, 2.0), ..CALM }, 9),
        (Path { window: (10.0, 2.0), losses: 0.3, marks: 0.0, ..CALM }, 9),
        (Path { window: (200.0, 1.0), out_of_order: 0.1, ..CALM }, 500),
    ] {
        let lost = lost_to_auditor(Habit::Honest, path, rounds);
        assert!(lost < 1e-3, "{path:?}: {lost}");
    }
}

/// A cheat loses more packets than it saves declarations, usually all.
#[test]
fn a_sender_that_understates_loses_more_than_it_spares() {
    for (habit, at_least) in [
        (Habit::Never, 0.3),
        (Habit::Part(0.1), 0.9),
        (Habit::Part(0.5), 0.8),
        (Habit::Part(0.9), 0.5),
        (Habit::LossForMark, 0.8),
        (Habit::Late(20), 0.1),
        (Habit::Hoard, 0.8),
    ] {
        let lost = lost_to_auditor(habit, CALM, 2_000);
        assert!(lost >= at_least, "{habit:?}: {lost}");
    }
}

/// A new flow with a little credit gains at most that credit and the slack: packets with congestion beyond are dropped
/// at once. The policer charges for the credit.
#[test]
fn a_new_flow_gets_no_further_than_its_credit_and_the_slack() {
    let rough = Path { window: (200.0, 1.0), marks: 0.3, ..CALM };
    let lost = lost_to_auditor(Habit::Whitewash, rough, 300);
    assert!(lost > 0.5, "{lost}");
}

/// A million flows that declare once and end, besides honest ones: memory stays below 16 MiB, and honest flows lose
/// less than 1 %.
#[test]
fn a_flood_of_identities_takes_no_more_memory_and_evicts_no_one() {
    let mut auditor = ConexAuditor::new(params());
    let mut dice = Dice(3);
    let (mut sent, mut dropped) = (0, 0);
    for identity in 0..1_000_000u32 {
        let now = Time::from_nanos(1_000 * u64::from(identity)); // all within a second
        let flood = Passing { now, flow: 1_000 + identity, ..packet(0, 0, CREDIT) };
        auditor.pass(&mut { flood }, || 0.5);
        if identity % 100 != 0 {
            continue;
        }
        // 100 honest flows; each has a packet every 10 ms, gives credit, is marked and declares that.
        let turn = u64::from(identity / 100);
        let (flow, number) = ((turn % 100) as u32, turn / 100);
        let declared = match number {
            0..10 => CREDIT,
            _ if number % 20 == 0 => MARK,
            _ => CONEX,
        };
        let mut honest = Passing { now, flow, ..packet(0, number, declared) };
        if number % 20 == 10 {
            honest = marked(honest);
        }
        sent += 1;
        if auditor.pass(&mut honest, || dice.roll()) != Passage::On {
            dropped += 1;
        }
    }
    assert!(auditor.state_bytes() < 16 << 20, "{} B", auditor.state_bytes());
    assert!(100 * dropped < sent, "{dropped} of {sent}");
}
