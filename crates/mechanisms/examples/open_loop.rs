//! Runs a trace of arrivals through one queue and one transmitter: packets sent, their times and marks. For comparison
//! with other implementations of the same mechanism.
//!
//! Reads one event per line, in order of time. "a TIME LENGTH FLOW USER ECN": a packet arrives (ns, bytes; ECN 0: not
//! ECN-capable, 1: scalable). "s TIME": the transmitter requests a packet, with rate=0, which leaves that to the
//! caller. Writes a line for each packet: "d NUMBER TIME MARKED" when its transmission begins, "l NUMBER TIME" when it
//! is lost.
//!
//! ```sh
//! cargo run --package tidegate-mechanisms --example open_loop -- \
//!     codel linux=1 rate=10000000 limit=1000 target_us=5000 interval_us=100000 max_packet=1500 < trace
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, BufRead, Write};

use tidegate_mechanisms::bottleneck::scheduler::fq_codel::FqCodelParams;
use tidegate_mechanisms::bottleneck::scheduler::{
    Capacity, Queued, Scheduler, SchedulerParams, TransmitterState,
};
use tidegate_mechanisms::bottleneck::{
    Aqm, AqmParams, Arrival, CodelParams, Differentiation, Judge, PieDecay, PieParams, Place,
    RedParams, RedSpacing,
};
use tidegate_mechanisms::units::{Bytes, Factor, QueueLength, Rate, Share, Span, Time};

/// Numbers by name, from the command line.
struct Arguments(HashMap<String, f64>);

impl Arguments {
    fn get(&self, key: &str) -> Result<f64, String> {
        self.0.get(key).copied().ok_or(format!("{key}=... is missing"))
    }
    fn span(&self, key_us: &str) -> Result<Span, String> {
        Ok(Span::from_nanos((self.get(key_us)? * 1e3) as u64))
    }
    fn bytes(&self, key: &str) -> Result<Bytes, String> {
        Ok(Bytes::new(self.get(key)? as u64))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().ok_or("usage: open_loop KIND key=value... < trace")?;
    let mut values = HashMap::new();
    for argument in arguments {
        let (key, value) = argument.split_once('=').ok_or("arguments are of the form key=value")?;
        values.insert(key.to_owned(), value.parse::<f64>()?);
    }
    let arguments = Arguments(values);
    let mut link = Link {
        scheduler: scheduler(&kind, &arguments)?,
        rate: Some(Rate::from_bps(arguments.get("rate")? as u64)).filter(|rate| rate.as_bps() > 0),
        random: SplitMix { seed: arguments.get("seed").unwrap_or(1.0) as u64, drawn: 0 },
        busy: false,
        free_at: Time::ZERO,
        sending: Bytes::ZERO,
        out: io::BufWriter::new(io::stdout().lock()),
    };
    let mut number = 0;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (what, fields) = line.split_once(' ').unwrap_or_default();
        let fields: Vec<u64> = fields.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        match (what, &fields[..]) {
            ("a", &[at, len, flow, user, ecn]) => {
                link.arrive(packet(number, at, [len, flow, user, ecn])?)?;
                number += 1;
            }
            ("s", &[at]) => link.begin(Time::from_nanos(at))?,
            _ => return Err(format!("not an event: {line:?}").into()),
        }
    }
    link.run_until(Time::NEVER)?;
    Ok(())
}

fn scheduler(kind: &str, arguments: &Arguments) -> Result<Scheduler, Box<dyn Error>> {
    let capacity = Capacity { packets: arguments.get("limit")? as u32, bytes: u64::MAX };
    let place = |rate: Rate, packet: Bytes| Place { capacity, rate, packet, price_encoding: None };
    // For an AQM that depends on packet times: a byte takes a nanosecond.
    let by_time = Rate::mbps(8_000);
    let (params, place) = match kind {
        "fq-codel" => {
            let params = FqCodelParams {
                flows: 1024,
                quantum: arguments.bytes("quantum")?,
                target: arguments.span("target_us")?,
                interval: arguments.span("interval_us")?,
                perturbation: 0,
                linux_arithmetic: arguments.get("linux")? != 0.0,
            };
            let place =
                place(Rate::from_bps(arguments.get("rate")? as u64), arguments.bytes("quantum")?);
            let scheduler = Scheduler::new(SchedulerParams::FqCodel(params), &place);
            return Ok(scheduler.expect("it is no judge's"));
        }
        "red" => {
            let params = RedParams {
                min_threshold: QueueLength::Bytes(arguments.bytes("min")?),
                max_threshold: QueueLength::Bytes(arguments.bytes("max")?),
                max_probability: Share(arguments.get("max_p")?),
                weight: Share(arguments.get("weight")?),
                gentle: arguments.get("gentle")? != 0.0,
                spacing: RedSpacing::Uniform,
                hard_drop: true,
                marks_below: None,
                mean_packet: None,
            };
            (AqmParams::Red(params), place(by_time, arguments.bytes("packet_ns")?))
        }
        "codel" => {
            let params = CodelParams {
                target: arguments.span("target_us")?,
                interval: arguments.span("interval_us")?,
                linux_arithmetic: arguments.get("linux")? != 0.0,
            };
            (AqmParams::Codel(params), place(by_time, arguments.bytes("max_packet")?))
        }
        "pie" => {
            let params = PieParams {
                target: arguments.span("target_us")?,
                update_interval: arguments.span("update_us")?,
                burst_allowance: arguments.span("burst_us")?,
                alpha: Factor(0.125),
                beta: Factor(1.25),
                mark_limit: Share(0.1),
                derandomised: true,
                decay: PieDecay::Linux,
                steep: true,
            };
            (AqmParams::Pie(params), place(by_time, arguments.bytes("mean_packet")?))
        }
        _ => return Err(format!("there is no {kind}").into()),
    };
    let aqm = Aqm::new(params, &place);
    let mut aqm = aqm.map_err(|(key, message)| format!("{key}: {message}"))?;
    if kind == "codel" {
        // Linux knows the device's largest packet from the start; this implementation has to see one first.
        aqm.probability(&arrival_of(place.packet));
    }
    Ok(Scheduler::fifo(Judge { aqm, differentiation: Differentiation::None }, capacity))
}

