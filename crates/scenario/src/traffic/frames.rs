//! Video over RTP, frame by frame.

use tidegate_mechanisms::parameters::{ParameterError, Tables};
use tidegate_mechanisms::units::{Factor, Rate, Share, Span, Step};
use tidegate_mechanisms::{choice, parameters, words};

use super::TrafficParams;
use super::frame_sizes::{FrameSizes, LARGEST_FRAME_BYTES};

parameters! {
    /// Video over RTP and UDP, frame by frame, each sent at once in as many packets as it needs. Sizes of frames
    /// are a model's (groups of an I, three P and eight B frames, and scenes), or those of a video of one's own.
    pub struct Frames {
        /// Bits on the wire per second, on average, headers of IPv4, UDP and RTP included. Where the stream adapts:
        /// of its worst quality. Need not be set with `frames`: they are sent as they are then.
        pub rate: Option<Rate>,
        /// Sizes of the frames of a video of one's own, as CSV: a line a frame, with its bytes and, if one likes, its
        /// kind, such as `5120,I`. Or the name of a file `*.csv` with them, seen from the scenario's. Each stream
        /// begins somewhere in it, and starts over at its end.
        pub frames: Option<FrameSizes>,
        /// How sizes of the model's frames vary; where it is not set, as those of a published video do.
        pub video_model: Option<VideoModel>,
        /// From one frame to the next.
        pub frame_interval: Span = "40 ms",
        /// Its packets are ECN-capable.
        pub ecn: bool = "true",
        /// Whether its quality follows the price of the path.
        pub adaptation: Adaptation = "none",
    }
    check can_be_sent;
}

choice! {
    /// How the sizes of a video's frames vary.
    pub enum VideoModel as VideoModel {
        Mpeg(MpegModel) = "mpeg";
    }
}

parameters! {
    /// Groups of an I, three P and eight B frames, times the activity of the scene, which is remembered for 5 s, times
    /// what is new in a frame; both are lognormal.
    pub struct MpegModel {
        /// Mean size of an I frame, as a multiple of a B frame's.
        pub full: Step = "4",
        /// Mean size of a P frame, as a multiple of a B frame's.
        pub predicted: Step = "2",
        /// Standard deviation of scenes over their mean.
        pub scenes: Share = "0.5",
        /// Standard deviation over the mean of what is new in a frame.
        pub frames: Share = "0.4",
    }
    check is_a_video;
}

/// What it is where a scenario says nothing.
impl Default for MpegModel {
    fn default() -> Self {
        MpegModel { full: Step(4.0), predicted: Step(2.0), scenes: Share(0.5), frames: Share(0.4) }
    }
}

choice! {
    /// Whether the quality of a stream follows the price of its path.
    pub enum Adaptation as Adaptation {
        /// It does not.
        None = "none";
        Price(PriceAdaptation) = "price";
    }
}

parameters! {
    /// Reports give the sender the share of its packets that was marked or lost; that is the price of the path
    /// (7.3.3), for which a target rate is worked out again and again (7.3.1), and at each full frame the quality
    /// is chosen by that (7.3.2). In brackets: equations of Zimmermann's dissertation.
    pub struct PriceAdaptation {
        /// Rates of the better qualities, ascending, each measured as `rate`.
        pub better: Tables<Quality>,
        /// w: what the stream is willing to pay for its rate. It settles where price times rate is w.
        pub willingness: Rate,
        /// κT: of w - price · rate, so much is added to the target rate at each update.
        pub gain: Step = "0.005",
        /// When the target rate is updated.
        pub updates: Updates = "each-frame",
        /// A better quality is chosen where the target rate is above its rate times this.
        pub increase_above: Factor = "1.1",
        /// A worse quality is chosen where the target rate is below that of the present one times this.
        pub decrease_below: Factor = "0.95",
        /// When a better quality is taken that could be.
        pub increase: Increase = "always",
        /// Sends nothing while the target rate is below the worst quality's.
        pub interrupts: bool = "false",
        /// Weight of the newest report in the moving average of prices.
        pub price_weight: Share = "0.1",
        /// From one report of the receiver to the next.
        pub report_interval: Span = "100 ms",
    }
    check can_adapt;
}

