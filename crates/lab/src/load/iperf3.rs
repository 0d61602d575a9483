//! A flow that iperf3 makes instead of this crate: a second opinion on what the hosts measure.
//!
//! Its clock begins with the test and ours with the run. An interval of its report is placed as if
//! the test began with the client's process, which is early by some round trips.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use serde_json::Value;
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::{Cbr, FlowPlan, Traffic};

use super::endpoint::FlowEndpoints;
use super::report::FlowReport;
use crate::LabError;
use crate::host::{IpVersion, NetnsHost};
use crate::namespace::Namespace;
use crate::system;

/// How often both ends report.
const INTERVAL_S: &str = "0.1";
/// The test goes on a little beyond the measured time, for its beginning is not known exactly.
const MARGIN: Span = Span::from_secs(1);
/// Both ends have reported so long after the measured time, or never will: the margin, up to a
/// second for whole seconds, and the report's way through full queues.
pub const PATIENCE: Span = Span::from_secs(12);
/// For a server to listen: 5 s at most.
const LISTEN_ATTEMPTS: u32 = 500;
const LISTEN_PAUSE: Duration = Duration::from_millis(10);
/// In the kernel's tables of sockets.
const LISTENING: &str = "0A";

/// Client and server of one flow.
pub struct Iperf3Flow<'a> {
    endpoints: FlowEndpoints<'a>,
    /// What the client is told beside the server and the time.
    arguments: Vec<String>,
    server: Process,
    client: Option<(Time, Process)>,
}

/// A process that ends when this one does, and what it has to say.
struct Process {
    child: Child,
    output: File,
    ended: bool,
}

impl<'a> Iperf3Flow<'a> {
    /// A flow whose server listens.
    pub fn new(flow: &FlowPlan, endpoints: FlowEndpoints<'a>) -> Result<Self, LabError> {
        let arguments = arguments(flow, &endpoints);
        let port = endpoints.destination().port();
        let address = endpoints.server.address.to_string();
        let own = ["--server", "--one-off", "--bind", &address];
        let server = Process::start(&own, port, &endpoints.server.namespace)?;
        await_listener(endpoints.server, port).map_err(|e| endpoints.error("iperf3", &e))?;
        Ok(Iperf3Flow { endpoints, arguments, server, client: None })
    }

    /// The client starts, and sends until `end`.
    pub fn start(&mut self, now: Time, end: Time) -> Result<(), LabError> {
        let address = self.endpoints.server.address.to_string();
        let seconds = (end + MARGIN).since(now).as_secs().ceil().to_string();
        let mut own = vec!["--client", &address, "--time", &seconds];
        own.extend(self.arguments.iter().map(String::as_str));
        let port = self.endpoints.destination().port();
        let process = Process::start(&own, port, &self.endpoints.user.namespace)?;
        self.client = Some((now, process));
        Ok(())
    }

    /// Whether both ends have reported, or never will.
    pub fn is_done(&mut self) -> bool {
        let Some((_, client)) = &mut self.client else { return true };
        client.has_ended() && self.server.has_ended()
    }

    /// What happened between two points in time.
    pub fn report(&mut self, from: Time, to: Time) -> Result<FlowReport, LabError> {
        let named = |name: &str, error| LabError::Run(format!("{name}: iperf3: {error}"));
        let Some((began, mut client)) = self.client.take() else {
            return Ok(FlowReport::default());
        };
        let name = &self.endpoints.name;
        let sent = client.report(began).map_err(|error| named(name, error))?;
        let received = self.server.report(began).map_err(|error| named(name, error))?;
        let between = |all: &Intervals, key| all.sum(key, from, to).map(|sum| sum.round() as u64);
        // UDP repeats nothing, so a report on it does not mention it.
        let udp = self.endpoints.is_udp().then_some(0);
        let mss = sent.mss;
        let window = sent.mean("snd_cwnd", from, to).zip(mss).map(|(bytes, mss)| bytes / mss);
        Ok(FlowReport {
            goodput_bytes: between(&received, "bytes").unwrap_or(0),
            sent: between(&sent, "packets"),
            retransmits: between(&sent, "retransmits").or(udp),
            timeouts: udp,
            lost: between(&received, "lost_packets"),
            mean_srtt_s: sent.mean("rtt", from, to).map(|rtt_us| rtt_us / 1e6),
            mean_cwnd_packets: window,
        })
    }
}

