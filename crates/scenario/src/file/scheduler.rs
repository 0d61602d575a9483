//! Which packet leaves next, and a rate that changes.

use tidegate_mechanisms::units::{Bytes, Rate, Span};

use crate::declare::{kinds, section};
use crate::field::Reader;
use crate::file::{Aqm, Differentiation};
use crate::value::Share;

kinds! {
    /// Which packet leaves next.
    pub enum Scheduler {
        Fifo = "fifo",
        Drr = "drr",
        Rfc6057 = "rfc6057",
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
    /// RFC 6057's policy: who has used much of a busy link is served after the others.
    pub struct Rfc6057 {
        /// Rate that each customer is provisioned with.
        required provisioned_rate: Rate;
        /// Share of the link's rate beyond which the link is near congestion.
        default port_threshold: Share = Share(0.8);
        /// Share of his provisioned rate beyond which a customer is served last while it is.
        default user_threshold: Share = Share(0.7);
        /// Share of his provisioned rate below which he is served first again.
        default release_threshold: Share = Share(0.5);
        /// What has been sent is looked at, and decided upon, once in this time.
        default period: Span = Span::from_secs(900);
    }
    check thresholds_and_period;
}

fn thresholds_and_period(policy: &Rfc6057, reader: &mut Reader) {
    if policy.period == Span::ZERO {
        reader.wrong_at("period", "0 s is no time to look back on");
    }
    let (user, release) = (policy.user_threshold.0, policy.release_threshold.0);
    if release > user {
        let message = format!("{release} is above user_threshold, {user}");
        reader.wrong_at("release_threshold", message);
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
    let undifferentiated = matches!(differentiation, Differentiation::NoDifferentiation(_));
    if matches!(scheduler, Scheduler::Fifo(_)) {
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
