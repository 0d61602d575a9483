//! Which packet leaves next, and a rate that changes.

use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::bottleneck::{AqmParams, DifferentiationParams};
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

/// Some AQMs have no probability that could differ from packet to packet, AICP-a moves thresholds, and
/// a scheduler that is not first come, first served leaves nothing to decide on arrivals.
pub(crate) fn has_one_mechanism(
    scheduler: &Scheduler,
    aqm: &Aqm,
    differentiation: &Differentiation,
    reader: &mut Reader,
) {
    let undifferentiated = matches!(differentiation, Chosen(DifferentiationParams::None));
    if matches!(scheduler, Chosen(SchedulerParams::Fifo)) {
        match (aqm.0.undifferentiated(), &differentiation.0) {
            (_, DifferentiationParams::None) => {}
            (Some(why), _) => {
                let message = format!("{why}; give differentiation.kind = \"none\"");
                reader.wrong_at("differentiation", message);
            }
            (None, DifferentiationParams::AicpA(_)) if !aqm.0.has_thresholds() => {
                let message = "aicp-a moves the thresholds of RED; give aqm.kind = \"red\" or \
                               \"adaptive-red\"";
                reader.wrong_at("differentiation", message);
            }
            (None, _) => {}
        }
        return;
    }
    if !matches!(aqm, Chosen(AqmParams::DropTail)) {
        reader.wrong_at("aqm", "only with the scheduler \"fifo\"; others bring their own signal");
    }
    if !undifferentiated {
        let message = "only with the scheduler \"fifo\"; others share by themselves";
        reader.wrong_at("differentiation", message);
    }
}
