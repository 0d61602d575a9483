//! Video calls that arrive at random, pass admission control, and last for a random holding time.
//!
//! State is kept for calls in progress and for calls that probe. Streams of calls have no identifiers: their packets
//! are numbered over the flow, and reports cover all of them, as a gateway of their site sees it.

mod measured_sum;
mod prober;
mod progress;
mod watch;

use std::collections::VecDeque;
use std::sync::Arc;

use tidegate_mechanisms::units::{OrOff, Rate, Share, Span, Time};
use tidegate_scenario::plan::{
    self, Adaptation, Admission, AdmissionPlace, Distribution, FlowPlan, MAX_OPEN, NonProbing,
    Traffic, Unknown,
};

use self::measured_sum::MeasuredSum;
use self::prober::{ProbeOutcome, Prober};
use self::progress::CallProgress;
use self::watch::Watch;
use super::carrier::OverDatagrams;
use super::streams::adapter::{Adapter, Frame, QualityReport, VideoRules};
use super::streams::feedback::{StreamFeedback, averaged};
use super::streams::label::DatagramKind;
use super::streams::video_model::{Cut, ModelledVideo, Statistics};
use super::{Carrier, Datagram, End};
use crate::stop::Excess;

/// Call arrivals and calls in progress of one flow.
pub struct Calls {
    plan: plan::Calls,
    /// Packetization by quality.
    cuts: Vec<Cut>,
    statistics: Statistics,
    next_call: Time,
    /// Calls in progress, ordered by their next frame times: the frame interval is the same for all.
    in_progress: VecDeque<Call>,
    packets: u64,
    /// Feedback over all calls, for admission and adaptation or as a sign that the receiver is alive.
    feedback: Option<StreamFeedback>,
    /// Send time of the first packet that no report has followed yet.
    unheard_since: Option<Time>,
    adapting: Option<Adapting>,
    prober: Option<Prober>,
    /// Gateway that recognizes new calls, if configured.
    watch: Option<Watch>,
    /// Measured-sum admission, if configured.
    load: Option<MeasuredSum>,
    progress: CallProgress,
}

/// State that all adaptive calls share.
struct Adapting {
    rules: Arc<VideoRules>,
    price_weight: f64,
    /// Moving average of the reported prices.
    price: Option<f64>,
    report: QualityReport,
}

struct Call {
    next_frame: Time,
    began: Time,
    until: Time,
    video_model: ModelledVideo,
    /// Source within the site, as seen by the site's gateway.
    source: u32,
    /// Boxed, since most calls have none and every frame moves its call.
    adapter: Option<Box<Adapter>>,
}

impl OverDatagrams for Calls {
    const NAME: &'static str = "calls";

    fn of(flow: &FlowPlan) -> Option<Self> {
        let Traffic::Calls(plan) = &*flow.traffic else { return None };
        let (feedback, probing) = match &plan.admission {
            Admission::None | Admission::Counter(_) | Admission::MeasuredSum(_) => (None, None),
            Admission::Probing(probing) => (None, Some(probing)),
            Admission::NonProbing(own) => {
                let feedback = StreamFeedback::new(own.report_interval, own.price_weight);
                let probing = match &own.when_unknown {
                    Unknown::Admit => None,
                    Unknown::Probe(probing) => Some(probing),
                };
                (Some(feedback), probing)
            }
        };
        let mut rates = vec![plan.rate];
        let (mut adapting, mut feedback) = (None, feedback);
        if let Adaptation::Price(price) = &plan.adaptation {
            rates.extend(price.better.0.iter().map(|quality| quality.rate));
            adapting = Some(Adapting {
                rules: VideoRules::new(plan.rate, price),
                price_weight: price.price_weight.0,
                price: None,
                report: QualityReport::default(),
            });
            feedback.get_or_insert_with(|| {
                StreamFeedback::new(price.report_interval, price.price_weight)
            });
        }
        if feedback.is_none()
            && let OrOff::On(interval) = plan.sign_of_life
        {
            feedback = Some(StreamFeedback::new(interval, Share(1.0)));
        }
        let statistics = Statistics::new(plan.video_model.as_ref(), plan.frame_interval);
        let cut = |&rate: &Rate| Cut::new(rate, plan.frame_interval, flow.packet_size, &statistics);
        Some(Calls {
            cuts: rates.iter().map(cut).collect(),
            statistics,
            adapting,
            next_call: Time::ZERO,
            in_progress: VecDeque::new(),
            packets: 0,
            feedback,
            unheard_since: None,
            watch: match &plan.admission {
                Admission::NonProbing(NonProbing {
                    at: AdmissionPlace::Gateway(gateway), ..
                }) => Some(Watch::new(gateway)),
                _ => None,
            },
            load: match &plan.admission {
                Admission::MeasuredSum(sum) => Some(MeasuredSum::new(sum)),
                _ => None,
            },
            prober: probing.map(|probing| Prober::new(probing, plan.ecn)),
            progress: CallProgress::default(),
            plan: plan.clone(),
        })
    }

