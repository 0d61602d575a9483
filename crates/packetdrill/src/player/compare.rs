//! Comparison of sent packets with the script.

use tidegate_mechanisms::units::Time;

use super::clock::ScriptClock;
use super::{PlayOptions, Stop};
use crate::endpoint::Live;
use crate::script::{EcnField, ScriptPacket, TcpOption};

/// Joins the host's segments into one packet: a script may combine several into one packet, as segmentation offload
/// does.
pub fn joined(script: &ScriptPacket, pieces: &[Live]) -> Result<Live, Stop> {
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else {
        return Err(Stop::Failed("nothing was sent".to_owned()));
    };
    let shown = || {
        let shown: Vec<String> = pieces.iter().map(|piece| piece.packet.to_string()).collect();
        Stop::Failed(format!("expected {script}, but {} were sent", shown.join(" and ")))
    };
    for pair in pieces.windows(2) {
        let (one, next) = (&pair[0].packet, &pair[1].packet);
        let follows = next.seq == one.seq.wrapping_add(one.len);
        let alike = one.ecn == next.ecn && one.ack == next.ack && one.len >= next.len;
        if !follows || !alike || one.flags.fin {
            return Err(shown());
        }
    }
    let mut packet = last.packet.clone();
    packet.seq = first.packet.seq;
    packet.flags.cwr = first.packet.flags.cwr;
    packet.len = pieces.iter().map(|piece| piece.packet.len).sum();
    Ok(Live { at: last.at, packet })
}

/// Returns the timestamp of a packet.
pub fn timestamp(packet: &ScriptPacket) -> Option<u32> {
    packet.options.as_deref()?.iter().find_map(|option| match option {
        TcpOption::Timestamps { val, .. } => Some(*val),
        _ => None,
    })
}

/// Compares a packet sent at `sent` with the script's packet.
pub fn packet(
    script: &ScriptPacket,
    live: &ScriptPacket,
    options: &PlayOptions,
    clock: &mut ScriptClock,
    sent: Time,
) -> Result<(), Stop> {
    if script.window.is_some() {
        return Err(Stop::Outside("the window that the host offers".to_owned()));
    }
    let mut shown = live.clone();
    shown.window = None;
    if script.ecn.is_none() {
        shown.ecn = None;
    }
    if script.options.is_none() {
        shown.options = None;
    }
    let alike = (live.flags, live.seq, live.len, live.ack)
        == (script.flags.in_letters(), script.seq, script.len, script.ack)
        && ecn_fits(script.ecn, live.ecn)
        && options_fit(script.options.as_deref(), live.options.as_deref().unwrap_or_default());
    if !alike {
        return Err(Stop::Failed(format!("expected {script}, but {shown} was sent")));
    }
    if let (Some(tick), Some(val)) = (options.timestamp_tick, timestamp(script)) {
        let error = clock.timestamp_error(val, sent, tick);
        if error > options.tolerance {
            let message = format!("the timestamp {val} is off by {error}");
            return Err(Stop::Failed(message));
        }
    }
    Ok(())
}

fn ecn_fits(script: Option<EcnField>, live: Option<EcnField>) -> bool {
    match script {
        None => true,
        Some(EcnField::Either) => matches!(live, Some(EcnField::Ect0 | EcnField::Ect1)),
        some => some == live,
    }
}

/// Whether the options and their order are equal; the values of timestamps are checked elsewhere.
fn options_fit(script: Option<&[TcpOption]>, live: &[TcpOption]) -> bool {
    let Some(script) = script else { return true };
    script.len() == live.len()
        && script.iter().zip(live).all(|pair| match pair {
            (TcpOption::Timestamps { .. }, TcpOption::Timestamps { .. }) => true,
            (script, live) => script == live,
        })
}
