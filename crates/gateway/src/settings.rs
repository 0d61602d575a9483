//! The file of settings: declared, read and checked as scenario files are.

use std::net::IpAddr;

use tidegate_mechanisms::bottleneck::pi2::Pi2;
use tidegate_mechanisms::fixed_point::{FixedAbc, FixedMeter, ONE_Q24};
use tidegate_mechanisms::ingress::activity_meter::ActivityMeterParams;
use tidegate_mechanisms::parameters::{Nested, ParameterError, Parameters};
use tidegate_mechanisms::units::{Bytes, Factor, Memory, Rate, Share, Span, Whole};
use tidegate_mechanisms::{choice, parameters, words};

use crate::control::Mode;
use crate::error::Error;
use crate::http;
use crate::maps::{LAYOUT, Maps, Pins, SETTINGS_WORDS, word};
use crate::metrics::Shown;
use crate::prefix::Prefix;

/// Time between two updates of p, and T of the controller.
pub const UPDATE_INTERVAL: Span = Span::from_millis(16);
/// Bounds within which the meter's whole numbers are exact enough.
const LEAST_RATE: Rate = Rate::from_bps(1_000);
const MOST_RATE: Rate = Rate::from_bps(1_000_000_000);
const LEAST_INERTIA: Span = Span::from_millis(1);
const MOST_INERTIA: Span = Span::from_secs(60);
const LEAST_STATE_INTERVAL: Span = Span::from_secs(1);
/// Entries of the maps of prefixes.
const MAX_PREFIXES: usize = 4_000;

parameters! {
    /// Settings of tidegate-gateway. Quantities have units; b is bit and B is byte.
    pub struct Settings {
        /// What `run` begins with: observe or enforce.
        pub mode: StartMode = "observe",
        /// Interface towards the customers, where the programs are.
        pub interface: Option<String>,
        /// Interface towards the bottleneck, whose queue is read.
        pub uplink: Option<String>,
        /// Prefixes of addresses that are customers', between commas: each address is a customer. Without any and
        /// without a customer file, each address at the customers' interface is a customer.
        pub customers: String = "",
        /// CSV file of customers with the columns id, addresses, reference_rate and ceiling.
        pub customer_file: Option<String>,
        /// Folder of sessions: a file for each, which a hook of DHCP or RADIUS writes and removes.
        pub sessions_folder: Option<String>,
        /// Depth of the token bucket of a ceiling, as the time in which it fills.
        pub ceiling_burst: Span = "250 ms",
        /// Folder in which the last good customer file and the activities are kept.
        pub state_folder: String = "/var/lib/tidegate",
        /// Time between two copies of the activities.
        pub state_interval: Span = "10 s",
        /// Prefixes of addresses to or from which nothing is metered, dropped or marked, between commas. The
        /// box's own addresses are among them.
        pub exempt: String = "",
        /// A customer is an IPv4 address, or an IPv6 prefix of this number of bits.
        pub ipv6_prefix: Whole<32, 64> = "64",
        /// So many customers are remembered; beyond that, whoever has been silent longest is forgotten.
        pub max_customers: Whole<16, 1000000> = "16384",
        /// Packets that are ECN-capable are marked and not dropped.
        pub ecn: bool = "true",
        /// What becomes of packets with ECT(1), where ecn is true.
        pub ect1: Ect1 = "mark",
        /// Where the probability for uploads comes from.
        pub upload: SignalParams = "own-queue",
        /// Where the probability for downloads comes from: own-queue is the queue of the customers' interface.
        pub download: SignalParams = "own-queue",
        /// Address of loopback at which the live page, /metrics and /status are served, such as 127.0.0.1:9464.
        pub listen: Option<String>,
        /// Customers that metrics and reports show, those that get most.
        pub shown_customers: Whole<0, 1000000> = "20",
        /// Metrics and reports have the rank of a customer instead of its name or address.
        pub anonymous: bool = "false",
        /// The meter that each customer has for each direction.
        pub meter: Nested<MeterParams>,
        /// Whom the signals fall on.
        pub abc: Nested<AbcSettings>,
    }
    check errors;
}

