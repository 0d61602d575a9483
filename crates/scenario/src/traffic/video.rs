//! A video, from a server that holds back what is not needed yet to a player that may stall.

use tidegate_mechanisms::parameters;
use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{Bytes, Factor, Rate, Span};

use super::Application;

parameters! {
    /// A video over TCP as YouTube had it (Sanhaji et al. 2015, section VI): a burst as fast as that goes, then
    /// chunks at somewhat more than its rate; a player at the receiver that stalls when it runs out of video.
    pub struct Video {
        /// Bits of video and sound in a second of it.
        pub rate: Rate,
        /// How long it plays.
        pub length: Span,
        /// The player opens the connection and asks with so many bytes, and the server begins when they are there;
        /// without, the server opens it.
        pub request: Option<Bytes>,
        /// So much of it is sent at once.
        pub burst: Span = "40 s",
        /// Then so much at a time.
        pub chunk: Bytes = "65536 B",
        /// So many times as fast as it plays.
        pub speed: Factor = "1.25",
        /// What the server's socket holds that is not acknowledged; the server waits while it is full.
        pub socket_buffer: Bytes = "2 MB",
        /// θ₀: the player starts, also again, above so much video that is there and not played.
        pub start_above: Span = "2.2 s",
        /// θ₁: it stalls below so much.
        pub stall_below: Span = "0.4 s",
    }
    check can_be_played;
}

fn can_be_played(video: &Video) -> Vec<ParameterError> {
    let &Video { length, request, chunk, speed, socket_buffer, start_above, stall_below, .. } =
        video;
    let mut errors = Vec::new();
    let mut note = |wrong: bool, key, message: String| {
        if wrong {
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
    /// Bytes of so much of it.
    pub fn bytes_of(&self, length: Span) -> u64 {
        (self.rate.as_bps() as f64 * length.as_secs() / 8.0) as u64
    }

    /// Bytes of all of it, at least one.
    pub fn size_bytes(&self) -> u64 {
        self.bytes_of(self.length).max(1)
    }
}

impl Application for Video {}
