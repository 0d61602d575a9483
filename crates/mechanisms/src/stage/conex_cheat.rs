//! ConEx cheat: a user who lies about the congestion that his packets have met, for studies of what that gains him.
//! The ways to lie are those that RFC 7713 (ConEx: abstract mechanism), sections 5.4 and 5.5, asks policers and
//! auditors to withstand.
//!
//! It rewrites what his senders declare before anybody sees it, so that it stands first where his packets enter the
//! network, before the policer:
//!
//! ```text
//! never           nothing is declared, but that he takes part
//! outside         he does not take part at all
//! part            each mark and each loss with probability s, credit as it is
//! late            marks and losses a time later, each on a packet that leaves then, credit as it is
//! loss-for-mark   marks as losses
//! credit          credit with every packet, and neither marks nor losses
//! ```
//!
//! What he does otherwise is what honest senders do: they answer to congestion.

use std::collections::VecDeque;

use super::{Declared, Passage, Passing, Stage};
use crate::registry::About;
use crate::units::{Share, Span, Time};
use crate::{parameters, words};

parameters! {
    /// Rewrites what a user's senders declare into less, or into something else.
    pub struct ConexCheatParams {
        /// How he lies.
        pub habit: Habit,
        /// s: share of marks and losses that is declared, with habit = "part".
        pub share: Share = "0.5",
        /// How much later they are, with habit = "late".
        pub delay: Span = "3 s",
    }
}

words! {
    /// How somebody lies about the congestion that he has met.
    pub enum Habit {
        /// Declares nothing.
        Never = "never",
        /// Takes no part.
        Outside = "outside",
        /// Declares a share.
        Part = "part",
        /// Declares late.
        Late = "late",
        /// Declares marks as losses.
        LossForMark = "loss-for-mark",
        /// Gives credit, and declares nothing else.
        Credit = "credit",
    }
}

/// State of one cheat.
#[derive(Clone, Debug)]
pub struct ConexCheat {
    habit: Habit,
    share: f64,
    delay: Span,
    /// Marks and losses to be declared from some time on, in order.
    marks: VecDeque<Time>,
    losses: VecDeque<Time>,
}

impl Stage for ConexCheat {
    type Params = ConexCheatParams;

    const ABOUT: About = About {
        name: "conex-cheat",
        title: "ConEx cheat",
        source: "RFC 7713, sections 5.4 and 5.5",
        usage: r#"users.NAME.entry = [{ kind = "conex-cheat", habit = "part", share = 0.5 }, { kind = "conex-policer", fill_rate = "45 packets/s", depth = "45 packets" }]"#,
        file: "stage/conex_cheat.rs",
        text: include_str!("conex_cheat.rs"),
    };

    const ORDER_ONLY: bool = true;

    const WRITES_HEADER: bool = true;

    fn new(ConexCheatParams { habit, share, delay }: ConexCheatParams) -> Self {
        let (marks, losses) = (VecDeque::new(), VecDeque::new());
        ConexCheat { habit, share: share.0, delay, marks, losses }
    }

    fn pass(&mut self, packet: &mut Passing, mut draw: impl FnMut() -> f64) -> Passage {
        let told = packet.declared;
        if !told.conex {
            return Passage::On;
        }
        let Declared { loss, mark, credit, .. } = told;
        let silent = Declared { loss: false, mark: false, credit: false, ..told };
        packet.declared = match self.habit {
            Habit::Never => silent,
            Habit::Outside => Declared { conex: false, ..silent },
            Habit::Part => {
                let share = self.share;
                let mut kept = |declared: bool| declared && draw() < share;
                Declared { loss: kept(loss), mark: kept(mark), credit, ..silent }
            }
            Habit::Late => {
                let (now, then) = (packet.now, packet.now + self.delay);
                let loss = delayed(&mut self.losses, loss, now, then);
                let mark = delayed(&mut self.marks, mark, now, then);
                Declared { loss, mark, credit, ..silent }
            }
            Habit::LossForMark => Declared { loss: loss || mark, credit, ..silent },
            Habit::Credit => Declared { credit: true, ..silent },
        };
        Passage::On
    }
}

/// Whether one of what waits may be declared by now; what is declared now waits until then.
fn delayed(waiting: &mut VecDeque<Time>, declared: bool, now: Time, then: Time) -> bool {
    waiting.extend(declared.then_some(then));
    let is_due = waiting.front().is_some_and(|due| *due <= now);
    if is_due {
        waiting.pop_front();
    }
    is_due
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of these declarations, one packet every 10 ms.
    fn told(habit: Habit, honest: &[Declared]) -> Vec<Declared> {
        let params = ConexCheatParams { habit, share: Share(0.5), delay: Span::from_millis(15) };
        let (mut cheat, mut draws) = (ConexCheat::new(params), [0.9, 0.1].into_iter().cycle());
        let tell = |(number, declared): (u64, &Declared)| {
            let now = Time::ZERO + Span::from_millis(10 * number);
            let mut packet = Passing { now, declared: *declared, ..Passing::of_user(0) };
            assert_eq!(cheat.pass(&mut packet, || draws.next().expect("goes on")), Passage::On);
            packet.declared
        };
        (0..).zip(honest).map(tell).collect()
    }

    const CONEX: Declared =
        Declared { conex: true, loss: false, mark: false, credit: false, re_echo: false };
    const MARK: Declared = Declared { mark: true, ..CONEX };
    const LOSS: Declared = Declared { loss: true, ..CONEX };
    const CREDIT: Declared = Declared { credit: true, ..CONEX };

    #[test]
    fn each_habit_tells_what_it_says() {
        let outside = Declared { conex: false, ..CONEX };
        let honest = [MARK, LOSS, CREDIT, MARK, CONEX, CONEX];
        for (habit, want) in [
            (Habit::Never, [CONEX; 6]),
            (Habit::Outside, [outside; 6]),
            (Habit::Part, [CONEX, LOSS, CREDIT, CONEX, CONEX, CONEX]),
            (Habit::Late, [CONEX, CONEX, Declared { mark: true, ..CREDIT }, LOSS, CONEX, MARK]),
            (Habit::LossForMark, [LOSS, LOSS, CREDIT, LOSS, CONEX, CONEX]),
            (Habit::Credit, [CREDIT; 6]),
        ] {
            assert_eq!(told(habit, &honest), want, "{habit:?}");
        }
        assert_eq!(told(Habit::Credit, &[outside]), [outside], "what is outside stays outside");
    }
}
