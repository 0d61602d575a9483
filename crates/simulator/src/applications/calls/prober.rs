//! Probes that go ahead of calls: a call is blocked if one comes back marked, or not at all.

use std::collections::VecDeque;

use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::Probing;

use super::super::streams::label::DatagramKind;
use super::super::{Carrier, End};

/// An answer on the wire: IPv4, UDP, and a number.
const ANSWER: Bytes = Bytes::new(36);

/// What an answer means for the call that asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ProbeOutcome {
    /// Nothing yet, or no more.
    Open,
    /// It is blocked.
    Blocked,
    /// It begins, after having asked at that time.
    Admitted {
        /// When.
        asked: Time,
    },
}

/// Calls that probe, in the order in which they asked.
pub struct Prober {
    /// n.
    per_call: u64,
    spacing: Span,
    size: Bytes,
    patience: Span,
    ecn: bool,
    asking: VecDeque<Asking>,
    /// The number of the first of them.
    first: u64,
    /// Probes to come: when, and of which call.
    to_come: VecDeque<(Time, u64)>,
    sent: u64,
}

struct Asking {
    asked: Time,
    deadline: Time,
    sent: u64,
    unmarked: u64,
    is_decided: bool,
}

impl Prober {
    /// Before any call.
    pub fn new(plan: &Probing, ecn: bool) -> Self {
        Prober {
            per_call: plan.probes.0.into(),
            spacing: plan.spacing,
            size: Bytes::new(plan.probe_size.0.into()),
            patience: plan.patience,
            ecn,
            asking: VecDeque::new(),
            first: 0,
            to_come: VecDeque::new(),
            sent: 0,
        }
    }

    /// The measured time begins.
    pub fn measure(&mut self) {
        self.sent = 0;
    }

    /// Probes sent in the measured time.
    pub fn probes(&self) -> u64 {
        self.sent
    }

    /// A call asks.
    pub fn ask(&mut self, carrier: &mut impl Carrier) {
        let asked = carrier.now();
        let deadline = asked + self.spacing * (self.per_call - 1) + self.patience;
        let call = self.first + self.asking.len() as u64;
        self.asking.push_back(Asking { asked, deadline, sent: 0, unmarked: 0, is_decided: false });
        carrier.wake_at(deadline);
        self.send(call, carrier);
    }

    /// Sends the next probe of a call that is not decided, and plans the one after.
    fn send(&mut self, call: u64, carrier: &mut impl Carrier) {
        let Some(asking) = self.asking_as(call) else { return };
        let number = call * self.per_call + self.asking[asking].sent;
        self.asking[asking].sent += 1;
        self.sent += 1;
        carrier.send_datagram(End::Sender, DatagramKind::Probe.label(number), self.size, self.ecn);
        if self.asking[asking].sent < self.per_call {
            let next = carrier.now() + self.spacing;
            self.to_come.push_back((next, call));
            carrier.wake_at(next);
        }
    }

    /// The place of a call, if it is not decided.
    fn asking_as(&self, call: u64) -> Option<usize> {
        let place = call.checked_sub(self.first)? as usize;
        self.asking.get(place).is_some_and(|asking| !asking.is_decided).then_some(place)
    }

    /// The application has been woken. Returns how many calls are blocked since answers did not come.
    pub fn wake(&mut self, carrier: &mut impl Carrier) -> u64 {
        let now = carrier.now();
        while let Some((_, call)) = self.to_come.pop_front_if(|(at, _)| *at <= now) {
            self.send(call, carrier);
        }
        let mut blocked = 0;
        while let Some(asking) =
            self.asking.pop_front_if(|own| own.is_decided || own.deadline <= now)
        {
            self.first += 1;
            if !asking.is_decided {
                blocked += 1;
            }
        }
        blocked
    }

    /// The answer to a probe has come.
    pub fn on_answer(&mut self, number: u64, marked: bool) -> ProbeOutcome {
        let Some(place) = self.asking_as(number / self.per_call) else { return ProbeOutcome::Open };
        let asking = &mut self.asking[place];
        if !marked {
            asking.unmarked += 1;
            if asking.unmarked < self.per_call {
                return ProbeOutcome::Open;
            }
        }
        asking.is_decided = true;
        if marked { ProbeOutcome::Blocked } else { ProbeOutcome::Admitted { asked: asking.asked } }
    }
}

/// The receiver answers a probe.
pub fn answer(number: u64, marked: bool, carrier: &mut impl Carrier) {
    let kind = if marked { DatagramKind::Marked } else { DatagramKind::Probe };
    carrier.send_datagram(End::Receiver, kind.label(number), ANSWER, false);
}
