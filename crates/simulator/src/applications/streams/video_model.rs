//! Video source that draws frame sizes from a model of MPEG-4.
//!
//! A group has twelve frames, IBBPBBPBBPBB, with mean sizes in the ratio 4 : 2 : 1 of I, P and B. Each size is scaled
//! by the activity of the scene, which is correlated from group to group, and by an independent factor per frame. Both
//! are lognormal:
//!
//! ```text
//! size = mean · kind · scene · frame,   ln scene: autoregressive from group to group with a memory of 5 s
//! ```
//!
//! By default, scenes vary by 0.5 of their mean and frames by 0.4, so that all frames vary by 0.97 and groups by 0.5 to
//! 0.52. The video *Mr. Bean* in medium quality (184 kb/s) has 0.97 and 0.50 (F. Fitzek, M. Reisslein, "MPEG-4 and
//! H.263 video traces for network performance evaluation", IEEE Network 15(6), 2001, statistics of the trace library).

use tidegate_mechanisms::units::{Bytes, Rate, Span};
use tidegate_scenario::plan::{self, FrameSizes};

use crate::random::Stream;

/// Length of the IPv4, UDP and RTP headers of each packet, bytes.
const HEADER_BYTES: f64 = 40.0;
/// Largest payload of a UDP datagram over IPv4, without the RTP header, bytes.
const LARGEST_FRAME_BYTES: f64 = 65_535.0 - HEADER_BYTES;
/// Frames of a group.
const GROUP: usize = 12;
/// Distance of I and P frames.
const PREDICTED_EACH: usize = 3;
/// Correlation time of a scene's activity, seconds.
const SCENE_S: f64 = 5.0;

/// Returns the variance of the logarithm of a lognormal variable with this coefficient of variation.
fn log_variance(variation: f64) -> f64 {
    libm::log1p(variation * variation)
}

/// Statistics of a video's frame sizes.
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    /// Mean size of an I frame, as a multiple of a B frame's.
    full: f64,
    /// Mean size of a P frame, as a multiple of a B frame's.
    predicted: f64,
    /// Mean size over a group, in the same unit.
    group_mean: f64,
    /// Mean size of the frame at each place of a group, relative to the mean of all.
    means: [f64; GROUP],
    /// Standard deviation of the logarithm of a scene's activity.
    scene_deviation: f64,
    /// Standard deviation of the logarithm of a frame's factor.
    frame_deviation: f64,
    /// Variance of the logarithm of a frame's size at one place of a group.
    variance: f64,
    /// Correlation of the activity from one group to the next.
    memory: f64,
}

impl Statistics {
    /// Returns the statistics of a scenario.
    pub fn new(video: Option<&plan::VideoModel>, frame_interval: Span) -> Self {
        let default = plan::MpegModel::default();
        let plan::MpegModel { full, predicted, scenes, frames } = match video {
            Some(plan::VideoModel::Mpeg(model)) => model,
            None => &default,
        };
        let group_s = frame_interval.as_secs() * GROUP as f64;
        let (full, predicted) = (full.0, predicted.0);
        let group_mean = (full + 3.0 * predicted + 8.0) / 12.0;
        let mean_at = |place: usize| match place {
            0 => full / group_mean,
            _ if place.is_multiple_of(PREDICTED_EACH) => predicted / group_mean,
            _ => 1.0 / group_mean,
        };
        let (scene, frame) = (log_variance(scenes.0), log_variance(frames.0));
        Statistics {
            full,
            predicted,
            group_mean,
            means: core::array::from_fn(mean_at),
            scene_deviation: libm::sqrt(scene),
            frame_deviation: libm::sqrt(frame),
            variance: scene + frame,
            memory: libm::exp(-group_s / SCENE_S),
        }
    }
}

/// State of the model for one video.
pub struct ModelledVideo {
    /// Place of the next frame in its group.
    place: usize,
    /// Activity of the scene, standard normal.
    scene: f64,
}

impl ModelledVideo {
    /// Returns a video that begins at a random place of a group.
    pub fn somewhere(random: &mut Stream) -> Self {
        let place = random.up_to(GROUP as u64 - 1) as usize;
        ModelledVideo { place, scene: random.normal() }
    }

    /// Whether the next frame is a full one, coded without reference to others.
    pub fn is_at_full_frame(&self) -> bool {
        self.place == 0
    }

    /// Returns the size of the next frame, relative to the mean of all.
    pub fn next(&mut self, own: &Statistics, random: &mut Stream) -> f64 {
        if self.place == 0 {
            let news = libm::sqrt(1.0 - own.memory * own.memory);
            self.scene = own.memory * self.scene + news * random.normal();
        }
        let mean = own.means[self.place];
        self.place = (self.place + 1) % GROUP;
        let spread = own.scene_deviation * self.scene + own.frame_deviation * random.normal();
        mean * libm::exp(spread - own.variance / 2.0)
    }
}