words! {
    /// What `run` begins with.
    pub enum StartMode {
        /// Touches no packet.
        Observe = "observe",
        /// Drops and marks.
        Enforce = "enforce",
    }
}

words! {
    /// What becomes of packets with ECT(1).
    pub enum Ect1 {
        /// Marked by the coupled linear probability (RFC 9331, RFC 9332).
        Mark = "mark",
        /// Neither marked nor dropped, but in overload.
        Leave = "leave",
    }
}

parameters! {
    /// The activity meter.
    pub struct MeterParams {
        /// Rate R_r above which a customer counts as active. Only the ratio between customers matters: keep it below each
        /// one's share.
        pub reference_rate: Rate = "50 kb/s",
        /// Inertia I: time in which activity falls by 1.
        pub inertia: Span = "600 ms",
        /// Burst allowance B: what passes at activity 0 after a pause.
        pub burst_allowance: Bytes = "0 B",
    }
}

parameters! {
    /// Activity-based congestion management.
    pub struct AbcSettings {
        /// Differentiation factor γ: how strongly activity matters; 0 is not at all.
        pub gamma: Factor = "3.0",
        /// Weight w_A of the past in the moving average of activity.
        pub activity_weight: Memory = "0.99",
    }
}

parameters! {
    /// The queue of a device of this box, by PI2.
    pub struct OwnQueueParams {
        /// q₀: delay that the controller aims at.
        pub target: Span = "15 ms",
        /// R: largest round-trip time for which the controller has to be stable.
        pub max_rtt: Span = "100 ms",
        /// k: how many times √p marks packets with ECT(1).
        pub coupling: Whole<1, 16> = "2",
    }
    check controller_has_time;
}

parameters! {
    /// The delay of probes that pass the bottleneck, by PI2.
    pub struct DelayParams {
        /// Addresses beyond the bottleneck that answer echo requests, between commas; three are better than one.
        pub reflectors: String,
        /// q₀: delay that the controller aims at, beyond the least round trip.
        pub target: Span = "15 ms",
        /// R: largest round-trip time for which the controller has to be stable.
        pub max_rtt: Span = "100 ms",
        /// k: how many times √p marks packets with ECT(1).
        pub coupling: Whole<1, 16> = "2",
    }
    check reflectors_are_addresses;
}

parameters! {
    /// A virtual queue that is served at a rate below that of the bottleneck, by PI2.
    pub struct RateParams {
        /// Rate of the bottleneck.
        pub rate: Rate,
        /// Share of it that may be used.
        pub share: Share = "0.98",
        /// q₀: delay that the controller aims at.
        pub target: Span = "15 ms",
        /// R: largest round-trip time for which the controller has to be stable.
        pub max_rtt: Span = "100 ms",
        /// k: how many times √p marks packets with ECT(1).
        pub coupling: Whole<1, 16> = "2",
    }
}

choice! {
    /// Where a probability comes from.
    pub enum SignalParams as Signal {
        /// There is none: everything passes.
        None = "none";
        OwnQueue(OwnQueueParams) = "own-queue";
        Delay(DelayParams) = "delay";
        Rate(RateParams) = "rate";
    }
}

fn controller_has_time(params: &OwnQueueParams) -> Option<ParameterError> {
    (params.max_rtt < Span::from_millis(10))
        .then(|| ("max_rtt", "below 10 ms the controller oscillates".to_owned()))
}

fn reflectors_are_addresses(params: &DelayParams) -> Option<ParameterError> {
    match params.addresses() {
        Ok(all) if (1..=16).contains(&all.len()) => None,
        Ok(_) => Some(("reflectors", "from one to 16 addresses".to_owned())),
        Err(error) => Some(("reflectors", error)),
    }
}

impl SignalParams {
    /// Its name in the file.
    pub fn word(&self) -> &'static str {
        match self {
            SignalParams::None => "none",
            SignalParams::OwnQueue(_) => "own-queue",
            SignalParams::Delay(_) => "delay",
            SignalParams::Rate(_) => "rate",
        }
    }

    /// q₀; `None` if there is no signal.
    pub fn target(&self) -> Option<Span> {
        match self {
            SignalParams::None => None,
            SignalParams::OwnQueue(params) => Some(params.target),
            SignalParams::Delay(params) => Some(params.target),
            SignalParams::Rate(params) => Some(params.target),
        }
    }
}

