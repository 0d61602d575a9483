//! Targets of timers, packed into 32 bits.

/// Target of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// A flow starts, or starts its next transfer.
    Start(u32),
    /// Retransmission timeout of a flow's sender.
    Retransmit(u32),
    /// Delayed acknowledgement of a flow's receiver, which is among [`AckTimers`](crate::ack_timers::AckTimers).
    DelayedAck(u32),
    /// Next packet of a constant-bit-rate source, or next write of an application over TCP.
    Application(u32),
    /// A flow stops.
    Stop(u32),
    /// A flow changes its path: an index into [`tidegate_scenario::plan::Plan::moves`].
    Move(u32),
    /// A flow changes its willingness to pay: an index into [`tidegate_scenario::plan::Plan::offers`].
    Offer(u32),
    /// Time series.
    Sample,
}

const KIND_SHIFT: u32 = 29;

impl Wake {
    /// Packs the target into 32 bits.
    pub fn pack(self) -> u32 {
        let (kind, id) = match self {
            Wake::Start(id) => (0, id),
            Wake::Retransmit(id) => (1, id),
            Wake::DelayedAck(id) => (2, id),
            Wake::Application(id) => (3, id),
            Wake::Stop(id) => (4, id),
            Wake::Move(id) => (5, id),
            Wake::Offer(id) => (6, id),
            Wake::Sample => (7, 0),
        };
        debug_assert!(id < 1 << KIND_SHIFT);
        kind << KIND_SHIFT | id
    }

    /// Unpacks a target.
    pub fn unpack(word: u32) -> Self {
        let id = word & ((1 << KIND_SHIFT) - 1);
        match word >> KIND_SHIFT {
            0 => Wake::Start(id),
            1 => Wake::Retransmit(id),
            2 => Wake::DelayedAck(id),
            3 => Wake::Application(id),
            4 => Wake::Stop(id),
            5 => Wake::Move(id),
            6 => Wake::Offer(id),
            _ => Wake::Sample,
        }
    }
}

/// A half of a connection, as timers name it: its place, and in the lowest bit its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerId(pub u32);

impl TimerId {
    /// Returns the identifier of a half of the connection at `place`: `backward` if data flows to the flow's sender.
    pub fn new(place: u32, backward: bool) -> Self {
        TimerId(place << 1 | u32::from(backward))
    }

    /// Returns the place of the connection.
    pub fn place(self) -> u32 {
        self.0 >> 1
    }

    /// Whether data flows to the flow's sender.
    #[inline]
    pub fn is_backward(self) -> bool {
        self.0 & 1 == 1
    }
}
