//! AccECN counters at the receiver, and their feedback in ACKs. RFC 9768, sections 3.2.2.5.1 and 3.2.3.3.
//!
//! [`OptionPlan`] selects the ACKs that carry the option. Its number of fields, and the number of SACK blocks beside
//! it, are as in Linux (`tcp_options_fit_accecn`): all three counters if they fit, at least up to the last one changed
//! since it was last sent, for which no more than two SACK blocks are kept. The option begins with the counter that
//! changes, ECT(0) or ECT(1), so that two fields suffice for a sender that uses one of them; Linux always begins with
//! ECT(1).

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::OptionPlan;

use super::handshake::{Answer, Cause, Mode, Server};
use super::{Ace, Codepoint};
use crate::packet::{MAX_SACK_BLOCKS, Packet, ReceivedBytes};
use crate::tcp::{Sizes, TIMESTAMP_BYTES};

/// Initial value of the packet counter, so that a field cleared on the path is detected.
pub(super) const FIRST_PACKETS: u32 = 5;
/// Initial values of the byte counters for ECT(0), CE and ECT(1).
pub(super) const FIRST_BYTES: [u32; 3] = [1, 0, 1];
/// Modulus of the byte counters.
pub(super) const BYTES_MODULUS: u32 = 1 << 24;
/// Growth of a byte counter after which it is reported at the latest.
const REPEAT_BYTES: u32 = 1 << 22;
/// Minimum number of ACKs with the option per round trip, if it is sparse (Linux).
const BEACONS_PER_ROUND_TRIP: u64 = 3;
/// Number of fields of the option.
const FIELDS: u8 = 3;
/// Maximum length of TCP options, bytes.
const OPTION_SPACE: u16 = 40;

/// Other options of a packet, which limit the room for AccECN.
#[derive(Clone, Copy, Debug)]
pub struct OptionRoom {
    /// Whether it has timestamps.
    pub timestamps: bool,
    /// Number of SACK blocks to send.
    pub blocks: usize,
}

/// The option as it fits in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// Contents.
    pub bytes: ReceivedBytes,
    /// Length added to the packet, less padding of the SACK option that it replaces, bytes.
    pub size: u16,
    /// Number of SACK blocks sent with it.
    pub blocks: usize,
}

/// Returns the number of fields that fit, their length, and the number of SACK blocks; `None` if fewer than `least`
/// fields fit.
fn fit(least: u8, room: OptionRoom) -> Option<(u8, u16, usize)> {
    let timestamps = if room.timestamps { TIMESTAMP_BYTES } else { 0 };
    let fewest = if least == 0 { room.blocks } else { room.blocks.min(2) };
    (fewest..=room.blocks).rev().find_map(|blocks| {
        let left = OPTION_SPACE - timestamps - Sizes::sack_option(blocks);
        let fields = (least..=FIELDS).rev().map(|fields| (fields, padded(fields, blocks > 0)));
        let (fields, size) = fields.into_iter().find(|(_, size)| *size <= left)?;
        Some((fields, size, blocks))
    })
}

/// Returns the padded length; up to two bytes may replace padding of the SACK option.
fn padded(fields: u8, beside_blocks: bool) -> u16 {
    let size = 2 + 3 * u16::from(fields);
    let spills = size % 4;
    if beside_blocks && spills <= 2 { size - spills } else { size.next_multiple_of(4) }
}

/// AccECN counters of a receiver.
#[derive(Clone, Debug)]
pub struct MarkCounters {
    server: Server,
    when: OptionPlan,
    /// Packets that arrived marked, modulo the counter's range.
    marked: u32,
    /// Bytes that arrived with ECT(0), CE and ECT(1).
    bytes: [u32; 3],
    /// ECN field of the last packet.
    last: Codepoint,
    /// Number of further ACKs that have to carry the option.
    owed: u8,
    /// Byte counters that have changed since the option was last sent.
    changed: [bool; 3],
    /// Whether ECT(1) comes first regardless of the arrivals.
    ect_1_first: bool,
    /// Whether the last ACK carried the option.
    sent: bool,
    sent_at: Time,
    /// Whether the option is disabled if packets with it appear to be lost. Simulated networks pass all options.
    wary: bool,
    blocked: bool,
    /// Segment that was duplicated last, and whether the next ACK reports it.
    twice: Option<u64>,
    reports_duplicates: bool,
}