impl DelayParams {
    /// The reflectors.
    ///
    /// # Errors
    /// What is wrong with the first that is no address.
    pub fn addresses(&self) -> Result<Vec<IpAddr>, String> {
        let words = self.reflectors.split([',', ' ']).filter(|word| !word.is_empty());
        words.map(|word| word.parse().map_err(|_| format!("\"{word}\" is no address"))).collect()
    }

    /// The controller, before its first update.
    pub fn controller(&self) -> Pi2 {
        controller(self.max_rtt)
    }
}

impl RateParams {
    /// The controller, before its first update.
    pub fn controller(&self) -> Pi2 {
        controller(self.max_rtt)
    }
}

fn controller(max_rtt: Span) -> Pi2 {
    Pi2::new(Pi2::alpha_hz(UPDATE_INTERVAL, max_rtt), Pi2::beta_hz(max_rtt))
}

fn errors(settings: &Settings) -> Vec<ParameterError> {
    let mut errors = Vec::new();
    for (key, text) in [("customers", &settings.customers), ("exempt", &settings.exempt)] {
        match Prefix::parse_all(text) {
            Err(error) => errors.push((key, error)),
            Ok(all) if all.len() > MAX_PREFIXES => {
                errors.push((key, format!("{} prefixes; at most {MAX_PREFIXES}", all.len())));
            }
            Ok(_) => {}
        }
    }
    if let Some(Err(error)) = settings.listen.as_deref().map(http::address) {
        errors.push(("listen", error));
    }
    let rate = settings.meter.reference_rate;
    if rate < LEAST_RATE || rate > MOST_RATE {
        errors.push(("meter", "reference_rate is from 1 kb/s to 1 Gb/s".to_owned()));
    }
    if settings.ceiling_burst < LEAST_INERTIA || settings.ceiling_burst > MOST_INERTIA {
        errors.push(("ceiling_burst", "is from 1 ms to 60 s".to_owned()));
    }
    if settings.state_interval < LEAST_STATE_INTERVAL {
        errors.push(("state_interval", "is at least 1 s".to_owned()));
    }
    let inertia = settings.meter.inertia;
    if inertia < LEAST_INERTIA || inertia > MOST_INERTIA {
        errors.push(("meter", "inertia is from 1 ms to 60 s".to_owned()));
    }
    if settings.interface.is_some() && settings.interface == settings.uplink {
        errors.push(("uplink", "is the interface of the customers".to_owned()));
    }
    errors
}

impl Settings {
    /// Reads a file, and overrides such as `("abc.gamma", "2.0")`.
    ///
    /// # Errors
    /// All errors of the file.
    pub fn read(text: &str, overrides: &[(String, String)]) -> Result<Settings, Error> {
        tidegate_scenario::settings::read(text, overrides).map_err(Error::Settings)
    }

    /// A file to start from.
    pub fn template() -> String {
        tidegate_scenario::settings::template::<Settings>()
    }

    /// The meter's numbers.
    pub fn fixed_meter(&self) -> FixedMeter {
        FixedMeter::new(&self.meter_params())
    }

    /// The meter's parameters, of customers without a reference rate of their own.
    pub fn meter_params(&self) -> ActivityMeterParams {
        let Nested(MeterParams { reference_rate, inertia, burst_allowance }) = self.meter.clone();
        ActivityMeterParams {
            reference_rate,
            inertia,
            burst_allowance,
            granularity: None,
            meters: Whole(1),
        }
    }

    /// The differentiation's numbers.
    pub fn fixed_abc(&self) -> FixedAbc {
        let Nested(AbcSettings { gamma, activity_weight }) = self.abc.clone();
        FixedAbc::new(gamma, activity_weight)
    }

