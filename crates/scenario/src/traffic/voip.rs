//! Voice over IP: one direction of a call.

use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{Bytes, Span};
use tidegate_mechanisms::{parameters, words};

use super::packet_stream::{PacketStream, RTP_HEADERS, Turns};
use super::{Codec, TrafficParams, Variation};

words! {
    /// Codec of a voice call.
    pub enum VoiceCodec {
        /// G.711: 64 kb/s of speech (RFC 3551, section 4.5.14); 80 kb/s on the wire with packets of 20 ms.
        G711 = "g711",
        /// G.729: 8 kb/s of speech (RFC 3551, section 4.5.6); 24 kb/s on the wire.
        G729 = "g729",
        /// Opus: 20 kb/s, the upper end for wideband speech (RFC 7587, section 3.1.1); 36 kb/s on the wire. G.113 has no
        /// impairment factors for it, so that there is no mean opinion score.
        Opus = "opus",
    }
}

words! {
    /// What is sent while the speaker is silent.
    pub enum Silence {
        /// Packets, as during speech.
        Sent = "sent",
        /// Nothing: talk spurts of 1.004 s and pauses of 1.587 s on average (ITU-T P.59, table 1), both exponentially
        /// distributed.
        Suppressed = "suppressed",
    }
}

parameters! {
    /// One direction of a voice call over RTP and UDP. Results have its mean opinion score (MOS).
    pub struct Voip {
        /// Codec.
        pub codec: VoiceCodec = "g711",
        /// Speech in a packet.
        pub packet_time: Span = "20 ms",
        /// What is sent while the speaker is silent.
        pub silence: Silence = "sent",
        /// Time during which the flow sends. Default: to the end of the run.
        pub lasts: Option<Span>,
    }
    check has_whole_packets;
}

fn has_whole_packets(voip: &Voip) -> Vec<ParameterError> {
    let (least, most) = (Span::from_millis(1), Span::from_millis(120));
    let wrong = voip.packet_time < least || voip.packet_time > most;
    let message = "must be from 1 ms to 120 ms";
    wrong.then(|| ("packet_time", message.to_owned())).into_iter().collect()
}

/// ITU-T P.59, table 1: mean duration of a talk spurt and of a pause.
const TALK_SPURT: Span = Span::from_millis(1_004);
const PAUSE: Span = Span::from_millis(1_587);

impl TrafficParams for Voip {
    fn is_over_tcp(&self) -> bool {
        false
    }

    fn packet_stream(&self, _full: Bytes) -> Option<PacketStream> {
        let (speech_bps, codec) = match self.codec {
            VoiceCodec::G711 => (64e3, Some(Codec::G711)),
            VoiceCodec::G729 => (8e3, Some(Codec::G729)),
            VoiceCodec::Opus => (20e3, None),
        };
        let speech = libm::round(speech_bps / 8.0 * self.packet_time.as_secs());
        let turns = (self.silence == Silence::Suppressed).then_some(Turns {
            on: TALK_SPURT,
            on_times: Variation::Exponential,
            off: PAUSE,
            off_times: Variation::Exponential,
        });
        Some(PacketStream {
            turns,
            lasts: self.lasts,
            codec,
            ..PacketStream::of(RTP_HEADERS + speech, self.packet_time)
        })
    }
}