impl MarkCounters {
    /// Returns counters before any arrival.
    pub fn new(when: OptionPlan) -> Self {
        MarkCounters {
            server: Server::default(),
            when,
            marked: 0,
            bytes: [0; 3],
            last: Codepoint::NotEct,
            owed: 1,
            changed: [false; 3],
            ect_1_first: false,
            sent: false,
            sent_at: Time::ZERO,
            wary: false,
            blocked: false,
            twice: None,
            reports_duplicates: false,
        }
    }

    /// Handles a SYN. Returns the mode and the SYN/ACK.
    pub fn on_request(&mut self, request: &Packet) -> (Mode, Answer) {
        let arrived = Codepoint::of(request);
        self.server.on_request(Ace::of(request), arrived);
        self.last = arrived;
        (self.server.mode(), self.server.answer(Cause::Request))
    }

    /// Returns the server side of the handshake.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the option of a SYN/ACK, with initial counters.
    pub fn first_bytes(&self) -> Option<ReceivedBytes> {
        (self.when != OptionPlan::Off).then_some(ReceivedBytes {
            ect_1_first: true,
            fields: FIELDS,
            counters: FIRST_BYTES,
        })
    }

    /// Counts a packet with `payload` bytes. Returns whether it has to be acknowledged at once, because its ECN field
    /// differs from the previous packet's.
    pub fn note(&mut self, arrived: Codepoint, payload: u32) -> bool {
        let counter = match arrived {
            Codepoint::NotEct => None,
            Codepoint::Ect0 => Some(0),
            Codepoint::Ce => Some(1),
            Codepoint::Ect1 => Some(2),
        };
        if arrived == Codepoint::Ce {
            self.marked += 1;
        }
        if let Some(place) = counter.filter(|_| payload > 0) {
            let before = self.bytes[place];
            self.bytes[place] = before.wrapping_add(payload);
            self.changed[place] = true;
            if before / REPEAT_BYTES != self.bytes[place] / REPEAT_BYTES {
                self.owed = self.owed.max(1);
            }
        }
        let changed = core::mem::replace(&mut self.last, arrived) != arrived;
        if changed || arrived == Codepoint::Ce {
            self.owed = 2;
        }
        changed
    }

    /// Handles a duplicate segment. If it is the second duplicate and the ACK of the first carried the option, the path
    /// may drop packets with the option.
    pub fn note_twice(&mut self, segment: u64) {
        self.blocked |= self.wary && self.sent && self.twice == Some(segment);
        self.twice = Some(segment);
        self.reports_duplicates = true;
    }

    /// Returns the duplicate segment that the next ACK reports (RFC 2883).
    pub fn twice(&self) -> Option<u64> {
        self.twice.filter(|_| self.reports_duplicates)
    }

    /// Returns the counter of marked packets for an ACK.
    #[inline]
    pub fn ace(&self) -> Ace {
        Ace::new(self.marked.wrapping_add(FIRST_PACKETS))
    }

    /// Follows Linux: detects paths that drop packets with the option, and sends ECT(1) first.
    pub fn do_as_linux(&mut self) {
        (self.wary, self.ect_1_first) = (true, true);
    }

    /// Sets which ACKs carry the option from now on.
    pub fn set_option(&mut self, when: OptionPlan) {
        self.when = when;
    }

