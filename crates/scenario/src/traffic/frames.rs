//! A film over RTP, frame by frame.

use tidegate_mechanisms::parameters::{Mistake, Tables};
use tidegate_mechanisms::units::{Factor, Rate, Share, Span, Step};
use tidegate_mechanisms::{choice, parameters, words};

use super::Application;

parameters! {
    /// A film over RTP and UDP, frame by frame, each sent at once in as many packets as it needs. Sizes of frames
    /// are a model's: groups of an I, three P and eight B frames, and scenes.
    pub struct Frames {
        /// Bits on the wire per second, on average, headers of IPv4, UDP and RTP included. Where the stream adapts:
        /// of its worst quality.
        pub rate: Rate,
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
    /// Whether the quality of a stream follows the price of its path.
    pub enum Adaptation as Adaptation {
        /// It does not.
        None = "none";
        Price(PriceAdaptation) = "price";
    }
}

parameters! {
    /// Reports tell the sender which share of its packets was marked or lost; that is the price of the path
    /// (7.3.3), for which a target rate is worked out with each frame (7.3.1), and at each full frame the quality
    /// is chosen by that (7.3.2). In brackets: equations of Zimmermann's dissertation.
    pub struct PriceAdaptation {
        /// Rates of the better qualities, ascending, each measured as `rate`.
        pub better: Tables<Quality>,
        /// w: what the stream is willing to pay for its rate. It settles where price times rate is w.
        pub willingness: Rate,
        /// κT: of w - price · rate, so much is added to the target rate with each frame.
        pub gain: Step = "0.005",
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
    /// When a better quality is taken that could be.
    pub enum Increase {
        /// Whenever it could be (7.3.2).
        Always = "always",
        /// With probability one half, once after each decrease (7.3.4, 7.3.5).
        Random = "random",
    }
}

parameters! {
    /// A quality of a film.
    pub struct Quality {
        /// Bits on the wire per second, on average.
        pub rate: Rate,
    }
}

fn can_be_sent(frames: &Frames) -> Vec<Mistake> {
    let mut mistakes = of_a_film(frames.rate, frames.frame_interval);
    let Adaptation::Price(price) = &frames.adaptation else { return mistakes };
    if !frames.ecn {
        let message =
            "a stream that goes by the price of its path has to be ECN-capable: leave this key out";
        mistakes.push(("ecn", message.to_owned()));
    }
    if price.better.0.first().is_some_and(|better| better.rate <= frames.rate) {
        let message = "is not below that of the first better quality: qualities ascend";
        mistakes.push(("rate", message.to_owned()));
    }
    mistakes
}

/// What cannot be with any film.
pub fn of_a_film(rate: Rate, frame_interval: Span) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    if frame_interval == Span::ZERO {
        return vec![("frame_interval", "must be longer than 0 s".to_owned())];
    }
    let bytes = rate.as_bps() as f64 / 8.0 * frame_interval.as_secs();
    if bytes < SMALLEST_FRAME_BYTES {
        let message = format!(
            "a frame would have {bytes:.0} B on average, headers included; it needs {SMALLEST_FRAME_BYTES:.0}"
        );
        mistakes.push(("rate", message));
    } else if bytes > LARGEST_FRAME_BYTES {
        let message = format!(
            "a frame would have {bytes:.0} B on average; at most {LARGEST_FRAME_BYTES:.0} go into a datagram of \
             64 KiB, since frames vary"
        );
        mistakes.push(("rate", message));
    }
    mistakes
}

/// Mean frame, headers included: enough for what small frames need beside their headers of 40 B.
const SMALLEST_FRAME_BYTES: f64 = 200.0;
/// A frame is one datagram, and frames are up to some ten times the mean.
const LARGEST_FRAME_BYTES: f64 = 6_500.0;

fn can_adapt(price: &PriceAdaptation) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    let mut note = |wrong: bool, key, message: &str| {
        if wrong {
            mistakes.push((key, message.to_owned()));
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
    mistakes
}

impl Application for Frames {
    fn is_over_tcp(&self) -> bool {
        false
    }
}