    fn listens(&self) -> bool {
        self.feedback.is_some() || self.prober.is_some()
    }

    fn start(&mut self, carrier: &mut impl Carrier) {
        let gap = self.plan.every.as_secs() * carrier.random().exponential();
        self.next_call = carrier.now() + Span::from_secs_f64(gap).max(Span::from_nanos(1));
        carrier.wake_at(self.next_call);
    }

    fn wake(&mut self, carrier: &mut impl Carrier) {
        if carrier.now() >= self.next_call {
            self.start(carrier);
            self.arrive(carrier);
        }
        while self.in_progress.front().is_some_and(|call| call.next_frame <= carrier.now()) {
            self.send_frame(carrier);
        }
        if let Some(feedback) = &mut self.feedback {
            feedback.wake(carrier);
        }
        let Some(prober) = &mut self.prober else { return };
        for _ in 0..prober.wake(carrier) {
            self.progress.on_blocked();
        }
    }

    fn on_datagram(&mut self, at: End, datagram: Datagram, carrier: &mut impl Carrier) {
        let (kind, number) = DatagramKind::of(datagram.number);
        if at == End::Receiver {
            match kind {
                DatagramKind::Stream => {
                    if let Some(feedback) = &mut self.feedback {
                        feedback.on_packet(number, datagram.marked, carrier);
                    }
                }
                DatagramKind::Probe | DatagramKind::Marked => {
                    prober::answer(number, datagram.marked, carrier)
                }
            }
            return;
        }
        if kind == DatagramKind::Stream {
            self.learn(number, carrier);
            return;
        }
        let Some(prober) = &mut self.prober else { return };
        match prober.on_answer(number, kind == DatagramKind::Marked) {
            ProbeOutcome::Open => {}
            ProbeOutcome::Blocked => self.progress.on_blocked(),
            ProbeOutcome::Admitted { asked } => {
                let source = self.source(carrier);
                self.begin(asked, source, carrier);
            }
        }
    }

    fn measure(&mut self, now: Time) {
        self.progress.measure(now);
        if let Some(adapting) = &mut self.adapting {
            adapting.report = QualityReport::default();
        }
        if let Some(watch) = &mut self.watch {
            watch.measure();
        }
        if let Some(prober) = &mut self.prober {
            prober.measure();
        }
    }

    fn metrics(&self, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        self.progress.metrics(now, each);
        if let Some(prober) = &self.prober {
            each("probes", prober.probes() as f64);
        }
        if let Some(Adapting { report, .. }) = &self.adapting {
            report.metrics(self.plan.frame_interval, each);
        }
        if let Some(watch) = &self.watch {
            each("passed_unasked", watch.passed() as f64);
        }
    }

    fn shows(&self, each: &mut dyn FnMut(&'static str, f64)) {
        each("calls", self.in_progress.len() as f64);
        if let Some((price, _)) = self.feedback.as_ref().and_then(StreamFeedback::price) {
            each("price", price);
        }
    }
}

impl Calls {
    /// Handles a call request.
    fn arrive(&mut self, carrier: &mut impl Carrier) {
        let now = carrier.now();
        self.progress.on_offered();
        let source = self.source(carrier);
        if self.watch.as_mut().is_some_and(|watch| watch.passes(source, now)) {
            return self.begin(now, source, carrier);
        }
        let admits = match &self.plan.admission {
            Admission::None => Some(true),
            Admission::Counter(counter) => Some(self.in_progress.len() < counter.limit.0 as usize),
            Admission::MeasuredSum(_) => {
                Some(self.load.as_mut().is_none_or(|load| load.admits(self.plan.rate, now)))
            }
            Admission::Probing(_) => None,
            Admission::NonProbing(own) => self.knows(own, carrier),
        };
        match (admits, &mut self.prober) {
            (Some(false), _) => self.progress.on_blocked(),
            (None, Some(prober)) => prober.ask(carrier),
            (Some(true) | None, _) => self.begin(now, source, carrier),
        }
    }

