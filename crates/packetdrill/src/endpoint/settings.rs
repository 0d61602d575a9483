//! Settings of the host that a script changes.

use tidegate_mechanisms::units::Span;
use tidegate_simulator::host::OptionPlan;
use tidegate_simulator::host::handshake::Mode;

use crate::commands::Request;

/// Kernel settings supported by the simulated host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `tcp_timestamps`
    pub timestamps: bool,
    /// `tcp_sack`
    pub sack: bool,
    /// `tcp_ecn`: mode requested by the host.
    pub ecn_asks: Mode,
    /// `tcp_ecn`: mode accepted if the peer requests it.
    pub ecn_agrees: Mode,
    /// `tcp_ecn_fallback`
    pub ecn_fallback: bool,
    /// `tcp_ecn_option`
    pub accurate_option: OptionPlan,
    /// `tcp_congestion_control`
    pub congestion_control: String,
    /// Window scale, which follows from `tcp_rmem`.
    pub window_shift: u8,
    /// `tcp_slow_start_after_idle`
    pub restarts_after_idle: bool,
    /// `tcp_min_tso_segs`
    pub min_burst: u32,
    /// Tick of the kernel's clock.
    pub tick: Span,
    /// Whether the interface has the queue `fq`, which enables TCP pacing.
    pub paced: bool,
}

/// Default tick; the player may set another.
const TICK: Span = Span::from_millis(1);

impl Default for Settings {
    /// Returns the defaults of a kernel.
    fn default() -> Self {
        Settings {
            timestamps: true,
            sack: true,
            ecn_asks: Mode::None,
            ecn_agrees: Mode::Classic,
            ecn_fallback: true,
            accurate_option: OptionPlan::Each,
            congestion_control: "cubic".to_owned(),
            window_shift: window_shift(6 << 20),
            restarts_after_idle: true,
            min_burst: 2,
            tick: TICK,
            paced: false,
        }
    }
}

/// Settings without effect on the simulated host: buffer sizes, retries, and choices made by every script.
const WITHOUT_EFFECT: [&str; 15] = [
    "tcp_ecn_option_beacon",
    "tcp_wmem",
    "tcp_fack",
    "tcp_frto",
    "tcp_syn_retries",
    "tcp_synack_retries",
    "tcp_syncookies",
    "tcp_pacing_ss_ratio",
    "tcp_pacing_ca_ratio",
    "tcp_tso_win_divisor",
    "tcp_notsent_lowat",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_early_retrans",
    "tcp_dsack",
];
/// Settings that scripts set to the only value of the simulated host.
const ONLY: [(&str, &str); 3] =
    [("tcp_reordering", "3"), ("tcp_recovery", "1"), ("tcp_cubic.parameters.hystart_detect", "3")];

impl Settings {
    /// Applies a request of a command.
    ///
    /// # Errors
    ///
    /// Fails on a setting or value that the host does not support.
    pub fn take(&mut self, request: &Request) -> Result<(), String> {
        let (name, value) = match request {
            Request::Set(name, value) => (name.as_str(), value.trim()),
            Request::Queue(queue) => return self.queue(queue),
        };
        let other = || Err(format!("the setting {name} = {value}"));
        let switch = match value {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        };
        match (name, switch) {
            ("tcp_timestamps", Some(on)) => self.timestamps = on,
            ("tcp_sack", Some(on)) => self.sack = on,
            ("tcp_slow_start_after_idle", Some(on)) => self.restarts_after_idle = on,
            ("tcp_ecn_fallback", Some(on)) => self.ecn_fallback = on,
            ("tcp_ecn", _) => {
                (self.ecn_asks, self.ecn_agrees) = match value {
                    "0" => (Mode::None, Mode::None),
                    "1" => (Mode::Classic, Mode::Classic),
                    "2" => (Mode::None, Mode::Classic),
                    "3" => (Mode::Accurate, Mode::Accurate),
                    "4" => (Mode::Classic, Mode::Accurate),
                    "5" => (Mode::None, Mode::Accurate),
                    _ => return other(),
                };
            }
            ("tcp_ecn_option", _) => match accurate_option(value) {
                Some(option) => self.accurate_option = option,
                None => return other(),
            },
            ("tcp_congestion_control", _) => match value {
                "cubic" | "reno" | "dctcp" => self.congestion_control = value.to_owned(),
                _ => return other(),
            },
            ("tcp_rmem", _) => {
                match value.split_whitespace().last().and_then(|most| most.parse().ok()) {
                    Some(most) => self.window_shift = window_shift(most),
                    None => return other(),
                }
            }
            ("tcp_min_tso_segs", _) => match value.parse() {
                Ok(segments @ 1..=64) => self.min_burst = segments,
                _ => return other(),
            },
            _ if WITHOUT_EFFECT.contains(&name) || ONLY.contains(&(name, value)) => {}
            _ => return other(),
        }
        Ok(())
    }

