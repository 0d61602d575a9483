//! Packets of a run that leave a link, as capture files for Wireshark or as rows of a table.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tidegate_scenario::plan::Plan;
use tidegate_simulator::{CapturedPacket, try_run_captured};
use tidegate_wire::accecn::{ByteCounters, Order};
use tidegate_wire::capture::{Endpoint, Headers, TcpHeader, file_header, record};

/// First port of receivers; each flow has a separate one.
const FIRST_RECEIVER_PORT: u32 = 5_000;
/// First port of senders; each connection of a flow has a separate one.
const FIRST_SENDER_PORT: u32 = 10_000;
/// Number of ports of either kind, after which they repeat.
const PORTS: u32 = 50_000;

/// A link, and the file for its packets.
pub struct Target {
    pub link: usize,
    pub path: PathBuf,
}

impl Target {
    /// Whether the file has a row for each packet, as CSV, instead of its headers.
    fn has_rows(&self) -> bool {
        self.path.extension().is_some_and(|ending| ending == "csv")
    }
}

/// Columns of rows. Numbers of bytes count from 0; SACK blocks are `from-to`, separated by spaces.
const COLUMNS: &str =
    "time_ns,flow,connection,reverse,bytes,payload_bytes,ecn,syn,sequence,acknowledgement,sack\n";

/// Result of a capture.
pub struct Captured {
    pub digest: String,
    /// Number of packets written, by target.
    pub written: Vec<u64>,
    /// Number of packets beyond the limit, by target.
    pub beyond: Vec<u64>,
    /// Number of packets in tunnels, which are not written.
    pub in_tunnels: u64,
}

/// Reason why a capture failed.
pub enum Failure {
    Run(String),
    File(PathBuf, io::Error),
}

struct Output {
    target: Target,
    file: BufWriter<File>,
    written: u64,
    beyond: u64,
    error: Option<io::Error>,
}

/// Runs a plan and writes the first `most` packets of each target.
pub fn capture(
    plan: &Plan,
    seed: u64,
    targets: Vec<Target>,
    most: u64,
) -> Result<Captured, Failure> {
    let links: Vec<usize> = targets.iter().map(|target| target.link).collect();
    let open = |target: Target| match File::create(&target.path) {
        Ok(file) => {
            let mut file = BufWriter::new(file);
            let head = if target.has_rows() { COLUMNS.into() } else { file_header().to_vec() };
            let error = file.write_all(&head).err();
            Ok(Output { target, file, written: 0, beyond: 0, error })
        }
        Err(error) => Err(Failure::File(target.path, error)),
    };
    let outputs = targets.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let outputs = Arc::new(Mutex::new(outputs));
    let (sink, addresses) = (Arc::clone(&outputs), Addresses::of(plan));
    let write = move |packet: &CapturedPacket| {
        let mut outputs = sink.lock().expect("no writer panics");
        for output in outputs.iter_mut().filter(|output| output.target.link == packet.link) {
            output.write(packet, &addresses, most);
        }
    };
    let (run, in_tunnels) = try_run_captured(plan, seed, &links, Box::new(write))
        .map_err(|stop| Failure::Run(stop.to_string()))?;
    let mut outputs = outputs.lock().expect("no writer panics");
    for output in outputs.iter_mut() {
        let flushed = output.file.flush().err();
        if let Some(error) = output.error.take().or(flushed) {
            return Err(Failure::File(output.target.path.clone(), error));
        }
    }
    Ok(Captured {
        digest: run.digest,
        written: outputs.iter().map(|output| output.written).collect(),
        beyond: outputs.iter().map(|output| output.beyond).collect(),
        in_tunnels,
    })
}

impl Output {
    fn write(&mut self, packet: &CapturedPacket, addresses: &Addresses, most: u64) {
        if self.written >= most || self.error.is_some() {
            self.beyond += 1;
            return;
        }
        self.error = match self.target.has_rows() {
            true => self.file.write_all(row(packet).as_bytes()).err(),
            false => {
                let record = record(packet.at.as_nanos(), &headers(packet, addresses));
                self.file.write_all(&record).err()
            }
        };
        self.written += 1;
    }
}

/// Returns the row of a packet; what UDP lacks is empty.
fn row(packet: &CapturedPacket) -> String {
    let CapturedPacket { at, flow, connection, reverse, len, payload_len, ecn, tcp, .. } = packet;
    let (mut syn, mut sequence, mut acknowledgement, mut sack) = Default::default();
    if let Some(tcp) = tcp {
        let blocks = tcp.sack.iter().map(|(from, to)| format!("{from}-{to}"));
        (syn, sequence) = (tcp.syn, tcp.sequence.to_string());
        acknowledgement = tcp.acknowledgement.map_or(String::new(), |number| number.to_string());
        sack = blocks.collect::<Vec<_>>().join(" ");
    }
    let at = at.as_nanos();
    format!(
        "{at},{flow},{connection},{reverse},{len},{payload_len},{ecn},{syn},{sequence},{acknowledgement},{sack}\n"
    )
}

/// Addresses of flows: senders in 10.0.0.0/8, receivers in 100.64.0.0/10, one per host.
struct Addresses {
    hosts: Vec<u32>,
}

impl Addresses {
    fn of(plan: &Plan) -> Self {
        let hosts = plan.flows.iter().map(|flow| plan.users[flow.user].customer as u32).collect();
        Addresses { hosts }
    }

    fn sender(&self, flow: usize) -> [u8; 4] {
        (0x0A00_0000 | (self.hosts[flow] + 1) & 0x00FF_FFFF).to_be_bytes()
    }

    fn receiver(&self, flow: usize) -> [u8; 4] {
        (0x6440_0000 | (self.hosts[flow] + 1) & 0x003F_FFFF).to_be_bytes()
    }
}

fn headers(packet: &CapturedPacket, addresses: &Addresses) -> Headers {
    let port = |first: u32, number: u32| (first + number % PORTS) as u16;
    let sender = Endpoint {
        address: addresses.sender(packet.flow),
        port: port(FIRST_SENDER_PORT, packet.connection),
    };
    let receiver = Endpoint {
        address: addresses.receiver(packet.flow),
        port: port(FIRST_RECEIVER_PORT, packet.flow as u32),
    };
    let (from, to) = if packet.reverse { (receiver, sender) } else { (sender, receiver) };
    let tcp = packet.tcp.as_ref().map(|tcp| TcpHeader {
        sequence: tcp.sequence,
        acknowledgement: tcp.acknowledgement,
        syn: tcp.syn,
        psh: tcp.psh,
        ace: tcp.ace,
        mss: tcp.mss,
        timestamps: tcp.timestamps,
        sack: tcp.sack.clone(),
        received_bytes: tcp.received_bytes.map(|(ect1_first, [ect0, ce, ect1])| {
            let order = if ect1_first { Order::Ect1First } else { Order::Ect0First };
            (order, ByteCounters { ect0, ce, ect1 })
        }),
    });
    Headers { from, to, ecn: packet.ecn, payload_len: packet.payload_len, tcp }
}
