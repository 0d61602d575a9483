//! Calls that come, are admitted or blocked, and go.

use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{OrOff, Probability, Rate, Share, Span, Whole};
use tidegate_mechanisms::{choice, parameters};

use super::frames::{Adaptation, VideoModel, can_be_chosen, of_a_video};
use super::{Distribution, TrafficParams};

parameters! {
    /// Calls that begin at random (a Poisson process), hold for a time, and go: each a video over RTP and UDP as
    /// `frames` has it, that begins at a place of its own. Whoever watches the path may block new ones.
    pub struct Calls {
        /// Bits on the wire per second of a call, on average, headers of IPv4, UDP and RTP included. Where calls adapt: of
        /// their worst quality.
        pub rate: Rate,
        /// From one call to the next, on average.
        pub every: Span,
        /// How long a call holds, on average.
        pub holding: Span,
        /// Distribution of that time around its mean.
        pub distribution: Distribution = "exponential",
        /// From one frame to the next.
        pub frame_interval: Span = "40 ms",
        /// How sizes of its frames vary; where it is not set, as those of a published video do.
        pub video_model: Option<VideoModel>,
        /// Its packets are ECN-capable.
        pub ecn: bool = "true",
        /// Who decides whether a call may begin, and by what.
        pub admission: Admission = "none",
        /// Whether the quality of each call follows the price of the path, which reports give to all of them.
        pub adaptation: Adaptation = "none",
        /// Where neither admission nor adaptation has reports, the receiver sends one so often while packets arrive, which says that
        /// somebody is there, as those of RTCP do (RFC 3550, section 6.2); or "off".
        pub sign_of_life: OrOff = "5 s",
        /// A call ends if its receiver has reported nothing for this long. Where there are no reports, it goes on.
        pub give_up_after: Span = "30 s",
    }
    check can_begin;
}

choice! {
    /// Who decides whether a call may begin, and by what.
    pub enum Admission as Admission {
        /// Every call begins.
        None = "none";
        NonProbing(NonProbing) = "non-probing";
        Probing(Probing) = "probing";
        Counter(Counter) = "counter";
        MeasuredSum(MeasuredSum) = "measured-sum";
    }
}

parameters! {
    /// A call begins if the mean marking probability of the path, as reported, is below a threshold (Zimmermann's
    /// dissertation, section 7.2). It is shared by all calls of a flow, and at a gateway by all flows of the user group.
    pub struct NonProbing {
        /// w/x: willingness to pay over the rate of a call.
        pub threshold: Probability,
        /// Weight of the newest report in the moving average of the marking.
        pub price_weight: Share = "0.02",
        /// From one report of the receiver to the next.
        pub report_interval: Span = "100 ms",
        /// What is older than that says nothing of the path any more.
        pub forget_after: Span = "30 s",
        /// What is done with a call then.
        pub when_unknown: Unknown = "admit",
        /// Which device decides, and so what it takes for a call.
        pub at: AdmissionPlace = "source",
    }
    check reports_before_expiry;
}

choice! {
    /// Who decides about a call.
    pub enum AdmissionPlace as AdmissionPlace {
        /// Who starts it.
        Source = "source";
        Gateway(Gateway) = "gateway";
    }
}

parameters! {
    /// A gateway of the site, which is the user group. It sees packets and nothing else, and what is reported to one of its flows
    /// of the path holds for all of them. A source that was silent for long enough starts a new call, and what is asked for
    /// sooner passes as part of the one before (Zimmermann's dissertation, section 7.2.1).
    pub struct Gateway {
        /// Sources of each flow; a call comes from one of them, at random.
        pub sources: Whole<1, 1_000_000>,
        /// A source that sent nothing for this long starts a new call with its next packet.
        pub silence: Span = "1 s",
    }
    check detects_silence;
}

parameters! {
    /// Probes precede each call; it is blocked if one of them returns marked, or not at all (Zimmermann's
    /// dissertation, section 7.2).
    pub struct Probing {
        /// n: so many. 1/n is the threshold, so that it takes the place of a weight.
        pub probes: Whole<1, 1000> = "10",
        /// From one to the next.
        pub spacing: Span = "40 ms",
        /// Bytes of one on the wire.
        pub probe_size: Whole<28, 1500> = "100",
        /// After the last so long is waited for answers.
        pub patience: Span = "1 s",
    }
    check probes_in_time;
}

choice! {
    /// What is done where nothing is known of a path, or only what is too old.
    pub enum Unknown as Unknown {
        /// The call begins.
        Admit = "admit";
        Probe(Probing) = "probing";
    }
}