/// Packetization of frames.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Payload of a frame of size 1, bytes: the mean frame of the model, or one byte of a file's frame.
    mean_bytes: f64,
    /// Largest payload of a packet, bytes.
    payload_bytes: f64,
}

impl Cut {
    /// Returns the packetization of a video at `rate` on the wire, in packets of at most `packet_size`.
    pub fn new(
        rate: Rate,
        frame_interval: Span,
        packet_size: Bytes,
        statistics: &Statistics,
    ) -> Self {
        let payload_bytes = packet_size.get() as f64 - HEADER_BYTES;
        let wire_bytes = rate.as_bps() as f64 / 8.0 * frame_interval.as_secs();
        // More payload needs more packets, but each byte adds only a small part of a header: each step reduces the
        // error by that factor.
        let mut cut = Cut { mean_bytes: wire_bytes - HEADER_BYTES, payload_bytes };
        for _ in 0..30 {
            cut.mean_bytes = wire_bytes - HEADER_BYTES * cut.mean_packets(statistics);
        }
        cut
    }

    /// Returns the packetization of a file's frames: unscaled, or scaled to a rate on the wire.
    pub fn of_file(
        sizes: &FrameSizes,
        rate: Option<Rate>,
        frame_interval: Span,
        packet_size: Bytes,
    ) -> Self {
        let payload_bytes = packet_size.get() as f64 - HEADER_BYTES;
        let mut cut = Cut { mean_bytes: 1.0, payload_bytes };
        let Some(rate) = rate else { return cut };
        let wire_bytes = rate.as_bps() as f64 / 8.0 * frame_interval.as_secs();
        // As above, except that the packets are counted.
        for _ in 0..12 {
            let packets = |&bytes: &u32| cut.packets(f64::from(bytes)).count() as f64;
            let packets: f64 = sizes.bytes().iter().map(packets).sum();
            let headers = HEADER_BYTES * packets / sizes.bytes().len() as f64;
            cut.mean_bytes = (wire_bytes - headers).max(1.0) / sizes.mean();
        }
        cut
    }

    /// Returns the mean number of packets of a frame: one, plus one for each multiple of a packet's payload that is
    /// exceeded.
    fn mean_packets(&self, own: &Statistics) -> f64 {
        let deviation = libm::sqrt(own.variance);
        let of = |kind: f64| {
            let median = self.mean_bytes * kind / own.group_mean * libm::exp(-own.variance / 2.0);
            let mut packets = 1.0;
            let mut above = 0.0;
            loop {
                above += self.payload_bytes;
                if above > LARGEST_FRAME_BYTES {
                    return packets;
                }
                let far = libm::log(above / median) / deviation;
                let beyond = libm::erfc(far / core::f64::consts::SQRT_2) / 2.0;
                if beyond < 1e-12 {
                    return packets;
                }
                packets += beyond;
            }
        };
        (of(own.full) + 3.0 * of(own.predicted) + 8.0 * of(1.0)) / 12.0
    }

