//! SBRM, single bit resource marking: every ACK moves the window, up without a congestion mark, down with one.
//! S. Zimmermann, "Congestion pricing as scalable, efficient and stable congestion control for future IP
//! networks", dissertation, 2005, sections 5.1.1 and 5.4.2.
//!
//! ```text
//! ACK without a mark:  cwnd ← cwnd + κ RTT/cwnd w        (5.1.2)
//! ACK with one:        cwnd ← cwnd − κ                   (5.1.3)
//! equilibrium:         (1 − p) w = p x                   x the rate, p the share of marked packets
//! ```
//!
//! w is the flow's willingness to pay. Only a kernel with our program has it (`bpf/sbrm.bpf.c`): a
//! scenario with it runs in the lab.

use super::Sender;
use crate::parameters;
use crate::registry::About;
use crate::units::{Demand, Share};

parameters! {
    /// Single bit resource marking (Zimmermann 2005, section 5.4.2): every ACK moves the window,
    /// up without a congestion mark, down with one. Not in the simulator.
    pub struct SbrmParams {
        /// What the flow offers to pay, w, in segments per second.
        pub willingness_to_pay: Demand = "20.0",
        /// Step κ of the window, in segments per congestion mark.
        pub kappa: Share = "0.2",
    }
}

/// The kernel's SBRM.
#[derive(Clone, Copy, Debug)]
pub struct Sbrm;

impl Sender for Sbrm {
    type Params = SbrmParams;

    const ABOUT: About = About {
        name: "sbrm",
        title: "SBRM",
        source: "Zimmermann 2005, sections 5.1.1 and 5.4.2; defaults from table 6.6.1",
        usage: r#"tcp.congestion_control = { kind = "sbrm", willingness_to_pay = 100 }"#,
        file: "sender/sbrm.rs",
        text: include_str!("sbrm.rs"),
    };

    const LINUX_NAME: &'static str = "tg_sbrm";
}
