//! Gateway that sees only packets: it recognizes a new call by the silence before it.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::Gateway;

use crate::random::Stream;

/// Last send times of the sources of a site, as its gateway knows them.
pub struct Watch {
    silence: Span,
    /// Last send time by source; `None` if it never sent or the gateway has forgotten it.
    last_sent: Vec<Option<Time>>,
    passed: u64,
}

impl Watch {
    /// Returns a gateway that has seen no packets.
    pub fn new(plan: &Gateway) -> Self {
        let sources = plan.sources.0 as usize;
        Watch { silence: plan.silence, last_sent: vec![None; sources], passed: 0 }
    }

    /// Draws the source of the next call.
    pub fn source(&self, random: &mut Stream) -> u32 {
        random.up_to(self.last_sent.len() as u64 - 1) as u32
    }

    /// Whether a call of `source` beginning now is taken for a continuation of its earlier packets.
    pub fn passes(&mut self, source: u32, now: Time) -> bool {
        let last = self.last_sent[source as usize];
        let passes = last.is_some_and(|last| now < last + self.silence);
        if passes {
            self.passed += 1;
        }
        passes
    }

    /// Records a packet of a source.
    pub fn on_packet(&mut self, source: u32, now: Time) {
        self.last_sent[source as usize] = Some(now);
    }

    /// Starts the measured time.
    pub fn measure(&mut self) {
        self.passed = 0;
    }

    /// Returns the number of calls in the measured time that passed without admission control.
    pub fn passed(&self) -> u64 {
        self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_mechanisms::units::Whole;

    #[test]
    fn a_silence_separates_a_new_call_from_an_old_one() {
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let plan = Gateway { sources: Whole(2), silence: Span::from_millis(1_000) };
        let mut watch = Watch::new(&plan);
        assert!(!watch.passes(0, at(0)), "who never sent starts a call");
        watch.on_packet(0, at(500));
        assert!(watch.passes(0, at(1_499)));
        assert!(!watch.passes(1, at(1_499)), "another source");
        assert!(!watch.passes(0, at(1_500)));
        assert_eq!(watch.passed(), 1);
    }
}
