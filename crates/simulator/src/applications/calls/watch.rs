//! A gateway that sees packets and nothing else: it tells a new call by the silence before it.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::Gateway;

use crate::random::Stream;

/// When each source of a site has sent last, as its gateway knows it.
pub struct Watch {
    silence: Span,
    /// By source; `None`: never, or so long ago that it was forgotten.
    last_sent: Vec<Option<Time>>,
    passed: u64,
}

impl Watch {
    /// Before any packet.
    pub fn new(plan: &Gateway) -> Self {
        let sources = plan.sources.0 as usize;
        Watch { silence: plan.silence, last_sent: vec![None; sources], passed: 0 }
    }

    /// The source of the next call.
    pub fn source(&self, random: &mut Stream) -> u32 {
        random.up_to(self.last_sent.len() as u64 - 1) as u32
    }

    /// Whether what a source begins now passes as part of what it sent before.
    pub fn passes(&mut self, source: u32, now: Time) -> bool {
        let last = self.last_sent[source as usize];
        let passes = last.is_some_and(|last| now < last + self.silence);
        if passes {
            self.passed += 1;
        }
        passes
    }

    /// A source sends a packet.
    pub fn on_packet(&mut self, source: u32, now: Time) {
        self.last_sent[source as usize] = Some(now);
    }

    /// The measured time begins.
    pub fn measure(&mut self) {
        self.passed = 0;
    }

    /// Calls of the measured time that passed unasked.
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