/// Returns the arrival of a packet at an empty queue.
fn arrival_of(len: Bytes) -> Arrival {
    Arrival {
        now: Time::ZERO,
        len,
        activity: 0.0,
        user: 0,
        backlog_packets: 0,
        backlog_bytes: 0,
        idle: Span::ZERO,
    }
}

/// A queue and its transmitter.
struct Link<W: Write> {
    scheduler: Scheduler,
    /// Rate of the transmitter; `None` if the trace requests packets.
    rate: Option<Rate>,
    random: SplitMix,
    busy: bool,
    /// Time at which the transmitter is done.
    free_at: Time,
    sending: Bytes,
    out: W,
}

impl<W: Write> Link<W> {
    fn arrive(&mut self, packet: Queued) -> io::Result<()> {
        let now = packet.arrived;
        self.run_until(now)?;
        let line = TransmitterState {
            now,
            idle: if self.busy { Span::ZERO } else { now.since(self.free_at) },
            in_transmission: if self.busy { self.sending } else { Bytes::ZERO },
        };
        let Link { scheduler, random, out, .. } = self;
        let mut written = Ok(());
        let lose =
            |lost: Queued, _| written = writeln!(out, "l {} {}", lost.handle, now.as_nanos());
        scheduler.enqueue(packet, &line, || random.unit(), lose);
        written?;
        if self.busy || self.rate.is_none() { Ok(()) } else { self.begin(now) }
    }

    /// Processes all departures before `end`.
    fn run_until(&mut self, end: Time) -> io::Result<()> {
        while self.busy && self.rate.is_some() && self.free_at < end {
            self.begin(self.free_at)?;
        }
        Ok(())
    }

    /// Starts the next transmission, or records that the queue is empty.
    fn begin(&mut self, now: Time) -> io::Result<()> {
        let Link { scheduler, random, out, .. } = self;
        let mut written = Ok(());
        let lose =
            |lost: Queued, _| written = writeln!(out, "l {} {}", lost.handle, now.as_nanos());
        let next = scheduler.dequeue(now, || random.unit(), lose);
        written?;
        self.busy = next.is_some();
        let Some(packet) = next else { return Ok(()) };
        self.sending = Bytes::new(packet.bytes());
        self.free_at =
            now + self.rate.map_or(Span::ZERO, |rate| rate.transmission_time(self.sending));
        writeln!(self.out, "d {} {} {}", packet.handle, now.as_nanos(), u8::from(packet.marked))
    }
}

fn packet(number: u32, at: u64, fields: [u64; 4]) -> Result<Queued, std::num::TryFromIntError> {
    let [len, flow, user, ecn] = fields;
    Ok(Queued {
        handle: number,
        len: u32::try_from(len)?,
        user: u32::try_from(user)?,
        flow: u32::try_from(flow)?,
        activity: 0.0,
        may_mark: ecn != 0,
        scalable: ecn == 1,
        to_user: false,
        dscp: 0,
        marked: false,
        declares: None,
        arrived: Time::from_nanos(at),
    })
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), which the other implementation can use too.
struct SplitMix {
    seed: u64,
    drawn: u64,
}

impl SplitMix {
    /// Returns a number in [0, 1), from the upper 56 bits.
    fn unit(&mut self) -> f64 {
        self.drawn += 1;
        let z = self.seed.wrapping_add(self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 8) as f64 / (1u64 << 56) as f64
    }
}