parameters! {
    /// The bottleneck counts the calls of a flow and blocks those beyond a limit: the system of Erlang's B
    /// formula.
    pub struct Counter {
        /// So many calls at once.
        pub limit: Whole<1, 1_000_000>,
    }
}

parameters! {
    /// Somebody at the bottleneck measures what the calls of a flow send, and lets one more begin if the load and its
    /// rate together stay within a limit: the measured sum with a time window (S. Jamin, S. Shenker, P. Danzig,
    /// "Comparison of measurement-based admission control algorithms for controlled-load service", INFOCOM 1997).
    pub struct MeasuredSum {
        /// υμ: what calls may have of the link.
        pub limit: Rate,
        /// S: a sample of the load is its mean over such a time.
        pub sample: Span = "1 s",
        /// T: the load is the largest sample of the last window, or a larger one since, and the rates of calls that
        /// have begun since.
        pub window: Span = "10 s",
    }
    check measures;
}

fn times(times: &[(&'static str, Span)]) -> Vec<ParameterError> {
    let zero = times.iter().filter(|(_, time)| *time == Span::ZERO);
    zero.map(|(key, _)| (*key, "must be longer than 0 s".to_owned())).collect()
}

/// A threshold of 0 blocks whenever there is a mark, one of 1 never.
fn threshold(threshold: Probability) -> Option<ParameterError> {
    let inside = threshold.0 > 0.0 && threshold.0 < 1.0;
    (!inside).then(|| ("threshold", "must lie between 0 and 1: 1 blocks no call".to_owned()))
}

fn detects_silence(own: &Gateway) -> Vec<ParameterError> {
    times(&[("silence", own.silence)])
}

fn reports_before_expiry(own: &NonProbing) -> Vec<ParameterError> {
    let mut errors =
        times(&[("report_interval", own.report_interval), ("forget_after", own.forget_after)]);
    errors.extend(threshold(own.threshold));
    errors
}

fn measures(own: &MeasuredSum) -> Vec<ParameterError> {
    let mut errors = times(&[("sample", own.sample), ("window", own.window)]);
    if own.window < own.sample {
        errors.push(("window", "must not be shorter than a sample".to_owned()));
    }
    if own.limit.as_bps() == 0 {
        errors.push(("limit", "must be above 0".to_owned()));
    }
    errors
}

fn probes_in_time(own: &Probing) -> Vec<ParameterError> {
    times(&[("spacing", own.spacing), ("patience", own.patience)])
}

fn can_begin(calls: &Calls) -> Vec<ParameterError> {
    let mut errors = times(&[
        ("every", calls.every),
        ("holding", calls.holding),
        ("give_up_after", calls.give_up_after),
    ]);
    errors.extend(of_a_video("rate", calls.rate, calls.frame_interval));
    errors.extend(reports_in_time(calls));
    if let Adaptation::Price(price) = &calls.adaptation {
        errors.extend(can_be_chosen(price, Some(calls.rate), calls.ecn, calls.frame_interval));
        if let Admission::NonProbing(own) = &calls.admission
            && own.report_interval != price.report_interval
        {
            let message = "one report serves both: write the same report_interval for admission and adaptation";
            errors.push(("adaptation", message.to_owned()));
        }
    }
    if let Admission::NonProbing(NonProbing { at: AdmissionPlace::Gateway(gateway), .. }) =
        &calls.admission
        && gateway.silence <= calls.frame_interval
    {
        let message = "the gateway's silence is not longer than frame_interval: each frame would be a new call";
        errors.push(("admission", message.to_owned()));
    }
    let by_marks = matches!(calls.admission, Admission::NonProbing(_) | Admission::Probing(_));
    if by_marks && !calls.ecn {
        let message = "admission uses marks, which calls without ECN do not get: remove this key";
        errors.push(("ecn", message.to_owned()));
    }
    errors
}

/// Who gives up before the next report is due ends all calls.
fn reports_in_time(calls: &Calls) -> Option<ParameterError> {
    let (key, interval) = match (&calls.admission, &calls.adaptation) {
        (Admission::NonProbing(own), _) => ("admission", own.report_interval),
        (_, Adaptation::Price(price)) => ("adaptation", price.report_interval),
        _ => ("sign_of_life", calls.sign_of_life.span()?),
    };
    let in_time = interval > Span::ZERO && interval < calls.give_up_after;
    let message = "reports must come after more than 0 s, and sooner than give_up_after: else calls end although the peer is there";
    (!in_time).then(|| (key, message.to_owned()))
}

impl TrafficParams for Calls {
    fn is_over_tcp(&self) -> bool {
        false
    }
}
