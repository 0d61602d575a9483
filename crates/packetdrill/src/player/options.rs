//! The `--option=value` lines of a script that are of consequence here.

use tidegate_mechanisms::units::Span;

use crate::error::ScriptError;
use crate::script::Script;

/// What a script says of how it is to be played.
#[derive(Clone, Debug)]
pub struct PlayOptions {
    /// Events may be so much earlier or later than the script says.
    pub tolerance: Span,
    /// Or by so much of the time since the event before, if that is more.
    pub tolerance_percent: f64,
    /// A tick of timestamps; without it their values are not looked at.
    pub timestamp_tick: Option<Span>,
    /// A packet has to come in one piece.
    pub strict_segments: bool,
    /// Line and name of an option that the simulated host has no use for.
    pub beyond: Option<(usize, String)>,
}

impl Default for PlayOptions {
    /// packetdrill's own.
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

/// Options that make no difference: addresses, and how packetdrill talks to its kernel.
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
    /// Those of a script.
    ///
    /// # Errors
    /// A value that is none.
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
