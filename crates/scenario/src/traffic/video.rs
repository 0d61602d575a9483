//! Video from a server that limits its rate to a player that may stall.

use tidegate_mechanisms::parameters;
use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{Bytes, Factor, Rate, Span};

use super::TrafficParams;

parameters! {
    /// A video over TCP, as YouTube sent it (Sanhaji et al. 2015, section VI): a burst at full speed, then chunks at
    /// somewhat more than the video rate. The player at the receiver stalls when its buffer is empty.
    pub struct Video {
        /// Bits of video and sound per second of playing time.
        pub rate: Rate,
        /// Playing time.
        pub length: Span,
        /// Size of the player's request. The player opens the connection, and the server begins when the request has
        /// arrived. Without it, the server opens the connection.
        pub request: Option<Bytes>,
        /// Playing time that is sent in the burst.
        pub burst: Span = "40 s",
        /// Payload of a chunk.
        pub chunk: Bytes = "65536 B",
        /// Rate of the chunks, as a multiple of the video rate.
        pub speed: Factor = "1.25",
        /// Size of the server's socket buffer, which holds unacknowledged data. The server waits while it is full.
        pub socket_buffer: Bytes = "2 MB",
        /// θ₀: the player starts, and starts again, with more than this playing time in its buffer.
        pub start_above: Span = "2.2 s",
        /// θ₁: the player stalls with less than this playing time in its buffer.
        pub stall_below: Span = "0.4 s",
    }
    check can_be_played;
}

fn can_be_played(video: &Video) -> Vec<ParameterError> {
    let &Video { length, request, chunk, speed, socket_buffer, start_above, stall_below, .. } =
        video;
    let mut errors = Vec::new();
    let mut note = |invalid: bool, key, message: String| {
        if invalid {
            errors.push((key, message));
        }
    };
    note(length == Span::ZERO, "length", "must not be zero".into());
    note(request == Some(Bytes::ZERO), "request", "has at least 1 B".into());
    note(chunk == Bytes::ZERO, "chunk", "has at least 1 B".into());
    note(speed.0 <= 0.0, "speed", "must be above 0".into());
    let message = format!("less than a chunk of {} B, which never finds room", chunk.get());
    note(socket_buffer < chunk, "socket_buffer", message);
    let message = format!(
        "{start_above} is not above stall_below, {stall_below}: it would stall as it starts"
    );
    note(start_above <= stall_below, "start_above", message);
    errors
}

impl Video {
    /// Returns the bytes of this playing time.
    pub fn bytes_of(&self, length: Span) -> u64 {
        (self.rate.as_bps() as f64 * length.as_secs() / 8.0) as u64
    }

    /// Returns the bytes of the whole video, at least one.
    pub fn size_bytes(&self) -> u64 {
        self.bytes_of(self.length).max(1)
    }
}

impl TrafficParams for Video {}
