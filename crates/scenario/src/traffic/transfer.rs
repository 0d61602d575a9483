//! Transfers of a given size, a single one or a sequence.

use tidegate_mechanisms::parameters;
use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{Bytes, Span};

use super::{Distribution, TrafficParams};

parameters! {
    /// TCP transfers of a given size, each on a connection of its own.
    pub struct Transfer {
        /// Payload of one transfer.
        pub size: Bytes,
        /// Mean time from the end of a transfer to the start of the next. Without pause and every there is one transfer only.
        pub pause: Option<Span>,
        /// Distribution of the pause. Default: fixed.
        pub pause_distribution: Option<Distribution>,
        /// Instead of a pause: mean time from the start of a transfer to the start of the next.
        pub every: Option<Span>,
        /// Standard deviation of every, which is then normally distributed.
        pub every_deviation: Option<Span>,
        /// The transfers of all flows of the group are a block, as of servers that answer one request (incast): the next
        /// transfers begin together, after the pause or the time between starts, once all flows have finished theirs.
        pub barrier: bool = "false",
        /// Payload that the application writes at a time, first at the start. Without it, the whole transfer is
        /// written at once.
        pub write_size: Option<Bytes>,
        /// Time between two writes.
        pub write_interval: Option<Span>,
    }
    check sends_something;
}

fn sends_something(transfer: &Transfer) -> Vec<ParameterError> {
    let Transfer {
        size,
        pause,
        pause_distribution,
        every,
        every_deviation,
        write_size,
        write_interval,
        ..
    } = transfer;
    let checks = [
        (*size == Bytes::ZERO, "size", "a transfer has at least 1 B"),
        (
            pause.is_none() && pause_distribution.is_some(),
            "pause_distribution",
            "has no meaning without a pause",
        ),
        (pause.is_some() && every.is_some(), "every", "give pause or every, not both"),
        (
            every.is_none() && every_deviation.is_some(),
            "every_deviation",
            "has no meaning without every",
        ),
        (
            write_size.is_some() && write_interval.is_none(),
            "write_size",
            "has no meaning without write_interval",
        ),
        (
            write_size.is_none() && write_interval.is_some(),
            "write_interval",
            "has no meaning without write_size",
        ),
        (*write_size == Some(Bytes::ZERO), "write_size", "a write has at least 1 B"),
        (*write_interval == Some(Span::ZERO), "write_interval", "takes more than 0 s"),
    ];
    let failed = checks.into_iter().filter(|(fails, ..)| *fails);
    failed.map(|(_, key, message)| (key, message.to_owned())).collect()
}

impl TrafficParams for Transfer {
    fn ends(&self) -> bool {
        self.pause.is_none()
    }
}

/// Writes of an application that produces its data in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WritesPlan {
    /// Bytes per write, at least one.
    pub size: Bytes,
    /// Time between two writes, above zero.
    pub interval: Span,
}

/// Pause between two transfers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PausePlan {
    /// Constant.
    Fixed(Span),
    /// Exponentially distributed with this mean.
    Exponential(Span),
    /// Time from one start to the next instead of a pause, normally distributed; an unfinished transfer delays the next
    /// one.
    Every {
        /// Mean.
        mean: Span,
        /// Standard deviation.
        deviation: Span,
    },
}

impl Transfer {
    /// Returns the writes of the application; `None` if it writes all data at once.
    pub fn writes(&self) -> Option<WritesPlan> {
        Some(WritesPlan { size: self.write_size?, interval: self.write_interval? })
    }

    /// Returns the pause after a transfer; `None` for a single transfer.
    pub fn pauses(&self) -> Option<PausePlan> {
        if let Some(mean) = self.every {
            let deviation = self.every_deviation.unwrap_or(Span::ZERO);
            return Some(PausePlan::Every { mean, deviation });
        }
        let plan = match self.pause_distribution {
            Some(Distribution::Exponential) => PausePlan::Exponential,
            Some(Distribution::Fixed) | None => PausePlan::Fixed,
        };
        self.pause.map(plan)
    }
}