    /// Returns the sizes on the wire of a frame's packets; no packets for an empty frame of a file.
    pub fn packets(&self, size: f64) -> impl Iterator<Item = Bytes> + use<> {
        let exact = (self.mean_bytes * size).min(LARGEST_FRAME_BYTES);
        // Rounds up. `libm::ceil` takes longer: x86-64 has no instruction for it in its baseline.
        let bytes = exact as u64 + u64::from(exact > (exact as u64) as f64);
        let (full, header) = (self.payload_bytes as u64, HEADER_BYTES as u64);
        (0..bytes.div_ceil(full)).map(move |k| Bytes::new(header + (bytes - k * full).min(full)))
    }
}

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::units::{Share, Step};

    use super::*;

    const RATE: Rate = Rate::from_bps(194_880);
    const INTERVAL: Span = Span::from_millis(40);

    /// Returns the bytes on the wire of `each` frames of each of `videos` videos.
    fn frames(videos: usize, each: usize, packet_size: u64) -> Vec<f64> {
        frames_of(&Statistics::new(None, INTERVAL), videos, each, packet_size)
    }

    fn frames_of(own: &Statistics, videos: usize, each: usize, packet_size: u64) -> Vec<f64> {
        let mut random = Stream::new(1, "film");
        let cut = Cut::new(RATE, INTERVAL, Bytes::new(packet_size), own);
        let mut sizes = Vec::new();
        for _ in 0..videos {
            let mut video = ModelledVideo::somewhere(&mut random);
            for _ in 0..each {
                let size = video.next(own, &mut random);
                sizes.push(cut.packets(size).map(|packet| packet.get() as f64).sum());
            }
        }
        sizes
    }

    fn mean_and_variation(sizes: &[f64]) -> (f64, f64) {
        let count = sizes.len() as f64;
        let mean = sizes.iter().sum::<f64>() / count;
        let squares: f64 = sizes.iter().map(|size| (size - mean) * (size - mean)).sum();
        (mean, libm::sqrt(squares / count) / mean)
    }

    /// 24.36 kB/s at 25 frames a second are 974.4 bytes a frame. The mean of 1,000 videos of 120 frames has a standard
    /// error of 0.014, since a video is one or two scenes.
    #[test]
    fn frames_have_the_mean_and_the_variation_of_the_video_on_the_wire() {
        for packet_size in [1500, 500] {
            let (mean, variation) = mean_and_variation(&frames(1_000, 120, packet_size));
            assert!((mean / 974.4 - 1.0).abs() < 0.05, "{mean} B");
            assert!((variation - 0.95).abs() < 0.08, "{variation}");
        }
    }

    /// One frame of each of many videos, so that frames are independent: their mean has a standard error of 1 %.
    #[test]
    fn ten_thousand_frames_have_the_mean_and_the_deviation_that_are_specified() {
        let (mean, variation) = mean_and_variation(&frames(10_000, 1, 1500));
        assert!((mean / 974.4 - 1.0).abs() < 0.04, "{mean} B");
        // 0.97 without headers, which are constant.
        assert!((variation - 0.95).abs() < 0.08, "{variation}");
    }

    /// *Star Wars IV* in high quality, of the same library: frames vary by 0.66 and groups by 0.38.
    #[test]
    fn another_video_varies_as_it_is_asked_to() {
        let model = plan::MpegModel {
            full: Step(2.0),
            predicted: Step(1.5),
            scenes: Share(0.36),
            frames: Share(0.43),
        };
        let own = Statistics::new(Some(&plan::VideoModel::Mpeg(model)), INTERVAL);
        let sizes = frames_of(&own, 1_000, 132, 1500);
        let (mean, variation) = mean_and_variation(&sizes);
        assert!((mean / 974.4 - 1.0).abs() < 0.03, "{mean} B");
        assert!((variation - 0.66).abs() < 0.05, "{variation}");
        let groups: Vec<f64> = sizes.chunks(12).map(|group| group.iter().sum()).collect();
        let (_, variation) = mean_and_variation(&groups);
        assert!((variation - 0.38).abs() < 0.05, "{variation}");
    }

    #[test]
    fn frames_of_a_file_are_sent_as_they_are_or_scaled_to_a_rate() {
        let sizes = FrameSizes::read("5120\n0\n800\n1460\n1461");
        let sent = |cut: Cut| -> Vec<u64> {
            let frame = |&bytes: &u32| cut.packets(f64::from(bytes)).map(Bytes::get).sum();
            sizes.bytes().iter().map(frame).collect()
        };
        let own = Cut::of_file(&sizes, None, INTERVAL, Bytes::new(1500));
        assert_eq!(sent(own), [5120 + 4 * 40, 0, 840, 1500, 1461 + 80]);
        let rate = Rate::from_bps(1_000_000);
        let scaled = sent(Cut::of_file(&sizes, Some(rate), INTERVAL, Bytes::new(1500)));
        let mean = scaled.iter().sum::<u64>() as f64 / 5.0;
        assert!((mean / 5000.0 - 1.0).abs() < 0.01, "{scaled:?}");
        assert!((scaled[0] as f64 / scaled[2] as f64 / (5120.0 / 800.0) - 1.0).abs() < 0.05);
    }

    #[test]
    fn groups_vary_less_than_frames_and_full_frames_are_the_largest() {
        let sizes = frames(1_000, 132, 1500);
        // Each video begins at a random place, so that its next twelve frames are one of each place.
        let groups: Vec<f64> = sizes.chunks(12).map(|group| group.iter().sum()).collect();
        let (_, variation) = mean_and_variation(&groups);
        assert!((0.42..0.58).contains(&variation), "{variation}");
        let mut random = Stream::new(1, "film");
        let (own, mut video) =
            (Statistics::new(None, INTERVAL), ModelledVideo::somewhere(&mut random));
        let (mut full, mut other) = (0.0, 0.0);
        for _ in 0..12_000 {
            let is_full = video.is_at_full_frame();
            *(if is_full { &mut full } else { &mut other }) += video.next(&own, &mut random);
        }
        assert!((full * 11.0 / other / (4.0 / (14.0 / 11.0)) - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_frame_is_cut_without_losing_a_byte() {
        let cut = Cut { mean_bytes: 1_000.0, payload_bytes: 1_460.0 };
        for (size, want) in [(1e-9, vec![41]), (1.0, vec![1040]), (2.92, vec![1500, 1500])] {
            let packets: Vec<u64> = cut.packets(size).map(Bytes::get).collect();
            assert_eq!(packets, want);
        }
        let largest: u64 = cut.packets(1e9).map(|packet| packet.get() - 40).sum();
        assert_eq!(largest, 65_495);
    }
}