/// What iperf3 cannot do of a flow that it is to send.
pub fn not_by_iperf3(flow: &FlowPlan, metered: bool) -> Option<String> {
    if !matches!(*flow.traffic, Traffic::Greedy(_) | Traffic::Cbr(_)) {
        return None; // The own generator sends it.
    }
    let limited = flow.tcp.as_ref().is_some_and(|tcp| tcp.window_limit.is_some());
    let what = match (metered, limited) {
        (true, _) => "leave room for the activity",
        (_, true) => "keep to a window limit",
        _ => return None,
    };
    Some(format!("iperf3 cannot {what}; use the own generator"))
}

/// The client's options that follow from the plan.
fn arguments(flow: &FlowPlan, endpoints: &FlowEndpoints) -> Vec<String> {
    let mut all = vec![if endpoints.ip == IpVersion::V4 { "-4" } else { "-6" }.to_owned()];
    match &*flow.traffic {
        Traffic::Cbr(Cbr { rate, .. }) => {
            let (payload, packet) = (endpoints.udp_payload(flow.packet_size), flow.packet_size);
            all.extend(udp(rate.as_bps(), payload as u64, packet.get()));
        }
        _ => {
            let tcp = flow.tcp.as_ref().expect("greedy flows have TCP");
            let name = tcp.congestion_control.linux_name();
            all.extend(["--congestion".to_owned(), name.to_owned()]);
            // A limit above any rate switches TCP's internal pacing on.
            if tcp.pacing == Some(true) {
                all.extend(["--fq-rate".to_owned(), "1000G".to_owned()]);
            }
            // Told the segment size, iperf3 does not report it.
            if flow.packet_size.get() < endpoints.user.mtu.into() {
                all.extend(["--set-mss".to_owned(), endpoints.mss().to_string()]);
            }
        }
    }
    all
}

/// The options of datagrams at this rate, headers included: iperf3 counts the payload alone.
fn udp(rate_bps: u64, payload: u64, packet: u64) -> [String; 5] {
    let payload_bps = u128::from(rate_bps) * u128::from(payload) / u128::from(packet);
    let (rate, length) = (payload_bps.to_string(), payload.to_string());
    ["--udp".into(), "--bandwidth".into(), rate, "--length".into(), length]
}

impl Process {
    fn start(arguments: &[&str], port: u16, inside: &Namespace) -> Result<Self, LabError> {
        let spawn = || {
            // A file, for a pipe would be full before the report is over.
            let output = File::from(memfd_create("iperf3", MemfdFlags::CLOEXEC)?);
            let mut command = Command::new("iperf3");
            command.args(arguments).args(["--json", "--interval", INTERVAL_S]);
            command.args(["--port", &port.to_string()]);
            command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(Stdio::null());
            system::die_with_parent(&mut command);
            let child = inside.enter(|| command.spawn())??;
            Ok(Process { child, output, ended: false })
        };
        spawn().map_err(|error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => {
                LabError::Missing(vec!["iperf3: not found (apt-get install iperf3)".to_owned()])
            }
            _ => LabError::Run(format!("iperf3: {error}")),
        })
    }

    fn has_ended(&mut self) -> bool {
        self.ended = self.ended || !matches!(self.child.try_wait(), Ok(None));
        self.ended
    }

    /// Its report of a test that began then.
    fn report(&mut self, began: Time) -> Result<Intervals, String> {
        let mut text = String::new();
        let read = self.output.rewind().and_then(|()| self.output.read_to_string(&mut text));
        read.map_err(|error| error.to_string())?;
        Intervals::parse(&text, began)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.has_ended() {
            // What is not done by now is not wanted; a failure means that it has just ended.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Waits until somebody listens on a host's port.
fn await_listener(host: &NetnsHost, port: u16) -> io::Result<()> {
    let wanted = format!(":{port:04X}");
    let listens = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        words.next().is_some_and(|local| local.ends_with(&wanted))
            && words.nth(1) == Some(LISTENING)
    };
    for _ in 0..LISTEN_ATTEMPTS {
        let tables = ["tcp", "tcp6"].map(|name| format!("/proc/thread-self/net/{name}"));
        let read = || tables.iter().filter_map(|path| fs::read_to_string(path).ok()).collect();
        let text: String = host.namespace.enter(read)?;
        if text.lines().any(listens) {
            return Ok(());
        }
        thread::sleep(LISTEN_PAUSE);
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "the server does not listen"))
}