words! {
    /// When a target rate is updated.
    pub enum Updates {
        /// Once with each frame.
        EachFrame = "each-frame",
        /// Once with each packet of a frame, as windows of TCP are once for each that is acknowledged (4.2.1, 4.2.3).
        EachPacket = "each-packet",
    }
}

choice! {
    /// When a better quality is taken that could be.
    pub enum Increase as Increase {
        /// Whenever it could be (7.3.2).
        Always = "always";
        /// With probability one half, once after each decrease (7.3.4, 7.3.5).
        Random = "random";
        Patient(Patience) = "patient";
    }
}

parameters! {
    /// Once it could have been for so long without a break: a hysteresis in time.
    pub struct Patience {
        /// How long.
        pub wait: Span = "10 s",
    }
    check waits;
}

parameters! {
    /// A quality of a video.
    pub struct Quality {
        /// Bits on the wire per second, on average.
        pub rate: Rate,
    }
}

/// I frames that are larger would not go into a datagram at rates that others are sent at.
const LARGEST_OVER_SMALLEST: f64 = 10.0;

fn is_a_video(own: &MpegModel) -> Vec<ParameterError> {
    let message =
        format!("must lie between 1 and {LARGEST_OVER_SMALLEST}: B frames are the smallest");
    let sizes = [("full", own.full.0), ("predicted", own.predicted.0)];
    let invalid = sizes.iter().filter(|(_, size)| !(1.0..=LARGEST_OVER_SMALLEST).contains(size));
    invalid.map(|(key, _)| (*key, message.clone())).collect()
}

fn can_be_sent(own: &Frames) -> Vec<ParameterError> {
    let mut errors = Vec::new();
    if own.frames.is_some() && own.video_model.is_some() {
        let message = "frames has the sizes of all frames: remove one of the two";
        errors.push(("video_model", message.to_owned()));
    }
    match (own.rate, &own.frames) {
        (Some(rate), None) => errors.extend(of_a_video("rate", rate, own.frame_interval)),
        (_, Some(sizes)) => errors.extend(of_a_file(own, sizes)),
        (None, None) => {
            let message = "is missing: write the video's mean rate, such as \"600 kb/s\"";
            errors.push(("rate", message.to_owned()));
        }
    }
    let Adaptation::Price(price) = &own.adaptation else { return errors };
    if own.rate.is_none() && own.frames.is_some() {
        let message = "is missing: a stream that adapts needs the rate of its worst quality";
        errors.push(("rate", message.to_owned()));
    }
    errors.extend(can_be_chosen(price, own.rate, own.ecn, own.frame_interval));
    errors
}

/// What cannot be with qualities that are chosen by the price, of which the worst has this rate.
pub fn can_be_chosen(
    price: &PriceAdaptation,
    worst: Option<Rate>,
    ecn: bool,
    frame_interval: Span,
) -> Vec<ParameterError> {
    let mut errors = Vec::new();
    if !ecn {
        let message =
            "a stream that uses the price of its path has to be ECN-capable: remove this key";
        errors.push(("ecn", message.to_owned()));
    }
    let better = price.better.0.first();
    if better.is_some_and(|better| worst.is_some_and(|rate| better.rate <= rate)) {
        let message = "is not below that of the first better quality: qualities ascend";
        errors.push(("rate", message.to_owned()));
    }
    let best = price.better.0.last().filter(|_| frame_interval > Span::ZERO);
    for (_, message) in best.map_or(vec![], |best| of_a_video("", best.rate, frame_interval)) {
        errors.push(("adaptation", format!("of the best quality, {message}")));
    }
    errors
}

