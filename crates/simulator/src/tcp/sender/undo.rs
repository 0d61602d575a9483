//! Undoing of spurious reductions, by timestamps (Eifel, RFC 3522 and 4015), as in Linux (`tcp_may_undo`,
//! `tcp_packet_delayed`).
//!
//! ```text
//! the echo of an ACK that acknowledges new data is older than the first retransmission
//!     → what was sent first had arrived: cwnd ← max(cwnd, cwnd before), ssthresh likewise
//! ```
//!
//! Linux also undoes reductions that D-SACK shows to be spurious. Receivers here send D-SACK only with AccECN, and
//! senders do not read it.

use tidegate_mechanisms::sender::Window;
use tidegate_mechanisms::units::Time;

/// State before a reduction.
#[derive(Clone, Copy, Debug)]
pub struct Undo {
    /// Window and threshold to restore; `None` if the reduction has another reason, such as a mark.
    before: Option<Window>,
    /// Time of the first retransmission since, if timestamps can show whether it was spurious.
    first_retransmit: Option<Time>,
}

impl Undo {
    /// Saves the state at a reduction that may be spurious; a reduction for a mark is not.
    pub fn new(window: Window, marked: bool) -> Self {
        let Window { cwnd, ssthresh } = window;
        let before = (!marked).then(|| Window { cwnd, ssthresh: ssthresh.max(0.75 * cwnd) });
        Undo { before, first_retransmit: None }
    }

    /// Forbids undoing the reduction.
    pub fn forbid(&mut self) {
        self.before = None;
    }

    /// Records a retransmission.
    pub fn on_retransmit(&mut self, now: Time) {
        self.first_retransmit.get_or_insert(now);
    }

    /// Whether an ACK with this timestamp echo shows that nothing was lost.
    pub fn is_spurious(&self, echo: Time) -> bool {
        self.first_retransmit.is_some_and(|first| echo < first)
    }

    /// Returns the window to restore.
    pub fn before(&self) -> Option<Window> {
        self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_from_before_the_first_retransmission_shows_that_it_was_spurious() {
        let at = Time::from_nanos;
        let mut undo = Undo::new(Window { cwnd: 20.0, ssthresh: 8.0 }, false);
        assert!(!undo.is_spurious(at(5)), "nothing was sent again");
        undo.on_retransmit(Time::from_nanos(10));
        undo.on_retransmit(Time::from_nanos(20));
        assert_eq!([at(9), at(10)].map(|echo| undo.is_spurious(echo)), [true, false]);
        assert_eq!(undo.before(), Some(Window { cwnd: 20.0, ssthresh: 15.0 }));
        undo.forbid();
        assert_eq!(undo.before(), None);
    }
}
