//! Which packet leaves next, and a rate that changes.

use tidegate_mechanisms::bottleneck::DifferentiationParams;
use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::units::{Rate, Span};

use crate::chosen::Chosen;
use crate::declare::section;
use crate::field::Reader;
use crate::file::{Aqm, Differentiation};

/// A scheduler with its parameters.
pub(crate) type Scheduler = Chosen<SchedulerParams>;

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
    let undifferentiated = matches!(differentiation, Chosen(DifferentiationParams::None));
    if matches!(scheduler, Chosen(SchedulerParams::Fifo)) {
        if matches!(aqm, Aqm::Codel(_)) && !undifferentiated {
            let message = "CoDel signals at departure, by time and not by a probability that \
                           could differ from packet to packet; use another aqm, or kind = \"none\"";
            reader.wrong_at("differentiation", message);
        }
        return;
    }
    if !matches!(aqm, Aqm::DropTail(_)) {
        reader.wrong_at("aqm", "only with the scheduler \"fifo\"; others bring their own signal");
    }
    if !undifferentiated {
        let message = "only with the scheduler \"fifo\"; others share by themselves";
        reader.wrong_at("differentiation", message);
    }
}
