//! Calls that arrive, are admitted or blocked, and end.

use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{OrOff, Probability, Rate, Share, Span, Whole};
use tidegate_mechanisms::{choice, parameters};

use super::frames::{Adaptation, VideoModel, can_be_chosen, of_a_video};
use super::{Distribution, TrafficParams};

parameters! {
    /// Calls that arrive as a Poisson process and last for a random time. Each is a video over RTP and UDP as with
    /// `frames`, starting at a random position. Admission control may block new calls.
    pub struct Calls {
        /// Mean bits on the wire per second of a call, headers of IPv4, UDP and RTP included; for adaptive calls, of
        /// the worst quality.
        pub rate: Rate,
        /// Mean time between two calls.
        pub every: Span,
        /// Mean duration of a call.
        pub holding: Span,
        /// Distribution of that time around its mean.
        pub distribution: Distribution = "exponential",
        /// Time between two frames.
        pub frame_interval: Span = "40 ms",
        /// Variation of its frame sizes; by default that of a published video.
        pub video_model: Option<VideoModel>,
        /// Packets are ECN-capable.
        pub ecn: bool = "true",
        /// Admission control of calls.
        pub admission: Admission = "none",
        /// Quality adaptation of each call to the price of the path, which reports give to all calls.
        pub adaptation: Adaptation = "none",
        /// Interval of the receiver's reports while packets arrive, if neither admission nor adaptation has reports: a
        /// sign of life as in RTCP (RFC 3550, section 6.2); or "off".
        pub sign_of_life: OrOff = "5 s",
        /// Time without a report after which a call ends. Without reports, calls are not ended.
        pub give_up_after: Span = "30 s",
    }
    check can_begin;
}

choice! {
    /// Admission control of calls.
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
        /// Time between two reports of the receiver.
        pub report_interval: Span = "100 ms",
        /// Age after which reports are discarded.
        pub forget_after: Span = "30 s",
        /// Treatment of a call without recent reports.
        pub when_unknown: Unknown = "admit",
        /// Device that decides, and how it recognizes a call.
        pub at: AdmissionPlace = "source",
    }
    check reports_before_expiry;
}

choice! {
    /// Device that decides about a call.
    pub enum AdmissionPlace as AdmissionPlace {
        /// The source of the call.
        Source = "source";
        Gateway(Gateway) = "gateway";
    }
}

parameters! {
    /// A gateway of the site, which is the user group. It sees only packets, and reports to any of the site's flows
    /// apply to all of them. A packet of a source after a silence starts a new call; a call requested earlier passes as
    /// part of the previous one (Zimmermann's dissertation, section 7.2.1).
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
        /// n: number of probes. 1/n replaces the threshold.
        pub probes: Whole<1, 1000> = "10",
        /// Time between two probes.
        pub spacing: Span = "40 ms",
        /// Size of a probe on the wire, bytes.
        pub probe_size: Whole<28, 1500> = "100",
        /// Time to wait for answers after the last probe.
        pub patience: Span = "1 s",
    }
    check probes_in_time;
}

choice! {
    /// Treatment of a call if nothing recent is known of the path.
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
        /// Maximum number of calls.
        pub limit: Whole<1, 1_000_000>,
    }
}

parameters! {
    /// A device at the bottleneck measures the load of a flow's calls, and admits another if the load plus its rate is
    /// within a limit: the measured sum with a time window (S. Jamin, S. Shenker, P. Danzig, "Comparison of
    /// measurement-based admission control algorithms for controlled-load service", INFOCOM 1997).
    pub struct MeasuredSum {
        /// υμ: share of the link for calls.
        pub limit: Rate,
        /// S: averaging time of a sample of the load.
        pub sample: Span = "1 s",
        /// T: the load is the largest sample of the last window, or a larger one since, plus the rates of calls
        /// admitted since.
        pub window: Span = "10 s",
    }
    check measures;
}

fn times(times: &[(&'static str, Span)]) -> Vec<ParameterError> {
    let zero = times.iter().filter(|(_, time)| *time == Span::ZERO);
    zero.map(|(key, _)| (*key, "must be longer than 0 s".to_owned())).collect()
}

/// Checks a threshold: 0 blocks at any mark, 1 never.
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

/// Checks that calls do not give up before the next report is due.
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