/// What cannot be with any video of the model's; the key that says so is the rate's.
pub fn of_a_video(key: &'static str, rate: Rate, frame_interval: Span) -> Vec<ParameterError> {
    let mut errors = Vec::new();
    if frame_interval == Span::ZERO {
        return vec![("frame_interval", "must be longer than 0 s".to_owned())];
    }
    let bytes = rate.as_bps() as f64 / 8.0 * frame_interval.as_secs();
    if bytes < SMALLEST_FRAME_BYTES {
        let message = format!(
            "a frame would have {bytes:.0} B on average, headers included; it needs {SMALLEST_FRAME_BYTES:.0}"
        );
        errors.push((key, message));
    } else if bytes > LARGEST_MEAN_BYTES {
        let message = format!(
            "a frame would have {bytes:.0} B on average; with more than {LARGEST_MEAN_BYTES:.0} too many would not \
             go into a datagram of 64 KiB, since frames vary: write a lower rate or a shorter frame_interval"
        );
        errors.push((key, message));
    }
    errors
}

/// What cannot be with a video of one's own.
fn of_a_file(own: &Frames, sizes: &FrameSizes) -> Vec<ParameterError> {
    let mut errors: Vec<ParameterError> =
        sizes.errors().iter().map(|one| ("frames", one.clone())).collect();
    if own.frame_interval == Span::ZERO {
        errors.push(("frame_interval", "must be longer than 0 s".to_owned()));
    }
    let largest = sizes.bytes().iter().max().copied().unwrap_or_default();
    if errors.is_empty() && largest == 0 {
        errors.push(("frames", "has no frame of more than 0 B".to_owned()));
    }
    if !errors.is_empty() {
        return errors;
    }
    let Some(rate) = own.rate else { return errors };
    let wire_bytes = rate.as_bps() as f64 / 8.0 * own.frame_interval.as_secs();
    let scaled = f64::from(largest) * wire_bytes / sizes.mean();
    if wire_bytes < SMALLEST_FRAME_BYTES {
        let message = format!(
            "a frame would have {wire_bytes:.0} B on average, headers included; it needs {SMALLEST_FRAME_BYTES:.0}"
        );
        errors.push(("rate", message));
    } else if scaled > f64::from(LARGEST_FRAME_BYTES) {
        let message = format!(
            "the largest frame would have {scaled:.0} B; {LARGEST_FRAME_BYTES} go into a datagram of 64 KiB"
        );
        errors.push(("rate", message));
    }
    errors
}

/// Mean frame, headers included: enough for what small frames need beside their headers of 40 B.
const SMALLEST_FRAME_BYTES: f64 = 200.0;
/// A frame is one datagram, and frames of the model are up to some ten times the mean: with this one, 1.3 % of the
/// bytes would be beyond its end, and are cut off.
const LARGEST_MEAN_BYTES: f64 = 12_000.0;

fn can_adapt(price: &PriceAdaptation) -> Vec<ParameterError> {
    let mut errors = Vec::new();
    let mut note = |invalid: bool, key, message: &str| {
        if invalid {
            errors.push((key, message.to_owned()));
        }
    };
    let better = &price.better.0;
    note(
        better.is_empty(),
        "better",
        "there is no better quality to choose: write adaptation = \"none\"",
    );
    let ascends = better.is_sorted_by(|one, next| one.rate < next.rate);
    note(!ascends, "better", "qualities have to ascend");
    note(price.willingness.as_bps() == 0, "willingness", "must be above 0");
    note(
        price.increase_above.0 < 1.0,
        "increase_above",
        "must be at least 1: below it a quality is left as it is reached",
    );
    note(
        price.decrease_below.0 > 1.0,
        "decrease_below",
        "must be at most 1: above it a quality is left as it is reached",
    );
    note(price.report_interval == Span::ZERO, "report_interval", "must be longer than 0 s");
    errors
}

fn waits(own: &Patience) -> Vec<ParameterError> {
    let message = "must be longer than 0 s: write increase = \"always\" for no wait";
    if own.wait == Span::ZERO { vec![("wait", message.to_owned())] } else { Vec::new() }
}

impl TrafficParams for Frames {
    fn is_over_tcp(&self) -> bool {
        false
    }
}
