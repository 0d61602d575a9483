//! Random marker: marks ECN-capable packets with a constant probability, as a link whose congestion is independent of
//! the users on this path.
//!
//! M. Mathis et al., "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", CCR 27(3), 1997, analyse
//! senders under such losses; with marks the packets also arrive:
//!
//! ```text
//! with probability p:   ECN ← CE      where ECN is ECT(0) or ECT(1)
//! ```
//!
//! Each packet has an independent draw, so that marks have no pattern. Packets that are not ECN-capable pass unchanged.

use super::{Capabilities, Ecn, Passage, Passing, Stage};
use crate::mechanism::About;
use crate::parameters;
use crate::units::Share;

parameters! {
    /// Marks ECN-capable packets with a constant probability.
    pub struct RandomMarkerParams {
        /// Probability p of a mark.
        pub probability: Share,
    }
}

/// State of one marker: none.
#[derive(Clone, Debug)]
pub struct RandomMarker {
    /// Marking probability p.
    probability: f64,
}

impl Stage for RandomMarker {
    type Params = RandomMarkerParams;

    const ABOUT: About = About {
        name: "random-marker",
        title: "Random marker",
        source: "Mathis et al., The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm",
        usage: r#"bottleneck.egress = [{ kind = "random-marker", probability = 0.01 }]"#,
        file: "stage/random_marker.rs",
        text: crate::mechanism::source_text!("random_marker.rs"),
    };

    const CAPABILITIES: Capabilities =
        Capabilities { order_only: true, writes_header: true, ..Capabilities::NONE };

    fn new(RandomMarkerParams { probability }: RandomMarkerParams) -> Self {
        RandomMarker { probability: probability.0 }
    }

    fn pass(&mut self, packet: &mut Passing, mut draw: impl FnMut() -> f64) -> Passage {
        if matches!(packet.ecn, Ecn::Ect0 | Ecn::Ect1) && draw() < self.probability {
            packet.ecn = Ecn::Ce;
        }
        Passage::On
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(probability: f64, ecn: Ecn, draw: f64) -> Ecn {
        let mut marker = RandomMarker::new(RandomMarkerParams { probability: Share(probability) });
        let mut packet = Passing { ecn, ..Passing::of_user(0) };
        assert_eq!(marker.pass(&mut packet, || draw), Passage::On);
        packet.ecn
    }

    #[test]
    fn capable_packets_are_marked_where_the_draw_is_below_the_probability() {
        for capable in [Ecn::Ect0, Ecn::Ect1] {
            assert_eq!(marked(0.25, capable, 0.2499), Ecn::Ce);
            assert_eq!(marked(0.25, capable, 0.25), capable);
            assert_eq!(marked(1.0, capable, 0.9999), Ecn::Ce);
        }
        assert_eq!(marked(1.0, Ecn::NotEct, 0.0), Ecn::NotEct);
        assert_eq!(marked(0.5, Ecn::Ce, 0.9), Ecn::Ce);
    }
}
