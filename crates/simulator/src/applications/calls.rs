//! Calls that begin at random, if they are admitted, and hold for a time: films that come and go.
//!
//! What is kept is of calls in progress and of those that probe. Streams of calls have no names: their packets are
//! numbered over the flow, and reports tell of all of them, as a gateway of their site sees it.

mod prober;
mod progress;

use std::collections::VecDeque;

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::{
    self, Admission, Distribution, FlowPlan, NonProbing, Traffic, Unknown,
};

use self::prober::{Outcome, Prober};
use self::progress::Progress;
use super::streams::feedback::Feedback;
use super::streams::film::{Cut, Film};
use super::streams::label::Kind;
use super::{Application, Datagram, End, System};

/// Calls that come and go.
pub struct Calls {
    plan: plan::Calls,
    cut: Cut,
    next_call: Time,
    /// Calls in progress by their next frames: all have the same time from one to the next.
    in_progress: VecDeque<Call>,
    packets: u64,
    feedback: Option<Feedback>,
    prober: Option<Prober>,
    progress: Progress,
}

struct Call {
    next_frame: Time,
    until: Time,
    film: Film,
}

impl Application for Calls {
    const NAME: &'static str = "calls";

    fn of(flow: &FlowPlan) -> Option<Self> {
        let Traffic::Calls(plan) = &*flow.traffic else { return None };
        let (feedback, probing) = match &plan.admission {
            Admission::None | Admission::Counter(_) => (None, None),
            Admission::Probing(probing) => (None, Some(probing)),
            Admission::NonProbing(own) => {
                let feedback = Feedback::new(own.report_interval, own.price_weight);
                let probing = match &own.when_unknown {
                    Unknown::Admit => None,
                    Unknown::Probe(probing) => Some(probing),
                };
                (Some(feedback), probing)
            }
        };
        Some(Calls {
            cut: Cut::new(plan.rate, plan.frame_interval, flow.packet_size),
            next_call: Time::ZERO,
            in_progress: VecDeque::new(),
            packets: 0,
            feedback,
            prober: probing.map(|probing| Prober::new(probing, plan.ecn)),
            progress: Progress::default(),
            plan: plan.clone(),
        })
    }

    fn listens(&self) -> bool {
        self.feedback.is_some() || self.prober.is_some()
    }

    fn start(&mut self, system: &mut System) {
        let gap = self.plan.every.as_secs() * system.random().exponential();
        self.next_call = system.now() + Span::from_secs_f64(gap).max(Span::from_nanos(1));
        system.wake_at(self.next_call);
    }

    fn wake(&mut self, system: &mut System) {
        if system.now() >= self.next_call {
            self.start(system);
            self.arrive(system);
        }
        while self.in_progress.front().is_some_and(|call| call.next_frame <= system.now()) {
            self.send_frame(system);
        }
        if let Some(feedback) = &mut self.feedback {
            feedback.wake(system);
        }
        let Some(prober) = &mut self.prober else { return };
        for _ in 0..prober.wake(system) {
            self.progress.on_blocked();
        }
    }

    fn heard(&mut self, at: End, datagram: Datagram, system: &mut System) {
        let (kind, number) = Kind::of(datagram.number);
        if at == End::Receiver {
            match kind {
                Kind::Stream => {
                    if let Some(feedback) = &mut self.feedback {
                        feedback.on_packet(number, datagram.marked, system);
                    }
                }
                Kind::Probe | Kind::Marked => prober::answer(number, datagram.marked, system),
            }
            return;
        }
        if kind == Kind::Stream {
            if let Some(feedback) = &mut self.feedback {
                feedback.on_report(number, system.now());
            }
            return;
        }
        let Some(prober) = &mut self.prober else { return };
        match prober.on_answer(number, kind == Kind::Marked) {
            Outcome::Open => {}
            Outcome::Blocked => self.progress.on_blocked(),
            Outcome::Admitted { asked } => self.begin(asked, system),
        }
    }

    fn measure(&mut self, now: Time) {
        self.progress.measure(now);
        if let Some(prober) = &mut self.prober {
            prober.measure();
        }
    }

    fn tells(&self, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        self.progress.tells(now, each);
        if let Some(prober) = &self.prober {
            each("probes", prober.probes() as f64);
        }
    }

    fn shows(&self, each: &mut dyn FnMut(&'static str, f64)) {
        each("calls", self.in_progress.len() as f64);
        if let Some((price, _)) = self.feedback.as_ref().and_then(Feedback::price) {
            each("price", price);
        }
    }
}

impl Calls {
    /// A call is asked for.
    fn arrive(&mut self, system: &mut System) {
        let now = system.now();
        self.progress.on_offered();
        let admits = match &self.plan.admission {
            Admission::None => Some(true),
            Admission::Counter(counter) => Some(self.in_progress.len() < counter.limit.0 as usize),
            Admission::Probing(_) => None,
            Admission::NonProbing(own) => self.knows(own, now),
        };
        match (admits, &mut self.prober) {
            (Some(false), _) => self.progress.on_blocked(),
            (None, Some(prober)) => prober.ask(system),
            (Some(true) | None, _) => self.begin(now, system),
        }
    }

    /// Whether what is known of the path admits a call; `None` if nothing is.
    fn knows(&self, own: &NonProbing, now: Time) -> Option<bool> {
        let (price, told) = self.feedback.as_ref()?.price()?;
        (now <= told + own.forget_after).then_some(price < own.threshold.0)
    }

    /// A call begins that was asked for at that time.
    fn begin(&mut self, asked: Time, system: &mut System) {
        let now = system.now();
        let holding = match self.plan.distribution {
            Distribution::Fixed => self.plan.holding,
            Distribution::Exponential => {
                Span::from_secs_f64(self.plan.holding.as_secs() * system.random().exponential())
            }
        };
        self.progress.on_begun(asked, now);
        let film = Film::somewhere(self.plan.frame_interval, system.random());
        self.in_progress.push_front(Call { next_frame: now, until: now + holding, film });
        self.send_frame(system);
    }

    /// The next frame of the call whose turn it is, which ends instead if its time is over.
    fn send_frame(&mut self, system: &mut System) {
        let Some(mut call) = self.in_progress.pop_front() else { return };
        let now = system.now();
        if now >= call.until {
            return self.progress.on_ended(now);
        }
        let size = call.film.next(system.random());
        for packet in self.cut.packets(size) {
            let label = Kind::Stream.label(self.packets);
            system.send_datagram(End::Sender, label, packet, self.plan.ecn);
            self.packets += 1;
        }
        call.next_frame = now + self.plan.frame_interval;
        system.wake_at(call.next_frame);
        self.in_progress.push_back(call);
    }
}