/// The intervals of a report, on our clock.
struct Intervals {
    /// Begin, end, and what iperf3 says about it.
    all: Vec<(f64, f64, Value)>,
    /// Payload of a full segment.
    mss: Option<f64>,
}

impl Intervals {
    fn parse(text: &str, began: Time) -> Result<Self, String> {
        if text.is_empty() {
            return Err("no report in time".to_owned());
        }
        let report: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if let Some(error) = report["error"].as_str() {
            return Err(error.to_owned());
        }
        let place = |stream: &Value| {
            let (start, end) = (stream["start"].as_f64()?, stream["end"].as_f64()?);
            Some((began.as_secs() + start, began.as_secs() + end, stream.clone()))
        };
        let intervals = report["intervals"].as_array().ok_or("a report without intervals")?;
        let all = intervals.iter().filter_map(|interval| place(&interval["streams"][0])).collect();
        Ok(Intervals { all, mss: report["start"]["tcp_mss_default"].as_f64() })
    }

    /// A count between two points in time; of an interval across one of them its share.
    fn sum(&self, key: &str, from: Time, to: Time) -> Option<f64> {
        let shares = self.all.iter().map(|(start, end, stream)| {
            let inside = end.min(to.as_secs()) - start.max(from.as_secs());
            Some(stream[key].as_f64()? * (inside / (end - start)).clamp(0.0, 1.0))
        });
        shares.sum()
    }

    /// The mean of what was read at the ends of intervals between two points in time.
    fn mean(&self, key: &str, from: Time, to: Time) -> Option<f64> {
        let inside = |end: f64| from.as_secs() < end && end <= to.as_secs();
        let read = self.all.iter().filter(|(_, end, _)| inside(*end));
        let values: Vec<f64> = read.filter_map(|(.., stream)| stream[key].as_f64()).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_have_the_rate_with_their_headers() {
        let options = udp(12_000_000, 1472, 1500);
        assert_eq!(options, ["--udp", "--bandwidth", "11776000", "--length", "1472"]);
    }

    #[test]
    fn an_interval_counts_by_its_share_of_the_measured_time() {
        let text = r#"{"start": {"tcp_mss_default": 1448}, "intervals": [
            {"streams": [{"start": 0, "end": 1, "bytes": 1000, "rtt": 10}]},
            {"streams": [{"start": 1, "end": 2, "bytes": 2000, "rtt": 30}]}]}"#;
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let all = Intervals::parse(text, at(500)).expect("a report");
        assert_eq!(all.sum("bytes", at(1_000), at(2_000)), Some(1_500.0));
        assert_eq!(all.mean("rtt", at(1_000), at(2_000)), Some(10.0));
        assert_eq!(all.sum("packets", at(1_000), at(2_000)), None);
        assert!(Intervals::parse(r#"{"error": "refused"}"#, at(0)).is_err());
    }
}
