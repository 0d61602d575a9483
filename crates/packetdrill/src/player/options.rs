//! The `--option=value` lines of a script.

use tidegate_mechanisms::units::Span;

use crate::error::ScriptError;
use crate::script::Script;

/// Options of a script for its playback.
#[derive(Clone, Debug)]
pub struct PlayOptions {
    /// Maximum deviation of an event from its expected time.
    pub tolerance: Span,
    /// Maximum deviation in percent of the time since the previous event, if that is more.
    pub tolerance_percent: f64,
    /// Tick of timestamps; without it their values are not checked.
    pub timestamp_tick: Option<Span>,
    /// Whether a packet must be sent as one segment.
    pub strict_segments: bool,
    /// Line and name of an option that the simulated host does not support.
    pub beyond: Option<(usize, String)>,
}

impl Default for PlayOptions {
    /// Returns packetdrill's defaults.
    fn default() -> Self {
        PlayOptions {
            tolerance: Span::from_millis(4),
            tolerance_percent: 12.5,
            timestamp_tick: None,
            strict_segments: false,
            beyond: None,
        }
    }
}

/// Options without effect: addresses, and packetdrill's interface to its kernel.
const WITHOUT_EFFECT: [&str; 12] = [
    "local_ip",
    "remote_ip",
    "gateway_ip",
    "netmask_ip",
    "connect_port",
    "bind_port",
    "send_omit_free",
    "speed",
    "init_scripts",
    "non_fatal",
    "verbose",
    "dry_run",
];

impl PlayOptions {
    /// Parses the options of a script.
    ///
    /// # Errors
    ///
    /// Fails on an invalid value.
    pub fn of(script: &Script) -> Result<Self, ScriptError> {
        let mut options = PlayOptions::default();
        for setting in &script.options {
            let number = || match setting.value.parse::<f64>() {
                Ok(number) if (0.0..1e9).contains(&number) => Ok(number),
                _ => Err(ScriptError::new(
                    setting.line,
                    format!("--{}={:?} is not a number", setting.name, setting.value),
                )),
            };
            let micros = |number: f64| Span::from_micros(number as u64);
            match setting.name.as_str() {
                "tolerance_usecs" => options.tolerance = micros(number()?),
                "tolerance_percent" => options.tolerance_percent = number()?,
                "tcp_ts_tick_usecs" => {
                    options.timestamp_tick = Some(micros(number()?)).filter(|t| *t > Span::ZERO);
                }
                "strict_segments" => options.strict_segments = true,
                "ip_version" if setting.value == "ipv4" => {}
                name if WITHOUT_EFFECT.contains(&name) => {}
                name => options.beyond = Some((setting.line, format!("the option --{name}"))),
            }
        }
        Ok(options)
    }
}