    /// Prepares an ACK without SACK blocks. Returns the packet counter if the ACK carries no option.
    #[inline]
    pub fn echo_packets_alone(&mut self, round_trip: Span, now: Time) -> Option<Ace> {
        if self.reports_duplicates || (!self.blocked && self.is_due(round_trip, now)) {
            return None;
        }
        self.sent = false;
        Some(self.ace())
    }

    /// Prepares an ACK. Returns its option, if it carries one; sparse options appear in at least three ACKs per
    /// `round_trip`.
    pub fn on_ack(&mut self, room: OptionRoom, round_trip: Span, now: Time) -> Option<Fitted> {
        self.reports_duplicates = false;
        self.sent = false;
        if self.blocked || !self.is_due(round_trip, now) {
            return None;
        }
        let ect_1_first = self.ect_1_first || self.bytes[0] == 0;
        let fitted = fit(self.fields_needed(ect_1_first), room);
        self.sent = fitted.is_some();
        let (fields, size, blocks) = fitted?;
        self.owed = self.owed.saturating_sub(1);
        (self.changed, self.sent_at) = ([false; 3], now);
        let counters = [0, 1, 2]
            .map(|place| self.bytes[place].wrapping_add(FIRST_BYTES[place]) % BYTES_MODULUS);
        Some(Fitted { bytes: ReceivedBytes { ect_1_first, fields, counters }, size, blocks })
    }

    /// Returns the number of fields up to the last changed counter.
    fn fields_needed(&self, ect_1_first: bool) -> u8 {
        let [ect_0, ce, ect_1] = self.changed;
        let (first, last) = if ect_1_first { (ect_1, ect_0) } else { (ect_0, ect_1) };
        match (first, ce, last) {
            (_, _, true) => 3,
            (_, true, _) => 2,
            (true, ..) => 1,
            _ => 0,
        }
    }

    fn is_due(&self, round_trip: Span, now: Time) -> bool {
        let beacon =
            || now.since(self.sent_at).as_nanos() * BEACONS_PER_ROUND_TRIP >= round_trip.as_nanos();
        match self.when {
            OptionPlan::Off => false,
            OptionPlan::Changes => self.owed > 0 || beacon(),
            OptionPlan::Each => true,
        }
    }

    /// Returns the number of marked packets, and of bytes with CE.
    #[cfg(test)]
    pub fn marked(&self) -> (u64, u64) {
        (u64::from(self.marked), u64::from(self.bytes[1]))
    }
}

