//! Which packet leaves next, and a rate that changes.

use tidegate_mechanisms::units::{Bytes, Rate, Span};

use crate::declare::{kinds, section};
use crate::field::Reader;
use crate::file::{Aqm, Differentiation};

kinds! {
    /// Which packet leaves next.
    pub enum Scheduler {
        Fifo = "fifo",
        Drr = "drr",
    }
}

section! {
    /// First come, first served.
    pub struct Fifo {}
}

section! {
    /// Deficit round robin over customers, who share the buffer: the longest queue makes room.
    pub struct Drr {
        /// What a customer may send when it is his turn.
        default quantum: Bytes = Bytes::new(1_500);
    }
    check quantum_is_something;
}

fn quantum_is_something(drr: &Drr, reader: &mut Reader) {
    if drr.quantum == Bytes::ZERO {
        reader.wrong_at("quantum", "0 B would never let a packet go");
    }
}

section! {
    /// A link's rate from some time on.
    pub struct RateChange {
        /// When, after the start of the run, warm-up included.
        required at: Span;
        /// Bits on the wire per second.
        required rate: Rate;
    }
}

/// A scheduler that is not first come, first served leaves nothing to decide on arrivals.
pub(crate) fn has_one_mechanism(
    scheduler: &Scheduler,
    aqm: &Aqm,
    differentiation: &Differentiation,
    reader: &mut Reader,
) {
    if matches!(scheduler, Scheduler::Fifo(_)) {
        return;
    }
    if !matches!(aqm, Aqm::DropTail(_)) {
        reader.wrong_at("aqm", "only with the scheduler \"fifo\"; others bring their own signal");
    }
    if !matches!(differentiation, Differentiation::NoDifferentiation(_)) {
        let message = "only with the scheduler \"fifo\"; others share by themselves";
        reader.wrong_at("differentiation", message);
    }
}
