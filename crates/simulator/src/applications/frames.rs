//! Video over RTP, frame by frame, with a quality that may follow the price of the path.

use tidegate_mechanisms::units::{Rate, Span, Time};
use tidegate_scenario::plan::{self, Adaptation, FlowPlan, FrameSizes, PriceAdaptation, Traffic};

use super::carrier::OverDatagrams;
use super::streams::adapter::{Adapter, Frame, QualityReport, VideoRules};
use super::streams::feedback::StreamFeedback;
use super::streams::label::DatagramKind;
use super::streams::recorded::Recorded;
use super::streams::video_model::{Cut, ModelledVideo, Statistics};
use super::{Carrier, Datagram, End};
use crate::random::Stream;

/// Sender and receiver of one video.
pub struct Frames {
    frame_interval: Span,
    ecn: bool,
    /// Packetization by quality.
    cuts: Vec<Cut>,
    statistics: Statistics,
    file: Option<FrameSizes>,
    video_model: Option<Source>,
    next_frame: Time,
    packets: u64,
    adapting: Option<Adapting>,
}

/// Source of frame sizes.
enum Source {
    Model(ModelledVideo, Statistics),
    File(Recorded),
}

impl Source {
    fn is_at_full_frame(&self) -> bool {
        match self {
            Source::Model(video_model, _) => video_model.is_at_full_frame(),
            Source::File(video_model) => video_model.is_at_full_frame(),
        }
    }

    /// Returns the size of the next frame, in the unit of its [`Cut`].
    fn next(&mut self, random: &mut Stream) -> f64 {
        match self {
            Source::Model(video_model, own) => video_model.next(own, random),
            Source::File(video_model) => video_model.next(),
        }
    }
}

/// Quality adaptation and the feedback that it uses.
struct Adapting {
    adapter: Adapter,
    feedback: StreamFeedback,
    report: QualityReport,
}

impl OverDatagrams for Frames {
    const NAME: &'static str = "frames";

    fn of(flow: &FlowPlan) -> Option<Self> {
        let Traffic::Frames(plan) = &*flow.traffic else { return None };
        let plan::Frames { rate, frames, video_model, frame_interval, ecn, adaptation } = plan;
        let mut rates = vec![*rate];
        let adapting = match adaptation {
            Adaptation::None => None,
            Adaptation::Price(price) => {
                rates.extend(price.better.0.iter().map(|quality| Some(quality.rate)));
                Some(Adapting::new(rate.expect("checked"), price))
            }
        };
        let statistics = Statistics::new(video_model.as_ref(), *frame_interval);
        let cut = |&rate: &Option<Rate>| match (rate, frames) {
            (rate, Some(sizes)) => Cut::of_file(sizes, rate, *frame_interval, flow.packet_size),
            (rate, None) => {
                Cut::new(rate.expect("checked"), *frame_interval, flow.packet_size, &statistics)
            }
        };
        Some(Frames {
            frame_interval: *frame_interval,
            ecn: *ecn,
            cuts: rates.iter().map(cut).collect(),
            statistics,
            file: frames.clone(),
            video_model: None,
            next_frame: Time::ZERO,
            packets: 0,
            adapting,
        })
    }

    fn listens(&self) -> bool {
        self.adapting.is_some()
    }

    fn start(&mut self, carrier: &mut impl Carrier) {
        self.video_model = Some(match &self.file {
            Some(sizes) => Source::File(Recorded::somewhere(sizes.clone(), carrier.random())),
            None => Source::Model(ModelledVideo::somewhere(carrier.random()), self.statistics),
        });
        self.next_frame = carrier.now();
        self.wake(carrier);
    }

    fn wake(&mut self, carrier: &mut impl Carrier) {
        if carrier.now() >= self.next_frame {
            self.next_frame = carrier.now() + self.frame_interval;
            carrier.wake_at(self.next_frame);
            self.send_frame(carrier);
        }
        if let Some(adapting) = &mut self.adapting {
            adapting.feedback.wake(carrier);
        }
    }

    fn on_datagram(&mut self, at: End, datagram: Datagram, carrier: &mut impl Carrier) {
        let Some(adapting) = &mut self.adapting else { return };
        let (_, number) = DatagramKind::of(datagram.number);
        match at {
            End::Receiver => adapting.feedback.on_packet(number, datagram.marked, carrier),
            End::Sender => {
                adapting.feedback.on_report(number, carrier.now());
            }
        }
    }

    fn measure(&mut self, _now: Time) {
        if let Some(adapting) = &mut self.adapting {
            adapting.report = QualityReport::default();
        }
    }

    fn metrics(&self, _now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        if let Some(Adapting { report, .. }) = &self.adapting {
            report.metrics(self.frame_interval, each);
        }
    }

    fn shows(&self, each: &mut dyn FnMut(&'static str, f64)) {
        let Some(adapting) = &self.adapting else { return };
        each("target_rate_bps", adapting.adapter.target_bps());
        if let Some(quality) = adapting.adapter.quality() {
            each("quality", quality as f64);
        }
        if let Some((price, _)) = adapting.feedback.price() {
            each("price", price);
        }
    }
}

impl Frames {
    fn send_frame(&mut self, carrier: &mut impl Carrier) {
        let Some(video_model) = &mut self.video_model else { return };
        let is_full = video_model.is_at_full_frame();
        let size = video_model.next(carrier.random());
        let quality = match &mut self.adapting {
            None => Some(0),
            Some(adapting) => {
                let cut = &self.cuts[adapting.adapter.quality().unwrap_or_default()];
                let packets = cut.packets(size).count();
                let frame = Frame { is_full, packets, now: carrier.now() };
                adapting.choose(frame, self.frame_interval, carrier.random())
            }
        };
        let Some(quality) = quality else { return };
        for packet in self.cuts[quality].packets(size) {
            let label = DatagramKind::Stream.label(self.packets);
            carrier.send_datagram(End::Sender, label, packet, self.ecn);
            self.packets += 1;
        }
    }
}

impl Adapting {
    fn new(worst: Rate, price: &PriceAdaptation) -> Self {
        Adapting {
            adapter: Adapter::new(&VideoRules::new(worst, price)),
            feedback: StreamFeedback::new(price.report_interval, price.price_weight),
            report: QualityReport::default(),
        }
    }

    /// Returns the quality of the next frame; `None` if the frame is not sent.
    fn choose(&mut self, frame: Frame, interval: Span, random: &mut Stream) -> Option<usize> {
        let before = self.adapter.quality();
        if before.is_none() {
            self.feedback.fade(interval);
        }
        let price = self.feedback.price().map_or(0.0, |(price, _)| price);
        let quality = self.adapter.choose(frame, price, random);
        self.report.add(before, &self.adapter, price);
        quality
    }
}