const _: () = assert!(MAX_SACK_BLOCKS == 3);

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn counters(fitted: Option<Fitted>) -> Option<[u32; 3]> {
        fitted.map(|fitted| fitted.bytes.counters)
    }

    const ROOM: OptionRoom = OptionRoom { timestamps: true, blocks: 0 };
    const ROUND_TRIP: Span = Span::from_millis(90);

    /// 12 bytes of timestamps, 20 of two SACK blocks: two counters fit in the rest, without replacing padding; of three
    /// blocks the last is omitted.
    #[test]
    fn as_many_counters_go_along_as_fit_beside_two_sack_blocks() {
        let fits = |least, timestamps, blocks| fit(least, OptionRoom { timestamps, blocks });
        assert_eq!(fits(0, true, 0), Some((3, 12, 0)));
        assert_eq!(fits(1, true, 1), Some((3, 12, 1)));
        assert_eq!(fits(1, true, 2), Some((2, 8, 2)));
        assert_eq!(fits(2, true, 3), Some((2, 8, 2)));
        assert_eq!(fits(3, true, 2), None, "two SACK blocks come first");
        assert_eq!(fits(0, true, 3), Some((0, 0, 3)), "an empty one, in the padding");
        assert_eq!(fits(3, false, 3), Some((3, 12, 3)));
    }

    #[test]
    fn a_packet_counts_where_its_ecn_field_says() {
        let mut received = MarkCounters::new(OptionPlan::Each);
        let fields = [Codepoint::Ect0, Codepoint::Ce, Codepoint::Ce, Codepoint::Ect1];
        let changed = fields.map(|arrived| received.note(arrived, 1_000));
        assert_eq!(changed, [true, true, false, true]);
        received.note(Codepoint::NotEct, 1_000);
        received.note(Codepoint::Ce, 0);
        assert_eq!(received.ace(), Ace::new(5 + 3), "packets without payload count");
        let reported = counters(received.on_ack(ROOM, ROUND_TRIP, ms(0)));
        assert_eq!(reported, Some([1_001, 2_000, 1_001]));
    }

    /// If only one of ECT(0) and ECT(1) is used, two fields suffice.
    #[test]
    fn the_option_begins_with_the_counter_that_moves() {
        let room = OptionRoom { timestamps: true, blocks: 3 };
        for (capable, ect_1_first) in [(Codepoint::Ect0, false), (Codepoint::Ect1, true)] {
            let mut received = MarkCounters::new(OptionPlan::Each);
            received.note(capable, 1_000);
            received.note(Codepoint::Ce, 1_000);
            let fitted = received.on_ack(room, ROUND_TRIP, ms(0)).expect("it fits");
            let ReceivedBytes { fields, ect_1_first: first, .. } = fitted.bytes;
            assert_eq!((fitted.blocks, fields, first), (2, 2, ect_1_first));
        }
    }

    #[test]
    fn counters_of_bytes_wrap() {
        let mut received = MarkCounters::new(OptionPlan::Each);
        (0..=256).for_each(|_| _ = received.note(Codepoint::Ce, 1 << 16));
        assert_eq!(counters(received.on_ack(ROOM, ROUND_TRIP, ms(0))), Some([1, 1 << 16, 1]));
    }

    /// Section 3.2.3.3: change-triggered and repeated; the beacon of Linux.
    #[test]
    fn a_sparing_receiver_reports_changes_twice_and_else_three_times_in_a_round_trip() {
        let mut received = MarkCounters::new(OptionPlan::Changes);
        let reported = |received: &mut MarkCounters, arrived, at| {
            received.note(arrived, 1_000);
            received.on_ack(ROOM, ROUND_TRIP, ms(at)).is_some()
        };
        let first = [0, 1, 2].map(|at| reported(&mut received, Codepoint::Ect0, at));
        assert_eq!(first, [true, true, false]);
        assert!(
            reported(&mut received, Codepoint::Ce, 3)
                && reported(&mut received, Codepoint::Ect0, 4)
        );
        assert!(
            reported(&mut received, Codepoint::Ect0, 5)
                && !reported(&mut received, Codepoint::Ect0, 6)
        );
        assert!([34, 35].map(|at| reported(&mut received, Codepoint::Ect0, at)) == [false, true]);
        received.note(Codepoint::Ect0, REPEAT_BYTES);
        assert!(reported(&mut received, Codepoint::Ect0, 36));
    }

    /// Section 3.2.3.2.2, as in Linux.
    #[test]
    fn the_option_is_given_up_where_its_acks_do_not_seem_to_arrive() {
        let mut received = MarkCounters::new(OptionPlan::Each);
        received.do_as_linux();
        let mut ack = |segment| {
            received.note_twice(segment);
            (received.twice(), received.on_ack(ROOM, ROUND_TRIP, ms(0)).is_some())
        };
        assert_eq!([ack(4), ack(5), ack(5)], [(Some(4), true), (Some(5), true), (Some(5), false)]);
        assert_eq!(received.twice(), None, "reported");
    }

    #[test]
    fn a_sender_that_is_not_to_send_the_option_does_not() {
        let mut received = MarkCounters::new(OptionPlan::Off);
        received.note(Codepoint::Ce, 1_000);
        assert_eq!(
            (received.first_bytes(), received.on_ack(ROOM, ROUND_TRIP, ms(0))),
            (None, None)
        );
    }
}
