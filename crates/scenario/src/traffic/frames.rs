//! Video over RTP, frame by frame.

use tidegate_mechanisms::parameters::{ParameterError, Tables};
use tidegate_mechanisms::units::{Factor, Rate, Share, Span, Step};
use tidegate_mechanisms::{choice, parameters, words};

use super::TrafficParams;
use super::frame_sizes::{FrameSizes, LARGEST_FRAME_BYTES};

parameters! {
    /// Video over RTP and UDP. Each frame is sent at once, in as many packets as it needs. Frame sizes come from a
    /// model (groups of one I, three P and eight B frames, and scenes), or from a file.
    pub struct Frames {
        /// Mean bits on the wire per second, headers of IPv4, UDP and RTP included; for an adaptive stream, of the
        /// worst quality. Optional with `frames`, which are then sent with their own sizes.
        pub rate: Option<Rate>,
        /// Frame sizes as CSV: a line per frame, with its bytes and optionally its kind, such as `5120,I`. Or the name
        /// of a file `*.csv` with them, relative to the scenario file. Each stream begins at a random frame, and
        /// repeats the file.
        pub frames: Option<FrameSizes>,
        /// Variation of the model's frame sizes; by default that of a published video.
        pub video_model: Option<VideoModel>,
        /// Time between two frames.
        pub frame_interval: Span = "40 ms",
        /// Packets are ECN-capable.
        pub ecn: bool = "true",
        /// Quality adaptation to the price of the path.
        pub adaptation: Adaptation = "none",
    }
    check can_be_sent;
}

choice! {
    /// Variation of a video's frame sizes.
    pub enum VideoModel as VideoModel {
        Mpeg(MpegModel) = "mpeg";
    }
}

parameters! {
    /// Groups of one I, three P and eight B frames, scaled by the activity of the scene, with a correlation time of 5
    /// s, and by an independent factor per frame; both are lognormal.
    pub struct MpegModel {
        /// Mean size of an I frame, as a multiple of a B frame's.
        pub full: Step = "4",
        /// Mean size of a P frame, as a multiple of a B frame's.
        pub predicted: Step = "2",
        /// Coefficient of variation of the scenes' activity.
        pub scenes: Share = "0.5",
        /// Coefficient of variation of the factor per frame.
        pub frames: Share = "0.4",
    }
    check is_a_video;
}

/// Default of a scenario.
impl Default for MpegModel {
    fn default() -> Self {
        MpegModel { full: Step(4.0), predicted: Step(2.0), scenes: Share(0.5), frames: Share(0.4) }
    }
}

choice! {
    /// Quality adaptation of a stream to the price of its path.
    pub enum Adaptation as Adaptation {
        /// No adaptation.
        None = "none";
        Price(PriceAdaptation) = "price";
    }
}

parameters! {
    /// Reports give the sender the share of its packets that was marked or lost, which is the price of the path
    /// (7.3.3). A target rate is updated from the price (7.3.1), and selects the quality at each full frame (7.3.2).
    /// Equation numbers refer to Zimmermann's dissertation.
    pub struct PriceAdaptation {
        /// Rates of the better qualities, ascending, each measured as `rate`.
        pub better: Tables<Quality>,
        /// w: willingness to pay of the stream. In equilibrium, price times rate equals w.
        pub willingness: Rate,
        /// κT: share of w - price · rate that is added to the target rate at each update.
        pub gain: Step = "0.005",
        /// Events at which the target rate is updated.
        pub updates: Updates = "each-frame",
        /// Factor of a better quality's rate above which the target rate selects that quality.
        pub increase_above: Factor = "1.1",
        /// Factor of the present quality's rate below which the target rate selects a worse quality.
        pub decrease_below: Factor = "0.95",
        /// Rule for taking an affordable better quality.
        pub increase: Increase = "always",
        /// Send nothing while the target rate is below the worst quality's.
        pub interrupts: bool = "false",
        /// Weight of the newest report in the moving average of prices.
        pub price_weight: Share = "0.1",
        /// Time between two reports of the receiver.
        pub report_interval: Span = "100 ms",
    }
    check can_adapt;
}

words! {
    /// Events at which a target rate is updated.
    pub enum Updates {
        /// Once with each frame.
        EachFrame = "each-frame",
        /// Once with each packet of a frame, as TCP's window is with each acknowledgement (4.2.1, 4.2.3).
        EachPacket = "each-packet",
    }
}

choice! {
    /// Rule for taking an affordable better quality.
    pub enum Increase as Increase {
        /// Always (7.3.2).
        Always = "always";
        /// With probability one half, once after each decrease (7.3.4, 7.3.5).
        Random = "random";
        Patient(Patience) = "patient";
    }
}

parameters! {
    /// After it has been affordable for some time without interruption: a hysteresis.
    pub struct Patience {
        /// Time without interruption.
        pub wait: Span = "10 s",
    }
    check waits;
}

parameters! {
    /// A quality of a video.
    pub struct Quality {
        /// Mean bits on the wire per second.
        pub rate: Rate,
    }
}

/// I frames that are larger exceed a datagram at common rates.
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

/// Returns the errors of qualities chosen by the price, of which the worst has this rate.
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

/// Returns the errors of a video of the model; `key` is that of the rate.
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

/// Returns the errors of a user's video.
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

/// Minimum mean frame, headers included: small frames need room for more than their headers of 40 B.
const SMALLEST_FRAME_BYTES: f64 = 200.0;
/// Maximum mean frame: a frame is one datagram, and frames of the model are up to about ten times the mean. With this
/// mean, 1.3 % of the bytes exceed the datagram, and are cut off.
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
