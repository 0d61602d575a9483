//! Writes a capture file of packets that carry activity, as input for tshark.
//!
//! Each packet passes the steps of a network: the sender reserves the option, the meter writes the activity, and a
//! router marks the packet. Prints one line per packet: IP version, protocol, activity in steps of 1/256.
//!
//! ```sh
//! cargo run --package tidegate-wire --example activity_pcap -- activity.pcap
//! ```

mod capture;

use std::error::Error;
use std::fs;

use capture::Transport;
use tidegate_wire::activity::{self, Activity};
use tidegate_wire::packet;

/// Activities from zero to above the largest value; 0.1 is not a multiple of the step and is rounded up.
const ACTIVITIES: [f64; 6] = [0.0, 0.1, 1.5, 4.25, 100.0, 1e9];

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: activity_pcap FILE")?;
    let mut file = capture::file_header();
    for (activity, port) in ACTIVITIES.map(Activity::rounding_up).into_iter().zip(40_000..) {
        for transport in [Transport::tcp(port), Transport::Udp(port)] {
            let room = Activity::default();
            let number = transport.number();
            let v4 = capture::ipv4(transport.clone(), &activity::ipv4::emit(room))?;
            let v6 = capture::ipv6(transport, &activity::ipv6::emit(number.0, room))?;
            for (version, sent) in [(4, v4), (6, v6)] {
                file.extend(capture::record(&at_router(sent, activity)?));
                let name = number.keyword_str().unwrap_or("?");
                println!("{version} {name} {}", activity.bits());
            }
        }
    }
    fs::write(path, file)?;
    Ok(())
}

/// Applies the edits of the meter and the router to a packet.
fn at_router(mut bytes: Vec<u8>, activity: Activity) -> Result<Vec<u8>, Box<dyn Error>> {
    let view = packet::parse(&bytes)?;
    if !packet::write_activity(&mut bytes, &view, activity)? {
        return Err("the sender left no room".into());
    }
    packet::set_ce(&mut bytes, &view);
    Ok(bytes)
}
