//! Probing before calls: a call is blocked if a probe comes back marked or is lost.

use std::collections::VecDeque;

use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::Probing;

use super::super::streams::label::DatagramKind;
use super::super::{Carrier, End};

/// Length of an answer on the wire: IPv4, UDP, and a number.
const ANSWER: Bytes = Bytes::new(36);

/// Outcome of an answer for the probing call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ProbeOutcome {
    /// Undecided, or decided before.
    Open,
    /// The call is blocked.
    Blocked,
    /// The call is admitted.
    Admitted {
        /// Time of the request.
        asked: Time,
    },
}

/// Probing calls, in the order of their requests.
pub struct Prober {
    /// Probes per call, n.
    per_call: u64,
    spacing: Span,
    size: Bytes,
    patience: Span,
    ecn: bool,
    asking: VecDeque<Asking>,
    /// Number of the first of these calls.
    first: u64,
    /// Probes to be sent: time and call.
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
    /// Returns a prober without calls.
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

    /// Starts the measured time.
    pub fn measure(&mut self) {
        self.sent = 0;
    }

    /// Returns the number of probes sent in the measured time.
    pub fn probes(&self) -> u64 {
        self.sent
    }

    /// Starts probing for a new call.
    pub fn ask(&mut self, carrier: &mut impl Carrier) {
        let asked = carrier.now();
        let deadline = asked + self.spacing * (self.per_call - 1) + self.patience;
        let call = self.first + self.asking.len() as u64;
        self.asking.push_back(Asking { asked, deadline, sent: 0, unmarked: 0, is_decided: false });
        carrier.wake_at(deadline);
        self.send(call, carrier);
    }

    /// Sends the next probe of an undecided call and schedules the following one.
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

    /// Returns the index of a call, if it is undecided.
    fn asking_as(&self, call: u64) -> Option<usize> {
        let place = call.checked_sub(self.first)? as usize;
        self.asking.get(place).is_some_and(|asking| !asking.is_decided).then_some(place)
    }

    /// Handles a wake-up. Returns the number of calls blocked because answers are missing.
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

    /// Handles the answer to a probe.
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

/// Sends the receiver's answer to a probe.
pub fn answer(number: u64, marked: bool, carrier: &mut impl Carrier) {
    let kind = if marked { DatagramKind::Marked } else { DatagramKind::Probe };
    carrier.send_datagram(End::Receiver, kind.label(number), ANSWER, false);
}