    /// Handles a report, from which admission and quality adaptation take the price.
    fn learn(&mut self, number: u64, carrier: &mut impl Carrier) {
        let now = carrier.now();
        self.unheard_since = None;
        let Some(feedback) = &mut self.feedback else { return };
        let Some(price) = feedback.on_report(number, now) else { return };
        if let Admission::NonProbing(NonProbing {
            price_weight,
            at: AdmissionPlace::Gateway(_),
            ..
        }) = self.plan.admission
        {
            carrier.site().learn(price, price_weight, now);
        }
        if let Some(own) = &mut self.adapting {
            own.price = Some(averaged(own.price, price, own.price_weight));
        }
    }

    /// Whether the known price of the path admits a call; `None` if no price is known. A gateway knows the prices
    /// reported to any flow of its site.
    fn knows(&self, own: &NonProbing, carrier: &mut impl Carrier) -> Option<bool> {
        let (price, report) = match own.at {
            AdmissionPlace::Source => self.feedback.as_ref()?.price()?,
            AdmissionPlace::Gateway(_) => carrier.site().price()?,
        };
        (carrier.now() <= report + own.forget_after).then_some(price < own.threshold.0)
    }

    /// Returns the source of the next call.
    fn source(&self, carrier: &mut impl Carrier) -> u32 {
        self.watch.as_ref().map_or(0, |watch| watch.source(carrier.random()))
    }

    /// Starts a call of `source` that was requested at `asked`.
    fn begin(&mut self, asked: Time, source: u32, carrier: &mut impl Carrier) {
        let now = carrier.now();
        let holding = match self.plan.distribution {
            Distribution::Fixed => self.plan.holding,
            Distribution::Exponential => {
                Span::from_secs_f64(self.plan.holding.as_secs() * carrier.random().exponential())
            }
        };
        if self.in_progress.len() == MAX_OPEN {
            carrier.run_out(Excess::Calls);
        }
        self.progress.on_begun(asked, now);
        let video_model = ModelledVideo::somewhere(carrier.random());
        let adapter = self.adapting.as_ref().map(|own| Box::new(Adapter::new(&own.rules)));
        let (next_frame, began, until) = (now, now, now + holding);
        self.in_progress.push_front(Call {
            next_frame,
            began,
            until,
            video_model,
            source,
            adapter,
        });
        self.send_frame(carrier);
    }

    /// Whether the receiver has been silent for so long that the call is given up. Reports cover all calls, and none is
    /// sent while no packets are.
    fn is_given_up(&self, call: &Call, now: Time) -> bool {
        let since = self.unheard_since.filter(|_| self.feedback.is_some());
        since.is_some_and(|since| now > since.max(call.began) + self.plan.give_up_after)
    }

    /// Sends the next frame of the first call in order, or ends the call if its holding time is over or it is given up.
    fn send_frame(&mut self, carrier: &mut impl Carrier) {
        let Some(mut call) = self.in_progress.pop_front() else { return };
        let now = carrier.now();
        if now >= call.until || self.is_given_up(&call, now) {
            return self.progress.on_ended(now);
        }
        if let Some(watch) = &mut self.watch {
            watch.on_packet(call.source, now);
        }
        let is_full = call.video_model.is_at_full_frame();
        let size = call.video_model.next(&self.statistics, carrier.random());
        let quality = self.quality(&mut call, is_full, size, carrier);
        let packets = quality.map(|quality| self.cuts[quality].packets(size));
        for packet in packets.into_iter().flatten() {
            if let Some(load) = &mut self.load {
                load.on_packet(packet, now);
            }
            let label = DatagramKind::Stream.label(self.packets);
            carrier.send_datagram(End::Sender, label, packet, self.plan.ecn);
            self.packets += 1;
            self.unheard_since.get_or_insert(now);
        }
        call.next_frame = now + self.plan.frame_interval;
        carrier.wake_at(call.next_frame);
        self.in_progress.push_back(call);
    }

    /// Returns the quality of a call's next frame; `None` if the frame is not sent.
    fn quality(
        &mut self,
        call: &mut Call,
        is_full: bool,
        size: f64,
        carrier: &mut impl Carrier,
    ) -> Option<usize> {
        let (Some(own), Some(adapter)) = (&mut self.adapting, &mut call.adapter) else {
            return Some(0);
        };
        let before = adapter.quality();
        let packets = self.cuts[before.unwrap_or_default()].packets(size).count();
        let price = own.price.unwrap_or_default();
        let frame = Frame { is_full, packets, now: carrier.now() };
        let quality = adapter.choose(frame, price, carrier.random());
        own.report.add(before, adapter, price);
        quality
    }
}
