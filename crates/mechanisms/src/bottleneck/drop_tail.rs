//! Drop-tail: a packet is lost when the buffer is full, and only then.
//!
//! ```text
//! p = 0
//! ```
//!
//! The absence of an AQM. The loss itself is the queue's, which knows its buffer. Without probabilities between 0 and
//! 1, a differentiation has no effect.

use super::{Aqm, Differentiation, Judge};

impl Judge {
    /// Loss only when the buffer is full.
    pub const DROP_TAIL: Judge =
        Judge { aqm: Aqm::DropTail, differentiation: Differentiation::None };
}

#[cfg(test)]
mod tests {
    use super::super::Signal;
    use super::super::tests::arrival;
    use super::*;

    #[test]
    fn drop_tail_never_signals_and_never_draws() {
        let mut judge = Judge::DROP_TAIL;
        let verdict = judge.signal(&arrival(1_000_000, 9.0), || panic!("drew a random number"));
        assert_eq!(verdict, Signal::None);
    }
}