    /// log₂ k in 2⁻²⁴, of the uploads; of the downloads if those have no signal.
    pub fn log2_coupling_q24(&self) -> u64 {
        let coupling = [&self.upload, &self.download].into_iter().find_map(|signal| match signal {
            SignalParams::OwnQueue(params) => Some(params.coupling.0),
            SignalParams::Delay(params) => Some(params.coupling.0),
            SignalParams::Rate(params) => Some(params.coupling.0),
            SignalParams::None => None,
        });
        libm::round(libm::log2(f64::from(coupling.unwrap_or(2))) * ONE_Q24 as f64) as u64
    }

    /// The mode in which `run` goes on: that of the loop before it, else that of the file.
    pub fn mode_of(&self, pins: &Pins) -> Mode {
        let words = Maps::open(pins).ok().flatten().map(|maps| maps.settings());
        let enforces = match words {
            Some(words) if words[word::READY] == LAYOUT => words[word::ENFORCE] == 1,
            _ => self.mode == StartMode::Enforce,
        };
        if enforces { Mode::Enforce } else { Mode::Observe }
    }

    /// What of the customers is shown.
    pub fn shown(&self) -> Shown {
        Shown { customers: self.shown_customers.0 as usize, is_anonymous: self.anonymous }
    }

    /// The words of the programs' map that depend on the settings alone; the others are 0.
    pub fn words(&self) -> [u64; SETTINGS_WORDS] {
        let (meter, abc) = (self.fixed_meter(), self.fixed_abc());
        let mask = u64::MAX << (64 - self.ipv6_prefix.0);
        let mut words = [0; SETTINGS_WORDS];
        words[word::METER..word::METER + 4].copy_from_slice(&[
            meter.ns_per_byte_q16,
            meter.activity_per_ns_q50,
            meter.burst_ns,
            meter.longest_ns,
        ]);
        words[word::ABC..word::ABC + 2].copy_from_slice(&[abc.gamma_q16, abc.weight_q20]);
        words[word::ECN] = u64::from(self.ecn);
        words[word::ECT1] = u64::from(self.ect1 == Ect1::Mark);
        words[word::COUPLING] = self.log2_coupling_q24();
        // As the bytes lie in memory.
        words[word::IPV6_MASK] = mask.to_be();
        words[word::BURST] = self.meter.burst_allowance.get().min(1 << 24);
        words[word::CEILING_BURST] = self.ceiling_burst.as_nanos();
        words
    }

    /// Prefixes of customers and of what is exempt.
    pub fn prefixes(&self) -> [Vec<Prefix>; 2] {
        [&self.customers, &self.exempt].map(|text| Prefix::parse_all(text).expect("it was checked"))
    }
}

impl OwnQueueParams {
    /// The controller, before its first update.
    pub fn controller(&self) -> Pi2 {
        controller(self.max_rtt)
    }
}

/// Keys, defaults and meanings, for the documentation.
pub fn keys() -> &'static [tidegate_mechanisms::parameters::Parameter] {
    Settings::ALL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_a_valid_file() {
        let settings = Settings::read(&Settings::template(), &[]).expect("it is right");
        assert_eq!(settings, Settings::read("", &[]).expect("all has a default"));
    }

    #[test]
    fn all_errors_are_reported_with_their_lines() {
        let text = "exempt = \"10.0.0.1/8\"\nupload = \"own-que\"\n[meter]\ninertia = \"0.5 ms\"\n";
        let Err(Error::Settings(errors)) = Settings::read(text, &[]) else { panic!("it is wrong") };
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors.len(), 3, "{errors:?}");
        assert!(errors[0].contains("line 1: exempt"), "{errors:?}");
        assert!(errors[1].contains("did you mean \"own-queue\""), "{errors:?}");
        assert!(errors[2].contains("inertia is from 1 ms"), "{errors:?}");
    }

    #[test]
    fn numbers_of_the_defaults() {
        let settings = Settings::read("", &[]).expect("all has a default");
        let meter = settings.fixed_meter();
        assert_eq!(meter.ns_per_byte_q16, 160_000 << 16);
        assert_eq!(meter.longest_ns, 24_000_000_000);
        assert_eq!(settings.log2_coupling_q24(), ONE_Q24);
    }
}
