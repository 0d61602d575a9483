//! Connection parameters negotiated in the handshake.

use tidegate_scenario::plan::TcpPlan;
use tidegate_simulator::host::handshake::Mode;
use tidegate_simulator::host::{ReceivedBytes, tcp_options};

use super::Settings;
use super::marks::options_of;
use crate::script::{ScriptPacket, TcpOption};

/// MSS that a host offers on a network of 1500-byte packets (IPv4), bytes.
const OFFERED_MSS: u16 = 1460;
/// MSS if the peer sends no option (RFC 9293, section 3.7.1), bytes.
const DEFAULT_MSS: u16 = 536;
/// Smallest MSS that Linux accepts (`tcp_min_snd_mss` without headers), bytes.
const LEAST_MSS: u16 = 48 - 40;
const TIMESTAMP_BYTES: u16 = 12;

/// Negotiated parameters.
#[derive(Clone, Debug)]
pub struct Agreed {
    /// Largest payload of the host's segments, bytes.
    pub mss: u16,
    pub sack: bool,
    pub timestamps: bool,
    /// ECN feedback mode.
    pub ecn: Mode,
    /// Window scales of the host and of the peer; `None` without window scaling.
    pub shifts: Option<(u8, u8)>,
}

impl Agreed {
    /// Returns the parameters that a host with these settings requests.
    pub fn none(settings: &Settings) -> Self {
        Agreed {
            mss: OFFERED_MSS,
            sack: settings.sack,
            timestamps: settings.timestamps,
            ecn: settings.ecn_asks,
            shifts: Some((settings.window_shift, 0)),
        }
    }

    /// Returns the parameters after a packet of the peer with the flag SYN.
    pub fn with(settings: &Settings, peer: &ScriptPacket, ecn: Mode) -> Self {
        let options = peer.options.as_deref().unwrap_or_default();
        let mut agreed =
            Agreed { mss: DEFAULT_MSS, sack: false, timestamps: false, ecn, shifts: None };
        for option in options {
            match option {
                TcpOption::Mss(mss) => agreed.mss = (*mss).max(LEAST_MSS + TIMESTAMP_BYTES),
                TcpOption::SackOk => agreed.sack = settings.sack,
                TcpOption::Timestamps { .. } => agreed.timestamps = settings.timestamps,
                TcpOption::WindowScale(shift) => {
                    agreed.shifts = Some((settings.window_shift, (*shift).min(14)));
                }
                _ => {}
            }
        }
        agreed.mss = agreed.mss.min(OFFERED_MSS);
        if agreed.timestamps {
            agreed.mss -= TIMESTAMP_BYTES;
        }
        agreed
    }

    /// Returns the options of the host's packets with the flag SYN, in Linux's order.
    pub fn offer(&self, ts: TcpOption, received: Option<ReceivedBytes>) -> Vec<TcpOption> {
        let received = received.map_or(Vec::new(), |received| options_of(&received, false));
        let mut options = vec![TcpOption::Mss(OFFERED_MSS)];
        if self.timestamps {
            options.extend(if self.sack {
                vec![TcpOption::SackOk]
            } else {
                vec![TcpOption::Nop, TcpOption::Nop]
            });
            options.push(ts);
            options.extend(received);
        } else {
            options.extend(received);
        }
        if self.sack && !self.timestamps {
            options.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::SackOk]);
        }
        if let Some((shift, _)) = self.shifts {
            options.extend([TcpOption::Nop, TcpOption::WindowScale(shift)]);
        }
        options
    }

    /// Returns the simulator's TCP configuration with these parameters: profile `linux`.
    pub fn tcp(&self, settings: &Settings) -> Result<TcpPlan, String> {
        let mut overrides = vec![
            ("tcp.congestion_control", settings.congestion_control.clone()),
            ("tcp.timestamps", self.timestamps.to_string()),
            ("tcp.ecn", (self.ecn != Mode::None).to_string()),
            ("tcp.slow_start_after_idle", settings.restarts_after_idle.to_string()),
        ];
        if self.ecn == Mode::Accurate {
            overrides.push(("tcp.feedback", "accurate".to_owned()));
            overrides.push(("tcp.accurate_option", settings.accurate_option.word().to_owned()));
        }
        if !self.sack {
            overrides.push(("tcp.loss_recovery", "newreno".to_owned()));
        }
        let overrides: Vec<(String, String)> =
            overrides.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        tcp_options(&overrides)
    }
}