    fn queue(&mut self, queue: &[String]) -> Result<(), String> {
        self.paced = match queue.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["pfifo" | "pfifo_fast" | "noqueue"] => false,
            ["fq"] => true,
            // Takes effect at the time of the command, in the player.
            ["pfifo", "limit", "0"] => self.paced,
            _ => return Err(format!("the host's own queue: {}", queue.join(" "))),
        };
        Ok(())
    }
}

/// Parses `tcp_ecn_option`: the option is sent with no, some, or all packets.
pub fn accurate_option(value: &str) -> Option<OptionPlan> {
    match value.trim() {
        "0" => Some(OptionPlan::Off),
        "1" => Some(OptionPlan::Changes),
        "2" => Some(OptionPlan::Each),
        _ => None,
    }
}

/// Returns the window scale with which the largest buffer fits into 16 bits (Linux, `tcp_select_initial_window`).
fn window_shift(most_bytes: u64) -> u8 {
    let bits = 64 - most_bytes.leading_zeros() as u8;
    bits.saturating_sub(16).min(14)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands;

    fn after(text: &str) -> Result<Settings, String> {
        let mut settings = Settings::default();
        for request in commands::read(text)? {
            settings.take(&request)?;
        }
        Ok(settings)
    }

    #[test]
    fn the_defaults_of_scripts_scale_the_window_by_eight_bits_and_do_not_restart() {
        let settings = after("../common/defaults.sh").expect("known");
        assert_eq!((settings.window_shift, settings.restarts_after_idle), (8, false));
        assert_eq!(Settings::default().window_shift, 7, "6 MiB, a kernel's own");
    }

    #[test]
    fn ecn_is_asked_for_agreed_to_or_neither() {
        let ecn = |value| {
            let settings = after(&format!("sysctl -q net.ipv4.tcp_ecn={value}")).expect("known");
            (settings.ecn_asks, settings.ecn_agrees)
        };
        let (none, classic, accurate) = (Mode::None, Mode::Classic, Mode::Accurate);
        let want = [(none, none), (classic, classic), (none, classic)];
        assert_eq!([ecn(0), ecn(1), ecn(2)], want);
        let want = [(accurate, accurate), (classic, accurate), (none, accurate)];
        assert_eq!([ecn(3), ecn(4), ecn(5)], want);
    }

    #[test]
    fn unsupported_settings_of_the_host_are_reported() {
        for (text, want) in [
            ("sysctl net.ipv4.tcp_ecn=6", "the setting tcp_ecn = 6"),
            ("sysctl net.ipv4.tcp_mtu_probing=2", "the setting tcp_mtu_probing = 2"),
            (
                "sysctl net.ipv4.tcp_congestion_control=bbr",
                "the setting tcp_congestion_control = bbr",
            ),
            ("tc qdisc replace dev tun0 root pfifo limit 9", "the host's own queue: pfifo limit 9"),
        ] {
            assert_eq!(after(text), Err(want.to_owned()));
        }
    }
}
