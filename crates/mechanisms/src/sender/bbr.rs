//! BBR in the kernel: a model of the path, its rate and its minimum round trip, determines the window. N. Cardwell, Y.
//! Cheng, C. S. Gunn, S. Hassas Yeganeh and V. Jacobson, "BBR: congestion-based congestion control", Communications of
//! the ACM 60(2), 2017.
//!
//! ```text
//! BtlBw  = largest rate of delivery in the last 10 round trips
//! RTprop = smallest round trip in the last 10 s
//! rate   = gain BtlBw          gain: 5/4, 3/4, 1, 1, 1, 1, 1, 1 in turn, a round trip each
//! cwnd   = 2 BtlBw RTprop
//! ```
//!
//! Available only in kernels: a scenario with it runs in the lab.

use super::Sender;
use crate::mechanism::About;
use crate::parameters;

parameters! {
    /// The kernel's BBR; not in the simulator.
    pub struct BbrParams {}
}

/// The kernel's BBR.
#[derive(Clone, Copy, Debug)]
pub struct Bbr;

impl Sender for Bbr {
    type Params = BbrParams;

    const ABOUT: About = About {
        name: "bbr",
        title: "BBR",
        source: "Cardwell et al., Communications of the ACM 60(2), 2017",
        usage: r#"tcp.congestion_control = "bbr""#,
        file: "sender/bbr.rs",
        text: include_str!("bbr.rs"),
    };
}
