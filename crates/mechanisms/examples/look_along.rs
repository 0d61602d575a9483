//! Feeds an AQM with a queue that it does not control: its decision for each packet, given that earlier packets were
//! treated as recorded. For comparison with other implementations, whose random numbers differ.
//!
//! Reads one event per line, in order of time. "a TIME LENGTH PACKETS BYTES IDLE SIGNALLED": a packet arrives at this
//! backlog, after the link has been idle for IDLE, and was signalled (1) or not (0). "d TIME SOJOURN PACKETS": a packet
//! leaves the queue after its sojourn time, with PACKETS behind it. Times in ns, sizes in bytes. Writes a line for each
//! arrival: the AQM's state (RED: average queue in bytes; PIE: p), its probability for an average packet, its
//! probability for this packet, whether it is forced, and for adaptive RED its max_p.
//!
//! ```sh
//! cargo run --package tidegate-mechanisms --example look_along -- \
//!     red min=15000 max=45000 max_p=0.1 weight=0.002 gentle=0 packet_ns=800000 < events
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, BufRead, Write};

use tidegate_mechanisms::bottleneck::scheduler::Capacity;
use tidegate_mechanisms::bottleneck::{
    AdaptiveRed, AdaptiveRedParams, Arrival, ManageQueue, Pie, PieDecay, PieParams, Place, Red,
    RedParams, RedSpacing,
};
use tidegate_mechanisms::units::{Bytes, Factor, QueueLength, Rate, Share, Span, Time};

type Fault = Box<dyn Error>;

fn main() -> Result<(), Fault> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().ok_or("usage: look_along KIND key=value... < events")?;
    let mut given = HashMap::new();
    for argument in arguments {
        let (key, value) = argument.split_once('=').ok_or("arguments are of the form key=value")?;
        given.insert(key.to_owned(), value.parse::<f64>()?);
    }
    let mut aqm = aqm(&kind, &given)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (what, numbers) = line.split_once(' ').unwrap_or_default();
        let numbers: Vec<u64> = numbers.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        match (what, &numbers[..]) {
            ("a", &[now, len, packets, bytes, idle, signalled]) => {
                let arrival = Arrival {
                    now: Time::from_nanos(now),
                    len: Bytes::new(len),
                    activity: 0.0,
                    user: 0,
                    backlog_packets: u32::try_from(packets)?,
                    backlog_bytes: bytes,
                    idle: Span::from_nanos(idle),
                };
                writeln!(out, "{}", aqm.on_arrival(&arrival, signalled == 1))?;
            }
            ("d", &[now, sojourn, left]) => {
                aqm.on_departure(Time::from_nanos(now), Span::from_nanos(sojourn), left as u32);
            }
            _ => return Err(format!("not an event: {line:?}").into()),
        }
    }
    Ok(())
}

enum Aqm {
    Red(Red),
    AdaptiveRed(AdaptiveRed),
    Pie(Pie),
}

fn aqm(kind: &str, given: &HashMap<String, f64>) -> Result<Aqm, Fault> {
    let get = |key: &str| given.get(key).copied().ok_or(format!("{key}=... is missing"));
    let micros = |key: &str| Ok::<_, String>(Span::from_micros(get(key)? as u64));
    let share = |key: &str| Ok::<_, String>(Share(get(key)?));
    let bytes = |key: &str| Ok::<_, String>(Bytes::new(get(key)? as u64));
    // A byte takes a nanosecond, so that any packet time can be represented.
    let on_link = |packet: Bytes| Place {
        capacity: Capacity { packets: u32::MAX, bytes: u64::MAX },
        rate: Rate::mbps(8_000),
        packet,
        price_encoding: None,
    };
    let aqm = match kind {
        "red" => {
            let params = RedParams {
                min_threshold: QueueLength::Bytes(bytes("min")?),
                max_threshold: QueueLength::Bytes(bytes("max")?),
                max_probability: share("max_p")?,
                weight: share("weight")?,
                gentle: get("gentle")? != 0.0,
                spacing: RedSpacing::Uniform,
                hard_drop: true,
                marks_below: None,
                mean_packet: None,
            };
            Red::new(params, &on_link(bytes("packet_ns")?)).map(Aqm::Red)
        }
        "adaptive-red" => {
            let params = AdaptiveRedParams {
                min_threshold: Some(QueueLength::Bytes(bytes("min")?)),
                max_threshold: Some(QueueLength::Bytes(bytes("max")?)),
                target_delay: Span::ZERO,
                max_probability: share("max_p")?,
                weight: Some(share("weight")?),
                interval: micros("interval_us")?,
                increase: Share(0.01),
                decrease: Share(0.9),
                spacing: RedSpacing::Uniform,
                hard_drop: true,
            };
            AdaptiveRed::new(params, &on_link(bytes("packet_ns")?)).map(Aqm::AdaptiveRed)
        }
        "pie" => {
            let params = PieParams {
                target: micros("target_us")?,
                update_interval: micros("update_us")?,
                burst_allowance: micros("burst_us")?,
                alpha: Factor(0.125),
                beta: Factor(1.25),
                mark_limit: Share(0.1),
                derandomised: true,
                decay: PieDecay::Linux,
                steep: true,
            };
            Pie::new(params, &on_link(bytes("mean_packet")?)).map(Aqm::Pie)
        }
        _ => return Err(format!("there is no {kind}").into()),
    };
    aqm.map_err(|(key, message)| format!("{key}: {message}").into())
}

impl Aqm {
    /// Returns the AQM's decision for this packet; then the AQM is given the recorded one.
    fn on_arrival(&mut self, arrival: &Arrival, signalled: bool) -> String {
        match self {
            Aqm::Red(red) => {
                let p = red.probability(arrival);
                let (state, plain) = (red.average(), red.plain_probability());
                red.on_verdict(signalled);
                format!("{state} {plain} {p} {}", u8::from(red.is_forced()))
            }
            Aqm::AdaptiveRed(red) => {
                let p = red.probability(arrival);
                let (state, plain, max_p) =
                    (red.average(), red.plain_probability(), red.max_probability());
                red.on_verdict(signalled);
                format!("{state} {plain} {p} {} {max_p}", u8::from(red.is_forced()))
            }
            Aqm::Pie(pie) => {
                let p = pie.probability(arrival);
                let plain = pie.drop_probability();
                pie.on_verdict(signalled);
                format!("{plain} {plain} {p} {}", u8::from(pie.is_forced()))
            }
        }
    }

    fn on_departure(&mut self, now: Time, sojourn: Span, packets_left: u32) {
        match self {
            Aqm::Red(_) | Aqm::AdaptiveRed(_) => {}
            Aqm::Pie(pie) => pie.on_departure(now, sojourn, packets_left),
        }
    }
}
